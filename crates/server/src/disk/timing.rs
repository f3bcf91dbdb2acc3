//! How long disk operations take: counters that one thread writes and the metrics read.

use brickyard_types::Instant;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Buckets: bucket `i` counts operations of at most `2^i` microseconds, the last one all.
const BUCKETS: usize = 24;

/// Count, sum and distribution of one operation's durations.
#[derive(Debug, Default)]
pub(crate) struct Timing {
    buckets: [AtomicU64; BUCKETS],
    nanoseconds: AtomicU64,
    /// When what is under way was begun; 0: nothing is.
    begun: AtomicU64,
}

impl Timing {
    /// Adds one operation.
    pub(crate) fn add(&self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let micros = nanoseconds.div_ceil(1000).max(1);
        let bucket = (u64::BITS - (micros - 1).leading_zeros()) as usize;
        self.buckets[bucket.min(BUCKETS - 1)].fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Relaxed);
    }

    /// One is under way from now on. Orders are carried out one after the other, so it is the oldest that the disk has.
    pub(crate) fn begin(&self, now: Instant) {
        self.begun.store(now.0, Relaxed);
    }

    /// None is under way any more.
    pub(crate) fn end(&self) {
        self.begun.store(0, Relaxed);
    }

    /// For how long the one under way has been.
    pub(crate) fn under_way(&self, now: Instant) -> Duration {
        match self.begun.load(Relaxed) {
            0 => Duration::ZERO,
            begun => now - Instant(begun),
        }
    }

    /// Sum in seconds, and (upper bound in seconds, count of that bucket alone).
    pub(crate) fn snapshot(&self) -> (f64, Vec<(f64, u64)>) {
        let buckets = self.buckets.iter().enumerate().map(|(index, count)| {
            let bound = match index {
                index if index == BUCKETS - 1 => f64::INFINITY,
                index => (1_u64 << index) as f64 / 1e6,
            };
            (bound, count.load(Relaxed))
        });
        (
            self.nanoseconds.load(Relaxed) as f64 / 1e9,
            buckets.collect(),
        )
    }
}

/// What one brick's disk threads count; on cache lines of its own, see `brickyard_brick::Stats`.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct DiskStats {
    pub(crate) append: Timing,
    pub(crate) sync: Timing,
    pub(crate) read: Timing,
    /// Batches that the loop wrote itself.
    pub(crate) inline_appends: AtomicU64,
    /// Batches that the log refused.
    pub(crate) append_failures: AtomicU64,
    /// Cold reads that gave no value.
    pub(crate) read_failures: AtomicU64,
}

#[cfg(test)]
mod timing_test {
    use super::*;

    #[test]
    fn what_is_under_way_grows_older_until_it_ends() {
        let timing = Timing::default();
        let at = |seconds: u64| Instant(0) + Duration::from_secs(100 + seconds);
        assert_eq!(timing.under_way(at(1)), Duration::ZERO);
        timing.begin(at(1));
        assert_eq!(timing.under_way(at(4)), Duration::from_secs(3));
        timing.end();
        assert_eq!(timing.under_way(at(5)), Duration::ZERO);
    }
}
