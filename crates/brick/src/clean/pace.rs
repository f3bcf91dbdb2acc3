//! How fast segments are read: chunk after chunk at even distances, so that a client waits for one of them at most.
//!
//! In:  what was read. Out: when to go on.

use brickyard_types::Instant;
use std::time::Duration;

/// Bytes a second of a segment that has something live, which is moved.
pub(super) const MOVING_RATE: u64 = 80 << 20;

/// Bytes a second of a segment that has nothing live. It moves next to nothing, and nothing but reading it frees its space:
/// as fast as clients can write, and more.
pub(super) const DEAD_RATE: u64 = 512 << 20;

/// What was not read for so long may be read at once: a loop looks between two turns, and some are long.
const CATCH_UP: Duration = Duration::from_millis(10);

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    go_on_at: Instant,
}

impl Pace {
    /// Another segment is begun: what was not read before then is not made up for.
    pub(super) fn begin(&mut self, now: Instant) {
        self.go_on_at = self.go_on_at.max(now);
    }

    /// So much was read, which may be so many bytes a second.
    pub(super) fn on_read(&mut self, now: Instant, bytes: usize, rate: u64) {
        let takes = Duration::from_nanos(bytes as u64 * 1_000_000_000 / rate);
        let saved_up = Instant(now.0.saturating_sub(CATCH_UP.as_nanos() as u64));
        self.go_on_at = self.go_on_at.max(saved_up) + takes;
    }

    /// When the next chunk may be read.
    pub(super) fn go_on_at(&self) -> Instant {
        self.go_on_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn chunks_come_at_even_distances_whoever_is_late_catches_up_a_little() {
        let mut pace = Pace::default();
        let start = Instant(1_000_000_000_000);
        // A megabyte takes 12.5 ms, of which 10 were saved.
        pace.on_read(start, MIB, MOVING_RATE);
        let after = |us| start + Duration::from_micros(us);
        assert_eq!(pace.go_on_at(), after(2_500));
        pace.on_read(after(2_500), MIB, MOVING_RATE);
        assert_eq!(pace.go_on_at(), after(15_000));
        pace.on_read(after(20_000), MIB, MOVING_RATE);
        assert_eq!(pace.go_on_at(), after(27_500), "five were saved");
        pace.on_read(after(1_027_500), MIB, MOVING_RATE);
        assert_eq!(pace.go_on_at(), after(1_030_000), "a second is not saved");
    }

    #[test]
    fn nothing_is_saved_up_between_two_segments() {
        let mut pace = Pace::default();
        let start = Instant(1_000_000_000_000);
        pace.begin(start);
        pace.on_read(start, MIB, MOVING_RATE);
        let next = start + Duration::from_micros(12_500);
        assert_eq!(pace.go_on_at(), next);
        pace.begin(start);
        assert_eq!(pace.go_on_at(), next, "one that ends at once is paid for");
    }

    #[test]
    fn what_is_dead_is_read_faster() {
        let mut pace = Pace::default();
        let start = Instant(1_000_000_000_000);
        for _ in 0..2 {
            pace.on_read(start, 4 * MIB, DEAD_RATE);
        }
        let takes = 2 * Duration::from_nanos(1_000_000_000 / 128);
        assert_eq!(pace.go_on_at() - start, takes - CATCH_UP);
    }
}
