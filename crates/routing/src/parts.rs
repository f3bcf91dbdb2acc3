//! A table's maps as they are stored and sent: short, and believed only after a check.
//!
//! In: a [`TableMap`], or what a disk or a peer claims to be one. Out: the other of the two.
//!
//! Neighbouring partitions are mostly alike (one depth, ids in order, one brick), so both maps are
//! lists of runs: a new table of 16,384 partitions is one run of leaves and one of groups a brick.
//!
//! The order of the fields is the format (docs/routing.md).

use crate::{
    error::MapError,
    group::Group,
    hash::{Hasher, KeyHasher},
    partition_map::PartitionMap,
    table_map::{MapVersion, TableMap},
};
use brickyard_types::{PartitionId, TableId};
use serde::{Deserialize, Serialize};

/// A table's maps in parts, unchecked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableMapParts {
    /// The number of the state.
    pub version: MapVersion,
    /// The table.
    pub table: TableId,
    /// How keys become routing hashes.
    pub hasher: Hasher,
    /// The seed of the strong hash.
    pub seed: u64,
    /// The leaves, in order.
    pub leaves: Vec<LeafRun>,
    /// The leaves' replica groups, in the same order.
    pub groups: Vec<GroupRun>,
}

/// Leaves of one depth that follow one another and have ids in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeafRun {
    /// How many.
    pub count: u32,
    /// Their depth.
    pub depth: u8,
    /// The id of the first.
    pub first: PartitionId,
}

/// Leaves that follow one another and have the same group in the same view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRun {
    /// How many.
    pub count: u32,
    /// The group of each.
    pub group: Group,
}

impl TryFrom<TableMapParts> for TableMap {
    type Error = MapError;

    fn try_from(parts: TableMapParts) -> Result<Self, MapError> {
        let leaves = parts.leaves.iter();
        for run in leaves.clone() {
            if run.count > 0 && run.first.0.checked_add(run.count - 1).is_none() {
                let (first, count) = (run.first, run.count);
                return Err(MapError::IdsExhausted { first, count });
            }
        }
        // The map stops at the first leaf past the hash space, so counts cannot ask for more
        // memory than the deepest map takes.
        let partitions = PartitionMap::from_depths(leaves.flat_map(|run| {
            let ids = (0..run.count).map(|index| PartitionId(run.first.0 + index));
            ids.map(|partition| (run.depth, partition))
        }))?;
        let group_count = parts.groups.iter().map(|run| run.count as usize).sum();
        if group_count != partitions.leaves().len() {
            return Err(MapError::GroupCount {
                leaves: partitions.leaves().len(),
                groups: group_count,
            });
        }
        let runs = parts.groups.into_iter();
        let groups = runs
            .flat_map(|run| std::iter::repeat_n(run.group, run.count as usize))
            .collect();
        let hasher = KeyHasher::new(parts.hasher, parts.seed);
        Self::at_version(parts.version, parts.table, hasher, partitions, groups)
    }
}

impl From<&TableMap> for TableMapParts {
    fn from(map: &TableMap) -> Self {
        let mut leaves: Vec<LeafRun> = Vec::new();
        for leaf in map.partitions().leaves() {
            let depth = leaf.prefix.depth();
            match leaves.last_mut() {
                Some(run)
                    if run.depth == depth
                        && run.first.0.checked_add(run.count) == Some(leaf.partition.0) =>
                {
                    run.count += 1;
                }
                _ => leaves.push(LeafRun {
                    count: 1,
                    depth,
                    first: leaf.partition,
                }),
            }
        }
        let mut groups: Vec<GroupRun> = Vec::new();
        for group in map.groups() {
            match groups.last_mut() {
                Some(run) if run.group == *group => run.count += 1,
                _ => groups.push(GroupRun {
                    count: 1,
                    group: group.clone(),
                }),
            }
        }
        Self {
            version: map.version(),
            table: map.table(),
            hasher: map.hasher().hasher(),
            seed: map.hasher().seed(),
            leaves,
            groups,
        }
    }
}

impl From<TableMap> for TableMapParts {
    fn from(map: TableMap) -> Self {
        Self::from(&map)
    }
}

#[cfg(test)]
#[path = "parts_test.rs"]
mod parts_test;
