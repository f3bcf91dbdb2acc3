//! The node's idle thread: writes hint files of sealed segments and gives the room of deleted ones back, whenever it comes
//! to it. One for all bricks, since nothing waits for it.
//!
//! Not here: which segments get a hint file (`node`).

use crate::fatal;
use brickyard_metadata::Catalog;
use brickyard_node::disk::write_hint;
use brickyard_store::{Disk, FreeJob, HintJob};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;
use tokio::sync::watch;

/// Jobs that may wait. A sealed segment is one job, a deleted one too, so this is a gigabyte of writes behind, or of room
/// that could be free.
const JOBS_MAX: usize = 16;

/// What the thread does. A job that is dropped is no loss: a start is slower, or the log waits a little.
pub(crate) enum IdleJob<D: Disk> {
    Hint(HintJob<D>),
    Free(FreeJob<D>),
}

/// The thread, as its users see it; it ends when it and all its senders are dropped.
#[derive(Debug)]
pub(crate) struct IdleThread<D: Disk> {
    jobs: SyncSender<IdleJob<D>>,
    is_ending: Arc<AtomicBool>,
    handle: JoinHandle<()>,
}

impl<D: Disk> IdleThread<D> {
    /// Starts the thread; `catalog` says which tables keep their values on disk.
    ///
    /// # Errors
    /// The operating system has no room for another thread.
    pub(crate) fn start(catalog: watch::Receiver<Arc<Catalog>>) -> io::Result<Self> {
        let (jobs, receiver) = sync_channel(JOBS_MAX);
        let is_ending = Arc::new(AtomicBool::new(false));
        let ending = Arc::clone(&is_ending);
        let handle = fatal::spawn("idle".to_owned(), move || {
            run(&receiver, &catalog, &ending);
        })?;
        Ok(Self {
            jobs,
            is_ending,
            handle,
        })
    }

    /// A way to give it jobs.
    pub(crate) fn sender(&self) -> SyncSender<IdleJob<D>> {
        self.jobs.clone()
    }

    /// Lets the thread end once its hint files are written, and returns what to wait for. Room is given back at once then.
    pub(crate) fn finish(self) -> JoinHandle<()> {
        self.is_ending.store(true, Ordering::Relaxed);
        self.handle
    }
}

fn run<D: Disk>(
    jobs: &Receiver<IdleJob<D>>,
    catalog: &watch::Receiver<Arc<Catalog>>,
    is_ending: &AtomicBool,
) {
    while let Ok(job) = jobs.recv() {
        match job {
            IdleJob::Hint(job) => {
                let catalog = Arc::clone(&catalog.borrow());
                write_hint(job, &catalog);
            }
            IdleJob::Free(job) => free(job, is_ending),
        }
    }
}

/// Half of the time the disk is left to the others.
fn free<D: Disk>(mut job: FreeJob<D>, is_ending: &AtomicBool) {
    // At the end nobody is left to wait for the disk, but whoever waits for the end.
    while !is_ending.load(Ordering::Relaxed) {
        let started = Instant::now();
        if !job.step() {
            return;
        }
        thread::sleep(started.elapsed());
    }
}
