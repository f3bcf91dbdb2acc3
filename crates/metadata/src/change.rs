//! What can be asked of the catalog, and the answer.
//!
//! A change carries everything that it needs from outside, such as the time and a random seed: the
//! node that proposes it draws them once, and every node that applies it gets the same state.

use crate::{
    account::AccountRule,
    extra_copies::Extra,
    libraries::LibraryPolicy,
    library::Library,
    merge::Rest,
    node::{NodeAlteration, Registration},
    proposal::{NewLearners, Proposal, Settled},
    sizing::Divide,
    split::SplitReady,
    table::{Alteration, NewTable},
};
use brickyard_routing::NodeId;
use brickyard_types::PartitionId;
use serde::{Deserialize, Serialize};

/// A change of the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Change {
    /// Make a table.
    CreateTable(NewTable),
    /// Change a table's attributes or layout.
    AlterTable {
        /// Which table.
        name: String,
        /// What to change.
        alteration: Alteration,
    },
    /// Remove a table with all its keys.
    DropTable {
        /// Which table.
        name: String,
    },
    /// A node starts: take it in, or give it a new incarnation.
    Register(Registration),
    /// Change what a node is used for.
    AlterNode {
        /// Which node.
        node: NodeId,
        /// What to change.
        alteration: NodeAlteration,
    },
    /// A node is gone for ever.
    RemoveNode {
        /// Which node.
        node: NodeId,
        /// Even if partitions are on it: what only it holds is given up.
        force: bool,
    },
    /// What the leader decided about partitions: one state of the catalog, so that what it decided about one does not wait
    /// for the agreement about another.
    Decide(Decisions),
    /// Go on from what is left of partitions that nobody serves; the leader makes proposals of it.
    Recover(Recovery),
    /// Empty a node.
    DrainNode {
        /// Which node.
        node: NodeId,
        /// Even if tables have fewer copies then than they ask for.
        force: bool,
    },
    /// Let a node have exactly what another one has, which is emptied.
    ReplaceNode {
        /// The one that is emptied.
        old: NodeId,
        /// The one that takes its place.
        new: NodeId,
    },
    /// Begin no more moves of partitions, or begin them again; copies that are missing are made all the same.
    PauseMoves(bool),
    /// Make two partitions of one.
    SplitPartition {
        /// The table's name.
        table: String,
        /// Which partition.
        partition: PartitionId,
    },
    /// Make one partition of two siblings.
    MergePartitions {
        /// The table's name.
        table: String,
        /// Either of the two.
        partition: PartitionId,
    },
    /// Make two partitions of each of several: the leader, or the brick that has them, decided so.
    Divide(Divide),
    /// Let hot partitions have more copies than their tables ask for, or as many as these again.
    SetExtras(Vec<Extra>),
    /// Let a table have as many partitions as its bricks need, or as many as it has.
    SizeTable {
        /// The table's name.
        name: String,
        /// As many as its bricks need.
        by_bricks: bool,
    },
    /// Free a table's memory, and keep what it holds.
    TakeOffline {
        /// Which table.
        name: String,
        /// Even where it has fewer copies than it asks for.
        force: bool,
    },
    /// Serve a table again.
    BringOnline {
        /// Which table.
        name: String,
    },
    /// Make a user, or change one.
    SetAccount {
        /// Its name.
        name: String,
        /// What comes first if there is none of that name: a new user is another one where `default` has not been changed yet.
        initial: Vec<AccountRule>,
        /// What comes next, in this order.
        rules: Vec<AccountRule>,
    },
    /// Remove users.
    DropAccounts {
        /// Their names; of some there may be none.
        names: Vec<String>,
    },
    /// Load libraries of functions.
    AddLibraries {
        /// Those that are new, or take the place of others.
        libraries: Vec<Library>,
        /// What becomes of those that are there.
        policy: LibraryPolicy,
    },
    /// Remove a library with its functions.
    DropLibrary {
        /// Its name.
        name: String,
    },
    /// Remove all libraries.
    FlushLibraries,
    /// Make a table that keeps its changes.
    CreateWithHistory {
        /// The table.
        table: NewTable,
        /// How many bytes of them each partition keeps.
        history: u64,
    },
    /// Change how much a table keeps of its changes, and what else is asked for.
    AlterWithHistory {
        /// Which table.
        name: String,
        /// What else to change; it may be nothing.
        alteration: Alteration,
        /// How many bytes of them each partition keeps; 0: none.
        history: u64,
    },
    /// Make a table, or change one, and say whether clients may keep what they read of it under leases.
    LeaseTable {
        /// What else becomes of it.
        table: TableEdit,
        /// Whether they may.
        is_on: bool,
    },
}

/// What becomes of one table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableEdit {
    /// It is made.
    Create {
        /// The table.
        table: NewTable,
        /// How many bytes of its changes each partition keeps; 0: none.
        history: u64,
    },
    /// Its attributes or its layout change, or nothing of them.
    Alter {
        /// Which table.
        name: String,
        /// What to change.
        alteration: Alteration,
        /// How many bytes of its changes each partition keeps, if that changes.
        history: Option<u64>,
    },
}

/// What the leader decided about partitions. It is carried out in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decisions {
    /// Proposed views that take effect.
    pub settled: Vec<Settled>,
    /// Splits whose primaries are ready: the halves take the place of the whole.
    pub splits: Vec<SplitReady>,
    /// Merges whose primaries are ready: the whole takes the place of the halves, the left one of which is named first.
    pub merges: Vec<[Rest; 2]>,
    /// Views that partitions should have.
    pub proposals: Vec<Proposal>,
    /// Other members that catch up.
    pub learners: Vec<NewLearners>,
}

impl Decisions {
    /// Whether nothing was decided.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// About how many partitions.
    #[must_use]
    pub fn count(&self) -> usize {
        let ready = self.splits.len() + self.merges.len();
        self.settled.len() + ready + self.proposals.len() + self.learners.len()
    }

    /// Keeps so many: first what lets others go on.
    pub fn truncate(&mut self, mut left: usize) {
        shorten(&mut self.settled, &mut left);
        shorten(&mut self.splits, &mut left);
        shorten(&mut self.merges, &mut left);
        shorten(&mut self.proposals, &mut left);
        shorten(&mut self.learners, &mut left);
    }
}

impl From<Vec<Settled>> for Change {
    fn from(settled: Vec<Settled>) -> Self {
        Self::Decide(Decisions {
            settled,
            ..Decisions::default()
        })
    }
}

impl From<Vec<SplitReady>> for Change {
    fn from(splits: Vec<SplitReady>) -> Self {
        Self::Decide(Decisions {
            splits,
            ..Decisions::default()
        })
    }
}

impl From<Vec<[Rest; 2]>> for Change {
    fn from(merges: Vec<[Rest; 2]>) -> Self {
        Self::Decide(Decisions {
            merges,
            ..Decisions::default()
        })
    }
}

impl From<Vec<Proposal>> for Change {
    fn from(proposals: Vec<Proposal>) -> Self {
        Self::Decide(Decisions {
            proposals,
            ..Decisions::default()
        })
    }
}

impl From<Vec<NewLearners>> for Change {
    fn from(learners: Vec<NewLearners>) -> Self {
        Self::Decide(Decisions {
            learners,
            ..Decisions::default()
        })
    }
}

fn shorten<T>(list: &mut Vec<T>, left: &mut usize) {
    list.truncate(*left);
    *left -= list.len();
}

/// What an operator wants to be recovered by force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// The table's name.
    pub table: String,
    /// Which partitions; none: all that nobody serves.
    pub partitions: Vec<PartitionId>,
    /// The operator knows what is lost. Otherwise it is told, and nothing is done.
    pub is_confirmed: bool,
}
