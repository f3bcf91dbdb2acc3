//! How a table is laid out: by which rule its partitions are placed, on which nodes, and how large one may be.
//!
//! In: what a table is made with, and alterations of it. Out: the nodes that may hold its partitions; [`Refusal`]s where
//! there are too few of them.
//!
//! Invariants:
//! - A table's nodes are nodes of the cluster: one that is removed is taken out of all sets, and one that takes another one's
//!   place gets into its sets.
//! - No order leaves a table without any node that may hold something.
//!
//! Not here: where the partitions should be then (`plan`, `routing`), moving them (`control`).

use crate::{
    catalog::{Catalog, Table},
    node::Node,
    refusal::Refusal,
};
use brickyard_routing::NodeId;
use brickyard_types::{Placement, TableAttributes, limits::RING_POINTS_MAX};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, sync::Arc};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// By which rule it is placed.
    pub placement: Placement,
    /// The nodes that may hold its partitions; none: all.
    pub nodes: BTreeSet<NodeId>,
    /// How large a partition may be before it is split; 0: as large as it gets. `None`: what each node is set to.
    pub partition_bytes: Option<u64>,
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
        } = alteration.clone();
        Self {
            placement: placement.unwrap_or(self.placement),
            nodes: nodes.unwrap_or_else(|| self.nodes.clone()),
            partition_bytes: partition_bytes.unwrap_or(self.partition_bytes),
        }
    }

    /// Whether a program's own words could have said it; for a catalog that was read.
    pub(crate) fn is_sound(&self) -> bool {
        match self.placement {
            Placement::Even => true,
            Placement::Ring { points } => (1..=RING_POINTS_MAX).contains(&points),
        }
    }
}

impl Catalog {
    /// The nodes that may hold partitions of a table that is laid out so.
    pub fn holders(&self, layout: &Layout) -> impl Iterator<Item = &Node> {
        let nodes = self.nodes();
        nodes.filter(|node| node.weight() > 0 && layout.admits(node.id))
    }

    /// That the nodes are there, and enough for the copies.
    pub(crate) fn check_layout(
        &self,
        layout: &Layout,
        attributes: &TableAttributes,
    ) -> Result<(), Refusal> {
        let mut named = layout.nodes.iter();
        if let Some(node) = named.find(|it| self.node(**it).is_none()) {
            return Err(Refusal::UnknownNode { node: node.0 });
        }
        if !layout.is_sound() {
            let placement = layout.placement;
            return Err(Refusal::BadPlacement { placement });
        }
        let TableAttributes {
            replicas,
            min_in_sync,
            ..
        } = *attributes;
        let nodes = self.holders(layout).count();
        match usize::from(replicas) {
            0 => Err(Refusal::NoReplicas),
            count if count > nodes && !layout.nodes.is_empty() => {
                Err(Refusal::FewInSet { replicas, nodes })
            }
            count if count > nodes => Err(Refusal::TooManyReplicas { replicas, nodes }),
            _ if !(1..=replicas).contains(&min_in_sync) => Err(Refusal::BadMinInSync {
                min_in_sync,
                replicas,
            }),
            _ => Ok(()),
        }
    }

    /// That every table has a node left which may hold something, without one of them.
    pub(crate) fn check_sets_without(&self, id: NodeId) -> Result<(), Refusal> {
        let is_last = |table: &&Table| {
            let has_set = table.layout.nodes.contains(&id);
            has_set && self.holders(&table.layout).all(|node| node.id == id)
        };
        match self.tables().find(is_last) {
            Some(table) => Err(Refusal::LastOfSet {
                node: id.0,
                table: table.name.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Lets a node into the sets that another one is in.
    pub(crate) fn join_sets_of(&mut self, old: NodeId, new: NodeId) {
        self.alter_sets(old, |nodes| nodes.insert(new));
    }

    /// Takes a node that is gone out of all sets.
    pub(crate) fn leave_sets(&mut self, id: NodeId) {
        self.alter_sets(id, |nodes| nodes.remove(&id));
    }

    fn alter_sets(&mut self, of: NodeId, alter: impl Fn(&mut BTreeSet<NodeId>) -> bool) {
        for table in self.tables.values_mut() {
            if table.layout.nodes.contains(&of) {
                alter(&mut Arc::make_mut(table).layout.nodes);
            }
        }
    }
}

#[cfg(test)]
#[path = "layout_test.rs"]
mod layout_test;
