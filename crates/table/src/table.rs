//! A table on one brick: what [`TableData`] is made of, its reads of single keys, how many it has and how many bytes.
//!
//! In:  keys and their hashes. Out: records; counts and sizes, kept as records come and go, so that asking costs nothing.
//!
//! Invariant: what is read is what the last write of the key left; all but writes see no tombstones.
//!
//! Not here: writes (`apply`), whole partitions (`partitions`), reads of many keys (`reads`), what is done a little at
//! a time (`upkeep`); each is another `impl TableData`.

use crate::arena::ADDRESSABLE_BYTES;
use crate::contents::Contents;
use crate::expiry::Timers;
use crate::found::Found;
use crate::hash::KeyHash;
use crate::id::LocalPartition;
use crate::lazy_free::LazyFree;
use crate::record::State;
use crate::records::Records;
use crate::snapshot::Snapshots;
use brickyard_types::{Medium, Op, SegmentId, UnixMillis};

/// What a table is, as far as its memory is concerned; fixed for its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableConfig {
    /// The seed of the table's key hashes.
    pub seed: u64,
    /// Where values live.
    pub medium: Medium,
    /// Whether [`TableData::evict_step`] will be called: then reads mark what they read, which costs a
    /// write to memory now and then.
    pub evicts: bool,
}

/// Committed state of one table on one brick: the records of its partitions here.
///
/// - Time: a lookup is about two cache misses, which [`Self::prefetch_bucket`] and
///   [`Self::prefetch_record`] overlap over a batch; a write besides moves the rest of the table
///   along by a few records (compaction, splits, sweeps), never by more.
/// - Memory: beside key and value 16 bytes a record, up to 7 for alignment, some 7 of index, 20 for
///   an expiry, 4 for a position (medium `disk`); and dead space of at most an eighth, and some
///   MiB.
#[derive(Debug)]
pub struct TableData {
    /// Records and what leads to them.
    pub(crate) contents: Contents,
    /// When which keys may have expired.
    pub(crate) timers: Timers,
    pub(crate) snapshots: Snapshots,
    /// Memory that the table has no use for and has not given back yet.
    pub(crate) lazy_free: LazyFree,
    pub(crate) evicts: bool,
    /// Bytes that all of it should take at most; `usize::MAX`: as many as come.
    pub(crate) memory_max: usize,
}

impl TableData {
    /// An empty table without partitions.
    #[must_use]
    pub fn new(config: TableConfig) -> Self {
        Self {
            contents: Contents::new(Records::new(config.seed, config.medium)),
            timers: Timers::new(),
            snapshots: Snapshots::default(),
            lazy_free: LazyFree::default(),
            evicts: config.evicts,
            memory_max: usize::MAX,
        }
    }

    /// What [`Self::memory_used`] is to be at most: compaction leaves no more dead space than that has room for. It can
    /// do so as long as whoever writes keeps [`Self::memory_live`] at [`Self::memory_live_max`].
    pub fn set_memory_max(&mut self, bytes: Option<usize>) {
        self.memory_max = bytes.unwrap_or(usize::MAX);
        self.contents.bound_records(self.memory_max);
        self.bound_arena();
    }

    /// Changes [`TableConfig::evicts`].
    pub const fn set_evicts(&mut self, evicts: bool) {
        self.evicts = evicts;
    }

    /// The hash of `key` in this table, which every call about the key wants.
    #[inline]
    #[must_use]
    pub fn hash(&self, key: &[u8]) -> KeyHash {
        self.contents.records().hash_of(key)
    }

    /// Asks the processor for the bucket in which `hash` would be.
    #[inline]
    pub fn prefetch_bucket(&self, partition: LocalPartition, hash: KeyHash) {
        self.contents.prefetch_bucket(partition, hash);
    }

    /// Asks the processor for the record that `hash` probably leads to; to be called when the
    /// bucket has had time to arrive.
    #[inline]
    pub fn prefetch_record(&self, partition: LocalPartition, hash: KeyHash) {
        self.contents.prefetch_record(partition, hash);
    }

    /// The record of `key`, marked as used lately if the table evicts.
    #[inline]
    pub fn get(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
    ) -> Option<Found<'_>> {
        let it = self.contents.find(partition, hash, key)?;
        // Written only when it changes, so that reading does not dirty the cache line each time.
        if self.evicts && !it.header.is_referenced() {
            self.contents.mark(it.reference, true);
        }
        self.contents.found(&it)
    }

    /// As [`Self::get`], without a mark.
    #[inline]
    #[must_use]
    pub fn peek(&self, partition: LocalPartition, hash: KeyHash, key: &[u8]) -> Option<Found<'_>> {
        let it = self.contents.find(partition, hash, key)?;
        self.contents.found(&it)
    }

    /// Whether `key` has a record; its time may be past.
    #[inline]
    #[must_use]
    pub fn contains(&self, partition: LocalPartition, hash: KeyHash, key: &[u8]) -> bool {
        self.peek(partition, hash, key).is_some()
    }

    /// Bytes that the records of a partition take in a log, tombstones included.
    #[must_use]
    pub fn partition_bytes(&self, partition: LocalPartition) -> u64 {
        self.contents.partition(partition).bytes
    }

    /// How many keys a partition has.
    #[must_use]
    pub fn len(&self, partition: LocalPartition) -> usize {
        self.contents.partition(partition).counts.keys as usize
    }

    /// The highest op that was ever put into a partition.
    #[must_use]
    pub fn op_max(&self, partition: LocalPartition) -> Op {
        self.contents.partition(partition).op_max
    }

    /// Whether a partition has no keys.
    #[must_use]
    pub fn is_empty(&self, partition: LocalPartition) -> bool {
        self.len(partition) == 0
    }

    /// How many keys the table has on this brick.
    #[must_use]
    pub const fn len_total(&self) -> usize {
        self.contents.counts().keys as usize
    }

    /// How many records keep a part of a key's value.
    #[inline]
    #[must_use]
    pub const fn parts(&self) -> usize {
        self.contents.counts().parts as usize
    }

    /// How many tombstones there are.
    #[must_use]
    pub const fn tombstones(&self) -> usize {
        self.contents.counts().tombstones as usize
    }

    /// How many keys of a partition have an expiry.
    #[must_use]
    pub fn expires_count(&self, partition: LocalPartition) -> usize {
        self.contents.partition(partition).counts.expiring as usize
    }

    /// How many keys of the table have an expiry.
    #[must_use]
    pub const fn expires_count_total(&self) -> usize {
        self.contents.counts().expiring as usize
    }

    /// Whether a partition may have that number: of a table that came anew none has one of before.
    #[must_use]
    pub fn has_number(&self, partition: LocalPartition) -> bool {
        partition.index() < self.contents.partition_slots()
    }

    /// How many keys of a partition hold an intent that is to leave nothing: it has an expiry.
    #[must_use]
    pub fn leaving(&self, partition: LocalPartition) -> usize {
        self.contents.partition(partition).counts.leaving as usize
    }

    /// Number of keys that hold an intent of a transaction.
    #[inline]
    #[must_use]
    pub const fn intents(&self) -> usize {
        self.contents.counts().intents as usize
    }

    /// Number of keys of a partition that hold an intent of a transaction.
    #[must_use]
    pub fn intents_of(&self, partition: LocalPartition) -> usize {
        self.contents.partition(partition).counts.intents as usize
    }

    /// The mean time to live at `now` of the keys that have an expiry, in milliseconds.
    #[must_use]
    pub fn average_ttl_ms(&self, now: UnixMillis) -> u64 {
        let counts = self.contents.counts();
        let expiring = u128::from(counts.expiring);
        let Some(average) = counts.expires_at_sum.checked_div(expiring) else {
            return 0;
        };
        u64::try_from(average)
            .unwrap_or(u64::MAX)
            .saturating_sub(now.0)
    }

    /// The segments that hold live records of this table, and the bytes of those in each.
    pub fn segments(&self) -> impl Iterator<Item = (SegmentId, u64)> + '_ {
        self.contents.records().segments()
    }

    /// Bytes of memory that the table takes: records, dead space, indexes, timers.
    #[must_use]
    pub fn memory_used(&self) -> usize {
        self.contents.memory() + self.timers.memory() + self.lazy_free.memory()
    }

    /// The part of it that is no dead space, nor memory kept for later: what stays however much is won back.
    #[must_use]
    pub fn memory_live(&self) -> usize {
        let arena = self.contents.records().arena();
        self.contents.memory() - arena.memory() + arena.live() + self.timers.memory()
    }

    /// What that may be for [`Self::memory_used`] to stay within the table's bound: a sixteenth less, or half a MiB if
    /// that is more, for dead space and for a chunk that is being emptied; of a small bound a quarter less.
    #[must_use]
    pub fn memory_live_max(&self) -> usize {
        self.memory_max - self.memory_reserve()
    }

    /// The part of the bound that is not for live records.
    #[must_use]
    pub fn memory_reserve(&self) -> usize {
        const RESERVE_MIN: usize = 1 << 19;
        let bound = self.memory_max;
        (bound / 16).max(RESERVE_MIN.min(bound / 4))
    }

    /// The bound of [`Self::memory_used`].
    #[must_use]
    pub fn memory_max(&self) -> Option<usize> {
        self.has_memory_max().then_some(self.memory_max)
    }

    /// Whether there is a bound.
    #[inline]
    #[must_use]
    pub const fn has_memory_max(&self) -> bool {
        self.memory_max < usize::MAX
    }

    /// Whether a record may still be prepared for this table, however many others have been that
    /// are not in it yet: half a GiB of those may be, each of which takes up to four times its size
    /// of the space that references can address.
    #[must_use]
    pub fn has_room(&self, key_len: usize, value_len: usize) -> bool {
        const KEPT: usize = 4 * (512 << 20);
        self.contents.records().arena().addressed() + key_len + value_len + KEPT
            <= ADDRESSABLE_BYTES
    }

    /// Bytes of records alone, each with its header and padding.
    #[must_use]
    pub fn records_bytes(&self) -> usize {
        self.contents.records().arena().live()
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
        let header = self.contents.find(partition, hash, key)?.header;
        (header.state() != State::Tombstone)
            .then(|| self.contents.records().size(header) + INDEX_BYTES_PER_RECORD)
    }
}

#[cfg(test)]
#[path = "table_test.rs"]
mod table_test;
