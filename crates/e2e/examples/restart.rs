//! How long a restart takes after `kill -9` with a million records; prints the figures.
//!
//! `cargo run --release -p brickyard-e2e --example restart [RECORDS] [BRICKS]`

use brickyard_e2e::client::{Client, encode};
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::server::Setup;
use std::time::Instant;

/// Requests sent before their replies are read.
const BATCH: usize = 1_000;

/// The canonical workload's sizes: keys of 16 bytes, values of 150.
const VALUE_BYTES: usize = 150;

fn key(number: usize) -> String {
    format!("key:{number:012}")
}

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|word| word.parse().expect("a number"));
    let records: usize = arguments.next().unwrap_or(1_000_000);
    let bricks = u16::try_from(arguments.next().unwrap_or(2)).expect("a few bricks");
    for (title, prologue) in [
        ("ram, durability log", &[][..]),
        (
            "disk, durability log",
            &[
                &["TABLE", "CREATE", "cold", "MEDIUM", "disk"],
                &["TABLE", "USE", "cold"][..],
            ][..],
        ),
    ] {
        let mut server = Setup::brickyard(bricks).start();
        let mut client = server.connect();
        for request in prologue {
            client.must(request);
        }
        load(&mut client, records);
        server.kill();
        let begin = Instant::now();
        server.restart();
        let ready = begin.elapsed();
        let mut client = server.connect();
        if let Some(choose) = prologue.get(1) {
            client.must(choose);
        }
        let last = wait_for("the last record", || {
            let reply = client.call(&["GET", &key(records - 1)]);
            (!reply.is_error()).then_some(reply)
        });
        let served = begin.elapsed();
        assert_eq!(
            last.as_bytes().map(<[u8]>::len),
            Some(VALUE_BYTES),
            "the last record"
        );
        let count = client.line("DBSIZE").as_integer().expect("a number");
        assert_eq!(
            usize::try_from(count),
            Ok(records),
            "records after the restart"
        );
        println!(
            "{title}: {records} records, {bricks} bricks: answers PING after {ready:.2?}, serves the last record after {served:.2?}, {} MiB resident",
            server.process().resident_bytes() >> 20
        );
    }
}

fn load(client: &mut Client, records: usize) {
    let value = "v".repeat(VALUE_BYTES);
    for begin in (0..records).step_by(BATCH) {
        let end = (begin + BATCH).min(records);
        let mut requests = Vec::new();
        for number in begin..end {
            encode(&mut requests, &["SET", &key(number), &value]);
        }
        client.send_raw(&requests).expect("the requests are taken");
        for _ in begin..end {
            let reply = client.receive().expect("a reply");
            assert!(reply.is_ok(), "{reply}");
        }
    }
}
