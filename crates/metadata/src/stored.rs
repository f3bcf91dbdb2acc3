//! The catalog as bytes, for a disk, a snapshot or a peer.
//!
//! In: a [`Catalog`], or bytes that claim to be one. Out: the other of the two.
//!
//! Layout, little-endian:
//! ```text
//!  0  [u8; 8] magic      "BRKCATLG"
//!  8  u32     version    of the format; 1
//! 12  u32     body_len   bytes after the header
//! 16  u32     crc        CRC-32 (IEEE) of bytes 0..16 and of the body
//! 20  body               `postcard` of the fields of `Body`, in their order
//! ```
//!
//! Invariants:
//! - Equal catalogs have equal bytes, and a catalog has no other bytes.
//! - What is read is checked as if nobody had ever written it: a catalog that its own rules could
//!   not have made is refused, whatever its checksum says.

use crate::{
    catalog::{Catalog, CatalogVersion, ClusterId, Table},
    envelope::LastOutcome,
    heat::{EXTRA_COPIES_MAX, EXTRAS_MAX},
    merge::{Merge, Merged},
    name::{self, DEFAULT_TABLE},
    node::{Node, NodeKey},
    orders::Orders,
    refusal::Refusal,
    register::{check_registration, seats},
    removed::{REMOVED_MAX, Removed},
    split::{Former, Split},
};
use brickyard_routing::{NodeId, Seat};
use brickyard_types::{Incarnation, PartitionId, TableId};
use serde::{Deserialize, Serialize};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};
use thiserror::Error;

const MAGIC: [u8; 8] = *b"BRKCATLG";
const HEADER_BYTES: usize = 20;

/// The format of catalogs; no other one is read.
pub const FORMAT_VERSION: u32 = 1;

/// Why bytes are not a catalog.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoredError {
    /// They do not start as a catalog does.
    #[error(
        "not a catalog: it does not begin with {:?}; is this another file?",
        "BRKCATLG"
    )]
    Magic,
    /// A program that writes another format wrote them.
    #[error(
        "the catalog is in format {found}, and this program reads format {FORMAT_VERSION} alone; use the program that wrote it"
    )]
    Format {
        /// Their format.
        found: u32,
    },
    /// There are fewer or more than the header says.
    #[error(
        "the catalog has {got} bytes and should have {expected}; it was cut off or added to, restore it from a copy"
    )]
    Length {
        /// What the header says.
        expected: usize,
        /// What there is.
        got: usize,
    },
    /// Some of them changed since they were written.
    #[error(
        "catalog checksum is {got:#010x}, expected {expected:#010x}; it was damaged, restore it from a copy"
    )]
    Checksum {
        /// What the header says.
        expected: u32,
        /// What the bytes add up to.
        got: u32,
    },
    /// The checksum is right, and no catalog can look like that.
    #[error("the catalog contradicts itself: {what}; report this, and restore it from a copy")]
    Contradiction {
        /// What is wrong.
        what: String,
    },
}

/// The body, field by field.
#[derive(Serialize, Deserialize)]
struct Body<'a> {
    version: CatalogVersion,
    cluster: ClusterId,
    next_table: u32,
    next_partition: u32,
    next_node: u32,
    next_incarnation: u64,
    is_paused: bool,
    nodes: Vec<Cow<'a, Node>>,
    orders: Vec<(NodeId, Cow<'a, Orders>)>,
    outcomes: Vec<(NodeId, Cow<'a, LastOutcome>)>,
    removed: Vec<(NodeKey, u64)>,
    tables: Vec<Cow<'a, Table>>,
    sized: Vec<TableId>,
    splits: Vec<(PartitionId, Split)>,
    merges: Vec<(PartitionId, Merge)>,
    formers: Vec<(PartitionId, Former)>,
    merged: Vec<(PartitionId, Merged)>,
    grown: Vec<PartitionId>,
    heated: Vec<PartitionId>,
    extras: Vec<(PartitionId, u8)>,
}

impl Catalog {
    /// The catalog as bytes; equal catalogs give equal bytes.
    ///
    /// # Panics
    /// If the catalog takes more than 4 GiB (it cannot: tables and partitions are bounded).
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let orders = self.orders.iter();
        let outcomes = self.outcomes.iter();
        let body = Body {
            version: self.version,
            cluster: self.cluster,
            next_table: self.next_table,
            next_partition: self.next_partition,
            next_node: self.next_node,
            next_incarnation: self.next_incarnation,
            is_paused: self.is_paused,
            nodes: self.nodes().map(Cow::Borrowed).collect(),
            orders: orders.map(|(of, it)| (*of, Cow::Borrowed(it))).collect(),
            outcomes: outcomes.map(|(of, it)| (*of, Cow::Borrowed(it))).collect(),
            removed: self.removed.iter().copied().collect(),
            tables: self.tables().map(Cow::Borrowed).collect(),
            sized: self.sized.iter().copied().collect(),
            splits: self.splits().map(|(of, split)| (of, *split)).collect(),
            merges: self.merges().map(|(left, it)| (left, *it)).collect(),
            formers: self.formers.iter().map(|(of, it)| (*of, *it)).collect(),
            merged: self.all_merged().map(|(of, it)| (of, *it)).collect(),
            grown: self.grown.iter().copied().collect(),
            heated: self.heated.iter().copied().collect(),
            extras: self.extras().collect(),
        };
        let body =
            postcard::to_allocvec(&body).expect("a catalog has nothing that cannot be written");
        let body_len = u32::try_from(body.len()).expect("a catalog is far smaller than 4 GiB");
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&body_len.to_le_bytes());
        let crc = checksum(&bytes, &body);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    /// Reads what [`Self::encode`] wrote.
    ///
    /// # Errors
    /// [`StoredError`]; the bytes may be anything.
    pub fn decode(bytes: &[u8]) -> Result<Self, StoredError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(StoredError::Magic);
        }
        let Some((header, body)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(StoredError::Length {
                expected: HEADER_BYTES,
                got: bytes.len(),
            });
        };
        let field = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        // The version comes first: another format may keep its checksum elsewhere.
        let found = field(8);
        if found != FORMAT_VERSION {
            return Err(StoredError::Format { found });
        }
        let expected_len = HEADER_BYTES + field(12) as usize;
        if bytes.len() != expected_len {
            return Err(StoredError::Length {
                expected: expected_len,
                got: bytes.len(),
            });
        }
        let (expected, got) = (field(16), checksum(&header[..16], body));
        if got != expected {
            return Err(StoredError::Checksum { expected, got });
        }
        let (fields, rest) = postcard::take_from_bytes::<Body<'_>>(body).map_err(unreadable)?;
        if !rest.is_empty() {
            let what = format!("{} bytes follow its last field", rest.len());
            return Err(contradiction(what));
        }
        let catalog = fields.check()?;
        if catalog.encode() != bytes {
            let what = "it has another order or encoding than it would be written in";
            return Err(contradiction(what.to_owned()));
        }
        Ok(catalog)
    }
}

impl Body<'_> {
    /// The catalog, if its own rules could have made it.
    fn check(self) -> Result<Catalog, StoredError> {
        let nodes = check_nodes(self.nodes, self.next_node, self.next_incarnation)?;
        let mut outcomes = BTreeMap::new();
        for (node, last) in self.outcomes {
            let is_known = nodes.contains_key(&node);
            if !is_known || outcomes.insert(node, last.into_owned()).is_some() {
                let what = format!("it has an outcome of node {node}, which is not its own");
                return Err(contradiction(what));
            }
        }
        let mut check = TableCheck {
            next_node: self.next_node,
            next_incarnation: self.next_incarnation,
            table_ids: (1..self.next_table, BTreeSet::new()),
            partition_ids: (1..self.next_partition, BTreeSet::new()),
        };
        let mut tables = BTreeMap::new();
        for table in self.tables {
            let table = Arc::new(table.into_owned());
            name::check(&table.name).map_err(refused)?;
            check
                .check(&table)
                .map_err(|what| contradiction(format!("table '{}' {what}", table.name)))?;
            check_layout(&table, &nodes)?;
            if !table.is_sound(self.version) {
                let what = format!("table {} cannot be out of service so", table.id);
                return Err(contradiction(what));
            }
            if let Some(twin) = tables.insert(table.name.clone(), table) {
                let what = format!("there are two tables '{}'", twin.name);
                return Err(contradiction(what));
            }
        }
        if !tables.contains_key(DEFAULT_TABLE) {
            return Err(contradiction(format!(
                "there is no table '{DEFAULT_TABLE}'"
            )));
        }
        let splits = check.check_splits(self.splits, &tables)?;
        let formers = check.check_formers(self.formers, &tables)?;
        let merges = check.check_merges(self.merges, &tables)?;
        let merged = check_merged(self.merged, &formers, self.next_partition)?;
        let sized = check_sized(&self.sized, &tables)?;
        let extras = check_extras(&self.extras, &tables)?;
        Ok(Catalog {
            version: self.version,
            cluster: self.cluster,
            next_table: self.next_table,
            next_partition: self.next_partition,
            next_node: self.next_node,
            next_incarnation: self.next_incarnation,
            orders: check_orders(self.orders, &nodes)?,
            nodes,
            outcomes,
            tables,
            is_paused: self.is_paused,
            splits,
            formers: Arc::new(formers),
            merges,
            merged: Arc::new(merged),
            grown: Arc::new(self.grown.into_iter().collect()),
            sized: Arc::new(sized),
            heated: Arc::new(self.heated.into_iter().collect()),
            extras,
            removed: check_removed(self.removed)?,
        })
    }
}

/// That a table is laid out as one can be, on nodes that there are.
fn check_layout(table: &Table, nodes: &BTreeMap<NodeId, Node>) -> Result<(), StoredError> {
    let layout = &table.layout;
    let are_known = layout.nodes.iter().all(|node| nodes.contains_key(node));
    if are_known && layout.is_sound() {
        Ok(())
    } else {
        let what = format!("table {} cannot be laid out so", table.id);
        Err(contradiction(what))
    }
}

/// Processes whose nodes were removed, if no more than are remembered.
fn check_removed(stored: Vec<(NodeKey, u64)>) -> Result<Removed, StoredError> {
    if stored.len() > REMOVED_MAX {
        let what = format!("it remembers {} nodes that were removed", stored.len());
        return Err(contradiction(what));
    }
    Ok(stored.into())
}

/// What was said of nodes, if it is of these.
fn check_orders(
    stored: Vec<(NodeId, Cow<'_, Orders>)>,
    nodes: &BTreeMap<NodeId, Node>,
) -> Result<BTreeMap<NodeId, Orders>, StoredError> {
    let mut all = BTreeMap::new();
    for (node, orders) in stored {
        let orders = orders.into_owned();
        let named = [Some(node), orders.replaces].into_iter().flatten();
        let is_known = named.clone().all(|it| nodes.contains_key(&it));
        if !is_known || orders.replaces == Some(node) || all.insert(node, orders).is_some() {
            let what = format!("it has orders for node {node}, which are not its own");
            return Err(contradiction(what));
        }
    }
    Ok(all)
}

/// The nodes by id, if they can be those of one catalog.
fn check_nodes(
    stored: Vec<Cow<'_, Node>>,
    next_node: u32,
    next_incarnation: u64,
) -> Result<BTreeMap<NodeId, Node>, StoredError> {
    let mut nodes = BTreeMap::new();
    let mut keys = BTreeSet::new();
    let mut incarnations = BTreeSet::new();
    for node in stored {
        let node = node.into_owned();
        check_registration(&node.registration).map_err(refused)?;
        let is_drawn = |life: Incarnation| (1..next_incarnation).contains(&life.0);
        let mut lives = node.doubtful.iter().copied().chain([node.incarnation]);
        let has_own_lives = lives.all(|life| is_drawn(life) && incarnations.insert(life));
        let has_own_key = keys.insert(node.registration.key);
        if node.id.0 >= next_node || !has_own_lives || !has_own_key {
            let what = format!("node {} has a number that is not its own", node.id);
            return Err(contradiction(what));
        }
        if let Some(twin) = nodes.insert(node.id, node) {
            return Err(contradiction(format!("there are two nodes {}", twin.id)));
        }
    }
    if nodes.is_empty() {
        return Err(contradiction("there is no node".to_owned()));
    }
    Ok(nodes)
}

/// What is known of the tables looked at so far: ids that were given out, and those met.
struct TableCheck {
    next_node: u32,
    next_incarnation: u64,
    table_ids: (Range<u32>, BTreeSet<u32>),
    partition_ids: (Range<u32>, BTreeSet<u32>),
}

impl TableCheck {
    fn check(&mut self, table: &Table) -> Result<(), &'static str> {
        let (given, met) = &mut self.table_ids;
        if table.map.table() != table.id {
            return Err("has the maps of another table");
        }
        if !given.contains(&table.id.0) || !met.insert(table.id.0) {
            return Err("has an id that is not its own");
        }
        let (given, met) = &mut self.partition_ids;
        for leaf in table.map.partitions().leaves() {
            if !given.contains(&leaf.partition.0) || !met.insert(leaf.partition.0) {
                return Err("has a partition that is not its own");
            }
        }
        // A node may have been removed by force from under its groups; none can be from the future.
        let mut named = table.map.groups().iter().flat_map(seats);
        let is_known = |seat: Seat| {
            let life = seat.incarnation.0;
            seat.member.node.0 < self.next_node && (1..self.next_incarnation).contains(&life)
        };
        if !named.all(is_known) {
            return Err("is on a brick that is not in the cluster");
        }
        Ok(())
    }

    /// Splits under way, if they are of these tables and lead to ids of their own.
    fn check_splits(
        &mut self,
        stored: Vec<(PartitionId, Split)>,
        tables: &BTreeMap<String, Arc<Table>>,
    ) -> Result<BTreeMap<PartitionId, Split>, StoredError> {
        let mut splits = BTreeMap::new();
        for (partition, split) in stored {
            let mut tables = tables.values();
            let table = tables.find(|table| table.id == split.table);
            let is_held = table.is_some_and(|it| it.map.group(partition).is_some());
            let has_own_ids = split.halves.iter().all(|half| self.is_own(*half));
            if !is_held || !has_own_ids || splits.insert(partition, split).is_some() {
                let what = format!("partition {partition} is split into what cannot be");
                return Err(contradiction(what));
            }
        }
        Ok(splits)
    }

    /// Former partitions, if they are of these tables and have ids of their own.
    fn check_formers(
        &mut self,
        stored: Vec<(PartitionId, Former)>,
        tables: &BTreeMap<String, Arc<Table>>,
    ) -> Result<BTreeMap<PartitionId, Former>, StoredError> {
        let mut formers = BTreeMap::new();
        for (partition, former) in stored {
            let is_there = tables.values().any(|table| table.id == former.table);
            if !is_there || !former.is_sound() || !self.is_own(partition) {
                let what = format!("former partition {partition} cannot have been one");
                return Err(contradiction(what));
            }
            formers.insert(partition, former);
        }
        Ok(formers)
    }

    /// Merges under way, if they are of these tables and lead to ids of their own.
    fn check_merges(
        &mut self,
        stored: Vec<(PartitionId, Merge)>,
        tables: &BTreeMap<String, Arc<Table>>,
    ) -> Result<BTreeMap<PartitionId, Merge>, StoredError> {
        let mut merges = BTreeMap::new();
        for (left, merge) in stored {
            let mut tables = tables.values();
            let table = tables.find(|table| table.id == merge.table);
            let is_held = |of| table.is_some_and(|it| it.map.group(of).is_some());
            let are_held = is_held(left) && is_held(merge.right) && left != merge.right;
            if !are_held || !self.is_own(merge.into) || merges.insert(left, merge).is_some() {
                let what = format!("partition {left} is merged into what cannot be");
                return Err(contradiction(what));
            }
        }
        Ok(merges)
    }

    /// Whether the id was given out, and to nobody that was looked at so far.
    fn is_own(&mut self, partition: PartitionId) -> bool {
        let (given, met) = &mut self.partition_ids;
        given.contains(&partition.0) && met.insert(partition.0)
    }
}

/// What became of former partitions, if they are of these and came to something newer.
fn check_merged(
    stored: Vec<(PartitionId, Merged)>,
    formers: &BTreeMap<PartitionId, Former>,
    next_partition: u32,
) -> Result<BTreeMap<PartitionId, Merged>, StoredError> {
    let mut merged = BTreeMap::new();
    for (partition, it) in stored {
        let is_newer = partition.0 < it.into.0 && it.into.0 < next_partition;
        let is_behind = it.last.1 <= it.base.1;
        let is_sound = formers.contains_key(&partition) && is_newer && is_behind;
        if !is_sound || merged.insert(partition, it).is_some() {
            let what = format!("merged partition {partition} cannot have been one");
            return Err(contradiction(what));
        }
    }
    Ok(merged)
}

/// Tables that have as many partitions as their bricks need, if they are of these.
fn check_sized(
    stored: &[TableId],
    tables: &BTreeMap<String, Arc<Table>>,
) -> Result<BTreeSet<TableId>, StoredError> {
    let mut sized = BTreeSet::new();
    for id in stored {
        let is_there = tables.values().any(|table| table.id == *id);
        if !is_there || !sized.insert(*id) {
            let what = format!("table {} is sized by its bricks and is not there", id.0);
            return Err(contradiction(what));
        }
    }
    Ok(sized)
}

/// Copies beyond those that tables ask for, if they are of these tables' partitions, and few.
fn check_extras(
    stored: &[(PartitionId, u8)],
    tables: &BTreeMap<String, Arc<Table>>,
) -> Result<BTreeMap<PartitionId, u8>, StoredError> {
    let mut extras = BTreeMap::new();
    for (partition, copies) in stored {
        let is_held = |table: &Arc<Table>| table.map.group(*partition).is_some();
        let is_there = tables.values().any(is_held);
        let is_sound = is_there && (1..=EXTRA_COPIES_MAX).contains(copies);
        if !is_sound || extras.insert(*partition, *copies).is_some() || extras.len() > EXTRAS_MAX {
            let what = format!("partition {partition} has {copies} copies more, which cannot be");
            return Err(contradiction(what));
        }
    }
    Ok(extras)
}

fn checksum(header: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(body);
    hasher.finalize()
}

fn unreadable(error: postcard::Error) -> StoredError {
    contradiction(format!("its fields cannot be read ({error})"))
}

const fn contradiction(what: String) -> StoredError {
    StoredError::Contradiction { what }
}

fn refused(refusal: Refusal) -> StoredError {
    contradiction(refusal.to_string())
}

#[cfg(test)]
#[path = "stored_test.rs"]
mod stored_test;
