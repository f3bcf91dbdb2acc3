//! The switch: which bug is on in this thread, and how often the code has asked for it.
//!
//! `SABOTAGE_ON=VoteBeforeSync` has one on in all threads from their beginning, for tests that do not hunt.

use crate::PLANTED;
use std::cell::Cell;
use std::env;

thread_local! {
    static ON: Cell<Option<usize>> = Cell::new(of_environment());
    static REACHED: Cell<u64> = const { Cell::new(0) };
}

fn of_environment() -> Option<usize> {
    let name = env::var("SABOTAGE_ON").ok()?;
    PLANTED.iter().position(|it| it.name == name)
}

/// Whether this bug, by its place in the list, is on in this thread.
#[inline]
#[must_use]
pub fn is_on(bug: usize) -> bool {
    let is_on = ON.get() == Some(bug);
    if is_on {
        REACHED.set(REACHED.get() + 1);
    }
    is_on
}

/// Does something with a bug on, also if that panics.
pub fn with<R>(bug: usize, work: impl FnOnce() -> R) -> R {
    struct Off(Option<usize>);
    impl Drop for Off {
        fn drop(&mut self) {
            ON.set(self.0);
        }
    }
    let _off = Off(ON.replace(Some(bug)));
    REACHED.set(0);
    work()
}

/// How often the code has asked for the bug that is or was on.
pub(crate) fn reached() -> u64 {
    REACHED.get()
}
