//! Chord: edges that halve what is left of the way around the ring of hashes.
//!
//! In:  a leaf, a hash. Out: the leaf's edges, and the one that is nearest to the hash without passing it.
//!
//! Invariant: the beginning of the next leaf lies behind that of this one and not behind the hash, so that the distance
//! from beginning to hash shrinks by what lies between: by a leaf at least.
//!
//! The leaf that has the point at 2^k behind a leaf's beginning may begin before that point, if it is the wider of the two. It
//! still begins behind this leaf's end: leaves do not overlap. So the proof needs nothing of depths.

use crate::{hash::RoutingHash, partition_map::PartitionMap, prefix::Prefix};

/// How far behind the leaf's beginning the hash is; 0: in the leaf.
pub(super) const fn distance(leaf: Prefix, target: RoutingHash) -> u64 {
    if leaf.contains(target) {
        0
    } else {
        target.0.wrapping_sub(leaf.first().0)
    }
}

/// The edge whose leaf is nearest to `target` and begins before it, which is the longest that does not pass it.
pub(super) fn next(partitions: &PartitionMap, from: Prefix, target: RoutingHash) -> Option<usize> {
    let way = distance(from, target);
    let step = 1 << way.checked_ilog2()?;
    Some(at(partitions, from, step))
}

/// The leaf that has the point `step` behind the leaf's beginning.
pub(super) fn at(partitions: &PartitionMap, from: Prefix, step: u64) -> usize {
    partitions.leaf_index(RoutingHash(from.first().0.wrapping_add(step)))
}

/// Half around the ring, a quarter, and so on to the leaf behind this one.
pub(super) fn edges(partitions: &PartitionMap, from: Prefix) -> Vec<usize> {
    (1..=from.depth())
        .map(|bit| at(partitions, from, 1 << (64 - bit)))
        .collect()
}
