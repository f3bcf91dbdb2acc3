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
//! - Parts of values are no keys: they are asked for by name, with the key that they belong to, wherever the reading is. So they are
//!   preserved until the snapshot ends.
//! - Memory is bounded: a snapshot that would preserve more than its bound is spoilt, as is one whose partition
//!   is cleared or dropped, and says so when it is read.
//!
//! Source of the scheme: copy on write, as databases' shadow pages have it (Lorie, "Physical integrity in a large
//! segmented database", 1977), by record.

use crate::found::{Found, ValueRef};
use crate::hash::KeyHash;
use crate::id::{LocalPartition, ScanPosition};
use brickyard_types::part::is_part;
use brickyard_types::{Op, Position, UnixMillis, ValueType};
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
    value_type: ValueType,
    position: Position,
}

/// A snapshot that is being read.
#[derive(Debug)]
pub(crate) struct Snapshot {
    id: SnapshotId,
    partition: LocalPartition,
    /// The highest op that it has.
    op: Op,
    /// All before it was read; `None`: all.
    next: Option<ScanPosition>,
    /// By place and key, so that a step takes the first of them.
    preserved: BTreeMap<(KeyHash, Box<[u8]>), Preserved>,
    /// By name.
    parts: BTreeMap<Box<[u8]>, Preserved>,
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

    /// As [`crate::TableData::begin_snapshot`].
    pub(crate) fn begin(
        &mut self,
        partition: LocalPartition,
        op: Op,
        bytes_max: usize,
    ) -> SnapshotId {
        self.last += 1;
        let id = SnapshotId(self.last);
        self.open.push(Snapshot {
            id,
            partition,
            op,
            next: Some(ScanPosition::START),
            preserved: BTreeMap::new(),
            parts: BTreeMap::new(),
            bytes: 0,
            bytes_max,
            spoilt: None,
        });
        id
    }

    /// The snapshot with `id`, to read on.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn get(&mut self, id: SnapshotId) -> Result<&mut Snapshot, Spoilt> {
        let it = self.open.iter_mut().find(|it| it.id == id);
        let it = it.ok_or(Spoilt::Unknown)?;
        it.spoilt.map_or(Ok(it), Err)
    }

    /// Ends a snapshot, read to its end or not.
    pub(crate) fn end(&mut self, id: SnapshotId) {
        self.open.retain(|it| it.id != id);
    }

    /// The record of `key` is about to be replaced or removed.
    pub(crate) fn preserve(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        found: &Found<'_>,
    ) {
        for it in &mut self.open {
            if it.wants(partition, hash, key, found.op) {
                it.keep(hash, key, found);
            }
        }
    }
}

impl Snapshot {
    fn spoil(&mut self, why: Spoilt) {
        self.spoilt.get_or_insert(why);
        self.preserved.clear();
        self.parts.clear();
        self.bytes = 0;
    }

    /// Where it is to be read on; `None` at its end.
    pub(crate) const fn next(&self) -> Option<(LocalPartition, ScanPosition)> {
        match self.next {
            Some(next) => Some((self.partition, next)),
            None => None,
        }
    }

    /// Whether a record that the table has is as it was, and is not preserved besides.
    pub(crate) fn has(&self, hash: impl FnOnce() -> KeyHash, key: &[u8], op: Op) -> bool {
        // A write that was refused leaves both: the preserved one is as good.
        let is_kept = || self.preserved.contains_key(&(hash(), Box::from(key)));
        op <= self.op && (self.preserved.is_empty() || !is_kept())
    }

    /// The partition that it is of.
    pub(crate) const fn partition(&self) -> LocalPartition {
        self.partition
    }

    /// What was preserved of a part.
    pub(crate) fn part(&self, name: &[u8]) -> Option<Found<'_>> {
        self.parts.get(name).map(Preserved::found)
    }

    /// Whether a record of that op is as it was.
    pub(crate) fn covers(&self, op: Op) -> bool {
        op <= self.op
    }

    /// It was read up to `next`; calls `f` with what was preserved of that.
    pub(crate) fn go_on(
        &mut self,
        next: Option<ScanPosition>,
        mut f: impl FnMut(&[u8], Found<'_>),
    ) {
        assert!(
            next.is_none() || next > self.next,
            "a snapshot is only read on"
        );
        while let Some(first) = self.preserved.first_entry() {
            if next.is_some_and(|next| first.key().0.0 >= next.0) {
                break;
            }
            let ((_, key), preserved) = first.remove_entry();
            self.bytes -= preserved.bytes(&key);
            f(&key, preserved.found());
        }
        assert!(
            !self.preserved.is_empty() || !self.parts.is_empty() || self.bytes == 0,
            "{} bytes of nothing",
            self.bytes
        );
        self.next = next;
    }

    /// Whether the record of a key, with `op`, is part of it and has not been read.
    fn wants(&self, partition: LocalPartition, hash: KeyHash, key: &[u8], op: Op) -> bool {
        self.partition == partition
            && self.spoilt.is_none()
            && op <= self.op
            && (self.next.is_some_and(|next| hash.0 >= next.0) || is_part(key))
    }

    fn keep(&mut self, hash: KeyHash, key: &[u8], found: &Found<'_>) {
        let value: Option<Box<[u8]>> = match found.value {
            ValueRef::Hot(bytes) => Some(Box::from(bytes)),
            ValueRef::Cold { .. } => None,
        };
        let preserved = Preserved {
            value,
            value_len: found.value.len(),
            expires_at: found.expires_at,
            op: found.op,
            value_type: found.value_type,
            position: found.position,
        };
        let bytes = preserved.bytes(key);
        if self.bytes + bytes > self.bytes_max {
            self.spoil(Spoilt::Overrun);
            return;
        }
        // Only what stands in the table is preserved, so a key comes once, unless its write was refused.
        let before = match is_part(key) {
            true => self.parts.insert(Box::from(key), preserved),
            false => self.preserved.insert((hash, Box::from(key)), preserved),
        };
        if before.is_none() {
            self.bytes += bytes;
        }
    }
}

impl Preserved {
    /// Bytes of memory, about.
    fn bytes(&self, key: &[u8]) -> usize {
        PRESERVED_OVERHEAD + key.len() + self.value.as_ref().map_or(0, |value| value.len())
    }

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
            value_type: self.value_type,
            position: self.position,
        }
    }
}

#[cfg(test)]
#[path = "snapshot_test.rs"]
mod snapshot_test;
