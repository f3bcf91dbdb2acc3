//! The port for nodes with certificates: nodes of one authority are a cluster, strangers reach no decoder.

use super::support::{Machine, Started, machines, until, until_agreed};
use brickyard_metadata::NodeKey;
use brickyard_node::peer::{ConnectionKind, Introduction};
use brickyard_tls::rustls::{ClientConnection, StreamOwned};
use brickyard_tls::{Authority, CertificateRequest, CertificateRole, IdentityFiles, NodeSide};
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

const DAY: Duration = Duration::from_secs(86_400);

/// An authority with a directory for what it issues.
struct Certificates {
    dir: TempDir,
    authority: Authority,
}

impl Certificates {
    fn new(name: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let (authority, issued) = Authority::new(name, DAY).expect("an authority");
        std::fs::write(dir.path().join("ca.crt"), issued.certificate).expect("written");
        Self { dir, authority }
    }

    fn authority(&self) -> PathBuf {
        self.dir.path().join("ca.crt")
    }

    fn issue(&self, name: &str, role: CertificateRole) -> IdentityFiles {
        let request = CertificateRequest {
            name,
            role,
            hosts: &[],
            validity: DAY,
        };
        let issued = self.authority.issue(&request).expect("issued");
        let files = IdentityFiles {
            certificate: self.dir.path().join(format!("{name}.crt")),
            key: self.dir.path().join(format!("{name}.key")),
        };
        std::fs::write(&files.certificate, issued.certificate).expect("written");
        std::fs::write(&files.key, issued.key).expect("written");
        files
    }

    /// Has the machine use a certificate of its own.
    fn equip(&self, machine: &mut Machine, name: &str) {
        let files = self.issue(name, CertificateRole::Node);
        let text = |path: &Path| path.display().to_string();
        let fields = &mut machine.config.fields;
        fields.peer_cert = text(&files.certificate);
        fields.peer_key = text(&files.key);
        fields.peer_ca = text(&self.authority());
    }
}

fn secured(certificates: &Certificates) -> Vec<Machine> {
    let mut machines = machines(3, 3);
    for (at, machine) in machines.iter_mut().enumerate() {
        certificates.equip(machine, &format!("n{at}"));
    }
    machines
}

fn all(nodes: &[Started]) -> Vec<&Started> {
    nodes.iter().collect()
}

/// What a node of nobody's cluster says first.
fn hello() -> Vec<u8> {
    let introduction = Introduction {
        cluster: None,
        key: NodeKey([42; 20]),
        node: None,
    };
    introduction.hello(ConnectionKind::Control).frame()
}

/// All that is answered until the connection ends.
fn heard(mut stream: impl io::Read) -> Vec<u8> {
    let mut answer = Vec::new();
    // However it ends, what came before counts.
    drop(stream.read_to_end(&mut answer));
    answer
}

fn dial(machine: &Machine) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", machine.config.peer_port)).expect("connected");
    let limit = Some(Duration::from_secs(30));
    stream.set_read_timeout(limit).expect("a timeout");
    stream
}

#[test]
fn nodes_of_one_authority_replicate_and_come_back() {
    let certificates = Certificates::new("ours");
    let machines = secured(&certificates);
    let mut nodes: Vec<Started> = machines.iter().map(Machine::start).collect();
    until_agreed(&all(&nodes), 3, 3);
    assert_eq!(nodes[0].client().call("TABLE CREATE t REPLICAS 3"), "+OK");
    // Records longer than a session holds at a time, by the streams between bricks: an inline request takes less than 64 KiB,
    // but what is appended to goes to the backups whole.
    let part = "x".repeat(60_000);
    let long = part.repeat(5);
    let write = |node: &mut Started, key: &str, value: &str| {
        until("the write is taken", || {
            let mut client = node.client();
            assert_eq!(client.call("TABLE USE t"), "+OK");
            let reply = client.call(&format!("SET {key} {value}"));
            if reply == "+OK" { Ok(()) } else { Err(reply) }
        });
    };
    for number in 0..20 {
        write(&mut nodes[number % 3], &format!("key:{number}"), &part);
        let mut client = nodes[number % 3].client();
        assert_eq!(client.call("TABLE USE t"), "+OK");
        for parts in 2..=5 {
            let reply = client.call(&format!("APPEND key:{number} {part}"));
            assert_eq!(reply, format!(":{}", parts * part.len()));
        }
    }
    nodes.remove(0).stop();
    write(&mut nodes[0], "meanwhile", "yes");
    nodes.insert(0, machines[0].start());
    until_agreed(&all(&nodes), 3, 3);
    for (node, key, value) in [
        (0, "key:7", long.as_str()),
        (0, "meanwhile", "yes"),
        (2, "key:0", &long),
    ] {
        until("the key is there", || {
            let mut client = nodes[node].client();
            assert_eq!(client.call("TABLE USE t"), "+OK");
            let reply = client.call(&format!("GET {key}"));
            if reply == value {
                Ok(())
            } else {
                Err(reply.len())
            }
        });
    }
    nodes.into_iter().for_each(Started::stop);
}

#[test]
fn a_stranger_reaches_no_decoder_and_changes_nothing() {
    let certificates = Certificates::new("ours");
    let machines = secured(&certificates);
    let nodes: Vec<Started> = machines.iter().map(Machine::start).collect();
    until_agreed(&all(&nodes), 3, 3);
    let before = nodes[0].status().expect("answered")["nodes"].clone();

    // In the clear, as a node without certificates speaks: nothing but TLS's own alert, if that.
    let mut plain = dial(&machines[0]);
    plain.write_all(&hello()).expect("sent");
    let answer = heard(plain);
    assert!(
        answer.len() <= 7 && answer.first().is_none_or(|it| *it == 21),
        "{answer:?}"
    );

    // By TLS, with a certificate of another authority, or for another role.
    let elsewhere = Certificates::new("theirs");
    for files in [
        elsewhere.issue("stranger", CertificateRole::Node),
        certificates.issue("client", CertificateRole::Client),
    ] {
        let side = NodeSide::read(&files, &certificates.authority()).expect("read");
        let connection = ClientConnection::new(side.dial, NodeSide::name()).expect("a client");
        let mut stream = StreamOwned::new(connection, dial(&machines[0]));
        // With TLS 1.3 the one that dials may have sent it before it hears that it is refused.
        drop(stream.write_all(&hello()));
        assert_eq!(heard(&mut stream), b"", "{files:?}");
    }

    // One that is let in is answered: what was sent above does make a node speak.
    let member = certificates.issue("member", CertificateRole::Node);
    let side = NodeSide::read(&member, &certificates.authority()).expect("read");
    let connection = ClientConnection::new(side.dial, NodeSide::name()).expect("a client");
    let mut stream = StreamOwned::new(connection, dial(&machines[0]));
    stream.write_all(&hello()).expect("sent");
    let mut first = [0; 16];
    stream.read_exact(&mut first).expect("an answer");
    drop(stream);

    until_agreed(&all(&nodes), 3, 3);
    assert_eq!(nodes[0].status().expect("answered")["nodes"], before);
    nodes.into_iter().for_each(Started::stop);
}
