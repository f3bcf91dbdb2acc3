//! Shutdown: by a signal, a client's SHUTDOWN, or the program that started the node.

use super::link::{LoopLink, Notices, ToLoop, send_all};
use std::cell::RefCell;
use std::process::exit;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc as std_mpsc};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Exit status after a second signal: not everything was finished.
const EXIT_AT_ONCE: i32 = 1;

/// Whether SIGTERM and SIGINT stop the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signals {
    /// Yes: the process is the node.
    Handle,
    /// No: the process is somebody else's, such as a test.
    Ignore,
}

/// Asks a node to stop; any number of times, from anywhere.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<watch::Sender<bool>>);

impl Stopper {
    /// Asks the node to finish what it has and end.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    fn is_stopping(&self) -> bool {
        *self.0.borrow()
    }
}

/// The control thread's end of all [`Stopper`]s.
#[derive(Debug)]
pub(crate) struct Stop {
    stopper: Stopper,
    asked: watch::Receiver<bool>,
}

/// Both ends.
pub(crate) fn stopper() -> (Stopper, Stop) {
    let (sender, asked) = watch::channel(false);
    let stopper = Stopper(Arc::new(sender));
    (stopper.clone(), Stop { stopper, asked })
}

impl Stop {
    pub(crate) fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Waits until somebody asks.
    pub(crate) async fn wait(&mut self) {
        // The sender lives in `self`, so the channel cannot close.
        drop(self.asked.wait_for(|is_asked| *is_asked).await);
    }
}

/// The first signal that ends stops the node gracefully, the second at once; SIGHUP has certificates and tokens read again.
pub(crate) async fn handle_signals(stopper: Stopper, reload: std_mpsc::Sender<()>) {
    let signals = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
        signal(SignalKind::hangup()),
    );
    let (Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)) = signals else {
        tracing::warn!("signals cannot be handled: SIGTERM will kill the node without a drain");
        return;
    };
    loop {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
            _ = hangup.recv() => {
                // The thread that does it lives as long as this one.
                let sent = reload.send(());
                debug_assert!(sent.is_ok(), "who reads them has ended");
                continue;
            }
        };
        if stopper.is_stopping() {
            // What was acknowledged is with the operating system; only the last sync is missing.
            tracing::warn!(
                signal = name,
                "second signal: ending at once, without the last sync"
            );
            exit(EXIT_AT_ONCE);
        }
        tracing::info!(signal = name, "stopping: finishing what is in flight");
        stopper.stop();
    }
}

/// Lets the loops finish what they have, at most so long, and ends them.
pub(crate) async fn drain(loops: &RefCell<Vec<LoopLink>>, notices: &Notices, timeout: Duration) {
    send_all(loops, || ToLoop::Drain);
    let all_drained = async {
        while !loops
            .borrow()
            .iter()
            .all(|link| link.state.is_drained.load(Ordering::Acquire))
        {
            notices.drained.notified().await;
        }
    };
    if tokio::time::timeout(timeout, all_drained).await.is_err() {
        tracing::warn!(
            seconds = timeout.as_secs_f64(),
            "stop_timeout is over: closing connections whose requests are still in flight"
        );
    }
    send_all(loops, || ToLoop::Exit);
}
