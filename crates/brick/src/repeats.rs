//! Deletions that were met a moment ago, of which a log can have many copies.
//!
//! In:  deletions, as the log is read. Out: whether one says nothing that one before it has not said.
//!
//! No table has them, so nothing else tells that there is one already; and whoever passes on what it reads, to a learner or to
//! another segment, would pass on all copies: with each catch-up there and back there would be more.
//!
//! Invariant: what is not known here is passed on. It is bounded, by [`DELETIONS_MAX`] and [`KEY_BYTES_MAX`].

use brickyard_types::{Op, PartitionId, SegmentId};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// So many are remembered: about 2 MiB, with short keys.
const DELETIONS_MAX: usize = 16 << 10;

/// Bytes of keys that are remembered; one key may be longer.
const KEY_BYTES_MAX: usize = 1 << 20;

/// A deletion as it was met last.
#[derive(Debug)]
struct Met {
    /// An op that was cut is used again.
    key: Box<[u8]>,
    /// It is needed while there are segments up to this one.
    origin: SegmentId,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    last: BTreeMap<(PartitionId, Op), Met>,
    /// Of the keys, those that others have replaced among them.
    key_bytes: usize,
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
        if self.last.len() == DELETIONS_MAX || self.key_bytes > KEY_BYTES_MAX {
            *self = Self::default();
        }
        let Self { last, key_bytes } = self;
        let mut met = || {
            *key_bytes += key.len();
            Met {
                key: key.into(),
                origin,
            }
        };
        match last.entry((partition, op)) {
            Entry::Occupied(mut last) => {
                let is_met = *last.get().key == *key && last.get().origin >= origin;
                if !is_met {
                    last.insert(met());
                }
                is_met
            }
            Entry::Vacant(first) => {
                first.insert(met());
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
    fn memory_is_bounded() {
        let mut repeats = Repeats::default();
        for op in 0..2 * DELETIONS_MAX as u64 {
            assert!(!repeats.has(PartitionId(1), Op(op), b"k", SegmentId(1)));
            assert!(repeats.last.len() <= DELETIONS_MAX);
        }
        let key = vec![b'k'; 60_000];
        for op in 0..100 {
            assert!(!repeats.has(PartitionId(2), Op(op), &key, SegmentId(1)));
            let held: usize = repeats.last.values().map(|it| it.key.len()).sum();
            assert!(held <= KEY_BYTES_MAX + key.len());
        }
    }
}
