//! The cache that all handles of a table share, with its lock and its clock.
//!
//! In:  reads, replies, recalls. Out: as [`Cache`] says.
//!
//! Invariant: the clock is read under the lock, so that what is looked at later is looked at at a later time.

use crate::cache::{Asked, Cache, CacheCounts};
use brickyard_types::Instant;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A clock that never goes back and counts suspended time: leases run out while a laptop sleeps.
#[cfg(target_os = "linux")]
const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;

/// See the module.
#[derive(Debug)]
pub(crate) struct Kept {
    cache: Mutex<Cache>,
}

impl Kept {
    /// One that keeps so many bytes; `None` of none.
    pub(crate) fn new(bytes_max: usize) -> Option<Self> {
        (bytes_max > 0).then(|| Self {
            cache: Mutex::new(Cache::new(bytes_max)),
        })
    }

    pub(crate) fn look(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Asked> {
        let mut cache = self.lock();
        cache.look(key, now())
    }

    pub(crate) fn fill(&self, key: &[u8], asked: Asked, value: Option<&[u8]>, lease: Duration) {
        let mut cache = self.lock();
        cache.fill(key, asked, value, lease, now());
    }

    pub(crate) fn recall(&self, key: &[u8]) {
        let mut cache = self.lock();
        cache.recall(key, now());
    }

    pub(crate) fn forget(&self, key: &[u8]) {
        let mut cache = self.lock();
        cache.forget(key, now());
    }

    pub(crate) fn counts(&self) -> CacheCounts {
        self.lock().counts()
    }

    fn lock(&self) -> MutexGuard<'_, Cache> {
        // Nothing panics between two changes that belong together.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time since some fixed instant.
fn now() -> Instant {
    let time = rustix::time::clock_gettime(CLOCK);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
    Instant(
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(nanoseconds),
    )
}
