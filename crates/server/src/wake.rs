//! Wakes a brick's loop from another thread, and only when it sleeps.
//!
//! A wake is a system call (an eventfd write). Most messages arrive while the loop is busy and will
//! look at its queues anyway, so the sender first asks whether the loop is asleep.
//!
//! Invariant: a message that was pushed before [`Waker::wake`] is seen before the loop sleeps, or the
//! loop is woken. The loop stores "asleep", then looks at its queues; the sender pushes, then loads
//! "asleep". The two fences make it impossible that both miss the other's store.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// The sleeping flag of one loop, and the way to wake it.
#[derive(Debug)]
pub(crate) struct Waker {
    waker: mio::Waker,
    is_asleep: AtomicBool,
}

impl Waker {
    /// Wakes the loop that polls `registry`, which then sees an event with `token`.
    pub(crate) fn new(registry: &mio::Registry, token: mio::Token) -> io::Result<Self> {
        Ok(Self {
            waker: mio::Waker::new(registry, token)?,
            is_asleep: AtomicBool::new(false),
        })
    }

    /// Says that the loop is about to sleep; it must look at all its queues after this call, and
    /// not sleep if one has something.
    pub(crate) fn fall_asleep(&self) {
        self.is_asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Says that the loop runs again.
    pub(crate) fn wake_up(&self) {
        self.is_asleep.store(false, Ordering::Relaxed);
    }

    /// Wakes the loop if it sleeps. To be called after a message was pushed.
    pub(crate) fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.is_asleep.load(Ordering::Relaxed)
            && self.is_asleep.swap(false, Ordering::Relaxed)
            && let Err(error) = self.waker.wake()
        {
            // The loop also wakes for its tick, so a lost wake costs 100 ms and nothing else.
            tracing::warn!(%error, "cannot wake a brick's loop");
        }
    }
}
