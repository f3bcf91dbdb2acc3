//! What a Redis or Valkey says of its records, and what that means for a table.
//!
//! In:  the records of a snapshot (`brickyard-rdb`); the bytes of a replication stream, or of an append-only file; what was read anew at the source.
//! Out: changes of keys for the target, in an order that loses nothing; and from where an import that broke off goes on.
//!
//! Reading order: `stream` (commands with their offsets), `meaning` (what a command means),
//! `plan` (what is to be done of each key), `resume` (the resume point in its file), `manifest` (the files of an append-only
//! directory).
//!
//! Invariants:
//! - No length that is announced is believed with memory; damage is an error with its offset, and no panic.
//! - Of one key one change is under way at a time, and the last one is what the source had.
//! - Everything before the resume point is at the target, acknowledged.
//!
//! Not here: sockets, threads, clocks, and what people see of it (`cli`).

mod manifest;
mod meaning;
mod place;
mod plan;
mod resume;
mod stream;

pub use manifest::{ManifestError, files_of};
pub use meaning::{Meaning, meaning};
pub use plan::{KeyChange, KeyPlace, PlannedAction, Planner, ReadOutcome};
pub use resume::{Phase, ResumeError, ResumePoint};
pub use stream::{StreamCommand, StreamError, StreamReader};
