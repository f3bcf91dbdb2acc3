//! A partition as it was at one op, read piece by piece while writes go on.
//!
//! In:  a partition, and the writes that come to it meanwhile. Out: its records as of the begin.
//!
//! A snapshot copies nothing when it begins. It reads the partition in the order of key hashes; a record ahead
//! of it that is about to be replaced or removed is preserved first, and given up when the reading has passed its
//! place. What was written since has a higher op and is left out.
//!
//! Invariants:
//! - What is read is what the partition had when the snapshot began: each key once, with its value of then.
//! - Reading never makes a write wait, and costs it nothing in partitions without a snapshot.
//! - Memory is bounded: a snapshot that would preserve more than its bound is spoilt, as is one whose partition
//!   is cleared or dropped, and says so when it is read.
//!
//! Source of the scheme: copy on write, as databases' shadow pages have it (Lorie, "Physical integrity in a large
//! segmented database", 1977), by record.

use crate::arena::RecordRef;
use crate::hash::KeyHash;
use crate::record::{Header, State};
use crate::scan::ScanPosition;
use crate::table::{Found, LocalPartition, TableData, ValueRef};
use brickyard_types::{Op, Position, UnixMillis};
use std::collections::BTreeMap;

/// What a preserved record costs beside its key and value, about.
const PRESERVED_OVERHEAD: usize = 128;

/// Names a snapshot of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotId(u64);

/// Why there is nothing more to read of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoilt {
    /// More was written meanwhile than may be preserved.
    Overrun,
    /// The partition was cleared, split, dropped or moved away.
    Cleared,
    /// There is no such snapshot.
    Unknown,
}

/// A record that made way for a newer one.
#[derive(Debug)]
struct Preserved {
    /// `None`: in the log alone.
    value: Option<Box<[u8]>>,
    value_len: usize,
    expires_at: Option<UnixMillis>,
    op: Op,
    is_raw: bool,
    position: Position,
}

#[derive(Debug)]
struct Snapshot {
    id: SnapshotId,
    partition: LocalPartition,
    /// The highest op that it has.
    op: Op,
    /// All before it was read; `None`: all.
    next: Option<ScanPosition>,
    /// By place and key, so that a step takes the first of them.
    preserved: BTreeMap<(KeyHash, Box<[u8]>), Preserved>,
    bytes: usize,
    bytes_max: usize,
    spoilt: Option<Spoilt>,
}

/// The snapshots of a table.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    open: Vec<Snapshot>,
    last: u64,
}

impl Snapshots {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// All that was preserved of a partition is worthless.
    pub(crate) fn spoil(&mut self, partition: LocalPartition) {
        for it in &mut self.open {
            if it.partition == partition {
                it.spoil(Spoilt::Cleared);
            }
        }
    }

    fn find(&self, id: SnapshotId) -> Option<usize> {
        self.open.iter().position(|it| it.id == id)
    }
}

impl Snapshot {
    fn spoil(&mut self, why: Spoilt) {
        self.spoilt.get_or_insert(why);
        self.preserved.clear();
        self.bytes = 0;
    }

    /// Whether the record with `header` is part of it and has not been read.
    fn wants(&self, partition: LocalPartition, hash: KeyHash, header: Header) -> bool {
        self.partition == partition
            && self.spoilt.is_none()
            && header.op() <= self.op
            && header.state() != State::Tombstone
            && self.next.is_some_and(|next| hash.0 >= next.0)
    }

    fn keep(&mut self, hash: KeyHash, key: &[u8], found: &Found<'_>) {
        let value: Option<Box<[u8]>> = match found.value {
            ValueRef::Hot(bytes) => Some(Box::from(bytes)),
            ValueRef::Cold { .. } => None,
        };
        let bytes = PRESERVED_OVERHEAD + key.len() + value.as_ref().map_or(0, |it| it.len());
        if self.bytes + bytes > self.bytes_max {
            self.spoil(Spoilt::Overrun);
            return;
        }
        let preserved = Preserved {
            value,
            value_len: found.value.len(),
            expires_at: found.expires_at,
            op: found.op,
            is_raw: found.is_raw,
            position: found.position,
        };
        // Only what stands in the table is preserved, so a key comes once, unless its write was refused.
        if self
            .preserved
            .insert((hash, Box::from(key)), preserved)
            .is_none()
        {
            self.bytes += bytes;
        }
    }
}

impl Preserved {
    fn found(&self) -> Found<'_> {
        let value = match &self.value {
            Some(bytes) => ValueRef::Hot(bytes),
            None => ValueRef::Cold {
                len: self.value_len,
            },
        };
        Found {
            value,
            expires_at: self.expires_at,
            op: self.op,
            is_raw: self.is_raw,
            position: self.position,
        }
    }
}

impl TableData {
    /// Begins a snapshot of all that `partition` has now. `op` is the last one that was applied to it; those
    /// that come must be higher.
    ///
    /// - Memory: at most `bytes_max` bytes for what is written while it is read.
    pub fn begin_snapshot(
        &mut self,
        partition: LocalPartition,
        op: Op,
        bytes_max: usize,
    ) -> SnapshotId {
        self.snapshots.last += 1;
        let id = SnapshotId(self.snapshots.last);
        self.snapshots.open.push(Snapshot {
            id,
            partition,
            op,
            next: Some(ScanPosition::START),
            preserved: BTreeMap::new(),
            bytes: 0,
            bytes_max,
            spoilt: None,
        });
        id
    }

    /// Reads on: calls `f` with about `at_least` keys and their records; returns whether there is more.
    ///
    /// # Errors
    /// Why there is nothing more. What was read before is no snapshot then.
    pub fn read_snapshot(
        &mut self,
        id: SnapshotId,
        at_least: usize,
        mut f: impl FnMut(&[u8], Found<'_>),
    ) -> Result<bool, Spoilt> {
        let at = self.snapshots.find(id).ok_or(Spoilt::Unknown)?;
        let snapshot = &self.snapshots.open[at];
        if let Some(spoilt) = snapshot.spoilt {
            return Err(spoilt);
        }
        let Some(from) = snapshot.next else {
            return Ok(false);
        };
        let next = self.scan(snapshot.partition, from, at_least, |key, found| {
            // A write that was refused leaves both: the preserved one is as good.
            let is_kept = || {
                let place = (self.hasher.hash(key), Box::from(key));
                snapshot.preserved.contains_key(&place)
            };
            if found.op <= snapshot.op && (snapshot.preserved.is_empty() || !is_kept()) {
                f(key, found);
            }
        });
        let snapshot = &mut self.snapshots.open[at];
        while let Some(first) = snapshot.preserved.first_entry() {
            if next.is_some_and(|next| first.key().0.0 >= next.0) {
                break;
            }
            let ((_, key), preserved) = first.remove_entry();
            snapshot.bytes -= PRESERVED_OVERHEAD
                + key.len()
                + preserved.value.as_ref().map_or(0, |value| value.len());
            f(&key, preserved.found());
        }
        snapshot.next = next;
        Ok(next.is_some())
    }

    /// Ends a snapshot, read to its end or not.
    pub fn end_snapshot(&mut self, id: SnapshotId) {
        self.snapshots.open.retain(|it| it.id != id);
    }

    /// The record at `reference` is about to be replaced or removed.
    #[inline]
    pub(crate) fn preserve(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        reference: RecordRef,
        header: Header,
    ) {
        if !self.snapshots.is_empty() {
            self.preserve_it(partition, hash, reference, header);
        }
    }

    #[cold]
    fn preserve_it(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        reference: RecordRef,
        header: Header,
    ) {
        // Taken out, since what it keeps is read from the rest of the table.
        let mut snapshots = std::mem::take(&mut self.snapshots);
        for snapshot in &mut snapshots.open {
            if snapshot.wants(partition, hash, header)
                && let Some(found) = self.found(reference, header)
            {
                let key = self.layout.key(header, self.arena.at(reference));
                snapshot.keep(hash, key, &found);
            }
        }
        self.snapshots = snapshots;
    }
}

#[cfg(test)]
#[path = "snapshot_test.rs"]
mod snapshot_test;
