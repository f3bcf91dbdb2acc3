//! Clocks that run at their own rates, within what the leases' margin allows.
//!
//! In:  true time. Out: what a node's clocks show then.

use crate::random::Random;
use brickyard_types::{Instant, UnixMillis};

/// Nanoseconds since the run began, which nobody in it knows.
pub(crate) type Nanos = u64;

pub(crate) const MICROSECOND: Nanos = 1_000;
pub(crate) const MILLISECOND: Nanos = 1_000_000;
pub(crate) const SECOND: Nanos = 1_000_000_000;

/// Two clocks may differ in rate by 1 % (`control::Config::margin`): each may be off by half of that.
pub(crate) const DRIFT_PPM_MAX: i64 = 4_900;

/// How far wall clocks are apart, either way.
pub(crate) const SKEW_MS: u64 = 40;

const EPOCH_MS: u64 = 1_700_000_000_000;

/// A node's two clocks.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    since: Nanos,
    shown: u64,
    ppm: i64,
    skew_ms: u64,
}

impl Clocks {
    pub(crate) const fn new(now: Nanos, shown: u64, ppm: i64, skew_ms: u64) -> Self {
        Self {
            since: now,
            shown,
            ppm,
            skew_ms,
        }
    }

    /// Of a machine that was just switched on.
    pub(crate) fn draw(now: Nanos, chance: &mut Random) -> Self {
        let ppm = chance.below(2 * DRIFT_PPM_MAX as u64 + 1) as i64 - DRIFT_PPM_MAX;
        let shown = chance.between(1, 1_000) * SECOND;
        Self::new(now, shown, ppm, chance.below(SKEW_MS + 1))
    }

    /// The clock that leases go by.
    pub(crate) fn now(&self, now: Nanos) -> Instant {
        Instant(self.shown + self.passed(now))
    }

    fn passed(&self, now: Nanos) -> u64 {
        let passed = (now - self.since) as i64;
        (passed + passed * self.ppm / 1_000_000) as u64
    }

    /// The wall clock, which is held near the true time.
    pub(crate) const fn unix(&self, now: Nanos) -> UnixMillis {
        UnixMillis(EPOCH_MS + now / MILLISECOND + self.skew_ms)
    }

    /// How long a time of this clock is in truth, or a little longer.
    pub(crate) fn true_length(&self, span: u64) -> Nanos {
        let span = span as i64;
        (span - span * self.ppm / 1_000_000) as u64 + span as u64 / 10_000 + 1
    }

    /// The rate changes, and nothing jumps.
    pub(crate) fn drift(&mut self, now: Nanos, ppm: i64) {
        self.shown = self.now(now).0;
        self.since = now;
        self.ppm = ppm;
    }
}
