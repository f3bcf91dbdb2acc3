//! Whether a loop sleeps, so that a loop that is awake is not woken.
//!
//! Invariant: of a loop that is about to sleep and a sender, at least one sees what the other has done. The loop says
//! that it is asleep, then looks at its queues; the sender pushes, then asks whether the loop is asleep. The two fences
//! make it impossible that both miss the other's store. `tests/interleavings` tries every order.

use super::atomic::{AtomicBool, Ordering, fence};

/// See the module.
#[derive(Debug)]
pub(super) struct Asleep(AtomicBool);

impl Asleep {
    pub(super) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// The loop is about to sleep; it has yet to look at its queues.
    pub(super) fn fall_asleep(&self) {
        self.0.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The loop runs again.
    pub(super) fn wake_up(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Asked by a sender after it has pushed: whether it is the one to wake the loop.
    pub(super) fn has_to_be_woken(&self) -> bool {
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed)
    }
}
