use super::*;
use crate::fixture::{again, cluster, registration};
use crate::{Catalog, Change, NewTable};
use brickyard_routing::Member;
use brickyard_types::{BrickId, TableAttributes, UnixMillis, View};

fn register(catalog: &mut Catalog, registration: Registration) -> Registered {
    let applied = catalog.apply(Change::Register(registration)).unwrap();
    assert_eq!(applied.version, catalog.version());
    applied.registered.unwrap()
}

fn replica(node: u32, incarnation: u64) -> Replica {
    Replica {
        member: Member {
            node: NodeId(node),
            brick: BrickId(0),
        },
        incarnation: Incarnation(incarnation),
    }
}

fn table(catalog: &mut Catalog, name: &str, attributes: TableAttributes) {
    let mut new = NewTable::named(name, 1, UnixMillis(1));
    new.attributes = attributes;
    catalog.apply(Change::CreateTable(new)).unwrap();
}

#[test]
fn node_keeps_its_number_and_begins_a_new_life() {
    let mut catalog = cluster(2, 1);
    let next = register(&mut catalog, again(&registration(1, 1)));
    assert_eq!((next.node, next.incarnation), (NodeId(1), Incarnation(3)));
    assert!(catalog.is_current(replica(1, 3)));
    assert!(!catalog.is_current(replica(1, 2)));
    let third = register(&mut catalog, registration(2, 1));
    assert_eq!((third.node, third.incarnation), (NodeId(2), Incarnation(4)));
}

#[test]
fn registration_sent_twice_is_one_life() {
    let mut catalog = cluster(2, 1);
    let version = catalog.version();
    let same = register(&mut catalog, registration(1, 1));
    assert_eq!((same.node, same.incarnation), (NodeId(1), Incarnation(2)));
    assert_eq!(catalog.version(), version);
    let mut elsewhere = registration(1, 1);
    elsewhere.addresses.host = "moved".to_owned();
    assert_eq!(
        register(&mut catalog, elsewhere).incarnation,
        Incarnation(2)
    );
    let node = catalog.node(NodeId(1)).unwrap();
    assert_eq!(node.registration.addresses.host, "moved");
}

/// Rule `only the same machine proves death`.
#[test]
fn former_life_is_proven_dead_only_by_the_same_lock() {
    for (change, is_proven) in [
        ((|_| ()) as fn(&mut Registration), true),
        (|it| it.machine.machine = "another".to_owned(), false),
        (|it| it.machine.boot = "boot-2".to_owned(), false),
        (|it| it.machine.directory.1 = 99, false),
    ] {
        let mut catalog = cluster(2, 1);
        table(
            &mut catalog,
            "pairs",
            TableAttributes {
                replicas: 2,
                ..TableAttributes::default()
            },
        );
        let mut next = again(&registration(1, 1));
        change(&mut next);
        register(&mut catalog, next.clone());
        assert_eq!(catalog.is_proven_dead(replica(1, 2)), is_proven);
        assert!(!catalog.is_proven_dead(replica(1, 3)));
        // A third life on the second's machine says nothing of the first.
        register(&mut catalog, again(&next));
        assert_eq!(catalog.is_proven_dead(replica(1, 2)), is_proven);
        assert!(catalog.is_proven_dead(replica(1, 3)));
    }
    let unknown = crate::Machine::default();
    assert!(
        !unknown.proves_dead(&unknown),
        "ids that are not known prove nothing"
    );
}

#[test]
fn groups_of_a_node_that_is_alone_follow_it() {
    let mut catalog = cluster(1, 2);
    let memory = TableAttributes {
        durability: Durability::Memory,
        ..TableAttributes::default()
    };
    table(&mut catalog, "memory", memory);
    let before = catalog.clone();
    register(&mut catalog, again(&registration(0, 2)));
    for (name, generation) in [("default", 1), ("memory", 2)] {
        let table = catalog.table(name).unwrap();
        let former = before.table(name).unwrap();
        assert_eq!(table.map.version(), former.map.version().next());
        for (group, former) in table.map.groups().iter().zip(former.map.groups()) {
            assert_eq!(group.view, View(2));
            assert_eq!(group.generation, generation);
            assert_eq!(group.primary.member, former.primary.member);
            assert_eq!(group.primary.incarnation, Incarnation(2));
        }
    }
    assert_eq!(catalog.version(), CatalogVersion(before.version().0 + 1));
}

#[test]
fn groups_of_a_node_that_has_company_wait_for_a_view_change() {
    let mut catalog = cluster(2, 1);
    let before = catalog.table("default").unwrap().clone();
    register(&mut catalog, again(&registration(0, 1)));
    assert_eq!(catalog.table("default").unwrap(), &before);
}

#[test]
fn impossible_registrations_are_refused() {
    type Edit = fn(&mut Registration);
    let cases: [(Edit, &str); 5] = [
        (|it| it.addresses.host.clear(), "host '' is not 1 to 255"),
        (
            |it| it.addresses.host = "a b".to_owned(),
            "host 'a b' is not",
        ),
        (|it| it.zone = Some("z\n".to_owned()), "zone 'z\\n' is not"),
        (|it| it.bricks = 3, "bricks: 3 with 2 ports;"),
        (
            |it| {
                it.bricks = 1;
                it.addresses.bricks.pop();
            },
            "bricks: node 1 has 2 and keeps them, it registered with 1; start it with 2",
        ),
    ];
    for (change, text) in cases {
        let mut catalog = cluster(2, 2);
        let before = catalog.clone();
        let mut next = again(&registration(1, 2));
        change(&mut next);
        let refusal = catalog
            .apply(Change::Register(next))
            .unwrap_err()
            .to_string();
        assert!(refusal.starts_with(text), "{refusal}");
        assert_eq!(catalog, before);
    }
}
