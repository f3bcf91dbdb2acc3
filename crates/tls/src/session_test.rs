//! A session passes everything on, in pieces of any size, and holds back little.

use super::*;
use crate::{Authority, CertificateRequest, CertificateRole, IdentityFiles, NodeSide};
use rustls::{ClientConnection, ServerConnection};
use std::time::Duration;

fn pair() -> (ClientConnection, Session) {
    let dir = tempfile::TempDir::new().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    let day = Duration::from_secs(86_400);
    let (authority, issued) = Authority::new("ours", day).expect("an authority");
    std::fs::write(at("ca.crt"), issued.certificate).expect("written");
    let request = CertificateRequest {
        name: "n",
        role: CertificateRole::Node,
        hosts: &[],
        validity: day,
    };
    let issued = authority.issue(&request).expect("issued");
    std::fs::write(at("n.crt"), issued.certificate).expect("written");
    std::fs::write(at("n.key"), issued.key).expect("written");
    let files = IdentityFiles {
        certificate: at("n.crt"),
        key: at("n.key"),
    };
    let NodeSide { accept, dial } = NodeSide::read(&files, &at("ca.crt")).expect("read");
    let server = ServerConnection::new(accept).expect("a connection");
    let client = ClientConnection::new(dial, NodeSide::name()).expect("a connection");
    (client, Session::new(server.into()))
}

fn from_client(client: &mut ClientConnection) -> Vec<u8> {
    let mut bytes = Vec::new();
    while client.wants_write() {
        client.write_tls(&mut bytes).expect("a vector takes all");
    }
    bytes
}

fn to_client(client: &mut ClientConnection, bytes: &[u8]) -> Vec<u8> {
    let (mut bytes, mut plain) = (bytes, Vec::new());
    while !bytes.is_empty() {
        client.read_tls(&mut bytes).expect("it takes them");
        client.process_new_packets().expect("it understands them");
        drop(io::Read::read_to_end(&mut client.reader(), &mut plain));
    }
    plain
}

fn shake_hands(client: &mut ClientConnection, server: &mut Session) {
    for _ in 0..4 {
        let mut out = Vec::new();
        let mut none = Vec::new();
        // A byte at a time: a handshake goes in any steps.
        for byte in from_client(client) {
            server.receive(&[byte], &mut none).expect("taken");
        }
        assert!(server.send_to(&mut out).expect("sent"));
        to_client(client, &out);
        assert_eq!(none, b"");
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
}

#[test]
fn everything_goes_through_both_ways() {
    let (mut client, mut server) = pair();
    assert!(server.is_handshaking());
    shake_hands(&mut client, &mut server);
    let sent: Vec<u8> = (0..200_000_u32).map(|it| (it % 251) as u8).collect();
    let (mut got, mut left) = (Vec::new(), sent.as_slice());
    while !left.is_empty() {
        let taken = client.writer().write(left).expect("taken");
        left = &left[taken..];
        server
            .receive(&from_client(&mut client), &mut got)
            .expect("received");
    }
    assert_eq!(got, sent);
    let (mut back, mut left) = (Vec::new(), sent.as_slice());
    while !left.is_empty() {
        let taken = server.encrypt(left);
        assert!(taken > 0, "an empty session takes something");
        left = &left[taken..];
        let mut out = Vec::new();
        assert!(server.send_to(&mut out).expect("sent"));
        back.extend(to_client(&mut client, &out));
    }
    assert_eq!(back, sent);
}

#[test]
fn what_waits_for_the_socket_is_bounded() {
    let (mut client, mut server) = pair();
    shake_hands(&mut client, &mut server);
    let taken: usize = (0..100).map(|_| server.encrypt(&[0; 100_000])).sum();
    assert!(taken <= OUTPUT_BYTES, "{taken}");
    let mut out = Vec::new();
    assert!(server.send_to(&mut out).expect("sent"));
    assert!(out.len() < OUTPUT_BYTES + 1024, "{}", out.len());
    assert!(server.encrypt(&[0; 10]) == 10, "there is room again");
}

#[test]
fn the_end_is_heard_and_what_is_no_tls_is_refused() {
    let (mut client, mut server) = pair();
    shake_hands(&mut client, &mut server);
    client.writer().write_all(b"last").expect("taken");
    client.send_close_notify();
    let mut got = Vec::new();
    server
        .receive(&from_client(&mut client), &mut got)
        .expect("received");
    assert_eq!(got, b"last");
    assert!(server.has_ended());

    let (_, mut server) = pair();
    let refused = server.receive(b"*1\r\n$4\r\nPING\r\n", &mut got);
    assert_eq!(
        refused.map_err(|it| crate::explain(&it)),
        Err("it does not speak TLS".to_owned())
    );
}
