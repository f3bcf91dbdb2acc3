use super::*;
use crate::hash::{Hasher, KeyHasher};
use brickyard_types::PartitionId;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn even(count: u32) -> PartitionMap {
    PartitionMap::even(count, PartitionId(0)).unwrap()
}

#[test]
fn zero_is_the_start_and_no_other_cursor_is_zero() {
    assert_eq!(Cursor::decode(0), Cursor::START);
    assert_eq!(Cursor::START.encode(), 0);
    let map = even(2);
    assert_ne!(Cursor::at(map.leaves()[0].prefix).encode(), 0);
    assert_eq!(
        map.resume(Cursor::START),
        ScanPoint {
            leaf: 0,
            progress: 0
        }
    );
}

#[test]
fn cursor_survives_a_double() {
    let deepest = Prefix::of(RoutingHash(u64::MAX), PARTITION_DEPTH_MAX);
    let highest = Cursor::within(deepest, u64::MAX).encode();
    assert!(highest < 1 << 53);
    assert_eq!(highest as f64 as u64, highest);
}

#[test]
fn same_leaf_goes_on_where_it_stopped() {
    let map = even(256);
    let cursor = map.advance(7, Some(0x1234_5678_9abc_def0)).unwrap();
    let point = map.resume(Cursor::decode(cursor.encode()));
    // 40 bits of hash are left beside a prefix of 8.
    assert_eq!(
        point,
        ScanPoint {
            leaf: 7,
            progress: 0x1234_5678_9a00_0000
        }
    );
    assert_eq!(point.progress, cursor.progress());
}

#[test]
fn finished_leaf_leads_to_the_next_and_the_last_to_the_end() {
    let map = even(4);
    let cursor = map.advance(2, None).unwrap();
    assert_eq!(
        map.resume(cursor),
        ScanPoint {
            leaf: 3,
            progress: 0
        }
    );
    assert_eq!(map.advance(3, None), None);
}

#[test]
fn split_leaf_goes_on_in_its_first_half_and_begins_the_second_anew() {
    let map = even(4);
    let cursor = map.advance(1, Some(1 << 60)).unwrap();
    let halves = [PartitionId(10), PartitionId(11)];
    let (split, _) = map.with_split(PartitionId(1), halves).unwrap();
    let point = split.resume(cursor);
    assert_eq!(split.leaves()[point.leaf].partition, PartitionId(10));
    assert_eq!(point.progress, 1 << 60);
    let second = split.resume(split.advance(point.leaf, None).unwrap());
    assert_eq!(split.leaves()[second.leaf].partition, PartitionId(11));
    assert_eq!(second.progress, 0);
}

#[test]
fn merged_leaf_begins_anew() {
    let map = even(4);
    let cursor = map.advance(1, Some(1 << 60)).unwrap();
    let siblings = [PartitionId(0), PartitionId(1)];
    let (merged, _) = map.with_merge(siblings, PartitionId(10)).unwrap();
    assert_eq!(
        merged.resume(cursor),
        ScanPoint {
            leaf: 0,
            progress: 0
        }
    );
}

#[test]
fn numbers_that_were_never_handed_out_begin_again() {
    let too_deep = u64::from(PARTITION_DEPTH_MAX) + 2;
    for number in [1 << 53, u64::MAX, 1 << 5, too_deep, 31] {
        assert_eq!(Cursor::decode(number), Cursor::START, "{number}");
    }
}

/// Keys by (routing hash, key hash), and the partitions that hold them.
struct Model {
    map: PartitionMap,
    keys: BTreeSet<(u64, u64)>,
    next_id: u32,
}

#[derive(Clone, Debug)]
enum Change {
    Split(prop::sample::Index),
    Merge(prop::sample::Index),
    Nothing,
}

impl Model {
    fn apply(&mut self, change: &Change) {
        let leaves = self.map.leaves();
        let new = [PartitionId(self.next_id), PartitionId(self.next_id + 1)];
        let changed = match change {
            Change::Split(at) => {
                let leaf = leaves[at.index(leaves.len())];
                self.map.with_split(leaf.partition, new)
            }
            Change::Merge(at) => {
                let at = at.index(leaves.len());
                let Some(next) = leaves.get(at + 1) else {
                    return;
                };
                self.map
                    .with_merge([leaves[at].partition, next.partition], new[0])
            }
            Change::Nothing => return,
        };
        if let Ok((map, _)) = changed {
            self.map = map;
            self.next_id += 2;
        }
    }

    /// One SCAN call as a brick answers it: `count` keys of one partition, and the next cursor.
    fn step(&self, number: u64, count: usize) -> (Vec<(u64, u64)>, u64) {
        let point = self.map.resume(Cursor::decode(number));
        let prefix = self.map.leaves()[point.leaf].prefix;
        let mut left: Vec<(u64, u64)> = self
            .keys
            .iter()
            .copied()
            .filter(|&(routing, key)| {
                prefix.contains(RoutingHash(routing)) && key >= point.progress
            })
            .collect();
        left.sort_unstable_by_key(|&(_, key)| key);
        let mut end = count.min(left.len());
        let cursor = loop {
            let progress = left.get(end).map(|&(_, key)| key);
            match self.map.advance(point.leaf, progress) {
                // Nothing was gained after rounding: take more.
                Some(cursor) if progress.is_some() && cursor.progress() == point.progress => {
                    end += 1
                }
                cursor => break cursor,
            }
        };
        left.truncate(end);
        (left, cursor.map_or(0, Cursor::encode))
    }
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        any::<prop::sample::Index>().prop_map(Change::Split),
        any::<prop::sample::Index>().prop_map(Change::Merge),
        Just(Change::Nothing),
        Just(Change::Nothing),
    ]
}

proptest! {
    #[test]
    fn cursors_come_back_as_they_were(hash: u64, depth in 0..=PARTITION_DEPTH_MAX, progress: u64) {
        let cursor = Cursor::within(Prefix::of(RoutingHash(hash), depth), progress);
        prop_assert_eq!(Cursor::decode(cursor.encode()), cursor);
        prop_assert!(cursor.encode() < 1 << 53);
    }

    #[test]
    fn any_number_is_a_cursor_within_the_map(number: u64) {
        let map = even(16);
        prop_assert!(map.resume(Cursor::decode(number)).leaf < 16);
    }

    /// The promise of SCAN: partitions split and merge between the steps, and every key is returned.
    #[test]
    fn every_key_is_returned_whatever_splits_and_merges(
        key_count in 1_usize..200,
        count in 1_usize..20,
        depth in 0_u8..6,
        changes in prop::collection::vec(change(), 0..60),
    ) {
        let hasher = KeyHasher::new(Hasher::Slot, 3);
        let keys = (0..key_count).map(|number| format!("key:{number}").into_bytes());
        let mut model = Model {
            map: even(1 << depth),
            keys: keys.map(|key| (hasher.routing_hash(&key).0, hasher.key_hash(&key))).collect(),
            next_id: 1_000,
        };
        let mut seen = BTreeSet::new();
        let mut changes = changes.into_iter();
        let mut number = 0;
        let mut steps = 0;
        loop {
            let (found, next) = model.step(number, count);
            seen.extend(found);
            if next == 0 {
                break;
            }
            number = next;
            model.apply(&changes.next().unwrap_or(Change::Nothing));
            steps += 1;
            prop_assert!(steps < 10_000, "the scan does not end");
        }
        prop_assert_eq!(seen, model.keys);
    }
}
