//! The node's hint thread: writes hint files of sealed segments, whenever it comes to it. One for all bricks, since
//! nothing waits for it.
//!
//! Not here: which segments get one (`node`).

use crate::fatal;
use brickyard_metadata::Catalog;
use brickyard_node::disk::write_hint;
use brickyard_store::{Disk, HintJob};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use tokio::sync::watch;

/// Jobs that may wait. A sealed segment is one job, so this is gigabytes of writes behind.
const JOBS_MAX: usize = 64;

/// The thread, as its users see it; it ends when it and all its senders are dropped.
#[derive(Debug)]
pub(crate) struct HintThread<D: Disk> {
    jobs: SyncSender<HintJob<D>>,
    handle: JoinHandle<()>,
}

impl<D: Disk> HintThread<D> {
    /// Starts the thread; `catalog` says which tables keep their values on disk.
    ///
    /// # Errors
    /// The operating system has no room for another thread.
    pub(crate) fn start(catalog: watch::Receiver<Arc<Catalog>>) -> io::Result<Self> {
        let (jobs, receiver) = sync_channel(JOBS_MAX);
        let handle = fatal::spawn("hints".to_owned(), move || run(&receiver, &catalog))?;
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

fn run<D: Disk>(jobs: &Receiver<HintJob<D>>, catalog: &watch::Receiver<Arc<Catalog>>) {
    while let Ok(job) = jobs.recv() {
        let catalog = Arc::clone(&catalog.borrow());
        write_hint(job, &catalog);
    }
}
