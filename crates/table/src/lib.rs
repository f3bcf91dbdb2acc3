//! Committed state of one table on one brick: pure, batched, no I/O.
//!
//! In:  committed operations ([`TableData::put`], [`TableData::remove`], [`TableData::clear`]), reads, the
//!      time.
//! Out: records ([`Found`]), keys to remove ([`Expired`], [`Victim`]), and what the log has lost
//!      ([`Replaced`]).
//!
//! The parts, from the outside in; what stands in one line uses what stands below it:
//! ```text
//! table: reads    apply: writes    partitions    reads: of many keys    upkeep: a little at a time
//!   scan  digest  due  evict: functions over the contents
//!   contents     an index a partition, which leads to the records; counts. What changes both is here alone
//!     index      hash -> reference   (in lines of the shapes in bucket, from pool)
//!     records    reference -> record, and what the log's segments have of them
//!       arena    reference -> bytes  (in chunks; record says what they mean, holes which of them are free)
//!       segments live bytes of the log
//!   expiry  timers    snapshot  what was replaced while it is read
//!   lazy frees  memory on its way back to the operating system
//!   block  memory    prefetch  caches
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
mod contents;
mod digest;
mod due;
mod evict;
mod expiry;
mod footprint;
mod found;
mod full;
mod hash;
mod holes;
mod id;
mod index;
mod lazy_free;
mod partition;
mod partitions;
mod pool;
mod prefetch;
mod reads;
mod record;
mod records;
mod scan;
mod segments;
mod snapshot;
mod table;
mod upkeep;

pub use apply::{Put, WriteOutcome};
pub use digest::Digest;
pub use due::Expired;
pub use evict::Victim;
pub use footprint::Footprint;
pub use found::{Found, ValueRef};
pub use full::Full;
pub use hash::{KeyHash, key_hash};
pub use id::{LocalPartition, ScanPosition};
pub use lazy_free::LazyFree;
pub use segments::Replaced;
pub use snapshot::{SnapshotId, Spoilt};
pub use table::{TableConfig, TableData};
