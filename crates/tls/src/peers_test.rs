//! Which certificates open the door between nodes, from either side.

use super::*;
use crate::{Authority, CertificateRequest, CertificateRole, Issued, explain};
use rustls::{ClientConnection, Connection, ServerConnection};
use std::time::Duration;
use tempfile::TempDir;

const DAY: Duration = Duration::from_secs(86_400);

struct Place {
    dir: TempDir,
    authority: Authority,
}

impl Place {
    fn new() -> Self {
        let dir = TempDir::new().expect("a directory");
        let (authority, issued) = Authority::new("ours", DAY).expect("an authority");
        std::fs::write(dir.path().join("ca.crt"), issued.certificate).expect("written");
        Self { dir, authority }
    }

    fn issue(&self, role: CertificateRole, validity: Duration) -> Issued {
        let request = CertificateRequest {
            name: "x",
            role,
            hosts: &[],
            validity,
        };
        self.authority.issue(&request).expect("issued")
    }

    /// What somebody goes by who has that certificate, and believes this authority.
    fn side(&self, issued: &Issued) -> NodeSide {
        let files = IdentityFiles {
            certificate: self.dir.path().join("x.crt"),
            key: self.dir.path().join("x.key"),
        };
        std::fs::write(&files.certificate, &issued.certificate).expect("written");
        std::fs::write(&files.key, &issued.key).expect("written");
        NodeSide::read(&files, &self.dir.path().join("ca.crt")).expect("read")
    }
}

/// Lets the two shake hands; what each says in the end.
fn meet(dialer: &NodeSide, dialed: &NodeSide) -> (Result<(), String>, Result<(), String>) {
    let client =
        ClientConnection::new(Arc::clone(&dialer.dial), NodeSide::name()).expect("a client");
    let server = ServerConnection::new(Arc::clone(&dialed.accept)).expect("a server");
    let (mut client, mut server) = (Connection::from(client), Connection::from(server));
    let (mut at_client, mut at_server) = (Ok(()), Ok(()));
    for _ in 0..8 {
        pass(&mut client, &mut server, &mut at_server);
        pass(&mut server, &mut client, &mut at_client);
    }
    (at_client, at_server)
}

fn pass(from: &mut Connection, to: &mut Connection, outcome: &mut Result<(), String>) {
    let mut bytes = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut bytes).expect("a vector takes all");
    }
    let mut bytes = bytes.as_slice();
    while !bytes.is_empty() && outcome.is_ok() {
        to.read_tls(&mut bytes).expect("it takes them");
        if let Err(error) = to.process_new_packets() {
            *outcome = Err(explain(&error));
        }
    }
}

#[test]
fn nodes_of_one_authority_meet() {
    let place = Place::new();
    let one = place.side(&place.issue(CertificateRole::Node, DAY));
    let other = place.side(&place.issue(CertificateRole::Node, DAY));
    assert_eq!(meet(&one, &other), (Ok(()), Ok(())));
}

#[test]
fn a_client_is_not_a_node_from_either_side() {
    let place = Place::new();
    let node = place.side(&place.issue(CertificateRole::Node, DAY));
    let client = place.side(&place.issue(CertificateRole::Client, DAY));
    let (_, at_node) = meet(&client, &node);
    assert!(
        at_node.clone().is_err_and(|it| it.contains("another role")),
        "{at_node:?}"
    );
    let (at_node, _) = meet(&node, &client);
    assert!(
        at_node.clone().is_err_and(|it| it.contains("another role")),
        "{at_node:?}"
    );
}

#[test]
fn another_authority_is_not_believed() {
    let (place, mut elsewhere) = (Place::new(), Place::new());
    let node = place.side(&place.issue(CertificateRole::Node, DAY));
    // Of the same name as ours, but for its key.
    let stranger = place.side(&elsewhere.issue(CertificateRole::Node, DAY));
    let (_, at_node) = meet(&stranger, &node);
    assert!(
        at_node
            .clone()
            .is_err_and(|it| it.contains("is not signed by the authority")),
        "{at_node:?}"
    );
    elsewhere.authority = Authority::new("theirs", DAY).expect("an authority").0;
    // It believes ours, and shows what another has signed.
    let stranger = place.side(&elsewhere.issue(CertificateRole::Node, DAY));
    let (_, at_node) = meet(&stranger, &node);
    assert!(
        at_node
            .clone()
            .is_err_and(|it| it.contains("authority that is not believed")),
        "{at_node:?}"
    );
    let (at_node, _) = meet(&node, &stranger);
    assert!(
        at_node
            .clone()
            .is_err_and(|it| it.contains("authority that is not believed")),
        "{at_node:?}"
    );
}

#[test]
fn an_expired_certificate_is_not_believed() {
    let place = Place::new();
    let node = place.side(&place.issue(CertificateRole::Node, DAY));
    let late = place.side(&place.issue(CertificateRole::Node, Duration::ZERO));
    // Certificates count whole seconds: it is over when the present one is.
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    loop {
        let (_, at_node) = meet(&late, &node);
        if at_node.as_ref().is_err_and(|it| it.contains("has expired")) {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{at_node:?}");
        std::thread::yield_now();
    }
    let (at_node, _) = meet(&node, &late);
    assert!(
        at_node.clone().is_err_and(|it| it.contains("has expired")),
        "{at_node:?}"
    );
}

#[test]
fn a_bundle_of_two_authorities_lets_both_in() {
    let (place, next) = (Place::new(), Place::new());
    let old = place.issue(CertificateRole::Node, DAY);
    let new = next.issue(CertificateRole::Node, DAY);
    let read = |it: &Place| std::fs::read_to_string(it.dir.path().join("ca.crt")).expect("read");
    std::fs::write(place.dir.path().join("ca.crt"), read(&place) + &read(&next)).expect("written");
    let (old, new) = (place.side(&old), place.side(&new));
    assert_eq!(meet(&old, &new), (Ok(()), Ok(())));
    assert_eq!(meet(&new, &old), (Ok(()), Ok(())));
}
