//! The append thread: writes batches in order, and after a failure refuses what was sent behind it.
//!
//! In:  [`AppendOrder`]s from the loop. Out: [`AppendReport`]s to the loop, in order; positions and
//!      full segments to the sync thread; to the read thread, how far the log is whole.
//!
//! Not here: what is written and what is refused (`node`).

use super::sync::Progress;
use super::timing::DiskStats;
use crate::queue::{self, Reports};
use brickyard_brick::{Append, BatchId};
use brickyard_node::disk::{AppendOrder, Appending, Outcome, SYNC_ONLY};
use brickyard_store::{AppendError, Disk};
use brickyard_types::{Position, SegmentId};
use rtrb::Consumer;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Batches that the ring of orders holds; the brick bounds their bytes.
pub(super) const ORDERS_MAX: usize = 1024;

/// What became of it.
#[derive(Debug)]
pub(super) enum AppendReport {
    Appended { id: BatchId, position: Position },
    Failed { id: BatchId, reason: String },
    Rolled { sealed: SegmentId, bytes: u64 },
    Poisoned(String),
}

pub(super) struct AppendThread<D: Disk> {
    pub(super) log: Appending<D>,
    pub(super) orders: Consumer<AppendOrder>,
    pub(super) reports: Reports<AppendReport>,
    pub(super) progress: Arc<Progress<D>>,
    pub(super) stats: Arc<DiskStats>,
    /// The last batch was refused: said once, not for every batch of a busy client.
    pub(super) is_refusing: bool,
}

impl<D: Disk> AppendThread<D> {
    /// Carries out orders until the loop ends, then lets the sync thread end.
    pub(super) fn run(mut self) {
        while let Some(order) = queue::wait(&mut self.orders) {
            match order {
                AppendOrder::Batch(append) => self.append(&append),
                AppendOrder::Checkpoint(token) => {
                    if token != SYNC_ONLY {
                        self.roll();
                    }
                    self.progress.on_checkpoint(token, self.log.appender.end());
                }
            }
        }
        self.progress.close(self.log.appender.end());
        self.progress.wait_until_synced();
        // Best effort: without the mark, only the next start's judgement of a torn tail is coarser.
        if let Err(error) = self.log.appender.mark_synced() {
            tracing::debug!(%error, "the log ends without a mark");
        }
    }

    fn append(&mut self, append: &Append) {
        let id = append.id;
        if let Some(reason) = self.log.refusal(append) {
            let reason = reason.to_owned();
            self.reports.give(AppendReport::Failed { id, reason });
            return;
        }
        let started = Instant::now();
        let outcome = self.log.append(append);
        self.stats.append.add(started.elapsed());
        // Before the loop hears of the batch: it may have it read at once.
        self.progress.set_end(self.log.appender.end());
        self.pass_on_rolled();
        match outcome {
            Outcome::Appended(appended) => {
                if std::mem::take(&mut self.is_refusing) {
                    tracing::info!("the log takes writes again");
                }
                let position = appended.start;
                self.reports.give(AppendReport::Appended { id, position });
                let bytes = append.bytes.len();
                self.progress
                    .on_written(id, appended.end, bytes, append.sync);
            }
            Outcome::Poisoned(reason) => self.reports.give(AppendReport::Poisoned(reason)),
            Outcome::Failed(reason) => {
                self.stats.append_failures.fetch_add(1, Relaxed);
                if !std::mem::replace(&mut self.is_refusing, true) {
                    tracing::error!(error = reason, "the log refuses writes; reads go on");
                }
                self.reports.give(AppendReport::Failed { id, reason });
            }
        }
    }

    /// Ends the active segment, so that the sync of a checkpoint seals it.
    fn roll(&mut self) {
        let result = self.log.appender.roll();
        self.progress.set_end(self.log.appender.end());
        self.pass_on_rolled();
        match result {
            Ok(()) => {}
            Err(AppendError::Poisoned(poisoned)) => {
                self.reports
                    .give(AppendReport::Poisoned(poisoned.to_string()));
            }
            // What a checkpoint promises is the sync; the segment is sealed when it is full.
            Err(error) => tracing::warn!(%error, "a checkpoint cannot seal the active segment"),
        }
    }

    fn pass_on_rolled(&mut self) {
        while let Some(rolled) = self.log.appender.take_rolled() {
            let (sealed, bytes) = (rolled.segment(), u64::from(rolled.bytes()));
            self.progress.on_rolled(rolled);
            self.reports.give(AppendReport::Rolled { sealed, bytes });
        }
    }
}
