//! A node of the partitioning trie, named by the path that leads to it, and the slots below it.

use crate::hash::{RoutingHash, SLOT_BITS};
use brickyard_types::{Slot, limits::PARTITION_DEPTH_MAX};
use std::fmt;

/// The routing hashes that start with certain bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// The first routing hash of the range; bits past `depth` are 0.
    start: u64,
    depth: u8,
}

impl Prefix {
    /// All routing hashes.
    pub const ROOT: Self = Self { start: 0, depth: 0 };

    /// The prefix of `depth` bits that `hash` starts with.
    ///
    /// # Panics
    /// If `depth` is more than [`PARTITION_DEPTH_MAX`].
    #[must_use]
    pub const fn of(hash: RoutingHash, depth: u8) -> Self {
        assert!(
            depth <= PARTITION_DEPTH_MAX,
            "a prefix this deep is no leaf"
        );
        Self {
            start: hash.0 & !Self::span_mask(depth),
            depth,
        }
    }

    /// How many bits the prefix has.
    #[must_use]
    pub const fn depth(self) -> u8 {
        self.depth
    }

    /// The bits, as a number below `2^depth`.
    #[must_use]
    pub const fn bits(self) -> u32 {
        if self.depth == 0 {
            0
        } else {
            (self.start >> (64 - self.depth)) as u32
        }
    }

    /// The first routing hash that starts with the prefix.
    #[must_use]
    pub const fn first(self) -> RoutingHash {
        RoutingHash(self.start)
    }

    /// The last routing hash that starts with the prefix.
    #[must_use]
    pub const fn last(self) -> RoutingHash {
        RoutingHash(self.start | Self::span_mask(self.depth))
    }

    /// Whether `hash` starts with the prefix.
    #[must_use]
    pub const fn contains(self, hash: RoutingHash) -> bool {
        hash.0 & !Self::span_mask(self.depth) == self.start
    }

    /// Whether some hash starts with both: one of them is the beginning of the other.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.contains(other.first()) || other.contains(self.first())
    }

    /// Whether every hash that starts with `other` starts with this prefix.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        self.depth <= other.depth && self.contains(other.first())
    }

    /// The two prefixes that are one bit longer, in order; `None` at the deepest level.
    #[must_use]
    pub const fn children(self) -> Option<[Self; 2]> {
        if self.depth == PARTITION_DEPTH_MAX {
            return None;
        }
        let depth = self.depth + 1;
        let left = Self { depth, ..self };
        let right = Self {
            start: self.start | (1 << (64 - depth)),
            depth,
        };
        Some([left, right])
    }

    /// The prefix that is one bit shorter; `None` for the root.
    #[must_use]
    pub const fn parent(self) -> Option<Self> {
        if self.depth == 0 {
            return None;
        }
        Some(Self::of(self.first(), self.depth - 1))
    }

    /// The slots that are touched: a run for up to 14 bits, and a part of one slot beyond.
    #[must_use]
    pub const fn slots(self) -> SlotRange {
        SlotRange {
            begin: self.first().slot().0,
            end: self.last().slot().0 + 1,
        }
    }

    /// Whether the prefix covers whole slots, so that a client that knows slots needs no more.
    #[must_use]
    pub const fn is_whole_slots(self) -> bool {
        self.depth <= SLOT_BITS
    }

    const fn span_mask(depth: u8) -> u64 {
        if depth == 0 {
            u64::MAX
        } else {
            u64::MAX >> depth
        }
    }
}

impl fmt::Display for Prefix {
    /// The bits as text, `*` for the rest: `0110*`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.depth > 0 {
            write!(
                f,
                "{:0width$b}",
                self.bits(),
                width = usize::from(self.depth)
            )?;
        }
        f.write_str("*")
    }
}

/// A run of slots, `begin..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotRange {
    /// The first slot.
    pub begin: u16,
    /// The slot after the last one.
    pub end: u16,
}

impl SlotRange {
    /// All slots.
    pub const ALL: Self = Self {
        begin: 0,
        end: Slot::COUNT,
    };

    /// How many slots there are in the run.
    #[must_use]
    pub const fn len(self) -> u16 {
        self.end - self.begin
    }

    /// Whether there is no slot in the run.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.begin == self.end
    }

    /// The last slot, as Redis's replies name it.
    ///
    /// # Panics
    /// If the run is empty.
    #[must_use]
    pub const fn last(self) -> u16 {
        assert!(!self.is_empty(), "an empty run has no last slot");
        self.end - 1
    }

    /// Whether `slot` is in the run.
    #[must_use]
    pub const fn contains(self, slot: Slot) -> bool {
        self.begin <= slot.0 && slot.0 < self.end
    }
}

impl fmt::Display for SlotRange {
    /// As `CLUSTER NODES` writes it: `5461-10922`, or `7` for a single slot.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.len() == 1 {
            write!(f, "{}", self.begin)
        } else {
            write!(f, "{}-{}", self.begin, self.last())
        }
    }
}

#[cfg(test)]
#[path = "prefix_test.rs"]
mod prefix_test;
