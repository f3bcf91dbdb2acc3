//! Siblings that could be one partition, were they on the same bricks.
//!
//! In: the maps; pairs of siblings that should be together, from the module that knows why. Out: who is whose sibling; a [`Plan`] in which
//! these pairs count as one partition each.
//!
//! Invariants:
//! - Why siblings are to be together is not in the catalog: it is asked for, or told, as long as it is so (decision 0025).
//!   Siblings whose merge has begun count as one for everybody.
//! - The right one goes where the left one should be, by way of another node where the two would have to change bricks of one.
//! - Of everything else the plan is what it will be when they are merged: nothing moves for their sake and back again.
//!
//! Not here: which siblings (`brick`, `control`), the merge itself (`merge`).

use crate::{nodes::Nodes, table::TableEntry};
use brickyard_routing::{Leaf, Member, NodeId, Situation, detour, strategy};
use brickyard_types::PartitionId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a primary says of a partition that has shrunk and is apart from its sibling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Small {
    /// The partition.
    pub partition: PartitionId,
    /// What it has, in thousandths of what a partition of its table may have: less than [`SMALL_SHARE`].
    pub share: u16,
}

/// Siblings that together have less than this part of what one partition may have, in thousandths, are merged: what has just been
/// split has four times as much.
pub const SMALL_SHARE: u16 = 250;

/// Pairs of siblings that are to be together: the left one of each, by the right one.
pub type Pairs = BTreeMap<PartitionId, PartitionId>;

/// The members that each partition of a table should have.
pub(crate) fn targets(
    nodes: &Nodes,
    table: &TableEntry,
    lost: &BTreeSet<NodeId>,
    pairs: &Pairs,
) -> BTreeMap<PartitionId, Vec<Member>> {
    let sites = nodes.sites(lost, &table.layout);
    let places = table.map.partitions().leaves().iter();
    let places = places.zip(
        table
            .map
            .groups()
            .iter()
            .map(|group| nodes.present_members(group)),
    );
    if sites.iter().all(|site| site.weight == 0) {
        // There is nowhere to go.
        return places
            .map(|(leaf, present)| (leaf.partition, present))
            .collect();
    }
    let is_there = |leaf: &Leaf| {
        let left = pairs.get(&leaf.partition);
        left.is_some_and(|it| {
            table
                .siblings(leaf.partition)
                .is_some_and(|[a, _]| a == *it)
        })
    };
    // What is to be one partition counts as one, the left one.
    let (follow, lead): (Vec<_>, Vec<_>) = places.partition(|(leaf, _)| is_there(leaf));
    let (leaves, present): (Vec<Leaf>, Vec<Vec<Member>>) = lead.into_iter().unzip();
    let aimed = strategy(table.layout.placement).target(&Situation {
        sites: &sites,
        replicas: table.attributes.replicas,
        leaves: &leaves,
        present: &present,
    });
    let partitions = leaves.iter().map(|leaf| leaf.partition);
    let mut targets: BTreeMap<PartitionId, Vec<Member>> = partitions.zip(aimed).collect();
    for (turn, (leaf, present)) in follow.into_iter().enumerate() {
        let left = pairs.get(&leaf.partition).and_then(|it| targets.get(it));
        let target = detour(left.cloned().unwrap_or_default(), &present, &sites, turn);
        targets.insert(leaf.partition, target);
    }
    targets
}

#[cfg(test)]
#[path = "colocate_test.rs"]
mod colocate_test;
