//! Compaction: winning back dead space in the arena, a few records at a time.
//!
//! In:  a budget in bytes. Out: moved records, and sooner or later a chunk given back.
//!
//! The chunk with the fewest live bytes is emptied by moving its records to the current chunk. With
//! deaths spread at random that chunk has at least the average share of dead bytes, so that walking
//! [`WALKED_PER_WRITTEN`] bytes for each byte written keeps up with a dead share of one in eight.
//!
//! Source: the cleaner of log-structured file systems (Rosenblum & Ousterhout, 1992), greedy
//! variant.

use crate::arena::{CHUNK_BYTES, RecordRef, SHARED_RECORD_BYTES_MAX, Walk, Walker};
use crate::hash::KeyHash;
use crate::leftovers::Leftovers;
use crate::record::{Header, Occupant};
use crate::table::{LocalPartition, TableData};

/// Dead bytes are worth compacting when they are more than this share of the live ones, and half a
/// chunk.
const DEAD_SHARE: usize = 8;

/// Bytes that are walked for each byte that a write needs.
const WALKED_PER_WRITTEN: usize = 9;

/// Records whose buckets are asked for before the first of them is moved.
const RECORDS_AHEAD: usize = 8;

/// References of removed indexes that are counted out with each write.
const REMOVED_PER_WRITE: usize = 32;

/// Bytes of leftovers that are given back in the time that a byte of records is walked in.
const FREED_PER_WALKED: usize = 4;

/// Entries that a sweep of the timers takes with each write.
const SWEPT_PER_WRITE: usize = 16;

impl TableData {
    /// Ends the table: what it kept is given back by [`Leftovers::free`], little by little, where
    /// dropping it would do so at once.
    #[must_use]
    pub fn into_leftovers(self) -> Leftovers {
        let mut leftovers = self.leftovers;
        leftovers.take(self.arena, self.pool, self.timers);
        leftovers
    }

    /// Whether [`Self::compact`] has memory to give back.
    #[must_use]
    pub const fn has_leftovers(&self) -> bool {
        !self.leftovers.is_empty()
    }

    /// What every write does for the table besides: its share of the work that would otherwise pile
    /// up.
    #[inline]
    pub(crate) fn maintain(&mut self, written: usize) {
        if !self.removed_indexes.is_empty() {
            self.count_out(REMOVED_PER_WRITE);
        } else if self.wants_compaction() {
            // A record with a chunk of its own leaves no dead space where others are.
            self.compact(written.min(SHARED_RECORD_BYTES_MAX) * WALKED_PER_WRITTEN);
        }
        if self.timers.wants_sweep(self.sums.expiring) {
            self.sweep_timers(SWEPT_PER_WRITE);
        }
        if self.sums.keys == 0 {
            self.release_if_empty();
        }
    }

    /// Walks about `budget_bytes` of the arena to win dead space back, if there is enough of it,
    /// and returns whether there is more to do. For when the brick has nothing better to do; writes
    /// do enough of it by themselves to keep memory bounded.
    pub fn compact(&mut self, budget_bytes: usize) -> bool {
        if self.leftovers.free(budget_bytes * FREED_PER_WALKED) {
            return true;
        }
        if !self.removed_indexes.is_empty() {
            // Their records cannot be moved, since no index says where they are.
            self.count_out(budget_bytes.div_ceil(256));
            self.release_if_empty();
            return self.has_leftovers()
                || !self.removed_indexes.is_empty()
                || self.wants_compaction();
        }
        let mut walked = 0;
        while walked < budget_bytes {
            let Some(walk) = self.compaction_walk() else {
                return false;
            };
            match self.compact_some(walk) {
                Some(bytes) => walked += bytes,
                None => return false,
            }
        }
        self.wants_compaction()
    }

    /// Walks about `budget_bytes` however little there is to win.
    #[cfg(test)]
    pub(crate) fn compact_anyway(&mut self, budget_bytes: usize) {
        let mut walked = 0;
        while walked < budget_bytes && self.removed_indexes.is_empty() {
            let under_way = self.arena.walk(Walker::Compaction);
            let Some(walk) = under_way.or_else(|| self.arena.begin_compaction()) else {
                return;
            };
            walked += self.compact_some(walk).unwrap_or(budget_bytes);
        }
    }

    fn wants_compaction(&self) -> bool {
        self.arena.dead() > self.arena.live() / DEAD_SHARE + CHUNK_BYTES / 2
    }

    /// Where compaction is, or begins; `None` if it is not worth while.
    fn compaction_walk(&mut self) -> Option<Walk> {
        if let Some(walk) = self.arena.walk(Walker::Compaction) {
            return Some(walk);
        }
        if !self.wants_compaction() {
            return None;
        }
        self.arena.begin_compaction()
    }

    /// Moves the next records; returns how many bytes were walked, or `None` if there is no room to
    /// move them to.
    fn compact_some(&mut self, mut walk: Walk) -> Option<usize> {
        let mut moving: [Option<(RecordRef, Header, KeyHash)>; RECORDS_AHEAD] =
            [None; RECORDS_AHEAD];
        let begin = walk.offset;
        for slot in &mut moving {
            // Dead space first, so that no slot is spent on it.
            let record = loop {
                match self.arena.occupant(walk) {
                    Some((_, Occupant::Dead(bytes))) => walk.offset += bytes,
                    Some((reference, Occupant::Record(header))) => break Some((reference, header)),
                    None => break None,
                }
            };
            let Some((reference, header)) = record else {
                break;
            };
            walk.offset += self.layout.size(header);
            let hash = self
                .hasher
                .hash(self.layout.key(header, self.arena.at(reference)));
            self.prefetch_bucket(LocalPartition(u32::from(header.partition())), hash);
            *slot = Some((reference, header, hash));
        }
        let is_end = moving.last().is_some_and(Option::is_none);
        // Before the moves, the last of which gives the chunk back and ends the walk.
        self.arena.set_walk(Walker::Compaction, Some(walk));
        for (reference, header, hash) in moving.into_iter().flatten() {
            if self.move_record(reference, header, hash).is_none() {
                let walk = Walk {
                    offset: reference.offset(),
                    ..walk
                };
                self.arena.set_walk(Walker::Compaction, Some(walk));
                return None;
            }
        }
        if is_end {
            debug_assert_eq!(
                self.arena.walk(Walker::Compaction),
                None,
                "a record was left behind"
            );
            self.arena.set_walk(Walker::Compaction, None);
        }
        Some(walk.offset - begin)
    }

    fn move_record(&mut self, from: RecordRef, header: Header, hash: KeyHash) -> Option<()> {
        let partition = LocalPartition(u32::from(header.partition()));
        let size = self.layout.size(header);
        let place = self.find_reference(partition, hash, from);
        debug_assert!(place.is_some(), "a record that no index refers to");
        if let Some(place) = place {
            let to = self.arena.allocate(size).ok()?;
            self.arena.copy(from, to, size);
            let index = &mut self.partitions[partition.index()].index;
            index.replace(&mut self.pool, place, to);
        }
        self.arena.free(from, size);
        Some(())
    }
}

#[cfg(test)]
#[path = "compact_test.rs"]
mod compact_test;
