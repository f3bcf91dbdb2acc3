//! How a table is laid out: by which rule its partitions are placed, on which nodes, and how large one may be.
//!
//! In: what a table is made with, and alterations of it. Out: whether a node may hold its partitions.
//!
//! Invariants (of `nodes` and `tables`, which have the nodes and the sets):
//! - A table's nodes are nodes of the cluster: one that is removed is taken out of all sets, and one that takes another one's
//!   place gets into its sets.
//! - No order leaves a table without any node that may hold something.
//!
//! Not here: where the partitions should be then (`plan`, `routing`), moving them (`control`).

use brickyard_routing::NodeId;
use brickyard_types::{Placement, limits::RING_POINTS_MAX};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// By which rule it is placed.
    pub placement: Placement,
    /// The nodes that may hold its partitions; none: all.
    pub nodes: BTreeSet<NodeId>,
    /// How large a partition may be before it is split; 0: as large as it gets. `None`: what each node is set to.
    pub partition_bytes: Option<u64>,
    /// It has a copy on each of its nodes, up to so many; `None`: as many as were asked for, whatever nodes there are.
    pub copies_max: Option<u8>,
}

/// What of a layout to change, and to what; `None` leaves it as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutAlteration {
    /// By which rule it is placed.
    pub placement: Option<Placement>,
    /// The nodes that may hold its partitions; none: all.
    pub nodes: Option<BTreeSet<NodeId>>,
    /// How large a partition may be; `Some(None)`: what each node is set to.
    pub partition_bytes: Option<Option<u64>>,
    /// Up to how many copies it has as nodes come; `Some(None)`: as many as it has.
    pub copies_max: Option<Option<u8>>,
}

impl Layout {
    /// Whether a node may hold partitions, as far as the table is asked.
    #[must_use]
    pub fn admits(&self, node: NodeId) -> bool {
        self.nodes.is_empty() || self.nodes.contains(&node)
    }

    /// The layout with an alteration.
    #[must_use]
    pub fn altered(&self, alteration: &LayoutAlteration) -> Self {
        let LayoutAlteration {
            placement,
            nodes,
            partition_bytes,
            copies_max,
        } = alteration.clone();
        Self {
            placement: placement.unwrap_or(self.placement),
            nodes: nodes.unwrap_or_else(|| self.nodes.clone()),
            partition_bytes: partition_bytes.unwrap_or(self.partition_bytes),
            copies_max: copies_max.unwrap_or(self.copies_max),
        }
    }

    /// Whether a program's own words could have said it; for a catalog that was read.
    pub(crate) fn is_sound(&self) -> bool {
        let is_rule = match self.placement {
            Placement::Even => true,
            Placement::Ring { points } => (1..=RING_POINTS_MAX).contains(&points),
        };
        is_rule && self.copies_max != Some(0)
    }
}

#[cfg(test)]
#[path = "layout_test.rs"]
mod layout_test;
