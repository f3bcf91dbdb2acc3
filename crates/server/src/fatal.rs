//! Threads whose end is the process's end, and the ways in which a process ends at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{abort, exit};
use std::thread::{Builder, JoinHandle};

/// Exit status when the log can no longer be trusted (`EX_IOERR` of sysexits.h).
pub const EXIT_DISK: i32 = 74;

/// Starts a thread that a node cannot do without. A panic in it stops the process: its state is
/// unknown, and a node that answers for some of its bricks only is worse than one that restarts.
///
/// # Errors
/// The operating system has no room for another thread.
pub(crate) fn spawn(
    name: String,
    body: impl FnOnce() + Send + 'static,
) -> std::io::Result<JoinHandle<()>> {
    Builder::new().name(name.clone()).spawn(move || {
        if catch_unwind(AssertUnwindSafe(body)).is_err() {
            // The panic hook has printed where it happened. What was acknowledged is with the
            // operating system or on the disk already: there is nothing to flush.
            tracing::error!(
                thread = name,
                "a thread panicked, which is a bug: the process stops so that nothing wrong is \
                 served; restart it and report the message above"
            );
            abort();
        }
    })
}

/// Ends the process because the disk failed.
pub(crate) fn stop(brick: usize, reason: &str) -> ! {
    tracing::error!(
        brick,
        reason,
        "the process stops: what is on the disk is not known; check the disk, then start again"
    );
    exit(EXIT_DISK)
}

/// Ends the process because the control log can no longer be trusted.
pub(crate) fn stop_control(reason: &str) -> ! {
    tracing::error!(
        reason,
        "the process stops: this node can make no more promises"
    );
    exit(EXIT_DISK)
}
