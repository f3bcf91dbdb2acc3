//! Why a change was not made: what, where, and what to do instead.

use brickyard_routing::{MapError, PARTITIONS_MAX};
use brickyard_types::limits::{TABLE_NAME_BYTES_MAX, TABLES_MAX};
use thiserror::Error;

/// Why a change was refused; the state is as it was.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The name cannot be a table's.
    #[error(
        "table name '{name}' is not 1 to {TABLE_NAME_BYTES_MAX} letters, digits, '_', '.' or '-', beginning with none of the last two"
    )]
    BadName {
        /// The name, shortened and escaped.
        name: String,
    },
    /// There is a table of that name.
    #[error("table '{name}' exists already; choose another name, or change it with TABLE ALTER")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// There is no table of that name.
    #[error("table '{name}' does not exist; TABLE LIST shows those that do")]
    UnknownTable {
        /// The name.
        name: String,
    },
    /// The default table stays.
    #[error("table 'default' cannot be dropped; FLUSHDB empties it")]
    DropOfDefault,
    /// There are as many tables as there may be.
    #[error(
        "tables: there are {TABLES_MAX} already, the most possible; drop one or use key prefixes"
    )]
    TooManyTables,
    /// Every replica is on a node of its own.
    #[error("REPLICAS: {replicas} is more than the {nodes} node{} of the cluster; add a node or lower it", if *nodes == 1 { "" } else { "s" })]
    TooManyReplicas {
        /// How many were asked for.
        replicas: u8,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A table has one replica at least.
    #[error("REPLICAS: 0 would keep nothing; use 1 or more")]
    NoReplicas,
    /// The number of partitions is impossible.
    #[error(
        "PARTITIONS: {count} is not a power of two between 1 and {PARTITIONS_MAX}; use {nearest}, or leave it out"
    )]
    BadPartitions {
        /// How many were asked for.
        count: u32,
        /// The nearest count that is possible.
        nearest: u32,
    },
    /// Some brick would hold nothing.
    #[error(
        "PARTITIONS: {count} is fewer than the {bricks} bricks of the cluster; use {nearest} or more, or leave it out"
    )]
    FewPartitions {
        /// How many were asked for.
        count: u32,
        /// How many bricks there are.
        bricks: usize,
        /// The fewest that are possible.
        nearest: u32,
    },
    /// Values of a `disk` table live in the log.
    #[error(
        "MEDIUM disk keeps values in the log and DURABILITY memory has none; use DURABILITY log or fsync, or MEDIUM ram"
    )]
    DiskWithoutLog,
    /// Only values in memory can be evicted.
    #[error(
        "EVICT lru is for MEDIUM ram; a disk table's MAXMEMORY bounds its cache, and nothing of the table is lost at it"
    )]
    EvictionFromDisk,
    /// Without a bound nothing is ever evicted.
    #[error("EVICT lru needs a bound to evict at; give MAXMEMORY too")]
    EvictionWithoutBound,
    /// A bound of zero bytes holds nothing.
    #[error("MAXMEMORY: 0 bytes hold nothing; give a size, or leave it out for no bound")]
    NoMemory,
    /// What a table was made with and keeps.
    #[error(
        "{attribute} of table '{name}' cannot be changed from {current} to {wanted}; make another table and copy the keys"
    )]
    Fixed {
        /// The attribute's word in `TABLE ALTER`.
        attribute: &'static str,
        /// The table.
        name: String,
        /// What it is.
        current: String,
        /// What was asked for.
        wanted: String,
    },
    /// An alteration that names no attribute.
    #[error("TABLE ALTER '{name}' names nothing to change; give DURABILITY, MAXMEMORY or EVICT")]
    NothingToAlter {
        /// The table.
        name: String,
    },
    /// A cluster has a brick at least.
    #[error("bricks: none has a weight above 0; start with one brick or more")]
    NoBricks,
    /// One brick is named twice.
    #[error("bricks: {brick} is named twice; name each brick once")]
    RepeatedBrick {
        /// Node and number.
        brick: String,
    },
    /// The maps cannot be made.
    #[error(transparent)]
    Map(#[from] MapError),
    /// All numbers have been used.
    #[error(
        "table ids: all {} are used up; start a new cluster and copy the tables",
        u32::MAX
    )]
    TableIdsExhausted,
}
