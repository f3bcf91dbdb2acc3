//! Two partitions become one: both have come to rest, and the whole goes on behind the end of both logs.
//!
//! In:  the catalog's word that siblings were merged: where the log of each ended, and where the whole begins. Out: the
//!      whole, which claims its beginning if this brick holds both to their ends, and nothing if it does not.
//!
//! Invariants (rule `splits and merges are bound to views`):
//! - The whole's first op is above every op of both, and the same at every replica. What a replica claims of the whole
//!   is its baseline, and what came after that: so no log summary speaks of one half alone.
//! - The whole begins in a view of its own, as any view begins.
//!
//! Not here: coming to rest (`split`), which records are the whole's (`brick`), when to merge (`metadata`, `control`).

use crate::history::History;
use crate::log::Log;
use crate::partition::Partition;
use crate::summary::Baseline;
use brickyard_types::{Op, PartitionId, View};

/// One of two siblings, as the catalog has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Half {
    /// The partition.
    pub partition: PartitionId,
    /// The view in which it came to rest.
    pub view: View,
    /// Its last record.
    pub last: (View, Op),
}

/// The log of a whole while it is put together, and what was acknowledged of its halves.
#[derive(Debug)]
pub(crate) struct Whole {
    log: Log,
    stopped: View,
    accepted: View,
    holds_both: bool,
}

impl Whole {
    pub(crate) fn new() -> Self {
        Self {
            log: Log::new(),
            stopped: View(0),
            accepted: View(0),
            holds_both: true,
        }
    }

    /// The replicator knows nothing of this half.
    pub(crate) fn add_unknown(&mut self) {
        self.holds_both = false;
    }

    /// A half that has ended here; whether it was in sync in the view in which it did.
    pub(crate) fn add(&mut self, half: &Half, it: &Partition, was_in_sync: bool) {
        assert_eq!(it.id, half.partition, "another half");
        self.holds_both &= was_in_sync && it.log.last == half.last;
        self.stopped = self.stopped.max(it.place.stopped);
        self.accepted = self.accepted.max(it.place.accepted);
        let log = &mut self.log;
        log.note(it.log.mark);
        log.settled_mark = log.settled_mark.max(it.log.settled_mark);
        log.cut_mark = log.cut_mark.max(it.log.cut_mark);
    }

    /// The whole begins: whether with all that both had. Else it claims nothing.
    pub(crate) fn begin(self, baseline: &Baseline, it: &mut Partition) -> bool {
        let Self {
            mut log,
            stopped,
            accepted,
            holds_both,
        } = self;
        log.generation = baseline.generation;
        log.watermark = baseline.op;
        log.jump((baseline.view, baseline.op), History::new(&baseline.runs));
        if !holds_both {
            log.clear_summary();
        }
        assert!(it.log.pending.is_empty(), "a whole that was there before");
        it.log = log;
        // Rule `acknowledged views are remembered`: what was acknowledged of either binds the whole as well.
        it.place.stopped = it.place.stopped.max(stopped);
        it.place.accepted = it.place.accepted.max(accepted);
        holds_both
    }
}
