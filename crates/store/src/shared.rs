//! The little that a log's appender and syncer tell one another, without a lock.

use crate::error::Poisoned;
use brickyard_types::{Position, SegmentId};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far the log was synced, and whether it is poisoned.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    synced: AtomicU64,
    poisoned: OnceLock<Poisoned>,
}

impl Shared {
    pub(crate) fn synced(&self) -> Position {
        let packed = self.synced.load(Ordering::Acquire);
        Position {
            segment: SegmentId((packed >> 32) as u32),
            offset: packed as u32,
        }
    }

    pub(crate) fn set_synced(&self, position: Position) {
        let packed = (u64::from(position.segment.0) << 32) | u64::from(position.offset);
        // A syncer is told positions in order, but the end of an opened log may be ahead of them.
        self.synced.fetch_max(packed, Ordering::AcqRel);
    }

    /// The first cause, if the log is poisoned.
    pub(crate) fn check(&self) -> Result<(), Poisoned> {
        self.poisoned.get().cloned().map_or(Ok(()), Err)
    }

    /// Poisons the log; the first cause stays.
    pub(crate) fn poison(&self, poisoned: Poisoned) -> Poisoned {
        self.poisoned.get_or_init(|| poisoned).clone()
    }
}
