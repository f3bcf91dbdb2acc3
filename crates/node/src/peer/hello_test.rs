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

/// As a program wrote it that knew of no levels: with a frame's head of eight bytes.
fn hello_of_the_first_level() -> Vec<u8> {
    let mut body = hello().frame()[8..].to_vec();
    // The level is the last byte.
    assert_eq!(body.pop().map(u16::from), Some(Level::NEWEST.0));
    body
}

#[test]
fn hello_says_how_much_its_program_knows() {
    let read = |body: &[u8]| Hello::read(body).map(|hello| hello.level);
    assert_eq!(read(&hello().frame()[8..]), Ok(Level::NEWEST));
    let mut body = hello_of_the_first_level();
    assert_eq!(read(&body), Ok(Level::FIRST), "it does not say");
    body.extend([0x85, 0x01, 7, 7, 7]);
    assert_eq!(read(&body), Ok(Level(133)), "and what is not known yet");
    body.truncate(body.len() - 4);
    assert_eq!(read(&body), Err(Unreadable::Foreign), "half of a level");
}

/// What programs do that know of no levels: they read what they know and leave the rest alone.
#[test]
fn hello_is_understood_by_earlier_programs() {
    let frame = hello().frame();
    let read: Hello = postcard::from_bytes(&frame[18..]).unwrap();
    assert_eq!(read.level, Level::FIRST);
    assert_eq!((read.key, read.node), (hello().key, hello().node));
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
