//! Why a change was not made: what, where, and what to do instead.

use brickyard_routing::{MapError, PARTITIONS_MAX};
use brickyard_types::Placement;
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
    /// The name cannot be a user's.
    #[error("user name '{name}' is not 1 to 128 bytes without spaces")]
    BadAccountName {
        /// The name, shortened and escaped.
        name: String,
    },
    /// A rule of a user cannot be carried out.
    #[error("Error in ACL SETUSER of '{name}': {why}")]
    BadAccount {
        /// The user.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// There are as many users as there may be.
    #[error("users: there are {most} already, the most possible; delete one with ACL DELUSER")]
    TooManyAccounts {
        /// So many.
        most: usize,
    },
    /// There is a library of functions of that name.
    #[error("Library '{name}' already exists")]
    LibraryTaken {
        /// The name.
        name: String,
    },
    /// There is a function of that name.
    #[error("Function {name} already exists")]
    FunctionTaken {
        /// The name.
        name: String,
    },
    /// There is no such library of functions.
    #[error("Library not found")]
    UnknownLibrary,
    /// A library of functions that there cannot be.
    #[error("library '{name}': {why}")]
    BadLibrary {
        /// Its name, shortened and escaped.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// There are as many libraries of functions as there may be.
    #[error(
        "libraries: all together they would have {bytes} bytes, and {most} is the most there can be; delete one with FUNCTION DELETE"
    )]
    TooManyLibraries {
        /// So many.
        bytes: usize,
        /// The most.
        most: usize,
    },
    /// Only a leader knows what a recovery comes to.
    #[error("a recovery is decided by the leader of the control plane; say it again")]
    NotDecided,
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
    /// Every replica is on a node of its own, of those that the table names.
    #[error(
        "NODES: {nodes} of them may hold partitions, and the table asks for {replicas} copies, each on a node of its own; name more nodes or lower REPLICAS"
    )]
    FewInSet {
        /// How many were asked for.
        replicas: u8,
        /// How many of the nodes have a weight.
        nodes: usize,
    },
    /// No rule of this program.
    #[error("PLACEMENT: '{placement}' is out of range; use even, ring, or ring:2 to ring:1000")]
    BadPlacement {
        /// What was asked for.
        placement: Placement,
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
    #[error(
        "TABLE ALTER '{name}' names nothing to change; give one of the attributes that TABLE HELP shows"
    )]
    NothingToAlter {
        /// The table.
        name: String,
    },
    /// A cluster has a brick at least.
    #[error("bricks: none has a weight above 0; start with one brick or more")]
    NoBricks,
    /// A node that never was, or was removed.
    #[error("node {node} is not in the cluster; it may have been removed, let it join again")]
    UnknownNode {
        /// Its number.
        node: u32,
    },
    /// A node's bricks are fixed when its directory is made.
    #[error(
        "bricks: node {node} has {have} and keeps them, it registered with {asked}; start it with {have}"
    )]
    BrickCount {
        /// Its number.
        node: u32,
        /// How many it has.
        have: u32,
        /// How many it says it has.
        asked: u32,
    },
    /// A host that clients could not be sent to.
    #[error(
        "host '{host}' is not 1 to 255 visible ASCII letters; set `advertise` to a name or an address"
    )]
    BadHost {
        /// It, shortened and escaped.
        host: String,
    },
    /// A zone that cannot be shown.
    #[error("zone '{zone}' is not 1 to 255 visible ASCII letters; use a plain word")]
    BadZone {
        /// It, shortened and escaped.
        zone: String,
    },
    /// Bricks and ports that do not go together.
    #[error("bricks: {bricks} with {ports} ports; a node has at most 1024, and a port for each")]
    BadBricks {
        /// How many bricks.
        bricks: u32,
        /// How many ports.
        ports: usize,
    },
    /// The last node that holds anything stays.
    #[error("node {node} is the only one with a weight above 0; let another one join first")]
    LastNode {
        /// Its number.
        node: u32,
    },
    /// The last node that a table's partitions may be on stays.
    #[error(
        "node {node} is the only one with a weight among the NODES of table '{table}'; name others first (TABLE ALTER {table} NODES ...)"
    )]
    LastOfSet {
        /// Its number.
        node: u32,
        /// The table.
        table: String,
    },
    /// The last node that may vote on the catalog stays one.
    #[error(
        "node {node} is the only one with the role `control`; give it to another one first (NODE ALTER n CONTROL yes)"
    )]
    LastVoter {
        /// Its number.
        node: u32,
    },
    /// A node on which partitions are.
    #[error(
        "node {node} is named by {partitions} partitions{}; empty it first (NODE DRAIN {node}), or, if it is gone for ever, remove it with FORCE",
        only_there(*.sole, .lost)
    )]
    NodeInUse {
        /// Its number.
        node: u32,
        /// How many partitions name it.
        partitions: usize,
        /// How many of them nobody else has in-sync.
        sole: usize,
        /// Those, by table: how many, and the numbers of some.
        lost: Vec<String>,
    },
    /// Tables would have fewer copies than they ask for.
    #[error(
        "table '{table}' asks for {replicas} copies, each on a node of its own, and without node {node} there are {left} node{}{} for them; add a node, lower its REPLICAS, or say FORCE to have fewer copies",
        if *left == 1 { "" } else { "s" },
        if *is_set { " of its NODES" } else { "" }
    )]
    FewNodes {
        /// Its number.
        node: u32,
        /// How many nodes there would be.
        left: usize,
        /// A table that asks for more.
        table: String,
        /// Whether that one names its nodes.
        is_set: bool,
        /// How many it asks for.
        replicas: u8,
    },
    /// A node in its own place.
    #[error("node {node} cannot take its own place; start another one and let it join")]
    OwnSuccessor {
        /// Its number.
        node: u32,
    },
    /// A successor with another number of bricks.
    #[error(
        "node {new} has {have} bricks and node {old} has {want}: it cannot hold exactly the same; start one with {want} bricks, or drain node {old}"
    )]
    UnlikeSuccessor {
        /// The node to be replaced.
        old: u32,
        /// The node that is to take its place.
        new: u32,
        /// How many bricks it has.
        have: u32,
        /// How many it should have.
        want: u32,
    },
    /// One place is taken by one node.
    #[error("node {old} is being replaced by node {other} already; remove that one first")]
    SecondSuccessor {
        /// The node to be replaced.
        old: u32,
        /// The one that takes its place.
        other: u32,
    },
    /// A node that is to hold nothing has nothing to be taken over.
    #[error(
        "node {node} has weight 0: it is being emptied already, and nobody has to take its place"
    )]
    EmptySuccession {
        /// The node to be replaced.
        node: u32,
    },
    /// All numbers have been used.
    #[error(
        "node ids: all {} are used up; start a new cluster and copy the tables",
        u32::MAX
    )]
    NodeIdsExhausted,
    /// What was asked by a life of a node that is over, or before one that was answered.
    #[error("node {node} in incarnation {incarnation} is not the present one; register again")]
    Superseded {
        /// The node.
        node: u32,
        /// The life that asked.
        incarnation: u64,
    },
    /// A request that came after a later one of the same node.
    #[error(
        "request {sequence} of node {node} comes after its request {last}; it was given up, ask anew"
    )]
    Late {
        /// The node.
        node: u32,
        /// The request.
        sequence: u64,
        /// The newest of the node's requests.
        last: u64,
    },
    /// Fewer copies than writes would need.
    #[error(
        "MIN_IN_SYNC: {min_in_sync} is not between 1 and the {replicas} REPLICAS of the table; lower it or raise REPLICAS"
    )]
    BadMinInSync {
        /// What was asked for.
        min_in_sync: u8,
        /// How many replicas the table has.
        replicas: u8,
    },
    /// A partition that the table does not have.
    #[error(
        "table '{name}' has no partition {partition}; it may have been split or merged; TABLE EXPORT and TABLE DIGEST show those that a brick has"
    )]
    UnknownPartition {
        /// The table.
        name: String,
        /// The partition's number.
        partition: u32,
    },
    /// A partition that is one slot.
    #[error(
        "partition {partition} {} and cannot be split further{}",
        if *is_slot { "is a single slot" } else { "is as small a share of its table as there can be" },
        if *is_slot { ": the keys of a slot stay together" } else { "" }
    )]
    SplitTooDeep {
        /// The partition's number.
        partition: u32,
        /// Whether slots are what bounds it.
        is_slot: bool,
    },
    /// All keys would be at the ends.
    #[error(
        "FROM '{from}' and TO '{to}' are too much alike for keys between them to be told apart; let TO differ in one of the first characters after what both begin with"
    )]
    AlikeBounds {
        /// The lowest key.
        from: String,
        /// The highest.
        to: String,
    },
    /// As many partitions as the table was made with.
    #[error(
        "partition {partition} is one of those that table '{name}' was made with, and these are not merged; make a table with fewer PARTITIONS and copy the keys"
    )]
    FewestPartitions {
        /// The table.
        name: String,
        /// The partition's number.
        partition: u32,
    },
    /// A partition whose sibling is not one partition.
    #[error(
        "the other half of what partition {partition} came from was split again; merge the parts of that first"
    )]
    SiblingSplit {
        /// The partition's number.
        partition: u32,
    },
    /// Siblings that are not on the same bricks.
    #[error(
        "partitions {left} and {right} are not held by the same bricks, and there is no way to bring one to the other, or it took too \
         long a while ago; add a node, or try again in some minutes"
    )]
    SiblingsApart {
        /// The partition with the lower hashes.
        left: u32,
        /// The other one.
        right: u32,
    },
    /// A partition whose members change, or that is being copied.
    #[error(
        "partition {partition} is being moved, copied, split or merged, or changes its view; try again when that is done"
    )]
    PartitionChanging {
        /// The partition's number.
        partition: u32,
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
    /// Going offline would lose what is in memory alone.
    #[error(
        "table '{name}' keeps its records in memory alone (DURABILITY memory), and going offline frees that: all of it would be lost; copy what is needed and DROP it"
    )]
    OfflineWithoutLog {
        /// The table.
        name: String,
    },
    /// Some partitions have fewer copies than the table asks for.
    #[error(
        "table '{name}' asks for {replicas} copies in sync, and {short} of its partitions have fewer: no others are made while it is offline; wait until `brickyard status` shows it whole, or say FORCE"
    )]
    OfflineShort {
        /// The table.
        name: String,
        /// How many partitions.
        short: usize,
        /// How many copies it asks for.
        replicas: u8,
    },
    /// A table that nobody serves is left as it is.
    #[error(
        "table '{name}' is offline, and nothing of it changes but by a DROP; say TABLE ONLINE {name} first"
    )]
    TableOffline {
        /// The table.
        name: String,
    },
    /// A table that is not served everywhere yet is left as it is.
    #[error(
        "table '{name}' is coming back online, partition by partition; try again when TABLE DESCRIBE {name} shows it so"
    )]
    TableReturning {
        /// The table.
        name: String,
    },
}

fn only_there(sole: usize, lost: &[String]) -> String {
    if sole == 0 {
        return String::new();
    }
    format!(
        ", and {sole} of them are in-sync nowhere else and would be lost: {}",
        lost.join(", ")
    )
}
