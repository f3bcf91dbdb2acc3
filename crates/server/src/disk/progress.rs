//! How far a log is: what its three threads and the loop tell one another without a queue.
//!
//! Invariant: the loop and the read thread take no lock, but that the loop does for a batch that it writes itself; it is held for
//! a few assignments.

use brickyard_brick::BatchId;
use brickyard_node::disk::Unsynced;
use brickyard_store::Disk;
use brickyard_types::{Position, SegmentId};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;

/// See the module.
pub(super) struct Progress<D: Disk> {
    /// Shared by the append and the sync thread.
    unsynced: Mutex<Unsynced<D>>,
    /// Everything before this position is in the log for good; behind it a batch may be under way. Packed.
    end: AtomicU64,
    /// The sync thread has ended.
    is_finished: Mutex<bool>,
    is_done: Condvar,
    sync_thread: OnceLock<Thread>,
    /// Newest batch that is synced; 0: none. The loop reads it.
    synced: Arc<AtomicU64>,
}

impl<D: Disk> Progress<D> {
    pub(super) fn new(end: Position, synced: Arc<AtomicU64>) -> Self {
        Self {
            unsynced: Mutex::new(Unsynced::new(end)),
            end: AtomicU64::new(pack(end)),
            is_finished: Mutex::new(false),
            is_done: Condvar::new(),
            sync_thread: OnceLock::new(),
            synced,
        }
    }

    /// Names the sync thread, once.
    pub(super) fn attach(&self, thread: Thread) {
        // A second call could only name the same thread.
        drop(self.sync_thread.set(thread));
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

    /// Tells the loop how far the log is synced.
    pub(super) fn set_synced(&self, batch: BatchId) {
        self.synced.store(batch.0, Ordering::Release);
    }

    pub(super) fn wake_sync(&self) {
        if let Some(thread) = self.sync_thread.get() {
            thread.unpark();
        }
    }

    /// A thread that panicked stops the process, so what it held is of no concern.
    pub(super) fn lock(&self) -> MutexGuard<'_, Unsynced<D>> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sync thread has done its last sync, or can do none.
    pub(super) fn finish(&self) {
        *self.lock_finished() = true;
        self.is_done.notify_all();
    }

    pub(super) fn wait_until_finished(&self) {
        let mut is_finished = self.lock_finished();
        while !*is_finished {
            let woken = self.is_done.wait(is_finished);
            is_finished = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock_finished(&self) -> MutexGuard<'_, bool> {
        self.is_finished
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn pack(position: Position) -> u64 {
    (u64::from(position.segment.0) << 32) | u64::from(position.offset)
}
