//! How long disk operations take: counters that one thread writes and the metrics read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Buckets: bucket `i` counts operations of at most `2^i` microseconds, the last one all.
const BUCKETS: usize = 24;

/// Count, sum and distribution of one operation's durations.
#[derive(Debug, Default)]
pub(crate) struct Timing {
    buckets: [AtomicU64; BUCKETS],
    nanoseconds: AtomicU64,
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
