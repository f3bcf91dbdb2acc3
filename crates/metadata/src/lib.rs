//! The catalog: which nodes and tables there are, how they are made, and where partitions are.
//!
//! In: [`Change`]s, in one order that all nodes agree on. Out: [`Applied`] or a [`Refusal`], and the
//! new state, which every brick routes by; its stored form; what cluster clients are told of it.
//!
//! Invariants:
//! - Applying a change is a function of the state and the change alone: no clock, no random number,
//!   no order of arrival. The same changes give the same bytes on every node.
//! - A refused change changes nothing.
//! - Ids of tables and partitions are never used again, so a record in a log that is older than a
//!   table's drop is known to be dead.
//! - There is always a table [`DEFAULT_TABLE`].
//!
//! Not here: agreeing on the order of changes (one node decides alone; a Raft log will), writing
//! the stored form to a disk (`server`).

mod apply;
mod catalog;
mod change;
mod envelope;
#[cfg(test)]
mod fixture;
mod heat;
mod layout;
mod merge;
mod name;
mod node;
mod offline;
mod orders;
mod plan;
mod proposal;
mod refusal;
mod register;
mod removed;
mod sizing;
mod split;
mod stored;
mod together;
mod topology;
mod topology_reply;
mod view_change;

pub use catalog::{Catalog, CatalogVersion, ClusterId, Genesis, Table};
pub use change::{
    Alteration, Applied, Change, Decisions, NewTable, NodeAlteration, Recovery, Registered, StaleAt,
};
pub use envelope::{Envelope, LastOutcome, Outcome};
pub use heat::{BrickLoad, EXTRA_COPIES_MAX, EXTRAS_MAX, Extra, PartitionLoad};
pub use layout::{Layout, LayoutAlteration};
pub use merge::{Merge, Merged, Rest, Resting};
pub use name::{DATABASES, DEFAULT_TABLE, database_table};
pub use node::{Addresses, Machine, Node, NodeKey, Registration, Roles};
pub use offline::Standing;
pub use orders::Orders;
pub use plan::{Move, Plan};
pub use proposal::{Ground, NewLearners, Proposal, Settled, Stale};
pub use refusal::Refusal;
pub use sizing::{Cause, Divide};
pub use split::{Former, SPLIT_DEPTH_MAX, Split, SplitReady};
pub use stored::{FORMAT_VERSION, StoredError};
pub use together::{Pairs, SMALL_SHARE, Small};
pub use topology::{Address, Topology, TopologyNode, TopologyRange, brick_name};
pub use topology_reply::TopologyReplies;
