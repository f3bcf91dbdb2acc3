//! Leaves that somebody remembers, within so many bytes and of so many: those that were asked for last.
//!
//! In:  leaves that bricks told of, and what is to be known with each. Out: the one that has a hash; else the one from which
//! the way to it is shortest.
//!
//! Invariants:
//! - Leaves that are remembered do not overlap: one that is learned replaces those that it has anything in common with, which
//!   were of another version.
//! - They take no more bytes than they may, and are no more than may be; the one that was used longest ago goes first.
//!
//! Not here: whether a leaf is true. It was when a brick told of it.

use super::{Graph, bruijn};
use crate::{hash::RoutingHash, prefix::Prefix};
use brickyard_types::limits::PARTITION_DEPTH_MAX;
use std::collections::BTreeMap;

/// Bytes that a leaf takes besides what is known with it: two entries of trees that are two thirds full.
pub const LEAF_BYTES: usize = 96;

/// See the module.
#[derive(Clone, Debug)]
pub struct LeafCache<V> {
    leaves: BTreeMap<Prefix, Known<V>>,
    /// When each was used last, the longest ago first.
    uses: BTreeMap<u64, Prefix>,
    now: u64,
    bytes: usize,
    bytes_max: usize,
    leaves_max: usize,
}

#[derive(Clone, Debug)]
struct Known<V> {
    value: V,
    used: u64,
    bytes: usize,
}

impl<V> LeafCache<V> {
    /// One that takes so many bytes at most.
    #[must_use]
    pub const fn new(bytes_max: usize) -> Self {
        Self {
            leaves: BTreeMap::new(),
            uses: BTreeMap::new(),
            now: 0,
            bytes: 0,
            bytes_max,
            leaves_max: usize::MAX,
        }
    }

    /// Leaves that are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// Bytes that they take.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// From now on leaves may take so many bytes, and be so many.
    pub fn set_max(&mut self, bytes_max: usize, leaves_max: usize) {
        (self.bytes_max, self.leaves_max) = (bytes_max, leaves_max);
        self.make_room(0, 0);
    }

    /// Remembers a leaf; `value_bytes` are taken by what is known with it. What it overlaps is forgotten. One that takes more than
    /// all may is not remembered.
    pub fn learn(&mut self, leaf: Prefix, value: V, value_bytes: usize) {
        self.forget(leaf);
        let bytes = LEAF_BYTES.saturating_add(value_bytes);
        if bytes > self.bytes_max || self.leaves_max == 0 {
            return;
        }
        self.make_room(bytes, 1);
        self.bytes += bytes;
        let used = self.tick();
        self.uses.insert(used, leaf);
        self.leaves.insert(leaf, Known { value, used, bytes });
    }

    /// The leaf that has `hash`, which is used now.
    pub fn find(&mut self, hash: RoutingHash) -> Option<(Prefix, &V)> {
        let leaf = self.leaf_at(hash)?;
        let now = self.tick();
        let known = self.leaves.get_mut(&leaf)?;
        let before = std::mem::replace(&mut known.used, now);
        self.uses.remove(&before);
        self.uses.insert(now, leaf);
        Some((leaf, &known.value))
    }

    /// The leaf from which the way to `target` is shortest.
    ///
    /// - Time: a step down a tree (Chord), or as many as the square root of twice the leaves of the table (de Bruijn) at most.
    #[must_use]
    pub fn nearest(&self, graph: Graph, target: RoutingHash) -> Option<(Prefix, &V)> {
        let leaf = match graph {
            Graph::Chord => self.at_or_before(target),
            Graph::Bruijn => self.nearest_by_bits(target),
        };
        self.leaves
            .get_key_value(&leaf?)
            .map(|(leaf, known)| (*leaf, &known.value))
    }

    /// Forgets the leaf that has `hash`; whether there was one.
    pub fn drop_at(&mut self, hash: RoutingHash) -> bool {
        let leaf = self.leaf_at(hash);
        leaf.is_some_and(|leaf| self.drop_leaf(leaf))
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.leaves.clear();
        self.uses.clear();
        self.bytes = 0;
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Prefix, &V)> {
        self.leaves
            .iter()
            .map(|(leaf, known)| (*leaf, &known.value))
    }

    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    fn leaf_at(&self, hash: RoutingHash) -> Option<Prefix> {
        let leaf = self.before(hash)?;
        leaf.contains(hash).then_some(leaf)
    }

    /// The last leaf that begins no later than `hash`.
    fn before(&self, hash: RoutingHash) -> Option<Prefix> {
        let end = Prefix::of(hash, PARTITION_DEPTH_MAX);
        let mut before = self.leaves.range(..=end);
        before.next_back().map(|(leaf, _)| *leaf)
    }

    /// The same, around the ring if need be.
    fn at_or_before(&self, hash: RoutingHash) -> Option<Prefix> {
        let last = || self.leaves.last_key_value().map(|(leaf, _)| *leaf);
        self.before(hash).or_else(last)
    }

    fn nearest_by_bits(&self, target: RoutingHash) -> Option<Prefix> {
        for length in 0..=u32::from(PARTITION_DEPTH_MAX) {
            let words = 1_u64 << length;
            if words > self.leaves.len() as u64 {
                break;
            }
            let points = (0..words).map(|word| bruijn::point(word, length, target));
            let found = points.filter_map(|point| self.leaf_at(point)).next();
            if found.is_some() {
                return found;
            }
        }
        let leaves = self.leaves.keys().copied();
        leaves.min_by_key(|leaf| bruijn::distance(*leaf, target))
    }

    /// Forgets what overlaps a leaf.
    fn forget(&mut self, leaf: Prefix) {
        if let Some(above) = self.leaf_at(leaf.first()) {
            self.drop_leaf(above);
        }
        let end = Prefix::of(leaf.last(), PARTITION_DEPTH_MAX);
        let below: Vec<Prefix> = self.leaves.range(leaf..=end).map(|(it, _)| *it).collect();
        for leaf in below {
            self.drop_leaf(leaf);
        }
    }

    fn drop_leaf(&mut self, leaf: Prefix) -> bool {
        let known = self.leaves.remove(&leaf);
        if let Some(known) = &known {
            self.uses.remove(&known.used);
            self.bytes -= known.bytes;
        }
        known.is_some()
    }

    fn make_room(&mut self, bytes: usize, leaves: usize) {
        while self.bytes + bytes > self.bytes_max || self.leaves.len() + leaves > self.leaves_max {
            let Some((_, leaf)) = self.uses.pop_first() else {
                break;
            };
            self.drop_leaf(leaf);
        }
    }
}

#[cfg(test)]
#[path = "leaf_cache_test.rs"]
mod leaf_cache_test;
