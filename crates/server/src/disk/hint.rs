//! The node's hint thread: writes hint files of sealed segments, whenever it comes to it.
//!
//! One for all bricks, since nothing waits for it: a hint file that is not written only makes the
//! next start read that segment in full. A segment with values that live in memory is read in full
//! anyway, so it gets none.

use crate::fatal;
use brickyard_metadata::Catalog;
use brickyard_store::{Disk, HintJob, PartitionRange};
use brickyard_types::Medium;
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
        let segment = job.segment();
        if !spares_reading(&catalog.borrow(), job.ranges()) {
            continue;
        }
        match job.run() {
            Ok(true) => tracing::debug!(segment = segment.0, "hint file written"),
            Ok(false) => tracing::warn!(segment = segment.0, "no hint file: segment is damaged"),
            Err(error) => tracing::warn!(segment = segment.0, %error, "no hint file"),
        }
    }
}

/// Whether a start with the segment's hint file would not read the segment: it has no record of a
/// table whose values live in memory. (A dropped table's records are not read either.)
fn spares_reading(catalog: &Catalog, ranges: &[PartitionRange]) -> bool {
    ranges.iter().all(|range| {
        catalog
            .table_by_id(range.table)
            .is_none_or(|table| table.attributes.medium == Medium::Disk)
    })
}
