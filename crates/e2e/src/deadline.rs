//! Waiting for something to become true, with a deadline instead of a sleep of guessed length.

use std::time::{Duration, Instant};

/// How long anything may take before a test gives up; far above what it takes, so that a loaded
/// machine does not fail a test.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Calls `probe` until it returns a value.
///
/// # Panics
/// If it has not after [`PATIENCE`]; `what` says what was waited for.
pub fn wait_for<T>(what: &str, probe: impl FnMut() -> Option<T>) -> T {
    try_wait_for(PATIENCE, probe).unwrap_or_else(|| panic!("gave up waiting for {what}"))
}

/// Calls `probe` until it returns a value or `patience` has passed.
pub fn try_wait_for<T>(patience: Duration, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    loop {
        if let Some(found) = probe() {
            return Some(found);
        }
        if begin.elapsed() > patience {
            return None;
        }
        // Only spares the processor between two looks; nothing depends on its length.
        std::thread::sleep(Duration::from_millis(2));
    }
}
