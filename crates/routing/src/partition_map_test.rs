use super::*;
use proptest::prelude::*;

fn id(number: u32) -> PartitionId {
    PartitionId(number)
}

fn map(depths: &[(u8, u32)]) -> Result<PartitionMap, MapError> {
    PartitionMap::from_depths(depths.iter().map(|&(depth, number)| (depth, id(number))))
}

fn hash_of_slot(slot: u16) -> RoutingHash {
    RoutingHash(u64::from(slot) << 50)
}

#[test]
fn one_partition_holds_everything() {
    let map = PartitionMap::even(1, id(9)).unwrap();
    for hash in [0, 1, u64::MAX / 2, u64::MAX] {
        assert_eq!(map.partition(RoutingHash(hash)), id(9));
    }
    assert_eq!(map.partition_of_slot(Slot(16_383)), Some(id(9)));
}

#[test]
fn even_map_cuts_the_slots_into_equal_runs_with_ids_in_order() {
    let map = PartitionMap::even(256, id(100)).unwrap();
    assert_eq!(map.leaves().len(), 256);
    assert_eq!(map.partition_of_slot(Slot(0)), Some(id(100)));
    assert_eq!(map.partition_of_slot(Slot(63)), Some(id(100)));
    assert_eq!(map.partition_of_slot(Slot(64)), Some(id(101)));
    assert_eq!(map.partition_of_slot(Slot(16_383)), Some(id(355)));
    assert_eq!(map.index_of(id(355)), Some(255));
    assert_eq!(map.index_of(id(356)), None);
}

#[test]
fn count_that_is_no_power_of_two_is_refused_with_one_that_is() {
    let refused = PartitionMap::even(300, id(1)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "partitions: 300 is not a power of two between 1 and 16777216; use 512"
    );
    assert!(PartitionMap::even(0, id(1)).is_err());
    assert!(PartitionMap::even(1 << 31, id(1)).is_err());
    assert!(matches!(
        PartitionMap::even(256, id(u32::MAX - 254)),
        Err(MapError::IdsExhausted { .. })
    ));
}

#[test]
fn split_slot_is_found_by_the_whole_hash_alone() {
    // Slot 5 of depth 14 is cut in two, and its second half again.
    let even = PartitionMap::even(16_384, id(0)).unwrap();
    let (once, at) = even.with_split(id(5), [id(20_000), id(20_001)]).unwrap();
    assert_eq!(at, 5);
    let (map, _) = once
        .with_split(id(20_001), [id(20_002), id(20_003)])
        .unwrap();
    assert_eq!(map.partition_of_slot(Slot(4)), Some(id(4)));
    assert_eq!(map.partition_of_slot(Slot(5)), None);
    let quarter = |quarter: u64| RoutingHash(hash_of_slot(5).0 | quarter << 48);
    let found: Vec<u32> = (0..4).map(|at| map.partition(quarter(at)).0).collect();
    assert_eq!(found, [20_000, 20_000, 20_002, 20_003]);
    assert_eq!(map.partition(hash_of_slot(6)), id(6));
    assert_eq!(map.leaf_index(hash_of_slot(6)), 8);
}

#[test]
fn split_and_merge_of_the_halves_give_the_same_shape() {
    let even = PartitionMap::even(4, id(0)).unwrap();
    let (split, _) = even.with_split(id(1), [id(10), id(11)]).unwrap();
    let (merged, at) = split.with_merge([id(10), id(11)], id(12)).unwrap();
    assert_eq!(at, 1);
    assert_eq!(merged, map(&[(2, 0), (2, 12), (2, 2), (2, 3)]).unwrap());
}

#[test]
fn only_siblings_merge() {
    let map = map(&[(2, 0), (2, 1), (2, 2), (3, 3), (3, 4)]).unwrap();
    for pair in [[1, 2], [1, 0], [2, 3], [0, 0]] {
        let refused = map.with_merge(pair.map(id), id(9)).unwrap_err();
        assert!(matches!(refused, MapError::NotSiblings { .. }), "{pair:?}");
    }
    assert!(map.with_merge([id(3), id(4)], id(9)).is_ok());
    let unknown = map.with_merge([id(3), id(7)], id(9)).unwrap_err();
    assert_eq!(unknown, MapError::Unknown { partition: id(7) });
}

#[test]
fn leaf_at_the_deepest_level_is_not_split() {
    let mut map = PartitionMap::even(1, id(0)).unwrap();
    for next in 0..u32::from(PARTITION_DEPTH_MAX) {
        let last = map.leaves().last().unwrap().partition;
        let halves = [id(100 + 2 * next), id(101 + 2 * next)];
        map = map.with_split(last, halves).unwrap().0;
    }
    let last = map.leaves().last().unwrap();
    assert_eq!(last.prefix.depth(), PARTITION_DEPTH_MAX);
    assert_eq!(map.partition(RoutingHash(u64::MAX)), last.partition);
    let refused = map.with_split(last.partition, [id(1), id(2)]).unwrap_err();
    assert!(matches!(refused, MapError::TooDeep { .. }));
}

#[test]
fn split_with_an_id_in_use_is_refused() {
    let map = PartitionMap::even(2, id(0)).unwrap();
    let refused = map.with_split(id(0), [id(1), id(5)]).unwrap_err();
    assert_eq!(refused, MapError::Repeated { partition: id(1) });
}

#[test]
fn maps_from_outside_are_checked() {
    for (depths, refused) in [
        (&[][..], "Incomplete"),
        (&[(1, 0)], "Incomplete"),
        (&[(2, 0), (1, 1)], "Misplaced"),
        (&[(1, 0), (1, 1), (1, 2)], "Misplaced"),
        (&[(0, 0), (0, 1)], "Misplaced"),
        (&[(1, 0), (1, 0)], "Repeated"),
        (&[(25, 0)], "Depth"),
        (&[(255, 0)], "Depth"),
    ] {
        let error = map(depths).unwrap_err();
        assert!(
            format!("{error:?}").starts_with(refused),
            "{depths:?}: {error:?}"
        );
    }
}

proptest! {
    /// The flat arrays answer as a walk through the leaves does, whatever the trie looks like.
    #[test]
    fn lookup_equals_a_search_through_the_leaves(
        splits in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
        deep in any::<u64>(),
        hashes in prop::collection::vec(any::<u64>(), 20),
    ) {
        let mut map = PartitionMap::even(2, id(0)).unwrap();
        let mut next = 2;
        // Some splits follow one hash down, so that deep leaves are met at all.
        for (step, chosen) in splits.iter().enumerate() {
            let leaf = if step % 2 == 0 {
                map.partition(RoutingHash(deep))
            } else {
                map.leaves()[chosen.index(map.leaves().len())].partition
            };
            if let Ok((split, _)) = map.with_split(leaf, [id(next), id(next + 1)]) {
                map = split;
                next += 2;
            }
        }
        let near = map.leaves().iter().flat_map(|leaf| [leaf.prefix.first(), leaf.prefix.last()]);
        for hash in near.chain(hashes.into_iter().map(RoutingHash)) {
            let index = map.leaves().iter().position(|leaf| leaf.prefix.contains(hash)).unwrap();
            let leaf = map.leaves()[index];
            prop_assert_eq!(map.leaf_index(hash), index);
            prop_assert_eq!(map.partition(hash), leaf.partition);
            let slot_answer = leaf.prefix.is_whole_slots().then_some(leaf.partition);
            prop_assert_eq!(map.partition_of_slot(hash.slot()), slot_answer);
        }
        let depths = map.leaves().iter().map(|leaf| (leaf.prefix.depth(), leaf.partition));
        prop_assert_eq!(PartitionMap::from_depths(depths).unwrap(), map.clone());
    }

    #[test]
    fn anything_from_outside_is_a_whole_trie_or_refused(
        depths in prop::collection::vec((0_u8..6, any::<u32>()), 0..40)
    ) {
        if let Ok(map) = map(&depths) {
            let mut next = 0_u128;
            for leaf in map.leaves() {
                prop_assert_eq!(u128::from(leaf.prefix.first().0), next);
                next = u128::from(leaf.prefix.last().0) + 1;
            }
            prop_assert_eq!(next, 1 << 64);
        }
    }
}
