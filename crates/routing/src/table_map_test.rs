use super::*;
use crate::hash::Hasher;
use crate::{
    group::{NodeId, Replica},
    placement::{Candidate, place},
};
use brickyard_types::{BrickId, Incarnation};

fn member(brick: u32) -> Member {
    Member {
        node: NodeId(1),
        brick: BrickId(brick),
    }
}

fn replica(brick: u32) -> Replica {
    Replica {
        member: member(brick),
        incarnation: Incarnation(1),
    }
}

fn bricks(count: u32) -> Vec<Candidate> {
    (0..count)
        .map(|brick| Candidate {
            replica: replica(brick),
            weight: 1,
        })
        .collect()
}

fn table_map(partitions: u32, brick_count: u32) -> TableMap {
    TableMap::new(
        TableId(1),
        KeyHasher::new(Hasher::Slot, 7),
        PartitionMap::even(partitions, PartitionId(0)).unwrap(),
        place(partitions, &bricks(brick_count), 1),
    )
    .unwrap()
}

fn range(begin: u16, end: u16) -> SlotRange {
    SlotRange { begin, end }
}

#[test]
fn locates_a_key_by_slot_partition_and_hash() {
    let map = table_map(256, 2);
    let location = map.locate(b"somekey");
    assert_eq!(location.slot, Slot(11_058));
    assert_eq!(location.partition, PartitionId(11_058 / 64));
    assert_eq!(location.leaf, 11_058 / 64);
    assert_eq!(location.key_hash, map.hasher().key_hash(b"somekey"));
    assert_eq!(map.owner(location.slot), member(1));
}

#[test]
fn each_brick_has_one_run_of_slots() {
    let map = table_map(256, 3);
    // 85.3 partitions each: cut at 85 and 171.
    assert_eq!(map.slot_ranges(member(0)), [range(0, 85 * 64)]);
    assert_eq!(map.slot_ranges(member(1)), [range(85 * 64, 171 * 64)]);
    assert_eq!(map.slot_ranges(member(2)), [range(171 * 64, 16_384)]);
    assert_eq!(map.slot_ranges(member(3)), []);
    assert_eq!(map.slot_runs().len(), 3);
    assert_eq!(map.partitions_of(member(0)).count(), 85);
}

#[test]
fn split_keeps_the_group_and_makes_a_new_version() {
    let mut map = table_map(4, 2);
    map.split(PartitionId(1), [PartitionId(10), PartitionId(11)])
        .unwrap();
    assert_eq!(map.version(), MapVersion(2));
    assert_eq!(map.groups().len(), 5);
    assert_eq!(map.group(PartitionId(11)).unwrap().primary, replica(0));
    assert_eq!(map.group(PartitionId(1)), None);
    // What clients see has not changed.
    assert_eq!(map.slot_ranges(member(0)), [range(0, 8_192)]);
    map.merge([PartitionId(10), PartitionId(11)], PartitionId(12))
        .unwrap();
    assert_eq!(map.version(), MapVersion(3));
    assert_eq!(map.groups().len(), 4);
}

#[test]
fn partitions_on_different_bricks_do_not_merge() {
    let mut map = table_map(2, 2);
    let before = map.clone();
    let refused = map.merge([PartitionId(0), PartitionId(1)], PartitionId(9));
    assert!(matches!(refused, Err(MapError::DifferentGroups { .. })));
    assert_eq!(map, before);
}

#[test]
fn split_slot_belongs_to_the_brick_of_its_first_part() {
    // Slot 0 is cut in three; its last part and everything else are on brick 1.
    let mut depths = vec![(16, 0), (16, 1), (15, 2)];
    depths.extend((1..=14).rev().map(|depth| (depth, 100 + u32::from(depth))));
    let depths = depths
        .into_iter()
        .map(|(depth, id)| (depth, PartitionId(id)));
    let mut groups = vec![Group::first(replica(0), vec![]); 2];
    groups.resize(17, Group::first(replica(1), vec![]));
    let map = TableMap::new(
        TableId(1),
        KeyHasher::new(Hasher::Slot, 7),
        PartitionMap::from_depths(depths).unwrap(),
        groups,
    )
    .unwrap();
    assert_eq!(map.slot_ranges(member(0)), [range(0, 1)]);
    assert_eq!(map.slot_ranges(member(1)), [range(1, 16_384)]);
    assert_eq!(map.owner(Slot(0)), member(0));
    // The slot's keys are found by the rest of their routing hash.
    let mut found: Vec<u32> = (0..200_000)
        .map(|number| format!("key:{number}"))
        .map(|key| map.locate(key.as_bytes()))
        .filter(|location| location.slot == Slot(0))
        .map(|location| location.partition.0)
        .collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, [0, 1, 2]);
}

#[test]
fn slot_runs_cover_every_slot_once() {
    for (partitions, brick_count) in [(1, 1), (256, 5), (16_384, 81)] {
        let map = table_map(partitions, brick_count);
        let mut next = 0;
        for (range, group) in map.slot_runs() {
            assert_eq!(range.begin, next);
            assert!(
                (range.begin..range.end).all(|slot| map.owner(Slot(slot)) == group.primary.member)
            );
            next = range.end;
        }
        assert_eq!(next, Slot::COUNT);
    }
}
