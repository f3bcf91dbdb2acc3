//! Writes of single keys.
//!
//! In:  committed operations, in any order that replay or catch-up brings. Out: what they replaced.
//!
//! Invariants:
//! - A record applies only over one with a lower op, so that the order does not matter. Entries of
//!   one batch have one op: the caller applies the last for each key.
//! - Every byte and record that comes or goes is counted once: by partition, by segment, in all.

use crate::arena::RecordRef;
use crate::expiry::Entry;
use crate::full::Full;
use crate::hash::KeyHash;
use crate::record::{self, Expiry, Header, State};
use crate::segments::Replaced;
use crate::table::{LocalPartition, Records, TableData, ValueRef};
use brickyard_types::{Op, Position, SegmentId, UnixMillis, record::encoded_len};

/// An insertion splits one bucket at most, into one that may need a page.
const PAGES_PER_INSERT: u32 = 2;

/// Cells for the two halves of a split, of the longest chain that chance makes.
const CELLS_PER_INSERT: u32 = 16;

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
    /// Whether the value was built by a partial write.
    pub is_raw: bool,
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

/// What a write wants the record of a key to be.
struct Change<'a> {
    header: Header,
    value: &'a [u8],
    expiry: Option<Expiry>,
    position: Position,
}

impl TableData {
    /// Gives `key` the record `put`, unless the table has something newer.
    ///
    /// - Sizes: `key` up to 65,535 bytes, the value up to 128 MiB less one byte.
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
                    self.layout.has_offset(),
                    "a cold value in a table of medium ram"
                );
                (State::Cold, &[][..])
            }
        };
        let header = Header::new(state, put.value.len(), partition.0 as u16, put.op)
            .with_raw(put.is_raw)
            .with_referenced(self.evicts)
            .with_expiry(put.expires_at.is_some());
        let change = Change {
            header,
            value,
            expiry: put.expires_at.map(Expiry::new),
            position: put.position,
        };
        self.change(partition, hash, key, change)
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
        let change = Change {
            header: Header::new(State::Tombstone, 0, partition.0 as u16, op),
            value: &[],
            expiry: None,
            position,
        };
        self.change(partition, hash, key, change)
    }

    /// Removes the record of `key`, if it has one with an op below `op`, and leaves nothing behind.
    pub fn remove(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        op: Op,
    ) -> Option<Replaced> {
        let (place, (reference, header)) = self.find(partition, hash, key)?;
        if header.op() >= op {
            return None;
        }
        self.preserve(partition, hash, reference, header);
        let replaced = self.uncount(partition, reference, header);
        self.partitions[partition.index()]
            .index
            .remove(&mut self.pool, hash, place);
        let size = self.layout.size(header);
        self.arena.free(reference, size);
        self.maintain(size);
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
        let Some((_, (reference, header))) = self.find(partition, hash, key) else {
            return Ok(false);
        };
        if header.op() != op || self.segments.id(header.segment()) != from {
            return Ok(false);
        }
        let number = self.segments.number(to.segment)?;
        let log_len = log_len(header);
        self.segments.add(number, log_len);
        self.segments.subtract(header.segment(), log_len);
        let bytes = self.arena.at_mut(reference);
        record::write_header(bytes, header.with_segment(number));
        self.layout.write_offset(header, bytes, to.offset);
        Ok(true)
    }

    fn change(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        mut change: Change<'_>,
    ) -> Result<WriteOutcome, Full> {
        let Ok(key_len) = u16::try_from(key.len()) else {
            panic!("a key of {} bytes", key.len())
        };
        let op = change.header.op();
        if op <= self.partitions[partition.index()].cleared {
            return Ok(WriteOutcome::Stale);
        }
        let found = self.find(partition, hash, key);
        let has_newer = found.is_some_and(|(_, (_, before))| before.op() >= op);
        if has_newer {
            return Ok(WriteOutcome::Stale);
        }
        // From here on nothing is refused but for want of memory, which is asked for first.
        let segment = self.segments.number(change.position.segment)?;
        change.header = change.header.with_key_len(key_len).with_segment(segment);
        let size = self.layout.size(change.header);
        let mut wants_timer = change.expiry.is_some_and(Expiry::has_timer);
        let applied = match found {
            Some((place, (reference, before))) => {
                self.preserve(partition, hash, reference, before);
                if before.has_expiry() {
                    let armed = record::expiry(self.arena.at(reference));
                    if let Some(expiry) = &mut change.expiry
                        && armed.has_timer()
                        && armed.at() <= expiry.at()
                    {
                        // The entry that is there comes out early enough.
                        *expiry = expiry.with_sweep(armed.sweep());
                        wants_timer = false;
                    }
                }
                let size_before = self.layout.size(before);
                let target = if self.arena.fits(reference, size_before, size) {
                    reference
                } else {
                    self.arena.allocate(size)?
                };
                let replaced = self.uncount(partition, reference, before);
                if target == reference {
                    self.arena.resize(reference, size_before, size);
                } else {
                    let index = &mut self.partitions[partition.index()].index;
                    index.replace(&mut self.pool, place, target);
                    self.arena.free(reference, size_before);
                }
                self.write(target, key, &change);
                WriteOutcome::Replaced(replaced)
            }
            _ => {
                self.pool
                    .reserve(PAGES_PER_INSERT, CELLS_PER_INSERT)
                    .ok_or(Full::Memory)?;
                let target = self.arena.allocate(size)?;
                self.write(target, key, &change);
                let records = Records {
                    arena: &self.arena,
                    layout: self.layout,
                    hasher: &self.hasher,
                };
                let index = &mut self.partitions[partition.index()].index;
                index.insert(&mut self.pool, hash, target, &records);
                WriteOutcome::Inserted
            }
        };
        self.count(partition, &change);
        if wants_timer && let Some(expiry) = change.expiry {
            self.timers.arm(Entry::new(partition.0, hash), expiry.at());
        }
        self.maintain(size);
        Ok(applied)
    }

    fn write(&mut self, target: RecordRef, key: &[u8], change: &Change<'_>) {
        let header = change.header;
        let key_at = self.layout.key_at(header);
        let value_at = self.layout.value_at(header);
        let bytes = self.arena.at_mut(target);
        record::write_header(bytes, header);
        if let Some(expiry) = change.expiry {
            record::write_expiry(bytes, expiry);
        }
        self.layout
            .write_offset(header, bytes, change.position.offset);
        bytes[key_at..value_at].copy_from_slice(key);
        bytes[value_at..value_at + change.value.len()].copy_from_slice(change.value);
    }

    fn count(&mut self, partition: LocalPartition, change: &Change<'_>) {
        let header = change.header;
        let share = &mut self.partitions[partition.index()];
        share.op_max = share.op_max.max(header.op());
        share.bytes += log_len(header) as u64;
        if header.state() == State::Tombstone {
            share.tombstones += 1;
            self.sums.tombstones += 1;
        } else {
            share.keys += 1;
            self.sums.keys += 1;
        }
        if let Some(expiry) = change.expiry {
            let at = u128::from(expiry.at().0);
            share.expiring += 1;
            share.expires_at_sum += at;
            self.sums.expiring += 1;
            self.sums.expires_at_sum += at;
        }
        self.segments.add(header.segment(), log_len(header));
    }

    /// Takes a record out of all counts.
    fn uncount(
        &mut self,
        partition: LocalPartition,
        reference: RecordRef,
        header: Header,
    ) -> Replaced {
        let share = &mut self.partitions[partition.index()];
        share.bytes -= log_len(header) as u64;
        if header.state() == State::Tombstone {
            share.tombstones -= 1;
            self.sums.tombstones -= 1;
        } else {
            share.keys -= 1;
            self.sums.keys -= 1;
        }
        if header.has_expiry() {
            let at = u128::from(record::expiry(self.arena.at(reference)).at().0);
            share.expiring -= 1;
            share.expires_at_sum -= at;
            self.sums.expiring -= 1;
            self.sums.expires_at_sum -= at;
        }
        self.lose(header)
    }

    /// Takes a record out of what its segment has.
    pub(crate) fn lose(&mut self, header: Header) -> Replaced {
        let log_len = log_len(header);
        let segment = self.segments.id(header.segment());
        self.segments.subtract(header.segment(), log_len);
        Replaced { segment, log_len }
    }

    /// Removes a record; `None` if the index does not refer to it.
    pub(crate) fn discard(
        &mut self,
        partition: LocalPartition,
        reference: RecordRef,
    ) -> Option<Replaced> {
        let bytes = self.arena.at(reference);
        let header = record::header(bytes);
        let hash = self.hasher.hash(self.layout.key(header, bytes));
        let place = self.find_reference(partition, hash, reference)?;
        self.preserve(partition, hash, reference, header);
        let replaced = self.uncount(partition, reference, header);
        self.partitions[partition.index()]
            .index
            .remove(&mut self.pool, hash, place);
        self.arena.free(reference, self.layout.size(header));
        Some(replaced)
    }
}

/// Length in the log of the record with this header.
#[inline]
pub(crate) fn log_len(header: Header) -> usize {
    encoded_len(header.key_len(), header.value_len())
}
