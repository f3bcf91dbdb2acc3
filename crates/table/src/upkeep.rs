//! What a table does a little at a time: compaction, counting out, expiry, eviction, giving memory back.
//!
//! In:  writes, each of which does its share, and calls of a brick that has time. Out: keys to remove; the caller removes
//!      them by an operation, since replicas must agree on when a key is gone.
//!
//! What a write walks of the arena keeps up with what it leaves dead (`Arena::walked_per_written`).

use crate::arena::SHARED_RECORD_BYTES_MAX;
use crate::due::{Expired, due, sweep};
use crate::evict::{Victim, evict};
use crate::lazy_free::LazyFree;
use crate::table::TableData;
use brickyard_types::UnixMillis;

/// References of removed indexes that are counted out with each write.
const REMOVED_PER_WRITE: usize = 32;

/// Bytes of lazy frees that are given back in the time that a byte of records is walked in.
const FREED_PER_WALKED: usize = 4;

/// Entries that a sweep of the timers takes with each write.
const SWEPT_PER_WRITE: usize = 16;

/// A table without records that kept no more than this gives it back in one step.
const FREED_AT_ONCE_BYTES: usize = 8 << 20;

/// What a table without records may keep, so that one which has a key now and then does not ask the
/// operating system for memory each time.
const RELEASED_BYTES_MIN: usize = 1 << 20;

impl TableData {
    /// Ends the table: what it kept is given back by [`LazyFree::free`], little by little, where
    /// dropping it would do so at once.
    #[must_use]
    pub fn into_lazy_free(self) -> LazyFree {
        let mut lazy_free = self.lazy_free;
        lazy_free.take(self.contents.into_blocks(), self.timers);
        lazy_free
    }

    /// Whether [`Self::compact`] has memory to give back.
    #[must_use]
    pub const fn has_lazy_free(&self) -> bool {
        !self.lazy_free.is_empty()
    }

    /// Walks about `budget_bytes` of the arena to win dead space back, if there is enough of it,
    /// and returns whether there is more to do. For when the brick has nothing better to do; writes
    /// do enough of it by themselves to keep memory bounded.
    pub fn compact(&mut self, budget_bytes: usize) -> bool {
        if self.lazy_free.free(budget_bytes * FREED_PER_WALKED) {
            return true;
        }
        if self.contents.has_removed() {
            // Their records cannot be moved, since no index says where they are.
            self.contents.count_out(budget_bytes.div_ceil(256));
            self.release_if_empty();
            return self.has_lazy_free()
                || self.contents.has_removed()
                || self.contents.wants_compaction();
        }
        self.contents.compact(budget_bytes)
    }

    /// Calls `on_expired` with keys whose time is `now` or before, looking at about `entries_max`
    /// of the keys whose time may have come. Returns whether there is more to look at.
    ///
    /// The table knows the time from here alone: call it before the first writes of keys with an
    /// expiry, if only with 0 for `entries_max`, so that those stand in the right order from the
    /// start.
    ///
    /// Nothing is removed; a key that is still there a second later is reported again. A key whose
    /// time was set to an earlier one may be reported twice: the caller looks before it removes.
    pub fn due(
        &mut self,
        now: UnixMillis,
        entries_max: usize,
        on_expired: impl FnMut(Expired<'_>),
    ) -> bool {
        due(
            &self.contents,
            &mut self.timers,
            now,
            entries_max,
            on_expired,
        )
    }

    /// Moves the clock hand on by at most `records_max` records. Values of a table of medium `disk`
    /// that were not used lately are dropped from memory; of a table of medium `ram` such keys are
    /// reported to `on_victim`, for the caller to remove them by an operation.
    ///
    /// Returns the bytes that were freed, or would be by removing what was reported. A reported key
    /// that is still there a round later is reported again.
    pub fn evict_step(&mut self, records_max: usize, on_victim: impl FnMut(Victim<'_>)) -> usize {
        let freed = evict(&mut self.contents, records_max, on_victim);
        self.maintain(freed);
        freed
    }

    /// What every write does for the table besides: its share of the work that would otherwise pile
    /// up.
    #[inline]
    pub(crate) fn maintain(&mut self, written: usize) {
        self.bound_arena();
        if self.contents.has_removed() {
            self.contents.count_out(REMOVED_PER_WRITE);
        } else if self.contents.wants_compaction() {
            // A record with a chunk of its own leaves no dead space where others are.
            let walked_per_written = self.contents.records().arena().walked_per_written();
            self.compact(written.min(SHARED_RECORD_BYTES_MAX) * walked_per_written);
        }
        let expiring = self.contents.counts().expiring as usize;
        if self.timers.wants_sweep(expiring) {
            sweep(&mut self.contents, &mut self.timers, SWEPT_PER_WRITE);
        }
        let counts = self.contents.counts();
        if counts.keys == 0 && counts.parts == 0 {
            self.release_if_empty();
        }
    }

    /// What the table may take and indexes and timers do not is for records.
    #[inline]
    pub(crate) fn bound_arena(&mut self) {
        if self.memory_max < usize::MAX {
            let others = self.memory_used() - self.contents.records().arena().memory();
            self.contents
                .bound_records(self.memory_max.saturating_sub(others));
        }
    }

    /// Gives the memory of a table without records back, if it is worth while.
    fn release_if_empty(&mut self) {
        let has_records = self.contents.counts().records() > 0 || self.contents.has_removed();
        if has_records || self.has_lazy_free() || self.memory_used() < RELEASED_BYTES_MIN {
            return;
        }
        let blocks = self.contents.take_blocks();
        self.lazy_free.take(blocks, self.timers.take());
        self.lazy_free.free(FREED_AT_ONCE_BYTES);
    }
}
