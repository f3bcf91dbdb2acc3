//! Partitions that are split and merged in turn, one thing after the other, with all that a log may have of halves:
//! clears, deletions, segments that were cleaned, restarts (PROTOCOL rule 31).
//!
//! Where everything goes wrong at once hardly any log has the clear of a half when it is read as the whole's.

use crate::accepted::Port;
use crate::cluster_harness::Cluster;
use crate::random::Random;
use brickyard_types::{Durability, Medium, TableAttributes};
use std::collections::BTreeMap;

const NODES: usize = 3;
const KEYS: usize = 16;

/// A cluster in which nothing happens by itself, and what was acknowledged.
struct Script {
    cluster: Cluster,
    random: Random,
    values: BTreeMap<usize, String>,
    /// The keys whose partitions were split, the last one at the end.
    split: Vec<String>,
    told: Vec<String>,
}

/// Whatever was acknowledged is there, and nothing else.
pub(super) fn schedule(seed: u64) {
    let mut random = Random::new(seed);
    let is_disk = random.next().is_multiple_of(4);
    let attributes = TableAttributes {
        medium: if is_disk { Medium::Disk } else { Medium::Ram },
        maxmemory: is_disk.then_some(64),
        durability: Durability::Log,
        replicas: NODES as u8,
        ..TableAttributes::default()
    };
    let mut script = Script {
        cluster: Cluster::new(NODES, attributes),
        random,
        values: BTreeMap::new(),
        split: Vec::new(),
        told: vec![format!("seed {seed}")],
    };
    for _ in 0..24 {
        script.step();
    }
    while !script.split.is_empty() {
        script.merge();
    }
    script.restart_all();
    for at in 0..NODES {
        script.check(at);
    }
}

impl Script {
    fn below(&mut self, n: usize) -> usize {
        (self.random.next() % n as u64) as usize
    }

    fn step(&mut self) {
        let at = self.below(NODES);
        match self.below(16) {
            0..6 => self.write(at),
            6 | 7 => self.flush(at),
            8 | 9 if self.split.len() < 4 => self.split(),
            10 | 11 if !self.split.is_empty() => self.merge(),
            12 | 13 => self.clean(at),
            14 => self.restart_all(),
            _ => self.check(at),
        }
    }

    fn call(&mut self, at: usize, command: &str) -> String {
        let client = self.cluster.connect(at, Port::Node);
        self.told.push(format!("node {at}: {command}"));
        self.cluster.call(client, command)
    }

    fn write(&mut self, at: usize) {
        // Of a few keys, so that halves come to be of different lengths.
        let (first, count) = (self.below(KEYS), 1 + self.below(8));
        for number in 0..count {
            let key = (first + number % 3) % KEYS;
            if self.below(4) == 0 {
                let had = self.values.remove(&key).is_some();
                let reply = self.call(at, &format!("DEL k{key}"));
                self.expect(&reply, &format!(":{}", u8::from(had)));
            } else {
                let value = format!("v{}", self.told.len());
                let reply = self.call(at, &format!("SET k{key} {value}"));
                self.values.insert(key, value);
                self.expect(&reply, "+OK");
            }
        }
    }

    fn flush(&mut self, at: usize) {
        let reply = self.call(at, "FLUSHDB");
        self.values.clear();
        self.expect(&reply, "+OK");
    }

    fn split(&mut self) {
        let key = format!("k{}", self.below(KEYS));
        let before = self.cluster.partitions().0;
        self.cluster.split(&key);
        self.cluster.settle();
        self.told.push(format!("the partition of {key} is split"));
        self.split.push(key);
        self.expect(
            &format!("{:?}", self.cluster.partitions()),
            &format!("({}, 0)", before + 1),
        );
    }

    /// Takes the last split back.
    fn merge(&mut self) {
        let key = self.split.pop().unwrap();
        let before = self.cluster.partitions().0;
        self.cluster.merge(&key);
        self.cluster.settle();
        self.told.push(format!("the partition of {key} is merged"));
        self.expect(
            &format!("{:?}", self.cluster.partitions()),
            &format!("({}, 0)", before - 1),
        );
    }

    /// Seals the segment at hand; it is cleaned, or not yet.
    fn clean(&mut self, at: usize) {
        self.told.push(format!("log of node {at} rolls"));
        self.cluster.roll(at);
        for _ in 0..self.below(8) {
            self.cluster.settle();
        }
    }

    fn restart_all(&mut self) {
        self.told
            .push("all nodes are killed, and restart".to_owned());
        self.cluster.is_deciding = false;
        (0..NODES).for_each(|at| self.cluster.kill(at));
        self.cluster.is_deciding = true;
        let first = self.below(NODES);
        (0..NODES).for_each(|at| self.cluster.restart((first + at) % NODES));
        assert!(self.cluster.is_whole(NODES), "{}", self.story());
    }

    fn check(&mut self, at: usize) {
        for key in 0..KEYS {
            let reply = self.call(at, &format!("GET k{key}"));
            let expected = self.values.get(&key);
            let expected =
                expected.map_or_else(|| "$-1".to_owned(), |it| format!("${} {it}", it.len()));
            self.expect(&reply, &expected);
        }
    }

    fn expect(&self, reply: &str, expected: &str) {
        assert_eq!(reply, expected, "{}", self.story());
    }

    fn story(&self) -> String {
        format!("{}\n{}", self.told.join("\n"), self.cluster.story())
    }
}
