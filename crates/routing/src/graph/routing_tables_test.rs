use super::*;
use crate::graph::lookup_trial::trie_of;
use crate::group::{Group, NodeId, Replica};
use crate::hash::{Hasher, KeyHasher};
use brickyard_types::{BrickId, Incarnation, TableId};
use proptest::prelude::*;

/// The nearest of what the tables of all held leaves name, and of these themselves, looked for one by one.
fn distance_by_all(
    graph: Graph,
    map: &PartitionMap,
    tables: &RoutingTables,
    target: RoutingHash,
) -> u64 {
    let held = (0..map.leaves().len()).filter(|leaf| tables.holds(*leaf));
    let known = held.flat_map(|leaf| {
        let next = graph.next(map, leaf, target);
        std::iter::once(leaf).chain(next)
    });
    let distances = known.map(|leaf| graph.distance(map.leaves()[leaf].prefix, target));
    distances.min().expect("a leaf is held")
}

proptest! {
    #[test]
    fn all_tables_at_once_answer_as_the_best_of_them(
        leaves in 1_usize..300, held in proptest::collection::vec(any::<proptest::sample::Index>(), 1..40), target in any::<u64>(),
    ) {
        let map = trie_of(leaves).expect("a trie");
        let target = RoutingHash(target);
        let tables = RoutingTables::of_leaves(held.iter().map(|it| it.index(leaves)));
        for graph in Graph::ALL {
            let told = tables.next_hop(graph, &map, target, None);
            let Some(NextHop::Here(leaf) | NextHop::There(leaf)) = told else {
                panic!("a leaf is held: {told:?}");
            };
            let distance = |leaf: usize| graph.distance(map.leaves()[leaf].prefix, target);
            let best = distance_by_all(graph, &map, &tables, target);
            prop_assert_eq!(distance(leaf), best, "{}", graph);
            prop_assert_eq!(matches!(told, Some(NextHop::Here(_))), tables.holds(map.leaf_index(target)));
            if let Some(NextHop::There(next)) = told {
                let held = (0..leaves).filter(|it| tables.holds(*it)).map(distance);
                prop_assert!(held.min().expect("one") > distance(next), "{}", graph);
            }
        }
    }

    #[test]
    fn one_table_knows_its_own_edges_alone(leaves in 2_usize..300, by in any::<proptest::sample::Index>(), target in any::<u64>()) {
        let map = trie_of(leaves).expect("a trie");
        let (by, target) = (by.index(leaves), RoutingHash(target));
        let tables = RoutingTables::of_leaves(0..leaves);
        for graph in Graph::ALL {
            let told = tables.next_hop(graph, &map, target, Some(by));
            let wanted = match map.leaf_index(target) == by {
                true => NextHop::Here(by),
                false => NextHop::There(graph.next(&map, by, target).expect("an edge")),
            };
            prop_assert_eq!(told, Some(wanted));
        }
    }
}

#[test]
fn a_leaf_that_is_not_held_any_more_is_answered_for_by_those_that_are() {
    let map = trie_of(16).expect("a trie");
    let tables = RoutingTables::of_leaves([3, 4]);
    let target = map.leaves()[9].prefix.first();
    for graph in Graph::ALL {
        let wanted = tables.next_hop(graph, &map, target, None);
        assert_eq!(tables.next_hop(graph, &map, target, Some(7)), wanted);
    }
    let none = RoutingTables::default();
    assert!(none.is_empty() && none.next_hop(Graph::Chord, &map, target, None).is_none());
}

#[test]
fn who_holds_a_leaf_is_read_from_the_groups() {
    let replica = |node| Replica {
        member: Member {
            node: NodeId(node),
            brick: BrickId(0),
        },
        incarnation: Incarnation(1),
    };
    let groups = (0..4).map(|leaf| Group {
        learners: vec![replica(leaf + 20)],
        ..Group::first(replica(leaf), vec![replica(leaf + 10)])
    });
    let hasher = KeyHasher::new(Hasher::Slot, 7);
    let partitions = trie_of(4).expect("a trie");
    let map = TableMap::new(TableId(1), hasher, partitions, groups.collect()).expect("a map");
    for node in [2, 12, 22] {
        let tables = RoutingTables::of(&map, |member| member.node == NodeId(node));
        assert_eq!(tables, RoutingTables::of_leaves([2]), "node {node}");
    }
    let all = RoutingTables::of(&map, |member| member.node < NodeId(10));
    assert_eq!(all.len(), 4);
}
