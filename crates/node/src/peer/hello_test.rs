//! Hellos of this version, of others, and of strangers.

use super::*;

fn hello() -> Hello {
    let introduction = Introduction {
        cluster: Some(ClusterId(5)),
        key: NodeKey([3; 20]),
        node: Some((NodeId(2), Incarnation(9))),
    };
    introduction.hello(ConnectionKind::Control)
}

#[test]
fn hello_is_read_as_written() {
    let frame = hello().frame();
    assert_eq!(Hello::read(&frame[8..]), Ok(hello()));
    let answer = Answer::Refused(HandshakeRefused::Cluster(ClusterId(1)));
    assert_eq!(Answer::read(&answer.frame()[8..]), Ok(answer));
}

#[test]
fn other_versions_and_strangers_are_told_apart() {
    let mut body = hello().frame()[8..].to_vec();
    body[8] = 9;
    assert_eq!(Hello::read(&body), Err(Unreadable::Version(9)));
    assert_eq!(Hello::read(b"GET / HTTP/1.1"), Err(Unreadable::Foreign));
    assert_eq!(Hello::read(b""), Err(Unreadable::Foreign));
    assert_eq!(
        Hello::read(&hello().frame()[8..20]),
        Err(Unreadable::Foreign)
    );
}
