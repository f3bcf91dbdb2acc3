//! Wakes a brick's loop from another thread, and only when it sleeps.
//!
//! A wake is a system call (an eventfd write). Most messages arrive while the loop is busy and will
//! look at its queues anyway, so the sender first asks whether the loop is asleep.
//!
//! Invariant: a message that was pushed before [`Waker::wake`] is seen before the loop sleeps, or the
//! loop is woken (`asleep`).

mod asleep;

/// Exchanged by `tests/interleavings`.
mod atomic {
    pub(super) use std::sync::atomic::{AtomicBool, Ordering, fence};
}

use asleep::Asleep;
use std::io;

/// The sleeping flag of one loop, and the way to wake it; on cache lines of its own, since the loop writes the flag each
/// time that it sleeps.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Waker {
    waker: mio::Waker,
    asleep: Asleep,
}

impl Waker {
    /// Wakes the loop that polls `registry`, which then sees an event with `token`.
    pub(crate) fn new(registry: &mio::Registry, token: mio::Token) -> io::Result<Self> {
        Ok(Self {
            waker: mio::Waker::new(registry, token)?,
            asleep: Asleep::new(),
        })
    }

    /// Says that the loop is about to sleep; it must look at all its queues after this call, and
    /// not sleep if one has something.
    pub(crate) fn fall_asleep(&self) {
        self.asleep.fall_asleep();
    }

    /// Says that the loop runs again.
    pub(crate) fn wake_up(&self) {
        self.asleep.wake_up();
    }

    /// Wakes the loop if it sleeps. To be called after a message was pushed.
    pub(crate) fn wake(&self) {
        if self.asleep.has_to_be_woken()
            && let Err(error) = self.waker.wake()
        {
            // The loop also wakes for its tick, so a lost wake costs 100 ms and nothing else.
            tracing::warn!(%error, "cannot wake a brick's loop");
        }
    }
}
