//! Walking a partition's records in the order of their key hashes, and picking one at random.
//!
//! In:  a position. Out: records, and the position to go on from.
//!
//! Invariant: from position to position, a key that is there throughout is visited exactly once,
//! whatever is written, split, merged and compacted in between: where it is visited depends on its
//! hash alone.

use crate::hash::KeyHash;
use crate::record::{self, State};
use crate::table::{Found, LocalPartition, TableData};

/// Where in a partition a scan is: every key with a lower hash has been visited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScanPosition(pub u64);

impl ScanPosition {
    /// Where a scan begins.
    pub const START: Self = Self(0);

    /// Positions that [`TableData::scan`] returns have only their top so many bits set, so that a
    /// cursor need not carry more. Buckets are finer only in partitions of a hundred million keys.
    pub const BITS: u32 = 24;
}

impl TableData {
    /// Calls `f` with the key and record of each key of `partition` whose hash is at `from` or
    /// after, in no order within a bucket, until at least `at_least` were visited; returns where to
    /// go on, or `None` at the end. Keys whose time is past are among them.
    ///
    /// - Time: about a cache miss for each record. Visits at most some twenty records more than
    ///   asked.
    pub fn scan(
        &self,
        partition: LocalPartition,
        from: ScanPosition,
        at_least: usize,
        mut f: impl FnMut(&[u8], Found<'_>),
    ) -> Option<ScanPosition> {
        const FINER: u64 = (1 << (64 - ScanPosition::BITS)) - 1;
        let index = &self.partitions[partition.index()].index;
        let mut references = Vec::new();
        let mut visited = 0;
        let mut position = KeyHash(from.0);
        loop {
            references.clear();
            let next = index.visit_bucket(&self.pool, position, |reference| {
                self.arena.prefetch(reference);
                references.push(reference);
            });
            for &reference in &references {
                let bytes = self.arena.at(reference);
                let header = record::header(bytes);
                let key = self.layout.key(header, bytes);
                // A bucket may have merged since `from` was returned, and begin before it.
                if self.hasher.hash(key).0 < from.0 {
                    continue;
                }
                if let Some(found) = self.found(reference, header) {
                    f(key, found);
                    visited += 1;
                }
            }
            position = next?;
            if visited >= at_least && position.0 & FINER == 0 {
                return Some(ScanPosition(position.0));
            }
        }
    }

    /// A key of the table, each about equally likely, chosen by `random`; `None` if there is none.
    #[must_use]
    pub fn random(&self, random: u64) -> Option<(LocalPartition, &[u8], Found<'_>)> {
        let mut random = random;
        let mut nth = draw(&mut random).checked_rem(self.sums.keys as u64)?;
        let keys = |number: usize| u64::from(self.partitions[number].keys);
        let number = (0..self.partitions.len()).find(|&number| {
            let is_here = nth < keys(number);
            nth -= if is_here { 0 } else { keys(number) };
            is_here
        })?;
        let index = &self.partitions[number].index;
        let mut references = Vec::new();
        // A bucket is chosen by a random hash, hence as often as its share of the keys; nearly all
        // have some, unless the partition is small or mostly tombstones: then go on to the next
        // bucket.
        let mut position = KeyHash(draw(&mut random));
        loop {
            let next = index.visit_bucket(&self.pool, position, |reference| {
                let header = record::header(self.arena.at(reference));
                if header.state() != State::Tombstone {
                    references.push((reference, header));
                }
            });
            let count = references.len() as u64;
            if let Some(chosen) = draw(&mut random).checked_rem(count) {
                let (reference, header) = references[chosen as usize];
                let key = self.layout.key(header, self.arena.at(reference));
                let found = self.found(reference, header)?;
                return Some((LocalPartition(number as u32), key, found));
            }
            position = next.unwrap_or_default();
        }
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
