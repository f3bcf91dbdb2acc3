//! What checkers remember of a run.
//!
//! Not here: what they make of it (a file each).

use brickyard_brick::{LogUse, PartitionStatus};
use brickyard_metadata::Catalog;
use brickyard_routing::Replica;
use brickyard_types::{Op, PartitionId, View};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What checkers remember.
#[derive(Default)]
pub(crate) struct Checkers {
    pub(crate) primaries: Primaries,
    pub(crate) commits: Commits,
    /// The newest catalog that any node has.
    pub(crate) latest: Option<Arc<Catalog>>,
    /// Since when one has it.
    pub(crate) changed_at: u64,
    /// When a brick was last seen to act by an older one, with everything else at its end.
    pub(crate) behind_at: u64,
    /// Everybody is reading everything.
    pub(crate) is_sweeping: bool,
    pub(crate) whole_at: u64,
    /// When the last answer came.
    pub(crate) done_at: Option<u64>,
    pub(crate) logs: Logs,
    /// Of nodes that lead the control plane and lack what others have decided: since when, in which of their lives.
    pub(crate) held_up: BTreeMap<usize, (u64, u64)>,
    pub(crate) placed: Placed,
    /// How often something has committed.
    pub(crate) news: u64,
    /// So many nodes were told to stop that no majority of the voters was left.
    pub(crate) was_outvoted: bool,
}

/// What can be lost although nothing more goes wrong.
#[derive(Default)]
pub(crate) struct Risks {
    /// Nodes that may lose what they acknowledged though nothing more happens to them, and since which life: their
    /// disks rot or fail. Until they have been restarted, and everything is whole again.
    pub(crate) at_risk: BTreeMap<usize, u64>,
    /// Nodes whose logs may be damaged: a bit has turned over.
    pub(crate) rotten: BTreeSet<usize>,
}

/// How far what has committed.
#[derive(Default)]
pub(crate) struct Commits {
    /// Of a replica, in a history.
    pub(crate) replicas: BTreeMap<(Replica, PartitionId), (u32, Op)>,
    /// Of a partition, by its primaries, in a history: up to which op.
    pub(crate) partitions: BTreeMap<PartitionId, (u32, Op)>,
}

/// What of a replica's status says whether anything has committed there since it was last looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) partition: PartitionId,
    pub(crate) is_in_sync: bool,
    pub(crate) generation: u32,
    pub(crate) committed: Op,
}

impl Seen {
    pub(crate) fn of(it: PartitionStatus) -> Self {
        Self {
            partition: it.partition,
            is_in_sync: it.role.is_in_sync(),
            generation: it.generation,
            committed: it.committed,
        }
    }
}

/// What each brick's log was like when it last changed, and since when it is so.
#[derive(Debug, Default)]
pub(crate) struct Logs(pub(crate) BTreeMap<(usize, usize), (LogUse, u64)>);

/// By which version of the catalog each brick was looked at.
#[derive(Debug, Default)]
pub(crate) struct Placed(pub(crate) BTreeMap<(usize, usize), u64>);

/// Who has committed in which view of which partition's history.
pub(crate) type Primaries = BTreeMap<(PartitionId, u32, View), Replica>;
