use super::*;
use crate::group::NodeId;
use crate::partition_map::PartitionMap;
use brickyard_types::{BrickId, PartitionId};
use proptest::prelude::*;
use std::collections::BTreeSet;

const ALL: [Placement; 3] = [
    Placement::Even,
    Placement::Ring { points: 1 },
    Placement::Ring { points: 50 },
];

/// So many nodes of so many bricks.
fn sites(nodes: &[(u32, u32)]) -> Vec<Site<'static>> {
    let nodes = (0..).zip(nodes);
    nodes
        .flat_map(|(node, &(bricks, weight))| {
            (0..bricks).map(move |brick| Site {
                member: Member {
                    node: NodeId(node),
                    brick: BrickId(brick),
                },
                weight,
                zone: [None, Some("a"), Some("b")][node as usize % 3],
            })
        })
        .collect()
}

/// What a placement may ask for is done: a member comes, another one goes.
fn carried_out(target: &[Vec<Member>], present: &[Vec<Member>]) -> Vec<Vec<Member>> {
    for (target, present) in target.iter().zip(present) {
        for come in target.iter().filter(|it| !present.contains(it)) {
            let is_there = |it: &Member| it.node == come.node;
            assert!(!present.iter().any(is_there), "{present:?} {target:?}");
        }
    }
    target.to_vec()
}

proptest! {
    /// What `control` relies on, from any placement to any other, on nodes that come, go and get other weights.
    #[test]
    fn targets_are_apart_complete_reachable_and_come_to_rest(
        nodes in prop::collection::vec((1_u32..4, 0_u32..3, 0_u32..3), 1..6),
        replicas in 1_u8..4,
        from in 0_usize..3,
        to in 0_usize..3,
    ) {
        let has_weight = |nodes: &[(u32, u32)]| nodes.iter().any(|(_, weight)| *weight > 0);
        // Bricks are a node's own for ever; without a weight it is as good as not there.
        let before: Vec<_> = nodes.iter().map(|&(bricks, weight, _)| (bricks, weight)).collect();
        let after: Vec<_> = nodes.iter().map(|&(bricks, _, weight)| (bricks, weight)).collect();
        prop_assume!(has_weight(&before) && has_weight(&after));
        let map = PartitionMap::even(32, PartitionId(1)).unwrap();
        let node_count = |sites: &[Site<'_>]| {
            let used = sites.iter().filter(|site| site.weight > 0);
            used.map(|site| site.member.node).collect::<BTreeSet<_>>().len()
        };
        let check = |target: &[Vec<Member>], sites: &[Site<'_>]| {
            for members in target {
                let apart: BTreeSet<NodeId> = members.iter().map(|it| it.node).collect();
                assert_eq!(apart.len(), members.len());
                assert_eq!(members.len(), usize::from(replicas).min(node_count(sites)));
                for member in members {
                    let site = sites.iter().find(|site| site.member == *member);
                    assert!(site.is_some_and(|site| site.weight > 0), "{member:?}");
                }
            }
        };
        let first = sites(&before);
        let nothing = vec![Vec::new(); 32];
        let few = replicas.min(node_count(&first) as u8);
        let begun = strategy(ALL[from]).begin(&Situation {
            sites: &first,
            replicas: few,
            leaves: map.leaves(),
            present: &nothing,
        });
        check(&begun, &first);
        let second = sites(&after);
        let strategy = strategy(ALL[to]);
        let mut present = begun;
        for round in 0.. {
            let situation = Situation {
                sites: &second,
                replicas,
                leaves: map.leaves(),
                present: &present,
            };
            let target = strategy.target(&situation);
            check(&target, &second);
            prop_assert_eq!(&target, &strategy.target(&situation));
            if target == present {
                break;
            }
            // Between bricks of one node only what can go round by another one moves in a round.
            prop_assert!(round < 60, "it does not come to rest: {:?} {:?}", present, target);
            // In the middle of its move each partition has the target that it had before.
            if round == 0 && ALL[to] != Placement::Even {
                let both = present.iter().zip(&target).map(|(present, target)| {
                    let come = target.iter().filter(|it| !present.contains(it)).take(1);
                    present.iter().chain(come).copied().collect()
                });
                let both: Vec<Vec<Member>> = both.collect();
                prop_assert_eq!(&target, &strategy.target(&Situation { present: &both, ..situation }));
            }
            present = carried_out(&target, &present);
        }
    }
}
