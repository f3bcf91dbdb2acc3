//! What the workers of a log have outside of themselves.

use super::append::AppendReport;
use super::unsynced::Unsynced;
use brickyard_brick::BatchId;
use brickyard_store::{Disk, FreeJob, HintJob};
use brickyard_types::{Instant, Position};
use std::time::Duration;

/// What the append worker and the sync worker both have.
pub trait WorkerIo<D: Disk> {
    /// A clock that never goes back.
    fn now(&self) -> Instant;

    /// Looks at, or changes, what the two share; the other one does not do so meanwhile.
    fn unsynced<R>(&mut self, check: impl FnOnce(&mut Unsynced<D>) -> R) -> R;
}

/// What the append worker has outside of itself.
pub trait AppendIo<D: Disk>: WorkerIo<D> {
    /// The log is whole up to here; the loop hears of what is in it only after that.
    fn set_end(&mut self, end: Position);

    /// Has the sync worker look for something to do.
    fn wake_sync(&mut self);

    /// Reports to the loop.
    fn report(&mut self, report: AppendReport);

    /// Counts an append that took so long.
    fn count_append(&mut self, took: Duration, is_failed: bool);
}

/// What the sync worker has outside of itself.
pub trait SyncIo<D: Disk>: WorkerIo<D> {
    /// Tells the loop that everything up to this batch is synced. It may miss one if a later one comes.
    fn synced(&mut self, batch: BatchId);

    /// Tells the loop that a checkpoint is done, behind what it is told of the sync.
    fn checkpointed(&mut self, token: u64);

    /// A segment is sealed: its hint file may be written, or not.
    fn hint(&mut self, job: HintJob<D>);

    /// A segment is deleted: its room is to be given back, bit by bit.
    fn free(&mut self, job: FreeJob<D>);
}
