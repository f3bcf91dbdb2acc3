//! Committed state of one table on one brick: pure, batched, no I/O.
//!
//! In:  committed operations ([`TableData::put`], [`TableData::remove`], [`TableData::clear`]), reads, the
//!      time.
//! Out: records ([`Found`]), keys to remove ([`Expired`], [`Victim`]), and what the log has lost
//!      ([`Replaced`]).
//!
//! The parts, from the outside in; what stands in one line uses what stands below it:
//! ```text
//! table: reads    apply: writes    cold  scan  snapshot  clear  evict  due  compact  measure
//!   index     one a partition, hash -> reference   (in lines of the shapes in bucket, from pool)
//!   arena     reference -> bytes                   (in chunks; record says what they mean,
//!                                                   holes which of them are free)
//!   segments  live bytes of the log    expiry  timers    block  memory    prefetch  caches
//!   leftovers memory on its way back to the operating system
//! ```
//!
//! Invariants:
//! - A record applies only over one with a lower op; what is in the table does not depend on the
//!   order.
//! - No call does work in proportion to the table: it grows, shrinks, compacts and forgets a few
//!   records at a time, along with the writes. (But for [`TableData::purge_tombstones`], and clears
//!   that replay brings late.)
//!
//! Not here: prepared operations that have not committed, which key belongs to which partition, the
//! log, and the decision to remove a key: replicas must agree on that.

mod apply;
mod arena;
mod block;
mod bucket;
#[cfg(test)]
mod check;
mod clear;
mod cold;
mod compact;
mod digest;
mod due;
mod evict;
mod expiry;
mod full;
mod hash;
mod holes;
mod index;
mod leftovers;
mod measure;
mod pool;
mod prefetch;
mod record;
mod scan;
mod segments;
mod snapshot;
mod split;
mod table;

pub use apply::{Put, WriteOutcome};
pub use digest::Digest;
pub use due::Expired;
pub use evict::Victim;
pub use full::Full;
pub use hash::{KeyHash, key_hash};
pub use leftovers::Leftovers;
pub use scan::ScanPosition;
pub use segments::Replaced;
pub use snapshot::{SnapshotId, Spoilt};
pub use table::{Found, LocalPartition, TableConfig, TableData, ValueRef};
