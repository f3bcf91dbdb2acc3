//! Where partitions should be, and what has to move for it.
//!
//! In: the catalog. Out: a [`Plan`]: the members that each partition should have, and the [`Move`]s to there.
//!
//! Whoever has the catalog comes to the same plan, so it is stored nowhere: a new leader goes on with it, and any
//! brick can show it before anything moves.
//!
//! Not here: the placement itself (`routing`), what siblings have to do with it (`colocate`), carrying it out (`control`).

use crate::{
    catalog::Catalog,
    colocate::{Pairs, targets},
    table::TableEntry,
    version::CatalogVersion,
};
use brickyard_routing::{Group, Member, NodeId};
use brickyard_types::{PartitionId, TableId};
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The state of the catalog that it is for.
    pub version: CatalogVersion,
    targets: BTreeMap<PartitionId, Vec<Member>>,
}

/// What has to be done for one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The table.
    pub table: TableId,
    /// The partition.
    pub partition: PartitionId,
    /// Who will hold it no more; `None`: a copy was missing.
    pub from: Option<Member>,
    /// Who will hold it; `None`: there is a copy too many.
    pub to: Option<Member>,
    /// Whether `to` is one of its members now, and has only to get the role of `from`.
    pub is_hand_over: bool,
}

impl Plan {
    /// The members that a partition should have, the primary first.
    #[must_use]
    pub fn target(&self, partition: PartitionId) -> &[Member] {
        self.targets
            .get(&partition)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// Whether a brick should hold a partition.
    #[must_use]
    pub fn wants(&self, partition: PartitionId, member: Member) -> bool {
        self.target(partition).contains(&member)
    }

    /// What has to be done, by table and partition.
    #[must_use]
    pub fn moves(&self, catalog: &Catalog) -> Vec<Move> {
        // Nothing moves of what is not served.
        let tables = catalog.tables().filter(|it| it.is_online());
        tables
            .flat_map(|table| {
                let partitions = table.partitions();
                partitions.flat_map(|(partition, group)| {
                    let extra = usize::from(catalog.extra(partition));
                    moves(table.id, partition, group, self.target(partition), extra)
                })
            })
            .collect()
    }
}

impl Catalog {
    /// Where everything should be, if the nodes `lost` do not come back.
    ///
    /// - Time: linear in the partitions, and in moves × bricks.
    #[must_use]
    pub fn plan(&self, lost: &BTreeSet<NodeId>) -> Plan {
        self.plan_colocated(lost, &Pairs::new())
    }

    /// Where everything should be, if the nodes `lost` do not come back and these siblings are to be together.
    ///
    /// - Time: linear in the partitions, and in moves × bricks.
    #[must_use]
    pub fn plan_colocated(&self, lost: &BTreeSet<NodeId>, pairs: &Pairs) -> Plan {
        let merged = self.merges().map(|(left, merge)| (merge.right, left));
        let pairs: Pairs = pairs.iter().map(|(a, b)| (*a, *b)).chain(merged).collect();
        let tables = self.tables();
        let targets = tables.flat_map(|table| targets(&self.nodes, table, lost, &pairs));
        Plan {
            version: self.version(),
            targets: targets.collect(),
        }
    }

    /// Copies of a table's partitions that are not where they should be.
    #[must_use]
    pub fn misplaced(&self, table: &TableEntry, plan: &Plan) -> usize {
        let partitions = table.partitions();
        let moves = partitions.flat_map(|(partition, group)| {
            let extra = usize::from(self.extra(partition));
            moves(table.id, partition, group, plan.target(partition), extra)
        });
        moves.filter(|it| !it.is_hand_over).count()
    }
}

/// So many members beyond the target are as they should be.
fn moves(
    table: TableId,
    partition: PartitionId,
    group: &Group,
    target: &[Member],
    mut extra: usize,
) -> Vec<Move> {
    let members: Vec<Member> = group.members().map(|replica| replica.member).collect();
    let learners: Vec<Member> = group
        .learners
        .iter()
        .map(|replica| replica.member)
        .collect();
    let mut leaves = members
        .iter()
        .copied()
        .filter(|it| !target.contains(it) && !learners.contains(it));
    // What is being copied is under way, and still to be done.
    let mut comes = target
        .iter()
        .copied()
        .filter(|it| !members.contains(it) || learners.contains(it));
    let mut moves = Vec::new();
    loop {
        let (from, to) = (leaves.next(), comes.next());
        if from.is_none() && to.is_none() {
            break;
        }
        if to.is_none() && extra > 0 {
            extra -= 1;
            continue;
        }
        moves.push(Move {
            table,
            partition,
            from,
            to,
            is_hand_over: false,
        });
    }
    let primary = group.primary.member;
    if let Some(first) = target.first().copied()
        && first != primary
        && members.contains(&first)
        && !learners.contains(&first)
    {
        moves.push(Move {
            table,
            partition,
            from: Some(primary),
            to: Some(first),
            is_hand_over: true,
        });
    }
    moves
}

#[cfg(test)]
#[path = "plan_test.rs"]
mod plan_test;
