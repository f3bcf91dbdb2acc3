//! What the cleaner needs to know; the liveness of a record is the brick's to decide, since it has
//! the index.
//!
//! A round of cleaning, paced by the server:
//! 1. [`LiveBytes::pick`] names a segment.
//! 2. The reader's `scan_chunk` reads it piece by piece.
//! 3. The brick appends its live records again, with flag `MOVED` and unchanged (view, op), and
//!    tombstones that are still needed with `ORIGIN` too. Tombstones for which [`is_droppable`] says
//!    yes are dropped, after a `Horizon` record of their partition at or above them (PROTOCOL rule 14).
//! 4. When the last of these appends is synced, [`Syncer::delete_segment`](crate::Syncer) removes the
//!    segment, and [`LiveBytes::forget`] its numbers.
//!
//! A record of a key that has a prepared, uncommitted operation may be moved only after that operation
//! has been decided (rule 27): a put that is moved behind a delete's segment would outlive it.
//! The same holds for a whole segment with damage: it is evidence, and is not cleaned.

mod live;
mod tombstone;

pub use live::{LiveBytes, PickPolicy};
pub use tombstone::is_droppable;

#[cfg(test)]
#[path = "cleaner_test.rs"]
mod cleaner_test;
