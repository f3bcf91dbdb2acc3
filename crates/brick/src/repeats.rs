//! Deletions that were met on the way through a log, which can have many copies of each.
//!
//! In:  deletions, as the log is read. Out: whether one says nothing that one before it has not said.
//!
//! No table has them, so nothing else tells that there is one already; and whoever passes on what it reads, to a learner or to
//! another segment, would pass on all copies: with each catch-up there and back there would be more.
//!
//! Invariants:
//! - What is not known here is passed on.
//! - At most [`DELETIONS_MAX`] are remembered, and those that came first stay. Copies come in the order of their originals: if
//!   the last deletion pushed out the first, each one would be forgotten before its copy comes.

use brickyard_table::{KeyHash, key_hash};
use brickyard_types::{Op, PartitionId, SegmentId};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// So many are remembered. A tree's nodes are half full, with some 70 bytes for each: 40 MiB at most, and only while a log is
/// read that has so many.
const DELETIONS_MAX: usize = 512 << 10;

/// A deletion as it was met last.
#[derive(Debug)]
struct Met {
    /// An op that was cut is used again, mostly for another key.
    key: KeyHash,
    /// It is needed while there are segments up to this one.
    origin: SegmentId,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    last: BTreeMap<(PartitionId, Op), Met>,
}

impl Repeats {
    /// Whether this deletion, which older segments up to `origin` need, was met before and is needed no longer than that.
    pub(crate) fn has(
        &mut self,
        partition: PartitionId,
        op: Op,
        key: &[u8],
        origin: SegmentId,
    ) -> bool {
        let is_full = self.last.len() >= DELETIONS_MAX;
        let key = key_hash(key, 0);
        let met = Met { key, origin };
        match self.last.entry((partition, op)) {
            Entry::Occupied(mut last) => {
                let is_met = last.get().key == key && last.get().origin >= origin;
                if !is_met {
                    last.insert(met);
                }
                is_met
            }
            Entry::Vacant(first) => {
                if !is_full {
                    first.insert(met);
                }
                false
            }
        }
    }
}

#[cfg(test)]
mod repeats_test {
    use super::*;

    #[test]
    fn deletion_is_met_once_unless_it_is_of_another_key_or_needed_for_longer() {
        let mut repeats = Repeats::default();
        let mut has = |partition, op, key: &[u8], origin| {
            repeats.has(PartitionId(partition), Op(op), key, SegmentId(origin))
        };
        assert!(!has(1, 5, b"a", 3));
        assert!(has(1, 5, b"a", 3) && has(1, 5, b"a", 2));
        assert!(!has(2, 5, b"a", 3) && !has(1, 6, b"a", 3));
        assert!(!has(1, 5, b"a", 4), "needed for longer");
        assert!(has(1, 5, b"a", 4));
        assert!(!has(1, 5, b"b", 4), "the op was cut and used again");
        assert!(!has(1, 5, b"a", 4), "the last one is remembered");
    }

    #[test]
    fn memory_is_bounded_and_what_it_has_is_kept() {
        let mut repeats = Repeats::default();
        let mut met = 0;
        for _ in 0..2 {
            for op in 0..DELETIONS_MAX as u64 + 100 {
                let is_met = repeats.has(PartitionId(1), Op(op), b"k", SegmentId(1));
                met += usize::from(is_met);
            }
            assert_eq!(repeats.last.len(), DELETIONS_MAX);
        }
        assert_eq!(met, DELETIONS_MAX, "of the second time");
    }
}
