use crate::fixture::{again, cluster, registration};
use crate::{Catalog, Change, NewTable, NodeAlteration, Roles};
use brickyard_routing::NodeId;
use brickyard_types::UnixMillis;

fn weight(node: u32, weight: u32) -> Change {
    Change::AlterNode {
        node: NodeId(node),
        alteration: NodeAlteration {
            weight: Some(weight),
            ..NodeAlteration::default()
        },
    }
}

fn drain(node: u32, force: bool) -> Change {
    Change::DrainNode {
        node: NodeId(node),
        force,
    }
}

fn remove(node: u32, force: bool) -> Change {
    Change::RemoveNode {
        node: NodeId(node),
        force,
    }
}

fn replace(old: u32, new: u32) -> Change {
    Change::ReplaceNode {
        old: NodeId(old),
        new: NodeId(new),
    }
}

fn pairs(nodes: u8) -> Catalog {
    let mut catalog = cluster(nodes, 1);
    let mut new = NewTable::named("pairs", 1, UnixMillis(1));
    new.attributes.replicas = 2;
    new.partitions = Some(8);
    catalog.apply(Change::CreateTable(new)).unwrap();
    catalog
}

fn weight_of(catalog: &Catalog, node: u32) -> u32 {
    catalog.node(NodeId(node)).unwrap().weight()
}

#[track_caller]
fn refuses(catalog: &mut Catalog, change: Change, text: &str) {
    let before = catalog.clone();
    let refusal = catalog.apply(change).unwrap_err().to_string();
    assert!(refusal.contains(text), "{refusal}");
    assert_eq!(*catalog, before);
}

#[test]
fn what_was_ordered_holds_over_restarts() {
    let mut catalog = cluster(3, 1);
    catalog.apply(weight(1, 5)).unwrap();
    let votes_not = NodeAlteration {
        roles: Some(Roles {
            control: false,
            ..Roles::default()
        }),
        ..NodeAlteration::default()
    };
    catalog
        .apply(Change::AlterNode {
            node: NodeId(1),
            alteration: votes_not,
        })
        .unwrap();
    let next = again(&registration(1, 1));
    catalog.apply(Change::Register(next.clone())).unwrap();
    assert_eq!(weight_of(&catalog, 1), 5);
    let node = catalog.node(NodeId(1)).unwrap();
    assert!(!node.registration.roles.control);
    // The answer was lost and it asks again: nothing changes.
    let version = catalog.version();
    catalog.apply(Change::Register(next)).unwrap();
    assert_eq!(catalog.version(), version);
    // What nobody spoke of is what the node says.
    let mut third = again(&again(&registration(1, 1)));
    third.zone = Some("east".to_owned());
    catalog.apply(Change::Register(third)).unwrap();
    let node = catalog.node(NodeId(1)).unwrap();
    assert_eq!(node.registration.zone.as_deref(), Some("east"));
    assert_eq!(node.weight(), 5);
}

#[test]
fn drain_is_refused_where_copies_would_be_too_few() {
    let mut catalog = pairs(2);
    refuses(
        &mut catalog,
        drain(1, false),
        "table 'pairs' asks for 2 copies, each on a node of its own, and without node 1 there are 1 node for them",
    );
    catalog.apply(drain(1, true)).unwrap();
    assert_eq!(weight_of(&catalog, 1), 0);
    refuses(&mut catalog, drain(0, true), "node 0 is the only one");
    let mut catalog = pairs(3);
    catalog.apply(drain(1, false)).unwrap();
    // It is empty, or will be: said again it is as well.
    let version = catalog.version();
    catalog.apply(drain(1, false)).unwrap();
    assert_eq!(catalog.version(), version);
    refuses(
        &mut catalog,
        drain(9, false),
        "node 9 is not in the cluster",
    );
}

#[test]
fn removal_names_what_would_be_lost() {
    let mut catalog = pairs(3);
    refuses(
        &mut catalog,
        remove(1, false),
        "empty it first (NODE DRAIN 1)",
    );
    // The default table is on node 0 alone.
    refuses(
        &mut catalog,
        remove(0, false),
        "256 of them are in-sync nowhere else and would be lost: 256 of 'default' (1, 2",
    );
    catalog.apply(remove(0, true)).unwrap();
    assert!(catalog.node(NodeId(0)).is_none());
    let mut catalog = cluster(2, 1);
    catalog.apply(remove(1, false)).unwrap();
    assert_eq!(catalog.nodes().len(), 1);
}

#[test]
fn successor_takes_weight_and_place() {
    let mut catalog = pairs(4);
    catalog.apply(weight(1, 3)).unwrap();
    refuses(&mut catalog, replace(1, 1), "cannot take its own place");
    refuses(&mut catalog, replace(1, 9), "node 9 is not in the cluster");
    catalog.apply(replace(1, 3)).unwrap();
    assert_eq!(weight_of(&catalog, 1), 0);
    assert_eq!(weight_of(&catalog, 3), 3);
    assert_eq!(catalog.successor(NodeId(1)), Some(NodeId(3)));
    let version = catalog.version();
    catalog.apply(replace(1, 3)).unwrap();
    assert_eq!(catalog.version(), version);
    refuses(
        &mut catalog,
        replace(1, 2),
        "being replaced by node 3 already",
    );
    catalog.apply(drain(2, true)).unwrap();
    refuses(&mut catalog, replace(2, 0), "node 2 has weight 0");
    catalog.apply(remove(1, true)).unwrap();
    assert_eq!(catalog.successor(NodeId(1)), None);
    assert_eq!(weight_of(&catalog, 3), 3);
    let mut wide = registration(7, 2);
    wide.weight = 0;
    catalog.apply(Change::Register(wide)).unwrap();
    refuses(
        &mut catalog,
        replace(0, 4),
        "node 4 has 2 bricks and node 0 has 1",
    );
}

#[test]
fn last_node_that_may_vote_stays_one() {
    let votes = |node: u32, control: bool| Change::AlterNode {
        node: NodeId(node),
        alteration: NodeAlteration {
            roles: Some(Roles {
                control,
                ..Roles::default()
            }),
            ..NodeAlteration::default()
        },
    };
    let mut catalog = cluster(3, 1);
    catalog.apply(votes(0, false)).unwrap();
    catalog.apply(votes(2, false)).unwrap();
    refuses(&mut catalog, votes(1, false), "node 1 is the only one");
    catalog.apply(weight(1, 50)).unwrap();
    catalog.apply(votes(2, true)).unwrap();
    catalog.apply(votes(1, false)).unwrap();
}
