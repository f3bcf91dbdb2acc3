//! Watched keys: what `WATCH` remembers of a key, and whether it has changed by the time of `EXEC`.
//!
//! In:  keys that do not exist and are watched, removals of keys. Out: whether such a key was made and
//!      removed again.
//!
//! A key that exists is remembered by the op that wrote it. One that does not exist has no op, and if it was
//! made and removed in between there is again none. So the brick that orders the key's operations notes
//! removals of the keys that are watched like that; making one needs no note, since then it exists, or its
//! removal is noted.
//!
//! Invariants:
//! - A change is never missed: where too many keys are watched, or one for too long, any removal counts as one
//!   of that key; what another brick noted, or this one in another view or life, counts as a change.
//! - Removals cost next to nothing while no such key is watched.

use crate::log::KeyRef;
use crate::version::NegativeVersion;
use brickyard_table::{KeyHash, LocalPartition};
use brickyard_types::{Instant, View};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Bytes of names that are kept; past that the oldest are forgotten.
const NAME_BYTES_MAX: usize = 4 << 20;

/// Bytes that a key costs besides its name, about.
const KEY_BYTES: usize = 128;

/// How long a key is kept after it was last watched: who watches it is not told apart, and may be gone.
const KEPT: Duration = Duration::from_secs(600);

/// A key that is watched and did not exist.
#[derive(Debug)]
struct Watched {
    name: Box<[u8]>,
    /// The number of its last removal.
    removed: u64,
    since: Instant,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct NegativeVersions {
    /// Drawn for this life of the brick.
    life: u64,
    /// Removals of any key, counted.
    removals: u64,
    keys: BTreeMap<KeyRef, Watched>,
    /// By age, those that were watched again more than once.
    ages: VecDeque<(Instant, KeyRef)>,
    bytes: usize,
}

impl NegativeVersions {
    pub(crate) fn new(life: u64) -> Self {
        Self {
            life,
            removals: 0,
            keys: BTreeMap::new(),
            ages: VecDeque::new(),
            bytes: 0,
        }
    }

    /// The key does not exist now, and is watched.
    pub(crate) fn watch(
        &mut self,
        key: KeyRef,
        name: &[u8],
        view: View,
        now: Instant,
    ) -> NegativeVersion {
        match self.keys.get_mut(&key) {
            // Another key with its hash: what is removed of either counts for both.
            Some(watched) if *watched.name != *name => {
                self.removals += 1;
                watched.removed = self.removals;
                self.bytes = self.bytes - watched.name.len() + name.len();
                watched.name = name.into();
            }
            Some(_) => {}
            None => {
                let watched = Watched {
                    name: name.into(),
                    removed: 0,
                    since: now,
                };
                self.keys.insert(key, watched);
                self.bytes += name.len() + KEY_BYTES;
            }
        }
        if let Some(watched) = self.keys.get_mut(&key) {
            let is_noted = watched.since == now && self.ages.back() == Some(&(now, key));
            watched.since = now;
            if !is_noted {
                self.ages.push_back((now, key));
                self.bytes += size_of::<(Instant, KeyRef)>();
            }
        }
        while self.bytes > NAME_BYTES_MAX {
            self.forget_first();
        }
        assert!(
            !self.ages.is_empty() || self.keys.is_empty(),
            "{} keys are watched and will never be forgotten",
            self.keys.len()
        );
        NegativeVersion {
            life: self.life,
            view,
            removals: self.removals,
        }
    }

    /// Whether a key that does not exist may have existed since.
    pub(crate) fn has_changed(&self, key: &KeyRef, since: NegativeVersion, view: View) -> bool {
        if since.life != self.life || since.view != view {
            return true;
        }
        let removed = self.keys.get(key).map_or(self.removals, |it| it.removed);
        assert!(
            removed <= self.removals,
            "removal {removed} of {} is yet to come",
            self.removals
        );
        removed > since.removals
    }

    /// A removal of the key is being prepared.
    #[inline]
    pub(crate) fn note_removal(&mut self, key: &KeyRef) {
        self.removals += 1;
        if !self.keys.is_empty()
            && let Some(watched) = self.keys.get_mut(key)
        {
            watched.removed = self.removals;
        }
    }

    /// All keys of a partition are about to be removed; `exists` says which of the watched ones there are.
    pub(crate) fn note_clear(
        &mut self,
        table: u32,
        partition: LocalPartition,
        exists: impl Fn(&KeyRef, &[u8]) -> bool,
    ) {
        self.removals += 1;
        let of = |hash| KeyRef {
            table,
            partition,
            hash: KeyHash(hash),
        };
        for (key, watched) in self.keys.range_mut(of(0)..=of(u64::MAX)) {
            if exists(key, &watched.name) {
                watched.removed = self.removals;
            }
        }
    }

    /// Forgets keys that were watched long ago.
    pub(crate) fn forget_old(&mut self, now: Instant) {
        while self.ages.front().is_some_and(|(at, _)| now - *at > KEPT) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        let Some((at, key)) = self.ages.pop_front() else {
            self.bytes = 0;
            return;
        };
        assert!(
            self.bytes >= size_of::<(Instant, KeyRef)>(),
            "{} bytes are counted, and a key is there",
            self.bytes
        );
        self.bytes -= size_of::<(Instant, KeyRef)>();
        if self.keys.get(&key).is_some_and(|it| it.since == at)
            && let Some(gone) = self.keys.remove(&key)
        {
            self.bytes -= gone.name.len() + KEY_BYTES;
        }
    }
}

#[cfg(test)]
#[path = "watch_test.rs"]
mod watch_test;
