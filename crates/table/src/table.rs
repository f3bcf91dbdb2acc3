//! A table on one brick: what [`TableData`] is made of, and its reads of single keys.
//!
//! In:  keys and their hashes. Out: records.
//!
//! Invariant: `find` leads to the record that the last write of the key left, hot, cold or
//! tombstone; all but writes see no tombstones.
//!
//! Not here: writes (`apply`), values that are in the log alone (`cold`), counts and sizes
//! (`measure`), scans (`scan`), compaction (`compact`), clearing (`clear`), eviction (`evict`),
//! expiry (`due`), snapshots (`snapshot`); each is another `impl TableData`.

use crate::arena::{Arena, RecordRef};
use crate::expiry::Timers;
use crate::hash::{KeyHash, KeyHasher};
use crate::index::{Hashes, Index, Place};
use crate::leftovers::Leftovers;
use crate::pool::Pool;
use crate::record::{self, Header, Layout, State};
use crate::segments::{Replaced, Segments};
use crate::snapshot::Snapshots;
use brickyard_types::{Medium, Op, Position, UnixMillis};

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

/// A partition of the table on this brick: the table's own dense number of it, below 65,536, given
/// by [`TableData::add_partition`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalPartition(pub u32);

impl LocalPartition {
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A record's value: here, or in the log alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueRef<'a> {
    /// The bytes.
    Hot(&'a [u8]),
    /// They are to be read from the record at its position in the log.
    Cold {
        /// How many bytes the value has.
        len: usize,
    },
}

impl ValueRef<'_> {
    /// Length in bytes, wherever they are.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Hot(bytes) => bytes.len(),
            Self::Cold { len } => *len,
        }
    }

    /// Whether the value is the empty string.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A key's record as it is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// The value, or how long it is.
    pub value: ValueRef<'a>,
    /// When the key is gone; it may be past. `None`: never.
    pub expires_at: Option<UnixMillis>,
    /// The op that wrote the record.
    pub op: Op,
    /// Whether the value was built by a partial write.
    pub is_raw: bool,
    /// Where the record is in the log; of a table of medium `ram` the segment only.
    pub position: Position,
}

/// One partition's share of the table.
#[derive(Debug, Default)]
pub(crate) struct Partition {
    pub(crate) index: Index,
    /// Records other than tombstones.
    pub(crate) keys: u32,
    pub(crate) tombstones: u32,
    /// What its records take in a log, tombstones included.
    pub(crate) bytes: u64,
    pub(crate) expiring: u32,
    pub(crate) expires_at_sum: u128,
    /// Every op up to here that is not in the table was cleared away.
    pub(crate) cleared: Op,
    /// The highest op that was ever put.
    pub(crate) op_max: Op,
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
    pub(crate) layout: Layout,
    pub(crate) evicts: bool,
    pub(crate) hasher: KeyHasher,
    pub(crate) arena: Arena,
    pub(crate) pool: Pool,
    pub(crate) segments: Segments,
    pub(crate) timers: Timers,
    pub(crate) partitions: Vec<Partition>,
    pub(crate) free_partitions: Vec<LocalPartition>,
    /// Indexes of partitions that were cleared or dropped, whose records are still being counted
    /// out.
    pub(crate) removed_indexes: Vec<Index>,
    /// Memory that the table has no use for and has not given back yet.
    pub(crate) leftovers: Leftovers,
    /// What was counted out of them and not polled yet.
    pub(crate) replaced: Vec<Replaced>,
    pub(crate) snapshots: Snapshots,
    pub(crate) sums: Sums,
}

/// Sums over all partitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Records other than tombstones.
    pub(crate) keys: usize,
    pub(crate) tombstones: usize,
    pub(crate) expiring: usize,
    pub(crate) expires_at_sum: u128,
}

/// What the index asks about records.
pub(crate) struct Records<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) layout: Layout,
    pub(crate) hasher: &'a KeyHasher,
}

impl Hashes for Records<'_> {
    fn hash(&self, reference: RecordRef) -> KeyHash {
        let bytes = self.arena.at(reference);
        self.hasher
            .hash(self.layout.key(record::header(bytes), bytes))
    }

    fn prefetch(&self, reference: RecordRef) {
        self.arena.prefetch_header(reference);
    }
}

impl TableData {
    /// An empty table without partitions.
    #[must_use]
    pub fn new(config: TableConfig) -> Self {
        Self {
            layout: Layout::new(config.medium),
            evicts: config.evicts,
            hasher: KeyHasher::new(config.seed),
            arena: Arena::new(),
            pool: Pool::new(),
            segments: Segments::new(),
            timers: Timers::new(),
            partitions: Vec::new(),
            free_partitions: Vec::new(),
            removed_indexes: Vec::new(),
            replaced: Vec::new(),
            leftovers: Leftovers::default(),
            snapshots: Snapshots::default(),
            sums: Sums::default(),
        }
    }

    /// Changes [`TableConfig::evicts`].
    pub const fn set_evicts(&mut self, evicts: bool) {
        self.evicts = evicts;
    }

    /// The hash of `key` in this table, which every call about the key wants.
    #[inline]
    #[must_use]
    pub fn hash(&self, key: &[u8]) -> KeyHash {
        self.hasher.hash(key)
    }

    /// Adds an empty partition and returns its number; numbers of dropped partitions are given
    /// again.
    ///
    /// # Panics
    /// If the table has 65,536 partitions on this brick already: a record has 16 bits for it.
    pub fn add_partition(&mut self) -> LocalPartition {
        if let Some(partition) = self.free_partitions.pop() {
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

    /// Asks the processor for the bucket in which `hash` would be.
    #[inline]
    pub fn prefetch_bucket(&self, partition: LocalPartition, hash: KeyHash) {
        self.partitions[partition.index()]
            .index
            .prefetch(&self.pool, hash);
    }

    /// Asks the processor for the record that `hash` probably leads to; to be called when the
    /// bucket has had time to arrive.
    #[inline]
    pub fn prefetch_record(&self, partition: LocalPartition, hash: KeyHash) {
        let index = &self.partitions[partition.index()].index;
        index.candidates(&self.pool, hash, |reference| self.arena.prefetch(reference));
    }

    /// The record of `key`, marked as used lately if the table evicts.
    #[inline]
    pub fn get(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
    ) -> Option<Found<'_>> {
        let (_, (reference, header)) = self.find(partition, hash, key)?;
        // Written only when it changes, so that reading does not dirty the cache line each time.
        if self.evicts && !header.is_referenced() {
            record::mark_referenced(self.arena.at_mut(reference), true);
        }
        self.found(reference, header)
    }

    /// As [`Self::get`], without a mark.
    #[inline]
    #[must_use]
    pub fn peek(&self, partition: LocalPartition, hash: KeyHash, key: &[u8]) -> Option<Found<'_>> {
        let (_, (reference, header)) = self.find(partition, hash, key)?;
        self.found(reference, header)
    }

    /// Whether `key` has a record; its time may be past.
    #[inline]
    #[must_use]
    pub fn contains(&self, partition: LocalPartition, hash: KeyHash, key: &[u8]) -> bool {
        self.peek(partition, hash, key).is_some()
    }

    #[inline]
    pub(crate) fn find(
        &self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
    ) -> Option<(Place, (RecordRef, Header))> {
        debug_assert_eq!(hash, self.hash(key), "a hash of another key or table");
        self.partitions[partition.index()]
            .index
            .find(&self.pool, hash, |reference| {
                let bytes = self.arena.at(reference);
                let header = record::header(bytes);
                self.layout
                    .is_key(header, bytes, key)
                    .then_some((reference, header))
            })
    }

    /// Where the index refers to `reference`, whose key has `hash`; `None` if it does not.
    pub(crate) fn find_reference(
        &self,
        partition: LocalPartition,
        hash: KeyHash,
        reference: RecordRef,
    ) -> Option<Place> {
        let index = &self.partitions.get(partition.index())?.index;
        let is_it = |candidate| (candidate == reference).then_some(());
        let found = index.find(&self.pool, hash, is_it);
        found.map(|(place, _)| place)
    }

    /// The record at `reference`; `None` if it is a tombstone.
    #[inline]
    pub(crate) fn found(&self, reference: RecordRef, header: Header) -> Option<Found<'_>> {
        let bytes = self.arena.at(reference);
        let value = match header.state() {
            State::Hot => ValueRef::Hot(self.layout.value(header, bytes)),
            State::Cold => ValueRef::Cold {
                len: header.value_len(),
            },
            State::Tombstone => return None,
        };
        Some(Found {
            value,
            expires_at: self.layout.expires_at(header, bytes),
            op: header.op(),
            is_raw: header.is_raw(),
            position: Position {
                segment: self.segments.id(header.segment()),
                offset: self.layout.offset(header, bytes),
            },
        })
    }
}

#[cfg(test)]
#[path = "table_test.rs"]
mod table_test;
