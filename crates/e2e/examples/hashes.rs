//! What hashes cost beside a real Redis or Valkey: processor time of the server for one operation, and memory for one hash.
//!
//! `cargo run --release -p brickyard-e2e --example hashes [PATH OF A valkey-server]`
//!
//! Both servers run all the time; each piece of work is done by both in turn, twice, and the better round counts. One thread
//! asks over eight connections, a hundred requests at a time on each. The table has no log, as the Redis has none.

use brickyard_e2e::client::{Client, encode};
use brickyard_e2e::random::Random;
use brickyard_e2e::server::{Server, ServerKind, Setup};
use std::path::Path;

const CONNECTIONS: usize = 8;
const PIPELINE: usize = 100;
const OPERATIONS: usize = 400_000;
const ROUNDS: usize = 2;

const SMALL: usize = 100_000;
const LARGE: usize = 10_000;

/// Hashes of many fields, and how many.
const HUGE: usize = 100;
const HUGE_FIELDS: usize = 10_000;

/// A word in which a key's number stands for `#`, or that of one of the large hashes for `?`.
type Request = &'static [&'static str];

/// Hashes that are made: a name, the beginning of their keys, how many, and of how many fields.
type Hashes = &'static [(&'static str, &'static str, usize, usize)];

/// What is measured: its name, the request, how many keys there are, how many requests are on their way.
type Work = &'static [(&'static str, Request, usize, usize)];

/// Small hashes alone, as in a table that has no other ones; then large ones beside them.
const SECTIONS: &[(Hashes, Work)] = &[
    (
        &[
            ("memory of a hash of 4 fields", "h", SMALL, 4),
            ("memory of a hash of 64 fields", "m", LARGE, 64),
        ],
        SMALL_WORK,
    ),
    (
        &[("memory of a hash of 10,000 fields", "l", HUGE, HUGE_FIELDS)],
        LARGE_WORK,
    ),
];

const SMALL_WORK: Work = &[
    ("SET", &["SET", "k#", "0123456789"], SMALL, PIPELINE),
    (
        "HSET, one field of 4",
        &["HSET", "h#", "f2", "0123456789"],
        SMALL,
        PIPELINE,
    ),
    (
        "HGET, one field of 4",
        &["HGET", "h#", "f2"],
        SMALL,
        PIPELINE,
    ),
    ("HGETALL, 4 fields", &["HGETALL", "h#"], SMALL, PIPELINE),
    (
        "HMGET, 2 fields of 4",
        &["HMGET", "h#", "f1", "f3"],
        SMALL,
        PIPELINE,
    ),
    (
        "HINCRBY, the only field",
        &["HINCRBY", "c#", "n", "1"],
        SMALL,
        PIPELINE,
    ),
    (
        "HSET, one field of 64",
        &["HSET", "m#", "f60", "0123456789"],
        LARGE,
        PIPELINE,
    ),
    (
        "HGET, one field of 64",
        &["HGET", "m#", "f60"],
        LARGE,
        PIPELINE,
    ),
    (
        "HSET, one at a time",
        &["HSET", "h#", "f2", "0123456789"],
        SMALL,
        1,
    ),
];

const LARGE_WORK: Work = &[
    (
        "HSET, one field of 10,000",
        &["HSET", "l?", "f#", "0123456789"],
        HUGE_FIELDS,
        PIPELINE,
    ),
    (
        "HGET, one field of 10,000",
        &["HGET", "l?", "f#"],
        HUGE_FIELDS,
        PIPELINE,
    ),
    (
        "HINCRBY, one field of 10,000",
        &["HINCRBY", "l?", "n#", "1"],
        HUGE_FIELDS,
        PIPELINE,
    ),
    (
        "HGET, one field of 4, beside large hashes",
        &["HGET", "h#", "f2"],
        SMALL,
        PIPELINE,
    ),
    (
        "HSET, one field of 4, beside large hashes",
        &["HSET", "h#", "f2", "0123456789"],
        SMALL,
        PIPELINE,
    ),
];

struct Side {
    server: Server,
    clients: Vec<Client>,
}

impl Side {
    fn new(server: Server, database: &str) -> Self {
        let clients = (0..CONNECTIONS).map(|_| {
            let mut client = server.connect();
            client.must(&["SELECT", database]);
            client
        });
        let clients = clients.collect();
        Self { server, clients }
    }

    /// Processor time of the server so far, in microseconds.
    fn spent(&mut self) -> f64 {
        let path = format!("/proc/{}/stat", self.server.process().id());
        let stat = std::fs::read_to_string(path).expect("the server runs");
        let (_, fields) = stat.rsplit_once(')').expect("a name in brackets");
        let fields: Vec<&str> = fields.split_whitespace().collect();
        // In hundredths of a second.
        let ticks = |at: usize| fields[at].parse::<f64>().expect("a number of ticks");
        (ticks(11) + ticks(12)) * 10_000.0
    }

    /// Microseconds for one of so many requests.
    fn run(&mut self, request: Request, keys: usize, pipeline: usize, random: &mut Random) -> f64 {
        let operations = if pipeline == 1 {
            OPERATIONS / 10
        } else {
            OPERATIONS
        };
        let before = self.spent();
        for _ in 0..operations / (CONNECTIONS * pipeline) {
            for client in &mut self.clients {
                let mut input = Vec::new();
                for _ in 0..pipeline {
                    let number = random.below(keys).to_string();
                    let huge = random.below(HUGE).to_string();
                    let words: Vec<String> = request
                        .iter()
                        .map(|word| word.replace('#', &number).replace('?', &huge))
                        .collect();
                    encode(&mut input, &words);
                }
                client.send_raw(&input).expect("requests leave");
            }
            for client in &mut self.clients {
                for _ in 0..pipeline {
                    client.receive().expect("a reply");
                }
            }
        }
        (self.spent() - before) / operations as f64
    }

    /// Makes hashes of so many fields, and says how many bytes the process grew by for each.
    fn fill(&mut self, prefix: &str, count: usize, fields: usize) -> f64 {
        let before = self.server.process().resident_bytes();
        let at_once = (PIPELINE * 64 / fields).clamp(1, PIPELINE);
        for base in (0..count).step_by(at_once) {
            let mut input = Vec::new();
            for number in base..base + at_once {
                let mut words = vec!["HSET".to_owned(), format!("{prefix}{number}")];
                for field in 0..fields {
                    words.extend([format!("f{field}"), "0123456789".to_owned()]);
                }
                encode(&mut input, &words);
            }
            self.clients[0].send_raw(&input).expect("requests leave");
            for _ in 0..at_once {
                self.clients[0].receive().expect("a reply");
            }
        }
        let after = self.server.process().resident_bytes();
        after.saturating_sub(before) as f64 / count as f64
    }
}

fn main() {
    let named = std::env::args()
        .nth(1)
        .map(|it| Setup::redis_at(Path::new(&it)));
    let redis = named.or_else(|| Setup::redis(ServerKind::Redis, "the comparison"));
    let Some(redis) = redis else {
        return;
    };
    let mut theirs = Side::new(redis.start(), "0");
    let ours = Setup::brickyard(1).start();
    ours.connect()
        .must(&["TABLE", "CREATE", "1", "DURABILITY", "memory"]);
    let mut ours = Side::new(ours, "1");

    println!("| Work | Brickyard | the other | ratio |\n|---|---|---|---|");
    let mut random = Random::new(1);
    for (hashes, work) in SECTIONS {
        for (name, prefix, count, fields) in *hashes {
            let us = ours.fill(prefix, *count, *fields);
            let them = theirs.fill(prefix, *count, *fields);
            println!("| {name} | {us:.0} B | {them:.0} B | {:.2} |", us / them);
        }
        for (name, request, keys, pipeline) in *work {
            let mut best = [f64::MAX; 2];
            for _ in 0..ROUNDS {
                for (side, best) in [&mut ours, &mut theirs].into_iter().zip(&mut best) {
                    let spent = side.run(request, *keys, *pipeline, &mut random);
                    *best = best.min(spent);
                }
            }
            let [us, them] = best;
            println!("| {name} | {us:.2} µs | {them:.2} µs | {:.2} |", us / them);
        }
    }
}
