//! `brickyard import`: from a Redis or Valkey that runs, or from its files, into tables.
//!
//! In:  what `cmd/import.rs` has from the command line. Out: a copy that follows its source, until it is handed over.
//!
//! Reading order: `source` (who is copied), `feed` (its snapshot and stream), `asker` (what is read anew there), `sink` (the
//! tables), `live` (the loop over these), `handover`, `compare` and `verify`, `files`, `progress` (what people see).
//!
//! Invariant: nothing is written at the source. Until it is to be handed over, nothing else is asked of it than its stream
//! and reads.
//!
//! Not here: what bytes and commands mean, and from where an import goes on (the crate `import`).

pub(crate) mod asker;
pub(crate) mod compare;
pub(crate) mod feed;
pub(crate) mod files;
pub(crate) mod handover;
pub(crate) mod live;
pub(crate) mod progress;
pub(crate) mod sink;
pub(crate) mod source;
pub(crate) mod verify;
