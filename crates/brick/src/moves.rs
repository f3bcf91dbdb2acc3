//! What of partitions and tables is on the move: copies for others, splits and merges, tables that leave memory and come back,
//! partitions that left.
//!
//! Each part has its own rules; together they are what a handler borrows that moves something.

use crate::catch_up::CatchUps;
use crate::offline::Offline;
use crate::pending_split::PendingSplits;
use crate::removals::Removals;
use crate::resize::Shrunk;

/// See the module.
#[derive(Debug)]
pub(crate) struct Moves {
    pub(crate) catch_ups: CatchUps,
    /// What says that partitions are here no more, and is not in the log yet.
    pub(crate) removals: Removals,
    pub(crate) offline: Offline,
    pub(crate) pending_splits: PendingSplits,
    pub(crate) shrunk: Shrunk,
}

impl Moves {
    /// Nothing moves yet; copies take at most so many bytes a second (0: as fast as it goes).
    pub(crate) fn new(recovery_bandwidth: u64) -> Self {
        Self {
            catch_ups: CatchUps::at(recovery_bandwidth),
            removals: Removals::default(),
            offline: Offline::default(),
            pending_splits: PendingSplits::default(),
            shrunk: Shrunk::default(),
        }
    }
}
