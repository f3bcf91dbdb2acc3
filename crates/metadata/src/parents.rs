//! Partitions that were split or merged: what records of them in a log belong to.
//!
//! In: partitions whose split or merge is done; tables that are dropped. Out: what a parent partition held, and what became of it.
//!
//! Invariants:
//! - What a parent partition held is remembered for as long as its table is there.
//! - The whole that came of two has a higher id, and begins behind the last op of both.
//!
//! It is shared between copies of the catalog.

use crate::{ids::Ids, tables::Tables, transitions::Cause};
use brickyard_routing::{Prefix, RoutingHash};
use brickyard_types::{Op, PartitionId, TableId, View, limits::PARTITION_DEPTH_MAX};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A partition that was split or merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The table.
    pub table: TableId,
    /// How many bits its prefix had.
    depth: u8,
    /// The first routing hash that it held.
    first: u64,
    /// Its last view: who was in sync in it holds all that it ever committed.
    pub view: View,
    /// Why it was split, if it was split by itself.
    cause: Option<Cause>,
    /// What became of it, if it was merged.
    merged: Option<Merged>,
}

/// What became of a partition that was merged; [`Parent`] says what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    /// The partition that took its place, and its sibling's.
    pub into: PartitionId,
    /// The last record of it, which has committed.
    pub last: (View, Op),
    /// Where that partition's operations begin: behind this op, which stands for all that both had.
    pub baseline: (View, Op),
    /// The history that the base belongs to.
    pub generation: u32,
}

impl Parent {
    /// What was split in that view.
    pub(crate) const fn split(
        table: TableId,
        prefix: Prefix,
        view: View,
        cause: Option<Cause>,
    ) -> Self {
        Self {
            table,
            depth: prefix.depth(),
            first: prefix.first().0,
            view,
            cause,
            merged: None,
        }
    }

    /// What was merged in that view.
    pub(crate) const fn merged(table: TableId, prefix: Prefix, view: View, it: Merged) -> Self {
        Self {
            merged: Some(it),
            ..Self::split(table, prefix, view, None)
        }
    }

    /// The routing hashes that it held.
    #[must_use]
    pub const fn prefix(&self) -> Prefix {
        Prefix::of(RoutingHash(self.first), self.depth)
    }

    /// Why it was split, if it was split by itself.
    #[must_use]
    pub const fn cause(&self) -> Option<Cause> {
        self.cause
    }

    /// What contradicts the invariants; for a catalog that was read.
    fn check(&self, id: PartitionId, ids: &Ids) -> bool {
        let is_prefix = self.depth < PARTITION_DEPTH_MAX && self.prefix().first().0 == self.first;
        is_prefix
            && self
                .merged
                .is_none_or(|it| it.is_sound(id) && ids.has_drawn_partition(it.into))
    }
}

impl Merged {
    fn is_sound(&self, half: PartitionId) -> bool {
        half < self.into && self.last.1 <= self.baseline.1
    }
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parents {
    by_id: Arc<BTreeMap<PartitionId, Parent>>,
}

impl Parents {
    pub(crate) fn parent(&self, partition: PartitionId) -> Option<&Parent> {
        self.by_id.get(&partition)
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (PartitionId, &Parent)> {
        self.by_id.iter().map(|(partition, it)| (*partition, it))
    }

    pub(crate) fn of_table(&self, table: TableId) -> impl Iterator<Item = (PartitionId, &Parent)> {
        self.iter().filter(move |(_, it)| it.table == table)
    }

    pub(crate) fn merged(&self, partition: PartitionId) -> Option<&Merged> {
        self.by_id.get(&partition)?.merged.as_ref()
    }

    pub(crate) fn all_merged(&self) -> impl Iterator<Item = (PartitionId, &Merged)> {
        self.iter()
            .filter_map(|(partition, it)| Some((partition, it.merged.as_ref()?)))
    }

    pub(crate) fn insert(&mut self, partition: PartitionId, parent: Parent) {
        assert!(
            parent.merged.is_none_or(|it| partition < it.into),
            "partition {partition} became {:?}",
            parent.merged
        );
        let twin = Arc::make_mut(&mut self.by_id).insert(partition, parent);
        assert!(
            twin.is_none(),
            "partition {partition} is split or merged once"
        );
    }

    /// Forgets the parent partitions of a table that was dropped.
    pub(crate) fn forget(&mut self, table: TableId) {
        if self.of_table(table).next().is_some() {
            Arc::make_mut(&mut self.by_id).retain(|_, parent| parent.table != table);
        }
    }

    /// What contradicts the invariants; for a catalog that was read. `met`: the partitions that there are, to be added to.
    pub(crate) fn check(
        &self,
        tables: &Tables,
        ids: &Ids,
        met: &mut BTreeSet<PartitionId>,
    ) -> Result<(), String> {
        for (partition, parent) in self.iter() {
            let is_its = tables.by_id(parent.table).is_some() && parent.check(partition, ids);
            if !is_its || !ids.has_drawn_partition(partition) || !met.insert(partition) {
                return Err(format!("parent partition {partition} cannot have been one"));
            }
        }
        Ok(())
    }
}

impl Serialize for Parents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.by_id.as_ref().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Parents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let by_id = BTreeMap::deserialize(deserializer)?;
        Ok(Self {
            by_id: Arc::new(by_id),
        })
    }
}
