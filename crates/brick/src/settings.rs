//! Settings that may change while the node runs (`CONFIG SET`), shared by all bricks.

use crate::keyspace_events::EventClasses;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Redis clients know these by the names in `CONFIG GET`.
#[derive(Debug)]
pub struct Settings {
    /// Commands slower than this many microseconds go to the slow log; negative: none do.
    pub slowlog_log_slower_than: AtomicI64,
    /// Entries that the slow log keeps on each brick.
    pub slowlog_max_len: AtomicU64,
    /// Seconds after which an idle client is closed; 0: never.
    pub timeout: AtomicU64,
    /// Most clients at a time, over all bricks of the node.
    pub maxclients: AtomicU64,
    /// Bytes of replies that a client may leave unread before it is closed.
    pub output_bytes_max: AtomicU64,
    /// Bytes of writes that may wait for the disk on each brick before further ones are refused.
    pub pending_bytes_max: AtomicU64,
    /// Bytes that all clients' buffers of the node may take before the one that has most is closed; 0: as many as they like.
    pub maxmemory_clients: AtomicU64,
    /// Milliseconds that a script may take, or all of one transaction; 0: instructions count, and no time.
    pub script_time_max: AtomicU64,
    /// Which keyspace notifications are told ([`EventClasses::bits`]).
    pub keyspace_events: AtomicU64,
    /// Keys that a brick keeps in mind for clients that track what they read.
    pub tracked_keys_max: AtomicU64,
    /// Unsent bytes of replies past which no further command of a client is executed. Taken when it connects.
    pub output_soft: AtomicU64,
}

/// See [`Settings::output_soft`].
pub(crate) const OUTPUT_SOFT: usize = 1 << 20;

/// See [`Settings::script_time_max`]. While a script runs its brick answers nobody and votes for nothing; a replica that is silent for a second
/// is taken out.
const SCRIPT_TIME_MAX: u64 = 200;

impl Default for Settings {
    fn default() -> Self {
        Self {
            slowlog_log_slower_than: AtomicI64::new(10_000),
            slowlog_max_len: AtomicU64::new(128),
            timeout: AtomicU64::new(0),
            maxclients: AtomicU64::new(10_000),
            output_bytes_max: AtomicU64::new(256 * 1024 * 1024),
            pending_bytes_max: AtomicU64::new(64 * 1024 * 1024),
            maxmemory_clients: AtomicU64::new(0),
            script_time_max: AtomicU64::new(SCRIPT_TIME_MAX),
            keyspace_events: AtomicU64::new(0),
            tracked_keys_max: AtomicU64::new(1_000_000),
            output_soft: AtomicU64::new(OUTPUT_SOFT as u64),
        }
    }
}

impl Settings {
    pub(crate) fn load(value: &AtomicU64) -> u64 {
        value.load(Relaxed)
    }

    /// Whether every command is measured by itself: the slow log's threshold is very low.
    pub(crate) fn measures_each(&self) -> bool {
        const STEP_BELOW_US: i64 = 100;
        let threshold = self.slowlog_log_slower_than.load(Relaxed);
        (0..STEP_BELOW_US).contains(&threshold)
    }

    /// Whether a command that took so many microseconds is one for the slow log.
    pub(crate) fn is_slow(&self, microseconds: u64) -> bool {
        let threshold = self.slowlog_log_slower_than.load(Relaxed);
        threshold >= 0 && i128::from(microseconds) >= i128::from(threshold)
    }

    /// Which keyspace notifications are told.
    #[inline]
    pub(crate) fn keyspace_events(&self) -> EventClasses {
        EventClasses::of_bits(Self::load(&self.keyspace_events))
    }

    /// See the field.
    pub(crate) fn output_soft(&self) -> usize {
        usize::try_from(Self::load(&self.output_soft)).unwrap_or(usize::MAX)
    }

    /// Bytes of replies that a client may leave unread.
    pub(crate) fn output_max(&self) -> usize {
        usize::try_from(Self::load(&self.output_bytes_max)).unwrap_or(usize::MAX)
    }
}
