//! De Bruijn: edges that shift a prefix by a bit, so that the target's bits come in one by one.
//!
//! In:  a leaf, a hash. Out: the leaf's edges, and the one towards the hash.
//!
//! The distance of a leaf is how many bits its prefix has before those that the hash begins with:
//! ```text
//!  leaf 1 0 1 1 0      target 1 1 0 0 1 ...     1 0 | 1 1 0: two bits too many
//!  hop  0 1 1 0 0      the first bit goes, the target's next one comes: one
//!  hop  1 1 0 0 1      none: it holds the target
//! ```
//! Invariant: a hop drops the first of those bits. What comes behind the rest is the target's beginning, so the leaf that has
//! that point has at most as many bits before it, be it longer or shorter than this one. So the distance shrinks by one at least,
//! and a lookup takes at most as many hops as the leaf is deep where it begins.

use crate::{hash::RoutingHash, partition_map::PartitionMap, prefix::Prefix};

/// How many bits of the prefix come before the longest end of it that the hash begins with.
pub(super) fn distance(leaf: Prefix, target: RoutingHash) -> u32 {
    let (bits, depth) = (u64::from(leaf.bits()), u32::from(leaf.depth()));
    let is_matched = |length: u32| {
        let beginning = target.0.checked_shr(64 - length).unwrap_or(0);
        bits & ((1 << length) - 1) == beginning
    };
    let longest = (0..=depth).rev().find(|length| is_matched(*length));
    depth - longest.unwrap_or(0)
}

/// The point whose hash is `word`, `length` bits long, and behind it that of the target from its beginning.
pub(super) const fn point(word: u64, length: u32, target: RoutingHash) -> RoutingHash {
    match length {
        0 => target,
        _ => RoutingHash((word << (64 - length)) | (target.0 >> length)),
    }
}

/// The point behind one whose first `length` bits are too many: without the first of them.
pub(super) const fn shifted(word: u64, length: u32, target: RoutingHash) -> RoutingHash {
    let rest = length - 1;
    point(word & ((1 << rest) - 1), rest, target)
}

/// The edge towards `target`.
pub(super) fn next(partitions: &PartitionMap, from: Prefix, target: RoutingHash) -> Option<usize> {
    let length = distance(from, target);
    let too_many = from.bits() >> (u32::from(from.depth()) - length);
    (length > 0).then(|| partitions.leaf_index(shifted(too_many.into(), length, target)))
}

/// The leaves under the prefix without its first bit.
pub(super) fn edges(partitions: &PartitionMap, from: Prefix) -> Vec<usize> {
    let Some(depth) = from.depth().checked_sub(1) else {
        return vec![0];
    };
    let under = Prefix::of(RoutingHash(from.first().0 << 1), depth);
    let first = partitions.leaf_index(under.first());
    (first..=partitions.leaf_index(under.last())).collect()
}
