//! The whole table against a `BTreeMap`, over random operations, with every invariant checked on
//! the way.

use super::*;
use crate::{Expired, Put, Replaced, ScanPosition, ValueRef, Victim, WriteOutcome};
use brickyard_types::{Position, ValueType};
use brickyard_types::{SegmentId, record::encoded_len};
use std::collections::BTreeMap;

/// What the table should have for a key.
#[derive(Clone, Debug, PartialEq)]
struct Expected {
    value: Vec<u8>,
    is_tombstone: bool,
    expires_at: Option<UnixMillis>,
    op: Op,
    value_type: ValueType,
    position: Position,
}

type Keys = BTreeMap<(LocalPartition, Vec<u8>), Expected>;

struct Model {
    table: TableData,
    medium: Medium,
    keys: Keys,
    cleared: BTreeMap<LocalPartition, Op>,
    /// Live bytes by segment as a caller keeps them from what the table returns.
    segments: BTreeMap<SegmentId, u64>,
    random: u64,
    op: u64,
    now: u64,
}

impl Model {
    fn new(seed: u64, medium: Medium, partitions: usize) -> Self {
        let mut table = TableData::new(TableConfig {
            seed,
            medium,
            evicts: true,
        });
        for _ in 0..partitions {
            table.add_partition();
        }
        Self {
            table,
            medium,
            keys: BTreeMap::new(),
            cleared: BTreeMap::new(),
            segments: BTreeMap::new(),
            random: seed,
            op: 100,
            now: 1_700_000_000_000,
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed ^ (mixed >> 32)) % below
    }

    fn draw_partition(&mut self) -> LocalPartition {
        LocalPartition(self.draw(self.table.partition_slots() as u64) as u32)
    }

    fn draw_key(&mut self, keys: u64) -> Vec<u8> {
        let number = self.draw(keys);
        // Lengths that differ by key, so that records are of many sizes.
        format!("{number}{}", "k".repeat((number % 23) as usize)).into_bytes()
    }

    fn draw_value(&mut self) -> Vec<u8> {
        let len = match self.draw(200) {
            0 => 300_000 + self.draw(1000),
            1..10 => self.draw(5000),
            _ => self.draw(200),
        };
        let fill = self.draw(256) as u8;
        (0..len).map(|at| fill.wrapping_add(at as u8)).collect()
    }

    fn draw_position(&mut self) -> Position {
        let offset = if self.medium == Medium::Disk {
            self.draw(1 << 32) as u32
        } else {
            0
        };
        Position {
            segment: SegmentId(1 + self.draw(40) as u32),
            offset,
        }
    }

    fn draw_op(&mut self) -> Op {
        // Now and then an operation that comes late.
        self.op += 1;
        Op(if self.draw(10) == 0 {
            self.op - self.draw(50)
        } else {
            self.op
        })
    }

    fn lose(&mut self, lost: Option<Replaced>) {
        if let Some(Replaced { segment, log_len }) = lost {
            *self.segments.get_mut(&segment).unwrap() -= log_len as u64;
        }
    }

    fn gain(&mut self, position: Position, key: &[u8], value_len: usize) {
        *self.segments.entry(position.segment).or_default() +=
            encoded_len(key.len(), value_len) as u64;
    }

    fn is_stale(&self, at: &(LocalPartition, Vec<u8>), op: Op) -> bool {
        self.cleared
            .get(&at.0)
            .is_some_and(|&cleared| op <= cleared)
            || self.keys.get(at).is_some_and(|record| record.op >= op)
    }

    fn put(&mut self, keys: u64) {
        let at = (self.draw_partition(), self.draw_key(keys));
        let value = self.draw_value();
        let expires_at = match self.draw(3) {
            0 => Some(UnixMillis(self.now + self.draw(20_000))),
            _ => None,
        };
        let (op, position) = (self.draw_op(), self.draw_position());
        let value_type = match self.draw(3) {
            0 => ValueType::BuiltString,
            1 if !value.is_empty() => ValueType::Hash,
            _ => ValueType::String,
        };
        let is_tombstone = self.draw(12) == 0;
        let is_cold = self.medium == Medium::Disk && self.draw(4) == 0;
        let hash = self.table.hash(&at.1);
        let applied = if is_tombstone {
            self.table.put_tombstone(at.0, hash, &at.1, op, position)
        } else {
            let stored = if is_cold {
                ValueRef::Cold { len: value.len() }
            } else {
                ValueRef::Hot(&value)
            };
            let put = Put {
                value: stored,
                expires_at,
                op,
                position,
                value_type,
            };
            self.table.put(at.0, hash, &at.1, &put)
        };
        let applied = applied.unwrap();
        if self.is_stale(&at, op) {
            assert_eq!(applied, WriteOutcome::Stale);
            return;
        }
        assert_eq!(applied.replaced().is_some(), self.keys.contains_key(&at));
        self.lose(applied.replaced());
        let value = if is_tombstone { Vec::new() } else { value };
        self.gain(position, &at.1, value.len());
        let record = Expected {
            value,
            is_tombstone,
            expires_at: expires_at.filter(|_| !is_tombstone),
            op,
            value_type,
            position,
        };
        self.keys.insert(at, record);
    }

    fn remove(&mut self, keys: u64) {
        let at = (self.draw_partition(), self.draw_key(keys));
        let op = self.draw_op();
        self.remove_at(at, op);
    }

    fn remove_at(&mut self, at: (LocalPartition, Vec<u8>), op: Op) {
        let lost = self.table.remove(at.0, self.table.hash(&at.1), &at.1, op);
        let was_there = self.keys.get(&at).is_some_and(|record| record.op < op);
        assert_eq!(lost.is_some(), was_there);
        self.lose(lost);
        if was_there {
            self.keys.remove(&at);
        }
    }

    fn relocate(&mut self, keys: u64) {
        let at = (self.draw_partition(), self.draw_key(keys));
        let Some(record) = self.keys.get(&at).cloned() else {
            return;
        };
        let to = self.draw_position();
        let hash = self.table.hash(&at.1);
        let (op, from) = (record.op, record.position.segment);
        let other = Op(op.0 + 1);
        assert_eq!(
            self.table.relocate(at.0, hash, &at.1, other, from, to),
            Ok(false)
        );
        assert_eq!(
            self.table
                .relocate(at.0, hash, &at.1, op, SegmentId(99), to),
            Ok(false)
        );
        assert_eq!(
            self.table.relocate(at.0, hash, &at.1, op, from, to),
            Ok(true)
        );
        let log_len = encoded_len(at.1.len(), record.value.len());
        self.lose(Some(Replaced {
            segment: from,
            log_len,
        }));
        self.gain(to, &at.1, record.value.len());
        self.keys.get_mut(&at).unwrap().position = to;
    }

    fn warm_or_cool(&mut self, keys: u64) {
        let at = (self.draw_partition(), self.draw_key(keys));
        let Some(record) = self.keys.get(&at) else {
            return;
        };
        let hash = self.table.hash(&at.1);
        let (op, is_there) = (record.op, !record.is_tombstone);
        if self.random & 1 == 0 {
            let value = record.value.clone();
            let other = Op(op.0 + 1);
            assert_eq!(self.table.warm(at.0, hash, &at.1, other, &value), Ok(false));
            assert_eq!(self.table.warm(at.0, hash, &at.1, op, &value), Ok(is_there));
        } else {
            let is_cold = is_there && self.medium == Medium::Disk;
            assert_eq!(self.table.make_cold(at.0, hash, &at.1, op), Ok(is_cold));
        }
    }

    fn clear(&mut self) {
        let partition = self.draw_partition();
        let op = Op(if self.draw(2) == 0 {
            self.op + 1
        } else {
            self.op - self.draw(100)
        });
        self.op += 1;
        self.table.clear(partition, op);
        let cleared = self.cleared.entry(partition).or_default();
        *cleared = (*cleared).max(op);
        self.keys
            .retain(|at, record| at.0 != partition || record.op > op);
        // An op that is cleared and one that is not are never the same in a log.
        self.op += 1;
    }

    fn evict(&mut self) {
        let mut victims = Vec::new();
        self.table.evict_step(50, |victim: Victim<'_>| {
            victims.push((victim.partition, victim.key.to_vec(), victim.op));
        });
        assert!(victims.is_empty() || self.medium == Medium::Ram);
        for (partition, key, op) in victims {
            self.op += 1;
            let at = (partition, key);
            assert_eq!(self.keys[&at].op, op);
            self.remove_at(at, Op(self.op));
        }
    }

    fn expire(&mut self) {
        self.now += self.draw(3000);
        let now = UnixMillis(self.now);
        let mut expired = Vec::new();
        let mut is_more = true;
        while is_more {
            is_more = self.table.due(now, 100, |key: Expired<'_>| {
                assert!(key.expires_at <= now);
                expired.push((key.partition, key.key.to_vec(), key.op));
            });
        }
        expired.sort();
        expired.dedup();
        for (partition, key, op) in expired {
            let at = (partition, key);
            assert_eq!(self.keys[&at].op, op);
            // Some removals are lost on the way: those keys are reported again.
            if self.draw(4) > 0 {
                self.op += 1;
                self.remove_at(at, Op(self.op));
            }
        }
        let late = |record: &&Expected| record.expires_at.is_some_and(|at| at.0 + 4000 < self.now);
        // Each round lets a fourth of the expired stay; they do not pile up.
        let late = self.keys.values().filter(late).count();
        assert!(
            late <= 100 + self.keys.len() / 10,
            "{late} of {} keys are late",
            self.keys.len()
        );
    }

    /// Compares everything.
    fn compare(&mut self) {
        self.table.check();
        let mut seen = BTreeMap::new();
        for number in 0..self.table.partition_slots() {
            let partition = LocalPartition(number);
            let mut next = Some(ScanPosition::START);
            while let Some(position) = next {
                let from = seen.len();
                next = self.table.scan(partition, position, 7, |key, found| {
                    let before = seen.insert((partition, key.to_vec()), found.op);
                    assert_eq!(before, None, "a key was scanned twice");
                });
                assert!(next.is_none() || seen.len() - from >= 7);
            }
            let here = |at: &&(LocalPartition, Vec<u8>)| at.0 == partition;
            assert_eq!(self.table.len(partition), seen.keys().filter(here).count());
        }
        let visible = self.keys.iter().filter(|(_, record)| !record.is_tombstone);
        assert!(visible.map(|(at, record)| (at, &record.op)).eq(seen.iter()));
        let expiring = self
            .keys
            .values()
            .filter(|record| record.expires_at.is_some())
            .count();
        assert_eq!(self.table.expires_count_total(), expiring);
        assert_eq!(self.table.len_total(), seen.len());
        for (at, record) in &self.keys {
            let hash = self.table.hash(&at.1);
            self.table.prefetch_bucket(at.0, hash);
            self.table.prefetch_record(at.0, hash);
            let found = self.table.get(at.0, hash, &at.1);
            assert_eq!(found.is_none(), record.is_tombstone);
            let Some(found) = found else { continue };
            match found.value {
                ValueRef::Hot(value) => assert_eq!(value, record.value),
                ValueRef::Cold { len } => assert_eq!(len, record.value.len()),
            }
            assert_eq!(found.expires_at, record.expires_at);
            assert_eq!((found.op, found.value_type), (record.op, record.value_type));
            assert_eq!(found.position, record.position);
        }
        while let Some(lost) = self.table.poll_replaced() {
            self.lose(Some(lost));
        }
        if !self.table.contents.has_removed() {
            self.segments.retain(|_, bytes| *bytes > 0);
            assert!(
                self.table
                    .segments()
                    .eq(self.segments.iter().map(|(&id, &bytes)| (id, bytes)))
            );
        }
        if self.table.len_total() > 0 {
            let random = self.draw(u64::MAX);
            let (partition, key, found) = self.table.random(random).unwrap();
            assert_eq!(self.keys[&(partition, key.to_vec())].op, found.op);
        }
    }

    fn run(&mut self, steps: u64, keys: u64, removes: u64) {
        for step in 0..steps {
            match self.draw(1000) {
                0 if step % 3 == 0 => self.clear(),
                1..10 => self.expire(),
                10..20 => self.evict(),
                20..30 => self.table.contents.compact_anyway(20_000),
                30..60 => self.relocate(keys),
                60..120 => self.warm_or_cool(keys),
                draw if draw < 120 + removes => self.remove(keys),
                _ => self.put(keys),
            }
            if step % 4000 == 0 {
                self.compare();
            }
        }
        self.compare();
    }
}

#[test]
fn table_agrees_with_a_map_as_it_grows_churns_and_shrinks() {
    for (seed, medium) in [(1, Medium::Ram), (2, Medium::Disk)] {
        let mut model = Model::new(seed, medium, 3);
        model.run(30_000, 3000, 50);
        model.run(30_000, 3000, 400);
        model.run(20_000, 3000, 820);
        model.table.purge_tombstones();
        model.keys.retain(|at, record| {
            if record.is_tombstone {
                let lost = encoded_len(at.1.len(), 0) as u64;
                *model.segments.get_mut(&record.position.segment).unwrap() -= lost;
            }
            !record.is_tombstone
        });
        model.compare();
        assert_eq!(model.table.tombstones(), 0);
        // To nothing.
        for at in model.keys.keys().cloned().collect::<Vec<_>>() {
            model.op += 1;
            model.remove_at(at, Op(model.op));
        }
        while model.table.compact(1 << 20) {}
        model.compare();
        assert_eq!(model.table.records_bytes(), 0);
    }
}

#[test]
fn table_agrees_with_a_map_when_few_keys_are_rewritten_often() {
    let mut model = Model::new(7, Medium::Ram, 2);
    model.run(40_000, 40, 200);
}

fn put(value: &[u8], op: u64) -> Put<'_> {
    Put {
        value: ValueRef::Hot(value),
        expires_at: None,
        op: Op(op),
        position: Position::NONE,
        value_type: ValueType::String,
    }
}

fn one_partition(medium: Medium) -> (TableData, LocalPartition) {
    let mut table = TableData::new(TableConfig {
        seed: 3,
        medium,
        evicts: false,
    });
    let partition = table.add_partition();
    (table, partition)
}

#[test]
fn largest_values_come_and_go() {
    let (mut table, partition) = one_partition(Medium::Ram);
    let hash = table.hash(b"large");
    let value = vec![7; brickyard_types::limits::VALUE_BYTES_MAX];
    for op in 1..4 {
        table
            .put(partition, hash, b"large", &put(&value, op))
            .unwrap();
        assert_eq!(
            table.get(partition, hash, b"large").unwrap().value,
            ValueRef::Hot(&value)
        );
        table.check();
    }
    assert!(table.memory_used() < value.len() + (1 << 20));
    // A small value does not hold on to a large one's space.
    table
        .put(partition, hash, b"large", &put(b"small", 4))
        .unwrap();
    assert!(table.memory_used() < 4 << 20);
    table
        .put(partition, hash, b"large", &put(&value[1..], 5))
        .unwrap();
    table.remove(partition, hash, b"large", Op(6)).unwrap();
    table.check();
    assert!(table.memory_used() < 4 << 20);
}

#[test]
fn empty_partitions_cost_next_to_nothing() {
    assert!(
        size_of::<crate::partition::Partition>() <= 112,
        "{} bytes",
        size_of::<crate::partition::Partition>()
    );
    let mut table = TableData::new(TableConfig {
        seed: 1,
        medium: Medium::Ram,
        evicts: false,
    });
    for _ in 0..256 {
        table.add_partition();
    }
    assert!(table.memory_used() < 1024);
}

#[test]
fn growing_value_stays_in_place_at_the_end_of_the_arena() {
    let (mut table, partition) = one_partition(Medium::Ram);
    let hash = table.hash(b"log");
    let mut value = Vec::new();
    for op in 1..1000 {
        value.extend_from_slice(b"another line\n");
        table
            .put(partition, hash, b"log", &put(&value, op))
            .unwrap();
    }
    assert_eq!(
        table.get(partition, hash, b"log").unwrap().value,
        ValueRef::Hot(&value)
    );
    table.check();
    assert_eq!(table.contents.records().arena().dead(), 0);
}

#[test]
fn a_million_keys_stay_within_192_bytes_each() {
    let mut table = TableData::new(TableConfig {
        seed: 11,
        medium: Medium::Ram,
        evicts: false,
    });
    let partitions: Vec<_> = (0..256).map(|_| table.add_partition()).collect();
    let value = [5; 150];
    for number in 0_u64..1_000_000 {
        let key = format!("key:{number:012}");
        let partition = partitions[(number % 256) as usize];
        let hash = table.hash(key.as_bytes());
        table
            .put(partition, hash, key.as_bytes(), &put(&value, number + 1))
            .unwrap();
    }
    let bytes = table.memory_used() as f64 / 1e6;
    assert!(bytes <= 192.0, "{bytes} bytes a key");
}

#[test]
fn operations_that_come_late_are_stale() {
    let (mut table, partition) = one_partition(Medium::Ram);
    let hash = table.hash(b"key");
    assert_eq!(
        table.put(partition, hash, b"key", &put(b"5", 5)),
        Ok(WriteOutcome::Inserted)
    );
    assert_eq!(
        table.put(partition, hash, b"key", &put(b"4", 4)),
        Ok(WriteOutcome::Stale)
    );
    assert_eq!(
        table.put(partition, hash, b"key", &put(b"x", 5)),
        Ok(WriteOutcome::Stale)
    );
    assert_eq!(table.remove(partition, hash, b"key", Op(5)), None);
    let tombstone = table.put_tombstone(partition, hash, b"key", Op(7), Position::NONE);
    assert!(matches!(tombstone, Ok(WriteOutcome::Replaced(_))));
    assert_eq!(
        table.put(partition, hash, b"key", &put(b"6", 6)),
        Ok(WriteOutcome::Stale)
    );
    assert!(!table.contains(partition, hash, b"key"));
    assert_eq!((table.len(partition), table.tombstones()), (0, 1));
    assert!(matches!(
        table.put(partition, hash, b"key", &put(b"8", 8)),
        Ok(WriteOutcome::Replaced(_))
    ));
    assert_eq!(table.tombstones(), 0);
}
