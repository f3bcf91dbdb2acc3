//! The node's clocks, read once a turn and passed on as data.

use brickyard_types::{Instant, UnixMillis};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A clock that never goes back and counts suspended time: leases must run out while a laptop sleeps.
#[cfg(target_os = "linux")]
const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;

/// The time since some fixed instant.
pub(crate) fn now() -> Instant {
    let time = rustix::time::clock_gettime(CLOCK);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
    Instant(
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(nanoseconds),
    )
}

/// How much time of a core this thread has taken since it began; what it spends waiting does not count.
pub(crate) fn taken() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The wall clock, for expiry.
pub(crate) fn unix() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    UnixMillis(since.map_or(0, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    }))
}
