//! How evenly keys come out on nodes: with our placement, on a wheel, and with a perfect hash.
//!
//! In:  nodes with weights, keys. Out: keys of each node, and what moves when nodes come and go.
//!
//! Nothing is started: placement and hash are those of the server (`brickyard-routing`).

use brickyard_routing::{
    Candidate, Hasher, KeyHasher, Member, NodeId, PartitionMap, Replica, Site, default_partitions,
    ring, target,
};
use brickyard_types::{BrickId, Incarnation, PartitionId};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Who gets which partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placing {
    /// As a table has it unless it is told otherwise.
    Even,
    /// Consistent hashing with so many points of a node of weight 1.
    Ring(u32),
}

impl Placing {
    /// What it is called in figures.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Even => "Brickyard, even",
            Self::Ring(1) => "wheel of one point",
            Self::Ring(_) => "wheel of 100 points",
        }
    }

    /// The node of each partition, given where each is now (empty: nowhere).
    pub(crate) fn place(self, nodes: &[(u32, u32)], now: &[Vec<Member>]) -> Vec<Vec<Member>> {
        let sites = sites(nodes);
        match self {
            Self::Even => target(&sites, 1, now),
            Self::Ring(points) => {
                let map = map_of(now.len());
                let places = map.leaves().iter().map(|leaf| leaf.prefix.first().0);
                ring(&sites, 1, places, points)
            }
        }
    }
}

/// Nodes of one brick, by number and weight.
fn sites(nodes: &[(u32, u32)]) -> Vec<Site<'static>> {
    let site = |(node, weight): &(u32, u32)| Site {
        member: Member {
            node: NodeId(*node),
            brick: BrickId(0),
        },
        weight: *weight,
        zone: None,
    };
    nodes.iter().map(site).collect()
}

/// As many partitions as a new table has there.
pub(crate) fn partitions(nodes: &[(u32, u32)]) -> usize {
    let candidates: Vec<Candidate> = sites(nodes)
        .into_iter()
        .map(|site| Candidate {
            replica: Replica {
                member: site.member,
                incarnation: Incarnation(1),
            },
            weight: site.weight,
        })
        .collect();
    default_partitions(&candidates) as usize
}

/// The map of so many partitions, which is a power of two.
fn map_of(partitions: usize) -> PartitionMap {
    match PartitionMap::even(partitions as u32, PartitionId(0)) {
        Ok(map) => map,
        Err(error) => unreachable!("{partitions} partitions: {error}"),
    }
}

/// So many alike.
pub(crate) fn alike(nodes: usize) -> Vec<(u32, u32)> {
    (0..nodes as u32).map(|node| (node, 1)).collect()
}

/// Keys of each partition: of `prefix0`, `prefix1` and so on.
pub(crate) fn keys_by_partition(partitions: usize, prefix: &str, count: usize) -> Vec<u64> {
    let hasher = KeyHasher::new(Hasher::Slot, 1);
    let map = map_of(partitions);
    let mut counts = vec![0; partitions];
    let mut name = String::new();
    for key in 0..count {
        name.clear();
        name.push_str(prefix);
        // Writing to a string does not fail.
        let _ = write!(name, "{key}");
        counts[map.leaf_index(hasher.routing_hash(name.as_bytes()))] += 1;
    }
    counts
}

/// Keys of each node, given those of each partition.
pub(crate) fn keys(nodes: &[(u32, u32)], placed: &[Vec<Member>], counts: &[u64]) -> Vec<u64> {
    let place = |(at, (node, _)): (usize, &(u32, u32))| (*node, at);
    let places: BTreeMap<u32, usize> = nodes.iter().enumerate().map(place).collect();
    let mut found = vec![0; nodes.len()];
    for (members, count) in placed.iter().zip(counts) {
        let at = members.first().and_then(|it| places.get(&it.node.0));
        if let Some(at) = at {
            found[*at] += count;
        }
    }
    found
}

/// Each node's share of the partitions over what its weight says it should be: 1 is exact.
pub(crate) fn shares(nodes: &[(u32, u32)], placed: &[Vec<Member>]) -> Vec<f64> {
    let weights: u32 = nodes.iter().map(|(_, weight)| weight).sum();
    let share = |(node, weight): &(u32, u32)| {
        let held = placed
            .iter()
            .filter(|it| it.first().is_some_and(|it| it.node.0 == *node));
        let held = held.count() as f64 / placed.len() as f64;
        held / (f64::from(*weight) / f64::from(weights))
    };
    nodes.iter().map(share).collect()
}

/// Partitions that are where they were not.
pub(crate) fn moved(before: &[Vec<Member>], after: &[Vec<Member>]) -> usize {
    before
        .iter()
        .zip(after)
        .filter(|(a, b)| a.first() != b.first())
        .count()
}

/// The largest over the mean.
pub(crate) fn most_over_mean(counts: &[u64]) -> f64 {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    counts.iter().copied().max().unwrap_or_default() as f64 / mean
}

/// The least over the mean.
pub(crate) fn least_over_mean(counts: &[u64]) -> f64 {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    counts.iter().copied().min().unwrap_or_default() as f64 / mean
}

/// Keys of each node if every key went to any node with the same chance: one draw of `seed`.
pub(crate) fn perfect(nodes: usize, each: usize, seed: u64) -> Vec<u64> {
    let mut counts = vec![0; nodes];
    let mut state = seed;
    for _ in 0..nodes * each {
        // SplitMix64 (Steele, Lea and Flood, 2014).
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        counts[((u128::from(z) * nodes as u128) >> 64) as usize] += 1;
    }
    counts
}

#[cfg(test)]
#[path = "spread_test.rs"]
mod spread_test;
