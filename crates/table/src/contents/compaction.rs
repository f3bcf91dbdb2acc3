//! Walking the arena: to win dead space back, and to find what was not used lately.
//!
//! In:  a budget in bytes. Out: moved records, and sooner or later a chunk given back; the record under the clock hand.
//!
//! The chunk with the largest share of dead bytes is emptied by moving its records to the current chunk. That share is
//! at least the average.
//!
//! Source: the cleaner of log-structured file systems (Rosenblum & Ousterhout, 1992), greedy
//! variant.

use super::Contents;
use crate::arena::{RecordRef, Walk, Walker};
use crate::hash::KeyHash;
use crate::record::Header;

/// Records whose buckets are asked for before the first of them is moved.
const RECORDS_AHEAD: usize = 8;

impl Contents {
    /// Whether there is enough dead space to win back.
    #[inline]
    pub(crate) fn wants_compaction(&self) -> bool {
        self.records.arena().wants_compaction()
    }

    /// Walks about `budget_bytes` of the arena to win dead space back, if there is enough of it; whether there is more
    /// to do. Nothing may be set aside.
    pub(crate) fn compact(&mut self, budget_bytes: usize) -> bool {
        assert!(self.removed.is_empty(), "no index says where records are");
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
        while walked < budget_bytes && self.removed.is_empty() {
            let under_way = self.records.arena().walk(Walker::Compaction);
            let Some(walk) = under_way.or_else(|| self.records.begin_compaction()) else {
                return;
            };
            walked += self.compact_some(walk).unwrap_or(budget_bytes);
        }
    }

    /// The next record in the arena's order, after the last the first; `None` if there is none.
    pub(crate) fn next_under_hand(&mut self) -> Option<(RecordRef, Header)> {
        let begin = Walk {
            chunk: 0,
            offset: 0,
        };
        let mut walk = self.records.arena().walk(Walker::Clock).unwrap_or(begin);
        // Twice to the end: once with what is left of this round, once from the start.
        let mut rounds = 0;
        while rounds < 2 {
            if let Some(record) = self.records.next(&mut walk) {
                self.records.set_walk(Walker::Clock, Some(walk));
                return Some(record);
            }
            let next = self.records.arena().chunk_from(walk.chunk + 1);
            rounds += usize::from(next.is_none());
            walk = Walk {
                chunk: next.unwrap_or(0),
                offset: 0,
            };
        }
        None
    }

    /// Where compaction is, or begins; `None` if it is not worth while.
    fn compaction_walk(&mut self) -> Option<Walk> {
        if let Some(walk) = self.records.arena().walk(Walker::Compaction) {
            return Some(walk);
        }
        if !self.wants_compaction() {
            return None;
        }
        self.records.begin_compaction()
    }

    /// Moves the next records; returns how many bytes were walked, or `None` if there is no room to
    /// move them to.
    fn compact_some(&mut self, mut walk: Walk) -> Option<usize> {
        let mut moving: [Option<(RecordRef, Header, KeyHash)>; RECORDS_AHEAD] =
            [None; RECORDS_AHEAD];
        let begin = walk.offset;
        for slot in &mut moving {
            let Some((reference, header)) = self.records.next(&mut walk) else {
                break;
            };
            let hash = self.records.hash_of(self.records.key(reference, header));
            self.prefetch_bucket(header.partition(), hash);
            *slot = Some((reference, header, hash));
        }
        let is_end = moving.last().is_some_and(Option::is_none);
        // Before the moves, the last of which gives the chunk back and ends the walk.
        self.records.set_walk(Walker::Compaction, Some(walk));
        for (reference, header, hash) in moving.into_iter().flatten() {
            if self.move_record(reference, header, hash).is_none() {
                let walk = Walk {
                    offset: reference.offset(),
                    ..walk
                };
                self.records.set_walk(Walker::Compaction, Some(walk));
                return None;
            }
        }
        if is_end {
            assert_eq!(
                self.records.arena().walk(Walker::Compaction),
                None,
                "a record was left behind"
            );
        }
        Some(walk.offset - begin)
    }

    fn move_record(&mut self, from: RecordRef, header: Header, hash: KeyHash) -> Option<()> {
        let place = self.place_of(from, header.partition(), hash);
        assert!(place.is_some(), "no index refers to record {from:?}");
        let to = self.records.move_away(from, header).ok()?;
        self.refer_at(place?, header.partition(), to);
        Some(())
    }
}

#[cfg(test)]
#[path = "compaction_test.rs"]
mod compaction_test;
