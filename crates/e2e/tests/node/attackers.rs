//! Clients that want a node to hold much for them: all together it holds what `maxmemory_clients` says, and others are served.
//!
//! `cargo test --release -p brickyard-e2e --test node attackers -- --nocapture` prints the figures of docs/failure-modes.md.

use brickyard_e2e::client::{Client, encode};
use brickyard_e2e::deadline::PATIENCE;
use brickyard_e2e::server::{Server, Setup};
use brickyard_e2e::value::Value;
use std::time::Instant;

const MIB: u64 = 1 << 20;

const VALUE_BYTES: usize = 1_000_000;

/// What the node may have more than before: the bound (48 MiB), what the allocator keeps, and what comes until it is looked at again.
const GROWN_MAX: u64 = 176 * MIB;

/// A node under attack, and somebody who is served meanwhile.
struct Attacked {
    server: Server,
    other: Client,
    before: u64,
    most: u64,
    calls: u64,
}

impl Attacked {
    fn start() -> Self {
        let arguments = ["--maxmemory-clients", "48MiB", "--value-bytes-max", "16MiB"];
        let mut server = Setup::brickyard(2).arguments(&arguments).start();
        let mut other = server.connect();
        other.must(&["SET", "long", &"v".repeat(VALUE_BYTES)]);
        let before = server.process().resident_bytes();
        Self {
            server,
            other,
            before,
            most: 0,
            calls: 0,
        }
    }

    /// Somebody else writes and reads, which comes behind all that the node has received by then.
    fn serve_other(&mut self) {
        let key = format!("other{}", self.calls % 100);
        self.calls += 1;
        self.other.must(&["SET", &key, "value"]);
        let read = self.other.call(&["GET", &key]);
        assert_eq!(read, Value::Bulk(b"value".to_vec()));
        let now = self.server.process().resident_bytes();
        self.most = self.most.max(now.saturating_sub(self.before));
        assert!(
            self.most < GROWN_MAX,
            "the node has {} MiB more",
            self.most / MIB
        );
    }

    fn info(&mut self, name: &str) -> u64 {
        let Value::Bulk(info) = self.other.call(&["INFO", "ALL"]) else {
            panic!("INFO is a string");
        };
        let info = String::from_utf8_lossy(&info).into_owned();
        let line = info.lines().find_map(|line| line.strip_prefix(name));
        let value = line.and_then(|it| it.strip_prefix(':'));
        value
            .and_then(|it| it.trim().parse().ok())
            .expect("a number in INFO")
    }

    /// Until so many clients were closed.
    fn wait_for_evictions(&mut self, least: u64) {
        let end = Instant::now() + PATIENCE;
        while self.info("evicted_clients") < least {
            assert!(Instant::now() < end, "too few clients were closed");
            self.serve_other();
        }
        self.serve_other();
    }

    fn tell(&mut self, attackers: &str) {
        let closed = self.info("evicted_clients");
        println!(
            "{attackers}: at most {} MiB more, {closed} of them closed",
            self.most / MIB
        );
    }
}

/// Sends what the node takes; it may close the connection meanwhile.
fn send(client: &mut Client, bytes: &[u8]) {
    drop(client.send_raw(bytes));
}

#[test]
fn slow_senders_of_long_values_are_closed_by_what_they_hold() {
    let mut attacked = Attacked::start();
    let mut senders: Vec<Client> = (0..40).map(|_| attacked.server.connect()).collect();
    let part = vec![b'v'; VALUE_BYTES];
    for sender in &mut senders {
        send(sender, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$16000000\r\n");
    }
    for _ in 0..5 {
        for sender in &mut senders {
            send(sender, &part);
            attacked.serve_other();
        }
    }
    attacked.wait_for_evictions(20);
    attacked.tell("40 slow senders of 16 MB, 5 MB of each sent");
    let log = attacked.server.log();
    assert!(log.contains("was closed: it held"), "{log}");
}

#[test]
fn slow_readers_are_closed_by_what_they_hold() {
    let mut attacked = Attacked::start();
    let mut requests = Vec::new();
    for _ in 0..50 {
        encode(&mut requests, &["GET", "long"]);
    }
    let mut readers: Vec<Client> = (0..80).map(|_| attacked.server.connect()).collect();
    for reader in &mut readers {
        send(reader, &requests);
        attacked.serve_other();
    }
    attacked.wait_for_evictions(20);
    attacked.tell("80 readers of 50 MB each that read nothing");
}

#[test]
fn queues_of_multi_are_closed_by_what_they_hold() {
    let mut attacked = Attacked::start();
    let mut requests = Vec::new();
    encode(&mut requests, &["MULTI"]);
    for _ in 0..20 {
        encode(&mut requests, &["SET", "k", &"v".repeat(VALUE_BYTES)]);
    }
    let mut queuers: Vec<Client> = (0..10).map(|_| attacked.server.connect()).collect();
    for queuer in &mut queuers {
        send(queuer, &requests);
        attacked.serve_other();
    }
    attacked.wait_for_evictions(5);
    attacked.tell("10 clients that queue 20 MB each in MULTI");
}

/// What is only announced takes no memory, and who is idle takes little.
#[test]
fn announcements_and_idle_connections_take_little() {
    let mut attacked = Attacked::start();
    let mut clients: Vec<Client> = (0..2_000).map(|_| attacked.server.connect()).collect();
    for (at, client) in clients.iter_mut().enumerate() {
        if at % 2 == 0 {
            send(client, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$16000000\r\nv");
        } else {
            client.must(&["SET", "k", "v"]);
        }
    }
    for _ in 0..200 {
        attacked.serve_other();
    }
    // Refused before anything of it has come.
    let mut stranger = attacked.server.connect();
    send(&mut stranger, b"*1\r\n$536870912\r\n");
    let refused = stranger.receive();
    assert!(matches!(refused, Ok(Value::Error(_))), "{refused:?}");
    assert_eq!(attacked.info("evicted_clients"), 0);
    attacked.tell("1,000 connections that announce 16 MB and 1,000 idle ones");
}
