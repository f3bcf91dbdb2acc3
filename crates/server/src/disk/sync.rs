//! The sync thread: group commit when a batch asks for it, otherwise every `sync_interval`.
//!
//! In:  [`Progress`] from the append thread; segments to delete from the loop.
//! Out: the newest synced batch (an atomic, so that a slow reader costs no queue), and
//!      [`SyncReport`]s.
//!
//! One sync covers every batch that was written before it began: while it runs the next ones
//! gather, so that a disk with slow syncs gets larger groups and not a longer queue. Likewise one sync of
//! the directory covers all segments that are to be deleted by then, up to a bound.
//!
//! Under load that alone settles at two groups of clients that take turns: one waits for the sync
//! while the other is answered and sends again. So where a sync found several batches waiting, or more came
//! meanwhile, the next one is held back until about as much is written as was under way, or for as long
//! as the last one took: the groups meet, and half the syncs do. A client that is alone never waits for anybody.

use super::timing::DiskStats;
use crate::queue::Reports;
use brickyard_brick::BatchId;
use brickyard_node::disk::Syncing;
use brickyard_store::{Disk, HintJob, Poisoned, Rolled};
use brickyard_types::{Position, SegmentId};
use rtrb::Consumer;
use std::collections::VecDeque;
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
    /// Everything before this position is in the log for good; behind it a batch may be under way. Packed,
    /// so that the read thread takes no lock either.
    end: AtomicU64,
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
    /// Batches that were written since the last sync began.
    batches: u32,
    /// Bytes that were written so far.
    bytes: u64,
    /// A sync that is held back begins once so many bytes have been written.
    held_for: u64,
    /// The sync thread sleeps without a timeout: it must be woken for the first write.
    is_idle: bool,
    /// The sync thread holds back for more batches: it need not be told of each.
    is_holding: bool,
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
            batches: 0,
            bytes: 0,
            held_for: 0,
            is_idle: false,
            is_holding: false,
            is_closed: false,
            is_finished: false,
        };
        Self {
            state: Mutex::new(state),
            end: AtomicU64::new(pack(end)),
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

    /// The log is whole up to here; told before the loop hears of what is in it.
    pub(super) fn set_end(&self, end: Position) {
        self.end.store(pack(end), Ordering::Release);
    }

    /// How far the log is whole.
    pub(super) fn end(&self) -> Position {
        let packed = self.end.load(Ordering::Acquire);
        Position {
            segment: SegmentId((packed >> 32) as u32),
            offset: packed as u32,
        }
    }

    pub(super) fn on_rolled(&self, rolled: Rolled<D>) {
        self.lock().rolled.push_back(rolled);
    }

    /// A batch of so many bytes is in the log.
    pub(super) fn on_written(&self, id: BatchId, end: Position, bytes: usize, sync: bool) {
        let mut state = self.lock();
        state.written = (id, end);
        state.is_dirty = true;
        state.batches += 1;
        state.bytes += bytes as u64;
        let is_holding = state.is_holding && state.bytes < state.held_for;
        let is_idle = std::mem::take(&mut state.is_idle);
        if sync {
            state.wanted = id;
        }
        drop(state);
        if (sync && !is_holding) || is_idle {
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

fn pack(position: Position) -> u64 {
    (u64::from(position.segment.0) << 32) | u64::from(position.offset)
}

/// The longest that a wanted sync is held back.
const HOLD_MAX: Duration = Duration::from_millis(1);

pub(super) struct SyncThread<D: Disk> {
    pub(super) log: Syncing<D>,
    pub(super) progress: Arc<Progress<D>>,
    pub(super) deletes: Consumer<SegmentId>,
    pub(super) reports: Reports<SyncReport>,
    pub(super) hints: SyncSender<HintJob<D>>,
    pub(super) interval: Duration,
    pub(super) stats: Arc<DiskStats>,
}

/// What the sync thread found to do.
enum Work {
    /// Sync through here, for these checkpoints.
    Sync {
        id: BatchId,
        end: Position,
        checkpoints: VecDeque<u64>,
        is_last: bool,
        /// How many batches it covers.
        batches: u32,
        /// Bytes that were written before it.
        bytes: u64,
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
        // Before this instant a sync that a batch wants is held back, unless enough is written.
        let mut hold_until = Instant::now();
        // Bytes that are synced.
        let mut synced_bytes = 0;
        loop {
            let has_more = self.delete()?;
            match self.look(&mut due, hold_until) {
                Work::Sync {
                    id,
                    end,
                    checkpoints,
                    is_last,
                    batches,
                    bytes,
                } => {
                    let took = self.sync(id, end)?;
                    due = None;
                    let synced = bytes - std::mem::replace(&mut synced_bytes, bytes);
                    hold_until = Instant::now();
                    if self.expect(synced, bytes) || batches > 1 {
                        hold_until += took.min(HOLD_MAX);
                    }
                    for token in checkpoints {
                        self.reports.give(SyncReport::Checkpointed(token));
                    }
                    if is_last {
                        while self.delete()? {}
                        return Ok(());
                    }
                }
                Work::Sleep(_) if has_more => {}
                Work::Sleep(None) => thread::park(),
                Work::Sleep(Some(timeout)) => thread::park_timeout(timeout),
            }
        }
    }

    /// Notes how much to hold the next sync for, after one of `synced` bytes that ended at `bytes`: what it has let go will
    /// come back, and joins what came meanwhile. Tells whether anything came.
    fn expect(&self, synced: u64, bytes: u64) -> bool {
        let mut state = self.progress.lock();
        let waiting = state.bytes - bytes;
        // An eighth less: not everybody sends as much again.
        state.held_for = bytes + (synced + waiting) / 8 * 7;
        waiting > 0
    }

    /// Deletes a few of the segments that are to go, with one sync; true if there are more.
    fn delete(&mut self) -> Result<bool, Poisoned> {
        while let Ok(segment) = self.deletes.pop() {
            self.log.postpone(segment);
        }
        if !self.log.has_deletes() {
            return Ok(false);
        }
        // The loop may have heard of a full segment, and found it dead, before this thread looked.
        for rolled in self.progress.lock().rolled.drain(..) {
            self.log.add_rolled(rolled);
        }
        self.log.delete()
    }

    fn look(&mut self, due: &mut Option<Instant>, hold_until: Instant) -> Work {
        let mut state = self.progress.lock();
        state.is_holding = false;
        // Under the same lock as the position below, which may be in the segment behind them.
        for rolled in state.rolled.drain(..) {
            self.log.add_rolled(rolled);
        }
        if state.is_dirty && due.is_none() {
            *due = Some(Instant::now() + self.interval);
        }
        let wait = due.map(|due| due.saturating_duration_since(Instant::now()));
        let is_wanted = state.wanted.0 > self.progress.synced.load(Ordering::Relaxed);
        let is_urgent = state.is_closed
            || !state.checkpoints.is_empty()
            || wait.is_some_and(|wait| wait.is_zero());
        if is_wanted && !is_urgent {
            let hold = hold_until.saturating_duration_since(Instant::now());
            if !hold.is_zero() && state.bytes < state.held_for {
                state.is_holding = true;
                return Work::Sleep(Some(hold));
            }
        }
        let must_sync = is_wanted || is_urgent;
        if must_sync {
            state.is_dirty = false;
            let (id, end) = state.written;
            let checkpoints = std::mem::take(&mut state.checkpoints);
            return Work::Sync {
                id,
                end,
                checkpoints,
                is_last: state.is_closed,
                batches: std::mem::take(&mut state.batches),
                bytes: state.bytes,
            };
        }
        state.is_idle = wait.is_none();
        Work::Sleep(wait)
    }

    /// How long it took.
    fn sync(&mut self, id: BatchId, end: Position) -> Result<Duration, Poisoned> {
        let started = Instant::now();
        let jobs = self.log.sync(end)?;
        let took = started.elapsed();
        self.stats.sync.add(took);
        self.progress.synced.store(id.0, Ordering::Release);
        self.reports.wake();
        for job in jobs {
            let segment = job.segment();
            if self.hints.try_send(job).is_err() {
                // It only makes the next start read this segment in full.
                tracing::debug!(
                    segment = segment.0,
                    "no hint file: the hint thread is behind"
                );
            }
        }
        Ok(took)
    }
}
