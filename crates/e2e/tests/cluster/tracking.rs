//! Copies that clients keep: they are told before the writer is answered, wherever each of them is connected, and forget everything after a failover.

use brickyard_e2e::client::{Client, encode};
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::{PATIENCE, wait_for};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

/// A connection of which is looked at what has come, without waiting.
struct Reader {
    stream: TcpStream,
}

impl Reader {
    fn new(port: u16, table: &str, options: &[&str]) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut reader = Self { stream };
        reader.ask(&["HELLO", "3"], "proto");
        reader.ask(&["TABLE", "USE", table], "+OK\r\n");
        let tracking = [&["CLIENT", "TRACKING", "ON"], options].concat();
        reader.ask(&tracking, "+OK\r\n");
        reader
    }

    /// Asks, and reads until what it expects has come.
    fn ask(&mut self, arguments: &[&str], expected: &str) -> String {
        let mut request = Vec::new();
        encode(&mut request, arguments);
        self.stream.write_all(&request).unwrap();
        let mut told = String::new();
        let mut bytes = [0; 4096];
        while !told.contains(expected) {
            let len = self.stream.read(&mut bytes).unwrap();
            assert!(len > 0, "{arguments:?}: closed after {told:?}");
            told.push_str(&String::from_utf8_lossy(&bytes[..len]));
        }
        told
    }

    /// Reads a key, and is told nothing about it meanwhile: primaries change at first, and all is forgotten then.
    fn keep(&mut self, key: &str, expected: &str) {
        while self.ask(&["GET", key], expected).contains("invalidate") {}
    }

    /// It has been told already that the key has changed, or that it is to forget everything.
    fn must_be_told(&mut self, key: &str) {
        let told = self.heard();
        let is_told = told.contains(&changed(key)) || told.contains(ALL_CHANGED);
        assert!(is_told, "{key}: {told:?}");
    }

    /// What has come by now.
    fn heard(&mut self) -> String {
        self.stream.set_nonblocking(true).unwrap();
        let mut told = String::new();
        let mut bytes = [0; 4096];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => panic!("closed after {told:?}"),
                Ok(len) => told.push_str(&String::from_utf8_lossy(&bytes[..len])),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        self.stream.set_nonblocking(false).unwrap();
        told
    }
}

const ALL_CHANGED: &str = "invalidate\r\n_\r\n";

fn changed(key: &str) -> String {
    format!("invalidate\r\n*1\r\n${}\r\n{key}\r\n", key.len())
}

fn start(replicas: &'static str) -> Cluster {
    let cluster = Cluster::start(&[0, 1, 2], 2, &[]);
    cluster.create_table("t", &["REPLICAS", replicas, "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", replicas.parse().unwrap());
    cluster
}

#[test]
fn who_keeps_a_copy_is_told_before_the_writer_is_answered() {
    let cluster = start("2");
    let mut readers: Vec<Reader> = (0..3)
        .map(|at| Reader::new(cluster.port(at), "t", &[]))
        .collect();
    let mut listener = Reader::new(cluster.port(1), "t", &["BCAST", "PREFIX", "key:"]);
    let mut writers: Vec<Client> = (0..3).map(|at| cluster.table(at, "t").unwrap()).collect();
    for round in 0..200 {
        let key = format!("key:{round}");
        let value = round.to_string();
        let writer = &mut writers[round % 3];
        for reader in &mut readers {
            reader.keep(&key, "_\r\n");
        }
        writer.must(&["SET", &key, &value]);
        for reader in readers.iter_mut().chain([&mut listener]) {
            reader.must_be_told(&key);
        }
        for reader in &mut readers {
            reader.keep(&key, &format!("${}\r\n{value}\r\n", value.len()));
        }
        assert_eq!(writer.call(&["DEL", &key]).to_string(), ":1");
        for reader in readers.iter_mut().chain([&mut listener]) {
            reader.must_be_told(&key);
        }
    }
}

#[test]
fn all_is_forgotten_when_a_node_dies_and_nothing_is_missed_after_that() {
    let mut cluster = start("3");
    let mut reader = Reader::new(cluster.port(0), "t", &[]);
    let mut listener = Reader::new(cluster.port(1), "t", &["BCAST"]);
    for number in 0..50 {
        reader.ask(&["GET", &format!("key:{number}")], "_\r\n");
    }
    cluster.kill(2);
    let mut told = [String::new(), String::new()];
    wait_for("all is forgotten", || {
        told[0].push_str(&reader.heard());
        told[1].push_str(&listener.heard());
        let are_told = told.iter().all(|it| it.contains(ALL_CHANGED));
        are_told.then_some(())
    });
    let mut writer = cluster.table(1, "t").unwrap();
    for number in 0..50 {
        let key = format!("key:{number}");
        wait_for("a write", || {
            let reply = writer.try_call(&["SET", &key, "1"]).ok()?;
            (reply.to_string() == "+OK").then_some(())
        });
    }
    // By now the map is the same everywhere.
    reader.heard();
    listener.heard();
    for number in 0..50 {
        let key = format!("key:{number}");
        reader.ask(&["GET", &key], "$1\r\n1\r\n");
        writer.must(&["SET", &key, "2"]);
        for reader in [&mut reader, &mut listener] {
            reader.must_be_told(&key);
        }
    }
}
