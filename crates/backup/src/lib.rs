//! Backups: tables in files, as they were at one op of each partition.
//!
//! In:  rows, or a place that has backups: a directory, or object storage. Out: files, or rows.
//!
//! Reading order: `row` and `part` (what a file has), `manifest` (what makes files a backup), `place` and `repository`
//! (where they are), `chain` (a backup's rows, with what it leaves to earlier ones), `verify`.
//!
//! Invariants:
//! - A manifest is written last, and whole: what has none is no backup, and is passed over.
//! - Nothing that was written is changed. A later backup refers to an earlier one by its name.
//! - What is read is checked: each block by its checksum, each part by its counts and digest in the manifest.
//!
//! Not here: the cluster that a backup is of, or is restored to (`cli`).

#[cfg(feature = "object-storage")]
mod bucket;
mod chain;
mod manifest;
mod part;
mod place;
mod repository;
mod row;
mod verify;

#[cfg(feature = "object-storage")]
pub use bucket::Bucket;
pub use chain::each_row;
pub use manifest::{FORMAT, Manifest, PartEntry};
pub use part::{PartReader, PartWriter, Totals};
pub use place::{NewFile, Place};
pub use repository::Repository;
pub use row::Row;
pub use verify::{Contents, verify};
