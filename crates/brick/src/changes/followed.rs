//! What is followed of this brick's tables: where something has committed that somebody may wait for.
//!
//! In:  commits; partitions that are about to end. Out: where to look for those who wait; views of what is pending.
//!
//! Not here: what is kept of changes (`keep`), who waits (`waiters`).

use super::waiters::Waiters;
use brickyard_types::{Op, PartitionId, View};
use std::collections::BTreeMap;

/// Where something has committed since whoever waits was looked for.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    /// Some table keeps its changes.
    pub(super) is_kept: bool,
    /// Clients that wait for changes of what this brick leads.
    pub(crate) waiters: Waiters,
    /// Tables and leaves; some of them more than once.
    changed: Vec<(usize, usize)>,
    /// The views of what is pending of partitions that end: it may commit when the replicator knows of them no more.
    pub(super) views: BTreeMap<(PartitionId, Op), View>,
}

impl Followed {
    /// Something of the partition there has committed.
    #[inline]
    pub(crate) fn note(&mut self, at: (usize, usize)) {
        if !self.waiters.is_empty() && self.changed.last() != Some(&at) {
            self.changed.push(at);
        }
    }

    /// A partition is about to end, and this of it is pending.
    pub(crate) fn note_pending(
        &mut self,
        partition: PartitionId,
        pending: impl Iterator<Item = (Op, View)>,
    ) {
        self.views
            .extend(pending.map(|(op, view)| ((partition, op), view)));
    }

    /// Partitions have ended.
    pub(crate) fn end_pending(&mut self) {
        self.views.clear();
    }

    /// Where something has committed.
    pub(super) fn take(&mut self) -> Vec<(usize, usize)> {
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        changed
    }
}
