//! Makes a command sequence from a seed: mostly sensible, often at the edge, sometimes wrong.

use super::template::Template;
use super::vocabulary::{
    CLUSTER, CLUSTER_CONNECTION, DATA, KEYSPACE, SCRIPTS, SERVER, STANDALONE_CONNECTION,
    TRANSACTION, Table, parsed,
};
use super::{Dialect, Move, Step};
use crate::random::Random;
use std::sync::OnceLock;

/// Moves of a sequence.
const MOVES_MAX: usize = 40;

/// Sequence `seed` of a dialect.
#[must_use]
pub fn sequence(dialect: Dialect, seed: u64) -> Vec<Move> {
    let mut generator = Generator::new(dialect, seed);
    let count = 5 + generator.random.below(MOVES_MAX - 5);
    while generator.moves.len() < count {
        generator.add();
    }
    generator.moves
}

fn is_one_of(names: &[&[u8]], name: &[u8]) -> bool {
    names.iter().any(|it| name.eq_ignore_ascii_case(it))
}

struct Generator {
    dialect: Dialect,
    random: Random,
    moves: Vec<Move>,
    /// Keys that share a tag, and keys of everywhere.
    peers: Vec<Vec<u8>>,
    strangers: Vec<Vec<u8>>,
    /// Which connections have keys watched, and which are inside a transaction.
    is_watching: [bool; 2],
    is_queueing: [bool; 2],
    /// Times to live that count from now; without them times of expiry are compared exactly.
    has_relative_times: bool,
}

impl Generator {
    fn new(dialect: Dialect, seed: u64) -> Self {
        // Neighbouring seeds would otherwise give neighbouring choices of dialect and length.
        let mut random = Random::new(seed ^ (dialect as u64) << 60);
        let tag = format!("{{{}}}", random.below(100));
        let peer = |suffix: &str| format!("{tag}{suffix}").into_bytes();
        let peers = ["a", "b", "c", "d", "\x00\r\n\x7f"].map(peer).to_vec();
        let mut strangers: Vec<Vec<u8>> = ["k1", "k2", "{}k3", "a{b}c", "k{4", "k }5{"]
            .map(|key| key.as_bytes().to_vec())
            .to_vec();
        strangers.push(random.bytes(12));
        strangers.push(format!("long:{}", "x".repeat(300)).into_bytes());
        let has_relative_times = random.once_in(2);
        Self {
            dialect,
            random,
            moves: Vec::new(),
            peers,
            strangers,
            is_watching: [false; 2],
            is_queueing: [false; 2],
            has_relative_times,
        }
    }

    /// Adds the next move, or the few that belong together.
    fn add(&mut self) {
        static TABLES: [OnceLock<Table>; 7] = [const { OnceLock::new() }; 7];
        let connection = usize::from(self.random.once_in(5));
        let is_bound = self.is_watching[connection] || self.is_queueing[connection];
        let has_keyspace = !is_bound;
        let table = match self.random.below(100) {
            0..67 => parsed(&TABLES[0], DATA),
            67..76 if has_keyspace => parsed(&TABLES[1], KEYSPACE),
            76..84 => parsed(&TABLES[2], SERVER),
            84..92 => parsed(&TABLES[3], TRANSACTION),
            92..94 if self.dialect == Dialect::Cluster => parsed(&TABLES[4], CLUSTER),
            94..95 if has_keyspace && self.dialect == Dialect::Cluster => {
                parsed(&TABLES[5], CLUSTER_CONNECTION)
            }
            92..95 if has_keyspace && self.dialect == Dialect::Standalone => {
                parsed(&TABLES[6], STANDALONE_CONNECTION)
            }
            95..97 if has_keyspace => return self.add_scan(connection),
            97..98 if has_keyspace => return self.push(connection, Step::RandomKey),
            98..99 if !is_bound => return self.add_expiry(connection),
            99..100 if self.may_reset(connection) => {
                self.is_watching[connection] = false;
                self.is_queueing[connection] = false;
                return self.call(connection, &[b"RESET"]);
            }
            _ => parsed(&TABLES[0], DATA),
        };
        let total: usize = table.iter().map(|(weight, _)| weight).sum();
        let mut ticket = self.random.below(total);
        let template = table.iter().find_map(|(weight, template)| {
            let is_chosen = ticket < *weight;
            ticket = ticket.saturating_sub(*weight);
            is_chosen.then_some(template)
        });
        if let Some(template) = template {
            self.add_command(connection, template);
        }
    }

    fn add_command(&mut self, connection: usize, template: &Template) {
        let mut random = self.random.clone();
        let mut arguments: Vec<Vec<u8>> = Vec::new();
        template.expand(&mut random, &mut |random, word| {
            let argument = self.fill(random, word, connection);
            arguments.push(argument);
        });
        self.random = random;
        // What is about all keys of a slot is refused in a transaction here (docs/commands.md).
        let is_about_a_slot = arguments.get(1).is_some_and(|word| {
            [&b"COUNTKEYSINSLOT"[..], b"GETKEYSINSLOT"]
                .iter()
                .any(|name| word.eq_ignore_ascii_case(name))
        });
        if is_about_a_slot && self.is_queueing[connection] {
            return;
        }
        // How many keys a script has is looked at when it is queued, by Redis when it runs. A brick's port has numbered
        // databases, which Redis Cluster has not; and a WATCH that is wrong in two ways (inside MULTI, of several
        // slots) is told another one of them.
        let is_fragile = is_one_of(&[b"EVAL", b"EVAL_RO"], &arguments[0])
            || self.dialect == Dialect::Cluster && is_one_of(&[b"SELECT", b"WATCH"], &arguments[0]);
        if self.random.once_in(12) && !is_fragile {
            self.damage(&mut arguments, connection);
        }
        self.follow(connection, &arguments);
        self.push(connection, Step::Call(arguments));
    }

    /// A `RESET` ends the transaction that a sequence may be about, so only now and then.
    fn may_reset(&mut self, connection: usize) -> bool {
        // It would also lead back to the default table.
        self.dialect != Dialect::Table && (!self.is_queueing[connection] || self.random.once_in(4))
    }

    /// Keeps track of the transaction that the connection is in.
    fn follow(&mut self, connection: usize, arguments: &[Vec<u8>]) {
        let is_queueing = self.is_queueing[connection];
        let name = arguments[0].to_ascii_uppercase();
        match (name.as_slice(), arguments.len()) {
            (b"MULTI", 1) => self.is_queueing[connection] = true,
            (b"WATCH", 2..) if !is_queueing => self.is_watching[connection] = true,
            (b"UNWATCH", 1) if !is_queueing => self.is_watching[connection] = false,
            (b"EXEC" | b"DISCARD", 1) if is_queueing => {
                self.is_queueing[connection] = false;
                self.is_watching[connection] = false;
            }
            _ => {}
        }
    }

    fn add_scan(&mut self, connection: usize) {
        let mut options: Vec<Vec<u8>> = Vec::new();
        if self.random.once_in(2) {
            options.extend([b"MATCH".to_vec(), self.pattern()]);
        }
        if self.random.once_in(2) {
            let count = self
                .random
                .pick(&["1", "2", "10", "1000"])
                .as_bytes()
                .to_vec();
            options.extend([b"COUNT".to_vec(), count]);
        }
        if self.random.once_in(3) {
            let kind = self
                .random
                .pick(&["string", "STRING", "list", "hash"])
                .as_bytes()
                .to_vec();
            options.extend([b"TYPE".to_vec(), kind]);
        }
        self.push(connection, Step::Scan(options));
    }

    /// A key gets a short time to live, and both servers are waited for before the sequence goes on:
    /// in between their clocks could disagree about it.
    fn add_expiry(&mut self, connection: usize) {
        let key = self.key(connection);
        let millis = self.random.pick(&["1", "3", "8"]).as_bytes();
        self.call(connection, &[b"SET", &key, b"short-lived", b"PX", millis]);
        self.push(connection, Step::Expire(key));
    }

    fn call(&mut self, connection: usize, arguments: &[&[u8]]) {
        let arguments = arguments.iter().map(|argument| argument.to_vec()).collect();
        self.push(connection, Step::Call(arguments));
    }

    fn push(&mut self, connection: usize, step: Step) {
        self.moves.push(Move { connection, step });
    }

    /// Makes a command wrong: one argument fewer, one more, or one that does not belong there. The name
    /// stays, and no argument becomes empty, since an empty key is one that only Redis knows.
    fn damage(&mut self, arguments: &mut Vec<Vec<u8>>, connection: usize) {
        let at = 1 + self.random.below(arguments.len());
        // An argument that slides into a key's place must carry the tag where keys must.
        let must_be_peer = self.needs_one_slot(connection);
        let edge = if must_be_peer {
            self.peers[self.random.below(self.peers.len())].clone()
        } else {
            self.edge().as_bytes().to_vec()
        };
        match self.random.below(3) {
            // Without its key a command would take its value for one.
            0 if at < arguments.len() && !(must_be_peer && at == 1) => drop(arguments.remove(at)),
            1 if at < arguments.len() => arguments[at] = edge,
            _ => arguments.insert(at.min(arguments.len()), edge),
        }
    }

    fn edge(&mut self) -> &'static str {
        self.random.pick(&[
            "0",
            "-1",
            "1",
            "-0",
            "+1",
            " 1",
            "1 ",
            "01",
            "0x10",
            "1e3",
            "nan",
            "inf",
            "abc",
            "NX",
            "EX",
            "GET",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "3.0",
            "*",
        ])
    }

    /// Whether keys of several slots would be answered differently for a good reason: at a brick's port the
    /// keys that are watched have to be in the transaction's slot.
    fn needs_one_slot(&self, connection: usize) -> bool {
        self.is_watching[connection] && self.dialect == Dialect::Cluster
    }

    fn key(&mut self, connection: usize) -> Vec<u8> {
        let is_stranger = !self.needs_one_slot(connection) && self.random.below(10) >= 7;
        self.one_of(is_stranger)
    }

    /// A key that shares the tag, or one of everywhere.
    fn one_of(&mut self, is_stranger: bool) -> Vec<u8> {
        let keys = if is_stranger {
            &self.strangers
        } else {
            &self.peers
        };
        keys[self.random.below(keys.len())].clone()
    }

    fn pattern(&mut self) -> Vec<u8> {
        self.random
            .pick(&[
                "*", "k*", "k?", "*a", "{*}a", "k[12]", "k[^1]", "[a-k]*", "\\k1", "", "k[",
                "a*{*}*", "*x*x*",
            ])
            .as_bytes()
            .to_vec()
    }

    /// An argument for a placeholder; other words stand for themselves, in any case of letters.
    fn fill(&mut self, random: &mut Random, word: &'static str, connection: usize) -> Vec<u8> {
        // The template walks with its own copy of the stream; draw from that one alone.
        std::mem::swap(&mut self.random, random);
        let argument = self.argument(word, connection);
        std::mem::swap(&mut self.random, random);
        argument
    }

    fn argument(&mut self, word: &'static str, connection: usize) -> Vec<u8> {
        let text = match word {
            "key" | "keyslot" => {
                let key = self.key(connection);
                if word == "key" {
                    return key;
                }
                slot_of(&key).to_string()
            }
            "peer" => {
                // In a cluster CROSSSLOT is part of what is compared; elsewhere it makes no difference.
                let rarity = match self.dialect {
                    Dialect::Cluster => 8,
                    Dialect::Standalone | Dialect::Table => 3,
                };
                let is_stranger = !self.needs_one_slot(connection) && self.random.once_in(rarity);
                return self.one_of(is_stranger);
            }
            "friend" => {
                let is_stranger = self.dialect != Dialect::Cluster && self.random.once_in(3);
                return self.one_of(is_stranger);
            }
            "value" => return self.value(),
            "script" => return self.random.pick(SCRIPTS).as_bytes().to_vec(),
            "integer" => self.integer(),
            "float" => self.float(),
            "index" => self.number(
                &[
                    "0",
                    "-1",
                    "1",
                    "-9223372036854775808",
                    "9223372036854775807",
                    "x",
                ],
                -12,
                12,
            ),
            "offset" => self.number(
                &["0", "-1", "536870912", "9223372036854775807", "x", "1.0"],
                0,
                60,
            ),
            "bitoffset" => self.number(&["-1", "4294967296", "x", "7", "8"], 0, 200),
            "bit" => self.number(&["2", "-1", "x"], 0, 2),
            "seconds" => self.time_to_live(1),
            "millis" => self.time_to_live(1000),
            "unix" => self.time_of_expiry(1, "1"),
            "unixmillis" => self.time_of_expiry(1000, "1"),
            // Redis counts a key that was set into the past until it happens to look at it.
            "later" => self.time_of_expiry(1, "0"),
            "latermillis" => self.time_of_expiry(1000, "0"),
            "field" => self
                .random
                .pick(&[
                    "u1", "u4", "u8", "i5", "i8", "u16", "i32", "u63", "i64", "u64", "i65", "u0",
                    "8", "x8",
                ])
                .to_owned(),
            "hfield" => self
                .random
                .pick(&["f", "g", "n", "", "a b", "f\r\n\x00", "12"])
                .to_owned(),
            "fieldoffset" => self.number(&["#1", "#2", "-1", "#-1", "x", "4294967296"], 0, 40),
            "slot" => self.number(&["-1", "16384", "x"], 0, 16384),
            "count" => self.number(&["0", "-1", "x"], 0, 10),
            "pattern" => return self.pattern(),
            "name" => self.random.pick(&["", "worker", "a.b:c-d"]).to_owned(),
            "badname" => self.random.pick(&["two words", "line\nbreak"]).to_owned(),
            "junk" => self
                .random
                .pick(&["nonsense", "foo", "bar!", "NOSUCH"])
                .to_owned(),
            literal => match self.random.below(4) {
                0 => literal.to_lowercase(),
                _ => literal.to_owned(),
            },
        };
        text.into_bytes()
    }

    /// Mostly a number of `begin..end`, sometimes one of `edges`.
    fn number(&mut self, edges: &[&str], begin: i64, end: i64) -> String {
        if self.random.once_in(8) {
            return self.random.pick(edges).to_owned();
        }
        self.random.within(begin, end).to_string()
    }

    fn integer(&mut self) -> String {
        let edges = [
            "9223372036854775807",
            "-9223372036854775808",
            "9223372036854775808",
            "1.5",
            "",
            " 1",
            "x",
            "0",
            "4294967296",
            "00",
        ];
        if self.random.once_in(6) {
            self.random.pick(&edges).to_owned()
        } else {
            self.number(&["1"], -300, 300)
        }
    }

    fn float(&mut self) -> String {
        let edges = [
            "nan", "inf", "-inf", "x", "", "1e400", " 1", "0x1p3", "1e17", "5e-1", "-0", "3.0e3",
        ];
        if self.random.once_in(6) {
            return self.random.pick(&edges).to_owned();
        }
        let whole = self.random.within(-50, 50);
        match self.random.below(4) {
            0 => whole.to_string(),
            1 => format!("{whole}.5"),
            2 => format!("{whole}.{:03}", self.random.below(1000)),
            _ => format!("{whole}.{}", self.random.below(10)),
        }
    }

    /// A time to live, `scale` units a second: far away, or already over. Nothing that could run out while
    /// the sequence runs.
    fn time_to_live(&mut self, scale: i64) -> String {
        if self.random.once_in(5) {
            let edges = [
                "0",
                "-1",
                "-9223372036854775808",
                "9223372036854775807",
                "x",
                "9223372036854775",
                "1.5",
            ];
            return self.random.pick(&edges).to_owned();
        }
        if !self.has_relative_times {
            // Refused everywhere, so the sequence stays exact.
            return "0".to_owned();
        }
        (self.random.within(1_000, 100_000) * scale).to_string()
    }

    fn time_of_expiry(&mut self, scale: i64, past: &str) -> String {
        if self.random.once_in(5) {
            let edges = [
                "0",
                past,
                "-1",
                "9223372036854775807",
                "9223372036854775",
                "x",
                "99999999999999999",
            ];
            return self.random.pick(&edges).to_owned();
        }
        // The year 2100 and a few seconds around it, so that GT and LT have something to decide.
        ((4_102_444_800 + self.random.within(0, 4)) * scale).to_string()
    }

    fn value(&mut self) -> Vec<u8> {
        match self.random.below(14) {
            0..5 => self.random.within(-1000, 1000).to_string().into_bytes(),
            5 => self.integer().into_bytes(),
            6 => self.float().into_bytes(),
            7 => {
                let len = self.random.below(70);
                self.random.bytes(len)
            }
            8 => b"a\r\n$5\r\nb\x00".to_vec(),
            9 if self.random.once_in(4) => {
                let len = 1 << (8 + self.random.below(9));
                vec![b'a' + u8::try_from(self.random.below(26)).unwrap_or(0); len]
            }
            _ => {
                let words = [
                    "foobar",
                    "hello world",
                    "3.14",
                    "x",
                    "\u{e9}t\u{e9}",
                    "1e3",
                    "-0",
                    "+5",
                    "007",
                ];
                self.random.pick(&words).as_bytes().to_vec()
            }
        }
    }
}

/// The Redis Cluster slot of a key: CRC16/XMODEM of the key or its tag, modulo 16384.
#[must_use]
pub fn slot_of(key: &[u8]) -> u16 {
    let tagged = key.iter().position(|&byte| byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        rest.iter()
            .position(|&byte| byte == b'}')
            .filter(|&len| len > 0)
            .map(|len| &rest[..len])
    });
    let mut crc: u16 = 0;
    for &byte in tagged.unwrap_or(key) {
        crc ^= u16::from(byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 == 0 {
                crc << 1
            } else {
                (crc << 1) ^ 0x1021
            };
        }
    }
    crc % 16384
}

#[cfg(test)]
#[path = "generate_test.rs"]
mod generate_test;
