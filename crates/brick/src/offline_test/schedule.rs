//! Random schedules of a table that goes offline and comes back between writes, restarts, the cleaner, splits and merges.
//!
//! One client, one command at a time: so what each key holds is known, and every read is judged.

use crate::accepted::Port;
use crate::cluster_harness::{Client, Cluster};
use crate::random::Random;
use brickyard_types::{Durability, Medium, TableAttributes};
use std::collections::BTreeMap;
use std::time::Duration;

const STEPS: usize = 40;
const NODES: usize = 3;
const KEYS: u64 = 12;

struct Schedule {
    cluster: Cluster,
    client: Client,
    random: Random,
    /// What each key holds; `None`: a write of it was given up, and nobody knows.
    keys: BTreeMap<String, Option<String>>,
    is_online: bool,
    writes: u64,
}

/// Runs one.
pub(super) fn schedule(seed: u64) {
    let mut random = Random::new(seed);
    let mut below = |count: u64| random.next() % count;
    let durability = [Durability::Log, Durability::Fsync][below(2) as usize];
    let is_disk = below(4) == 0;
    let attributes = TableAttributes {
        replicas: 2 + below(2) as u8,
        durability,
        medium: if is_disk { Medium::Disk } else { Medium::Ram },
        maxmemory: is_disk.then_some(1),
        ..TableAttributes::default()
    };
    let mut cluster = Cluster::new(NODES, attributes);
    let client = cluster.connect(0, Port::Node);
    let mut schedule = Schedule {
        cluster,
        client,
        random,
        keys: BTreeMap::new(),
        is_online: true,
        writes: 0,
    };
    for _ in 0..STEPS {
        schedule.step();
    }
    schedule.bring_back();
    schedule.check();
}

impl Schedule {
    fn below(&mut self, count: u64) -> u64 {
        self.random.next() % count
    }

    fn step(&mut self) {
        match self.below(12) {
            0..4 if self.is_online => self.write(),
            4 => self.restart(),
            5 => (0..NODES).for_each(|at| self.cluster.roll(at)),
            6 | 7 => (0..8).for_each(|_| self.cluster.settle()),
            8 if self.is_online => self.divide(),
            9 => self.cluster.tick(Duration::from_secs(2)),
            _ if self.is_online => self.go(),
            _ => self.bring_back(),
        }
    }

    fn key(&mut self) -> String {
        format!("key{}", self.below(KEYS))
    }

    fn write(&mut self) {
        for _ in 0..=self.below(6) {
            let key = self.key();
            self.writes += 1;
            let value = format!("v{}", self.writes);
            let (command, held) = match self.below(3) {
                0 => (format!("DEL {key}"), String::new()),
                _ => (format!("SET {key} {value}"), value),
            };
            let reply = self.cluster.call(self.client, &command);
            let is_done = !reply.starts_with('-');
            self.keys.insert(key, is_done.then_some(held));
        }
    }

    /// Of another node than the client's.
    fn restart(&mut self) {
        let at = 1 + self.below(NODES as u64 - 1) as usize;
        self.cluster.kill(at);
        self.cluster.settle();
        self.cluster.restart(at);
        self.cluster.settle();
    }

    fn divide(&mut self) {
        let key = self.key();
        let whole = self.cluster.is_whole_now();
        if whole && self.cluster.partitions().0 < 7 {
            self.cluster.split(&key);
        } else if whole && self.cluster.may_merge(&key) {
            self.cluster.merge(&key);
        }
        self.cluster.settle();
    }

    fn go(&mut self) {
        self.check();
        if self.cluster.may_go_offline() {
            self.cluster.take_offline();
            self.is_online = false;
            let refused = self.cluster.call(self.client, "GET key1");
            assert!(refused.starts_with("-OFFLINE"), "{refused}");
        }
    }

    fn bring_back(&mut self) {
        if self.is_online {
            return;
        }
        self.cluster.bring_online();
        self.cluster.settle();
        assert!(self.cluster.is_online(), "{}", self.cluster.story());
        self.is_online = true;
        self.check();
    }

    fn check(&mut self) {
        if !self.is_online {
            return;
        }
        for (key, held) in self.keys.clone() {
            let Some(held) = held else { continue };
            let got = self.cluster.call(self.client, &format!("GET {key}"));
            let expected = match held.len() {
                0 => "$-1".to_owned(),
                len => format!("${len} {held}"),
            };
            assert_eq!(got, expected, "{key}: {}", self.cluster.story());
        }
    }
}
