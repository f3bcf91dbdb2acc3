use super::{Link, Target};
use crate::Error;
use brickyard_wire::Value;
use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};

/// A server that answers one connection with `replies`, whatever it is asked, and returns what it
/// was asked.
fn scripted(replies: Vec<&'static [u8]>) -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = Vec::new();
        let mut buffer = [0; 4096];
        for reply in replies {
            let len = stream.read(&mut buffer).unwrap();
            heard.extend_from_slice(&buffer[..len]);
            stream.write_all(reply).unwrap();
        }
        String::from_utf8(heard).unwrap()
    });
    (address, server)
}

#[test]
fn a_link_signs_in_and_chooses_its_table() {
    let (address, server) = scripted(vec![b"+OK\r\n", b"+OK\r\n", b"$2\r\nhi\r\n"]);
    let target = Target {
        user: Some("ann".into()),
        password: Some("secret".into()),
        table: Some("t".into()),
        ..Target::resp(address)
    };
    let mut link = Link::open(&target).unwrap();
    assert_eq!(
        link.call(&["GET", "k"]).unwrap(),
        Value::Bulk(b"hi".to_vec())
    );
    let heard = server.join().unwrap();
    assert!(
        heard.contains("AUTH\r\n$3\r\nann\r\n$6\r\nsecret"),
        "{heard}"
    );
    assert!(heard.contains("USE\r\n$1\r\nt"), "{heard}");
}

#[test]
fn a_refused_table_names_the_server_and_its_words() {
    let (address, server) = scripted(vec![b"-NOTABLE no table 't'\r\n"]);
    let target = Target {
        table: Some("t".into()),
        ..Target::resp(address.clone())
    };
    let message = Link::open(&target).unwrap_err().to_string();
    assert_eq!(
        message,
        format!("{address} refused TABLE USE t: NOTABLE no table 't'")
    );
    server.join().unwrap();
}

#[test]
fn an_address_without_a_server_is_a_connect_error() {
    // Bound and dropped again: free, or at worst somebody else's for a moment.
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let error = Link::open(&Target::resp(&address)).unwrap_err();
    assert!(matches!(error, Error::Connect { .. }), "{error}");
}

#[test]
fn the_password_is_not_printed() {
    let target = Target {
        password: Some("secret".into()),
        ..Target::resp("h:1")
    };
    assert!(!format!("{target:?}").contains("secret"));
}
