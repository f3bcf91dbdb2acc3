//! The records of a table: their bytes in memory, and what the log's segments have of them.
//!
//! In:  [`NewRecord`]s. Out: a [`RecordRef`] for each, and what is read there.
//!
//! Invariants:
//! - A [`RecordRef`] that was returned and not removed leads to its record.
//! - Every record is counted in its segment, once: the live bytes of a segment are those of the records here.
//!
//! Not here: which key leads to which record (`contents`).

use crate::arena::{Arena, RecordRef, Walk, Walker};
use crate::found::{Found, ValueRef};
use crate::full::Full;
use crate::hash::{KeyHash, KeyHasher};
use crate::id::LocalPartition;
use crate::index::Hashes;
use crate::partition::{Counts, log_len};
use crate::record::{self, Expiry, Header, Layout, NewRecord, Occupant, State};
use crate::segments::{Replaced, Segments};
use brickyard_types::{Medium, Position, SegmentId};

/// See the module.
#[derive(Debug)]
pub(crate) struct Records {
    layout: Layout,
    hasher: KeyHasher,
    arena: Arena,
    segments: Segments,
}

/// What the index asks about records.
impl Hashes for Records {
    fn hash(&self, reference: RecordRef) -> KeyHash {
        let bytes = self.arena.at(reference);
        self.hasher
            .hash(self.layout.key(record::header(bytes), bytes))
    }

    fn prefetch(&self, reference: RecordRef) {
        self.arena.prefetch_header(reference);
    }
}

impl Records {
    pub(crate) fn new(seed: u64, medium: Medium) -> Self {
        Self {
            layout: Layout::new(medium),
            hasher: KeyHasher::new(seed),
            arena: Arena::new(),
            segments: Segments::new(),
        }
    }

    /// The hash of a key, or of any bytes.
    #[inline]
    pub(crate) fn hash_of(&self, key: &[u8]) -> KeyHash {
        self.hasher.hash(key)
    }

    #[inline]
    pub(crate) fn header(&self, reference: RecordRef) -> Header {
        record::header(self.arena.at(reference))
    }

    /// The header of the record, if it is that of `key`.
    #[inline]
    pub(crate) fn header_of(&self, reference: RecordRef, key: &[u8]) -> Option<Header> {
        let bytes = self.arena.at(reference);
        let header = record::header(bytes);
        self.layout.is_key(header, bytes, key).then_some(header)
    }

    #[inline]
    pub(crate) fn key(&self, reference: RecordRef, header: Header) -> &[u8] {
        self.layout.key(header, self.arena.at(reference))
    }

    #[inline]
    pub(crate) fn expiry(&self, reference: RecordRef, header: Header) -> Option<Expiry> {
        let has_expiry = header.has_expiry();
        has_expiry.then(|| record::expiry(self.arena.at(reference)))
    }

    /// What is counted for the record.
    #[inline]
    pub(crate) fn counts(&self, reference: RecordRef, header: Header) -> Counts {
        let name = self.key(reference, header);
        Counts::of(header, self.expiry(reference, header), name)
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
            value_type: header.value_type(),
            position: Position {
                segment: self.segments.id(header.segment()),
                offset: self.layout.offset(header, bytes),
            },
        })
    }

    /// Bytes of memory of a record with this header.
    #[inline]
    pub(crate) fn size(&self, header: Header) -> usize {
        self.layout.size(header)
    }

    /// Whether records know their offset in the log, so that values may be left there.
    #[inline]
    pub(crate) fn have_offsets(&self) -> bool {
        self.layout.has_offset()
    }

    /// The segment that the record with this header is in.
    #[inline]
    pub(crate) fn segment(&self, header: Header) -> SegmentId {
        self.segments.id(header.segment())
    }

    /// The segments with live records, and their bytes.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (SegmentId, u64)> + '_ {
        self.segments.live()
    }

    /// Asks the processor for the record.
    #[inline]
    pub(crate) fn prefetch(&self, reference: RecordRef) {
        self.arena.prefetch(reference);
    }

    /// Asks the processor for the record's header.
    #[inline]
    pub(crate) fn prefetch_header(&self, reference: RecordRef) {
        self.arena.prefetch_header(reference);
    }

    /// The memory of the records, to be measured.
    #[inline]
    pub(crate) const fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Adds a record.
    ///
    /// # Errors
    /// [`Full`]; nothing changed.
    #[inline]
    pub(crate) fn add(&mut self, new: &NewRecord<'_>) -> Result<RecordRef, Full> {
        let header = self.header_in_segment(new)?;
        let target = self.arena.allocate(self.layout.size(header))?;
        self.write(target, header, new);
        Ok(target)
    }

    /// Puts a record in place of another one, where that is or elsewhere; returns its place, and what the log lost.
    ///
    /// # Errors
    /// [`Full`]; nothing changed.
    #[inline]
    pub(crate) fn replace(
        &mut self,
        reference: RecordRef,
        before: Header,
        new: &NewRecord<'_>,
    ) -> Result<(RecordRef, Replaced), Full> {
        let header = self.header_in_segment(new)?;
        let (size_before, size) = (self.layout.size(before), self.layout.size(header));
        let target = if self.arena.fits(reference, size_before, size) {
            self.arena.resize(reference, size_before, size);
            reference
        } else {
            let target = self.arena.allocate(size)?;
            self.arena.free(reference, size_before);
            target
        };
        let replaced = self.lose(before);
        self.write(target, header, new);
        Ok((target, replaced))
    }

    /// Removes a record; what the log lost.
    #[inline]
    pub(crate) fn remove(&mut self, reference: RecordRef, header: Header) -> Replaced {
        let replaced = self.lose(header);
        self.arena.free(reference, self.layout.size(header));
        replaced
    }

    /// Gives a cold record its value; returns its place.
    ///
    /// # Errors
    /// [`Full`]; it stays cold.
    pub(crate) fn warm(
        &mut self,
        reference: RecordRef,
        before: Header,
        value: &[u8],
    ) -> Result<RecordRef, Full> {
        assert_eq!(before.value_len(), value.len(), "another record's value");
        let header = before.with_state(State::Hot).with_referenced(true);
        let value_at = self.layout.value_at(header);
        let target = self.reshape(reference, before, header, value_at)?;
        let bytes = self.arena.at_mut(target);
        record::write_header(bytes, header);
        bytes[value_at..value_at + value.len()].copy_from_slice(value);
        Ok(target)
    }

    /// Drops the value of a hot record, which the log has; returns its place.
    ///
    /// # Errors
    /// [`Full`]; it stays hot.
    pub(crate) fn cool(&mut self, reference: RecordRef, before: Header) -> Result<RecordRef, Full> {
        assert_ne!(
            self.segment(before),
            SegmentId(0),
            "a value that is nowhere else"
        );
        let header = before.with_state(State::Cold).with_referenced(false);
        let keep = self.layout.value_at(header);
        let target = self.reshape(reference, before, header, keep)?;
        record::write_header(self.arena.at_mut(target), header);
        Ok(target)
    }

    /// Notes that a record is at `to` in the log now.
    ///
    /// # Errors
    /// [`Full::Segments`]; nothing changed.
    pub(crate) fn relocate(
        &mut self,
        reference: RecordRef,
        header: Header,
        to: Position,
    ) -> Result<(), Full> {
        let number = self.segments.number(to.segment)?;
        let log_len = log_len(header);
        self.segments.add(number, log_len);
        self.segments.subtract(header.segment(), log_len);
        let bytes = self.arena.at_mut(reference);
        record::write_header(bytes, header.with_segment(number));
        self.layout.write_offset(header, bytes, to.offset);
        Ok(())
    }

    /// Moves a record to where new ones go; returns its place.
    ///
    /// # Errors
    /// [`Full`]; it stays where it is.
    pub(crate) fn move_away(&mut self, from: RecordRef, header: Header) -> Result<RecordRef, Full> {
        let size = self.layout.size(header);
        let to = self.arena.allocate(size)?;
        assert_ne!(
            from.chunk(),
            to.chunk(),
            "a record was moved within its chunk"
        );
        self.arena.copy(from, to, size);
        self.arena.free(from, size);
        Ok(to)
    }

    /// Sets or clears the record's mark of recent use.
    #[inline]
    pub(crate) fn mark(&mut self, reference: RecordRef, is_referenced: bool) {
        record::mark_referenced(self.arena.at_mut(reference), is_referenced);
    }

    /// Changes which sweep of the timers last saw a record that has an expiry.
    pub(crate) fn mark_swept(&mut self, reference: RecordRef, expiry: Expiry) {
        let bytes = self.arena.at_mut(reference);
        assert_eq!(
            record::expiry(bytes).at(),
            expiry.at(),
            "a sweep changes no time"
        );
        record::write_expiry(bytes, expiry);
    }

    /// Gives a record to another partition.
    pub(crate) fn set_partition(
        &mut self,
        reference: RecordRef,
        header: Header,
        partition: LocalPartition,
    ) {
        let header = header.with_partition(partition);
        record::write_header(self.arena.at_mut(reference), header);
    }

    /// The next record of the chunk in which `walk` is, which is put behind it; `None` at the chunk's end.
    #[inline]
    pub(crate) fn next(&self, walk: &mut Walk) -> Option<(RecordRef, Header)> {
        loop {
            match self.arena.occupant(*walk)? {
                (_, Occupant::Dead(bytes)) => walk.offset += bytes,
                (reference, Occupant::Record(header)) => {
                    walk.offset += self.layout.size(header);
                    return Some((reference, header));
                }
            }
        }
    }

    /// Puts `walker` somewhere, or nowhere.
    pub(crate) fn set_walk(&mut self, walker: Walker, walk: Option<Walk>) {
        self.arena.set_walk(walker, walk);
    }

    /// As [`Arena::set_bound`].
    pub(crate) fn bound(&mut self, bytes: usize) {
        self.arena.set_bound(bytes);
    }

    /// As [`Arena::begin_compaction`].
    pub(crate) fn begin_compaction(&mut self) -> Option<Walk> {
        self.arena.begin_compaction()
    }

    /// Takes the memory of a table that has no records.
    pub(crate) fn take_arena(&mut self) -> Arena {
        assert_eq!(self.arena.live(), 0, "records that are not counted");
        std::mem::replace(&mut self.arena, Arena::new())
    }

    /// The memory of all records.
    pub(crate) fn into_arena(self) -> Arena {
        self.arena
    }

    #[inline]
    fn header_in_segment(&mut self, new: &NewRecord<'_>) -> Result<Header, Full> {
        let segment = self.segments.number(new.position.segment)?;
        Ok(new.header.with_segment(segment))
    }

    #[inline]
    fn write(&mut self, target: RecordRef, header: Header, new: &NewRecord<'_>) {
        self.layout.write(self.arena.at_mut(target), header, new);
        self.segments.add(header.segment(), log_len(header));
    }

    /// Takes a record out of what its segment has.
    #[inline]
    fn lose(&mut self, header: Header) -> Replaced {
        let log_len = log_len(header);
        let segment = self.segments.id(header.segment());
        self.segments.subtract(header.segment(), log_len);
        Replaced { segment, log_len }
    }

    /// Gives the record at `reference` the size that `after` wants, here or elsewhere; its first
    /// `keep` bytes go with it. The caller writes `after` and what comes after `keep`.
    fn reshape(
        &mut self,
        reference: RecordRef,
        before: Header,
        after: Header,
        keep: usize,
    ) -> Result<RecordRef, Full> {
        let size_before = self.layout.size(before);
        let size = self.layout.size(after);
        if self.arena.fits(reference, size_before, size) {
            self.arena.resize(reference, size_before, size);
            return Ok(reference);
        }
        let target = self.arena.allocate(size)?;
        self.arena.copy(reference, target, keep);
        self.arena.free(reference, size_before);
        Ok(target)
    }
}
