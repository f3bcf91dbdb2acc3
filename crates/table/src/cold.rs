//! Values that are in the log alone: dropping them from memory and bringing them back.
//!
//! In:  keys of a table of medium `disk`. Out: records whose value is hot or cold.
//!
//! Invariant: only a value that has a position in the log is dropped; a hot record of a table of
//! medium `disk` keeps its position, so that its value can be dropped any time.

use crate::arena::RecordRef;
use crate::full::Full;
use crate::hash::KeyHash;
use crate::index::Place;
use crate::record::{self, Header, State};
use crate::table::{LocalPartition, TableData};
use brickyard_types::{Op, SegmentId};

impl TableData {
    /// Gives the cold record of `key` its value back, if it is still the one with `op`; returns
    /// whether the value is in memory now.
    ///
    /// # Errors
    /// [`Full`]; the record stays cold.
    pub fn warm(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        op: Op,
        value: &[u8],
    ) -> Result<bool, Full> {
        let Some((place, (reference, before))) = self.find(partition, hash, key) else {
            return Ok(false);
        };
        if before.op() != op || before.value_len() != value.len() {
            return Ok(false);
        }
        match before.state() {
            State::Tombstone => return Ok(false),
            State::Hot => return Ok(true),
            State::Cold => {}
        }
        let header = before.with_state(State::Hot).with_referenced(true);
        let value_at = self.layout.value_at(header);
        let size = self.layout.size(header);
        let target = self.reshape(partition, place, reference, before, header, value_at)?;
        let bytes = self.arena.at_mut(target);
        record::write_header(bytes, header);
        bytes[value_at..value_at + value.len()].copy_from_slice(value);
        self.maintain(size);
        Ok(true)
    }

    /// Drops the value of the hot record of `key` from memory, if it is the one with `op` and is in
    /// the log; returns whether the value is in the log alone now.
    ///
    /// # Errors
    /// [`Full`]; the record stays hot. Records larger than 512 KiB need a little room elsewhere
    /// first.
    pub fn make_cold(
        &mut self,
        partition: LocalPartition,
        hash: KeyHash,
        key: &[u8],
        op: Op,
    ) -> Result<bool, Full> {
        let Some((place, (reference, header))) = self.find(partition, hash, key) else {
            return Ok(false);
        };
        if header.op() != op {
            return Ok(false);
        }
        self.cool(partition, place, reference)
    }

    /// Drops the value of a hot record that is in the log.
    pub(crate) fn cool(
        &mut self,
        partition: LocalPartition,
        place: Place,
        reference: RecordRef,
    ) -> Result<bool, Full> {
        let before = record::header(self.arena.at(reference));
        match before.state() {
            State::Cold => return Ok(true),
            State::Tombstone => return Ok(false),
            State::Hot => {}
        }
        if !self.layout.has_offset() || self.segments.id(before.segment()) == SegmentId(0) {
            return Ok(false);
        }
        let header = before.with_state(State::Cold).with_referenced(false);
        let keep = self.layout.value_at(header);
        let target = self.reshape(partition, place, reference, before, header, keep)?;
        record::write_header(self.arena.at_mut(target), header);
        Ok(true)
    }

    /// Gives the record at `reference` the size that `after` wants, here or elsewhere; its first
    /// `keep` bytes go with it. The caller writes `after` and what comes after `keep`.
    pub(crate) fn reshape(
        &mut self,
        partition: LocalPartition,
        place: Place,
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
        let index = &mut self.partitions[partition.index()].index;
        index.replace(&mut self.pool, place, target);
        self.arena.free(reference, size_before);
        Ok(target)
    }
}
