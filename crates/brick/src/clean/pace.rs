//! How fast segments are read: chunk after chunk at even distances, so that a client waits for one of them at most, and no
//! faster than the log needs, so that few clients do.
//!
//! In:  what was read; by how much the log is too long. Out: when to go on.

use brickyard_types::Instant;
use std::time::Duration;

/// How many bytes a second of a segment are read, by how much the log needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    /// While the log is hardly longer than it may be.
    pub(super) least: u64,
    /// Once it is longer by [`URGENT_SEGMENTS`].
    pub(super) most: u64,
}

/// Of a segment that has something live, which is moved.
pub(super) const MOVING: Rates = Rates {
    least: 10 << 20,
    most: 80 << 20,
};

/// Of a segment that has nothing live. It moves next to nothing, and nothing but reading it frees its space: at most as fast
/// as clients can write, and more.
pub(super) const DEAD: Rates = Rates {
    least: 64 << 20,
    most: 512 << 20,
};

/// A log that is longer than it may be by so many full segments is cleaned as fast as may be. What clients write at an even
/// rate is then cleaned at an even rate, too: the log becomes longer until both are the same.
pub(super) const URGENT_SEGMENTS: u64 = 4;

/// What was not read for so long may be read at once: a loop looks between two turns, and some are long.
const CATCH_UP: Duration = Duration::from_millis(10);

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    go_on_at: Instant,
    /// How much the log needs to be cleaned, of 1000.
    urgency: u64,
}

impl Pace {
    /// The log is longer than it may be by so many bytes, where so many are a full segment.
    pub(super) fn heed(&mut self, excess: u64, segment_bytes: u64) {
        let urgent = segment_bytes.saturating_mul(URGENT_SEGMENTS).max(1);
        self.urgency = (u128::from(excess) * 1000 / u128::from(urgent)).min(1000) as u64;
    }

    /// Another segment is begun: what was not read before then is not made up for.
    pub(super) fn begin(&mut self, now: Instant) {
        self.go_on_at = self.go_on_at.max(now);
    }

    /// So much was read of a segment of that sort.
    pub(super) fn on_read(&mut self, now: Instant, bytes: usize, rates: Rates) {
        let Rates { least, most } = rates;
        let rate = least + (most - least) * self.urgency / 1000;
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

    const START: Instant = Instant(1_000_000_000_000);

    /// A pace at which a segment was begun, in a log that is too long by so many quarters of what makes it urgent.
    fn pace(quarters: u64) -> Pace {
        let mut pace = Pace::default();
        pace.heed(quarters * URGENT_SEGMENTS * 16, 64);
        pace.begin(START);
        pace
    }

    #[test]
    fn chunks_come_at_even_distances_whoever_is_late_catches_up_a_little() {
        let mut pace = pace(4);
        // A megabyte takes 12.5 ms.
        pace.on_read(START, MIB, MOVING);
        let after = |us| START + Duration::from_micros(us);
        assert_eq!(pace.go_on_at(), after(12_500));
        pace.on_read(after(12_500), MIB, MOVING);
        assert_eq!(pace.go_on_at(), after(25_000));
        pace.on_read(after(30_000), MIB, MOVING);
        assert_eq!(pace.go_on_at(), after(37_500), "five were saved");
        pace.on_read(after(1_037_500), MIB, MOVING);
        assert_eq!(pace.go_on_at(), after(1_040_000), "a second is not saved");
    }

    #[test]
    fn nothing_is_saved_up_between_two_segments() {
        let mut pace = pace(4);
        pace.begin(START + Duration::from_secs(1));
        pace.on_read(START + Duration::from_secs(1), MIB, MOVING);
        let next = START + Duration::from_micros(1_012_500);
        assert_eq!(pace.go_on_at(), next);
        pace.begin(START + Duration::from_secs(1));
        assert_eq!(pace.go_on_at(), next, "one that ends at once is paid for");
    }

    #[test]
    fn log_is_cleaned_faster_the_longer_it_is() {
        for (quarters, rate) in [(0, 10), (1, 27), (2, 45), (4, 80), (400, 80)] {
            let mut pace = pace(quarters);
            pace.on_read(START, rate * MIB, MOVING);
            let takes = (pace.go_on_at() - START).as_millis();
            assert!((960..=1000).contains(&takes), "{quarters}: {takes} ms");
        }
    }

    #[test]
    fn what_is_dead_is_read_faster() {
        for quarters in 0..=4 {
            let [mut moving, mut dead] = [pace(quarters); 2];
            moving.on_read(START, MIB, MOVING);
            dead.on_read(START, MIB, DEAD);
            let (moving, dead) = (moving.go_on_at() - START, dead.go_on_at() - START);
            assert!(dead * 6 < moving, "{quarters}: {dead:?}, {moving:?}");
        }
    }
}
