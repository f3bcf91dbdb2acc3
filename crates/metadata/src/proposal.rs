//! What can be decided about a partition's members, and why a decision may come too late.

use brickyard_routing::{Group, Replica};
use brickyard_types::{PartitionId, TableId, View};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a partition's members should change; each reason has its own bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ground {
    /// Members leave or change roles: nobody new is in-sync.
    Members,
    /// The primary says that a learner holds everything (rule `learner votes before promotion`).
    Promotion,
    /// No in-sync member lives on; one of them restarted, and its log was found to be whole and the highest
    /// (rule `a restart cuts nothing`).
    Restart,
    /// Nothing that was in memory is left: the partition begins anew, empty (rule `lost memory begins a generation`).
    Lost,
    /// An operator chose, knowing what is lost (rule `forced recovery begins a generation`).
    Forced,
    /// Its table comes back: one of the in-sync members has read its log again, which was found to be whole and the
    /// highest (rule `a restart cuts nothing`).
    Return,
}

/// A view to be proposed for a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// The table.
    pub table: TableId,
    /// The partition.
    pub partition: PartitionId,
    /// The effective view that it changes.
    pub base: View,
    /// The proposed view that it takes the place of, if one is under way.
    pub pending: Option<View>,
    /// Why.
    pub ground: Ground,
    /// Who will order the operations.
    pub primary: Replica,
    /// The other in-sync members.
    pub backups: Vec<Replica>,
    /// The members that catch up.
    pub learners: Vec<Replica>,
    /// The highest view that was seen on any disk: the new one is above it (rule
    /// `forced recovery begins a generation`).
    pub floor: View,
}

impl Proposal {
    /// A proposal for the members to be these, as the group stands.
    #[must_use]
    pub fn of(table: TableId, partition: PartitionId, group: &Group, in_sync: &[Replica]) -> Self {
        let learners = group
            .change
            .as_ref()
            .map_or(&group.learners, |change| &change.learners);
        Self {
            table,
            partition,
            base: group.view,
            pending: group.change.as_ref().map(|change| change.view),
            ground: Ground::Members,
            primary: in_sync.first().copied().unwrap_or_default(),
            backups: in_sync.get(1..).unwrap_or_default().to_vec(),
            learners: learners.clone(),
            floor: View(0),
        }
    }

    /// The in-sync members of the new view, the primary first.
    pub fn in_sync(&self) -> impl Iterator<Item = Replica> {
        std::iter::once(self.primary).chain(self.backups.iter().copied())
    }
}

/// A proposed view that may take effect: whom it fences has stopped, and its primary has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The table.
    pub table: TableId,
    /// The partition.
    pub partition: PartitionId,
    /// The proposed view.
    pub view: View,
}

/// Other members that catch up; the view stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewLearners {
    /// The table.
    pub table: TableId,
    /// The partition.
    pub partition: PartitionId,
    /// The effective view.
    pub view: View,
    /// All of them.
    pub learners: Vec<Replica>,
}

/// Why one decision of a batch was not carried out: what it was decided for is not so (any more).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[non_exhaustive]
pub enum Stale {
    /// There is no such partition in the table.
    #[error("the partition is not in the table's map; it was split, merged or dropped since")]
    Unknown,
    /// Another view is in effect.
    #[error("it is for view {named} and view {is} is in effect; decide again")]
    Base {
        /// The view that was named.
        named: View,
        /// The view in effect.
        is: View,
    },
    /// Another change is under way, or none.
    #[error("it is for proposed view {} and {} is under way; decide again", shown(*.named), shown(*.is))]
    Pending {
        /// The proposed view that was named.
        named: Option<View>,
        /// The one under way.
        is: Option<View>,
    },
    /// A life that is over, or a brick that never was.
    #[error("brick {replica} is not in its present life; decide again")]
    Life {
        /// Who.
        replica: Replica,
    },
    /// Two members on one node.
    #[error("brick {replica} is on a node that has a copy already; choose another node")]
    Crowded {
        /// Who.
        replica: Replica,
    },
    /// Somebody would be in-sync who does not hold everything for certain.
    #[error(
        "brick {replica} is not in-sync in the view that it changes; let it learn, then promote it"
    )]
    NotInSync {
        /// Who.
        replica: Replica,
    },
    /// A promotion of somebody who is no learner.
    #[error("brick {replica} is not a learner of the partition; it was dropped since")]
    NotLearner {
        /// Who.
        replica: Replica,
    },
    /// A promotion together with something else.
    #[error("a promotion adds one member and changes nothing else; propose the rest after it")]
    Combined,
    /// A restart or a new beginning, while somebody may hold everything still.
    #[error("brick {replica} is in-sync and has not restarted; it holds everything")]
    Alive {
        /// Who.
        replica: Replica,
    },
    /// What a table keeps in memory alone does not come back by a restart, and what is in a log does.
    #[error("the table's DURABILITY does not allow it: `memory` begins anew, a log is read again")]
    Durability,
    /// Nobody serves the partition, since its table is offline or comes back; or it is served and need not come back.
    #[error("its table went offline or came back meanwhile; decide again")]
    Suspended,
}

fn shown(view: Option<View>) -> String {
    view.map_or_else(|| "none".to_owned(), |view| view.to_string())
}
