//! How often something may happen a second, counted by all bricks of a node together.
//!
//! In:  the time, and how much is taken. Out: whether that may be, or how long to wait.
//!
//! HOW IT COUNTS (the generic cell rate algorithm). No bucket is filled and no clock ticks: all there is is the time up to which
//! what was taken is paid for. Of 10 a second each costs 100 ms. Who takes one at 0 ms pays up to 100 ms; who takes another one
//! at 20 ms pays up to 200 ms, which is 180 ms ahead. What may be taken is less than a burst ahead of the time.
//!
//! Invariants:
//! - In any stretch of time no more is taken by [`SharedRate::try_take`], in ones, than a burst and the rate times its length.
//! - What is taken without being asked for ([`SharedRate::take`]) is owed, and is paid before more may be.
//!
//! Not here: copies for bricks that catch up, which one brick counts (`rate_limiter`).

use brickyard_types::Instant;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// What was not used for so long is lost: a pipeline or a pool that starts passes, and the mean over a second holds to a tenth.
const BURST_NANOS: u64 = NANOS_PER_SECOND / 10;

/// See the module.
#[derive(Debug)]
pub(crate) struct SharedRate {
    per_second: u64,
    /// In nanoseconds of the clock: up to then what was taken is paid for.
    paid_until: AtomicU64,
}

impl SharedRate {
    /// So many a second; of 0 there is no rate.
    pub(crate) fn new(per_second: u64) -> Option<Self> {
        (per_second > 0).then_some(Self {
            per_second,
            paid_until: AtomicU64::new(0),
        })
    }

    pub(crate) fn per_second(&self) -> u64 {
        self.per_second
    }

    /// What so many cost, in nanoseconds, to the nearest.
    fn cost(&self, count: u64) -> u64 {
        let nanos = u128::from(count) * u128::from(NANOS_PER_SECOND);
        let rounded = (nanos + u128::from(self.per_second / 2)) / u128::from(self.per_second);
        u64::try_from(rounded).unwrap_or(u64::MAX)
    }

    /// How long it is until one may be taken, where that much is paid for.
    fn wait(&self, paid_until: u64, now: Instant) -> u64 {
        let one = self.cost(1);
        let after = paid_until.max(now.0).saturating_add(one);
        // Of less than one in a burst's time one may be taken all the same.
        let reach = now.0.saturating_add(BURST_NANOS.max(one));
        after.saturating_sub(reach)
    }

    /// Whether one may be taken; else how long to wait for that.
    pub(crate) fn check(&self, now: Instant) -> Result<(), Duration> {
        match self.wait(self.paid_until.load(Relaxed), now) {
            0 => Ok(()),
            nanos => Err(Duration::from_nanos(nanos)),
        }
    }

    /// Takes one, if that may be; else how long to wait for it.
    pub(crate) fn try_take(&self, now: Instant) -> Result<(), Duration> {
        let one = self.cost(1);
        let pay = |paid_until: u64| {
            let is_free = self.wait(paid_until, now) == 0;
            is_free.then(|| paid_until.max(now.0).saturating_add(one))
        };
        let paid = self.paid_until.fetch_update(Relaxed, Relaxed, pay);
        paid.map(|_| ())
            .map_err(|paid_until| Duration::from_nanos(self.wait(paid_until, now)))
    }

    /// Takes so many, whatever is owed.
    pub(crate) fn take(&self, count: u64, now: Instant) {
        let cost = self.cost(count);
        let pay = |paid_until: u64| Some(paid_until.max(now.0).saturating_add(cost));
        // It never says no.
        let _paid = self.paid_until.fetch_update(Relaxed, Relaxed, pay);
    }

    /// Whether nothing is owed: one that begins anew is the same.
    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        self.paid_until.load(Relaxed) <= now.0
    }
}

#[cfg(test)]
#[path = "shared_rate_test.rs"]
mod shared_rate_test;
