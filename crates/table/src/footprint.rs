//! What a record takes of memory, without making it: for who plans a table.
//!
//! In:  a medium, the lengths of a key and of what of its value is in memory. Out: bytes, on average over many records.
//!
//! Not here: what a table has taken ([`crate::TableData::memory_used`]).

use crate::bucket::{BUCKET_BYTES, CELL_BYTES};
use crate::index::SPLIT_LOAD;
use crate::record::{HEADER_BYTES, Layout, UNIT_BYTES};
use brickyard_types::Medium;

/// Records of an index whose bucket is full, for each of which a cell would do that holds several: one in so many.
const RECORDS_PER_CELL: usize = 20;

/// What a record takes of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// The record: its header, the position of its value in the log (medium `disk`), key and value, and what is missing to a
    /// multiple of eight.
    pub record: usize,
    /// Its share of the index.
    pub index: usize,
}

impl Footprint {
    /// Of a record without an expiry; of a value that is in the log alone `value_bytes` is 0.
    #[must_use]
    pub const fn of(medium: Medium, key_bytes: usize, value_bytes: usize) -> Self {
        let before_key = HEADER_BYTES + Layout::new(medium).offset_bytes();
        Self {
            record: (before_key + key_bytes + value_bytes).next_multiple_of(UNIT_BYTES),
            index: (BUCKET_BYTES.div_ceil(SPLIT_LOAD)) + CELL_BYTES.div_ceil(RECORDS_PER_CELL),
        }
    }

    /// All of it.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.record + self.index
    }
}

#[cfg(test)]
#[path = "footprint_test.rs"]
mod footprint_test;
