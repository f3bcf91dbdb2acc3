//! Backups: tables in files, as they were at one op of each partition.
//!
//! In:  a cluster that goes on serving, or backups. Out: backups, or a table.
//!
//! Reading order: `row` and `part` (what a file has), `manifest` (what makes files a backup), `place` and `repository`
//! (where they are), `create`, `chain` (a backup's rows, with what it leaves to earlier ones), `verify`, `restore`.
//!
//! Invariants:
//! - A manifest is written last, and whole: what has none is no backup, and is passed over.
//! - Nothing that was written is changed. A later backup refers to an earlier one by its name.
//! - What is read is checked: each block by its checksum, each part by its counts and digest in the manifest.

#[cfg(feature = "object-storage")]
mod bucket;
pub(crate) mod chain;
pub(crate) mod create;
pub(crate) mod manifest;
pub(crate) mod part;
pub(crate) mod place;
pub(crate) mod repository;
pub(crate) mod restore;
pub(crate) mod row;
pub(crate) mod verify;
