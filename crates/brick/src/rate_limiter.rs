//! How fast copies are made for bricks that catch up: so many bytes a second on the average, in short bursts.
//!
//! In: the time, bytes that were copied. Out: whether more may be.
//!
//! Invariant: from any instant on no more is copied than the burst, the rate times the time since, and one
//! record.

use brickyard_types::Instant;
use std::time::Duration;

/// What was not used for so long is lost: copies go out at ticks and turns, which may be 100 ms apart.
const BURST: Duration = Duration::from_millis(250);

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateLimiter {
    /// Bytes a second; `None`: as fast as it goes.
    rate: Option<u64>,
    /// Bytes that may be copied now; below 0 after a long record.
    budget: i64,
    filled_at: Option<Instant>,
}

impl RateLimiter {
    /// `rate` bytes a second; 0: as fast as it goes.
    pub(crate) fn new(rate: u64) -> Self {
        Self {
            rate: (rate > 0).then_some(rate),
            budget: 0,
            filled_at: None,
        }
    }

    /// Time has gone on.
    pub(crate) fn refill(&mut self, now: Instant) {
        let Some(rate) = self.rate else { return };
        let since = self.filled_at.map_or(BURST, |at| now - at);
        let fill = u128::from(rate) * since.as_nanos() / 1_000_000_000;
        // What is less than a byte is not lost: it is counted from the last refill that gave any.
        if fill == 0 {
            return;
        }
        let burst = u128::from(rate) * BURST.as_nanos() / 1_000_000_000;
        let fill = fill.min(burst) as i64;
        self.budget = self.budget.saturating_add(fill).min(burst.max(1) as i64);
        self.filled_at = Some(now);
        assert!(
            i128::from(self.budget) <= burst.max(1) as i128,
            "{} bytes may be copied, and a burst is {burst}",
            self.budget
        );
    }

    pub(crate) fn has_room(&self) -> bool {
        self.rate.is_none() || self.budget > 0
    }

    pub(crate) fn spend(&mut self, bytes: usize) {
        if self.rate.is_some() {
            self.budget = self.budget.saturating_sub_unsigned(bytes as u64);
        }
    }
}

#[cfg(test)]
#[path = "rate_limiter_test.rs"]
mod rate_limiter_test;
