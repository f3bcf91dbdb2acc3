//! Writes of single keys.
//!
//! In:  committed operations, in any order that replay or catch-up brings; values that are read from the log, and keys
//!      whose values may stay there alone. Out: what a write replaced.
//!
//! Invariants:
//! - A record applies only over one with a lower op, so that the order does not matter. Entries of
//!   one batch have one op: the caller applies the last for each key.
//! - Only a value that has a position in the log is dropped from memory; a hot record of a table of medium `disk` keeps
//!   its position, so that its value can be dropped any time.

use crate::contents::Located;
use crate::expiry::Entry;
use crate::found::ValueRef;
use crate::full::Full;
use crate::hash::KeyHash;
use crate::id::LocalPartition;
use crate::record::{Expiry, Header, NewRecord, State};
use crate::segments::Replaced;
use crate::table::TableData;
use brickyard_types::{Op, Position, SegmentId, UnixMillis, ValueType};

/// A record to put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put<'a> {
    /// The value. A table of medium `disk` may take it as [`ValueRef::Cold`].
    pub value: ValueRef<'a>,
    /// When the key is gone; `None`: never.
    pub expires_at: Option<UnixMillis>,
    /// The op that writes the record, below 2^48.
    pub op: Op,
    /// Where the record is in the log; [`Position::NONE`] if in none.
    pub position: Position,
    /// What the value is.
    pub value_type: ValueType,
}

/// What has become of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The key was not in the table.
    Inserted,
    /// The key had a record, or a tombstone, with a lower op.
    Replaced(Replaced),
    /// Nothing: the table has the key with the same op or a higher one, or was cleared at one.
    Stale,
}

impl WriteOutcome {
    /// The record that made way, if there was one.
    #[inline]
    #[must_use]
    pub const fn replaced(self) -> Option<Replaced> {
        match self {
            Self::Replaced(replaced) => Some(replaced),
            Self::Inserted | Self::Stale => None,
        }
    }
}

impl TableData {
    /// Gives `key` the record `put`, unless the table has something newer.
    ///
    /// - Sizes: `key` up to 65,535 bytes, a string up to 64 MiB, another value 1 byte to 64 MiB less one.
    ///
    /// # Errors
    /// [`Full`]; nothing changed.
    ///
    /// # Panics
    /// If a size or the op is out of its bounds (a caller bug).
    pub fn put(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        put: &Put<'_>,
    ) -> Result<WriteOutcome, Full> {
        let (state, value) = match put.value {
            ValueRef::Hot(bytes) => (State::Hot, bytes),
            ValueRef::Cold { .. } => {
                assert!(
                    self.contents.records().have_offsets(),
                    "a cold value in a table of medium ram"
                );
                (State::Cold, &[][..])
            }
        };
        let typed = (put.value_type, put.value.len());
        let header = Header::new(state, typed, partition, put.op)
            .with_referenced(self.evicts)
            .with_expiry(put.expires_at.is_some())
            .with_key_len(key_len(key));
        let mut new = NewRecord {
            header,
            key,
            value,
            expiry: put.expires_at.map(Expiry::new),
            position: put.position,
        };
        self.change(partition, hash, &mut new)
    }

    /// Remembers that `key` was deleted by `op`, so that older records of it do not apply: for
    /// replay and catch-up, where they may still come. Invisible to everything but writes.
    ///
    /// # Errors
    /// [`Full`]; nothing changed.
    ///
    /// # Panics
    /// As [`Self::put`].
    pub fn put_tombstone(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        op: Op,
        position: Position,
    ) -> Result<WriteOutcome, Full> {
        let header = Header::new(State::Tombstone, (ValueType::String, 0), partition, op);
        let mut new = NewRecord {
            header: header.with_key_len(key_len(key)),
            key,
            value: &[],
            expiry: None,
            position,
        };
        self.change(partition, hash, &mut new)
    }

    /// Removes the record of `key`, if it has one with an op below `op`, and leaves nothing behind.
    pub fn remove(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        op: Op,
    ) -> Option<Replaced> {
        let found = self.contents.find(partition, hash, key);
        let found = found.as_ref().filter(|it| it.header.op() < op)?;
        let replaced = self.contents.remove(&mut self.snapshots, hash, found);
        self.maintain(self.contents.records().size(found.header));
        Some(replaced)
    }

    /// Notes that the record of `key` is at `to` in the log now, if it is still the one with `op`
    /// in segment `from`; returns whether it is.
    ///
    /// # Errors
    /// [`Full::Segments`]; nothing changed.
    pub fn relocate(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        op: Op,
        from: SegmentId,
        to: Position,
    ) -> Result<bool, Full> {
        let Some(found) = self.contents.find(partition, hash, key) else {
            return Ok(false);
        };
        let is_it =
            found.header.op() == op && self.contents.records().segment(found.header) == from;
        if is_it {
            self.contents.relocate(&found, to)?;
        }
        Ok(is_it)
    }

    /// Gives the cold record of `key` its value back, if it is still the one with `op`; returns
    /// whether the value is in memory now.
    ///
    /// # Errors
    /// [`Full`]; the record stays cold.
    pub fn warm(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        op: Op,
        value: &[u8],
    ) -> Result<bool, Full> {
        let Some(found) = self.contents.find(partition, hash, key) else {
            return Ok(false);
        };
        if found.header.op() != op || found.header.value_len() != value.len() {
            return Ok(false);
        }
        match found.header.state() {
            State::Tombstone => return Ok(false),
            State::Hot => return Ok(true),
            State::Cold => {}
        }
        let size = self.contents.warm(&found, value)?;
        self.maintain(size);
        Ok(true)
    }

    /// Drops the value of the hot record of `key` from memory, if it is the one with `op` and is in
    /// the log; returns whether the value is in the log alone now.
    ///
    /// # Errors
    /// [`Full`]; the record stays hot. Records larger than 512 KiB need a little room elsewhere
    /// first.
    pub fn make_cold(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        op: Op,
    ) -> Result<bool, Full> {
        match self.contents.find(partition, hash, key) {
            Some(found) if found.header.op() == op => self.contents.cool(&found),
            _ => Ok(false),
        }
    }

    fn change(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        new: &mut NewRecord<'_>,
    ) -> Result<WriteOutcome, Full> {
        let op = new.header.op();
        if op <= self.contents.cleared(partition) {
            return Ok(WriteOutcome::Stale);
        }
        let found = self.contents.find(partition, hash, new.key);
        let has_newer = (found.as_ref()).is_some_and(|before| before.header.op() >= op);
        if has_newer {
            return Ok(WriteOutcome::Stale);
        }
        // From here on nothing is refused but for want of memory, which is asked for first.
        let mut wants_timer = new.expiry.is_some_and(Expiry::has_timer);
        let applied = match &found {
            Some(before) => {
                if let Some(sweep) = self.earlier_entry(before, new.expiry) {
                    new.expiry = new.expiry.map(|it| it.with_sweep(sweep));
                    wants_timer = false;
                }
                let replaced = self
                    .contents
                    .replace(&mut self.snapshots, hash, before, new)?;
                WriteOutcome::Replaced(replaced)
            }
            None => {
                self.contents.insert(partition, hash, new)?;
                WriteOutcome::Inserted
            }
        };
        if wants_timer && let Some(expiry) = new.expiry {
            self.timers.arm(Entry::new(partition.0, hash), expiry.at());
        }
        self.maintain(self.contents.records().size(new.header));
        Ok(applied)
    }

    /// If the entry that the timers have for a record comes out early enough for a new expiry: the sweep that saw it.
    #[inline]
    fn earlier_entry(&self, before: &Located, expiry: Option<Expiry>) -> Option<u8> {
        let armed = self
            .contents
            .records()
            .expiry(before.reference, before.header)?;
        (armed.has_timer() && armed.at() <= expiry?.at()).then(|| armed.sweep())
    }
}

/// The length of a key, in the bits that there are for it.
#[inline]
fn key_len(key: &[u8]) -> u16 {
    assert!(
        key.len() <= usize::from(u16::MAX),
        "a key of {} bytes",
        key.len()
    );
    key.len() as u16
}
