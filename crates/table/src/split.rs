//! Taking a partition apart, and putting several together: records go to others, and stay where they are in memory and
//! in the log.
//!
//! In:  partitions, those that take their place, and which key goes where. Out: the same records in them.
//!
//! Invariants:
//! - A record keeps its value, op, expiry and place; what was removed stays so, and what was cleared as far as the
//!   whole of what takes its place was.
//! - Nothing is allocated but index: no record is copied.
//!
//! - Time: linear in the partition's records, about a cache miss each.

use crate::apply::log_len;
use crate::expiry::Entry;
use crate::record::{self, State};
use crate::table::{LocalPartition, Partition, Records, TableData};
use brickyard_types::Op;

impl TableData {
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
        let share = std::mem::take(&mut self.partitions[whole.index()]);
        self.free_partitions.push(whole);
        self.snapshots.spoil(whole);
        for part in parts {
            self.partitions[part.index()] = Partition {
                cleared: share.cleared,
                op_max: share.op_max,
                ..Partition::default()
            };
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
        let shares: Vec<Partition> = halves
            .iter()
            .map(|half| {
                self.free_partitions.push(*half);
                self.snapshots.spoil(*half);
                std::mem::take(&mut self.partitions[half.index()])
            })
            .collect();
        self.partitions[whole.index()] = Partition {
            cleared: shares.iter().map(|it| it.cleared).min().unwrap_or_default(),
            op_max: shares.iter().map(|it| it.op_max).max().unwrap_or_default(),
            ..Partition::default()
        };
        for share in shares {
            self.deal(share, |_| whole);
        }
    }

    /// Removes the records of a partition that are not to be kept, by key and op.
    pub fn sweep_partition(
        &mut self,
        partition: LocalPartition,
        is_kept: impl Fn(&[u8], Op) -> bool,
    ) {
        let swept = self.select(partition, |key, header| !is_kept(key, header.op()));
        for reference in swept {
            self.discard(partition, reference);
        }
    }

    /// Gives every record of a share to the partition that is said for its key.
    fn deal(&mut self, mut share: Partition, partition_of: impl Fn(&[u8]) -> LocalPartition) {
        let mut bucket = Vec::new();
        while share.index.take_bucket(&mut self.pool, |reference| {
            self.arena.prefetch_header(reference);
            bucket.push(reference);
        }) {
            for reference in bucket.drain(..) {
                let bytes = self.arena.at(reference);
                let header = record::header(bytes);
                let key = self.layout.key(header, bytes);
                let partition = partition_of(key);
                let hash = self.hasher.hash(key);
                let expiry = header.has_expiry().then(|| record::expiry(bytes));
                let records = Records {
                    arena: &self.arena,
                    layout: self.layout,
                    hasher: &self.hasher,
                };
                let into = &mut self.partitions[partition.index()];
                into.index.insert(&mut self.pool, hash, reference, &records);
                into.bytes += log_len(header) as u64;
                if header.state() == State::Tombstone {
                    into.tombstones += 1;
                } else {
                    into.keys += 1;
                }
                if let Some(expiry) = expiry {
                    into.expiring += 1;
                    into.expires_at_sum += u128::from(expiry.at().0);
                    // The entry that the timers have is of the former partition, and comes to nothing.
                    self.timers.arm(Entry::new(partition.0, hash), expiry.at());
                }
                let header = header.with_partition(partition.0 as u16);
                record::write_header(self.arena.at_mut(reference), header);
            }
        }
    }
}

#[cfg(test)]
#[path = "split_test.rs"]
mod split_test;
