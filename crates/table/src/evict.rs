//! Making room: a clock hand over the arena that finds records which were not used lately.
//!
//! In:  calls while the table is over its bound. Out: values dropped from memory (medium `disk`),
//!      or keys that the caller should remove (medium `ram`).
//!
//! The hand passes over the records in the order in which they lie. One that was read or written
//! since it last passed loses its mark and stays; one that was not goes. That is the clock
//! algorithm (Corbató, 1968): close to least recently used, for one bit a record and no list.

use crate::arena::{RecordRef, Walk, Walker};
use crate::hash::KeyHash;
use crate::record::{self, Header, Occupant, State};
use crate::table::{LocalPartition, TableData};
use brickyard_types::Op;

/// A record that was not used lately, of a table of medium `ram`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim<'a> {
    /// Its partition.
    pub partition: LocalPartition,
    /// Its key's hash.
    pub hash: KeyHash,
    /// Its key.
    pub key: &'a [u8],
    /// The op that wrote it.
    pub op: Op,
    /// Bytes that the table's memory falls by when it is removed.
    pub bytes: usize,
}

impl TableData {
    /// Moves the clock hand on by at most `records_max` records. Values of a table of medium `disk`
    /// that were not used lately are dropped from memory; of a table of medium `ram` such keys are
    /// reported to `on_victim`, for the caller to remove them by an operation.
    ///
    /// Returns the bytes that were freed, or would be by removing what was reported. A reported key
    /// that is still there a round later is reported again.
    pub fn evict_step(
        &mut self,
        records_max: usize,
        mut on_victim: impl FnMut(Victim<'_>),
    ) -> usize {
        let mut freed = 0;
        // No more than there are, so that none is reported twice at once.
        for _ in 0..records_max.min(self.sums.keys + self.sums.tombstones) {
            let Some((reference, header)) = self.next_under_hand() else {
                break;
            };
            let bytes = self.arena.at_mut(reference);
            if header.is_referenced() {
                record::mark_referenced(bytes, false);
                continue;
            }
            let hash = self.hasher.hash(self.layout.key(header, bytes));
            let partition = LocalPartition(u32::from(header.partition()));
            let Some(place) = self.find_reference(partition, hash, reference) else {
                continue;
            };
            if self.layout.has_offset() {
                let live_before = self.arena.live();
                // A record too large to shrink in place stays hot when there is no room beside it.
                if let Ok(true) = self.cool(partition, place, reference) {
                    freed += live_before - self.arena.live();
                }
            } else if header.state() == State::Hot {
                // It counts as used until the hand comes again, by when the removal has committed.
                record::mark_referenced(self.arena.at_mut(reference), true);
                let bytes = self.layout.size(header);
                freed += bytes;
                let key = self.layout.key(header, self.arena.at(reference));
                on_victim(Victim {
                    partition,
                    hash,
                    key,
                    op: header.op(),
                    bytes,
                });
            }
        }
        self.maintain(freed);
        freed
    }

    /// The next record in the arena's order, after the last the first; `None` if there is none.
    fn next_under_hand(&mut self) -> Option<(RecordRef, Header)> {
        let begin = Walk {
            chunk: 0,
            offset: 0,
        };
        let mut walk = self.arena.walk(Walker::Clock).unwrap_or(begin);
        // Twice to the end: once with what is left of this round, once from the start.
        let mut rounds = 0;
        while rounds < 2 {
            match self.arena.occupant(walk) {
                Some((_, Occupant::Dead(bytes))) => walk.offset += bytes,
                Some((reference, Occupant::Record(header))) => {
                    walk.offset += self.layout.size(header);
                    self.arena.set_walk(Walker::Clock, Some(walk));
                    return Some((reference, header));
                }
                None => {
                    let next = self.arena.chunk_from(walk.chunk + 1);
                    rounds += usize::from(next.is_none());
                    walk = Walk {
                        chunk: next.unwrap_or(0),
                        offset: 0,
                    };
                }
            }
        }
        None
    }
}

#[cfg(test)]
#[path = "evict_test.rs"]
mod evict_test;
