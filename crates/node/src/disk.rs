//! What is done with a brick's log, one order at a time.
//!
//! In:  what the brick wants appended, synced, read, deleted. Out: what it is to be told.
//!
//! The three are apart because they must not wait for one another. When each order is carried out is the
//! caller's: threads in the server, virtual time in the simulator.

mod append;
mod read;
mod sync;

pub use append::{AppendOrder, Appending, Outcome};
pub use read::{ReadOrder, ReadReport, Reading};
pub use sync::Syncing;

/// The checkpoint that is the replicator's own wish for a sync: it happens often, and seals nothing.
pub const SYNC_ONLY: u64 = u64::MAX;
