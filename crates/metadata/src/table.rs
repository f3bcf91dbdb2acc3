//! A table: its attributes, its layout, whether it is served, and its maps; and what one is made with and changed to.
//!
//! In: the catalog's changes. Out: where its partitions are, which of them are siblings, which are not served.
//!
//! Not here: which tables there are (`tables`), who may change what of one (`definition`, `offline`, `view_change`).

use crate::{
    group::has_same_members,
    layout::{Layout, LayoutAlteration},
    refusal::Refusal,
    version::CatalogVersion,
};
use brickyard_routing::{Group, Hasher, Leaf, NodeId, TableMap};
use brickyard_types::{
    Durability, Eviction, Medium, PartitionId, TableAttributes, TableId, UnixMillis, View,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableEntry {
    /// Its id, for ever.
    pub id: TableId,
    /// Its name.
    pub name: String,
    /// Its attributes.
    pub attributes: TableAttributes,
    /// How it is laid out.
    pub layout: Layout,
    /// Whether it has as many partitions as its bricks need; otherwise as many as were asked for.
    pub is_sized_by_bricks: bool,
    /// Whether it is served.
    pub status: TableStatus,
    /// When it was made.
    pub created: UnixMillis,
    /// Where its keys are.
    pub map: TableMap,
}

/// Whether a table is served.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableStatus {
    /// As any table.
    #[default]
    Online,
    /// Not at all: its records are in the logs alone.
    Offline,
    /// It is to be served again, and not all of it is yet.
    Returning {
        /// The catalog's version that first said so; names the return among those of the table.
        since: CatalogVersion,
        /// The partitions that nobody serves yet, in the views in which they went offline.
        suspended: BTreeMap<PartitionId, View>,
    },
}

impl TableStatus {
    /// What a table is called whose partitions are served, not served, or some of both; operators read it as `state`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Offline => "offline",
            Self::Returning { .. } => "returning",
        }
    }
}

impl TableEntry {
    /// Its partitions with their groups, in leaf order.
    pub fn partitions(&self) -> impl ExactSizeIterator<Item = (PartitionId, &Group)> {
        let leaves = self.map.partitions().leaves().iter();
        let groups = self.map.groups();
        leaves
            .zip(groups)
            .map(|(leaf, group)| (leaf.partition, group))
    }

    /// The leaf of a partition.
    pub(crate) fn leaf_of(&self, partition: PartitionId) -> Option<&Leaf> {
        let map = self.map.partitions();
        map.index_of(partition).and_then(|at| map.leaves().get(at))
    }

    /// Where a partition is, and who holds it.
    pub(crate) fn place_of(&self, partition: PartitionId) -> Result<(&Leaf, &Group), Refusal> {
        let place = self.leaf_of(partition).zip(self.map.group(partition));
        place.ok_or_else(|| Refusal::UnknownPartition {
            name: self.name.clone(),
            partition: partition.0,
        })
    }

    /// Its partitions with prefixes of fewer bits than that.
    pub fn shallower(&self, depth: u8) -> impl Iterator<Item = (PartitionId, &Group)> {
        let leaves = self.map.partitions().leaves().iter();
        let all = leaves.zip(self.map.groups());
        all.filter(move |(leaf, _)| leaf.prefix.depth() < depth)
            .map(|(leaf, group)| (leaf.partition, group))
    }

    /// A partition and its sibling, the left one first; `None`: it is not there, has none, or that was split again.
    #[must_use]
    pub fn siblings(&self, partition: PartitionId) -> Option<[PartitionId; 2]> {
        let map = self.map.partitions();
        let at = map.index_of(partition)?;
        siblings(map.leaves(), at)
    }

    /// Whether the same bricks hold two partitions, both in sync.
    #[must_use]
    pub fn are_together(&self, [left, right]: [PartitionId; 2]) -> bool {
        let (left, right) = (self.map.group(left), self.map.group(right));
        left.zip(right).is_some_and(|(a, b)| has_same_members(a, b))
    }

    /// Gives partitions of this table other groups, whose members were checked.
    pub(crate) fn set_groups(&mut self, groups: impl IntoIterator<Item = (PartitionId, Group)>) {
        let set = self.map.set_groups(groups);
        assert!(
            set.is_ok(),
            "groups of table {} cannot be so: {set:?}",
            self.id
        );
    }

    /// Whether nobody serves it, nor is to.
    #[must_use]
    pub const fn is_offline(&self) -> bool {
        matches!(self.status, TableStatus::Offline)
    }

    /// Whether it is served as any table.
    #[must_use]
    pub const fn is_online(&self) -> bool {
        matches!(self.status, TableStatus::Online)
    }

    /// That it is served: only then can it be altered, split and the like.
    pub(crate) fn check_online(&self) -> Result<(), Refusal> {
        let name = self.name.clone();
        match self.status {
            TableStatus::Online => Ok(()),
            TableStatus::Offline => Err(Refusal::TableOffline { name }),
            TableStatus::Returning { .. } => Err(Refusal::TableReturning { name }),
        }
    }

    /// Which return to service is under way.
    #[must_use]
    pub const fn return_since(&self) -> Option<CatalogVersion> {
        match &self.status {
            TableStatus::Returning { since, .. } => Some(*since),
            TableStatus::Online | TableStatus::Offline => None,
        }
    }

    /// Whether nobody may serve the partition in the view in effect, whoever is named in it.
    #[must_use]
    pub fn is_suspended(&self, partition: PartitionId) -> bool {
        match &self.status {
            TableStatus::Online => false,
            TableStatus::Offline => true,
            TableStatus::Returning { suspended, .. } => suspended.contains_key(&partition),
        }
    }

    /// Whether it can be served so; for a catalog that was read.
    pub(crate) fn is_sound(&self, version: CatalogVersion) -> bool {
        let has_log = self.attributes.durability != Durability::Memory;
        match &self.status {
            TableStatus::Online => true,
            TableStatus::Offline => has_log,
            TableStatus::Returning { since, suspended } => {
                let is_its = |(partition, view): (&PartitionId, &View)| {
                    let group = self.map.group(*partition);
                    group.is_some_and(|group| group.view == *view)
                };
                has_log
                    && *since <= version
                    && !suspended.is_empty()
                    && suspended.iter().all(is_its)
            }
        }
    }
}

/// A leaf and its sibling, in order. Siblings are neighbours, unless one of them was split.
fn siblings(leaves: &[Leaf], at: usize) -> Option<[PartitionId; 2]> {
    let children = leaves.get(at)?.prefix.parent()?.children()?;
    let first = at - usize::from(leaves[at].prefix == children[1]);
    let pair = leaves.get(first..first + 2)?;
    let are_both = [pair[0].prefix, pair[1].prefix] == children;
    are_both.then(|| [pair[0].partition, pair[1].partition])
}

/// A table to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTable {
    /// Its name.
    pub name: String,
    /// Its attributes; of its `replicas` the layout may have another word (`copies_max`).
    pub attributes: TableAttributes,
    /// How many partitions, a power of two; `None`: as many as spread evenly over the bricks.
    pub partitions: Option<u32>,
    /// How it is laid out.
    pub layout: Layout,
    /// How its keys become routing hashes.
    pub hasher: Hasher,
    /// Drawn at random by the proposer, so that nobody can aim keys at one partition from outside.
    pub seed: u64,
    /// The proposer's time.
    pub created: UnixMillis,
    /// A table of that name that is there already is as good: the answer is its id.
    pub if_absent: bool,
    /// Nodes that the proposer knows to be down: partitions go elsewhere as far as there is room.
    pub avoid: Vec<NodeId>,
}

impl NewTable {
    /// A table as `SELECT` or `TABLE CREATE` without options makes it.
    #[must_use]
    pub fn named(name: impl Into<String>, seed: u64, created: UnixMillis) -> Self {
        Self {
            name: name.into(),
            attributes: TableAttributes::default(),
            partitions: None,
            layout: Layout::default(),
            hasher: Hasher::default(),
            seed,
            created,
            if_absent: false,
            avoid: Vec::new(),
        }
    }
}

/// What of a table to change, and to what; `None` leaves one as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alteration {
    /// Where values live. Fixed: asking for another value than the table has is refused.
    pub medium: Option<Medium>,
    /// What an acknowledgement promises, for writes from now on. A table without a log cannot get
    /// one, and the other way round.
    pub durability: Option<Durability>,
    /// Copies of each partition that are wanted, whatever nodes there are from now on; they come and go by and by.
    pub replicas: Option<u8>,
    /// Copies without which writes are refused.
    pub min_in_sync: Option<u8>,
    /// The memory bound in bytes; `Some(None)` takes it away.
    pub maxmemory: Option<Option<u64>>,
    /// What happens at the bound.
    pub evict: Option<Eviction>,
    /// What of its layout to change.
    pub layout: LayoutAlteration,
}
