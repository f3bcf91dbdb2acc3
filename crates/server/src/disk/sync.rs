//! The sync thread: group commit when a batch asks for it, otherwise every `sync_interval`.
//!
//! In:  [`Progress`] from the append thread; segments to delete from the loop.
//! Out: the newest synced batch (an atomic, so that a slow reader costs no queue), and
//!      [`SyncReport`]s.
//!
//! One sync covers every batch that was written before it began: while it runs the next ones
//! gather, so that a disk with slow syncs gets larger groups and not a longer queue.

use super::timing::DiskStats;
use crate::queue::Reports;
use brickyard_brick::BatchId;
use brickyard_store::{Disk, HintJob, Poisoned, Rolled, Syncer};
use brickyard_types::{Position, SegmentId};
use rtrb::Consumer;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Deletes and reports that may be on their way.
pub(super) const ORDERS_MAX: usize = 256;

/// What the sync thread tells the loop besides the newest synced batch.
#[derive(Debug)]
pub(super) enum SyncReport {
    Checkpointed(u64),
    Poisoned(String),
}

/// What was written and not yet synced. Shared by the append and the sync thread; the loop never
/// takes its lock.
pub(super) struct Progress<D: Disk> {
    state: Mutex<State<D>>,
    is_done: Condvar,
    thread: OnceLock<Thread>,
    /// Newest batch that is synced; 0: none. The loop reads it too.
    synced: Arc<AtomicU64>,
}

struct State<D: Disk> {
    written: (BatchId, Position),
    /// The newest batch that must be synced at once.
    wanted: BatchId,
    rolled: VecDeque<Rolled<D>>,
    checkpoints: VecDeque<u64>,
    /// Something was written since the sync thread last looked.
    is_dirty: bool,
    /// The sync thread sleeps without a timeout: it must be woken for the first write.
    is_idle: bool,
    is_closed: bool,
    is_finished: bool,
}

impl<D: Disk> Progress<D> {
    pub(super) fn new(end: Position, synced: Arc<AtomicU64>) -> Self {
        let state = State {
            written: (BatchId(0), end),
            wanted: BatchId(0),
            rolled: VecDeque::new(),
            checkpoints: VecDeque::new(),
            is_dirty: false,
            is_idle: false,
            is_closed: false,
            is_finished: false,
        };
        Self {
            state: Mutex::new(state),
            is_done: Condvar::new(),
            thread: OnceLock::new(),
            synced,
        }
    }

    /// Names the sync thread, once.
    pub(super) fn attach(&self, thread: Thread) {
        // A second call could only name the same thread.
        drop(self.thread.set(thread));
    }

    pub(super) fn on_rolled(&self, rolled: Rolled<D>) {
        self.lock().rolled.push_back(rolled);
    }

    pub(super) fn on_written(&self, id: BatchId, end: Position, sync: bool) {
        let mut state = self.lock();
        state.written = (id, end);
        state.is_dirty = true;
        let is_idle = std::mem::take(&mut state.is_idle);
        if sync {
            state.wanted = id;
        }
        drop(state);
        if sync || is_idle {
            self.wake();
        }
    }

    pub(super) fn on_checkpoint(&self, token: u64, end: Position) {
        let mut state = self.lock();
        state.written.1 = end;
        state.checkpoints.push_back(token);
        drop(state);
        self.wake();
    }

    /// Nothing more comes: sync what is there and end.
    pub(super) fn close(&self, end: Position) {
        let mut state = self.lock();
        state.written.1 = end;
        state.is_closed = true;
        drop(state);
        self.wake();
    }

    /// Waits until the sync thread has done its last sync.
    pub(super) fn wait_until_synced(&self) {
        let mut state = self.lock();
        while !state.is_finished {
            state = self
                .is_done
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn finish(&self) {
        self.lock().is_finished = true;
        self.is_done.notify_all();
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// A thread that panicked stops the process, so what it held is of no concern.
    fn lock(&self) -> MutexGuard<'_, State<D>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct SyncThread<D: Disk> {
    pub(super) syncer: Syncer<D>,
    pub(super) progress: Arc<Progress<D>>,
    pub(super) deletes: Consumer<SegmentId>,
    pub(super) reports: Reports<SyncReport>,
    pub(super) hints: SyncSender<HintJob<D>>,
    pub(super) interval: Duration,
    pub(super) stats: Arc<DiskStats>,
    /// Full segments without a footer yet: a full disk may delay it.
    pub(super) unsealed: BTreeSet<SegmentId>,
    /// Segments to delete once they are sealed.
    pub(super) postponed: Vec<SegmentId>,
}

/// What the sync thread found to do.
enum Work {
    /// Sync through here, for these checkpoints.
    Sync {
        id: BatchId,
        end: Position,
        checkpoints: VecDeque<u64>,
        is_last: bool,
    },
    /// Sleep, at most so long.
    Sleep(Option<Duration>),
}

impl<D: Disk> SyncThread<D> {
    /// Syncs until the append thread is done, or a sync failed.
    pub(super) fn run(mut self) {
        let outcome = self.serve();
        if let Err(poisoned) = outcome {
            tracing::error!(error = %poisoned, "a sync failed: the log is closed");
            self.reports
                .give(SyncReport::Poisoned(poisoned.to_string()));
        }
        self.progress.finish();
    }

    fn serve(&mut self) -> Result<(), Poisoned> {
        // When the oldest unsynced write must be synced at the latest.
        let mut due = None;
        loop {
            while let Ok(segment) = self.deletes.pop() {
                self.postponed.push(segment);
            }
            self.delete()?;
            match self.look(&mut due) {
                Work::Sync {
                    id,
                    end,
                    checkpoints,
                    is_last,
                } => {
                    self.sync(id, end)?;
                    due = None;
                    for token in checkpoints {
                        self.reports.give(SyncReport::Checkpointed(token));
                    }
                    if is_last {
                        return Ok(());
                    }
                }
                Work::Sleep(None) => thread::park(),
                Work::Sleep(Some(timeout)) => thread::park_timeout(timeout),
            }
        }
    }

    fn delete(&mut self) -> Result<(), Poisoned> {
        for segment in std::mem::take(&mut self.postponed) {
            if self.unsealed.contains(&segment) {
                self.postponed.push(segment);
            } else {
                self.syncer.delete_segment(segment)?;
                tracing::debug!(segment = segment.0, "segment deleted");
            }
        }
        Ok(())
    }

    fn look(&mut self, due: &mut Option<Instant>) -> Work {
        let mut state = self.progress.lock();
        for rolled in state.rolled.drain(..) {
            self.unsealed.insert(rolled.segment());
            self.syncer.add_rolled(rolled);
        }
        if state.is_dirty && due.is_none() {
            *due = Some(Instant::now() + self.interval);
        }
        let wait = due.map(|due| due.saturating_duration_since(Instant::now()));
        let is_wanted = state.wanted.0 > self.progress.synced.load(Ordering::Relaxed);
        let must_sync = is_wanted
            || state.is_closed
            || !state.checkpoints.is_empty()
            || wait.is_some_and(|wait| wait.is_zero());
        if must_sync {
            state.is_dirty = false;
            let (id, end) = state.written;
            let checkpoints = std::mem::take(&mut state.checkpoints);
            return Work::Sync {
                id,
                end,
                checkpoints,
                is_last: state.is_closed,
            };
        }
        state.is_idle = wait.is_none();
        Work::Sleep(wait)
    }

    fn sync(&mut self, id: BatchId, end: Position) -> Result<(), Poisoned> {
        let started = Instant::now();
        self.syncer.sync(end)?;
        self.stats.sync.add(started.elapsed());
        self.progress.synced.store(id.0, Ordering::Release);
        self.reports.wake();
        while let Some(job) = self.syncer.take_hint_job() {
            let segment = job.segment();
            self.unsealed.remove(&segment);
            if self.hints.try_send(job).is_err() {
                // It only makes the next start read this segment in full.
                tracing::debug!(
                    segment = segment.0,
                    "no hint file: the hint thread is behind"
                );
            }
        }
        Ok(())
    }
}
