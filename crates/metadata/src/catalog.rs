//! The state: the cluster's bricks, its tables, and the next free ids.
//!
//! In: a [`Genesis`], once in a cluster's life; then changes (`apply`). Out: tables by name and id.
//!
//! Tables are shared between copies of the catalog, so that a copy (each brick routes by one that
//! never changes under its hands) costs a pointer a table and not a map.

use crate::{
    change::{Change, NewTable},
    name::DEFAULT_TABLE,
    refusal::Refusal,
};
use brickyard_routing::{Candidate, Hasher, TableMap};
use brickyard_types::{TableAttributes, TableId, UnixMillis};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, sync::Arc};

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
    /// Its bricks and their weights.
    pub bricks: Vec<Candidate>,
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
    /// When it was made.
    pub created: UnixMillis,
    /// Where its keys are.
    pub map: TableMap,
}

/// The catalog of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    pub(crate) version: CatalogVersion,
    pub(crate) cluster: ClusterId,
    pub(crate) next_table: u32,
    pub(crate) next_partition: u32,
    pub(crate) bricks: Vec<Candidate>,
    pub(crate) tables: BTreeMap<String, Arc<Table>>,
}

impl Catalog {
    /// Founds a cluster.
    ///
    /// # Errors
    /// [`Refusal`], if there is no brick, one is named twice, or the default table cannot be as asked.
    pub fn found(genesis: Genesis) -> Result<Self, Refusal> {
        check_bricks(&genesis.bricks)?;
        let mut catalog = Self {
            version: CatalogVersion(0),
            cluster: genesis.cluster,
            // 0 stands for "none" in records and statistics.
            next_table: 1,
            next_partition: 1,
            bricks: genesis.bricks,
            tables: BTreeMap::new(),
        };
        catalog.apply(Change::CreateTable(NewTable {
            name: DEFAULT_TABLE.to_owned(),
            attributes: genesis.attributes,
            partitions: genesis.partitions,
            hasher: Hasher::Slot,
            seed: genesis.seed,
            created: genesis.created,
            if_absent: false,
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

    /// The bricks and their weights.
    #[must_use]
    pub fn bricks(&self) -> &[Candidate] {
        &self.bricks
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

pub(crate) fn check_bricks(bricks: &[Candidate]) -> Result<(), Refusal> {
    if bricks.iter().all(|brick| brick.weight == 0) {
        return Err(Refusal::NoBricks);
    }
    let repeated = bricks.iter().enumerate().find(|&(at, brick)| {
        bricks[..at]
            .iter()
            .any(|other| other.member == brick.member)
    });
    match repeated {
        Some((_, brick)) => Err(Refusal::RepeatedBrick {
            brick: brick.member.to_string(),
        }),
        None => Ok(()),
    }
}
