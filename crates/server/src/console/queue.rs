//! Those who sign in at this moment.

use std::sync::atomic::AtomicBool;
use tokio::sync::Semaphore;

/// Who signs in at a time; others wait, for a while.
const AT_A_TIME: usize = 4;

/// Those who sign in now.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) places: Semaphore,
    /// Somebody ends sessions that nobody uses.
    pub(super) is_looked_after: AtomicBool,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            places: Semaphore::new(AT_A_TIME),
            is_looked_after: AtomicBool::new(false),
        }
    }
}
