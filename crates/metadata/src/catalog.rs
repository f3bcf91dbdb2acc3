//! The state: the cluster's nodes, its tables, and what is under way with partitions.
//!
//! In: a [`Genesis`], once in a cluster's life; then changes (`apply`). Out: nodes, tables and partitions by their ids (`lookup`).
//!
//! The catalog has components. Each keeps its own invariants behind private fields; a change borrows those that it may change.
//! ```text
//! apply: changes          plan: where partitions should be        stored: bytes
//!   register  orders  definition  offline  view_change  sizing  split  merge      what one change does
//!     nodes  tables  transitions  parents  extra_copies  last_outcome  ids  accounts  libraries        the components
//! ```

use crate::{
    accounts::Accounts,
    change::Change,
    extra_copies::ExtraCopies,
    ids::Ids,
    last_outcome::LastOutcomes,
    layout::Layout,
    libraries::Libraries,
    name::DEFAULT_TABLE,
    node::Registration,
    nodes::Nodes,
    parents::Parents,
    refusal::Refusal,
    table::NewTable,
    tables::Tables,
    transitions::Transitions,
    version::{CatalogVersion, ClusterId},
};
use brickyard_routing::Hasher;
use brickyard_types::{TableAttributes, UnixMillis};
use serde::{Deserialize, Serialize};

/// What a cluster is founded with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Genesis {
    /// The new cluster's id.
    pub cluster: ClusterId,
    /// Its first node.
    pub node: Registration,
    /// Attributes of the table [`DEFAULT_TABLE`]. It gets copies as nodes come, up to its `replicas`.
    pub attributes: TableAttributes,
    /// Its partitions; `None`: as many as spread evenly over the bricks.
    pub partitions: Option<u32>,
    /// Its seed, drawn at random.
    pub seed: u64,
    /// The time.
    pub created: UnixMillis,
}

/// The catalog of a cluster. Its stored form has the fields in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalog {
    pub(crate) version: CatalogVersion,
    pub(crate) cluster: ClusterId,
    /// No partition is moved for the sake of evenness.
    pub(crate) is_paused: bool,
    pub(crate) ids: Ids,
    pub(crate) nodes: Nodes,
    pub(crate) outcomes: LastOutcomes,
    pub(crate) tables: Tables,
    pub(crate) transitions: Transitions,
    pub(crate) parents: Parents,
    pub(crate) extra_copies: ExtraCopies,
    /// Stored behind the others, where there are any (`stored`).
    #[serde(skip)]
    pub(crate) accounts: Accounts,
    /// The same.
    #[serde(skip)]
    pub(crate) libraries: Libraries,
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
            is_paused: false,
            ids: Ids::default(),
            nodes: Nodes::default(),
            outcomes: LastOutcomes::default(),
            tables: Tables::default(),
            transitions: Transitions::default(),
            parents: Parents::default(),
            extra_copies: ExtraCopies::default(),
            accounts: Accounts::default(),
            libraries: Libraries::default(),
        };
        catalog.apply(Change::Register(genesis.node))?;
        let layout = Layout {
            copies_max: Some(genesis.attributes.replicas),
            ..Layout::default()
        };
        catalog.apply(Change::CreateTable(NewTable {
            name: DEFAULT_TABLE.to_owned(),
            attributes: genesis.attributes,
            partitions: genesis.partitions,
            layout,
            hasher: Hasher::Slot,
            seed: genesis.seed,
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

    /// The users that the cluster keeps.
    #[must_use]
    pub const fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// The libraries of functions that the cluster keeps.
    #[must_use]
    pub const fn libraries(&self) -> &Libraries {
        &self.libraries
    }

    /// Whether an operator wants no moves to be begun.
    #[must_use]
    pub const fn is_paused(&self) -> bool {
        self.is_paused
    }
}
