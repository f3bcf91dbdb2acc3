//! The partitioning trie flattened into arrays, so that finding a leaf is one load, not a walk.
//!
//! In: the leaves' depths in order. Out: the leaf of any routing hash.
//!
//! The first array has one entry for each prefix as long as the deepest leaf, but at most for each
//! slot: 128 KiB, and 2 KiB for the 256 partitions of a small table. A slot that was split further
//! points into a second array with a run of entries of its own, so one hot slot costs its own run
//! and not a deeper first array.

use crate::hash::{RoutingHash, SLOT_BITS};
use crate::partition_map::Leaf;
use brickyard_types::{PartitionId, Slot};

/// Where to find a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The leaf's place among the leaves in order.
    pub(crate) leaf: u32,
    /// Its partition, so that the usual question costs one load.
    pub(crate) partition: PartitionId,
}

/// A slot whose leaves lie deeper has this in `leaf`, and in `partition` the place of its run.
const DEEPER: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    begin: u32,
    /// How far below the slot the run's deepest leaf is, in bits: the run has `2^bits` entries.
    bits: u8,
}

/// Finds leaves by routing hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lookup {
    /// A routing hash's index in `top` is its top bits: `hash >> shift >> 1`, since shifting by all
    /// 64 at once (a map of one leaf) is not defined.
    shift: u8,
    top: Vec<Entry>,
    runs: Vec<Run>,
    deep: Vec<Entry>,
}

impl Lookup {
    /// Flattens the trie whose leaves, in order, are `leaves`.
    pub(crate) fn new(leaves: &[Leaf]) -> Self {
        let depth = leaves.iter().map(|leaf| leaf.prefix.depth()).max();
        let top_depth = depth.unwrap_or_default().min(SLOT_BITS);
        let mut lookup = Self {
            shift: 63 - top_depth,
            top: Vec::with_capacity(1 << top_depth),
            runs: Vec::new(),
            deep: Vec::new(),
        };
        let mut rest = leaves;
        let mut index = 0;
        while let Some(first) = rest.first() {
            let entry = Entry {
                leaf: index,
                partition: first.partition,
            };
            let depth = first.prefix.depth();
            let taken = if depth <= top_depth {
                let copies = 1_usize << (top_depth - depth);
                lookup.top.extend(std::iter::repeat_n(entry, copies));
                1
            } else {
                let slot = first.prefix.first().slot();
                let below = rest
                    .iter()
                    .take_while(|leaf| leaf.prefix.first().slot() == slot)
                    .count();
                lookup.push_deep(index, &rest[..below]);
                below
            };
            rest = &rest[taken..];
            index += taken as u32;
        }
        debug_assert_eq!(
            lookup.top.len(),
            1 << top_depth,
            "the leaves were validated"
        );
        lookup
    }

    fn push_deep(&mut self, first_index: u32, leaves: &[Leaf]) {
        let deepest = leaves.iter().map(|leaf| leaf.prefix.depth()).max();
        let bits = deepest.unwrap_or_default() - SLOT_BITS;
        self.top.push(Entry {
            leaf: DEEPER,
            partition: PartitionId(self.runs.len() as u32),
        });
        self.runs.push(Run {
            begin: self.deep.len() as u32,
            bits,
        });
        for (leaf, index) in leaves.iter().zip(first_index..) {
            let entry = Entry {
                leaf: index,
                partition: leaf.partition,
            };
            let copies = 1_usize << (SLOT_BITS + bits - leaf.prefix.depth());
            self.deep.extend(std::iter::repeat_n(entry, copies));
        }
    }

    /// The leaf that holds `hash`.
    #[inline]
    pub(crate) fn find(&self, hash: RoutingHash) -> Entry {
        let entry = self.top[(hash.0 >> self.shift >> 1) as usize];
        if entry.leaf == DEEPER {
            self.find_deep(entry, hash)
        } else {
            entry
        }
    }

    /// The leaf that holds all of `slot`, or `None` if the slot was split.
    #[inline]
    pub(crate) fn find_slot(&self, slot: Slot) -> Option<Entry> {
        let hash = RoutingHash(u64::from(slot.0) << (64 - SLOT_BITS));
        let entry = self.top[(hash.0 >> self.shift >> 1) as usize];
        (entry.leaf != DEEPER).then_some(entry)
    }

    #[cold]
    fn find_deep(&self, entry: Entry, hash: RoutingHash) -> Entry {
        let run = self.runs[entry.partition.0 as usize];
        let below = hash.0 << SLOT_BITS >> (64 - run.bits);
        self.deep[run.begin as usize + below as usize]
    }
}
