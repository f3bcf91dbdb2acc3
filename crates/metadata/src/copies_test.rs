use crate::fixture::{genesis, registration};
use crate::{
    Alteration, Catalog, Change, Layout, LayoutAlteration, NewTable, NodeAlteration, Registration,
};
use brickyard_routing::NodeId;
use brickyard_types::UnixMillis;

/// A cluster of one node whose default table gets copies up to that number.
fn founded(copies_max: u8) -> Catalog {
    let mut genesis = genesis(1);
    genesis.attributes.replicas = copies_max;
    Catalog::found(genesis).unwrap()
}

fn join(catalog: &mut Catalog, number: u8, change: impl FnOnce(&mut Registration)) {
    let mut registration = registration(number, 1);
    change(&mut registration);
    catalog.apply(Change::Register(registration)).unwrap();
}

fn new(name: &str, copies_max: Option<u8>) -> Change {
    Change::CreateTable(NewTable {
        layout: Layout {
            copies_max,
            ..Layout::default()
        },
        ..NewTable::named(name, 7, UnixMillis(1))
    })
}

fn alter(catalog: &mut Catalog, name: &str, alteration: Alteration) -> Result<(), String> {
    let name = name.to_owned();
    let altered = catalog.apply(Change::AlterTable { name, alteration });
    altered.map(|_| ()).map_err(|refusal| refusal.to_string())
}

fn copies_max(most: Option<u8>) -> Alteration {
    Alteration {
        layout: LayoutAlteration {
            copies_max: Some(most),
            ..LayoutAlteration::default()
        },
        ..Alteration::default()
    }
}

fn on_nodes(nodes: &[u32]) -> Alteration {
    Alteration {
        layout: LayoutAlteration {
            nodes: Some(nodes.iter().copied().map(NodeId).collect()),
            ..LayoutAlteration::default()
        },
        ..Alteration::default()
    }
}

fn replicas(catalog: &Catalog, name: &str) -> u8 {
    catalog.table(name).unwrap().attributes.replicas
}

#[test]
fn tables_without_a_number_get_copies_as_nodes_come() {
    let mut catalog = founded(3);
    catalog.apply(new("auto", Some(3))).unwrap();
    catalog.apply(new("chosen", None)).unwrap();
    let mut seen = Vec::new();
    for node in 1..=4 {
        seen.push(["default", "auto", "chosen"].map(|name| replicas(&catalog, name)));
        let before = catalog.version();
        join(&mut catalog, node, |_| {});
        assert_eq!(
            catalog.version(),
            before.next(),
            "a node and what follows from it are one state"
        );
    }
    assert_eq!(seen, [[1, 1, 1], [2, 2, 1], [3, 3, 1], [3, 3, 1]]);
    catalog.apply(new("late", Some(3))).unwrap();
    assert_eq!(replicas(&catalog, "late"), 3);
}

#[test]
fn only_nodes_that_hold_something_count() {
    let mut catalog = founded(3);
    join(&mut catalog, 1, |it| it.roles.storage = false);
    join(&mut catalog, 2, |it| it.weight = 0);
    assert_eq!(replicas(&catalog, "default"), 1);
    let alteration = NodeAlteration {
        weight: Some(1),
        ..NodeAlteration::default()
    };
    let change = Change::AlterNode {
        node: NodeId(2),
        alteration,
    };
    catalog.apply(change).unwrap();
    assert_eq!(replicas(&catalog, "default"), 2);
}

#[test]
fn no_table_asks_for_less_because_a_node_is_lost() {
    let mut catalog = founded(3);
    join(&mut catalog, 1, |_| {});
    join(&mut catalog, 2, |_| {});
    let change = Change::RemoveNode {
        node: NodeId(2),
        force: true,
    };
    catalog.apply(change).unwrap();
    assert_eq!(replicas(&catalog, "default"), 3);
    // Nor because it is altered otherwise.
    let bytes = Alteration {
        maxmemory: Some(Some(1 << 20)),
        ..Alteration::default()
    };
    alter(&mut catalog, "default", bytes).unwrap();
    assert_eq!(replicas(&catalog, "default"), 3);
    join(&mut catalog, 3, |_| {});
    assert_eq!(replicas(&catalog, "default"), 3);
}

#[test]
fn number_that_is_chosen_stays_until_none_is_meant_again() {
    let mut catalog = founded(3);
    join(&mut catalog, 1, |_| {});
    let chosen = Alteration {
        replicas: Some(1),
        ..Alteration::default()
    };
    alter(&mut catalog, "default", chosen).unwrap();
    join(&mut catalog, 2, |_| {});
    assert_eq!(replicas(&catalog, "default"), 1);
    let names = |catalog: &Catalog| {
        let tables = catalog.tables_with_one_copy();
        tables.map(|table| table.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&catalog), ["default"]);
    alter(&mut catalog, "default", copies_max(Some(2))).unwrap();
    assert_eq!(replicas(&catalog, "default"), 2);
    assert_eq!(names(&catalog), [""; 0]);
    alter(&mut catalog, "default", copies_max(Some(9))).unwrap();
    assert_eq!(replicas(&catalog, "default"), 3);
}

/// That there is one copy is no news where there can be one only.
#[test]
fn node_alone_has_tables_with_one_copy_and_nobody_is_warned() {
    let catalog = founded(3);
    assert_eq!(catalog.tables_with_one_copy().count(), 0);
}

#[test]
fn nodes_of_a_table_bound_its_copies() {
    let mut catalog = founded(3);
    join(&mut catalog, 1, |_| {});
    join(&mut catalog, 2, |_| {});
    catalog.apply(new("auto", Some(3))).unwrap();
    alter(&mut catalog, "auto", on_nodes(&[0, 1])).unwrap();
    assert_eq!(replicas(&catalog, "auto"), 2);
    alter(&mut catalog, "auto", on_nodes(&[])).unwrap();
    assert_eq!(replicas(&catalog, "auto"), 3);
    let in_sync = Alteration {
        min_in_sync: Some(3),
        ..Alteration::default()
    };
    alter(&mut catalog, "auto", in_sync).unwrap();
    let refusal = alter(&mut catalog, "auto", on_nodes(&[0, 1])).unwrap_err();
    assert!(refusal.starts_with("MIN_IN_SYNC: 3"), "{refusal}");
}
