//! The data-partitioning map: a binary trie over routing hashes whose leaves are partitions.
//!
//! In: a number of partitions, or the leaves of a map from elsewhere; splits and merges. Out: the
//! partition of a routing hash.
//!
//! Invariants:
//! - The leaves, in order, cover every routing hash exactly once.
//! - No id is on two leaves, and no leaf is deeper than `limits::PARTITION_DEPTH_MAX`.
//!
//! Since the leaves leave no gap, their depths alone say where each begins: the map travels and is
//! stored as a list of (depth, id), and two leaves that overlap cannot even be written down.
//!
//! Not here: which bricks hold a partition (`table_map`).

use crate::{
    error::MapError,
    hash::RoutingHash,
    lookup::{Entry, Lookup},
    prefix::Prefix,
};
use brickyard_types::{PartitionId, Slot, limits::PARTITION_DEPTH_MAX};

/// A leaf of the trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The routing hashes that it holds.
    pub prefix: Prefix,
    /// The partition.
    pub partition: PartitionId,
}

/// The data-partitioning map of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionMap {
    leaves: Vec<Leaf>,
    /// (id, index in `leaves`), by id.
    by_id: Vec<(PartitionId, u32)>,
    lookup: Lookup,
}

impl PartitionMap {
    /// A map of `count` partitions of equal share, with ids from `first` on.
    ///
    /// # Errors
    /// [`MapError::Count`] if `count` is not a power of two up to `2^PARTITION_DEPTH_MAX`,
    /// [`MapError::IdsExhausted`] if there are no more ids.
    pub fn even(count: u32, first: PartitionId) -> Result<Self, MapError> {
        let count_max = 1 << PARTITION_DEPTH_MAX;
        if !count.is_power_of_two() || count > count_max {
            let nearest = count.clamp(1, count_max).next_power_of_two();
            return Err(MapError::Count { count, nearest });
        }
        if first.0.checked_add(count - 1).is_none() {
            return Err(MapError::IdsExhausted { first, count });
        }
        let depth = count.trailing_zeros() as u8;
        Self::from_depths((0..count).map(|index| (depth, PartitionId(first.0 + index))))
    }

    /// The map whose leaves, in order, have these depths and ids.
    ///
    /// # Errors
    /// [`MapError`] if they are not the leaves of one whole trie; anything may be given.
    pub fn from_depths(
        depths: impl IntoIterator<Item = (u8, PartitionId)>,
    ) -> Result<Self, MapError> {
        let mut leaves = Vec::new();
        // One past the last hash that is covered; the whole space is 2^64.
        let mut covered = 0_u128;
        for (depth, partition) in depths {
            if depth > PARTITION_DEPTH_MAX {
                return Err(MapError::Depth { partition, depth });
            }
            let span = 1_u128 << (64 - depth);
            let start = match u64::try_from(covered) {
                Ok(start) if covered.is_multiple_of(span) => start,
                _ => return Err(MapError::Misplaced { partition, depth }),
            };
            leaves.push(Leaf {
                prefix: Prefix::of(RoutingHash(start), depth),
                partition,
            });
            covered += span;
        }
        if let Ok(gap) = u64::try_from(covered) {
            let leaves = leaves.len();
            return Err(MapError::Incomplete { leaves, gap });
        }
        Self::from_leaves(leaves)
    }

    /// The map of leaves that are known to cover the space in order.
    fn from_leaves(leaves: Vec<Leaf>) -> Result<Self, MapError> {
        let mut by_id: Vec<_> = leaves
            .iter()
            .zip(0..)
            .map(|(leaf, index)| (leaf.partition, index))
            .collect();
        by_id.sort_unstable();
        if let Some(pair) = by_id.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(MapError::Repeated {
                partition: pair[0].0,
            });
        }
        Ok(Self {
            lookup: Lookup::new(&leaves),
            by_id,
            leaves,
        })
    }

    /// The leaves, in the order of their prefixes.
    #[must_use]
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// The partition that holds `hash`.
    ///
    /// - Time: one load from an array, two more if the hash's slot was split.
    #[inline]
    #[must_use]
    pub fn partition(&self, hash: RoutingHash) -> PartitionId {
        self.lookup.find(hash).partition
    }

    /// The index in [`Self::leaves`] of the leaf that holds `hash`.
    #[inline]
    #[must_use]
    pub fn leaf_index(&self, hash: RoutingHash) -> usize {
        self.lookup.find(hash).leaf as usize
    }

    /// The partition that holds all of `slot`; `None` if the slot was split, and the whole routing
    /// hash is needed.
    #[inline]
    #[must_use]
    pub fn partition_of_slot(&self, slot: Slot) -> Option<PartitionId> {
        self.lookup.find_slot(slot).map(|entry| entry.partition)
    }

    #[inline]
    pub(crate) fn find(&self, hash: RoutingHash) -> Entry {
        self.lookup.find(hash)
    }

    #[inline]
    pub(crate) fn find_slot(&self, slot: Slot) -> Option<Entry> {
        self.lookup.find_slot(slot)
    }

    /// The index in [`Self::leaves`] of `partition`, if it is in this map.
    #[must_use]
    pub fn index_of(&self, partition: PartitionId) -> Option<usize> {
        self.by_id
            .binary_search_by_key(&partition, |&(id, _)| id)
            .ok()
            .map(|at| self.by_id[at].1 as usize)
    }

    /// The leaves that have anything of what is under a prefix, in order: itself, those below it, or the one above it.
    #[must_use]
    pub fn leaves_over(&self, prefix: Prefix) -> &[Leaf] {
        let first = self.leaf_index(prefix.first());
        let last = self.leaf_index(prefix.last());
        self.leaves.get(first..=last).unwrap_or_default()
    }

    /// The map after `partition` was split into two new ones, and the index of the left one.
    ///
    /// # Errors
    /// [`MapError::Unknown`], [`MapError::TooDeep`], or [`MapError::Repeated`] if a new id is not
    /// new.
    pub(crate) fn with_split(
        &self,
        partition: PartitionId,
        halves: [PartitionId; 2],
    ) -> Result<(Self, usize), MapError> {
        let index = self
            .index_of(partition)
            .ok_or(MapError::Unknown { partition })?;
        let [left, right] = self.leaves[index]
            .prefix
            .children()
            .ok_or(MapError::TooDeep { partition })?;
        let mut leaves = Vec::with_capacity(self.leaves.len() + 1);
        leaves.extend_from_slice(&self.leaves[..index]);
        for (prefix, partition) in [(left, halves[0]), (right, halves[1])] {
            leaves.push(Leaf { prefix, partition });
        }
        leaves.extend_from_slice(&self.leaves[index + 1..]);
        Ok((Self::from_leaves(leaves)?, index))
    }

    /// The map after two siblings were merged into a new partition, and the index of that one.
    ///
    /// # Errors
    /// [`MapError::Unknown`], [`MapError::NotSiblings`], or [`MapError::Repeated`] if the new id is
    /// not new.
    pub(crate) fn with_merge(
        &self,
        [left, right]: [PartitionId; 2],
        merged: PartitionId,
    ) -> Result<(Self, usize), MapError> {
        let index = |partition| {
            self.index_of(partition)
                .ok_or(MapError::Unknown { partition })
        };
        let (left_index, right_index) = (index(left)?, index(right)?);
        let (left_prefix, right_prefix) = (
            self.leaves[left_index].prefix,
            self.leaves[right_index].prefix,
        );
        let prefix = left_prefix
            .parent()
            .filter(|parent| parent.children() == Some([left_prefix, right_prefix]))
            .ok_or(MapError::NotSiblings {
                left,
                left_prefix,
                right,
                right_prefix,
            })?;
        let mut leaves = self.leaves.clone();
        leaves[left_index] = Leaf {
            prefix,
            partition: merged,
        };
        leaves.remove(right_index);
        Ok((Self::from_leaves(leaves)?, left_index))
    }
}

#[cfg(test)]
#[path = "partition_map_test.rs"]
mod partition_map_test;
