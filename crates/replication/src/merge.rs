//! Two partitions become one: both have come to rest, and the whole goes on behind the end of both logs.
//!
//! In:  the catalog's word that siblings were merged: where the log of each ended, and where the whole begins. Out: the
//!      whole, which claims its beginning if this brick holds both to their ends, and nothing if it does not.
//!
//! Invariants (PROTOCOL rule 31):
//! - The whole's first op is above every op of both, and the same at every replica. What a replica claims of the whole
//!   is its base, and what came after that: so no claim speaks of one half alone.
//! - The whole begins in a view of its own, as any view begins.
//!
//! Not here: coming to rest (`split`), which records are the whole's (`brick`), when to merge (`metadata`, `control`).

use crate::log::Log;
use crate::{Base, History, Host, Replicator};
use brickyard_types::{Op, PartitionId, TableId, View};

/// One of two siblings, as the catalog has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Half {
    /// The partition.
    pub partition: PartitionId,
    /// The view in which it came to rest.
    pub view: View,
    /// Its last record.
    pub last: (View, Op),
    /// This brick was its only replica, and its log says all there is.
    pub is_alone: bool,
}

impl<P> Replicator<P> {
    /// The catalog has `whole` in the place of `halves`. Returns whether it begins here with all that both had; else
    /// it claims nothing, and is filled by a full copy. [`Self::adopt`] of the whole follows.
    pub fn merge<H: Host<Payload = P>>(
        &mut self,
        host: &mut H,
        table: TableId,
        halves: &[Half; 2],
        whole: PartitionId,
        base: &Base,
    ) -> bool {
        let mut log = Log::new();
        let (mut stopped, mut accepted) = (View(0), View(0));
        let mut holds_both = true;
        for half in halves {
            let slot = self.partitions.find(half.partition);
            let Some(it) = slot.and_then(|slot| self.partitions.get_mut(slot)) else {
                holds_both &= half.is_alone;
                continue;
            };
            let was_in_sync = Self::end_at_rest(host, it, half.view);
            holds_both &= half.is_alone || was_in_sync && it.log.last == half.last;
            stopped = stopped.max(it.place.stopped);
            accepted = accepted.max(it.place.accepted);
            log.note(it.log.mark);
            log.settled_mark = log.settled_mark.max(it.log.settled_mark);
            log.cut_mark = log.cut_mark.max(it.log.cut_mark);
            self.forget(host, half.partition);
        }
        log.lineage = base.lineage;
        log.horizon = base.op;
        log.jump((base.view, base.op), History::new(&base.runs));
        if !holds_both {
            log.claim_nothing();
        }
        let slot = self.partitions.find_or_add(whole, table);
        if let Some(it) = self.partitions.get_mut(slot) {
            it.log = log;
            // PROTOCOL rule 11: what was acknowledged of either binds the whole as well.
            it.place.stopped = it.place.stopped.max(stopped);
            it.place.accepted = it.place.accepted.max(accepted);
        }
        holds_both
    }
}
