use super::*;
use crate::fixture::{cluster, genesis, registration};
use crate::{Catalog, CatalogVersion, Change, LayoutAlteration};
use brickyard_routing::Hasher;
use brickyard_types::{BrickId, KeyBounds, PartitionId, Slot, TableId, UnixMillis};
use proptest::prelude::*;

fn one_node() -> Catalog {
    cluster(1, 2)
}

fn table(name: &str) -> NewTable {
    NewTable::named(name, 2, UnixMillis(2_000))
}

fn create(name: &str) -> Change {
    Change::CreateTable(table(name))
}

fn create_with(change: impl FnOnce(&mut NewTable)) -> Change {
    let mut new = table("orders");
    change(&mut new);
    Change::CreateTable(new)
}

fn alter(name: &str, alteration: Alteration) -> Change {
    let name = name.to_owned();
    Change::AlterTable { name, alteration }
}

fn drop_table(name: &str) -> Change {
    let name = name.to_owned();
    Change::DropTable { name }
}

/// The text of the refusal; and that nothing was changed.
fn refused(catalog: &mut Catalog, change: Change) -> String {
    let before = catalog.clone();
    let refusal = catalog.apply(change).unwrap_err();
    assert_eq!(*catalog, before, "{refusal}");
    refusal.to_string()
}

#[test]
fn default_table_exists_from_the_start() {
    let catalog = one_node();
    let default = catalog.table("default").unwrap();
    assert_eq!(catalog.version(), CatalogVersion(2));
    assert_eq!(default.id, TableId(1));
    assert_eq!(default.map.partitions().leaves().len(), 512);
    assert_eq!(default.map.owner(Slot(0)).brick, BrickId(0));
    assert_eq!(default.map.owner(Slot(16_383)).brick, BrickId(1));
}

#[test]
fn cluster_without_bricks_cannot_be_founded() {
    let changes: [fn(&mut crate::Registration); 3] = [
        |it| it.bricks = 0,
        |it| it.weight = 0,
        |it| it.roles.storage = false,
    ];
    for change in changes {
        let mut genesis = genesis(2);
        change(&mut genesis.node);
        genesis
            .node
            .addresses
            .bricks
            .truncate(genesis.node.bricks as usize);
        let refusal = Catalog::found(genesis).unwrap_err().to_string();
        let text = "bricks: none has a weight above 0";
        let none = "REPLICAS: 1 is more than the 0 nodes";
        assert!(
            refusal.starts_with(text) || refusal.starts_with(none),
            "{refusal}"
        );
    }
}

#[test]
fn created_table_has_its_own_ids_seed_and_maps() {
    let mut catalog = one_node();
    let applied = catalog.apply(create("orders")).unwrap();
    assert_eq!(applied.version, CatalogVersion(3));
    assert_eq!(applied.table, TableId(2));
    let orders = catalog.table("orders").unwrap();
    assert_eq!(orders.id, TableId(2));
    assert_eq!(orders.created, UnixMillis(2_000));
    assert_eq!(orders.map.hasher().seed(), 2);
    let first = orders.map.partitions().leaves()[0].partition;
    assert_eq!(first, PartitionId(513));
    assert_eq!(catalog.table_by_id(TableId(2)), Some(orders));
    assert_eq!(catalog.tables().len(), 2);
}

#[test]
fn name_that_is_taken_is_refused_unless_the_table_may_be_there() {
    let mut catalog = one_node();
    catalog.apply(create("orders")).unwrap();
    assert_eq!(
        refused(&mut catalog, create("orders")),
        "table 'orders' exists already; choose another name, or change it with TABLE ALTER"
    );
    let again = catalog
        .apply(create_with(|new| new.if_absent = true))
        .unwrap();
    assert_eq!(again.table, TableId(2));
    assert_eq!(again.version, CatalogVersion(3), "nothing had to be done");
}

/// Rule `forced recovery begins a generation`.
#[test]
fn ids_are_never_used_again() {
    let mut catalog = one_node();
    catalog.apply(create("orders")).unwrap();
    catalog.apply(drop_table("orders")).unwrap();
    assert_eq!(catalog.table("orders"), None);
    catalog.apply(create("orders")).unwrap();
    let orders = catalog.table("orders").unwrap();
    assert_eq!(orders.id, TableId(3));
    let first = orders.map.partitions().leaves()[0].partition;
    assert_eq!(first, PartitionId(1 + 512 + 512));
}

#[test]
fn bad_tables_are_refused_with_what_to_do() {
    let mut catalog = one_node();
    let cases: [(Change, &str); 13] = [
        (create(""), "table name '' is not 1 to 128 letters"),
        (create("a b"), "table name 'a b' is not 1 to 128 letters"),
        (
            create_with(|new| new.attributes.replicas = 2),
            "REPLICAS: 2 is more than the 1 node of the cluster; add a node or lower it",
        ),
        (
            create_with(|new| new.attributes.replicas = 0),
            "REPLICAS: 0 would keep nothing; use 1 or more",
        ),
        (
            create_with(|new| new.partitions = Some(1_000)),
            "PARTITIONS: 1000 is not a power of two between 1 and 32768; use 1024",
        ),
        (
            create_with(|new| new.partitions = Some(0)),
            "PARTITIONS: 0 is not a power of two between 1 and 32768; use 1,",
        ),
        (
            create_with(|new| new.partitions = Some(65_536)),
            "PARTITIONS: 65536 is not a power of two between 1 and 32768; use 32768",
        ),
        (
            create_with(|new| new.partitions = Some(1)),
            "PARTITIONS: 1 is fewer than the 2 bricks of the cluster; use 2 or more",
        ),
        (
            create_with(|new| {
                new.attributes.medium = Medium::Disk;
                new.attributes.durability = Durability::Memory;
            }),
            "MEDIUM disk keeps values in the log and DURABILITY memory has none",
        ),
        (
            create_with(|new| new.attributes.evict = Eviction::Lru),
            "EVICT lru needs a bound to evict at; give MAXMEMORY too",
        ),
        (
            create_with(|new| {
                new.attributes.medium = Medium::Disk;
                new.attributes.maxmemory = Some(1 << 30);
                new.attributes.evict = Eviction::Lru;
            }),
            "EVICT lru is for MEDIUM ram",
        ),
        (
            create_with(|new| new.attributes.maxmemory = Some(0)),
            "MAXMEMORY: 0 bytes hold nothing",
        ),
        (
            drop_table("default"),
            "table 'default' cannot be dropped; FLUSHDB empties it",
        ),
    ];
    for (change, text) in cases {
        let refusal = refused(&mut catalog, change);
        assert!(refusal.starts_with(text), "{refusal}");
    }
}

#[test]
fn unknown_table_is_refused_by_name() {
    let mut catalog = one_node();
    let text = "table 'nope' does not exist; TABLE LIST shows those that do";
    assert_eq!(refused(&mut catalog, drop_table("nope")), text);
    let alteration = Alteration::default();
    assert_eq!(refused(&mut catalog, alter("nope", alteration)), text);
    let strange = refused(&mut catalog, drop_table("no\r\nway"));
    assert!(strange.starts_with("table name 'no\\r\\nway'"), "{strange}");
}

#[test]
fn more_tables_than_the_limit_are_refused() {
    let mut catalog = one_node();
    let small = |name: usize| {
        Change::CreateTable(NewTable {
            partitions: Some(2),
            ..table(&name.to_string())
        })
    };
    for name in 1..TABLES_MAX {
        catalog.apply(small(name)).unwrap();
    }
    let refusal = refused(&mut catalog, small(TABLES_MAX));
    assert!(
        refusal.starts_with("tables: there are 10000 already"),
        "{refusal}"
    );
    catalog.apply(drop_table("17")).unwrap();
    catalog.apply(small(TABLES_MAX)).unwrap();
}

#[test]
fn partition_ids_run_out_with_a_clear_word() {
    let mut catalog = one_node();
    catalog.ids = catalog.ids.after_partition(PartitionId(u32::MAX - 256));
    let refusal = refused(&mut catalog, create_with(|new| new.partitions = Some(512)));
    assert!(
        refusal.starts_with("partition ids: 512 more from"),
        "{refusal}"
    );
    let refusal = refused(&mut catalog, create_with(|new| new.partitions = Some(256)));
    assert!(
        refusal.starts_with("partition ids: 256 more from"),
        "{refusal}"
    );
}

#[test]
fn alteration_changes_what_it_names_and_nothing_else() {
    let mut catalog = one_node();
    catalog.apply(create("orders")).unwrap();
    let before = catalog.table("orders").unwrap().clone();
    let applied = catalog
        .apply(alter(
            "orders",
            Alteration {
                durability: Some(Durability::Fsync),
                maxmemory: Some(Some(1 << 30)),
                evict: Some(Eviction::Lru),
                ..Alteration::default()
            },
        ))
        .unwrap();
    assert_eq!(applied.version, CatalogVersion(4));
    let after = catalog.table("orders").unwrap();
    assert_eq!(after.attributes.durability, Durability::Fsync);
    assert_eq!(after.attributes.maxmemory, Some(1 << 30));
    assert_eq!(after.map, before.map);
    assert_eq!(after.id, before.id);
}

#[test]
fn alteration_to_what_is_there_already_makes_no_new_version() {
    let mut catalog = one_node();
    let same = Alteration {
        medium: Some(Medium::Ram),
        durability: Some(Durability::Log),
        replicas: None,
        min_in_sync: Some(1),
        maxmemory: Some(None),
        evict: Some(Eviction::None),
        layout: LayoutAlteration {
            copies_max: Some(Some(1)),
            ..LayoutAlteration::default()
        },
    };
    let applied = catalog.apply(alter("default", same)).unwrap();
    assert_eq!(applied.version, CatalogVersion(2));
}

/// Rule `stronger durability counts for the log`.
#[test]
fn alterations_that_cannot_be_made_are_refused_with_what_to_do() {
    let mut catalog = one_node();
    let with = |change: fn(&mut Alteration)| {
        let mut alteration = Alteration::default();
        change(&mut alteration);
        alter("default", alteration)
    };
    let fixed = |what: &str| format!("{what}; make another table and copy the keys");
    for (change, text) in [
        (
            with(|it| it.medium = Some(Medium::Disk)),
            fixed("MEDIUM of table 'default' cannot be changed from ram to disk"),
        ),
        (
            with(|it| it.durability = Some(Durability::Memory)),
            fixed("DURABILITY of table 'default' cannot be changed from log to memory"),
        ),
        (
            with(|it| it.replicas = Some(3)),
            "REPLICAS: 3 is more than the 1 node of the cluster; add a node or lower it".to_owned(),
        ),
        (
            with(|it| it.min_in_sync = Some(2)),
            "MIN_IN_SYNC: 2 is not between 1 and the 1 REPLICAS of the table; lower it or raise REPLICAS"
                .to_owned(),
        ),
        (
            with(|it| it.evict = Some(Eviction::Lru)),
            "EVICT lru needs a bound to evict at; give MAXMEMORY too".to_owned(),
        ),
        (
            with(|_| ()),
            "TABLE ALTER 'default' names nothing to change; give one of the attributes that TABLE HELP shows"
                .to_owned(),
        ),
    ] {
        assert_eq!(refused(&mut catalog, change), text);
    }
}

#[test]
fn replicas_are_placed_on_other_nodes() {
    let mut catalog = cluster(3, 2);
    catalog
        .apply(create_with(|new| new.attributes.replicas = 3))
        .unwrap();
    let refusal = refused(&mut catalog, create_with(|new| new.attributes.replicas = 4));
    assert!(
        refusal.contains("exists already"),
        "the name comes first: {refusal}"
    );
    for group in catalog.table("orders").unwrap().map.groups() {
        let nodes: BTreeSet<NodeId> = group.members().map(|replica| replica.member.node).collect();
        assert_eq!(nodes.len(), 3);
    }
}

#[test]
fn new_table_keeps_off_nodes_that_are_down() {
    let mut catalog = cluster(3, 2);
    let wanted = |new: &mut NewTable| {
        new.attributes.replicas = 3;
        new.attributes.min_in_sync = 2;
        new.avoid = vec![NodeId(1)];
    };
    catalog.apply(create_with(wanted)).unwrap();
    let orders = catalog.table("orders").unwrap();
    assert_eq!(orders.attributes.replicas, 3);
    for group in orders.map.groups() {
        let nodes: BTreeSet<NodeId> = group.members().map(|replica| replica.member.node).collect();
        assert_eq!(nodes, BTreeSet::from([NodeId(0), NodeId(2)]));
    }
    // All down: then any will do.
    let nowhere = |new: &mut NewTable| {
        new.name = "nowhere".to_owned();
        new.avoid = vec![NodeId(0), NodeId(1), NodeId(2)];
    };
    catalog.apply(create_with(nowhere)).unwrap();
}

#[test]
fn replicas_may_be_asked_for_later() {
    let mut catalog = cluster(2, 1);
    let before = catalog.table("default").unwrap().map.clone();
    let more = Alteration {
        replicas: Some(2),
        min_in_sync: Some(2),
        ..Alteration::default()
    };
    catalog.apply(alter("default", more)).unwrap();
    let default = catalog.table("default").unwrap();
    assert_eq!(
        (default.attributes.replicas, default.attributes.min_in_sync),
        (2, 2)
    );
    assert_eq!(default.map, before, "copies come later, one by one");
    let fewer = Alteration {
        replicas: Some(1),
        ..Alteration::default()
    };
    let refusal = refused(&mut catalog, alter("default", fewer));
    assert!(
        refusal.starts_with("MIN_IN_SYNC: 2 is not between 1 and the 1"),
        "{refusal}"
    );
}

#[test]
fn gateways_hold_nothing() {
    let mut catalog = cluster(1, 2);
    let mut gateway = registration(9, 1);
    gateway.roles.storage = false;
    catalog.apply(Change::Register(gateway)).unwrap();
    let refusal = refused(&mut catalog, create_with(|new| new.attributes.replicas = 2));
    assert!(
        refusal.starts_with("REPLICAS: 2 is more than the 1 node"),
        "{refusal}"
    );
    catalog.apply(create("orders")).unwrap();
    let orders = catalog.table("orders").unwrap();
    assert!(
        orders
            .map
            .groups()
            .iter()
            .all(|group| group.primary.member.node == NodeId(0))
    );
}

fn ordered(from: &str, to: &str) -> Hasher {
    Hasher::Ordered(Some(KeyBounds::new(from, to).unwrap()))
}

#[test]
fn hash_function_is_an_attribute_of_the_map() {
    let bounds = ordered("user:0", "user:9");
    for hasher in [Hasher::Key64, Hasher::Keyed, Hasher::Ordered(None), bounds] {
        let mut catalog = one_node();
        catalog
            .apply(create_with(|new| new.hasher = hasher))
            .unwrap();
        let map = &catalog.table("orders").unwrap().map;
        assert_eq!(map.hasher().hasher(), hasher);
    }
}

#[test]
fn bounds_between_which_no_keys_can_be_told_apart_are_refused() {
    let mut catalog = one_node();
    let alike = ordered("k", "k000");
    let refused = catalog.apply(create_with(|new| new.hasher = alike));
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.starts_with("FROM 'k' and TO 'k000' are too much alike"),
        "{refused}"
    );
}

fn any_change() -> impl Strategy<Value = Change> {
    let name = prop::sample::select(vec!["default", "a", "b", "c", "bad name"]);
    (name, 0..6, any::<u64>()).prop_map(|(name, kind, seed)| match kind {
        0..=2 => Change::CreateTable(NewTable {
            partitions: [None, Some(8), Some(3)][kind as usize],
            if_absent: seed % 2 == 0,
            ..NewTable::named(name, seed, UnixMillis(seed))
        }),
        3 => drop_table(name),
        4 => alter(
            name,
            Alteration {
                maxmemory: Some(Some(seed)),
                ..Alteration::default()
            },
        ),
        _ => alter(
            name,
            Alteration {
                evict: Some(Eviction::Lru),
                ..Alteration::default()
            },
        ),
    })
}

proptest! {
    /// One order of changes, one state: two nodes that apply the same end with the same bytes, and a
    /// version counts the changes that were made.
    #[test]
    fn same_changes_give_the_same_bytes(changes in prop::collection::vec(any_change(), 0..40)) {
        let mut nodes = [one_node(), one_node()];
        for change in changes {
            let before = nodes[0].clone();
            let [one, two] = nodes.each_mut().map(|node| node.apply(change.clone()));
            prop_assert_eq!(&one, &two);
            let version = nodes[0].version();
            match one {
                Ok(applied) => prop_assert_eq!(applied.version, version),
                Err(_) => prop_assert_eq!(&nodes[0], &before),
            }
            let changed = nodes[0] != before;
            prop_assert_eq!(version, if changed { before.version().next() } else { before.version() });
        }
        let bytes = nodes[0].encode();
        prop_assert_eq!(&bytes, &nodes[1].encode());
        prop_assert_eq!(&Catalog::decode(&bytes).unwrap(), &nodes[0]);
    }
}
