//! What a table contains: records, and of each partition the index that leads to its own.
//!
//! In:  keys, records to write, partitions to set aside. Out: [`Located`] records, and what the log lost.
//!
//! Invariants, which only this file and those below `contents/` can break, since they alone see the fields:
//! - Each record is referred to once: by the index of the partition that its header names, or by an index that was
//!   set aside and is being counted out.
//! - A reference in a partition's index leads to a record, which stands where its key's hash belongs.
//! - The counts of a partition are those of its records, and the table's are the sum.
//! - A snapshot has preserved what it wants of a record before that goes: who removes one has to pass the snapshots.
//!
//! Not here: which record is newer and applies (`apply`), timers of keys with an expiry (`expiry`).

mod aside;
#[cfg(test)]
mod check;
mod compaction;

use crate::arena::RecordRef;
use crate::block::Block;
use crate::found::Found;
use crate::full::Full;
use crate::hash::KeyHash;
use crate::id::LocalPartition;
use crate::index::{Index, Place};
use crate::partition::{Counts, Partition};
use crate::pool::Pool;
use crate::record::{Expiry, Header, NewRecord, State};
use crate::records::Records;
use crate::segments::Replaced;
use crate::snapshot::Snapshots;
use brickyard_types::{Op, Position, SegmentId, ValueType};

/// An insertion splits one bucket at most, into one that may need a page.
const PAGES_PER_INSERT: u32 = 2;

/// Cells for the two halves of a split, of the longest chain that chance makes.
const CELLS_PER_INSERT: u32 = 16;

/// See the module.
#[derive(Debug)]
pub(crate) struct Contents {
    records: Records,
    pool: Pool,
    partitions: Vec<Partition>,
    free_partitions: Vec<LocalPartition>,
    /// Sums over all partitions.
    counts: Counts,
    /// Indexes of partitions that were cleared or dropped, whose records are still being counted out.
    removed: Vec<Index>,
    /// What was counted out of them and not polled yet.
    replaced: Vec<Replaced>,
}

/// A record that an index leads to; good until the table changes.
#[derive(Debug)]
pub(crate) struct Located {
    place: Place,
    pub(crate) reference: RecordRef,
    pub(crate) header: Header,
}

impl Contents {
    pub(crate) const fn new(records: Records) -> Self {
        Self {
            records,
            pool: Pool::new(),
            partitions: Vec::new(),
            free_partitions: Vec::new(),
            counts: Counts::NONE,
            removed: Vec::new(),
            replaced: Vec::new(),
        }
    }

    /// The records, to read.
    #[inline]
    pub(crate) const fn records(&self) -> &Records {
        &self.records
    }

    /// How many records there are.
    #[inline]
    pub(crate) const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// A partition's share.
    #[inline]
    pub(crate) fn partition(&self, partition: LocalPartition) -> &Partition {
        &self.partitions[partition.index()]
    }

    /// How many numbers of partitions have been given so far.
    pub(crate) const fn partition_slots(&self) -> usize {
        self.partitions.len()
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.records.arena().memory() + self.pool.memory()
    }

    /// What records and their dead space should take at most.
    pub(crate) fn bound_records(&mut self, bytes: usize) {
        self.records.bound(bytes);
    }

    /// Asks the processor for the bucket in which `hash` would be.
    #[inline]
    pub(crate) fn prefetch_bucket(&self, partition: LocalPartition, hash: KeyHash) {
        self.partition(partition).index.prefetch(&self.pool, hash);
    }

    /// Asks the processor for the record that `hash` probably leads to.
    #[inline]
    pub(crate) fn prefetch_record(&self, partition: LocalPartition, hash: KeyHash) {
        let index = &self.partition(partition).index;
        index.candidates(&self.pool, hash, |it| self.records.prefetch(it));
    }

    /// The record of `key`.
    #[inline]
    pub(crate) fn find(
        &self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
    ) -> Option<Located> {
        debug_assert_eq!(
            hash,
            self.records.hash_of(key),
            "a hash of another key or table"
        );
        let index = &self.partition(partition).index;
        let (place, (reference, header)) = index.find(&self.pool, hash, |reference| {
            let header = self.records.header_of(reference, key)?;
            Some((reference, header))
        })?;
        Some(Located {
            place,
            reference,
            header,
        })
    }

    /// The record at `reference`, whose key has `hash`; `None` if no partition's index refers to it.
    pub(crate) fn locate(
        &self,
        reference: RecordRef,
        header: Header,
        hash: KeyHash,
    ) -> Option<Located> {
        let place = self.place_of(reference, header.partition(), hash)?;
        Some(Located {
            place,
            reference,
            header,
        })
    }

    /// Calls `f` with the references that may be for `hash`, as far as tags can tell.
    pub(crate) fn candidates(
        &self,
        partition: LocalPartition,
        hash: KeyHash,
        mut f: impl FnMut(RecordRef),
    ) {
        let index = &self.partition(partition).index;
        index.find(&self.pool, hash, |reference| {
            f(reference);
            None::<()>
        });
    }

    /// As [`Index::visit_bucket`], of a partition.
    pub(crate) fn visit_bucket(
        &self,
        partition: LocalPartition,
        position: KeyHash,
        f: impl FnMut(RecordRef),
    ) -> Option<KeyHash> {
        let index = &self.partition(partition).index;
        index.visit_bucket(&self.pool, position, f)
    }

    /// The records of a partition that are wanted, going by their keys and headers.
    pub(crate) fn select(
        &self,
        partition: LocalPartition,
        mut is_wanted: impl FnMut(&[u8], Header) -> bool,
    ) -> Vec<RecordRef> {
        let mut bucket = Vec::new();
        let mut selected = Vec::new();
        let mut next = Some(KeyHash(0));
        while let Some(position) = next {
            next = self.visit_bucket(partition, position, |reference| {
                self.records.prefetch_header(reference);
                bucket.push(reference);
            });
            bucket.retain(|reference| {
                let header = self.records.header(*reference);
                is_wanted(self.records.key(*reference, header), header)
            });
            selected.append(&mut bucket);
        }
        selected
    }

    /// Adds the record of a key that has none.
    ///
    /// # Errors
    /// [`Full`]; nothing changed.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        new: &NewRecord<'_>,
    ) -> Result<(), Full> {
        let reserved = self.pool.reserve(PAGES_PER_INSERT, CELLS_PER_INSERT);
        reserved.ok_or(Full::Memory)?;
        let reference = self.records.add(new)?;
        let share = &mut self.partitions[partition.index()];
        let index = &mut share.index;
        index.insert(&mut self.pool, hash, reference, &self.records);
        let counts = Counts::of(new.header, new.expiry, new.key);
        share.gain_bytes(new.header);
        share.counts += counts;
        self.counts += counts;
        Ok(())
    }

    /// Puts a record in place of one with the same key; what the log lost.
    ///
    /// # Errors
    /// [`Full`]; nothing changed.
    #[inline]
    pub(crate) fn replace(
        &mut self,
        snapshots: &mut Snapshots,
        hash: KeyHash,
        before: &Located,
        new: &NewRecord<'_>,
    ) -> Result<Replaced, Full> {
        assert!(
            before.header.op() < new.header.op(),
            "a record only makes way for a newer one"
        );
        self.preserve(snapshots, hash, before);
        let counts_before = self.records.counts(before.reference, before.header);
        let placed = self.records.replace(before.reference, before.header, new);
        let (reference, replaced) = placed?;
        self.refer(before, reference);
        let share = &mut self.partitions[new.header.partition().index()];
        share.lose_bytes(before.header);
        share.gain_bytes(new.header);
        // Most writes change no count.
        if !(before.header.is_plain_key() && new.header.is_plain_key()) {
            let counts = Counts::of(new.header, new.expiry, new.key);
            share.counts -= counts_before;
            share.counts += counts;
            self.counts -= counts_before;
            self.counts += counts;
        }
        Ok(replaced)
    }

    /// Removes a record; what the log lost.
    #[inline]
    pub(crate) fn remove(
        &mut self,
        snapshots: &mut Snapshots,
        hash: KeyHash,
        it: &Located,
    ) -> Replaced {
        self.preserve(snapshots, hash, it);
        let counts = self.records.counts(it.reference, it.header);
        let share = &mut self.partitions[it.header.partition().index()];
        share.index.remove(&mut self.pool, hash, it.place);
        share.lose_bytes(it.header);
        share.counts -= counts;
        self.counts -= counts;
        self.records.remove(it.reference, it.header)
    }

    /// Removes the record at `reference`, which a partition has; what the log lost.
    pub(crate) fn discard(&mut self, snapshots: &mut Snapshots, reference: RecordRef) -> Replaced {
        let header = self.records.header(reference);
        let hash = self.records.hash_of(self.records.key(reference, header));
        let Some(it) = self.locate(reference, header, hash) else {
            panic!("record {reference:?} is in no index")
        };
        self.remove(snapshots, hash, &it)
    }

    /// Gives a cold record its value; returns the bytes that it takes then.
    ///
    /// # Errors
    /// [`Full`]; it stays cold.
    pub(crate) fn warm(&mut self, it: &Located, value: &[u8]) -> Result<usize, Full> {
        assert_eq!(
            it.header.state(),
            State::Cold,
            "only a cold value is missing"
        );
        let reference = self.records.warm(it.reference, it.header, value)?;
        self.refer(it, reference);
        Ok(self.records.size(self.records.header(reference)))
    }

    /// Drops the value of a hot record that is in the log; whether the value is in the log alone now. An intent stays: it is there for a moment, and whoever
    /// ends it has to know what it says.
    ///
    /// # Errors
    /// [`Full`]; it stays hot.
    pub(crate) fn cool(&mut self, it: &Located) -> Result<bool, Full> {
        match it.header.state() {
            State::Cold => return Ok(true),
            State::Tombstone => return Ok(false),
            State::Hot => {}
        }
        let is_intent = it.header.value_type() == ValueType::Intent;
        if is_intent
            || !self.records.have_offsets()
            || self.records.segment(it.header) == SegmentId(0)
        {
            return Ok(false);
        }
        let reference = self.records.cool(it.reference, it.header)?;
        self.refer(it, reference);
        Ok(true)
    }

    /// Notes that a record is at `to` in the log now.
    ///
    /// # Errors
    /// [`Full::Segments`]; nothing changed.
    pub(crate) fn relocate(&mut self, it: &Located, to: Position) -> Result<(), Full> {
        self.records.relocate(it.reference, it.header, to)
    }

    /// As [`Records::mark`].
    #[inline]
    pub(crate) fn mark(&mut self, reference: RecordRef, is_referenced: bool) {
        self.records.mark(reference, is_referenced);
    }

    /// As [`Records::mark_swept`].
    pub(crate) fn mark_swept(&mut self, reference: RecordRef, expiry: Expiry) {
        self.records.mark_swept(reference, expiry);
    }

    /// Takes the memory of a table that has no records.
    pub(crate) fn take_blocks(&mut self) -> impl Iterator<Item = Block> + use<> {
        assert!(self.removed.is_empty(), "records that are not counted out");
        let arena = self.records.take_arena();
        let pool = std::mem::replace(&mut self.pool, Pool::new());
        arena.into_blocks().chain(pool.into_blocks())
    }

    /// The memory of all records and indexes.
    pub(crate) fn into_blocks(self) -> impl Iterator<Item = Block> {
        let records = self.records.into_arena().into_blocks();
        records.chain(self.pool.into_blocks())
    }

    /// Where the index of a partition refers to `reference`, whose key has `hash`; `None` if it does not.
    fn place_of(
        &self,
        reference: RecordRef,
        partition: LocalPartition,
        hash: KeyHash,
    ) -> Option<Place> {
        let index = &self.partitions.get(partition.index())?.index;
        let is_it = |candidate| (candidate == reference).then_some(());
        let found = index.find(&self.pool, hash, is_it);
        found.map(|(place, ())| place)
    }

    /// A record is at `reference` now.
    #[inline]
    fn refer(&mut self, before: &Located, reference: RecordRef) {
        if reference != before.reference {
            self.refer_at(before.place, before.header.partition(), reference);
        }
    }

    #[inline]
    fn refer_at(&mut self, place: Place, partition: LocalPartition, reference: RecordRef) {
        let index = &self.partitions[partition.index()].index;
        index.replace(&mut self.pool, place, reference);
    }

    /// A record is about to be replaced or removed.
    #[inline]
    fn preserve(&self, snapshots: &mut Snapshots, hash: KeyHash, it: &Located) {
        if !snapshots.is_empty() {
            self.preserve_it(snapshots, hash, it);
        }
    }

    #[cold]
    fn preserve_it(&self, snapshots: &mut Snapshots, hash: KeyHash, it: &Located) {
        // Of what was removed before there is nothing to preserve.
        if let Some(found) = self.records.found(it.reference, it.header) {
            let key = self.records.key(it.reference, it.header);
            snapshots.preserve(it.header.partition(), hash, key, &found);
        }
    }

    /// What a reader sees of a record.
    #[inline]
    pub(crate) fn found(&self, it: &Located) -> Option<Found<'_>> {
        self.records.found(it.reference, it.header)
    }

    /// The op up to which a partition was cleared.
    #[inline]
    pub(crate) fn cleared(&self, partition: LocalPartition) -> Op {
        self.partition(partition).cleared
    }
}
