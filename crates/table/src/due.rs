//! Which keys' time has come.
//!
//! In:  the time. Out: keys to remove; the caller removes them by an operation, since replicas must
//!      agree on when a key is gone.
//!
//! Invariant: a key past its time is reported soon after, and again every second while it is there.

use crate::arena::RecordRef;
use crate::contents::Contents;
use crate::expiry::{Entry, RETRY_MS, Timers};
use crate::hash::KeyHash;
use crate::id::LocalPartition;
use crate::record::Expiry;
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

/// As [`crate::TableData::due`].
pub(crate) fn due(
    contents: &Contents,
    timers: &mut Timers,
    now: UnixMillis,
    entries_max: usize,
    mut on_expired: impl FnMut(Expired<'_>),
) -> bool {
    timers.advance(now);
    let mut left = entries_max;
    while left > 0 {
        let mut entries = [None; ENTRIES_AHEAD];
        let mut is_more = true;
        for slot in &mut entries[..left.min(ENTRIES_AHEAD)] {
            *slot = timers.take_due();
            let Some(entry) = slot else {
                is_more = false;
                break;
            };
            left -= 1;
            contents.prefetch_bucket(LocalPartition(entry.partition()), entry.hash());
        }
        for entry in entries.into_iter().flatten() {
            if let Some(at) = look_up(contents, entry, now, &mut on_expired) {
                timers.arm(entry, at);
            }
        }
        if !is_more {
            return false;
        }
    }
    true
}

/// Takes up to `entries_max` entries of the timers, to drop those that have outlived their
/// keys.
pub(crate) fn sweep(contents: &mut Contents, timers: &mut Timers, entries_max: usize) {
    let mut entries = [None; ENTRIES_AHEAD];
    for slot in &mut entries[..entries_max.min(ENTRIES_AHEAD)] {
        *slot = timers.take_for_sweep();
        match slot {
            Some(entry) => {
                contents.prefetch_bucket(LocalPartition(entry.partition()), entry.hash());
            }
            None => break,
        }
    }
    for entry in entries.into_iter().flatten() {
        for (reference, expiry) in expiring_with(contents, entry) {
            let seen = timers.keep_swept(entry, expiry);
            contents.mark_swept(reference, seen);
        }
    }
}

/// Reports the keys of an entry whose time has come; when to look at it again, if it has any left.
fn look_up(
    contents: &Contents,
    entry: Entry,
    now: UnixMillis,
    on_expired: &mut impl FnMut(Expired<'_>),
) -> Option<UnixMillis> {
    let mut next: Option<UnixMillis> = None;
    // Keys with equal hashes may share an entry, so it stands for all of them.
    for (reference, expiry) in expiring_with(contents, entry) {
        let expires_at = expiry.at();
        let again = if expires_at <= now {
            let header = contents.records().header(reference);
            on_expired(Expired {
                partition: LocalPartition(entry.partition()),
                hash: entry.hash(),
                key: contents.records().key(reference, header),
                op: header.op(),
                expires_at,
            });
            UnixMillis(now.0 + RETRY_MS)
        } else {
            expires_at
        };
        next = Some(next.map_or(again, |next| next.min(again)));
    }
    next
}

/// The records that `entry` stands for, which have an expiry with a timer.
fn expiring_with(contents: &Contents, entry: Entry) -> Vec<(RecordRef, Expiry)> {
    let records = contents.records();
    let mut expiring = Vec::new();
    let partition = LocalPartition(entry.partition());
    contents.candidates(partition, entry.hash(), |reference| {
        let header = records.header(reference);
        let expiry = records.expiry(reference, header);
        if let Some(expiry) = expiry.filter(|it| it.has_timer())
            && records.hash_of(records.key(reference, header)) == entry.hash()
        {
            expiring.push((reference, expiry));
        }
    });
    expiring
}

#[cfg(test)]
#[path = "due_test.rs"]
mod due_test;
