//! A hunt: schedules that are run with a bug on until a checker objects.
//!
//! Invariants:
//! - A violation that the same schedule raises without the bug does not count.

use crate::switch::{reached, with};
use std::fmt::Write;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a hunt for a bug has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hunt {
    /// How many schedules it took; `None`: no checker objected.
    pub(crate) seeds: Option<u64>,
    /// The schedule that showed it, or the last one.
    pub(crate) seed: u64,
    /// What the checker said.
    pub(crate) violation: String,
    /// How often the code came to the bug.
    pub(crate) reached: u64,
}

/// A hunt ends early when so many schedules, and one in so many of those that it may run, never came to the bug.
const UNREACHED_MAX: u64 = 20;
const UNREACHED_ONE_IN: u64 = 4;

/// Runs schedules with a bug on until one panics that does not panic without.
pub(crate) fn hunt(bug: usize, seeds: Range<u64>, schedule: impl Fn(u64)) -> Hunt {
    let mut hunt = Hunt::default();
    let patience = (seeds.end - seeds.start) / UNREACHED_ONE_IN;
    for (seed, count) in seeds.zip(1..) {
        hunt.seed = seed;
        let run = AssertUnwindSafe(|| with(bug, || schedule(seed)));
        let outcome = catch_unwind(run);
        hunt.reached += reached();
        let is_elsewhere = hunt.reached == 0 && count >= UNREACHED_MAX.max(patience);
        if is_elsewhere {
            break;
        }
        let Err(panic) = outcome else {
            continue;
        };
        if catch_unwind(AssertUnwindSafe(|| schedule(seed))).is_ok() {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).into()));
            hunt.seeds = Some(count);
            hunt.violation = text.unwrap_or_default();
            break;
        }
    }
    hunt
}

/// The median number of seeds; a hunt that found nothing took more than any other.
pub(crate) fn median(hunts: &[Hunt]) -> Option<u64> {
    let mut seeds: Vec<u64> = hunts
        .iter()
        .map(|it| it.seeds.unwrap_or(u64::MAX))
        .collect();
    seeds.sort_unstable();
    seeds
        .get(seeds.len() / 2)
        .copied()
        .filter(|it| *it < u64::MAX)
}

/// The words of a checker that are enough to know which one it is.
const WORDS_MAX: usize = 24;

/// One line about the hunts for a bug: median, each, seeds that showed it, what was said.
pub(crate) fn tell(hunts: &[Hunt]) -> String {
    let mut out = median(hunts).map_or_else(|| "-".to_owned(), |it| it.to_string());
    for hunt in hunts {
        let _ = match hunt.seeds {
            Some(seeds) => write!(out, " [{seeds}, seed {}]", hunt.seed),
            None => write!(out, " [-, reached {} times]", hunt.reached),
        };
    }
    if let Some(found) = hunts.iter().find(|it| it.seeds.is_some()) {
        let words: Vec<&str> = found.violation.split_whitespace().take(WORDS_MAX).collect();
        out += ": ";
        out += &words.join(" ");
    }
    out
}

#[cfg(test)]
#[path = "hunt_test.rs"]
mod hunt_test;
