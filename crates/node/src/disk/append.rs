//! Appends batches in order, and after a failure refuses what was sent behind it.
//!
//! In:  [`AppendOrder`]s of the loop. Out: [`AppendReport`]s for it, in order; for the sync worker, the positions to sync;
//! for the read worker, how far the log is whole.
//!
//! Invariant: after a batch failed, no batch that the brick made before it heard of the failure is
//! written: its operations may have been decided against the failed ones. The brick stamps every
//! batch with its epoch and begins a new one when it hears of a failure; the rest of an epoch is refused.

use super::SYNC_ONLY;
use super::io::AppendIo;
use brickyard_brick::{Append, BatchId, Event};
use brickyard_store::{AppendError, Appended, Appender, Disk, Purpose};
use brickyard_types::{Position, SegmentId};
use std::time::Duration;

/// What the loop asks of the worker that appends.
#[derive(Debug)]
pub enum AppendOrder {
    /// Write this.
    Batch(Append),
    /// Have everything that was ordered before synced, and, unless this is [`super::SYNC_ONLY`], the segment that it is
    /// in sealed.
    Checkpoint(u64),
}

/// What became of it, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppendReport {
    /// The batch is in the log.
    Appended {
        /// Which.
        id: BatchId,
        /// Where it starts.
        position: Position,
    },
    /// Nothing of the batch is in the log, nor of what was sent behind it.
    Failed {
        /// Which.
        id: BatchId,
        /// Why.
        reason: String,
    },
    /// The log goes on in another segment.
    Rolled {
        /// The one that is full.
        sealed: SegmentId,
        /// How long it is.
        bytes: u64,
    },
    /// The log is not to be used any more.
    Poisoned(String),
}

impl AppendReport {
    /// As the brick hears it.
    #[must_use]
    pub fn into_event(self) -> Event<'static> {
        match self {
            Self::Appended { id, position } => Event::Appended { id, position },
            Self::Failed { id, reason } => Event::AppendFailed { id, reason },
            Self::Rolled { sealed, bytes } => Event::Rolled { sealed, bytes },
            Self::Poisoned(reason) => Event::Poisoned(reason),
        }
    }
}

/// What became of a batch on the disk.
enum Outcome {
    Appended(Appended),
    Failed(String),
    Poisoned(String),
}

/// See the module.
pub struct AppendWorker<D: Disk> {
    appender: Appender<D>,
    /// Epochs up to this one are refused, for this reason.
    refused: Option<(u64, String)>,
    /// The last batch was refused: said once, not for every batch of a busy client.
    is_refusing: bool,
}

impl<D: Disk> AppendWorker<D> {
    /// Goes on with a log.
    #[must_use]
    pub fn new(appender: Appender<D>) -> Self {
        Self {
            appender,
            refused: None,
            is_refusing: false,
        }
    }

    /// Carries out an order.
    pub fn carry_out(&mut self, order: &AppendOrder, io: &mut impl AppendIo<D>) {
        match order {
            AppendOrder::Batch(append) => {
                self.append(append, io);
            }
            AppendOrder::Checkpoint(token) => {
                if *token != SYNC_ONLY {
                    self.roll(io);
                }
                let end = self.appender.end();
                io.unsynced(|unsynced| unsynced.on_checkpoint(*token, end));
                io.wake_sync();
            }
        }
    }

    /// Appends a batch for a loop that waits meanwhile; how long that took. Not if a new segment has to be made for it, nor while
    /// the log refuses writes: what a full disk took of a batch is cut off, and that is synced.
    pub fn append_inline(
        &mut self,
        append: &Append,
        io: &mut impl AppendIo<D>,
    ) -> Option<Duration> {
        let is_short_work = !self.is_refusing && self.appender.has_room(append.bytes.len());
        is_short_work.then(|| self.append(append, io))
    }

    /// Nothing more comes: the sync worker does its last sync.
    pub fn close(&mut self, io: &mut impl AppendIo<D>) {
        let end = self.appender.end();
        io.unsynced(|unsynced| unsynced.close(end));
        io.wake_sync();
    }

    /// The last sync is done: marks the log as whole.
    pub fn mark_synced(&mut self) {
        // Best effort: without the mark, only the next start's judgement of a torn tail is coarser.
        if let Err(error) = self.appender.mark_synced() {
            tracing::debug!(%error, "the log ends without a mark");
        }
    }

    /// Appends, or refuses to; how long the disk took.
    fn append(&mut self, append: &Append, io: &mut impl AppendIo<D>) -> Duration {
        let id = append.id;
        if let Some(reason) = self.refusal(append) {
            let reason = reason.to_owned();
            io.report(AppendReport::Failed { id, reason });
            return Duration::ZERO;
        }
        let started = io.now();
        let outcome = self.write(append);
        let took = io.now() - started;
        io.count_append(took, matches!(outcome, Outcome::Failed(_)));
        // Before the loop hears of the batch: it may have it read at once.
        io.set_end(self.appender.end());
        self.pass_on_rolled(io);
        match outcome {
            Outcome::Appended(appended) => {
                if std::mem::take(&mut self.is_refusing) {
                    tracing::info!("the log takes writes again");
                }
                let position = appended.start;
                // Before it may be synced: what is synced was reported appended.
                io.report(AppendReport::Appended { id, position });
                let bytes = append.bytes.len();
                let must_wake = io
                    .unsynced(|unsynced| unsynced.on_written(id, appended.end, bytes, append.sync));
                if must_wake {
                    io.wake_sync();
                }
            }
            Outcome::Failed(reason) => {
                if !std::mem::replace(&mut self.is_refusing, true) {
                    tracing::error!(error = reason, "the log refuses writes; reads go on");
                }
                io.report(AppendReport::Failed { id, reason });
            }
            Outcome::Poisoned(reason) => io.report(AppendReport::Poisoned(reason)),
        }
        took
    }

    /// Why the batch is refused without a look at the disk; `None` if it is not.
    fn refusal(&self, append: &Append) -> Option<&str> {
        let (refused, reason) = self.refused.as_ref()?;
        (append.epoch <= *refused).then_some(reason.as_str())
    }

    fn write(&mut self, append: &Append) -> Outcome {
        let purpose = if append.frees_space {
            Purpose::Reclaim
        } else {
            Purpose::Store
        };
        match self.appender.append(&append.bytes, purpose) {
            Ok(appended) => Outcome::Appended(appended),
            Err(AppendError::Poisoned(poisoned)) => Outcome::Poisoned(poisoned.to_string()),
            Err(error) => {
                let reason = error.to_string();
                self.refused = Some((append.epoch, reason.clone()));
                Outcome::Failed(reason)
            }
        }
    }

    /// Ends the active segment, so that the sync of a checkpoint seals it.
    fn roll(&mut self, io: &mut impl AppendIo<D>) {
        let result = self.appender.roll();
        io.set_end(self.appender.end());
        self.pass_on_rolled(io);
        match result {
            Ok(()) => {}
            Err(AppendError::Poisoned(poisoned)) => {
                io.report(AppendReport::Poisoned(poisoned.to_string()));
            }
            // What a checkpoint promises is the sync; the segment is sealed when it is full.
            Err(error) => tracing::warn!(%error, "a checkpoint cannot seal the active segment"),
        }
    }

    fn pass_on_rolled(&mut self, io: &mut impl AppendIo<D>) {
        while let Some(rolled) = self.appender.take_rolled() {
            let (sealed, bytes) = (rolled.segment(), u64::from(rolled.bytes()));
            io.unsynced(|unsynced| unsynced.add_rolled(rolled));
            io.report(AppendReport::Rolled { sealed, bytes });
        }
    }
}
