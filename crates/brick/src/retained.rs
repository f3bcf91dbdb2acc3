//! Records that the log must keep although no table counts them as live: where they stand, and how many bytes of each
//! segment they are.
//!
//! In:  records that this brick appends about a partition (its baseline, its watermark, the floor of its request window);
//!      tombstones and request ids that the cleaner has moved. Out: whether the log says something already; the bytes of a
//!      segment that cleaning it would only move.
//!
//! Without this account the cleaner has no end: it takes a segment of such records for a dead one, moves them, and finds
//! them in the next segment, dead again.
//!
//! Invariants:
//! - Of each partition and [`Mark`] at most one record counts, the newest that was appended: to move it keeps the sum.
//! - A mark is believed to stand only where its batch was appended; what the log refused is forgotten.
//! - What is not known here (after a restart) costs one more move, never a record: the answer is "no" then.

use crate::append::BatchId;
use brickyard_types::{PartitionId, SegmentId};
use std::collections::{BTreeMap, VecDeque};

/// What a record says of a whole partition. The newest one of each kind makes the others dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// The replica holds everything up to a (view, op) (rule `log summaries begin at a baseline`).
    Baseline,
    /// Tombstones up to an op may be missing (rule `tombstones reach down to the watermark`).
    Watermark,
    /// Ids of requests up to a sequence were forgotten (rule `requests are executed once`).
    Floor,
}

/// How much a mark says: (view, op) of a baseline, (0, op) of a watermark, (0, sequence) of a floor.
pub(crate) type Level = (u64, u64);

/// A mark in the log.
#[derive(Debug, Clone, Copy)]
struct RetainedMark {
    segment: SegmentId,
    level: Level,
    bytes: u64,
}

/// A mark of a batch that is not in the log yet.
#[derive(Debug)]
struct Unwritten {
    batch: BatchId,
    partition: PartitionId,
    mark: Mark,
    level: Level,
    bytes: u64,
}

/// What the cleaner has moved in one batch, besides the records of keys and marks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Bytes of records that only carry ids of requests.
    pub(crate) ids: u64,
    /// When the last of these ids is forgotten, in microseconds since 1970.
    pub(crate) ids_until: u64,
    /// Bytes of tombstones and clears, by the segment that each was first written in.
    pub(crate) tombstones: BTreeMap<SegmentId, u64>,
}

impl Moved {
    pub(crate) fn add(&mut self, other: Self) {
        self.ids += other.ids;
        self.ids_until = self.ids_until.max(other.ids_until);
        for (origin, bytes) in other.tombstones {
            *self.tombstones.entry(origin).or_default() += bytes;
        }
    }
}

/// What of one segment is neither live in a table nor dead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Bytes of marks and ids: there will be as many wherever they stand.
    pub(crate) lasting: u64,
    /// Bytes of tombstones that older segments need: dead once those are gone.
    pub(crate) tombstones: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Retained {
    newest: BTreeMap<(PartitionId, Mark), RetainedMark>,
    unwritten: VecDeque<Unwritten>,
    /// Bytes of the newest marks in each segment.
    marks: BTreeMap<SegmentId, u64>,
    moved: BTreeMap<SegmentId, Moved>,
}

impl Retained {
    /// A mark was put into a batch; batches come in order.
    pub(crate) fn append(
        &mut self,
        batch: BatchId,
        (partition, mark): (PartitionId, Mark),
        level: Level,
        bytes: usize,
    ) {
        assert!(bytes > 0, "a record has a length");
        let last = self.unwritten.back();
        assert!(
            last.is_none_or(|last| last.batch <= batch),
            "marks come in the order of their batches: {last:?}, then {batch:?}"
        );
        self.unwritten.push_back(Unwritten {
            batch,
            partition,
            mark,
            level,
            bytes: bytes as u64,
        });
    }

    /// The batch is in the log.
    pub(crate) fn on_appended(&mut self, id: BatchId, segment: SegmentId) {
        assert!(segment.0 > 0, "segments are numbered from 1");
        while let Some(first) = self.unwritten.pop_front_if(|it| it.batch <= id) {
            let mark = RetainedMark {
                segment,
                level: first.level,
                bytes: first.bytes,
            };
            let key = (first.partition, first.mark);
            let before = self.newest.insert(key, mark);
            self.uncount(before);
            *self.marks.entry(segment).or_default() += mark.bytes;
        }
    }

    /// The log has refused this batch, and what follows.
    pub(crate) fn on_refused(&mut self, from: BatchId) {
        self.unwritten.retain(|it| it.batch < from);
    }

    /// The cleaner has moved these to a segment.
    pub(crate) fn on_moved(&mut self, to: SegmentId, moved: Moved) {
        if moved != Moved::default() {
            self.moved.entry(to).or_default().add(moved);
        }
    }

    /// Whether the log says at least this much in a segment behind `segment`.
    pub(crate) fn is_said_behind(
        &self,
        segment: SegmentId,
        key: (PartitionId, Mark),
        level: Level,
    ) -> bool {
        let mark = self.newest.get(&key);
        mark.is_some_and(|it| it.segment > segment && it.level >= level)
    }

    /// The partition left this brick: what was said of it is dead.
    pub(crate) fn forget(&mut self, partition: PartitionId) {
        self.retain(|it| it != partition);
    }

    /// Forgets partitions that are not on this brick any more.
    pub(crate) fn retain(&mut self, is_here: impl Fn(PartitionId) -> bool) {
        self.unwritten.retain(|it| is_here(it.partition));
        let gone = self.newest.extract_if(.., |(it, _), _| !is_here(*it));
        let gone: Vec<RetainedMark> = gone.map(|(_, mark)| mark).collect();
        for mark in gone {
            self.uncount(Some(mark));
        }
    }

    /// The segment is gone.
    pub(crate) fn remove(&mut self, segment: SegmentId) {
        self.newest.retain(|_, it| it.segment != segment);
        self.marks.remove(&segment);
        self.moved.remove(&segment);
    }

    /// What of a segment must be kept, while `oldest` is the oldest segment of the log.
    pub(crate) fn kept(&self, segment: SegmentId, oldest: SegmentId, now_us: u64) -> Kept {
        let mut kept = Kept {
            lasting: self.marks.get(&segment).copied().unwrap_or(0),
            tombstones: 0,
        };
        if let Some(moved) = self.moved.get(&segment) {
            if now_us <= moved.ids_until {
                kept.lasting += moved.ids;
            }
            let needed = moved.tombstones.range(oldest..);
            kept.tombstones = needed.map(|(_, bytes)| bytes).sum();
        }
        kept
    }

    fn uncount(&mut self, mark: Option<RetainedMark>) {
        let Some(RetainedMark { segment, bytes, .. }) = mark else {
            return;
        };
        // None: the segment is gone already, and with it what counted there.
        if let Some(all) = self.marks.get_mut(&segment) {
            assert!(
                *all >= bytes,
                "{segment:?} has {all} bytes of marks, not {bytes}"
            );
            *all -= bytes;
        }
    }
}

#[cfg(test)]
#[path = "retained_test.rs"]
mod retained_test;
