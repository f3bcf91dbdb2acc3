//! The client library: a table in the cluster, used like a local map.
//!
//! In:  calls on a [`Table`]. Out: [`Pending`] results: values, or an [`Error`] that says what became of the
//! call.
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), brickyard_client::Error> {
//! use brickyard_client::{Client, Options};
//!
//! let client = Client::connect(Options::new(["127.0.0.1:6379"])).await?;
//! let table = client.table("people");
//!
//! // Each call is sent at once; await the results when they are needed.
//! let writes: Vec<_> = (0..100).map(|n| table.set(format!("person:{n}"), "..." )).collect();
//! for write in writes {
//!     write.await?;
//! }
//! println!("{:?}", table.get("person:7").await?);
//! # Ok(())
//! # }
//! ```
//!
//! - **Zero hop.** The client holds the slot map and goes straight to the brick that holds a key. It needs no map
//!   to begin with: a node port serves every key, and a brick that is asked wrongly says where to go, which
//!   repairs the map.
//! - **By a part of the map**, if wanted ([`Lookups`]): within a bound of bytes the client remembers the partitions that it asked for last, and asks
//!   bricks for the way to others.
//! - **Split-phase.** Calls do not wait for each other. Those that are made in one turn leave in one write; what
//!   is in flight is bounded ([`Options`]), and what is beyond waits in its [`Pending`]. Results are awaited as futures, taken from a queue
//!   ([`Completions`]), or go to a handler ([`Pending::upcall`]).
//! - **Honest outcomes.** Reads are sent again until their deadline. A write is sent again only when it is known
//!   not to have been executed; otherwise the error is [`Error::UnknownOutcome`].
//! - **Reads from memory**, if wanted ([`ReadPolicy::Kept`]): what was read is served again without asking, as long as a lease says that nobody has changed
//!   it. See [`Table::cache_counts`].
//! - **Reads from replicas**, if wanted ([`ReadPolicy`]), with the caches of all replicas adding up ([`Lard`]), or from the nearest.
//!
//! Reading order: `client`, `table`, `pending`, `completions` (what a program sees); `call`, `router`, `map`, `lard`, `retry`,
//! `refresh` (where a call goes and what follows when that fails); `lookups`, `finder`, `seek`, `leaf` (who holds what, for who does not hold the map); `cache`, `kept` (what needs no call); `peer`, `endpoint`, `setting`, `channel` (sockets and tasks);
//! `connection` (the protocol, without IO).
//!
//! Invariants:
//! - A write is never executed twice by this library, nor reported as not executed when it may have been.
//! - Every call ends at its deadline at the latest; if nothing else, with what is known of it then.
//! - Memory is bounded by the options, by the replies that were not taken yet, and by the futures that the
//!   caller holds.
//!
//! Not here: which partition a slot's keys are in, and who holds a lease (the servers know); transactions, which
//! need a connection of their own.

mod budget;
#[doc(hidden)]
pub mod cache;
mod call;
mod channel;
mod client;
mod command;
mod completions;
mod connection;
mod convert;
mod directory;
mod endpoint;
mod error;
mod finder;
mod ids;
mod kept;
mod lard;
mod leaf;
mod lookups;
mod map;
mod options;
mod peer;
mod pending;
mod pipeline;
mod prepared;
mod random;
mod refresh;
#[doc(hidden)]
pub mod retry;
mod router;
mod scan;
mod seek;
mod set;
mod setting;
mod table;
mod watch;

pub use brickyard_routing::graph::Graph;
pub use brickyard_tls::{DialerFiles as TlsFiles, IdentityFiles};
pub use brickyard_wire::Value;
pub use cache::CacheCounts;
pub use client::Client;
pub use completions::{CallId, Completions};
pub use convert::Ttl;
pub use error::Error;
pub use lard::Lard;
pub use lookups::{LookupCounts, LookupStrategy, Lookups};
pub use options::{MessageLimits, Options, ReadPolicy, Tls};
pub use pending::Pending;
pub use pipeline::Pipeline;
pub use scan::Scan;
pub use set::{SetOptions, SetOutcome};
pub use table::{Hash, Table};
pub use watch::{TableChange, Watch};

/// The slot of a key: keys of one slot are in one partition.
///
/// ```
/// assert_eq!(brickyard_client::slot_of(b"{user:7}:name"), brickyard_client::slot_of(b"user:7"));
/// ```
#[must_use]
pub fn slot_of(key: &[u8]) -> u16 {
    brickyard_routing::slot(key).0
}
