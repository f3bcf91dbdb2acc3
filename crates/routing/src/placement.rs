//! Where a new table's partitions go: how many there are, and which brick holds which.
//!
//! In: the bricks and their weights. Out: a partition count and a [`Group`] for each partition.
//!
//! Invariants:
//! - A brick's primaries are one contiguous run, so that clients hold one slot range a brick.
//! - Their number is within one of the brick's exact share by weight.
//! - No two members of a group are on one node.
//!
//! Not here: moving partitions that exist (the balancer, which compares with this as its target).

use crate::group::{Group, NodeId, Replica};
use std::collections::BTreeMap;

/// Fewest partitions of a new table, unless asked for: a table that grows should not have to split
/// before it can be spread over a few more bricks.
pub const PARTITIONS_MIN: u32 = 256;

/// Most partitions of a new table: two a slot. Cluster clients address slots, and send a key of a slot that is in two
/// parts to the first one's brick; with contiguous runs that is one slot a brick at most where it is another's.
pub const PARTITIONS_MAX: u32 = 32_768;

/// How many partitions the lightest brick should have: within one of the exact share is then within
/// 0.5 % of it.
const PARTITIONS_PER_BRICK: u64 = 200;

/// A brick that may hold partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The brick.
    pub replica: Replica,
    /// Its share, relative to the others; 0 for none.
    pub weight: u32,
}

/// The number of partitions that gives every brick a share within 0.5 % of its weight.
///
/// A power of two between [`PARTITIONS_MIN`] and [`PARTITIONS_MAX`]; past 163 equal bricks the latter
/// bounds the evenness (and leaves split as the table grows).
#[must_use]
pub fn default_partitions(candidates: &[Candidate]) -> u32 {
    let weights = candidates.iter().map(|candidate| candidate.weight);
    let total: u64 = weights.clone().map(u64::from).sum();
    let lightest = weights.filter(|&weight| weight > 0).min().unwrap_or(1);
    let wanted = (total * PARTITIONS_PER_BRICK).div_ceil(u64::from(lightest));
    let wanted = wanted.clamp(u64::from(PARTITIONS_MIN), u64::from(PARTITIONS_MAX));
    (wanted as u32).next_power_of_two()
}

/// Spreads `partitions` over the bricks: a group of `replicas` members for each, in leaf order.
///
/// Primaries are contiguous runs by weight. The backups of a brick's partitions are all on one brick
/// of each following node, the one in the same place there (chained declustering, Hsiao & DeWitt,
/// 1990): few partners a brick, and even where nodes have equally many bricks.
///
/// # Panics
/// If no candidate has a weight, or there are fewer nodes than `replicas` (or none are asked for):
/// the catalog refuses those with a text.
#[must_use]
pub fn place(partitions: u32, candidates: &[Candidate], replicas: u8) -> Vec<Group> {
    let bricks: Vec<Candidate> = candidates
        .iter()
        .copied()
        .filter(|candidate| candidate.weight > 0)
        .collect();
    let total: u128 = bricks.iter().map(|brick| u128::from(brick.weight)).sum();
    let mut by_node: BTreeMap<NodeId, Vec<Replica>> = BTreeMap::new();
    for brick in &bricks {
        by_node
            .entry(brick.replica.member.node)
            .or_default()
            .push(brick.replica);
    }
    let nodes: Vec<Vec<Replica>> = by_node.into_values().collect();
    assert!(total > 0, "a table needs a brick with a weight");
    assert!(
        (1..=nodes.len()).contains(&usize::from(replicas)),
        "{replicas} replicas on {} nodes",
        nodes.len()
    );
    let mut groups = Vec::with_capacity(partitions as usize);
    let mut weight_before = 0;
    for brick in &bricks {
        // The run ends at the exact boundary, rounded: two roundings of at most a half each.
        weight_before += u128::from(brick.weight);
        let end = (u128::from(partitions) * weight_before + total / 2) / total;
        let backups = backups(brick.replica, &nodes, usize::from(replicas) - 1);
        groups.resize(end as usize, Group::first(brick.replica, backups));
    }
    groups
}

fn backups(primary: Replica, nodes: &[Vec<Replica>], count: usize) -> Vec<Replica> {
    let place = nodes.iter().enumerate().find_map(|(node, bricks)| {
        let brick = bricks.iter().position(|&replica| replica == primary)?;
        Some((node, brick))
    });
    let (node, brick) = place.unwrap_or_default();
    (1..=count)
        .map(|step| {
            let bricks = &nodes[(node + step) % nodes.len()];
            bricks[brick % bricks.len()]
        })
        .collect()
}

#[cfg(test)]
#[path = "placement_test.rs"]
mod placement_test;
