//! The append thread: it carries out the loop's orders in order, and lets the sync thread end with it.
//!
//! Not here: what is written and what is refused, and who hears of it (`node`).

use super::progress::Progress;
use super::timing::DiskStats;
use crate::clock;
use crate::queue::{self, Reports};
use brickyard_node::disk::{AppendIo, AppendOrder, AppendReport, AppendWorker, Unsynced, WorkerIo};
use brickyard_store::Disk;
use brickyard_types::{Instant, Position};
use rtrb::Consumer;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Batches that the ring of orders holds; the brick bounds their bytes.
pub(super) const ORDERS_MAX: usize = 1024;

pub(super) struct AppendThread<D: Disk> {
    pub(super) worker: AppendWorker<D>,
    pub(super) orders: Consumer<AppendOrder>,
    pub(super) around: Around<D>,
}

/// What is around the worker.
pub(super) struct Around<D: Disk> {
    pub(super) reports: Reports<AppendReport>,
    pub(super) progress: Arc<Progress<D>>,
    pub(super) stats: Arc<DiskStats>,
}

impl<D: Disk> AppendThread<D> {
    /// Carries out orders until the loop ends, then lets the sync thread end.
    pub(super) fn run(mut self) {
        while let Some(order) = queue::wait(&mut self.orders) {
            self.worker.carry_out(&order, &mut self.around);
        }
        self.worker.close(&mut self.around);
        self.around.progress.wait_until_finished();
        self.worker.mark_synced();
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

impl<D: Disk> AppendIo<D> for Around<D> {
    fn set_end(&mut self, end: Position) {
        self.progress.set_end(end);
    }

    fn wake_sync(&mut self) {
        self.progress.wake_sync();
    }

    fn report(&mut self, report: AppendReport) {
        self.reports.give(report);
    }

    fn count_append(&mut self, took: Duration, is_failed: bool) {
        self.stats.append.add(took);
        if is_failed {
            self.stats.append_failures.fetch_add(1, Relaxed);
        }
    }
}
