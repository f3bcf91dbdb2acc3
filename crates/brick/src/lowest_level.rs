//! The lowest level of knowledge among the cluster's nodes, as far as they have said theirs (decision 0066).
//!
//! In:  what the control plane hears. Out: whether what came with a level may be written: a brick of an earlier program would
//!      take such a record for damage.
//!
//! A node that has not connected yet counts for nothing: data must not wait for one that is away. It comes back with the program
//! that it had; where that is an earlier one it says that it wants a newer one, and keeps what it has.

use brickyard_metadata::Level;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

/// See the module.
#[derive(Debug)]
pub struct LowestLevel(AtomicU16);

impl Default for LowestLevel {
    /// No other node has said anything.
    fn default() -> Self {
        Self(AtomicU16::new(Level::NEWEST.0))
    }
}

impl LowestLevel {
    /// Notes it.
    pub fn set(&self, level: Level) {
        self.0.store(level.0, Relaxed);
    }

    /// Whether all that were heard know what came with `level`.
    #[inline]
    #[must_use]
    pub fn has(&self, level: Level) -> bool {
        self.0.load(Relaxed) >= level.0
    }
}
