//! A node's log in memory: segments that take batches and are read as the test says.

use crate::append::Append;
use crate::effect::{ColdRead, Event};
use crate::harness::HEADER_BYTES;
use crate::log_chunk::{LogChunk, verified};
use crate::{Brick, LogDamage, LogRecord, LogReplay, hinted};
use brickyard_types::record::{self, Header, Record};
use brickyard_types::{PartitionId, Position, SegmentId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// See the module.
#[derive(Debug)]
pub(super) struct Disk {
    segments: BTreeMap<SegmentId, Vec<u8>>,
    active: SegmentId,
    /// Appends wait, and what is behind them.
    pub(super) is_stuck: bool,
    /// Reads wait.
    pub(super) are_reads_held: bool,
    /// A part of a segment that is read has no more records than these.
    pub(super) records_a_chunk: usize,
    /// Segments of which nothing can be read.
    pub(super) damaged: BTreeSet<SegmentId>,
    pub(super) appends: VecDeque<Append>,
    pub(super) checkpoints: VecDeque<u64>,
    pub(super) reads: VecDeque<ColdRead>,
    pub(super) chunks: VecDeque<(SegmentId, u32)>,
}

/// A sealed segment looks as if there were so much more in it that is dead: worth cleaning.
const DEAD_BYTES: u64 = 64 << 20;

impl Disk {
    pub(super) fn new() -> Self {
        let active = SegmentId(1);
        Self {
            segments: BTreeMap::from([(active, Vec::new())]),
            active,
            is_stuck: false,
            are_reads_held: false,
            records_a_chunk: usize::MAX,
            damaged: BTreeSet::new(),
            appends: VecDeque::new(),
            checkpoints: VecDeque::new(),
            reads: VecDeque::new(),
            chunks: VecDeque::new(),
        }
    }

    /// The process is gone; the page cache keeps what was appended.
    pub(super) fn forget(&mut self) {
        self.appends.clear();
        self.checkpoints.clear();
        self.reads.clear();
        self.chunks.clear();
    }

    pub(super) fn recover(&self, brick: Brick) -> Brick {
        let mut recovery = LogReplay::of(brick);
        let mut lost: BTreeMap<SegmentId, BTreeSet<PartitionId>> = BTreeMap::new();
        for (position, record) in self.records() {
            if self.damaged.contains(&position.segment) {
                let partitions = lost.entry(position.segment).or_default();
                partitions.insert(record.header.partition);
            }
        }
        for (position, record) in self.records() {
            while let Some(damage) = lost.first_entry()
                && *damage.key() <= position.segment
            {
                let (segment, partitions) = damage.remove_entry();
                self.tell_damage(&mut recovery, segment, &partitions);
            }
            if self.damaged.contains(&position.segment) {
                continue;
            }
            let is_sealed = position.segment != self.active;
            if is_sealed && hinted::is_hinted(&recovery, &self.segments[&position.segment]) {
                hinted::recover(&mut recovery, &record, position);
            } else {
                recovery.on_record(&LogRecord::Whole { record, position });
            }
        }
        for wanted in recovery.suffixes_wanted() {
            let mut records = self.records();
            if let Some((position, record)) = records.find(|(position, _)| *position == wanted) {
                recovery.on_suffix(position, &record);
            }
        }
        recovery.end(&self.sealed(), self.active)
    }

    fn tell_damage(
        &self,
        recovery: &mut LogReplay,
        segment: SegmentId,
        partitions: &BTreeSet<PartitionId>,
    ) {
        recovery.on_damage(LogDamage {
            position: Position {
                segment,
                offset: HEADER_BYTES,
            },
            len: self.segments[&segment].len() as u64,
            partitions: partitions.iter().map(|id| (*id, None)).collect(),
            is_suspicion: false,
            text: format!("segment {segment} is damaged"),
        });
    }

    fn sealed(&self) -> Vec<(SegmentId, u64)> {
        let sealed = self.segments.iter().filter(|(id, _)| **id != self.active);
        sealed
            .map(|(id, bytes)| (*id, bytes.len() as u64 + DEAD_BYTES))
            .collect()
    }

    fn records(&self) -> impl Iterator<Item = (Position, Record<'_>)> {
        self.segments.iter().flat_map(|(segment, bytes)| {
            let mut offset = 0;
            std::iter::from_fn(move || {
                let record = record::decode(bytes.get(offset..)?).ok()?;
                let position = Position {
                    segment: *segment,
                    offset: HEADER_BYTES + offset as u32,
                };
                offset += record.len;
                Some((position, record))
            })
        })
    }

    /// What it holds: headers, keys, values.
    pub(super) fn contents(&self) -> Vec<(Header, Vec<u8>, Vec<u8>)> {
        self.records()
            .map(|(_, record)| (record.header, record.key.to_vec(), record.value.to_vec()))
            .collect()
    }

    pub(super) fn segments(&self) -> Vec<u32> {
        self.segments.keys().map(|id| id.0).collect()
    }

    pub(super) fn append(&mut self, brick: &mut Brick) {
        if self.is_stuck {
            return;
        }
        while let Some(append) = self.appends.pop_front() {
            let bytes = self.segments.entry(self.active).or_default();
            let position = Position {
                segment: self.active,
                offset: HEADER_BYTES + bytes.len() as u32,
            };
            bytes.extend_from_slice(&append.bytes);
            let id = append.id;
            brick.handle(Event::Appended { id, position });
            brick.handle(Event::Synced(id));
        }
        for token in std::mem::take(&mut self.checkpoints) {
            brick.handle(Event::Checkpointed(token, Ok(())));
        }
    }

    /// Refuses what waits, as a full disk does.
    pub(super) fn refuse(&mut self, brick: &mut Brick) {
        let appends = std::mem::take(&mut self.appends);
        if let Some(append) = appends.front() {
            let reason = "No space left on device".to_owned();
            let id = append.id;
            brick.handle(Event::AppendFailed { id, reason });
        }
    }

    /// What was written last stands there once more, as after the cleaner has moved two copies of it.
    pub(super) fn repeat(&mut self, from: usize) {
        let active = self.segments.entry(self.active).or_default();
        active.extend_from_within(from..);
    }

    /// It holds these records, and nothing else.
    pub(super) fn replace(&mut self, records: &[(Header, &[u8], Vec<u8>)]) {
        let mut bytes = Vec::new();
        for (header, key, value) in records {
            record::encode_with(&mut bytes, header, None, key, &[value]);
        }
        self.segments = BTreeMap::from([(self.active, bytes)]);
    }

    /// Bytes of the segment at hand.
    pub(super) fn len(&self) -> usize {
        self.segments.get(&self.active).map_or(0, Vec::len)
    }

    /// Seals the segment at hand.
    pub(super) fn roll(&mut self, brick: &mut Brick) {
        let sealed = self.active;
        let bytes = self.segments.entry(sealed).or_default().len() as u64;
        self.active = SegmentId(sealed.0 + 1);
        self.segments.insert(self.active, Vec::new());
        brick.handle(Event::Rolled {
            sealed,
            bytes: bytes + DEAD_BYTES,
        });
    }

    pub(super) fn delete(&mut self, segment: SegmentId) {
        assert_ne!(segment, self.active, "the segment at hand is in use");
        let is_read = self.chunks.iter().any(|(id, _)| *id == segment);
        assert!(!is_read, "segment {} is being read", segment.0);
        self.segments.remove(&segment);
    }

    pub(super) fn answer_reads(&mut self, brick: &mut Brick) {
        if self.are_reads_held {
            return;
        }
        for read in std::mem::take(&mut self.reads) {
            let bytes = &self.segments[&read.position.segment];
            let at = (read.position.offset - HEADER_BYTES) as usize;
            let record = record::decode(&bytes[at..]).unwrap();
            assert_eq!((record.header.op, record.key), (read.op, &read.key[..]));
            let (token, value) = (read.token, Ok(record.value));
            brick.handle(Event::Read { token, value });
        }
        if let Some((segment, from)) = self.chunks.pop_front() {
            let is_damaged = self.damaged.contains(&segment);
            let bytes = &self.segments[&segment][..];
            let bytes = if is_damaged { &[] } else { bytes };
            let first = from.max(HEADER_BYTES);
            let all = &bytes[bytes.len().min((first - HEADER_BYTES) as usize)..];
            let bytes = &all[..records_len(all, self.records_a_chunk)];
            let next = (bytes.len() < all.len()).then(|| first + bytes.len() as u32);
            let (records, has_more) = verified(first, bytes);
            brick.handle(Event::SegmentChunk(LogChunk {
                segment,
                from,
                records: &records,
                next,
                is_damaged: is_damaged || has_more,
                is_known: !has_more,
            }));
        }
    }

    /// The reads that wait fail.
    pub(super) fn fail_reads(&mut self, brick: &mut Brick) {
        for read in std::mem::take(&mut self.reads) {
            let value = Err("it is not there".to_owned());
            let token = read.token;
            brick.handle(Event::Read { token, value });
        }
    }
}

/// Bytes of so many of the records that stand back to back; of all, if one of them is none.
fn records_len(bytes: &[u8], count: usize) -> usize {
    let mut len = 0;
    for _ in 0..count.min(bytes.len()) {
        match record::verify(&bytes[len..]) {
            Ok(found) => len += found.record().len,
            Err(_) => return bytes.len(),
        }
    }
    len
}
