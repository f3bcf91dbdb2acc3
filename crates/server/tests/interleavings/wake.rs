//! In the place of `src/wake.rs`: a loop's waker without the system call; what is woken is a thread.

mod atomic {
    pub(super) use loom::sync::atomic::{AtomicBool, Ordering, fence};
}
#[path = "../../src/wake/asleep.rs"]
mod asleep;

use crate::threads::Thread;

/// See the module.
#[derive(Debug)]
pub(crate) struct Waker {
    asleep: asleep::Asleep,
    sleeper: Thread,
}

impl Waker {
    pub(crate) fn new(sleeper: Thread) -> Self {
        Self {
            asleep: asleep::Asleep::new(),
            sleeper,
        }
    }

    pub(crate) fn fall_asleep(&self) {
        self.asleep.fall_asleep();
    }

    pub(crate) fn wake_up(&self) {
        self.asleep.wake_up();
    }

    pub(crate) fn wake(&self) {
        if self.asleep.has_to_be_woken() {
            self.sleeper.unpark();
        }
    }
}
