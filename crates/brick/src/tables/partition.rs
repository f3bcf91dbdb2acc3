//! One partition that this brick holds.
//!
//! In:  what is prepared, committed, cut and cleared. Out: what a command may see and answer.
//!
//! Not here: its keys and values (`brickyard-table`), the bytes of its pending records (`log/held`).

use super::gaps::Gaps;
use crate::executed::Window;
use crate::load_meter::LoadMeter;
use crate::log::{Runs, Unsubmitted};
use crate::output::CommitDependency;
use brickyard_replication::{Claim, Role, Status};
use brickyard_routing::Group;
use brickyard_table::LocalPartition;
use brickyard_types::{Op, PartitionId, View};

/// A clear of a partition that has not committed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PendingClear {
    pub(crate) op: Op,
    pub(crate) dependency: CommitDependency,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) id: PartitionId,
    pub(crate) local: LocalPartition,
    pub(crate) view: View,
    /// The newest op that was prepared.
    pub(crate) op: Op,
    /// Its records that the replicator knows of and that have neither committed nor been cut.
    pub(crate) pending: Runs,
    /// Those that the replicator does not know of, in the batch that is being built.
    pub(crate) unsubmitted: Unsubmitted,
    pub(crate) gaps: Gaps,
    /// A clear that has not committed.
    pub(crate) clear: Option<PendingClear>,
    /// The replicator decides when its operations commit.
    pub(crate) is_replicated: bool,
    /// What this brick may do with it, given a lease.
    pub(crate) status: Status,
    /// The highest op that is known to be committed; for replicated partitions.
    pub(crate) committed: Op,
    /// Ops up to this one that have not committed were prepared in an older view: a read waits for them
    /// (PROTOCOL rule 5).
    pub(crate) inherited: Op,
    /// The op up to which a base record in the log claims it.
    pub(crate) claimed: Op,
    /// The highest committed clear.
    pub(crate) cleared: Op,
    /// The history that its requests belong to; the first has number 1.
    pub(crate) generation: u32,
    /// Requests with ids that it has executed; `None`: there were none.
    pub(crate) requests: Option<Box<Window>>,
    pub(crate) load_meter: LoadMeter,
}

impl Partition {
    /// One in which nothing has happened.
    pub(crate) fn new(
        id: PartitionId,
        local: LocalPartition,
        view: View,
        is_replicated: bool,
    ) -> Self {
        Self {
            id,
            local,
            view,
            op: Op(0),
            pending: Runs::default(),
            unsubmitted: Unsubmitted::default(),
            gaps: Gaps::default(),
            clear: None,
            is_replicated,
            status: Status::default(),
            committed: Op(0),
            inherited: Op(0),
            claimed: Op(0),
            cleared: Op(0),
            generation: 1,
            requests: None,
            load_meter: LoadMeter::default(),
        }
    }

    /// Whether nobody here knows yet if a prepared op commits: it came from another brick, or from an older
    /// view (PROTOCOL rule 5).
    #[inline]
    pub(crate) fn is_unsettled(&self, op: Op) -> bool {
        let is_inherited = op <= self.inherited;
        self.is_replicated && op > self.committed && (!self.is_primary() || is_inherited)
    }

    /// Whether this brick orders its operations.
    #[inline]
    pub(crate) fn is_primary(&self) -> bool {
        self.status.role == Role::Primary
    }

    /// The partition was cleared by this op, which has committed.
    pub(crate) fn note_cleared(&mut self, op: Op) {
        assert!(op > Op(0), "ops are numbered from 1");
        self.cleared = self.cleared.max(op);
    }

    /// The log is read: as many ops as fit into what is unreadable are not given out again.
    pub(crate) fn end_recovery(&mut self) {
        let last = self.gaps.end_recovery(self.op);
        assert!(last >= self.op, "{last} after {}", self.op);
        self.op = last;
    }

    /// What the log holds of it if it never had another replica: all there is.
    pub(crate) fn claim_alone(&self, group: &Group) -> Claim {
        assert!(!self.is_replicated, "{} has other replicas", self.id);
        Claim {
            generation: group.generation,
            committed: self.op,
            last: (self.view, self.op),
            is_complete: true,
            ..Claim::default()
        }
    }
}
