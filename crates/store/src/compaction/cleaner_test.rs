//! Goal: cleaning never brings a deleted key back and never loses a live one, across restarts and kills at any
//! moment. Method: a brick in miniature (an index and the rules of this module) does random puts,
//! deletes, clears and rounds of cleaning, and is restarted from its log again and again.

use super::{LiveBytes, PickPolicy, is_droppable};
use crate::Purpose;
use crate::fixture::{Log, config, header};
use crate::mem_disk::{Fault, MemDisk};
use brickyard_types::record::{self, Header, Kind, flag};
use brickyard_types::{Op, SegmentId};
use std::collections::BTreeMap;

/// The newest record of a key.
struct Newest {
    op: u64,
    /// `None`: a tombstone.
    value: Option<Vec<u8>>,
    segment: SegmentId,
    len: u64,
}

/// One partition's state, and where its records are.
#[derive(Default)]
struct Brick {
    keys: BTreeMap<Vec<u8>, Newest>,
    cleared: u64,
    horizon: u64,
    op: u64,
    live: LiveBytes,
}

impl Brick {
    /// Applies a record, as replay and as the loop do.
    fn apply(&mut self, header: &Header, key: &[u8], value: &[u8], segment: SegmentId, len: u64) {
        let op = header.op.0;
        self.op = self.op.max(op);
        match header.kind {
            Kind::Put | Kind::Delete => {
                let known = self.keys.get(key).map_or(0, |newest| newest.op);
                // An equal one is the copy that the cleaner made: it replaces the original.
                if op < known || op <= self.cleared {
                    return self.live.add_dead(segment, len);
                }
                self.supersede(key);
                let value = (header.kind == Kind::Put).then(|| value.to_vec());
                match value {
                    Some(_) => self.live.add(segment, len),
                    None => self.live.add_tombstone(segment, len),
                }
                let newest = Newest {
                    op,
                    value,
                    segment,
                    len,
                };
                self.keys.insert(key.to_vec(), newest);
            }
            Kind::Clear => {
                self.live.add_dead(segment, len);
                if op > self.cleared {
                    self.cleared = op;
                    let older = self.keys.iter().filter(|(_, newest)| newest.op < op);
                    let older: Vec<Vec<u8>> = older.map(|(key, _)| key.clone()).collect();
                    for key in older {
                        self.supersede(&key);
                        self.keys.remove(&key);
                    }
                }
            }
            Kind::Horizon => {
                self.live.add_dead(segment, len);
                self.horizon = self.horizon.max(op);
            }
            Kind::Batch => unreachable!("none are written here"),
        }
    }

    fn supersede(&mut self, key: &[u8]) {
        if let Some(newest) = self.keys.get(key) {
            match newest.value {
                Some(_) => self.live.remove(newest.segment, newest.len),
                None => self.live.remove_tombstone(newest.segment, newest.len),
            }
        }
    }

    fn state(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let live = self.keys.iter();
        live.filter_map(|(key, newest)| Some((key.clone(), newest.value.clone()?)))
            .collect()
    }

    fn recover(log: &Log) -> Self {
        let mut brick = Self::default();
        for seen in &log.seen {
            let len = 48
                + seen.key.len()
                + seen.value_len
                + if seen.header.origin.is_some() { 4 } else { 0 };
            let value = seen.value.as_deref().unwrap();
            brick.apply(
                &seen.header,
                &seen.key,
                value,
                seen.position.segment,
                len as u64,
            );
        }
        brick
    }

    fn write(
        &mut self,
        log: &mut Log,
        header: Header,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), String> {
        let mut bytes = Vec::new();
        record::encode(&mut bytes, &header, key, &[value]);
        let purpose = Purpose::Reclaim;
        let appended = log.ends.appender.append(&bytes, purpose);
        while let Some(rolled) = log.ends.appender.take_rolled() {
            log.ends.syncer.add_rolled(rolled);
        }
        let start = appended.map_err(|error| error.to_string())?.start;
        self.apply(&header, key, value, start.segment, bytes.len() as u64);
        Ok(())
    }

    /// One round of cleaning, of the segment that pays most.
    fn clean(&mut self, log: &mut Log) -> Result<bool, String> {
        let policy = PickPolicy {
            dead_share_min: 0.1,
            ..PickPolicy::default()
        };
        let active = log.ends.appender.end().segment;
        match self.live.pick(active, &policy) {
            Some(segment) => self.clean_segment(log, segment).map(|()| true),
            None => Ok(false),
        }
    }

    /// One round of cleaning, of any segment: no order may be wrong.
    fn clean_any(&mut self, log: &mut Log, random: u64) -> Result<(), String> {
        let active = log.ends.appender.end().segment;
        let sealed: Vec<_> = (self.live.segments())
            .map(|(id, ..)| id)
            .filter(|id| *id < active)
            .collect();
        match sealed.len() as u64 {
            0 => Ok(()),
            count => self.clean_segment(log, sealed[(random % count) as usize]),
        }
    }

    fn clean_segment(&mut self, log: &mut Log, segment: SegmentId) -> Result<(), String> {
        sync(log)?;
        let chunk = log.ends.reader.scan_chunk(segment, 0, 1 << 20).unwrap();
        assert!(chunk.next.is_none() && chunk.damages.is_empty());
        let oldest_other = self.live.oldest_other(segment);
        let mut dropped = 0;
        let mut moved = Vec::new();
        for (_, found) in chunk.records() {
            let op = found.header.op.0;
            let is_newest = match found.header.kind {
                Kind::Clear => self.cleared == op,
                Kind::Horizon => self.horizon == op,
                _ => self
                    .keys
                    .get(found.key)
                    .is_some_and(|newest| newest.op == op),
            };
            if !is_newest {
                continue;
            }
            let mut header = found.header;
            header.flags |= flag::MOVED;
            if matches!(header.kind, Kind::Delete | Kind::Clear) {
                if is_droppable(segment, header.origin, oldest_other) {
                    dropped = dropped.max(op);
                    continue;
                }
                header.origin = Some(header.origin.unwrap_or(segment));
            }
            moved.push((header, found.key.to_vec(), found.value.to_vec()));
        }
        if dropped > self.horizon {
            self.write(log, horizon(dropped), b"", b"")?;
        }
        for (header, key, value) in moved {
            self.write(log, header, &key, &value)?;
        }
        sync(log)?;
        log.ends.reader.forget(segment);
        log.ends
            .syncer
            .delete_segment(segment)
            .map_err(|error| error.to_string())?;
        self.live.forget(segment);
        self.keys
            .retain(|_, newest| newest.value.is_some() || newest.segment != segment);
        Ok(())
    }
}

fn horizon(op: u64) -> Header {
    header(Kind::Horizon, 1, op)
}

fn sync(log: &mut Log) -> Result<(), String> {
    let end = log.ends.appender.end();
    log.ends.syncer.sync(end).map_err(|error| error.to_string())
}

fn random(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

fn run(seed: u64) {
    let mut state = seed;
    let disk = MemDisk::new(seed);
    let mut expected = BTreeMap::new();
    // What a write that was under way may or may not have done.
    let mut unknown: Option<BTreeMap<Vec<u8>, Vec<u8>>> = None;
    for _ in 0..5 {
        let mut log = Log::open(&disk, config());
        let mut brick = Brick::recover(&log);
        let found = brick.state();
        if unknown.take().is_none_or(|unknown| unknown != found) {
            let differs = |key: &&Vec<u8>| found.get(*key) != expected.get(*key);
            let keys = found.keys().chain(expected.keys());
            let wrong: Vec<_> = keys
                .filter(differs)
                .map(|key| String::from_utf8_lossy(key))
                .collect();
            assert!(
                wrong.is_empty(),
                "seed {seed}: {wrong:?} are not as they were"
            );
        }
        expected = found;
        disk.inject(Fault::Dies {
            after: 20 + random(&mut state) % 300,
        });
        for _ in 0..150 {
            let key = format!("key{}", random(&mut state) % 40).into_bytes();
            let op = brick.op + 1;
            let (kind, value) = match random(&mut state) % 100 {
                0 => (Kind::Clear, Vec::new()),
                1..25 => (Kind::Delete, Vec::new()),
                25..80 => (
                    Kind::Put,
                    vec![b'0' + (op % 10) as u8; (random(&mut state) % 200) as usize],
                ),
                _ => match brick.clean_any(&mut log, random(&mut state)) {
                    Ok(()) => continue,
                    Err(_) => break,
                },
            };
            let key = if kind == Kind::Clear { Vec::new() } else { key };
            let mut header = header(kind, 1, op);
            header.op = Op(op);
            let mut after = expected.clone();
            match kind {
                Kind::Put => drop(after.insert(key.clone(), value.clone())),
                Kind::Delete => drop(after.remove(&key)),
                _ => after.clear(),
            }
            if brick.write(&mut log, header, &key, &value).is_err() {
                unknown = Some(after);
                break;
            }
            expected = after;
        }
        disk.heal();
    }
}

#[test]
fn deleted_keys_stay_away_and_live_ones_stay_however_it_is_cleaned() {
    let seeds = std::env::var("STORE_CLEAN_SEEDS").map_or(200, |seeds| seeds.parse().unwrap());
    for seed in 0..seeds {
        run(seed);
    }
}

#[test]
fn log_of_deleted_keys_shrinks_to_nearly_nothing() {
    let mut log = Log::open(&MemDisk::new(1), config());
    let mut brick = Brick::default();
    for op in 1..=200 {
        let kind = if op <= 100 { Kind::Put } else { Kind::Delete };
        let key = format!("key{}", op % 100).into_bytes();
        let value = if op <= 100 { vec![0; 100] } else { Vec::new() };
        brick
            .write(&mut log, header(kind, 1, op), &key, &value)
            .unwrap();
    }
    let (before, _) = brick.live.totals();
    let mut rounds = 0;
    while brick.clean(&mut log).unwrap() {
        rounds += 1;
        assert!(rounds < 100, "cleaning never ends");
    }
    let (after, _) = brick.live.totals();
    assert!(
        after < 2 * 2048 && before > 20_000,
        "{before} bytes became {after}"
    );
    assert!(brick.horizon > 100, "tombstones were dropped");
}
