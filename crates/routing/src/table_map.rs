//! Both maps of one table, and every question that a brick, a client or an operator asks of them.
//!
//! In: a [`KeyHasher`], a [`PartitionMap`] and a [`Group`] for each of its leaves; the control
//! plane's changes. Out: [`Location`]s of keys, owners of slots, the slot ranges of a brick.
//!
//! Invariants:
//! - There is one group for each leaf, in leaf order, and none names a brick twice.
//! - Every change makes a higher version; a map is replaced as a whole and never seen half changed.
//!
//! Not here: deciding a change (`metadata`), acting on one (`brick`).

use crate::{
    error::MapError,
    group::{Group, Member},
    hash::{KeyHasher, RoutingHash},
    partition_map::PartitionMap,
    parts::TableMapParts,
    prefix::SlotRange,
};
use brickyard_types::{PartitionId, Slot, TableId, View};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The number of a state of a table's maps, from 1.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MapVersion(pub u64);

impl MapVersion {
    /// The version of a new table's maps.
    pub const FIRST: Self = Self(1);

    /// The version after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for MapVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Where a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The slot; keys of one slot may be changed together.
    pub slot: Slot,
    /// The partition.
    pub partition: PartitionId,
    /// The partition's index among the leaves (and groups) of the map that was asked.
    pub leaf: u32,
    /// The hash by which the partition's index knows the key.
    pub key_hash: u64,
}

/// The maps of one table at one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TableMapParts", into = "TableMapParts")]
pub struct TableMap {
    version: MapVersion,
    table: TableId,
    hasher: KeyHasher,
    partitions: PartitionMap,
    groups: Vec<Group>,
}

impl TableMap {
    /// The first version of a table's maps; `groups` are in leaf order.
    ///
    /// # Errors
    /// [`MapError::GroupCount`] or [`MapError::RepeatedMember`].
    pub fn new(
        table: TableId,
        hasher: KeyHasher,
        partitions: PartitionMap,
        groups: Vec<Group>,
    ) -> Result<Self, MapError> {
        Self::at_version(MapVersion::FIRST, table, hasher, partitions, groups)
    }

    pub(crate) fn at_version(
        version: MapVersion,
        table: TableId,
        hasher: KeyHasher,
        partitions: PartitionMap,
        groups: Vec<Group>,
    ) -> Result<Self, MapError> {
        let leaves = partitions.leaves();
        if leaves.len() != groups.len() {
            return Err(MapError::GroupCount {
                leaves: leaves.len(),
                groups: groups.len(),
            });
        }
        for (leaf, group) in leaves.iter().zip(&groups) {
            if let Some(member) = group.repeated_member() {
                return Err(MapError::RepeatedMember {
                    partition: leaf.partition,
                    member,
                });
            }
        }
        Ok(Self {
            version,
            table,
            hasher,
            partitions,
            groups,
        })
    }

    /// The number of this state of the maps.
    #[must_use]
    pub const fn version(&self) -> MapVersion {
        self.version
    }

    /// The table.
    #[must_use]
    pub const fn table(&self) -> TableId {
        self.table
    }

    /// The table's hash functions.
    #[must_use]
    pub const fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// The data-partitioning map.
    #[must_use]
    pub const fn partitions(&self) -> &PartitionMap {
        &self.partitions
    }

    /// The replica groups, in leaf order.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The group of `partition`, if it is in this map.
    #[must_use]
    pub fn group(&self, partition: PartitionId) -> Option<&Group> {
        let index = self.partitions.index_of(partition)?;
        self.groups.get(index)
    }

    /// Finds the key's slot, partition and hash; what every command on a key begins with.
    #[inline]
    #[must_use]
    pub fn locate(&self, key: &[u8]) -> Location {
        let key_hash = self.hasher.key_hash(key);
        let slot = self.hasher.slot(key);
        let entry = self.partitions.find_slot(slot);
        let entry = entry.unwrap_or_else(|| self.partitions.find(self.hasher.routing_hash(key)));
        Location {
            slot,
            partition: entry.partition,
            leaf: entry.leaf,
            key_hash,
        }
    }

    /// The group that a client which knows only slots should be sent to.
    ///
    /// If the slot was split, that is the first part's; its bricks pass on what is not theirs.
    #[must_use]
    pub fn group_of_slot(&self, slot: Slot) -> &Group {
        let hash = RoutingHash(u64::from(slot.0) << 50);
        &self.groups[self.partitions.leaf_index(hash)]
    }

    /// The brick that is primary for `slot`, as [`Self::group_of_slot`].
    #[must_use]
    pub fn owner(&self, slot: Slot) -> Member {
        self.group_of_slot(slot).primary.member
    }

    /// The slots in runs of one group each, in order, as wide as they can be.
    #[must_use]
    pub fn slot_runs(&self) -> Vec<(SlotRange, &Group)> {
        let mut runs: Vec<(SlotRange, &Group)> = Vec::new();
        for (leaf, group) in self.partitions.leaves().iter().zip(&self.groups) {
            let slots = leaf.prefix.slots();
            match runs.last_mut() {
                // A later part of a split slot: the first part has answered for it.
                Some((range, _)) if range.end == slots.end => {}
                Some((range, before)) if before.has_same_roles(group) => range.end = slots.end,
                _ => runs.push((slots, group)),
            }
        }
        runs
    }

    /// The slots of which `member` is primary, in order, as few runs as possible.
    #[must_use]
    pub fn slot_ranges(&self, member: Member) -> Vec<SlotRange> {
        let mut ranges: Vec<SlotRange> = Vec::new();
        let owned = self.slot_runs().into_iter();
        for (range, _) in owned.filter(|(_, group)| group.primary.member == member) {
            match ranges.last_mut() {
                Some(before) if before.end == range.begin => before.end = range.end,
                _ => ranges.push(range),
            }
        }
        ranges
    }

    /// The partitions of which `member` is primary, in leaf order.
    pub fn partitions_of(&self, member: Member) -> impl Iterator<Item = PartitionId> {
        self.partitions
            .leaves()
            .iter()
            .zip(&self.groups)
            .filter(move |(_, group)| group.primary.member == member)
            .map(|(leaf, _)| leaf.partition)
    }

    /// Replaces the groups of some partitions: one new version, whatever their number.
    ///
    /// # Errors
    /// [`MapError`]; then nothing has changed.
    pub fn set_groups(
        &mut self,
        groups: impl IntoIterator<Item = (PartitionId, Group)>,
    ) -> Result<(), MapError> {
        let indexed = groups.into_iter().map(|(partition, group)| {
            let index = self.partitions.index_of(partition);
            let index = index.ok_or(MapError::Unknown { partition })?;
            match group.repeated_member() {
                Some(member) => Err(MapError::RepeatedMember { partition, member }),
                None => Ok((index, group)),
            }
        });
        let indexed: Vec<(usize, Group)> = indexed.collect::<Result<_, _>>()?;
        if indexed.is_empty() {
            return Ok(());
        }
        for (index, group) in indexed {
            self.groups[index] = group;
        }
        self.version = self.version.next();
        Ok(())
    }

    /// Splits `partition` into two new partitions, which the same bricks hold in the view after its last.
    ///
    /// # Errors
    /// [`MapError`]; then nothing has changed.
    pub fn split(
        &mut self,
        partition: PartitionId,
        halves: [PartitionId; 2],
    ) -> Result<(), MapError> {
        let (partitions, index) = self.partitions.with_split(partition, halves)?;
        let mut group = self.groups[index].clone();
        // The halves go on with the log that the whole had, in a view of their own (rule
        // `splits and merges are bound to views`).
        group.view = View(group.view.0 + 1);
        self.groups[index] = group.clone();
        self.groups.insert(index + 1, group);
        self.partitions = partitions;
        self.version = self.version.next();
        Ok(())
    }

    /// Merges two sibling partitions, which the same bricks hold and one leads, into a new one, in a view after both.
    ///
    /// # Errors
    /// [`MapError`]; then nothing has changed.
    pub fn merge(
        &mut self,
        siblings: [PartitionId; 2],
        merged: PartitionId,
    ) -> Result<(), MapError> {
        let (partitions, index) = self.partitions.with_merge(siblings, merged)?;
        let [left, right] = siblings;
        let (group, other) = (&self.groups[index], &self.groups[index + 1]);
        if !group.has_same_members(other) {
            return Err(MapError::DifferentGroups { left, right });
        }
        // The whole goes on with both logs, in a view and a history that follow both (rule
        // `splits and merges are bound to views`).
        let last = group.view.max(other.view);
        let view = View(last.0 + 1);
        let generation = group.generation.max(other.generation);
        self.groups[index].view = view;
        self.groups[index].generation = generation;
        self.groups.remove(index + 1);
        self.partitions = partitions;
        self.version = self.version.next();
        Ok(())
    }
}

#[cfg(test)]
#[path = "table_map_test.rs"]
mod table_map_test;
