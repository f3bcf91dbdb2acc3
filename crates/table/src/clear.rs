//! Clearing and dropping a partition at once, and counting its records out later.
//!
//! In:  [`TableData::clear`], [`TableData::drop_partition`]. Out: [`Replaced`] sums, polled.
//!
//! A partition's index is set aside (*removed*), so that its keys are gone with one step; its
//! records are then visited a few with each write, to mark their space dead and to add up what the
//! log loses. Until that is done nothing is moved in the arena, since a removed index would not
//! learn of it.

use crate::arena::{Arena, RecordRef};
use crate::hash::KeyHash;
use crate::pool::Pool;
use crate::record::{self, Header, State};
use crate::segments::Replaced;
use crate::table::{LocalPartition, Partition, TableData};
use brickyard_types::Op;

/// A table without records that kept no more than this gives it back in one step.
const FREED_AT_ONCE_BYTES: usize = 8 << 20;

/// What a table without records may keep, so that one which has a key now and then does not ask the
/// operating system for memory each time.
const RELEASED_BYTES_MIN: usize = 1 << 20;

impl TableData {
    /// Removes every record and tombstone of `partition` with op `op` or below, now and whenever
    /// one comes later.
    ///
    /// What the log loses by it comes out of [`Self::poll_replaced`], sooner or later.
    pub fn clear(&mut self, partition: LocalPartition, op: Op) {
        let share = &mut self.partitions[partition.index()];
        if share.op_max <= op {
            let cleared = Partition {
                cleared: op,
                op_max: op,
                ..Partition::default()
            };
            let share = std::mem::replace(share, cleared);
            self.snapshots.spoil(partition);
            self.bury(share);
        } else {
            // Replay may bring an old clear after newer records.
            share.cleared = share.cleared.max(op);
            self.remove_below(partition, op);
        }
    }

    /// Removes `partition` with all that it has; its number may be given to another.
    ///
    /// What the log loses by it comes out of [`Self::poll_replaced`], sooner or later.
    pub fn drop_partition(&mut self, partition: LocalPartition) {
        let share = std::mem::take(&mut self.partitions[partition.index()]);
        self.free_partitions.push(partition);
        self.snapshots.spoil(partition);
        self.bury(share);
    }

    /// Takes a sum of what the log has lost by clearing: bytes that are no longer live, by segment.
    pub fn poll_replaced(&mut self) -> Option<Replaced> {
        self.replaced.pop()
    }

    /// Removes all tombstones: there is nothing left that they could keep from applying.
    pub fn purge_tombstones(&mut self) {
        for number in 0..self.partition_slots() {
            self.purge_partition(LocalPartition(number));
        }
    }

    /// How many numbers of partitions have been given so far.
    #[must_use]
    pub fn partition_slots(&self) -> u32 {
        self.partitions.len() as u32
    }

    /// Removes a partition's tombstones; how many keys were looked at for it.
    pub fn purge_partition(&mut self, partition: LocalPartition) -> usize {
        let share = &self.partitions[partition.index()];
        if share.tombstones == 0 {
            return 0;
        }
        let looked_at = (share.keys + share.tombstones) as usize;
        let purged = self.select(partition, |_, header| header.state() == State::Tombstone);
        for reference in purged {
            self.discard(partition, reference);
        }
        looked_at
    }

    fn bury(&mut self, share: Partition) {
        self.sums.keys -= share.keys as usize;
        self.sums.tombstones -= share.tombstones as usize;
        self.sums.expiring -= share.expiring as usize;
        self.sums.expires_at_sum -= share.expires_at_sum;
        if share.index.entries() > 0 {
            self.removed_indexes.push(share.index);
        }
    }

    /// Counts about `references` of removed indexes out.
    pub(crate) fn count_out(&mut self, references: usize) {
        let mut counted = 0;
        let mut bucket = Vec::new();
        while counted < references
            && let Some(mut index) = self.removed_indexes.pop()
        {
            let is_more = index.take_bucket(&mut self.pool, |reference| {
                self.arena.prefetch_header(reference);
                bucket.push(reference);
            });
            if is_more {
                self.removed_indexes.push(index);
            }
            counted += bucket.len() + 1;
            for reference in bucket.drain(..) {
                self.count_out_record(reference);
            }
        }
    }

    /// Gives the memory of a table without records back, if it is worth while.
    pub(crate) fn release_if_empty(&mut self) {
        let records = self.sums.keys + self.sums.tombstones;
        let is_busy = !self.removed_indexes.is_empty() || self.has_leftovers();
        if records > 0 || is_busy || self.memory_used() < RELEASED_BYTES_MIN {
            return;
        }
        debug_assert_eq!(self.arena.live(), 0, "records that are not counted");
        let arena = std::mem::replace(&mut self.arena, Arena::new());
        let pool = std::mem::replace(&mut self.pool, Pool::new());
        self.leftovers.take(arena, pool, self.timers.take());
        self.leftovers.free(FREED_AT_ONCE_BYTES);
    }

    fn count_out_record(&mut self, reference: RecordRef) {
        let header = record::header(self.arena.at(reference));
        let lost = self.lose(header);
        self.arena.free(reference, self.layout.size(header));
        self.note_lost(lost);
    }

    fn note_lost(&mut self, lost: Replaced) {
        match self
            .replaced
            .iter_mut()
            .rev()
            .find(|sum| sum.segment == lost.segment)
        {
            Some(sum) => sum.log_len += lost.log_len,
            None => self.replaced.push(lost),
        }
    }

    fn remove_below(&mut self, partition: LocalPartition, op: Op) {
        for reference in self.select(partition, |_, header| header.op() <= op) {
            if let Some(lost) = self.discard(partition, reference) {
                self.note_lost(lost);
            }
        }
    }

    /// The records of `partition` that are wanted, going by their keys and headers.
    pub(crate) fn select(
        &self,
        partition: LocalPartition,
        mut is_wanted: impl FnMut(&[u8], Header) -> bool,
    ) -> Vec<RecordRef> {
        let index = &self.partitions[partition.index()].index;
        let mut bucket = Vec::new();
        let mut selected = Vec::new();
        let mut next = Some(KeyHash(0));
        while let Some(position) = next {
            next = index.visit_bucket(&self.pool, position, |reference| {
                self.arena.prefetch_header(reference);
                bucket.push(reference);
            });
            bucket.retain(|reference| {
                let bytes = self.arena.at(*reference);
                let header = record::header(bytes);
                is_wanted(self.layout.key(header, bytes), header)
            });
            selected.append(&mut bucket);
        }
        selected
    }
}

#[cfg(test)]
#[path = "clear_test.rs"]
mod clear_test;
