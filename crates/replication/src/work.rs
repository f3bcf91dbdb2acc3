//! Partitions to which something is to be done, so that a turn's work follows what happened and not how many partitions
//! there are.
//!
//! Invariant: a partition is in a list exactly if its flag says so (those of `Lead`), or at most once.

use crate::partition::Partition;
use brickyard_routing::Replica;
use brickyard_types::{Instant, View};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Primaries with entries to be flushed.
    pub(crate) dirty: Vec<u32>,
    /// Primaries with members to begin.
    pub(crate) due: Vec<u32>,
    /// May have something to commit.
    pub(crate) ready: Vec<u32>,
    /// Primaries whose commit position is to be told.
    pub(crate) announced: Vec<u32>,
    /// Primaries with pending entries; looked through by `tick` only.
    pub(crate) busy: Vec<u32>,
    /// Members that refused: to be begun again at this instant.
    pub(crate) refused: Vec<(Instant, u32, Replica)>,
    /// Primaries that have given up, and when they last asked for another view.
    pub(crate) resigned: Vec<(Instant, u32)>,
    /// Learners whose promotion is under way.
    pub(crate) promotions: Vec<(u32, Replica)>,
    /// Partitions with something that the own log refused.
    pub(crate) retrying: Vec<u32>,
    /// Partitions that are to be split.
    pub(crate) pending_splits: Vec<u32>,
    /// Partitions that are handed over to this brick, which has not accepted.
    pub(crate) awaiting: Vec<u32>,
    /// Partitions that this brick hands over: in which view, and to whom it is to say that it has nothing more.
    pub(crate) yielding: Vec<(u32, View, Replica)>,
}

impl Work {
    /// Whether a flush would find nothing of any partition.
    pub(crate) fn is_flushed(&self) -> bool {
        let lists = [&self.dirty, &self.due, &self.ready, &self.announced];
        lists.iter().all(|list| list.is_empty())
            && self.promotions.is_empty()
            && self.pending_splits.is_empty()
            && self.yielding.is_empty()
    }

    /// A partition goes: its slot may be another's soon.
    pub(crate) fn end_hand_over(&mut self, slot: u32) {
        self.end_awaiting(slot);
        self.yielding.retain(|(of, ..)| *of != slot);
    }

    /// A partition is accepted, or not handed over after all.
    pub(crate) fn end_awaiting(&mut self, slot: u32) {
        self.awaiting.retain(|it| *it != slot);
    }

    /// Whether something can commit is looked at when the current call is done.
    #[inline]
    pub(crate) fn make_ready(&mut self, it: &mut Partition) {
        if !std::mem::replace(&mut it.lead.is_ready, true) {
            self.ready.push(it.slot);
        }
    }

    /// A member has to be begun at the next flush.
    pub(crate) fn make_due(&mut self, it: &mut Partition) {
        if !std::mem::replace(&mut it.lead.is_due, true) {
            self.due.push(it.slot);
        }
    }

    /// There are entries to be flushed.
    #[inline]
    pub(crate) fn make_dirty(&mut self, it: &mut Partition) {
        if !std::mem::replace(&mut it.lead.is_dirty, true) {
            self.dirty.push(it.slot);
        }
    }

    /// There are entries that wait for members.
    #[inline]
    pub(crate) fn make_busy(&mut self, it: &mut Partition) {
        if !std::mem::replace(&mut it.lead.is_busy, true) {
            self.busy.push(it.slot);
        }
    }

    /// The commit position is to be told.
    #[inline]
    pub(crate) fn announce(&mut self, it: &mut Partition) {
        if !it.lead.members.is_empty() && !std::mem::replace(&mut it.lead.is_announced, true) {
            self.announced.push(it.slot);
        }
    }

    /// What the log refused is appended again after a while.
    pub(crate) fn retry(&mut self, it: &mut Partition, now: Instant) {
        if (it.log.has_refused() || it.log.is_baseline_due) && it.retrying.is_none() {
            it.retrying = Some(now);
            self.retrying.push(it.slot);
        }
    }

    /// Nothing that the log refused is left.
    pub(crate) fn end_retry(&mut self, it: &mut Partition) {
        it.retrying = None;
        self.retrying.retain(|slot| *slot != it.slot);
    }

    /// Nothing is planned for a member any more.
    pub(crate) fn forget_refusal(&mut self, slot: u32, replica: Replica) {
        self.refused.retain(|of| (of.1, of.2) != (slot, replica));
    }

    pub(crate) fn forget_promotion(&mut self, slot: u32, replica: Replica) {
        self.promotions.retain(|of| *of != (slot, replica));
    }
}
