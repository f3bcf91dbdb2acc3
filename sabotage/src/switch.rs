//! The switch: which bug is on in this thread, and how often the code has asked for it.

use std::cell::Cell;

thread_local! {
    static ON: Cell<Option<usize>> = const { Cell::new(None) };
    static REACHED: Cell<u64> = const { Cell::new(0) };
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
