//! Taking a partition apart: its records go to others, and stay where they are in memory and in the log.
//!
//! In:  a partition, those that take its place, and which key goes where. Out: the same records in them.
//!
//! Invariants:
//! - A record keeps its value, op, expiry and place; what was removed or cleared stays so in every part.
//! - Nothing is allocated but index: no record is copied.
//!
//! - Time: linear in the partition's records, about a cache miss each.

use crate::apply::log_len;
use crate::expiry::Entry;
use crate::record::{self, State};
use crate::table::{LocalPartition, Partition, Records, Table};

impl Table {
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
        let mut share = std::mem::take(&mut self.partitions[whole.index()]);
        self.free_partitions.push(whole);
        self.snapshots.spoil(whole);
        for part in parts {
            self.partitions[part.index()] = Partition {
                cleared: share.cleared,
                op_max: share.op_max,
                ..Partition::default()
            };
        }
        let mut bucket = Vec::new();
        while share.index.take_bucket(&mut self.pool, |reference| {
            self.arena.prefetch_header(reference);
            bucket.push(reference);
        }) {
            for reference in bucket.drain(..) {
                let bytes = self.arena.at(reference);
                let header = record::header(bytes);
                let key = self.layout.key(header, bytes);
                let part = parts[part_of(key)];
                let hash = self.hasher.hash(key);
                let expiry = header.has_expiry().then(|| record::expiry(bytes));
                let records = Records {
                    arena: &self.arena,
                    layout: self.layout,
                    hasher: &self.hasher,
                };
                let into = &mut self.partitions[part.index()];
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
                    // The entry that the timers have is of the whole, and comes to nothing.
                    self.timers.arm(Entry::new(part.0, hash), expiry.at());
                }
                let header = header.with_partition(part.0 as u16);
                record::write_header(self.arena.at_mut(reference), header);
            }
        }
    }
}

#[cfg(test)]
#[path = "split_test.rs"]
mod split_test;
