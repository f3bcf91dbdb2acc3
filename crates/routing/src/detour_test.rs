use super::*;
use brickyard_types::BrickId;

fn at(node: u32, brick: u32) -> Member {
    Member {
        node: NodeId(node),
        brick: BrickId(brick),
    }
}

/// Two bricks on each of so many nodes.
fn sites(nodes: u32) -> Vec<Site<'static>> {
    let members = (0..nodes).flat_map(|node| [at(node, 0), at(node, 1)]);
    members
        .map(|member| Site {
            member,
            weight: 1,
            zone: None,
        })
        .collect()
}

#[test]
fn copy_goes_round_by_another_node_and_back() {
    let sites = sites(4);
    let wanted = vec![at(1, 0), at(2, 0)];
    let held = [at(1, 1), at(2, 0)];
    let first = detour(wanted.clone(), &held, &sites, 3);
    assert_eq!(first[1], at(2, 0));
    let way = first[0];
    assert!(![1, 2].contains(&way.node.0), "{way:?}");
    // While that one learns, and when it has all, whatever the turn would say.
    for turn in 0..8 {
        let learning = [held[0], held[1], way];
        assert_eq!(detour(wanted.clone(), &learning, &sites, turn), first);
    }
    // The node has no copy any more; then the wanted one learns.
    let after = [at(2, 0), way];
    assert_eq!(detour(wanted.clone(), &after, &sites, 3), wanted);
    let learning = [at(2, 0), way, at(1, 0)];
    assert_eq!(detour(wanted.clone(), &learning, &sites, 3), wanted);
    assert_eq!(detour(wanted.clone(), &wanted, &sites, 3), wanted);
}

#[test]
fn copy_stays_where_no_other_node_has_room() {
    let wanted = vec![at(0, 0), at(1, 1)];
    let held = [at(0, 1), at(1, 0)];
    assert_eq!(detour(wanted, &held, &sites(2), 0), held);
}

#[test]
fn two_copies_go_round_by_different_nodes_and_spread() {
    let sites = sites(6);
    let wanted = vec![at(0, 0), at(1, 0)];
    let held = [at(0, 1), at(1, 1)];
    let mut ways = std::collections::BTreeSet::new();
    for turn in 0..8 {
        let first = detour(wanted.clone(), &held, &sites, turn);
        assert_ne!(first[0].node, first[1].node);
        assert!(first.iter().all(|it| it.node.0 > 1), "{first:?}");
        ways.extend(first);
    }
    assert_eq!(ways.len(), 8, "every brick of the other nodes");
}

#[test]
fn way_is_in_the_zone_if_it_can_be() {
    let mut sites = sites(4);
    for site in &mut sites {
        site.zone = Some(if site.member.node.0 % 2 == 0 {
            "a"
        } else {
            "b"
        });
    }
    for turn in 0..8 {
        let first = detour(vec![at(0, 0)], &[at(0, 1)], &sites, turn);
        assert_eq!(first[0].node, NodeId(2));
    }
}
