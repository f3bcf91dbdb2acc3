use super::*;
use std::net::TcpListener;

/// A server that answers one question with these bytes.
fn answering(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 1024];
        let count = stream.read(&mut asked).unwrap();
        assert!(asked[..count].starts_with(b"GET /status HTTP/1.0\r\n"));
        stream.write_all(bytes).unwrap();
    });
    address
}

fn ask(bytes: &'static [u8]) -> anyhow::Result<Answer> {
    get(
        &answering(bytes),
        "/status",
        Duration::from_secs(10),
        &Access::default(),
    )
}

#[test]
fn status_and_body_are_taken_apart() {
    let answer = ask(b"HTTP/1.0 503 x\r\nContent-Length: 7\r\nX: y\r\n\r\nwaiting").unwrap();
    assert_eq!((answer.status, &answer.body[..]), (503, &b"waiting"[..]));
}

#[test]
fn what_is_cut_off_or_no_http_is_refused() {
    let error = ask(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").unwrap_err();
    assert!(format!("{error:#}").contains("cut off"), "{error:#}");
    let error = ask(b"-ERR unknown command 'GET'\r\n").unwrap_err();
    assert!(format!("{error:#}").contains("not HTTP"), "{error:#}");
}

#[test]
fn nobody_there_is_told_with_the_address() {
    let gone = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let error = get(
        &gone,
        "/status",
        Duration::from_secs(10),
        &Access::default(),
    )
    .unwrap_err();
    assert!(format!("{error:#}").contains(&gone), "{error:#}");
}
