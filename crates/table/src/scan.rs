//! Walking a partition's records in the order of their key hashes, and picking one at random.
//!
//! In:  a position. Out: records, and the position to go on from.
//!
//! Invariant: from position to position, a key that is there throughout is visited exactly once,
//! whatever is written, split, merged and compacted in between: where it is visited depends on its
//! hash alone.

use crate::contents::Contents;
use crate::found::Found;
use crate::hash::KeyHash;
use crate::id::{LocalPartition, ScanPosition};
use crate::record::State;
use brickyard_types::part::is_part;

/// As [`crate::TableData::scan`].
pub(crate) fn scan(
    contents: &Contents,
    partition: LocalPartition,
    from: ScanPosition,
    at_least: usize,
    mut f: impl FnMut(&[u8], Found<'_>),
) -> Option<ScanPosition> {
    const FINER: u64 = (1 << (64 - ScanPosition::BITS)) - 1;
    let records = contents.records();
    let mut references = Vec::new();
    let mut visited = 0;
    let mut position = KeyHash(from.0);
    loop {
        references.clear();
        let next = contents.visit_bucket(partition, position, |reference| {
            records.prefetch(reference);
            references.push(reference);
        });
        for &reference in &references {
            let header = records.header(reference);
            let key = records.key(reference, header);
            // A bucket may have merged since `from` was returned, and begin before it.
            if records.hash_of(key).0 < from.0 {
                continue;
            }
            if let Some(found) = records.found(reference, header) {
                f(key, found);
                visited += 1;
            }
        }
        let before = std::mem::replace(&mut position, next?);
        assert!(position > before, "a scan only goes on");
        if visited >= at_least && position.0 & FINER == 0 {
            return Some(ScanPosition(position.0));
        }
    }
}

/// As [`crate::TableData::random`].
pub(crate) fn random(
    contents: &Contents,
    mut random: u64,
) -> Option<(LocalPartition, &[u8], Found<'_>)> {
    let records = contents.records();
    let mut nth = draw(&mut random).checked_rem(u64::from(contents.counts().keys))?;
    let keys = |number: usize| {
        let share = contents.partition(LocalPartition(number as u32));
        u64::from(share.counts.keys)
    };
    let number = (0..contents.partition_slots()).find(|&number| {
        let is_here = nth < keys(number);
        nth -= if is_here { 0 } else { keys(number) };
        is_here
    })?;
    let partition = LocalPartition(number as u32);
    let mut references = Vec::new();
    // A bucket is chosen by a random hash, hence as often as its share of the keys; nearly all
    // have some, unless the partition is small or mostly tombstones: then go on to the next
    // bucket.
    let mut position = KeyHash(draw(&mut random));
    loop {
        let next = contents.visit_bucket(partition, position, |reference| {
            let header = records.header(reference);
            let is_key =
                header.state() != State::Tombstone && !is_part(records.key(reference, header));
            if is_key {
                references.push((reference, header));
            }
        });
        let count = references.len() as u64;
        if let Some(chosen) = draw(&mut random).checked_rem(count) {
            let (reference, header) = references[chosen as usize];
            let key = records.key(reference, header);
            let found = records.found(reference, header)?;
            return Some((partition, key, found));
        }
        position = next.unwrap_or_default();
    }
}

/// The next of a row of random numbers (splitmix64, Steele et al., 2014).
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
#[path = "scan_test.rs"]
mod scan_test;
