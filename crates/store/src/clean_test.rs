//! Goal: cleaning as docs/data-file.md tells it never brings a deleted key back and never loses a live one,
//! across restarts, kills and power cuts at any moment. Method: a brick in miniature (an index and
//! the rules) does random puts, deletes, clears and rounds of cleaning, several segments a round,
//! and is restarted from its log again and again.

use crate::config::{LogConfig, PageCache};
use crate::fixture::{Log, config, header};
use crate::mem_disk::{Fault, MemDisk};
use crate::{Purpose, Rolled};
use brickyard_types::record::{self, Header, Kind, flag};
use brickyard_types::{Op, SegmentId};
use std::collections::{BTreeMap, BTreeSet};

type Keys = BTreeMap<Vec<u8>, Vec<u8>>;

/// One partition's state.
#[derive(Default)]
struct Brick {
    /// The newest op of each key, and its value; `None`: a tombstone.
    keys: BTreeMap<Vec<u8>, (u64, Option<Vec<u8>>)>,
    cleared: u64,
    watermark: u64,
    op: u64,
    /// Segments that take no more records.
    sealed: BTreeSet<SegmentId>,
}

impl Brick {
    /// Applies a record, as replay and as the loop do.
    fn apply(&mut self, header: &Header, key: &[u8], value: &[u8]) {
        let op = header.op.0;
        self.op = self.op.max(op);
        match header.kind {
            Kind::Put | Kind::Delete => {
                let known = self.keys.get(key).map_or(0, |newest| newest.0);
                if op > known && op > self.cleared {
                    let value = (header.kind == Kind::Put).then(|| value.to_vec());
                    self.keys.insert(key.to_vec(), (op, value));
                }
            }
            Kind::Clear => {
                self.cleared = self.cleared.max(op);
                self.keys.retain(|_, newest| newest.0 > op);
            }
            Kind::Watermark => self.watermark = self.watermark.max(op),
            _ => unreachable!("none are written here"),
        }
    }

    fn state(&self) -> Keys {
        let live = self.keys.iter();
        live.filter_map(|(key, newest)| Some((key.clone(), newest.1.clone()?)))
            .collect()
    }

    fn recover(log: &Log) -> Self {
        let mut brick = Self::default();
        for seen in &log.seen {
            let value = seen.value.as_deref().unwrap();
            brick.apply(&seen.header, &seen.key, value);
        }
        let active = log.ends.appender.end().segment;
        let segments = log.report().segments.iter();
        brick.sealed = segments.map(|summary| summary.segment).collect();
        brick.sealed.remove(&active);
        brick
    }

    fn take_rolled(&mut self, log: &mut Log) {
        while let Some(rolled) = log.ends.appender.take_rolled() {
            self.sealed.insert(Rolled::segment(&rolled));
            log.ends.syncer.add_rolled(rolled);
        }
    }

    fn write(&mut self, log: &mut Log, header: Header, key: &[u8], value: &[u8]) -> Outcome {
        let mut bytes = Vec::new();
        record::encode(&mut bytes, &header, key, &[value]);
        let appended = log.ends.appender.append(&bytes, Purpose::Reclaim);
        self.take_rolled(log);
        appended.map_err(|error| error.to_string())?;
        self.apply(&header, key, value);
        Ok(())
    }

    fn roll(&mut self, log: &mut Log) -> Outcome {
        let rolled = log.ends.appender.roll();
        self.take_rolled(log);
        rolled.map_err(|error| error.to_string())
    }

    /// One round of cleaning, of any segments in any order: no choice may be wrong.
    fn clean(&mut self, log: &mut Log, random: u64) -> Outcome {
        let mut left: Vec<_> = self.sealed.iter().copied().collect();
        let mut emptied = Vec::new();
        for round in 0..=random % 3 {
            if left.is_empty() {
                break;
            }
            let index = (random >> (4 + round)) as usize % left.len();
            let segment = left.remove(index);
            self.empty(log, segment)?;
            emptied.push(segment);
        }
        self.sync(log)?;
        for segment in &emptied {
            log.ends.reader.forget(*segment);
        }
        let deleted = log.ends.syncer.delete_segments(&emptied);
        deleted.map_err(|error| error.to_string())
    }

    /// Moves what is still needed out of a segment.
    fn empty(&mut self, log: &mut Log, segment: SegmentId) -> Outcome {
        self.sync(log)?;
        let written = log.ends.appender.end();
        let chunk = (log.ends.reader)
            .scan_chunk(segment, 0, 1 << 20, written)
            .unwrap();
        assert!(chunk.next.is_none() && chunk.damages.is_empty());
        self.sealed.remove(&segment);
        let oldest_other = self.sealed.first().copied().unwrap_or(written.segment);
        let mut dropped = Vec::new();
        let mut moved = Vec::new();
        for (_, found) in chunk.records() {
            let op = found.header.op.0;
            let is_newest = match found.header.kind {
                Kind::Clear => self.cleared == op,
                Kind::Watermark => self.watermark == op,
                _ => self.keys.get(found.key).is_some_and(|it| it.0 == op),
            };
            if !is_newest {
                continue;
            }
            let mut header = found.header;
            header.flags |= flag::MOVED;
            if matches!(header.kind, Kind::Delete | Kind::Clear) {
                // What it hides is in segments up to the one in which it was first written.
                let origin = header.origin.unwrap_or(segment);
                if oldest_other > origin {
                    dropped.push((op, found.key.to_vec()));
                    continue;
                }
                header.origin = Some(origin);
            }
            moved.push((header, found.key.to_vec(), found.value.to_vec()));
        }
        let highest = dropped.iter().map(|(op, _)| *op).max().unwrap_or_default();
        if highest > self.watermark {
            self.write(log, fixture_header(Kind::Watermark, highest), b"", b"")?;
        }
        for (_, key) in dropped {
            if self.keys.get(&key).is_some_and(|it| it.1.is_none()) {
                self.keys.remove(&key);
            }
        }
        for (header, key, value) in moved {
            self.write(log, header, &key, &value)?;
        }
        Ok(())
    }

    fn sync(&mut self, log: &mut Log) -> Outcome {
        let end = log.ends.appender.end();
        log.ends.syncer.sync(end).map_err(|error| error.to_string())
    }
}

type Outcome = Result<(), String>;

fn fixture_header(kind: Kind, op: u64) -> Header {
    Header {
        op: Op(op),
        ..header(kind, 1, op)
    }
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
    // With a sync after every write nothing may be lost, whatever the page cache does.
    let loses_cache = seed % 2 == 1;
    let page_cache = if loses_cache {
        PageCache::MaybeLost
    } else {
        PageCache::Intact
    };
    let mut expected = Keys::new();
    // What a write that was under way may or may not have done.
    let mut unknown: Option<Keys> = None;
    for _ in 0..5 {
        let config = LogConfig {
            page_cache,
            ..config()
        };
        let mut log = Log::open(&disk, config);
        assert!(log.report().damages.iter().all(|damage| !damage.is_loss()));
        let mut brick = Brick::recover(&log);
        let found = brick.state();
        if unknown.take().is_none_or(|unknown| unknown != found) {
            let keys = found.keys().chain(expected.keys());
            let wrong: Vec<_> = keys
                .filter(|key| found.get(*key) != expected.get(*key))
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
                80..84 => match brick.roll(&mut log) {
                    Ok(()) => continue,
                    Err(_) => break,
                },
                _ => match brick.clean(&mut log, random(&mut state)) {
                    Ok(()) => continue,
                    Err(_) => break,
                },
            };
            let key = if kind == Kind::Clear { Vec::new() } else { key };
            let mut after = expected.clone();
            match kind {
                Kind::Put => drop(after.insert(key.clone(), value.clone())),
                Kind::Delete => drop(after.remove(&key)),
                _ => after.clear(),
            }
            let mut written = brick.write(&mut log, fixture_header(kind, op), &key, &value);
            if loses_cache {
                written = written.and_then(|()| brick.sync(&mut log));
            }
            if written.is_err() {
                unknown = Some(after);
                break;
            }
            expected = after;
        }
        drop(log);
        disk.heal();
        if loses_cache {
            disk.power_cut();
        }
    }
}

#[test]
fn deleted_keys_stay_away_and_live_ones_stay_however_it_is_cleaned() {
    let seeds = std::env::var("STORE_CLEAN_SEEDS").map_or(200, |seeds| seeds.parse().unwrap());
    for seed in 0..seeds {
        run(seed);
    }
}
