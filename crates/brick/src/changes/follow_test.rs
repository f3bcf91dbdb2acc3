//! Somebody follows a table whose partitions are written, split and merged at random: each change is told once, in its key's order.

use super::super::position::Position;
use super::super::ring::ring_test::put;
use super::*;
use crate::random::Random;
use brickyard_types::TableId;
use std::collections::BTreeMap;

/// Where a key is: its number spread over all hashes.
fn hash(key: &[u8]) -> RoutingHash {
    let number: u64 = std::str::from_utf8(key).unwrap().parse().unwrap();
    RoutingHash(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

struct Partition {
    ring: ChangeRing,
}

struct Table {
    random: Random,
    bytes_max: usize,
    partitions: Vec<Partition>,
    view: u32,
    /// What was written of each key, in order.
    written: BTreeMap<String, Vec<u64>>,
    next: u64,
}

impl Table {
    fn new(seed: u64, bytes_max: usize) -> Self {
        Self {
            random: Random::new(seed),
            bytes_max,
            partitions: vec![Partition {
                ring: ChangeRing::new(Prefix::ROOT, 1, (View(0), Op(0))),
            }],
            view: 1,
            written: BTreeMap::new(),
            next: 1,
        }
    }

    fn draw(&mut self, below: usize) -> usize {
        (self.random.next() % below as u64) as usize
    }

    fn write(&mut self) {
        let at = self.draw(self.partitions.len());
        let count = self.draw(4);
        let prefix = self.partitions[at].ring.prefix;
        let all = (0..64).map(|it| it.to_string());
        let keys: Vec<String> = all
            .filter(|key| prefix.contains(hash(key.as_bytes())))
            .collect();
        let op = self.partitions[at].ring.upto.next();
        let view = View(self.view);
        self.partitions[at].ring.extend((view, op), op);
        for _ in 0..count.min(keys.len()) {
            let key = &keys[self.draw(keys.len())];
            let value = self.next.to_string();
            let change = put(op.0, key, &value);
            self.partitions[at].ring.push(change, self.bytes_max);
            self.written.entry(key.clone()).or_default().push(self.next);
            self.next += 1;
        }
    }

    fn split(&mut self) {
        let at = self.draw(self.partitions.len());
        if self.partitions[at].ring.prefix.depth() > 4 {
            return;
        }
        let whole = self.partitions.remove(at).ring.frozen(self.bytes_max);
        for part in whole.prefix.children().unwrap() {
            let ring = *ChangeRing::of_part(&whole, part).unwrap();
            self.partitions.push(Partition { ring });
        }
    }

    fn merge(&mut self) {
        let at = self.draw(self.partitions.len());
        let Some(parent) = self.partitions[at].ring.prefix.parent() else {
            return;
        };
        let children = parent.children().unwrap();
        let are_both = children.iter().all(|child| {
            let mut all = self.partitions.iter();
            all.any(|it| it.ring.prefix == *child)
        });
        if !are_both {
            return;
        }
        let mut halves = Vec::new();
        for child in children {
            let at = self
                .partitions
                .iter()
                .position(|it| it.ring.prefix == child)
                .unwrap();
            halves.push(self.partitions.remove(at).ring.frozen(self.bytes_max));
        }
        let last = halves.iter().map(|it| it.upto.0).max().unwrap();
        self.view += 1;
        let begin = (View(self.view), Op(last + 1));
        let ring = ChangeRing::behind(parent, 1, begin, halves);
        self.partitions.push(Partition { ring });
    }

    fn step(&mut self) {
        match self.draw(12) {
            0 => self.split(),
            1 => self.merge(),
            2 => self.view += 1,
            _ => self.write(),
        }
    }

    fn end(&self) -> Position {
        let places = self.partitions.iter().map(|it| it.ring.end());
        Position::of(TableId(1), places.collect())
    }

    /// A round as bricks make it; the new position and what was told, or that something is missing.
    fn round(
        &self,
        position: &Position,
        watched: Watched<'_>,
        budget: (usize, usize),
    ) -> Result<(Position, Vec<(String, u64)>), Compacted> {
        let mut places = Vec::new();
        let mut told = Vec::new();
        for partition in &self.partitions {
            let ring = &partition.ring;
            if let Watched::Key(key) = watched
                && !ring.prefix.contains(hash(key))
            {
                continue;
            }
            let source = Source {
                ring,
                prepared: ring.upto,
                view_at: |_| None,
                hash,
                watched,
            };
            let own = source.narrowed(position).unwrap();
            let mut budget = Budget::new(budget.0, budget.1);
            let next = follow(&source, &own, &mut budget, &mut |it| {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                let value = text(it.change.value()).parse().unwrap();
                told.push((text(it.change.key()), value));
            })?;
            places.extend(next);
        }
        Ok((Position::of(TableId(1), places), told))
    }
}

fn note(seen: &mut BTreeMap<String, Vec<u64>>, told: Vec<(String, u64)>) {
    for (key, value) in told {
        seen.entry(key).or_default().push(value);
    }
}

/// Rule `positions go through splits and merges`.
#[test]
fn each_change_is_told_once_and_in_its_keys_order_over_splits_and_merges() {
    for seed in 0..300 {
        let mut table = Table::new(seed, 1 << 30);
        let mut position = table.end();
        let mut seen = BTreeMap::new();
        for _ in 0..200 {
            table.step();
            if table.draw(3) == 0 {
                let budget = (1 + table.draw(6), 1 + table.draw(400));
                let told;
                (position, told) = table.round(&position, Watched::All, budget).unwrap();
                // A client may give it back in another life of its.
                position = Position::parse(position.text().as_bytes()).unwrap();
                note(&mut seen, told);
            }
        }
        loop {
            let (next, told) = table.round(&position, Watched::All, (5, 500)).unwrap();
            if told.is_empty() && next == position {
                break;
            }
            position = next;
            note(&mut seen, told);
        }
        assert_eq!(seen, table.written, "seed {seed}");
        assert_eq!(
            position,
            table.end(),
            "seed {seed}: it ends as one who begins now"
        );
    }
}

#[test]
fn one_key_is_followed_as_all_are() {
    for seed in 0..100 {
        let mut table = Table::new(seed, 1 << 30);
        let key = (seed % 64).to_string();
        let watched = Watched::Key(key.as_bytes());
        let mut position = table.end();
        let mut seen = BTreeMap::new();
        for _ in 0..200 {
            table.step();
            if table.draw(3) == 0 {
                let told;
                (position, told) = table.round(&position, watched, (2, 1000)).unwrap();
                note(&mut seen, told);
            }
        }
        loop {
            let (next, told) = table.round(&position, watched, (2, 1000)).unwrap();
            if told.is_empty() && next == position {
                break;
            }
            position = next;
            note(&mut seen, told);
        }
        let written = table.written.get(&key);
        assert_eq!(seen.get(&key), written, "seed {seed}");
        assert!(seen.len() <= 1, "seed {seed}: of others nothing is told");
    }
}

/// Rule `a change is told once, in order, or compacted`.
#[test]
fn whoever_has_missed_something_is_told_so() {
    let mut was_compacted = 0;
    for seed in 0..300 {
        // Few changes are kept, so that a follower is often late.
        let mut table = Table::new(seed, 1500);
        let mut position = table.end();
        let mut seen: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for _ in 0..300 {
            table.step();
            if table.draw(8) != 0 {
                continue;
            }
            match table.round(&position, Watched::All, (1000, 1 << 20)) {
                Ok((next, told)) => {
                    position = next;
                    note(&mut seen, told);
                    // Nothing is kept back, so it has seen all.
                    assert_eq!(seen, table.written, "seed {seed}");
                }
                Err(Compacted) => {
                    was_compacted += 1;
                    position = table.end();
                    seen = table.written.clone();
                }
            }
        }
    }
    assert!(was_compacted > 10, "{was_compacted} have missed something");
}

#[test]
fn all_changes_of_an_op_are_told_together() {
    let mut ring = ChangeRing::new(Prefix::ROOT, 1, (View(1), Op(0)));
    ring.extend((View(1), Op(1)), Op(3));
    for (op, key) in [(1, "1"), (2, "2"), (2, "3"), (2, "4"), (3, "5")] {
        ring.push(put(op, key, "0"), 1 << 20);
    }
    let source = Source {
        ring: &ring,
        prepared: Op(3),
        view_at: |_| None,
        hash,
        watched: Watched::All,
    };
    let mut place = Place {
        op: Op(0),
        ..ring.end()
    };
    let mut told = Vec::new();
    for _ in 0..3 {
        let mut budget = Budget::new(2, 1 << 20);
        let mut count = 0;
        let next = follow(&source, &[place], &mut budget, &mut |_| count += 1).unwrap();
        place = next[0];
        told.push((count, place.op.0, budget.is_spent));
    }
    assert_eq!(told, [(1, 1, true), (3, 2, true), (1, 3, false)]);
}

/// Rule `a position names a record`.
#[test]
fn a_place_of_another_history_is_not_believed() {
    let mut ring = ChangeRing::new(Prefix::ROOT, 2, (View(4), Op(10)));
    ring.extend((View(6), Op(11)), Op(20));
    let source = Source {
        ring: &ring,
        prepared: Op(25),
        view_at: |op: Op| (op <= Op(25)).then_some(View(6)),
        hash,
        watched: Watched::All,
    };
    let place = |generation, view, op| Place {
        generation,
        view: View(view),
        op: Op(op),
        ..ring.end()
    };
    let followed = |place: Place| {
        let mut budget = Budget::new(10, 1000);
        follow(&source, &[place], &mut budget, &mut |_| {})
    };
    for (generation, view, op) in [(2, 4, 10), (2, 6, 15), (2, 6, 20)] {
        let next = followed(place(generation, view, op)).unwrap();
        assert_eq!(next, [ring.end()]);
    }
    // What has committed elsewhere, and not yet here.
    let ahead = place(2, 6, 23);
    assert_eq!(followed(ahead).unwrap(), [ahead]);
    for (generation, view, op) in [
        (1, 6, 15),
        (3, 6, 15),
        (2, 4, 15),
        (2, 7, 20),
        (2, 4, 9),
        (2, 6, 26),
        (2, 7, 23),
    ] {
        let missed = followed(place(generation, view, op));
        assert_eq!(missed, Err(Compacted), "{generation} {view} {op}");
    }
}
