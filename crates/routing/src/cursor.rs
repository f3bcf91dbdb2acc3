//! SCAN cursors that stay good while partitions split, merge and move.
//!
//! In: a cursor number from a client. Out: the leaf to scan and where in it ([`ScanPoint`]), and the
//! cursor to hand back.
//!
//! A scan walks the leaves in order, and each leaf in the order of its keys' hashes. A cursor says:
//! "of prefix *p*, every key whose hash is below *h* was returned, and so was every key of the
//! prefixes before *p*". That sentence holds whatever happens to the partitions and wherever they
//! are, because a key's routing hash and key hash never change. So when a scan goes on:
//!
//! - *p* is a leaf: go on at *h*.
//! - *p* was split: go on at *h* in its first part. The other parts are begun at 0, since a cursor
//!   has no room to remember how far their keys were covered: those are returned again.
//! - *p* was merged: its leaf is begun at 0, as the keys that joined may lie anywhere.
//!
//! Invariant: a key that is there from a scan's start to its end is returned at least once. (Like
//! Redis's own scan, it may be returned more than once, and only then if a partition was split or
//! merged meanwhile.)
//!
//! Layout, 53 bits, because JavaScript clients read cursors as doubles:
//! ```text
//! 52        52-d         5        0
//! | prefix d | key hash  | depth+1 |
//! ```
//! The hash is cut to its top 48-d bits, rounded down. Depth + 1 is never 0, so no cursor that we
//! hand out is 0, which is the start and the end.

use crate::{hash::RoutingHash, partition_map::PartitionMap, prefix::Prefix};
use brickyard_types::limits::PARTITION_DEPTH_MAX;
use std::cmp::Ordering;

const DEPTH_BITS: u8 = 5;
/// Bits of prefix and key hash together.
const PATH_BITS: u8 = 53 - DEPTH_BITS;

const _: () = assert!(
    PARTITION_DEPTH_MAX + 1 < 1 << DEPTH_BITS,
    "the depth has room"
);
const _: () = assert!(
    PATH_BITS - PARTITION_DEPTH_MAX >= 24,
    "a leaf can be scanned in small steps"
);

/// How far a scan has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    prefix: Prefix,
    progress: u64,
}

/// Where a scan goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanPoint {
    /// Index of the leaf in the map that was asked.
    pub leaf: usize,
    /// The lowest key hash that is still to be returned.
    pub progress: u64,
}

impl Cursor {
    /// Nothing was returned yet.
    pub const START: Self = Self {
        prefix: Prefix::ROOT,
        progress: 0,
    };

    /// Everything before `prefix` was returned, and nothing of it.
    #[must_use]
    pub const fn at(prefix: Prefix) -> Self {
        Self {
            prefix,
            progress: 0,
        }
    }

    /// Everything before `prefix` was returned, and those of its keys whose hash is below
    /// `progress`, which is rounded down to what a cursor can hold.
    ///
    /// A step of a scan must go on until this differs from the cursor it began with, or the scan
    /// would stand still; [`Cursor::progress`] tells. The grain is 2^-24 of a partition or finer.
    #[must_use]
    pub const fn within(prefix: Prefix, progress: u64) -> Self {
        Self {
            prefix,
            progress: progress & !(Self::grain(prefix.depth()) - 1),
        }
    }

    /// Whether it says of keys with these hashes that they were returned.
    #[must_use]
    pub fn has_passed(self, routing_hash: RoutingHash, key_hash: u64) -> bool {
        if self.prefix.contains(routing_hash) {
            key_hash < self.progress
        } else {
            routing_hash < self.prefix.first()
        }
    }

    /// The lowest key hash that is still to be returned.
    #[must_use]
    pub const fn progress(self) -> u64 {
        self.progress
    }

    const fn grain(depth: u8) -> u64 {
        1 << (64 - PATH_BITS + depth)
    }

    /// The cursor of a number that a client sent.
    ///
    /// Like Redis, any number is accepted. One that we never handed out begins the scan again: no
    /// key is lost by it.
    #[must_use]
    pub const fn decode(number: u64) -> Self {
        let depth_code = number & ((1 << DEPTH_BITS) - 1);
        if number >> 53 != 0 || depth_code == 0 || depth_code > PARTITION_DEPTH_MAX as u64 + 1 {
            return Self::START;
        }
        let depth = (depth_code - 1) as u8;
        // Prefix and progress, from the top bit of a word.
        let path = number >> DEPTH_BITS << (64 - PATH_BITS);
        Self {
            prefix: Prefix::of(RoutingHash(path), depth),
            progress: path << depth,
        }
    }

    /// The number to send to a client; 0 for the start alone.
    #[must_use]
    pub const fn encode(self) -> u64 {
        let depth = self.prefix.depth();
        if depth == 0 && self.progress == 0 {
            return 0;
        }
        let path = self.prefix.first().0 | (self.progress >> depth);
        (path >> (64 - PATH_BITS) << DEPTH_BITS) | (depth as u64 + 1)
    }
}

/// Who has come less far is less.
impl Ord for Cursor {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |it: &Self| (it.prefix.first(), it.progress, it.prefix.depth());
        place(self).cmp(&place(other))
    }
}

impl PartialOrd for Cursor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartitionMap {
    /// Where the scan that `cursor` came from goes on in this map.
    #[must_use]
    pub fn resume(&self, cursor: Cursor) -> ScanPoint {
        let leaf = self.leaf_index(cursor.prefix.first());
        let merged = self.leaves()[leaf].prefix.depth() < cursor.prefix.depth();
        ScanPoint {
            leaf,
            progress: if merged { 0 } else { cursor.progress },
        }
    }

    /// The cursor after a step that began in `leaf` and has returned all its keys below `progress`,
    /// or all of its keys if that is `None`. The answer is `None` when that was the last leaf.
    #[must_use]
    pub fn advance(&self, leaf: usize, progress: Option<u64>) -> Option<Cursor> {
        match progress {
            Some(progress) => Some(Cursor::within(self.leaves()[leaf].prefix, progress)),
            None => self
                .leaves()
                .get(leaf + 1)
                .map(|next| Cursor::at(next.prefix)),
        }
    }
}

#[cfg(test)]
#[path = "cursor_test.rs"]
mod cursor_test;
