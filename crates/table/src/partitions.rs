//! Whole partitions: added, cleared, dropped, taken apart, put together.
//!
//! In:  partitions, those that take their place, and which key goes where. Out: their numbers; of what was cleared, what
//!      the log lost ([`Replaced`]), polled.
//!
//! Invariants:
//! - A record that goes to another partition keeps its value, op, expiry and place, in memory and in the log; what was
//!   removed stays so, and what was cleared as far as the whole of what takes its place was.
//! - To take apart and put together allocates nothing but index: no record is copied. It takes time in proportion to the
//!   partition's records, about a cache miss each. To clear and to drop takes none.

use crate::expiry::Entry;
use crate::id::LocalPartition;
use crate::partition::{Counts, Partition};
use crate::record::{Header, State};
use crate::segments::Replaced;
use crate::table::TableData;
use brickyard_types::Op;

impl TableData {
    /// Adds an empty partition and returns its number; numbers of dropped partitions are given
    /// again.
    ///
    /// # Panics
    /// If the table has 65,536 partitions on this brick already: a record has 16 bits for it.
    pub fn add_partition(&mut self) -> LocalPartition {
        self.contents.add_partition()
    }

    /// How many numbers of partitions have been given so far.
    #[must_use]
    pub fn partition_slots(&self) -> u32 {
        self.contents.partition_slots() as u32
    }

    /// Removes every record and tombstone of `partition` with op `op` or below, now and whenever
    /// one comes later.
    ///
    /// What the log loses by it comes out of [`Self::poll_replaced`], sooner or later.
    pub fn clear(&mut self, partition: LocalPartition, op: Op) {
        if self.op_max(partition) <= op {
            let share = self.contents.begin_partition(partition, op, op);
            self.snapshots.spoil(partition);
            self.contents.bury(share);
            return;
        }
        // Replay may bring an old clear after newer records.
        self.contents.refuse_up_to(partition, op);
        let select = |_: &[u8], header: Header| header.op() <= op;
        for reference in self.contents.select(partition, select) {
            let lost = self.contents.discard(&mut self.snapshots, reference);
            self.contents.note_lost(lost);
        }
    }

    /// Removes `partition` with all that it has; its number may be given to another.
    ///
    /// What the log loses by it comes out of [`Self::poll_replaced`], sooner or later.
    pub fn drop_partition(&mut self, partition: LocalPartition) {
        let share = self.take_partition(partition);
        self.contents.bury(share);
    }

    /// Takes a sum of what the log has lost by clearing: bytes that are no longer live, by segment.
    pub fn poll_replaced(&mut self) -> Option<Replaced> {
        self.contents.poll_replaced()
    }

    /// Removes all tombstones: there is nothing left that they could keep from applying.
    pub fn purge_tombstones(&mut self) {
        for number in 0..self.partition_slots() {
            self.purge_partition(LocalPartition(number));
        }
    }

    /// Removes a partition's tombstones; how many keys were looked at for it.
    pub fn purge_partition(&mut self, partition: LocalPartition) -> usize {
        let counts = self.contents.partition(partition).counts;
        if counts.tombstones == 0 {
            return 0;
        }
        self.remove_all(partition, |_, header| header.state() == State::Tombstone);
        assert_eq!(self.contents.partition(partition).counts.tombstones, 0);
        counts.records() as usize
    }

    /// Removes the records of a partition that are not to be kept, by key and op.
    pub fn sweep_partition(
        &mut self,
        partition: LocalPartition,
        is_kept: impl Fn(&[u8], Op) -> bool,
    ) {
        self.remove_all(partition, |key, header| !is_kept(key, header.op()));
    }

    /// Moves every record of `whole` to that of `parts` whose index `part_of` says for its key, and drops `whole`.
    ///
    /// The parts are empty before.
    ///
    /// # Panics
    /// If `part_of` names a part that there is not (a caller bug), or the operating system has no memory for the few
    /// pages of index that the parts need beyond those that the whole gives back.
    pub fn split_partition(
        &mut self,
        whole: LocalPartition,
        parts: &[LocalPartition],
        part_of: impl Fn(&[u8]) -> usize,
    ) {
        let share = self.take_partition(whole);
        for part in parts {
            self.begin_empty(*part, share.cleared, share.op_max);
        }
        self.deal(share, |key| parts[part_of(key)]);
    }

    /// Moves every record of `halves`, which have no key in common, to `whole`, which is empty, and drops them.
    ///
    /// What was cleared of all of them stays cleared in `whole`.
    ///
    /// # Panics
    /// As [`Self::split_partition`].
    pub fn merge_partitions(&mut self, halves: &[LocalPartition], whole: LocalPartition) {
        let shares: Vec<_> = halves.iter().map(|it| self.take_partition(*it)).collect();
        let cleared = shares.iter().map(|it| it.cleared).min();
        let op_max = shares.iter().map(|it| it.op_max).max();
        self.begin_empty(
            whole,
            cleared.unwrap_or_default(),
            op_max.unwrap_or_default(),
        );
        for share in shares {
            self.deal(share, |_| whole);
        }
    }

    fn take_partition(&mut self, partition: LocalPartition) -> Partition {
        self.snapshots.spoil(partition);
        self.contents.take_partition(partition)
    }

    fn begin_empty(&mut self, partition: LocalPartition, cleared: Op, op_max: Op) {
        let before = self.contents.begin_partition(partition, cleared, op_max);
        assert_eq!(before.counts, Counts::NONE, "{partition:?} is not empty");
    }

    /// Gives every record of a share to the partition that is said for its key.
    fn deal(&mut self, share: Partition, partition_of: impl Fn(&[u8]) -> LocalPartition) {
        let timers = &mut self.timers;
        self.contents
            .deal(share, partition_of, |partition, hash, expiry| {
                // The entry that the timers have is of the parent partition, and comes to nothing.
                timers.arm(Entry::new(partition.0, hash), expiry.at());
            });
    }

    /// Removes the records of a partition that are wanted gone, which the log loses elsewhere.
    fn remove_all(
        &mut self,
        partition: LocalPartition,
        is_gone: impl FnMut(&[u8], Header) -> bool,
    ) {
        for reference in self.contents.select(partition, is_gone) {
            self.contents.discard(&mut self.snapshots, reference);
        }
    }
}

#[cfg(test)]
#[path = "clear_test.rs"]
mod clear_test;
#[cfg(test)]
#[path = "split_test.rs"]
mod split_test;
