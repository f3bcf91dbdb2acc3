//! How many keys a table has, and how many bytes.
//!
//! In:  nothing. Out: counts and sizes, kept as records come and go, so that asking costs nothing.

use crate::arena::ADDRESSABLE_BYTES;
use crate::hash::KeyHash;
use crate::record::State;
use crate::table::{LocalPartition, TableData};
use brickyard_types::{Op, SegmentId, UnixMillis};

impl TableData {
    /// Bytes that the records of a partition take in a log, tombstones included.
    #[must_use]
    pub fn partition_bytes(&self, partition: LocalPartition) -> u64 {
        self.partitions[partition.index()].bytes
    }

    /// How many keys a partition has.
    #[must_use]
    pub fn len(&self, partition: LocalPartition) -> usize {
        self.partitions[partition.index()].keys as usize
    }

    /// The highest op that was ever put into a partition.
    #[must_use]
    pub fn op_max(&self, partition: LocalPartition) -> Op {
        self.partitions[partition.index()].op_max
    }

    /// Whether a partition has no keys.
    #[must_use]
    pub fn is_empty(&self, partition: LocalPartition) -> bool {
        self.len(partition) == 0
    }

    /// How many keys the table has on this brick.
    #[must_use]
    pub const fn len_total(&self) -> usize {
        self.sums.keys
    }

    /// How many tombstones there are.
    #[must_use]
    pub const fn tombstones(&self) -> usize {
        self.sums.tombstones
    }

    /// How many keys of a partition have an expiry.
    #[must_use]
    pub fn expires_count(&self, partition: LocalPartition) -> usize {
        self.partitions[partition.index()].expiring as usize
    }

    /// How many keys of the table have an expiry.
    #[must_use]
    pub const fn expires_count_total(&self) -> usize {
        self.sums.expiring
    }

    /// The mean time to live at `now` of the keys that have an expiry, in milliseconds.
    #[must_use]
    pub fn average_ttl_ms(&self, now: UnixMillis) -> u64 {
        let Some(average) = self
            .sums
            .expires_at_sum
            .checked_div(self.sums.expiring as u128)
        else {
            return 0;
        };
        u64::try_from(average)
            .unwrap_or(u64::MAX)
            .saturating_sub(now.0)
    }

    /// The segments that hold live records of this table, and the bytes of those in each.
    pub fn segments(&self) -> impl Iterator<Item = (SegmentId, u64)> + '_ {
        self.segments.live()
    }

    /// Bytes of memory that the table takes: records, dead space, indexes, timers.
    #[must_use]
    pub fn memory_used(&self) -> usize {
        self.arena.memory() + self.pool.memory() + self.timers.memory() + self.leftovers.memory()
    }

    /// Whether a record may still be prepared for this table, however many others have been that
    /// are not in it yet: half a GiB of those may be, each of which takes up to four times its size
    /// of the space that references can address.
    #[must_use]
    pub fn has_room(&self, key_len: usize, value_len: usize) -> bool {
        const KEPT: usize = 4 * (512 << 20);
        self.arena.addressed() + key_len + value_len + KEPT <= ADDRESSABLE_BYTES
    }

    /// Bytes of records alone, each with its header and padding.
    #[must_use]
    pub fn records_bytes(&self) -> usize {
        self.arena.live()
    }

    /// Bytes that the record of a key takes, its share of the index included.
    #[must_use]
    pub fn record_memory(
        &self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
    ) -> Option<usize> {
        const INDEX_BYTES_PER_RECORD: usize = 7;
        let (_, (_, header)) = self.find(partition, hash, key)?;
        (header.state() != State::Tombstone)
            .then(|| self.layout.size(header) + INDEX_BYTES_PER_RECORD)
    }
}
