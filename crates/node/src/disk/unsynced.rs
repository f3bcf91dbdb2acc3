//! What was written and not yet synced: what the append worker and the sync worker share.
//!
//! Invariant: the sync worker is woken for all that it would otherwise sleep through. Each change here says whether
//! it must be.

use brickyard_brick::BatchId;
use brickyard_store::{Disk, Rolled};
use brickyard_types::Position;

/// See the module. The server keeps it under a lock, that nobody holds for more than a few assignments.
pub struct Unsynced<D: Disk> {
    pub(super) written: (BatchId, Position),
    /// The newest batch that must be synced at once.
    pub(super) wanted: BatchId,
    pub(super) rolled: Vec<Rolled<D>>,
    pub(super) checkpoints: Vec<u64>,
    /// Something was written since the sync worker last looked.
    pub(super) is_dirty: bool,
    /// Batches that were written since the last sync began.
    pub(super) batches: u32,
    /// Bytes that were written so far.
    pub(super) bytes: u64,
    /// Once so many bytes have been written a sync is due, whatever the time.
    pub(super) due_at: u64,
    /// They have been: the sync worker was woken since it last looked.
    pub(super) is_due: bool,
    /// A sync that is held back begins once so many bytes have been written.
    pub(super) held_for: u64,
    /// The sync worker sleeps without a timeout: it must be woken for the first write.
    pub(super) is_idle: bool,
    /// The sync worker holds back for more batches: it need not be told of each.
    pub(super) is_holding: bool,
    pub(super) is_closed: bool,
}

impl<D: Disk> Unsynced<D> {
    /// Of a log that ends there and in which everything is synced.
    #[must_use]
    pub fn new(end: Position) -> Self {
        Self {
            written: (BatchId(0), end),
            wanted: BatchId(0),
            rolled: Vec::new(),
            checkpoints: Vec::new(),
            is_dirty: false,
            batches: 0,
            bytes: 0,
            due_at: u64::MAX,
            is_due: false,
            held_for: 0,
            is_idle: false,
            is_holding: false,
            is_closed: false,
        }
    }

    /// A segment is full. Told before any position behind it.
    pub(super) fn add_rolled(&mut self, rolled: Rolled<D>) {
        self.rolled.push(rolled);
    }

    /// A batch of so many bytes is in the log; whether the sync worker must be woken.
    pub(super) fn on_written(
        &mut self,
        id: BatchId,
        end: Position,
        bytes: usize,
        sync: bool,
    ) -> bool {
        assert!(id > self.written.0, "batches are written in order");
        assert!(end >= self.written.1, "a log only grows");
        self.written = (id, end);
        self.is_dirty = true;
        self.batches += 1;
        self.bytes += bytes as u64;
        let is_holding = self.is_holding && self.bytes < self.held_for;
        let is_idle = std::mem::take(&mut self.is_idle);
        let was_due = std::mem::replace(&mut self.is_due, self.bytes >= self.due_at);
        if sync {
            self.wanted = id;
        }
        (sync && !is_holding) || is_idle || (self.is_due && !was_due)
    }

    /// Everything that was ordered so far is to be synced. The sync worker must be woken.
    pub(super) fn on_checkpoint(&mut self, token: u64, end: Position) {
        assert!(end >= self.written.1, "a log only grows");
        self.written.1 = end;
        self.checkpoints.push(token);
    }

    /// Nothing more comes. The sync worker must be woken.
    pub(super) fn close(&mut self, end: Position) {
        assert!(!self.is_closed, "a log is closed once");
        self.written.1 = end;
        self.is_closed = true;
    }
}
