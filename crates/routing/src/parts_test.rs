use super::*;
use crate::{
    group::{Member, NodeId, Replica},
    placement::{Candidate, place},
};
use brickyard_types::{BrickId, Incarnation};
use proptest::prelude::*;

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

fn table_map(partitions: u32, bricks: u32) -> TableMap {
    let candidates: Vec<Candidate> = (0..bricks)
        .map(|brick| Candidate {
            replica: replica(brick),
            weight: 1,
        })
        .collect();
    TableMap::new(
        TableId(1),
        KeyHasher::new(Hasher::Slot, 7),
        PartitionMap::even(partitions, PartitionId(1)).unwrap(),
        place(partitions, &candidates, 1),
    )
    .unwrap()
}

#[test]
fn new_table_is_one_run_of_leaves_and_one_of_groups_a_brick() {
    let map = table_map(16_384, 3);
    let parts = TableMapParts::from(&map);
    assert_eq!(parts.leaves.len(), 1);
    assert_eq!(parts.groups.len(), 3);
    assert!(postcard::to_allocvec(&map).unwrap().len() < 50);
}

#[test]
fn parts_from_outside_are_checked() {
    let good = TableMapParts::from(table_map(2, 2));
    let refused = |change: fn(&mut TableMapParts)| {
        let mut parts = good.clone();
        change(&mut parts);
        TableMap::try_from(parts).unwrap_err()
    };
    assert!(matches!(
        refused(|parts| parts.groups.truncate(1)),
        MapError::GroupCount {
            leaves: 2,
            groups: 1
        }
    ));
    assert!(matches!(
        refused(|parts| parts.groups[0].count = u32::MAX),
        MapError::GroupCount { leaves: 2, .. }
    ));
    assert!(matches!(
        refused(|parts| parts.groups[1].group.learners.push(replica(1))),
        MapError::RepeatedMember { .. }
    ));
    assert!(matches!(
        refused(|parts| parts.leaves[0].count = 1),
        MapError::Incomplete { .. }
    ));
    assert!(matches!(
        refused(|parts| parts.leaves[0].count = 1_000_000_000),
        MapError::Misplaced { .. }
    ));
    assert!(matches!(
        refused(|parts| parts.leaves[0].first = PartitionId(u32::MAX)),
        MapError::IdsExhausted { .. }
    ));
}

#[test]
fn stored_form_is_checked_as_it_is_read() {
    let mut parts = TableMapParts::from(table_map(256, 2));
    parts.leaves[0].count = 255;
    let bytes = postcard::to_allocvec(&parts).unwrap();
    assert!(postcard::from_bytes::<TableMap>(&bytes).is_err());
}

proptest! {
    #[test]
    fn stored_form_comes_back_as_it_was(
        splits in prop::collection::vec(any::<prop::sample::Index>(), 0..30)
    ) {
        let mut map = table_map(16, 3);
        for (chosen, next) in splits.iter().zip((100..).step_by(2)) {
            let leaves = map.partitions().leaves();
            let partition = leaves[chosen.index(leaves.len())].partition;
            map.split(partition, [PartitionId(next), PartitionId(next + 1)]).unwrap();
        }
        let bytes = postcard::to_allocvec(&map).unwrap();
        prop_assert_eq!(postcard::from_bytes::<TableMap>(&bytes).unwrap(), map);
    }
}
