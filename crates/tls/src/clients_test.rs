//! Clients' port and clients: who believes whom, and files that change.

use super::*;
use crate::{Authority, CertificateRequest, CertificateRole, Dialer, DialerFiles, explain};
use rustls::{Connection, ServerConnection};
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

const DAY: Duration = Duration::from_secs(86_400);

/// An authority and what it issues.
struct Issuer {
    dir: TempDir,
    authority: Authority,
}

impl Issuer {
    fn new() -> Self {
        let dir = TempDir::new().expect("a directory");
        let (authority, issued) = Authority::new("ours", DAY).expect("an authority");
        std::fs::write(dir.path().join("ca.crt"), issued.certificate).expect("written");
        Self { dir, authority }
    }

    fn ca(&self) -> PathBuf {
        self.dir.path().join("ca.crt")
    }

    fn issue(&self, role: CertificateRole, hosts: &[String]) -> IdentityFiles {
        let request = CertificateRequest {
            name: "x",
            role,
            hosts,
            validity: DAY,
        };
        let issued = self.authority.issue(&request).expect("issued");
        let files = IdentityFiles {
            certificate: self.dir.path().join(format!("{role:?}.crt")),
            key: self.dir.path().join(format!("{role:?}.key")),
        };
        std::fs::write(&files.certificate, issued.certificate).expect("written");
        std::fs::write(&files.key, issued.key).expect("written");
        files
    }

    fn dialer(&self, identity: Option<IdentityFiles>) -> Dialer {
        let authority = self.ca();
        let files = DialerFiles {
            authority,
            identity,
        };
        Dialer::read(files).expect("a dialer")
    }
}

/// Lets the two shake hands; what each says in the end.
fn meet(
    dialer: &Dialer,
    address: &str,
    port: &Arc<ServerConfig>,
) -> (Result<(), String>, Result<(), String>) {
    let client = dialer.connection(address).expect("a client");
    let server = ServerConnection::new(Arc::clone(port)).expect("a server");
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
        *outcome = to
            .process_new_packets()
            .map(|_| ())
            .map_err(|it| explain(&it));
    }
}

#[test]
fn a_node_is_believed_by_its_names() {
    let issuer = Issuer::new();
    let hosts = ["db.example".to_owned(), "10.1.2.3".to_owned()];
    let files = issuer.issue(CertificateRole::Node, &hosts);
    let port = client_port(&files, None).expect("a port");
    let dialer = issuer.dialer(None);
    for address in [
        "db.example:6379",
        "db.example",
        "10.1.2.3:6379",
        "localhost:1",
        "127.0.0.1",
        "[::1]:6379",
        "::1",
    ] {
        assert_eq!(meet(&dialer, address, &port), (Ok(()), Ok(())), "{address}");
    }
    let (at_client, _) = meet(&dialer, "other.example:6379", &port);
    let error = at_client.expect_err("it is another's");
    assert!(
        error.starts_with("its certificate is for another"),
        "{error}"
    );
    let elsewhere = Issuer::new();
    let (at_client, _) = meet(&elsewhere.dialer(None), "db.example", &port);
    assert!(at_client.is_err());
}

#[test]
fn with_an_authority_clients_have_to_show_a_certificate_of_it() {
    let issuer = Issuer::new();
    let files = issuer.issue(CertificateRole::Node, &[]);
    let port = client_port(&files, Some(&issuer.ca())).expect("a port");
    let own = issuer.issue(CertificateRole::Client, &[]);
    let met = meet(&issuer.dialer(Some(own)), "localhost", &port);
    assert_eq!(met, (Ok(()), Ok(())));
    let (at_client, at_server) = meet(&issuer.dialer(None), "localhost", &port);
    assert_eq!(at_server, Err("it shows no certificate".to_owned()));
    assert_eq!(
        at_client,
        Err("it wants a certificate, and none was shown".to_owned())
    );
    let elsewhere = Issuer::new();
    let theirs = elsewhere.issue(CertificateRole::Client, &[]);
    let (_, at_server) = meet(&issuer.dialer(Some(theirs)), "localhost", &port);
    assert!(at_server.is_err());
}

#[test]
fn files_that_change_are_read_again_if_they_can_be_used() {
    let issuer = Issuer::new();
    let files = issuer.issue(CertificateRole::Node, &[]);
    let port = client_port(&files, None).expect("a port");
    let dialer = issuer.dialer(None);
    let good = std::fs::read(issuer.ca()).expect("read");
    std::fs::write(issuer.ca(), "no certificate").expect("written");
    dialer.look_now();
    assert_eq!(meet(&dialer, "localhost", &port), (Ok(()), Ok(())));
    let other = Issuer::new();
    std::fs::copy(other.ca(), issuer.ca()).expect("copied");
    dialer.look_now();
    assert!(meet(&dialer, "localhost", &port).0.is_err());
    // Both, as while one is replaced.
    let mut both = std::fs::read(other.ca()).expect("read");
    both.extend_from_slice(&good);
    std::fs::write(issuer.ca(), both).expect("written");
    dialer.look_now();
    assert_eq!(meet(&dialer, "localhost", &port), (Ok(()), Ok(())));
}
