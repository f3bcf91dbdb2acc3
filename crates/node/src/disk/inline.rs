//! When a loop writes a batch itself, *inline*, and when it leaves that to the append worker.
//!
//! In:  batches, and how long inline appends took. Out: yes or no.
//!
//! A small write into the page cache takes a few microseconds; to wake a thread for it, and to be woken by it, takes
//! more. But a write can wait: for memory, for the file system's journal, for a disk that hangs. A file system that
//! would say so beforehand is rare, so the loop goes by what it has seen: after an append that took long the worker
//! has the next ones, for a pause that doubles each time that the first one after it takes long again. So a bad disk
//! holds a loop up once a pause, for one write. A long batch takes longer to copy than a thread to wake, and is copied while
//! the loop goes on.
//!
//! Not here: whether the worker has something to do, and has the log (its callers: nobody overtakes it).

use brickyard_brick::Append;
use brickyard_types::Instant;
use std::time::Duration;

/// An append that takes longer has waited for something.
const SLOW: Duration = Duration::from_millis(2);

/// How long the worker has all appends after the first slow one.
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// Or so many times as long as it took, if that is more: a disk that stands still for seconds does not hold the loop up again
/// before others go on without it.
const PAUSES: u32 = 10;

/// And at most.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct InlineAppends {
    bytes_max: usize,
    resume_at: Instant,
    pause: Duration,
}

impl InlineAppends {
    /// Batches of at most so many bytes; 0: none.
    #[must_use]
    pub const fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            resume_at: Instant(0),
            pause: Duration::ZERO,
        }
    }

    /// Whether this batch may be written inline now.
    #[must_use]
    pub fn admit(&self, append: &Append, now: Instant) -> bool {
        append.bytes.len() <= self.bytes_max && now >= self.resume_at
    }

    /// An inline append began then and took so long.
    pub fn on_appended(&mut self, started: Instant, took: Duration) {
        let ended = started + took;
        if took > SLOW {
            let pause = (self.pause * 2).max(took * PAUSES);
            self.pause = pause.clamp(PAUSE_MIN, PAUSE_MAX);
            self.resume_at = ended + self.pause;
        } else if ended >= self.resume_at + self.pause {
            // It has been well for as long as it was left alone.
            self.pause = Duration::ZERO;
        }
    }
}

#[cfg(test)]
#[path = "inline_test.rs"]
mod inline_test;
