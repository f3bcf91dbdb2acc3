//! What came of each node's last request, for when it asks again.
//!
//! Invariant: an outcome is of a node that is in the cluster, in the life in which it asked.

use crate::{applied::Applied, nodes::Nodes};
use brickyard_routing::NodeId;
use brickyard_types::Incarnation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What came of a change; a refusal in words.
pub type Outcome = Result<Applied, String>;

/// What came of a node's last request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastOutcome {
    /// The life in which it asked.
    pub incarnation: Incarnation,
    /// The request.
    pub sequence: u64,
    /// What came of it.
    pub outcome: Outcome,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct LastOutcomes {
    by_node: BTreeMap<NodeId, LastOutcome>,
}

impl LastOutcomes {
    /// What came of the last request of a node in that life.
    pub(crate) fn of(&self, node: NodeId, incarnation: Incarnation) -> Option<&LastOutcome> {
        let last = self.by_node.get(&node);
        last.filter(|last| last.incarnation == incarnation)
    }

    /// Takes note of what came of a node's request; a node that removed itself has none.
    pub(crate) fn note(&mut self, node: NodeId, last: LastOutcome, nodes: &Nodes) {
        let before = self.of(node, last.incarnation).map(|it| it.sequence);
        assert!(
            before.is_none_or(|it| it < last.sequence),
            "request {} of node {node} is answered after {before:?}",
            last.sequence
        );
        if nodes.node(node).is_some() {
            self.by_node.insert(node, last);
        }
    }

    /// The node is gone, or lives anew.
    pub(crate) fn forget(&mut self, node: NodeId) {
        self.by_node.remove(&node);
    }

    /// What contradicts the invariant; for a catalog that was read.
    pub(crate) fn check(&self, nodes: &Nodes) -> Result<(), String> {
        let mut of = self.by_node.keys();
        match of.find(|node| nodes.node(**node).is_none()) {
            Some(node) => Err(format!(
                "it has an outcome of node {node}, which is not its own"
            )),
            None => Ok(()),
        }
    }
}
