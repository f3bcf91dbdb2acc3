//! What a partition holds, as one number.
//!
//! In:  a partition, and where to go on in it. Out: keys, and the sum of a hash of each.
//!
//! Invariants:
//! - Replicas that have applied the same operations get the same, whatever the order of their records, their
//!   layout, and which values are in memory: sums do not know an order.
//! - No call does work in proportion to the partition: the caller adds up the parts.

use crate::contents::Contents;
use crate::found::{Found, ValueRef};
use crate::id::{LocalPartition, ScanPosition};
use crate::scan::scan;

/// Records that are looked at between two looks at how many bytes they had.
const STEP: usize = 64;

/// Bytes of values and keys that a call hashes, at most by one step's more.
const BYTES_MAX: usize = 1 << 20;

/// A part of a partition, or all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// Keys that are there.
    pub keys: u64,
    /// Their hashes' sum.
    pub sum: u64,
}

/// As [`crate::TableData::digest`].
pub(crate) fn digest(
    contents: &Contents,
    partition: LocalPartition,
    mut from: ScanPosition,
    at_most: usize,
) -> (Digest, Option<ScanPosition>) {
    // A record that knows its offset in the log may leave its value there.
    let has_values = !contents.records().have_offsets();
    let mut digest = Digest::default();
    let (mut looked_at, mut bytes) = (0, 0);
    let mut buffer = Vec::new();
    loop {
        let next = scan(
            contents,
            partition,
            from,
            STEP.min(at_most),
            |key, found| {
                encode(&mut buffer, key, &found, has_values);
                digest.keys += 1;
                let hash = contents.records().hash_of(&buffer);
                digest.sum = digest.sum.wrapping_add(hash.0);
                looked_at += 1;
                bytes += buffer.len();
            },
        );
        match next {
            Some(next) if looked_at < at_most && bytes < BYTES_MAX => from = next,
            _ => return (digest, next),
        }
    }
}

/// All that counts of a record, so that no two records have the same bytes.
fn encode(buffer: &mut Vec<u8>, key: &[u8], found: &Found<'_>, has_values: bool) {
    buffer.clear();
    buffer.extend_from_slice(&(key.len() as u64).to_le_bytes());
    buffer.extend_from_slice(key);
    buffer.extend_from_slice(&found.op.0.to_le_bytes());
    let expiry = found.expires_at.map_or(u64::MAX, |at| at.0);
    buffer.extend_from_slice(&expiry.to_le_bytes());
    buffer.push(found.value_type as u8);
    buffer.extend_from_slice(&(found.value.len() as u64).to_le_bytes());
    if let (ValueRef::Hot(value), true) = (found.value, has_values) {
        buffer.extend_from_slice(value);
    }
}

#[cfg(test)]
#[path = "digest_test.rs"]
mod digest_test;
