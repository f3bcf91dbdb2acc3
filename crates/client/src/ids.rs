//! Ids for writes, by which a server knows one that comes again.
//!
//! In:  what servers say that the time is. Out: numbers that rise from write to write and follow that time.
//!
//! A server remembers ids for a while, and refuses those that it cannot remember any more; so the numbers are
//! about the time, as the servers see it. Nothing else depends on clocks.
//!
//! Source: docs/wire.md, "Requests with ids".

use crate::random::Random;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

/// Who we are, and what we have numbered so far.
#[derive(Debug)]
pub(crate) struct Ids {
    pub(crate) client: u64,
    epoch: Instant,
    /// What the servers' clock, in microseconds, said at `epoch`.
    base: AtomicU64,
    last: AtomicU64,
}

impl Ids {
    pub(crate) fn new(random: &Random) -> Self {
        Self {
            // 0 is nobody.
            client: random.next().max(1),
            epoch: Instant::now(),
            base: AtomicU64::new(0),
            last: AtomicU64::new(0),
        }
    }

    /// A server's clock says `micros` now.
    pub(crate) fn learn(&self, micros: u64) {
        let base = micros.saturating_sub(self.elapsed());
        self.base.fetch_max(base, Ordering::Relaxed);
    }

    /// Ids up to this one are of no use.
    pub(crate) fn raise(&self, floor: u64) {
        self.last.fetch_max(floor, Ordering::Relaxed);
    }

    pub(crate) fn next(&self) -> u64 {
        let clock = self.base.load(Ordering::Relaxed) + self.elapsed();
        let last = self
            .last
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
                Some(clock.max(last.saturating_add(1)))
            });
        let last = last.unwrap_or_else(|last| last);
        clock.max(last.saturating_add(1))
    }

    fn elapsed(&self) -> u64 {
        self.epoch.elapsed().as_micros() as u64
    }
}

#[cfg(test)]
mod ids_test {
    use super::*;

    #[test]
    fn numbers_rise_with_the_servers_clock_and_above_what_is_too_low() {
        let ids = Ids::new(&Random::new());
        ids.learn(1_000_000);
        let first = ids.next();
        assert!(first >= 1_000_000);
        let second = ids.next();
        assert!(second > first);
        // A server whose clock is behind changes nothing.
        ids.learn(5);
        assert!(ids.next() > second);
        ids.raise(1 << 60);
        assert_eq!(ids.next(), (1 << 60) + 1);
    }
}
