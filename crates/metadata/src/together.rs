//! Siblings that could be one partition, were they on the same bricks.
//!
//! In: the maps; pairs of siblings that are to be together, from whoever knows why. Out: who is whose sibling; a [`Plan`] in which
//! these pairs count as one partition each.
//!
//! Invariants:
//! - Why siblings are to be together is not in the catalog: it is asked for, or told, as long as it is so (decision 0025).
//!   Siblings whose merge has begun count as one for everybody.
//! - The right one goes where the left one should be, by way of another node where the two would have to change bricks of one.
//! - Of everything else the plan is what it will be when they are merged: nothing moves for their sake and back again.
//!
//! Not here: which siblings (`brick`, `control`), the merge itself (`merge`).

use crate::{
    catalog::{Catalog, Table},
    plan::Plan,
};
use brickyard_routing::{Group, Leaf, Member, NodeId, Seat, Situation, detour, strategy};
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

impl Table {
    /// A partition and its sibling, the left one first; `None`: it is not there, has none, or that was split again.
    #[must_use]
    pub fn siblings(&self, partition: PartitionId) -> Option<[PartitionId; 2]> {
        let map = self.map.partitions();
        let leaves = map.leaves();
        let at = map.index_of(partition)?;
        siblings(leaves, at)
    }

    /// Whether the same bricks hold two partitions, both in sync.
    #[must_use]
    pub fn are_together(&self, [left, right]: [PartitionId; 2]) -> bool {
        let (left, right) = (self.map.group(left), self.map.group(right));
        left.zip(right).is_some_and(|(a, b)| has_same_members(a, b))
    }
}

/// A leaf and its sibling, in order. Siblings are neighbours, unless one of them was split.
fn siblings(leaves: &[Leaf], at: usize) -> Option<[PartitionId; 2]> {
    let children = leaves.get(at)?.prefix.parent()?.children()?;
    let first = at - usize::from(leaves[at].prefix == children[1]);
    let pair = leaves.get(first..first + 2)?;
    let are_both = [pair[0].prefix, pair[1].prefix] == children;
    are_both.then(|| [pair[0].partition, pair[1].partition])
}

pub(crate) fn has_same_members(a: &Group, b: &Group) -> bool {
    let seats = |group: &Group| group.in_sync().collect::<BTreeSet<Seat>>();
    seats(a) == seats(b)
}

impl Catalog {
    /// Where everything should be, if the nodes `lost` do not come back and these siblings are to be together.
    ///
    /// - Time: linear in the partitions, and in moves × bricks.
    #[must_use]
    pub fn plan_together(&self, lost: &BTreeSet<NodeId>, pairs: &Pairs) -> Plan {
        let merged = self.merges().map(|(left, merge)| (merge.right, left));
        let pairs: Pairs = pairs.iter().map(|(a, b)| (*a, *b)).chain(merged).collect();
        let mut plan = Plan::of(self.version());
        for table in self.tables() {
            for (partition, target) in self.targets(table, lost, &pairs) {
                plan.aim(partition, target);
            }
        }
        plan
    }

    fn targets(
        &self,
        table: &Table,
        lost: &BTreeSet<NodeId>,
        pairs: &Pairs,
    ) -> BTreeMap<PartitionId, Vec<Member>> {
        let sites = self.sites(lost, &table.layout);
        let places = table.map.partitions().leaves().iter();
        let places = places.zip(table.map.groups().iter().map(|group| self.standing(group)));
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
}
#[cfg(test)]
#[path = "together_test.rs"]
mod together_test;
