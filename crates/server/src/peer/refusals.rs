//! Who was not let in at the port for nodes, in the log: a line a second at most, with how many it stands for.
//!
//! Not here: why they were not let in (`incoming`, and TLS).

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::Instant;

/// Lines come no faster: whoever knocks thousands of times must not fill the disk.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    told: Cell<Option<Instant>>,
    /// Since then, of whom no line tells.
    untold: Cell<u64>,
}

impl Refusals {
    /// Somebody was not let in.
    pub(super) fn tell(&self, from: SocketAddr, error: &io::Error, now: Instant) {
        if let Some(others_before) = self.take_turn(now) {
            tracing::warn!(
                %from, reason = %error, others_before,
                "somebody was not let in at the port for nodes"
            );
        }
    }

    /// Whether a line is due, and of how many before it none told.
    fn take_turn(&self, now: Instant) -> Option<u64> {
        let is_soon = self.told.get().is_some_and(|told| now - told < TOLD_EVERY);
        if is_soon {
            self.untold.set(self.untold.get() + 1);
            return None;
        }
        self.told.set(Some(now));
        Some(self.untold.take())
    }
}

#[cfg(test)]
#[path = "refusals_test.rs"]
mod refusals_test;
