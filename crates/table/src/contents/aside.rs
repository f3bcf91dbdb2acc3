//! Partitions as a whole: given, dealt out to others, set aside.
//!
//! In:  partitions. Out: their numbers; of what was set aside, what the log lost, bit by bit.
//!
//! A partition's index is set aside, so that its keys are gone with one step; its records are then visited a few with
//! each write, to mark their space dead and to add up what the log loses. Until that is done nothing is moved in the
//! arena, since an index that was set aside would not learn of it.

use super::Contents;
use crate::hash::KeyHash;
use crate::id::LocalPartition;
use crate::partition::{Counts, Partition};
use crate::record::Expiry;
use crate::segments::Replaced;
use brickyard_types::Op;

impl Contents {
    /// Gives an empty partition a number.
    pub(crate) fn add_partition(&mut self) -> LocalPartition {
        if let Some(partition) = self.free_partitions.pop() {
            assert_eq!(self.partition(partition).counts, Counts::NONE);
            return partition;
        }
        let number = self.partitions.len();
        assert!(
            number <= usize::from(u16::MAX),
            "a brick takes 65536 partitions of a table"
        );
        self.partitions.push(Partition::default());
        LocalPartition(number as u32)
    }

    /// Takes a partition's share, whose records are still counted in the table's, and frees its number.
    pub(crate) fn take_partition(&mut self, partition: LocalPartition) -> Partition {
        debug_assert!(
            !self.free_partitions.contains(&partition),
            "partition {partition:?} is not there"
        );
        self.free_partitions.push(partition);
        std::mem::take(&mut self.partitions[partition.index()])
    }

    /// Begins an empty partition that was cleared up to an op and has no higher one than `op_max`; what it had before.
    pub(crate) fn begin_partition(
        &mut self,
        partition: LocalPartition,
        cleared: Op,
        op_max: Op,
    ) -> Partition {
        let empty = Partition::empty(cleared, op_max);
        std::mem::replace(&mut self.partitions[partition.index()], empty)
    }

    /// From now on only records of a partition with a higher op than `op` are taken.
    pub(crate) fn refuse_up_to(&mut self, partition: LocalPartition, op: Op) {
        let share = &mut self.partitions[partition.index()];
        share.cleared = share.cleared.max(op);
    }

    /// Gives every record of a share to the partition that is said for its key; calls `on_expiring` with each that has
    /// an expiry.
    pub(crate) fn deal(
        &mut self,
        mut share: Partition,
        partition_of: impl Fn(&[u8]) -> LocalPartition,
        mut on_expiring: impl FnMut(LocalPartition, KeyHash, Expiry),
    ) {
        let mut dealt = Counts::NONE;
        let mut bucket = Vec::new();
        while share.index.take_bucket(&mut self.pool, |reference| {
            self.records.prefetch_header(reference);
            bucket.push(reference);
        }) {
            for reference in bucket.drain(..) {
                let header = self.records.header(reference);
                let key = self.records.key(reference, header);
                let (partition, hash) = (partition_of(key), self.records.hash_of(key));
                let counts = self.records.counts(reference, header);
                if let Some(expiry) = self.records.expiry(reference, header) {
                    on_expiring(partition, hash, expiry);
                }
                let into = &mut self.partitions[partition.index()];
                let index = &mut into.index;
                index.insert(&mut self.pool, hash, reference, &self.records);
                into.gain_bytes(header);
                into.counts += counts;
                dealt += counts;
                self.records.set_partition(reference, header, partition);
            }
        }
        assert_eq!(dealt, share.counts, "records were lost between partitions");
    }

    /// Sets a share aside, to be counted out.
    pub(crate) fn bury(&mut self, share: Partition) {
        assert_eq!(share.index.entries(), share.counts.records() as usize);
        self.counts -= share.counts;
        if share.index.entries() > 0 {
            self.removed.push(share.index);
        }
    }

    /// Whether something that was set aside is not counted out.
    #[inline]
    pub(crate) const fn has_removed(&self) -> bool {
        !self.removed.is_empty()
    }

    /// Counts about `references` of what was set aside out.
    pub(crate) fn count_out(&mut self, references: usize) {
        let mut counted = 0;
        let mut bucket = Vec::new();
        while counted < references
            && let Some(mut index) = self.removed.pop()
        {
            let is_more = index.take_bucket(&mut self.pool, |reference| {
                self.records.prefetch_header(reference);
                bucket.push(reference);
            });
            if is_more {
                self.removed.push(index);
            }
            counted += bucket.len() + 1;
            for reference in bucket.drain(..) {
                let header = self.records.header(reference);
                let lost = self.records.remove(reference, header);
                self.note_lost(lost);
            }
        }
    }

    /// Adds up what the log has lost, to be polled.
    pub(crate) fn note_lost(&mut self, lost: Replaced) {
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

    /// Takes a sum of what the log has lost.
    pub(crate) fn poll_replaced(&mut self) -> Option<Replaced> {
        self.replaced.pop()
    }
}
