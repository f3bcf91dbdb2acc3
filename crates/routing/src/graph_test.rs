use super::*;
use crate::graph::lookup_trial::trie_of;
use brickyard_types::PartitionId;
use proptest::prelude::*;

/// A trie in which leaves were split here and there, some of them often.
fn trie(splits: &[u64]) -> PartitionMap {
    let mut leaves = vec![Prefix::ROOT];
    for hash in splits {
        let at = leaves.iter().position(|it| it.contains(RoutingHash(*hash)));
        let at = at.expect("leaves cover all");
        if let Some(halves) = leaves[at].children() {
            leaves.splice(at..=at, halves);
        }
    }
    let depths = leaves.iter().map(|it| it.depth());
    PartitionMap::from_depths(depths.zip((1..).map(PartitionId))).expect("a trie")
}

/// Hashes of which some are close together, so that leaves become deep.
fn hashes(count: usize) -> impl Strategy<Value = Vec<u64>> {
    let close = (0_u64..64).prop_map(|it| 0x9ABC_0000_0000_0000 | (it << 40));
    proptest::collection::vec(prop_oneof![any::<u64>(), close], 0..count)
}

proptest! {
    #[test]
    fn every_hop_is_nearer_and_the_last_one_is_there(
        splits in hashes(200), from in any::<u64>(), target in any::<u64>(),
    ) {
        let (map, target) = (trie(&splits), RoutingHash(target));
        for graph in Graph::ALL {
            let mut leaf = map.leaf_index(RoutingHash(from));
            let mut hops = 0;
            while let Some(next) = graph.next(&map, leaf, target) {
                let [was, is] = [leaf, next].map(|it| graph.distance(map.leaves()[it].prefix, target));
                prop_assert!(is < was, "{graph}: from {was} to {is}");
                prop_assert!(graph.edges(&map, leaf).contains(&next), "{graph}: no edge of {leaf} leads to {next}");
                leaf = next;
                hops += 1;
            }
            prop_assert!(map.leaves()[leaf].prefix.contains(target));
            prop_assert!(hops <= HOPS_MAX, "{hops} hops of {graph}");
        }
    }

    #[test]
    fn distance_is_none_exactly_where_the_hash_is(splits in hashes(60), target in any::<u64>()) {
        let (map, target) = (trie(&splits), RoutingHash(target));
        for graph in Graph::ALL {
            for leaf in map.leaves() {
                let is_there = graph.distance(leaf.prefix, target) == 0;
                prop_assert_eq!(is_there, leaf.prefix.contains(target), "{}", graph);
            }
        }
    }

    /// Bricks whose maps are of different versions pass a lookup on, each by its own, and whoever looks up goes only where it is
    /// nearer: it ends. If the map that it ends by is the same everywhere, it ends at the leaf.
    #[test]
    fn walks_over_a_stale_mix_of_maps_end(
        versions in proptest::collection::vec(hashes(80), 1..5), from in any::<u64>(), target in any::<u64>(), dice in any::<u64>(),
    ) {
        let maps: Vec<PartitionMap> = versions.iter().map(|it| trie(it)).collect();
        let target = RoutingHash(target);
        for graph in Graph::ALL {
            let (mut dice, mut hops) = (dice, 0);
            let mut at = Prefix::of(RoutingHash(from), 24);
            let mut way = u64::MAX;
            let is_there = loop {
                // Whoever holds what was told of, or what there is of it now.
                let map = &maps[dice as usize % maps.len()];
                dice = dice.rotate_left(7) ^ 0x5DEE_CE66;
                let leaf = map.leaf_index(at.first());
                let Some(next) = graph.next(map, leaf, target) else {
                    break true;
                };
                let next = map.leaves()[next].prefix;
                if graph.distance(next, target) >= way {
                    break false;
                }
                way = graph.distance(next, target);
                at = next;
                hops += 1;
                let leaves: usize = maps.iter().map(|it| it.leaves().len()).sum();
                prop_assert!(hops <= leaves, "{hops} hops over {leaves} leaves");
            };
            prop_assert!(is_there || maps.len() > 1);
        }
    }
}

#[test]
fn edges_of_equal_leaves_are_those_of_the_textbooks() {
    let map = trie_of(8).expect("a trie");
    assert_eq!(Graph::Chord.edges(&map, 3), [4, 5, 7]);
    assert_eq!(Graph::Chord.edges(&map, 7), [0, 1, 3]);
    // 011 leads to 110 and 111; 100 to 000 and 001.
    assert_eq!(Graph::Bruijn.edges(&map, 3), [6, 7]);
    assert_eq!(Graph::Bruijn.edges(&map, 4), [0, 1]);
    let one = trie_of(1).expect("a trie");
    assert_eq!(Graph::Chord.edges(&one, 0), [0; 0]);
    assert_eq!(Graph::Bruijn.edges(&one, 0), [0]);
}

#[test]
fn a_graph_has_a_name() {
    for graph in Graph::ALL {
        assert_eq!(graph.name().parse(), Ok(graph));
    }
    assert_eq!("CHORD".parse(), Ok(Graph::Chord));
    assert!(
        "ring"
            .parse::<Graph>()
            .is_err_and(|it| it.contains("use chord or debruijn"))
    );
}
