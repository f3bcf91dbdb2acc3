//! What makes files a backup: JSON, written when all of them are there.

use crate::part::Totals;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The format of manifests and parts; no other one is read.
pub const FORMAT: u32 = 1;

/// A backup of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: u32,
    /// Its name, and of its file.
    pub name: String,
    /// When it was begun, in milliseconds since 1970: all that was acknowledged before is in it.
    pub begun_ms: u64,
    /// The name of the table.
    pub table: String,
    /// The table's number in its cluster: a table that was dropped and made again has another.
    pub table_id: u64,
    /// What it takes to make a table like it.
    pub attributes: BTreeMap<String, String>,
    /// The backup that has what this one leaves out.
    pub base: Option<String>,
    /// What it has of each partition.
    pub parts: Vec<PartEntry>,
}

/// A partition in a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartEntry {
    /// The partition.
    pub partition: u32,
    /// The view of the log position that it is of.
    pub view: u64,
    /// The op of that position.
    pub op: u64,
    /// The history that the op is of; another one begins when an operator has forced a recovery.
    pub generation: u64,
    /// Its file, relative to the repository; may be one of an earlier backup, if nothing changed.
    pub file: String,
    /// The size of that file.
    pub file_bytes: u64,
    /// Rows of the partition.
    pub rows: u64,
    /// Rows whose values are in the file.
    pub values: u64,
    /// In hexadecimal, since JSON's numbers are not exact.
    pub digest: String,
}

impl PartEntry {
    /// What its file says at the end; `None`: the digest is no number.
    #[must_use]
    pub fn totals(&self) -> Option<Totals> {
        Some(Totals {
            rows: self.rows,
            values: self.values,
            digest: u64::from_str_radix(&self.digest, 16).ok()?,
        })
    }
}

impl Manifest {
    /// Records of the backup.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.parts.iter().map(|part| part.rows).sum()
    }

    /// What it has of a partition.
    #[must_use]
    pub fn part(&self, partition: u32) -> Option<&PartEntry> {
        self.parts.iter().find(|it| it.partition == partition)
    }
}
