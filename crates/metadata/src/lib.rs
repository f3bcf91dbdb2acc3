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
//! A component has private fields and keeps its own invariants (`nodes`, `tables`, `transitions`, `parents`, `extra_copies`,
//! `last_outcome`, `ids`, `accounts`, `libraries`). A change borrows those that it may change; `apply` hands them out. `catalog` draws who uses whom.
//!
//! Not here: agreeing on the order of changes (one node decides alone; a Raft log will), writing
//! the stored form to a disk (`server`).

mod account;
mod accounts;
mod applied;
mod apply;
mod catalog;
mod change;
mod colocate;
mod copies;
mod definition;
mod envelope;
mod extra_copies;
#[cfg(test)]
mod fixture;
mod group;
mod ids;
mod last_outcome;
mod layout;
mod level;
mod libraries;
mod library;
mod lookup;
mod merge;
mod name;
mod node;
mod nodes;
mod offline;
mod orders;
mod parents;
mod plan;
mod proposal;
mod refusal;
mod register;
mod removed;
mod sizing;
mod split;
mod stored;
mod table;
mod tables;
mod topology;
mod topology_reply;
mod transitions;
mod user_limits;
mod version;
mod view_change;

pub use account::{Account, AccountRule, KeyPattern, TableGrant};
pub use accounts::Accounts;
pub use applied::{Applied, Registered, StaleAt};
pub use brickyard_types::NodeKey;
pub use catalog::{Catalog, Genesis};
pub use change::{Change, Decisions, Recovery, TableEdit};
pub use colocate::{Pairs, SMALL_SHARE, Small};
pub use envelope::Envelope;
pub use extra_copies::{BrickLoad, EXTRA_COPIES_MAX, EXTRAS_MAX, Extra, PartitionLoad};
pub use last_outcome::{LastOutcome, Outcome};
pub use layout::{Layout, LayoutAlteration};
pub use level::Level;
pub use libraries::{LIBRARIES_BYTES_MAX, Libraries, LibraryPolicy};
pub use library::{LIBRARY_BYTES_MAX, Library, LibraryFunction};
pub use merge::Rest;
pub use name::{DATABASES, DEFAULT_TABLE, database_table};
pub use node::{Address, Addresses, Machine, Node, NodeAlteration, Orders, Registration, Roles};
pub use parents::{Merged, Parent};
pub use plan::{Move, Plan};
pub use proposal::{Ground, NewLearners, Proposal, Settled, Stale};
pub use refusal::Refusal;
pub use sizing::Divide;
pub use split::SplitReady;
pub use stored::{FORMAT_VERSION, StoredError};
pub use table::{Alteration, NewTable, TableEntry, TableStatus};
pub use topology::{
    Topology, TopologyNode, TopologyRange, TopologyReplica, TopologyRole, brick_name,
};
pub use topology_reply::{TopologyReplies, replica_lines};
pub use transitions::{Cause, Merge, Resting, Split};
pub use user_limits::{Limited, UserLimits};
pub use version::{CatalogVersion, ClusterId};
