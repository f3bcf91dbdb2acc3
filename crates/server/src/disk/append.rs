//! The append thread: it carries out the loop's orders in order, and lets the sync thread end with it. While it has none,
//! the loop may write a batch itself.
//!
//! Invariant: who holds the worker's lock appends. The thread takes an order out of the ring under the lock, and the loop
//! takes the lock only when the ring is empty, without waiting for it: so batches are written in the order in which
//! the brick made them, and what the thread has reported is in its ring before the loop writes.
//!
//! Not here: what is written and what is refused, who hears of it, and which batches are written inline (`node`).

use super::progress::Progress;
use super::timing::DiskStats;
use crate::clock;
use crate::queue::{self, Orders, Reports};
use brickyard_brick::Append;
use brickyard_node::disk::{
    AppendIo, AppendOrder, AppendReport, AppendWorker, InlineAppends, Unsynced, WorkerIo,
};
use brickyard_store::Disk;
use brickyard_types::{Instant, Position};
use rtrb::Consumer;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Batches that the ring of orders holds; the brick bounds their bytes.
pub(super) const ORDERS_MAX: usize = 1024;

/// The thread's end.
pub(super) struct AppendThread<D: Disk> {
    pub(super) worker: Arc<Mutex<AppendWorker<D>>>,
    pub(super) orders: Consumer<AppendOrder>,
    pub(super) around: Around<D, Reports<AppendReport>>,
}

/// The loop's end.
pub(super) struct InlineAppender<D: Disk> {
    pub(super) worker: Arc<Mutex<AppendWorker<D>>>,
    pub(super) appends: InlineAppends,
    pub(super) around: Around<D, VecDeque<AppendReport>>,
}

/// [`InlineAppender`], whatever the disk.
pub(super) trait Inline: Send + fmt::Debug {
    /// Writes the batch, if the thread has nothing to do and the write is not expected to take long; whether it did.
    fn append(
        &mut self,
        append: &Append,
        orders: &Orders<AppendOrder>,
        reports: &Consumer<AppendReport>,
    ) -> bool;

    /// Whether something is known of those that were written so.
    fn has_reports(&self) -> bool;

    /// What became of them, in order.
    fn take_report(&mut self) -> Option<AppendReport>;
}

/// What is around the worker; reports go where its user wants them.
pub(super) struct Around<D: Disk, To> {
    pub(super) reports: To,
    pub(super) progress: Arc<Progress<D>>,
    pub(super) stats: Arc<DiskStats>,
}

impl<D: Disk> AppendThread<D> {
    /// Carries out orders until the loop ends, then lets the sync thread end.
    pub(super) fn run(mut self) {
        let around = &mut self.around;
        queue::serve(&mut self.orders, &self.worker, |worker, order| {
            around.stats.append.begin(clock::now());
            worker.carry_out(&order, around);
            around.stats.append.end();
        });
        let mut worker = queue::lock(&self.worker);
        worker.close(around);
        around.progress.wait_until_finished();
        worker.mark_synced();
    }
}

impl<D: Disk> Inline for InlineAppender<D> {
    fn append(
        &mut self,
        append: &Append,
        orders: &Orders<AppendOrder>,
        reports: &Consumer<AppendReport>,
    ) -> bool {
        let started = clock::now();
        if !self.appends.admit(append, started) {
            return false;
        }
        let Some(mut worker) = orders.lend(&self.worker) else {
            return false;
        };
        // Looked at under the lock: what the thread has reported is to be heard first.
        if !reports.is_empty() {
            return false;
        }
        self.around.stats.append.begin(started);
        let took = worker.append_inline(append, &mut self.around);
        self.around.stats.append.end();
        let Some(took) = took else {
            return false;
        };
        self.appends.on_appended(started, took);
        self.around.stats.inline_appends.fetch_add(1, Relaxed);
        true
    }

    fn has_reports(&self) -> bool {
        !self.around.reports.is_empty()
    }

    fn take_report(&mut self) -> Option<AppendReport> {
        self.around.reports.pop_front()
    }
}

impl<D: Disk> fmt::Debug for InlineAppender<D> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut it = formatter.debug_struct("InlineAppender");
        it.field("appends", &self.appends).finish_non_exhaustive()
    }
}

impl<D: Disk, To> WorkerIo<D> for Around<D, To> {
    fn now(&self) -> Instant {
        clock::now()
    }

    fn unsynced<R>(&mut self, check: impl FnOnce(&mut Unsynced<D>) -> R) -> R {
        check(&mut self.progress.lock())
    }
}

/// Where a report goes.
pub(super) trait TakeReport {
    fn take(&mut self, report: AppendReport);
}

impl TakeReport for Reports<AppendReport> {
    fn take(&mut self, report: AppendReport) {
        self.give(report);
    }
}

impl TakeReport for VecDeque<AppendReport> {
    fn take(&mut self, report: AppendReport) {
        self.push_back(report);
    }
}

impl<D: Disk, To: TakeReport> AppendIo<D> for Around<D, To> {
    fn set_end(&mut self, end: Position) {
        self.progress.set_end(end);
    }

    fn wake_sync(&mut self) {
        self.progress.wake_sync();
    }

    fn report(&mut self, report: AppendReport) {
        self.reports.take(report);
    }

    fn count_append(&mut self, took: Duration, is_failed: bool) {
        self.stats.append.add(took);
        if is_failed {
            self.stats.append_failures.fetch_add(1, Relaxed);
        }
    }
}
