//! The nodes that take part in agreement on the catalog, and one step of changing that.

use brickyard_routing::NodeId;
use std::collections::BTreeSet;

/// The nodes that take part in agreement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// The nodes that vote.
    pub voters: BTreeSet<NodeId>,
    /// The nodes that receive the log and do not vote.
    pub learners: BTreeSet<NodeId>,
    /// The learners that have nearly all of the log.
    pub caught_up: BTreeSet<NodeId>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MembershipChange {
    /// A node receives the log from now on.
    AddLearner(NodeId),
    /// A learner votes from now on.
    Promote(NodeId),
    /// A voter becomes a learner.
    Demote(NodeId),
    /// A node takes no part any more.
    Remove(NodeId),
}
