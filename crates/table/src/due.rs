//! Which keys' time has come.
//!
//! In:  the time. Out: keys to remove; the caller removes them by an operation, since replicas must
//!      agree on when a key is gone.
//!
//! Invariant: a key past its time is reported soon after, and again every second while it is there.

use crate::arena::RecordRef;
use crate::expiry::{Entry, RETRY_MS};
use crate::hash::KeyHash;
use crate::record::{self, State};
use crate::table::{LocalPartition, TableData};
use brickyard_types::{Op, UnixMillis};

/// A key whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired<'a> {
    /// Its partition.
    pub partition: LocalPartition,
    /// Its hash.
    pub hash: KeyHash,
    /// The key.
    pub key: &'a [u8],
    /// The op that wrote its record.
    pub op: Op,
    /// Its time.
    pub expires_at: UnixMillis,
}

/// Entries whose buckets are asked for before the first is looked up.
const ENTRIES_AHEAD: usize = 16;

impl TableData {
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
        mut on_expired: impl FnMut(Expired<'_>),
    ) -> bool {
        self.timers.advance(now);
        let mut left = entries_max;
        while left > 0 {
            let mut entries = [None; ENTRIES_AHEAD];
            let mut is_more = true;
            for slot in &mut entries[..left.min(ENTRIES_AHEAD)] {
                *slot = self.timers.take_due();
                let Some(entry) = slot else {
                    is_more = false;
                    break;
                };
                left -= 1;
                self.prefetch_entry(*entry);
            }
            for entry in entries.into_iter().flatten() {
                self.look_up_due(entry, now, &mut on_expired);
            }
            if !is_more {
                return false;
            }
        }
        true
    }

    fn look_up_due(
        &mut self,
        entry: Entry,
        now: UnixMillis,
        on_expired: &mut impl FnMut(Expired<'_>),
    ) {
        let partition = LocalPartition(entry.partition());
        let hash = entry.hash();
        let mut next: Option<UnixMillis> = None;
        // Keys with equal hashes may share an entry, so it stands for all of them.
        for reference in self.expiring_with(entry) {
            let bytes = self.arena.at(reference);
            let header = record::header(bytes);
            let expires_at = record::expiry(bytes).at();
            let again = if expires_at <= now {
                let key = self.layout.key(header, bytes);
                on_expired(Expired {
                    partition,
                    hash,
                    key,
                    op: header.op(),
                    expires_at,
                });
                UnixMillis(now.0 + RETRY_MS)
            } else {
                expires_at
            };
            next = Some(next.map_or(again, |next| next.min(again)));
        }
        if let Some(at) = next {
            self.timers.arm(entry, at);
        }
    }

    /// Takes up to `entries_max` entries of the timers, to drop those that have outlived their
    /// keys.
    pub(crate) fn sweep_timers(&mut self, entries_max: usize) {
        let mut entries = [None; ENTRIES_AHEAD];
        for slot in &mut entries[..entries_max.min(ENTRIES_AHEAD)] {
            *slot = self.timers.take_for_sweep();
            match slot {
                Some(entry) => self.prefetch_entry(*entry),
                None => break,
            }
        }
        for entry in entries.into_iter().flatten() {
            for reference in self.expiring_with(entry) {
                let expiry = record::expiry(self.arena.at(reference));
                let seen = self.timers.keep_swept(entry, expiry);
                record::write_expiry(self.arena.at_mut(reference), seen);
            }
        }
    }

    fn prefetch_entry(&self, entry: Entry) {
        if let Some(share) = self.partitions.get(entry.partition() as usize) {
            share.index.prefetch(&self.pool, entry.hash());
        }
    }

    /// The records with an expiry that `entry` stands for.
    fn expiring_with(&self, entry: Entry) -> Vec<RecordRef> {
        let mut references = Vec::new();
        let Some(share) = self.partitions.get(entry.partition() as usize) else {
            return references;
        };
        share.index.find(&self.pool, entry.hash(), |reference| {
            let bytes = self.arena.at(reference);
            let header = record::header(bytes);
            let has_timer = header.has_expiry()
                && header.state() != State::Tombstone
                && record::expiry(bytes).has_timer();
            if has_timer && self.hasher.hash(self.layout.key(header, bytes)) == entry.hash() {
                references.push(reference);
            }
            None::<()>
        });
        references
    }
}

#[cfg(test)]
#[path = "due_test.rs"]
mod due_test;
