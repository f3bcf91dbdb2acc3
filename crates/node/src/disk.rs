//! The workers of a brick's log: what each does with an order, and what it tells whom.
//!
//! In:  what the brick wants appended, synced, read, deleted. Out: what it is to be told.
//!
//! ```text
//!  loop ── appends ─▶ AppendWorker ── Unsynced ─▶ SyncWorker ─▶ hint files
//!   ▲                      │                          │ ▲
//!   └─────── reports ──────┴──────────────────────────┘ └─ segments to delete
//!  loop ── reads ──▶ Reading ── reports ─▶ loop
//! ```
//! They are apart because they must not wait for one another: a sync may take seconds on a busy disk while writes with
//! durability `log` and reads go on. When each does its next step is the caller's: threads in the server, virtual time in
//! the simulator. What they have outside of themselves
//! is an [`AppendIo`] and a [`SyncIo`].
//!
//! Invariants:
//! - A batch is reported appended before it is reported synced, by itself or by a checkpoint.
//! - A segment is read up to the last batch that was reported, whether a batch is under way or not.
//! - After a failed batch every other batch of its epoch fails too, in order (`append`).

mod append;
mod hint;
mod inline;
mod io;
mod read;
mod sync;
mod unsynced;

pub use append::{AppendOrder, AppendReport, AppendWorker};
pub use hint::write_hint;
pub use inline::InlineAppends;
pub use io::{AppendIo, SyncIo, WorkerIo};
pub use read::{Carried, ReadOrder, ReadReport, Reading};
pub use sync::{SyncJob, SyncPace, SyncStep, SyncWorker};
pub use unsynced::Unsynced;

/// The checkpoint that is the replicator's own wish for a sync: it happens often, and seals nothing.
pub const SYNC_ONLY: u64 = u64::MAX;
