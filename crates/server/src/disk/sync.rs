//! The sync thread: group commit when a batch asks for it, otherwise every `sync_interval`; it deletes segments, too.
//!
//! In:  what the append thread has written; segments to delete, from the read thread.
//! Out: the newest synced batch (an atomic, so that a slow reader costs no queue), and [`SyncReport`]s.
//!
//! Not here: when to sync what (`node`).

use super::idle::IdleJob;
use super::progress::Progress;
use super::timing::DiskStats;
use crate::clock;
use crate::queue::{self, Reports};
use brickyard_brick::BatchId;
use brickyard_node::disk::{SyncIo, SyncStep, SyncWorker, Unsynced, WorkerIo};
use brickyard_store::{Disk, FreeJob, HintJob, Poisoned};
use brickyard_types::{Instant, SegmentId};
use rtrb::Consumer;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread;

/// Deletes and reports that may be on their way.
pub(super) const ORDERS_MAX: usize = 256;

/// What the sync thread tells the loop besides the newest synced batch.
#[derive(Debug)]
pub(super) enum SyncReport {
    Checkpointed(u64),
    Poisoned(String),
}

pub(super) struct SyncThread<D: Disk> {
    pub(super) worker: SyncWorker<D>,
    pub(super) deletes: Consumer<SegmentId>,
    pub(super) around: Around<D>,
}

/// What is around the worker.
pub(super) struct Around<D: Disk> {
    pub(super) progress: Arc<Progress<D>>,
    pub(super) reports: Reports<SyncReport>,
    pub(super) idle: SyncSender<IdleJob<D>>,
    pub(super) stats: Arc<DiskStats>,
}

impl<D: Disk> SyncThread<D> {
    /// Syncs until the append thread is done, or a sync failed.
    pub(super) fn run(mut self) {
        let outcome = self.serve();
        if let Err(poisoned) = outcome {
            tracing::error!(error = %poisoned, "a sync failed: the log is closed");
            let report = SyncReport::Poisoned(poisoned.to_string());
            self.around.reports.give(report);
        }
        self.around.progress.finish();
    }

    fn serve(&mut self) -> Result<(), Poisoned> {
        loop {
            self.take_deletes();
            match self.worker.next(&mut self.around)? {
                SyncStep::Again => {}
                SyncStep::Sleep(None) => thread::park(),
                SyncStep::Sleep(Some(timeout)) => thread::park_timeout(timeout),
                SyncStep::Sync(job) => {
                    let started = clock::now();
                    self.around.stats.sync.begin(started);
                    let hints = self.worker.sync(&job)?;
                    self.around.stats.sync.end();
                    let took = clock::now() - started;
                    self.around.stats.sync.add(took);
                    if self.worker.finish(job, hints, took, &mut self.around) {
                        return self.delete_all();
                    }
                }
            }
        }
    }

    fn take_deletes(&mut self) {
        while let Ok(segment) = self.deletes.pop() {
            self.worker.postpone(segment);
        }
    }

    /// Deletes what the read thread passes on until it ends.
    fn delete_all(&mut self) -> Result<(), Poisoned> {
        while let Some(segment) = queue::wait(&mut self.deletes) {
            self.worker.postpone(segment);
        }
        while self.worker.delete(&mut self.around)? {}
        Ok(())
    }
}

impl<D: Disk> WorkerIo<D> for Around<D> {
    fn now(&self) -> Instant {
        clock::now()
    }

    fn unsynced<R>(&mut self, check: impl FnOnce(&mut Unsynced<D>) -> R) -> R {
        check(&mut self.progress.lock())
    }
}

impl<D: Disk> SyncIo<D> for Around<D> {
    fn synced(&mut self, batch: BatchId) {
        self.progress.set_synced(batch);
        self.reports.wake();
    }

    fn checkpointed(&mut self, token: u64) {
        self.reports.give(SyncReport::Checkpointed(token));
    }

    fn hint(&mut self, job: HintJob<D>) {
        let segment = job.segment();
        if self.idle.try_send(IdleJob::Hint(job)).is_err() {
            // It only makes the next start read this segment in full.
            tracing::debug!(
                segment = segment.0,
                "no hint file: the idle thread is behind"
            );
        }
    }

    fn free(&mut self, job: FreeJob<D>) {
        // One that is not taken is dropped, which gives the room back at once.
        drop(self.idle.try_send(IdleJob::Free(job)));
    }
}
