//! One partition that this brick holds.
//!
//! In:  what is prepared, committed, cut and cleared. Out: what a command may see and answer.
//!
//! Not here: its keys and values (`brickyard-table`), the bytes of its pending records (`log/held`).

use super::gaps::Gaps;
use crate::changes::ChangeRing;
use crate::executed::Window;
use crate::load_meter::LoadMeter;
use crate::log::Uncommitted;
use crate::output::CommitDependency;
use brickyard_replication::{Role, Status};
use brickyard_table::LocalPartition;
use brickyard_types::{Instant, Op, PartitionId, View};

/// A clear of a partition that has not committed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PendingClear {
    pub(crate) op: Op,
    pub(crate) dependency: CommitDependency,
}

/// What holds as long as this brick leads a partition in its present view.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lead {
    /// Ops up to this one that have not committed were prepared in an older view: a read waits for them
    /// (rule `uncommitted ops are voted for again`).
    pub(crate) inherited: Op,
    /// From when on it may be written if its table has leases: those that a former primary gave have run out (rule
    /// `leases end before another writes`). `None`: that is not known yet.
    pub(crate) writes_from: Option<Instant>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) id: PartitionId,
    pub(crate) local: LocalPartition,
    /// The newest op that was prepared.
    pub(crate) op: Op,
    pub(crate) uncommitted: Uncommitted,
    pub(crate) gaps: Gaps,
    /// A clear that has not committed.
    pub(crate) clear: Option<PendingClear>,
    /// Its view, and what this brick may do with it, given a lease.
    pub(crate) status: Status,
    /// The highest op that is known to be committed.
    pub(crate) committed: Op,
    /// Ops were applied that the replicator has not heard of: the partition is one of
    /// [`Replicas::ahead`](crate::replica::Replicas).
    pub(crate) is_ahead: bool,
    pub(crate) lead: Lead,
    /// The op up to which a baseline record in the log claims it.
    pub(crate) covered: Op,
    /// The highest committed clear.
    pub(crate) cleared: Op,
    /// The history that its requests belong to; the first has number 1.
    pub(crate) generation: u32,
    /// Requests with ids that it has executed; `None`: there were none.
    pub(crate) requests: Option<Box<Window>>,
    pub(crate) load_meter: LoadMeter,
    /// What it has committed lately; `None`: nothing of it is kept, or nothing yet.
    pub(crate) changes: Option<Box<ChangeRing>>,
}

impl Partition {
    /// One in which nothing has happened.
    pub(crate) fn new(id: PartitionId, local: LocalPartition, view: View) -> Self {
        Self {
            id,
            local,
            op: Op(0),
            uncommitted: Uncommitted::default(),
            gaps: Gaps::default(),
            clear: None,
            is_ahead: false,
            status: Status {
                view,
                ..Status::default()
            },
            committed: Op(0),
            lead: Lead::default(),
            covered: Op(0),
            cleared: Op(0),
            generation: 1,
            requests: None,
            load_meter: LoadMeter::default(),
            changes: None,
        }
    }

    /// Whether nobody here knows yet if a prepared op commits: it came from another brick, or from an older
    /// view (rule `uncommitted ops are voted for again`).
    #[inline]
    pub(crate) fn is_unsettled(&self, op: Op) -> bool {
        let is_inherited = op <= self.lead.inherited;
        op > self.committed && (!self.is_primary() || is_inherited)
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
}
