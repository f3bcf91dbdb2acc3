//! How many copies of partitions are missing, and when they will be there if it goes on as it does.
//!
//! In:  the number that is missing now, looked at every now and then. Out: an estimate, where there is
//!      something to base it on.
//!
//! Every node has the catalog, so every node can tell; the estimate is of what is seen to happen, not of
//! what was planned.

use brickyard_types::Instant;
use serde_json::{Value, json};
use std::time::Duration;

/// Without progress for so long nothing is said about the end: whoever should catch up is not there, say.
const STALLED: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Copies {
    missing: u64,
    /// None while nothing is missing.
    repair: Option<Repair>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Repair {
    /// Since when something is missing.
    since: Instant,
    /// The most that was missing, and when that was seen last.
    most: u64,
    most_at: Instant,
    /// When it became fewer.
    moved_at: Instant,
}

impl Copies {
    /// So many are missing now; whether that is news.
    pub(super) fn check(&mut self, missing: u64, now: Instant) -> bool {
        let before = std::mem::replace(&mut self.missing, missing);
        if missing == 0 {
            return self.repair.take().is_some();
        }
        let repair = self.repair.get_or_insert(Repair {
            since: now,
            most: missing,
            most_at: now,
            moved_at: now,
        });
        if missing >= repair.most {
            repair.most = missing;
            repair.most_at = now;
        }
        if missing < before {
            repair.moved_at = now;
        }
        true
    }

    /// How long it will take, if it goes on as it did since the most were missing.
    fn left(&self, now: Instant) -> Option<Duration> {
        let repair = self.repair?;
        let done = repair.most - self.missing;
        let took = repair.moved_at - repair.most_at;
        if done == 0 || now - repair.moved_at > STALLED {
            return None;
        }
        Some(took.mul_f64(self.missing as f64 / done as f64))
    }

    /// For `/status`.
    pub(super) fn json(&self, now: Instant) -> Value {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        json!({
            "missing": self.missing,
            "most": self.repair.map(|repair| repair.most),
            "for_ms": self.repair.map(|repair| ms(now - repair.since)),
            "left_ms": self.left(now).map(ms),
        })
    }
}

#[cfg(test)]
mod copies_test {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant(Duration::from_secs(1000 + seconds).as_nanos() as u64)
    }

    #[test]
    fn pace_since_the_most_were_missing_tells_the_end() {
        let mut copies = Copies::default();
        assert!(!copies.check(0, at(0)));
        assert_eq!(copies.left(at(0)), None);
        assert!(copies.check(90, at(1)));
        assert!(copies.check(100, at(20)));
        // Nothing has been copied yet: nobody knows.
        assert_eq!(copies.left(at(21)), None);
        copies.check(100, at(30));
        copies.check(75, at(40));
        assert_eq!(copies.left(at(40)), Some(Duration::from_secs(30)));
        assert_eq!(copies.json(at(41))["for_ms"], 40_000);
        assert!(copies.check(0, at(60)));
        assert_eq!(copies.left(at(60)), None);
        assert_eq!(copies.json(at(60))["most"], Value::Null);
    }

    #[test]
    fn what_stands_still_has_no_end() {
        let mut copies = Copies::default();
        copies.check(100, at(0));
        copies.check(50, at(10));
        assert_eq!(copies.left(at(15)), Some(Duration::from_secs(10)));
        copies.check(50, at(21));
        assert_eq!(copies.left(at(21)), None);
    }
}
