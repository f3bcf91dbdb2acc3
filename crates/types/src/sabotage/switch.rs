//! The switch: which bug is on in this thread, and schedules that are run with it until somebody objects.
//!
//! In:  a bug, a schedule that panics when a judge objects. Out: how many seeds that took ([`Hunt`]).
//!
//! Invariants:
//! - What a schedule says without the bug as well is no objection to the bug.

use super::Bug;
use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static ON: Cell<Option<Bug>> = const { Cell::new(None) };
    static REACHED: Cell<u64> = const { Cell::new(0) };
}

/// Whether this bug is on in this thread.
#[inline]
#[must_use]
pub fn is(bug: Bug) -> bool {
    let is_on = ON.get() == Some(bug);
    if is_on {
        REACHED.set(REACHED.get() + 1);
    }
    is_on
}

/// Does something with a bug on, also if that panics.
pub fn with<R>(bug: Bug, work: impl FnOnce() -> R) -> R {
    struct Off(Option<Bug>);
    impl Drop for Off {
        fn drop(&mut self) {
            ON.set(self.0);
        }
    }
    let _off = Off(ON.replace(Some(bug)));
    REACHED.set(0);
    work()
}

/// How a hunt for a bug has ended.
#[derive(Clone, Debug, Default)]
pub struct Hunt {
    /// How many schedules it took; `None`: no judge objected.
    pub seeds: Option<u64>,
    /// The schedule that showed it, or the last one.
    pub seed: u64,
    /// What the judge said.
    pub objection: String,
    /// How often the code came to the bug.
    pub reached: u64,
}

/// A bug to which so many schedules did not come, and one in so many of those that there are, is another room's.
const UNREACHED_MAX: u64 = 20;
const UNREACHED_ONE_IN: u64 = 4;

/// Runs schedules with a bug on until one panics that does not panic without.
pub fn hunt(bug: Bug, seeds: Range<u64>, schedule: impl Fn(u64)) -> Hunt {
    let mut hunt = Hunt::default();
    let patience = (seeds.end - seeds.start) / UNREACHED_ONE_IN;
    for (seed, count) in seeds.zip(1..) {
        hunt.seed = seed;
        let run = AssertUnwindSafe(|| with(bug, || schedule(seed)));
        let outcome = catch_unwind(run);
        hunt.reached += REACHED.get();
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
            hunt.objection = text.unwrap_or_default();
            break;
        }
    }
    hunt
}
