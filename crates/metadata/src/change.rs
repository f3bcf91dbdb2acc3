//! What can be asked of the catalog, and the answer.
//!
//! A change carries everything that it needs from outside, such as the time and a random seed: the
//! node that proposes it draws them once, and every node that applies it gets the same state.

use crate::catalog::CatalogVersion;
use brickyard_routing::Hasher;
use brickyard_types::{Durability, Eviction, Medium, TableAttributes, TableId, UnixMillis};
use serde::{Deserialize, Serialize};

/// A change of the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Change {
    /// Make a table.
    CreateTable(NewTable),
    /// Change a table's attributes.
    AlterTable {
        /// Which table.
        name: String,
        /// What to change.
        alteration: Alteration,
    },
    /// Remove a table with all its keys.
    DropTable {
        /// Which table.
        name: String,
    },
}

/// A table to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTable {
    /// Its name.
    pub name: String,
    /// Its attributes.
    pub attributes: TableAttributes,
    /// How many partitions, a power of two; `None`: as many as spread evenly over the bricks.
    pub partitions: Option<u32>,
    /// How its keys become routing hashes.
    pub hasher: Hasher,
    /// Drawn at random by the proposer, so that nobody can aim keys at one partition from outside.
    pub seed: u64,
    /// The proposer's time.
    pub created: UnixMillis,
    /// A table of that name that is there already is as good: the answer is its id.
    pub if_absent: bool,
}

impl NewTable {
    /// A table as `SELECT` or `TABLE CREATE` without options makes it.
    #[must_use]
    pub fn named(name: impl Into<String>, seed: u64, created: UnixMillis) -> Self {
        Self {
            name: name.into(),
            attributes: TableAttributes::default(),
            partitions: None,
            hasher: Hasher::default(),
            seed,
            created,
            if_absent: false,
        }
    }
}

/// Which attributes to change, and to what; `None` leaves one as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alteration {
    /// Where values live. Fixed: asking for another value than the table has is refused.
    pub medium: Option<Medium>,
    /// What an acknowledgement promises, for writes from now on. A table without a log cannot get
    /// one, and the other way round.
    pub durability: Option<Durability>,
    /// Copies of each partition. Fixed until partitions can move.
    pub replicas: Option<u8>,
    /// The memory bound in bytes; `Some(None)` takes it away.
    pub maxmemory: Option<Option<u64>>,
    /// What happens at the bound.
    pub evict: Option<Eviction>,
}

/// What a change did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The catalog's version now; unchanged if nothing had to be done.
    pub version: CatalogVersion,
    /// The table that was made, found, changed or dropped.
    pub table: TableId,
}
