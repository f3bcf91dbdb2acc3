//! What makes files a backup: JSON, written when all of them are there.

use super::part::Totals;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The format of manifests and parts; no other one is read.
pub(crate) const FORMAT: u32 = 1;

/// A backup of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format: u32,
    pub(crate) name: String,
    /// When it was begun, in milliseconds since 1970: all that was acknowledged before is in it.
    pub(crate) begun_ms: u64,
    pub(crate) table: String,
    /// The table's number in its cluster: a table that was dropped and made again has another.
    pub(crate) table_id: u64,
    /// What it takes to make a table like it.
    pub(crate) attributes: BTreeMap<String, String>,
    /// The backup that has what this one leaves out.
    pub(crate) base: Option<String>,
    pub(crate) parts: Vec<Part>,
}

/// A partition in a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) partition: u32,
    /// The log position that it is of.
    pub(crate) view: u64,
    pub(crate) op: u64,
    /// The history that the op is of; another one begins when an operator has forced a recovery.
    pub(crate) generation: u64,
    /// Its file, relative to the repository; may be one of an earlier backup, if nothing changed.
    pub(crate) file: String,
    pub(crate) file_bytes: u64,
    pub(crate) rows: u64,
    /// Rows whose values are in the file.
    pub(crate) values: u64,
    /// In hexadecimal, since JSON's numbers are not exact.
    pub(crate) digest: String,
}

impl Part {
    pub(crate) fn totals(&self) -> Option<Totals> {
        Some(Totals {
            rows: self.rows,
            values: self.values,
            digest: u64::from_str_radix(&self.digest, 16).ok()?,
        })
    }
}

impl Manifest {
    pub(crate) fn rows(&self) -> u64 {
        self.parts.iter().map(|part| part.rows).sum()
    }

    pub(crate) fn part(&self, partition: u32) -> Option<&Part> {
        self.parts.iter().find(|it| it.partition == partition)
    }
}
