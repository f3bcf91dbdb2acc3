//! Syncs the log, group by group, and deletes segments once they are sealed.
//!
//! In:  [`Unsynced`] of the append worker; segments to delete. Out: the newest synced batch, checkpoints, hint files to
//! write, room to give back.
//!
//! One sync covers every batch that was written before it began: while it runs the next ones
//! gather, so that a disk with slow syncs gets larger groups and not a longer queue. Likewise one sync of
//! the directory covers all segments that are to be deleted by then, up to a bound.
//!
//! Under load that alone settles at two groups of clients that take turns: one waits for the sync
//! while the other is answered and sends again. So where a sync found several batches waiting, or more came
//! meanwhile, the next one is held back until about as much is written as was under way, or for three times as long
//! as the last one took: the groups meet, and half the syncs do. A client that is alone never waits for another one.
//!
//! What asks for no sync is synced from time to time, and earlier where much is written: to write back a second of a busy log
//! at once takes the disk so long that the log's own writes wait for it.
//!
//! Invariant: a batch that asks for it is synced as soon as the sync before it is done, but for that time; all others
//! within the interval.

use super::io::SyncIo;
use super::unsynced::Unsynced;
use brickyard_brick::BatchId;
use brickyard_store::{Disk, HintJob, Poisoned, Rolled, Syncer};
use brickyard_types::{Instant, Position, SegmentId};
use std::collections::BTreeSet;
use std::time::Duration;

/// Segments that are deleted between two looks for something to sync.
const DELETES_AT_ONCE: usize = 32;

/// A wanted sync is held back for so many times what the last one took: until then the loop has answered those whom
/// that one has let go, they have asked again, and the loop has written it. Less, and on a quick disk some come too late.
const HOLD_SYNCS: u32 = 3;

/// And no longer.
const HOLD_MAX: Duration = Duration::from_millis(1);

/// When to sync what asks for none: at the latest after so long, and after so many bytes.
#[derive(Clone, Copy, Debug)]
pub struct SyncPace {
    /// What a power cut may cost.
    pub interval: Duration,
    /// What is written back at once.
    pub bytes: u64,
}

/// A sync that is to be done.
#[derive(Debug)]
pub struct SyncJob {
    id: BatchId,
    end: Position,
    checkpoints: Vec<u64>,
    is_last: bool,
    /// How many batches it covers.
    batches: u32,
    /// Bytes that were written before it.
    bytes: u64,
}

/// What the sync worker found to do.
#[derive(Debug)]
pub enum SyncStep {
    /// Sync.
    Sync(SyncJob),
    /// Look again at once: there is more to delete.
    Again,
    /// Sleep until woken, at most so long.
    Sleep(Option<Duration>),
}

/// See the module.
pub struct SyncWorker<D: Disk> {
    syncer: Syncer<D>,
    /// Full segments without a footer yet: a full disk may delay it.
    unsealed: BTreeSet<SegmentId>,
    /// Segments to delete, in order, once they are sealed.
    postponed: Vec<SegmentId>,
    pace: SyncPace,
    /// When the oldest unsynced write must be synced at the latest.
    due: Option<Instant>,
    /// Before this instant a sync that a batch wants is held back, unless enough is written.
    hold_until: Instant,
    synced: BatchId,
    synced_bytes: u64,
}

impl<D: Disk> SyncWorker<D> {
    /// Goes on with a log, of which these segments are full and not sealed.
    #[must_use]
    pub fn new(
        syncer: Syncer<D>,
        unsealed: impl IntoIterator<Item = SegmentId>,
        pace: SyncPace,
    ) -> Self {
        assert!(
            pace.bytes > 0,
            "a log of which nothing waits for a sync is synced without an end"
        );
        Self {
            syncer,
            unsealed: unsealed.into_iter().collect(),
            postponed: Vec::new(),
            pace,
            due: None,
            hold_until: Instant(0),
            synced: BatchId(0),
            synced_bytes: 0,
        }
    }

    /// A segment is to be deleted as soon as that may be.
    pub fn postpone(&mut self, segment: SegmentId) {
        self.postponed.push(segment);
    }

    /// Deletes a few of the segments that are to go, and looks for something to sync.
    ///
    /// # Errors
    /// The log is not to be used any more.
    pub fn next(&mut self, io: &mut impl SyncIo<D>) -> Result<SyncStep, Poisoned> {
        let has_more = self.delete(io)?;
        let now = io.now();
        Ok(match io.unsynced(|unsynced| self.check(unsynced, now)) {
            SyncStep::Sleep(_) if has_more => SyncStep::Again,
            next => next,
        })
    }

    /// Deletes a few of the segments that are to go, with one sync; true if there are more.
    ///
    /// # Errors
    /// The log is not to be used any more.
    pub fn delete(&mut self, io: &mut impl SyncIo<D>) -> Result<bool, Poisoned> {
        if self.postponed.is_empty() {
            return Ok(false);
        }
        // The loop may have heard of a full segment, and found it dead, before this worker looked.
        io.unsynced(|unsynced| self.take_rolled(&mut unsynced.rolled));
        // In order but for those that are not sealed yet: segments are sealed in order, so what is passed
        // over can hold nothing that a segment which goes before it has hidden.
        let mut ready = Vec::new();
        self.postponed.retain(|segment| {
            let is_ready = ready.len() < DELETES_AT_ONCE && !self.unsealed.contains(segment);
            if is_ready {
                ready.push(*segment);
            }
            !is_ready
        });
        self.syncer.delete_segments(&ready)?;
        while let Some(job) = self.syncer.take_free_job() {
            io.free(job);
        }
        for segment in &ready {
            tracing::debug!(segment = segment.0, "segment deleted");
        }
        Ok(ready.len() == DELETES_AT_ONCE)
    }

    fn take_rolled(&mut self, rolled: &mut Vec<Rolled<D>>) {
        for rolled in rolled.drain(..) {
            self.unsealed.insert(rolled.segment());
            self.syncer.add_rolled(rolled);
        }
    }

    fn check(&mut self, unsynced: &mut Unsynced<D>, now: Instant) -> SyncStep {
        unsynced.is_holding = false;
        unsynced.due_at = self.synced_bytes.saturating_add(self.pace.bytes);
        unsynced.is_due = unsynced.bytes >= unsynced.due_at;
        // Together with the position below, which may be in the segment behind them.
        self.take_rolled(&mut unsynced.rolled);
        if unsynced.is_dirty && self.due.is_none() {
            self.due = Some(now + self.pace.interval);
        }
        let wait = self.due.map(|due| due - now);
        let is_wanted = unsynced.wanted > self.synced;
        let is_urgent = unsynced.is_closed
            || unsynced.is_due
            || !unsynced.checkpoints.is_empty()
            || wait.is_some_and(|wait| wait.is_zero());
        if is_wanted && !is_urgent {
            let hold = self.hold_until - now;
            if !hold.is_zero() && unsynced.bytes < unsynced.held_for {
                unsynced.is_holding = true;
                return SyncStep::Sleep(Some(hold));
            }
        }
        if is_wanted || is_urgent {
            unsynced.is_dirty = false;
            let (id, end) = unsynced.written;
            return SyncStep::Sync(SyncJob {
                id,
                end,
                checkpoints: std::mem::take(&mut unsynced.checkpoints),
                is_last: unsynced.is_closed,
                batches: std::mem::take(&mut unsynced.batches),
                bytes: unsynced.bytes,
            });
        }
        unsynced.is_idle = wait.is_none();
        SyncStep::Sleep(wait)
    }

    /// Makes everything durable that the job covers, and seals what is full; hint files that may be written now.
    ///
    /// # Errors
    /// The log is not to be used any more.
    pub fn sync(&mut self, job: &SyncJob) -> Result<Vec<HintJob<D>>, Poisoned> {
        self.syncer.sync(job.end)?;
        let mut hints = Vec::new();
        while let Some(hint) = self.syncer.take_hint_job() {
            self.unsealed.remove(&hint.segment());
            hints.push(hint);
        }
        Ok(hints)
    }

    /// Tells what a sync has done, which took so long; whether it was the last.
    pub fn finish(
        &mut self,
        job: SyncJob,
        hints: Vec<HintJob<D>>,
        took: Duration,
        io: &mut impl SyncIo<D>,
    ) -> bool {
        assert!(job.id >= self.synced, "what is synced stays so");
        self.synced = job.id;
        self.due = None;
        io.synced(job.id);
        for hint in hints {
            io.hint(hint);
        }
        let bytes = job.bytes - std::mem::replace(&mut self.synced_bytes, job.bytes);
        let has_more = io.unsynced(|unsynced| expect(unsynced, bytes, job.bytes));
        self.hold_until = io.now();
        if has_more || job.batches > 1 {
            self.hold_until = self.hold_until + took.saturating_mul(HOLD_SYNCS).min(HOLD_MAX);
        }
        for token in job.checkpoints {
            io.checkpointed(token);
        }
        job.is_last
    }
}

/// Notes how much to hold the next sync for, after one of `synced` bytes that ended at `end`: what it has let go will
/// come back, and joins what came meanwhile. Tells whether anything came.
fn expect<D: Disk>(unsynced: &mut Unsynced<D>, synced: u64, end: u64) -> bool {
    let waiting = unsynced.bytes - end;
    // An eighth less: not everybody sends as much again.
    unsynced.held_for = end + (synced + waiting) / 8 * 7;
    waiting > 0
}

#[cfg(test)]
#[path = "sync_test.rs"]
mod sync_test;
