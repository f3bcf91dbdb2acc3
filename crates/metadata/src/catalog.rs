//! The state: the cluster's nodes, its tables, and the next free ids.
//!
//! In: a [`Genesis`], once in a cluster's life; then changes (`apply`). Out: tables by name and id.
//!
//! Tables are shared between copies of the catalog, so that a copy (each brick routes by one that
//! never changes under its hands) costs a pointer a table and not a map.

use crate::{
    change::{Change, NewTable},
    envelope::LastOutcome,
    layout::Layout,
    merge::{Merge, Merged},
    name::DEFAULT_TABLE,
    node::{Node, NodeKey, Registration},
    offline::Standing,
    orders::Orders,
    refusal::Refusal,
    removed::Removed,
    split::{Former, Split},
};
use brickyard_routing::{Candidate, Group, Hasher, Leaf, NodeId, Seat, TableMap};
use brickyard_types::{PartitionId, TableAttributes, TableId, UnixMillis};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

/// The number of a state of the catalog; every change makes the next one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CatalogVersion(pub u64);

impl CatalogVersion {
    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for CatalogVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A cluster, for ever: drawn at random when it is founded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClusterId(pub u128);

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// What a cluster is founded with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Genesis {
    /// The new cluster's id.
    pub cluster: ClusterId,
    /// Its first node.
    pub node: Registration,
    /// Attributes of the table [`DEFAULT_TABLE`].
    pub attributes: TableAttributes,
    /// Its partitions; `None`: as many as spread evenly over the bricks.
    pub partitions: Option<u32>,
    /// Its seed, drawn at random.
    pub seed: u64,
    /// The time.
    pub created: UnixMillis,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its id, for ever.
    pub id: TableId,
    /// Its name.
    pub name: String,
    /// Its attributes.
    pub attributes: TableAttributes,
    /// How it is laid out.
    pub layout: Layout,
    /// Whether it is served.
    pub standing: Standing,
    /// When it was made.
    pub created: UnixMillis,
    /// Where its keys are.
    pub map: TableMap,
}

impl Table {
    /// Its partitions with their groups, in leaf order.
    pub fn partitions(&self) -> impl ExactSizeIterator<Item = (PartitionId, &Group)> {
        let leaves = self.map.partitions().leaves().iter();
        let groups = self.map.groups();
        leaves
            .zip(groups)
            .map(|(leaf, group)| (leaf.partition, group))
    }

    /// Where a partition is, and who holds it.
    pub(crate) fn place_of(&self, partition: PartitionId) -> Result<(&Leaf, &Group), Refusal> {
        let map = self.map.partitions();
        let leaf = map.index_of(partition).and_then(|at| map.leaves().get(at));
        let place = leaf.zip(self.map.group(partition));
        place.ok_or_else(|| Refusal::UnknownPartition {
            name: self.name.clone(),
            partition: partition.0,
        })
    }
}

/// The catalog of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    pub(crate) version: CatalogVersion,
    pub(crate) cluster: ClusterId,
    pub(crate) next_table: u32,
    pub(crate) next_partition: u32,
    pub(crate) next_node: u32,
    pub(crate) next_incarnation: u64,
    pub(crate) nodes: BTreeMap<NodeId, Node>,
    /// What came of each node's last request, for when it asks again.
    pub(crate) outcomes: BTreeMap<NodeId, LastOutcome>,
    pub(crate) tables: BTreeMap<String, Arc<Table>>,
    /// What operators said of nodes.
    pub(crate) orders: BTreeMap<NodeId, Orders>,
    /// No partition is moved for the sake of evenness.
    pub(crate) is_paused: bool,
    /// Splits that are under way, by partition.
    pub(crate) splits: BTreeMap<PartitionId, Split>,
    /// Partitions that were split or merged.
    pub(crate) formers: Arc<BTreeMap<PartitionId, Former>>,
    /// Merges that are under way, by the left sibling.
    pub(crate) merges: BTreeMap<PartitionId, Merge>,
    /// What became of partitions that were merged; all of them are among `formers`.
    pub(crate) merged: Arc<BTreeMap<PartitionId, Merged>>,
    /// Partitions that are or were split because they had grown: what came of them may be merged again.
    pub(crate) grown: Arc<BTreeSet<PartitionId>>,
    /// Tables that have as many partitions as their bricks need.
    pub(crate) sized: Arc<BTreeSet<TableId>>,
    /// Partitions that are or were split because they were hot: what came of them may be merged again.
    pub(crate) heated: Arc<BTreeSet<PartitionId>>,
    /// Partitions that are to have copies beyond those that their tables ask for, and how many.
    pub(crate) extras: BTreeMap<PartitionId, u8>,
    /// Processes whose nodes were removed.
    pub(crate) removed: Removed,
}

impl Catalog {
    /// Founds a cluster.
    ///
    /// # Errors
    /// [`Refusal`], if the node holds nothing, or the default table cannot be as asked.
    pub fn found(genesis: Genesis) -> Result<Self, Refusal> {
        let mut catalog = Self {
            version: CatalogVersion(0),
            cluster: genesis.cluster,
            // 0 stands for "none" in records and statistics.
            next_table: 1,
            next_partition: 1,
            next_node: 0,
            // 0 stands for "none yet" in seats.
            next_incarnation: 1,
            nodes: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            tables: BTreeMap::new(),
            orders: BTreeMap::new(),
            is_paused: false,
            splits: BTreeMap::new(),
            formers: Arc::default(),
            merges: BTreeMap::new(),
            merged: Arc::default(),
            grown: Arc::default(),
            sized: Arc::default(),
            heated: Arc::default(),
            extras: BTreeMap::new(),
            removed: Removed::new(),
        };
        catalog.register(genesis.node)?;
        catalog.apply(Change::CreateTable(NewTable {
            name: DEFAULT_TABLE.to_owned(),
            attributes: genesis.attributes,
            partitions: genesis.partitions,
            hasher: Hasher::Slot,
            seed: genesis.seed,
            layout: Layout::default(),
            created: genesis.created,
            if_absent: false,
            avoid: Vec::new(),
        }))?;
        Ok(catalog)
    }

    /// The number of this state.
    #[must_use]
    pub const fn version(&self) -> CatalogVersion {
        self.version
    }

    /// The cluster.
    #[must_use]
    pub const fn cluster(&self) -> ClusterId {
        self.cluster
    }

    /// All nodes, by id.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &Node> {
        self.nodes.values()
    }

    /// The node of that number; `None` if there never was one, or it was removed.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(&id)
    }

    /// Whether there was a node of that number, and is none any more.
    #[must_use]
    pub fn was_removed(&self, id: NodeId) -> bool {
        id.0 < self.next_node && !self.nodes.contains_key(&id)
    }

    /// The node with that data directory.
    #[must_use]
    pub fn node_by_key(&self, key: &NodeKey) -> Option<&Node> {
        self.nodes().find(|node| node.registration.key == *key)
    }

    /// Whether an operator wants no moves to be begun.
    #[must_use]
    pub const fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// All bricks in their present lives, with their weights, by node and number.
    #[must_use]
    pub fn candidates(&self) -> Vec<Candidate> {
        self.nodes().flat_map(Node::candidates).collect()
    }

    /// Whether this is a brick's present life.
    #[must_use]
    pub fn is_current(&self, seat: Seat) -> bool {
        self.node(seat.member.node).is_some_and(|node| {
            node.incarnation == seat.incarnation && seat.member.brick.0 < node.registration.bricks
        })
    }

    /// Whether that life of a brick is over for certain; a lease that it may have had is then void
    /// (PROTOCOL rule 20).
    #[must_use]
    pub fn is_proven_dead(&self, seat: Seat) -> bool {
        self.node(seat.member.node)
            .is_some_and(|node| node.is_proven_dead(seat.incarnation))
    }

    /// All tables, by name.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = &Table> {
        self.tables.values().map(Arc::as_ref)
    }

    /// The table of that name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.get(name).map(Arc::as_ref)
    }

    /// The table with that id; `None` if it was dropped.
    ///
    /// - Time: linear in the tables; for operators and recovery, not for requests.
    #[must_use]
    pub fn table_by_id(&self, id: TableId) -> Option<&Table> {
        self.tables().find(|table| table.id == id)
    }
}
