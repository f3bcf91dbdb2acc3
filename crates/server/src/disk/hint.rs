//! The node's hint thread: writes hint files of sealed segments, whenever it comes to it.
//!
//! One for all bricks, since nothing waits for it: a hint file that is not written only makes the
//! next start read that segment in full.

use crate::fatal;
use brickyard_store::{Disk, HintJob};
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Jobs that may wait. A sealed segment is one job, so this is gigabytes of writes behind.
const JOBS_MAX: usize = 64;

/// The thread, as its users see it; it ends when it and all its senders are dropped.
#[derive(Debug)]
pub(crate) struct HintThread<D: Disk> {
    jobs: SyncSender<HintJob<D>>,
    handle: JoinHandle<()>,
}

impl<D: Disk> HintThread<D> {
    /// Starts the thread.
    ///
    /// # Errors
    /// The operating system has no room for another thread.
    pub(crate) fn start() -> io::Result<Self> {
        let (jobs, receiver) = sync_channel(JOBS_MAX);
        let handle = fatal::spawn("hints".to_owned(), move || run(&receiver))?;
        Ok(Self { jobs, handle })
    }

    /// A way to give it jobs.
    pub(crate) fn sender(&self) -> SyncSender<HintJob<D>> {
        self.jobs.clone()
    }

    /// Lets the thread end once its jobs are done, and returns what to wait for.
    pub(crate) fn finish(self) -> JoinHandle<()> {
        self.handle
    }
}

fn run<D: Disk>(jobs: &Receiver<HintJob<D>>) {
    while let Ok(job) = jobs.recv() {
        let segment = job.segment();
        match job.run() {
            Ok(true) => tracing::debug!(segment = segment.0, "hint file written"),
            Ok(false) => tracing::warn!(segment = segment.0, "no hint file: segment is damaged"),
            Err(error) => tracing::warn!(segment = segment.0, %error, "no hint file"),
        }
    }
}
