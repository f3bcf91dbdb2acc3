use super::*;
use crate::fixture::{again, cluster, registration};
use crate::{Alteration, Catalog, Change, NewTable, NodeAlteration};
use brickyard_routing::Member;
use brickyard_types::UnixMillis;
use std::collections::BTreeMap;

fn new(name: &str, replicas: u8) -> NewTable {
    let mut new = NewTable::named(name, 7, UnixMillis(1));
    new.attributes.replicas = replicas;
    new
}

fn set(nodes: &[u32]) -> BTreeSet<NodeId> {
    nodes.iter().copied().map(NodeId).collect()
}

fn create(catalog: &mut Catalog, name: &str, replicas: u8, layout: Layout) -> Result<(), String> {
    let table = NewTable {
        layout,
        ..new(name, replicas)
    };
    apply(catalog, Change::CreateTable(table))
}

fn lay_out(catalog: &mut Catalog, name: &str, layout: LayoutAlteration) -> Result<(), String> {
    let change = Change::AlterTable {
        name: name.to_owned(),
        alteration: Alteration {
            layout,
            ..Alteration::default()
        },
    };
    apply(catalog, change)
}

/// A change that is refused changes nothing.
fn apply(catalog: &mut Catalog, change: Change) -> Result<(), String> {
    let before = catalog.clone();
    let outcome = catalog.apply(change);
    if outcome.is_err() {
        assert_eq!(*catalog, before);
    }
    outcome.map(|_| ()).map_err(|refusal| refusal.to_string())
}

fn on(nodes: &[u32]) -> Layout {
    Layout {
        nodes: set(nodes),
        ..Layout::default()
    }
}

fn to_nodes(nodes: &[u32]) -> LayoutAlteration {
    LayoutAlteration {
        nodes: Some(set(nodes)),
        ..LayoutAlteration::default()
    }
}

/// Copies on each node.
fn copies(catalog: &Catalog, name: &str) -> BTreeMap<u32, usize> {
    let mut copies = BTreeMap::new();
    for (_, group) in catalog.table(name).unwrap().partitions() {
        for replica in group.in_sync() {
            *copies.entry(replica.member.node.0).or_default() += 1;
        }
    }
    copies
}

/// Copies on each node, as planned.
fn planned(catalog: &Catalog, name: &str) -> BTreeMap<u32, usize> {
    let plan = catalog.plan(&BTreeSet::new());
    let mut copies = BTreeMap::new();
    for (partition, _) in catalog.table(name).unwrap().partitions() {
        for member in plan.target(partition) {
            *copies.entry(member.node.0).or_default() += 1;
        }
    }
    copies
}

fn weight(catalog: &mut Catalog, node: u32, weight: u32) -> Result<(), String> {
    let change = Change::AlterNode {
        node: NodeId(node),
        alteration: NodeAlteration {
            weight: Some(weight),
            ..NodeAlteration::default()
        },
    };
    apply(catalog, change)
}

fn remove(catalog: &mut Catalog, node: u32, force: bool) -> Result<(), String> {
    let change = Change::RemoveNode {
        node: NodeId(node),
        force,
    };
    apply(catalog, change)
}

#[test]
fn new_table_is_on_its_nodes_alone_and_plans_to_stay_there() {
    let mut catalog = cluster(5, 2);
    create(&mut catalog, "t", 2, on(&[1, 3, 4])).unwrap();
    let copies = copies(&catalog, "t");
    assert_eq!(copies.keys().copied().collect::<Vec<_>>(), [1, 3, 4]);
    assert_eq!(planned(&catalog, "t"), copies);
    let holders = catalog.holders(&catalog.table("t").unwrap().layout);
    assert_eq!(holders.count(), 3);
    // As many partitions as spread evenly over those bricks.
    create(&mut catalog, "one", 1, on(&[2])).unwrap();
    let leaves = |name| catalog.table(name).unwrap().map.partitions().leaves().len();
    assert_eq!((leaves("t"), leaves("one")), (2_048, 512));
}

#[test]
fn other_nodes_are_planned_when_a_table_is_altered() {
    let mut catalog = cluster(4, 1);
    create(&mut catalog, "t", 2, Layout::default()).unwrap();
    lay_out(&mut catalog, "t", to_nodes(&[1, 2])).unwrap();
    let planned_of = |catalog: &Catalog| planned(catalog, "t").into_keys().collect::<Vec<_>>();
    assert_eq!(planned_of(&catalog), [1, 2]);
    lay_out(&mut catalog, "t", to_nodes(&[])).unwrap();
    assert_eq!(planned_of(&catalog), [0, 1, 2, 3]);
}

#[test]
fn ring_is_where_the_table_begins_and_what_is_planned() {
    let mut catalog = cluster(4, 2);
    let ring = Layout {
        placement: Placement::Ring { points: 3 },
        ..Layout::default()
    };
    create(&mut catalog, "t", 2, ring.clone()).unwrap();
    let table = catalog.table("t").unwrap();
    let plan = catalog.plan(&BTreeSet::new());
    for (partition, group) in table.partitions() {
        let members: Vec<Member> = group.in_sync().map(|replica| replica.member).collect();
        assert_eq!(plan.target(partition), members);
    }
    let counts = copies(&catalog, "t");
    let (least, most) = (counts.values().min(), counts.values().max());
    assert!(
        most.unwrap() - least.unwrap() > 50,
        "as uneven as chance: {counts:?}"
    );
    // Even again: no more than rounding lies between nodes.
    let even = LayoutAlteration {
        placement: Some(Placement::Even),
        ..LayoutAlteration::default()
    };
    lay_out(&mut catalog, "t", even).unwrap();
    let counts = planned(&catalog, "t");
    let (least, most) = (counts.values().min(), counts.values().max());
    assert!(most.unwrap() - least.unwrap() <= 2, "{counts:?}");
}

#[test]
fn too_few_nodes_for_the_copies_are_refused_with_the_reason() {
    let mut catalog = cluster(3, 1);
    let refused = create(&mut catalog, "t", 3, on(&[0, 1])).unwrap_err();
    assert_eq!(
        refused,
        "NODES: 2 of them may hold partitions, and the table asks for 3 copies, each on a node of its own; name more \
         nodes or lower REPLICAS"
    );
    let refused = create(&mut catalog, "t", 1, on(&[0, 9])).unwrap_err();
    assert!(
        refused.starts_with("node 9 is not in the cluster"),
        "{refused}"
    );
    let wild = Layout {
        placement: Placement::Ring { points: 0 },
        ..Layout::default()
    };
    let refused = create(&mut catalog, "t", 1, wild).unwrap_err();
    assert!(
        refused.starts_with("PLACEMENT: 'ring:0' is out of range"),
        "{refused}"
    );
    create(&mut catalog, "t", 2, on(&[0, 1])).unwrap();
    let refused = lay_out(&mut catalog, "t", to_nodes(&[2])).unwrap_err();
    assert!(refused.starts_with("NODES: 1 of them"), "{refused}");
    // Neither can the copies outgrow the nodes.
    let change = Change::AlterTable {
        name: "t".to_owned(),
        alteration: Alteration {
            replicas: Some(3),
            ..Alteration::default()
        },
    };
    let refused = apply(&mut catalog, change).unwrap_err();
    assert!(refused.starts_with("NODES: 2 of them"), "{refused}");
    let nothing = lay_out(&mut catalog, "t", LayoutAlteration::default()).unwrap_err();
    assert!(nothing.contains("names nothing to change"), "{nothing}");
}

#[test]
fn last_node_of_a_set_stays_and_others_leave_it_when_they_are_removed() {
    let mut catalog = cluster(4, 1);
    create(&mut catalog, "t", 1, on(&[2, 3])).unwrap();
    create(&mut catalog, "all", 2, Layout::default()).unwrap();
    weight(&mut catalog, 3, 0).unwrap();
    let refused = weight(&mut catalog, 2, 0).unwrap_err();
    assert_eq!(
        refused,
        "node 2 is the only one with a weight among the NODES of table 't'; name others first (TABLE ALTER t NODES ...)"
    );
    let drain = Change::DrainNode {
        node: NodeId(2),
        force: true,
    };
    assert!(
        apply(&mut catalog, drain)
            .unwrap_err()
            .contains("NODES of table 't'")
    );
    let refused = remove(&mut catalog, 2, true).unwrap_err();
    assert!(refused.contains("NODES of table 't'"), "{refused}");
    remove(&mut catalog, 3, true).unwrap();
    assert_eq!(catalog.table("t").unwrap().layout.nodes, set(&[2]));
    assert_eq!(catalog.table("all").unwrap().layout.nodes, set(&[]));
    let read = Catalog::decode(&catalog.encode()).unwrap();
    assert_eq!(read, catalog);
}

#[test]
fn drain_counts_the_nodes_of_each_table() {
    let mut catalog = cluster(4, 1);
    create(&mut catalog, "t", 2, on(&[1, 2])).unwrap();
    let drain = |force| Change::DrainNode {
        node: NodeId(2),
        force,
    };
    let refused = apply(&mut catalog, drain(false)).unwrap_err();
    assert!(
        refused.starts_with(
            "table 't' asks for 2 copies, each on a node of its own, and without node 2 there are 1 node of its NODES for \
             them"
        ),
        "{refused}"
    );
    // A node that the table does not name is none of its business.
    let other = Change::DrainNode {
        node: NodeId(3),
        force: false,
    };
    apply(&mut catalog, other).unwrap();
    apply(&mut catalog, drain(true)).unwrap();
}

#[test]
fn successor_gets_into_the_sets_of_the_node_that_it_takes_the_place_of() {
    let mut catalog = cluster(3, 1);
    create(&mut catalog, "t", 1, on(&[1])).unwrap();
    let change = Change::ReplaceNode {
        old: NodeId(1),
        new: NodeId(2),
    };
    apply(&mut catalog, change).unwrap();
    assert_eq!(catalog.table("t").unwrap().layout.nodes, set(&[1, 2]));
    assert_eq!(planned(&catalog, "t").into_keys().collect::<Vec<_>>(), [2]);
}

#[test]
fn set_whose_nodes_all_came_back_without_a_weight_plans_nothing() {
    let mut catalog = cluster(3, 1);
    create(&mut catalog, "t", 1, on(&[1])).unwrap();
    let mut weightless = again(&registration(1, 1));
    weightless.weight = 0;
    apply(&mut catalog, Change::Register(weightless)).unwrap();
    assert_eq!(planned(&catalog, "t"), copies(&catalog, "t"));
    // A table on it cannot be made; others can.
    assert!(create(&mut catalog, "u", 1, on(&[1])).is_err());
    create(&mut catalog, "u", 1, Layout::default()).unwrap();
}

#[test]
fn partition_bytes_are_the_tables_own_until_it_gives_them_back() {
    let mut catalog = cluster(1, 1);
    let small = Layout {
        partition_bytes: Some(1 << 20),
        ..Layout::default()
    };
    create(&mut catalog, "t", 1, small).unwrap();
    let to = |bytes| LayoutAlteration {
        partition_bytes: Some(bytes),
        ..LayoutAlteration::default()
    };
    lay_out(&mut catalog, "t", to(Some(0))).unwrap();
    assert_eq!(catalog.table("t").unwrap().layout.partition_bytes, Some(0));
    let version = catalog.version();
    lay_out(&mut catalog, "t", to(Some(0))).unwrap();
    assert_eq!(catalog.version(), version, "it is so already");
    lay_out(&mut catalog, "t", to(None)).unwrap();
    assert_eq!(catalog.table("t").unwrap().layout, Layout::default());
}
