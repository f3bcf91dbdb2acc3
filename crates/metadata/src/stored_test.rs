use super::*;
use crate::{
    change::{Alteration, Change, NewTable, NodeAlteration},
    envelope::Envelope,
    fixture::{again, genesis, registration},
    heat::Extra,
    layout::LayoutAlteration,
    merge::Rest,
    proposal::Proposal,
    sizing::{Cause, Divide},
    split::SplitReady,
};
use brickyard_routing::Hasher;
use brickyard_types::{Durability, Eviction, Medium, Op, Placement, TableAttributes, UnixMillis};
use proptest::prelude::*;

/// A catalog with something in every field; what `testdata/v6/catalog` holds.
fn sample() -> Catalog {
    let mut catalog = fifth_sample();
    for name in ["parked", "warming"] {
        let table = NewTable {
            partitions: Some(16),
            ..NewTable::named(name, 6, UnixMillis(1_700_000_000_004))
        };
        let changes = [
            Change::CreateTable(table),
            Change::TakeOffline {
                name: name.to_owned(),
                force: false,
            },
        ];
        for change in changes {
            catalog.apply(change).unwrap();
        }
    }
    let change = Change::BringOnline {
        name: "warming".to_owned(),
    };
    catalog.apply(change).unwrap();
    catalog
}

/// What `testdata/v5/catalog` holds.
fn fifth_sample() -> Catalog {
    let mut catalog = fourth_sample();
    let change = Change::SizeTable {
        name: "1".to_owned(),
        by_bricks: true,
    };
    catalog.apply(change).unwrap();
    let table = catalog.table("1").unwrap();
    let (id, leaves) = (table.id, table.map.partitions().leaves());
    let (hot, lent) = (leaves[20].partition, leaves[21].partition);
    let changes = [
        Change::Divide(Divide {
            cause: Cause::Heat,
            partitions: vec![(id, hot)],
        }),
        Change::SetExtras(vec![Extra {
            table: id,
            partition: lent,
            copies: 2,
        }]),
    ];
    for change in changes {
        assert_eq!(catalog.apply(change).unwrap().stale, []);
    }
    assert_eq!((catalog.sized.len(), catalog.heated.len()), (1, 1));
    let change = Change::LayOut {
        name: "1".to_owned(),
        alteration: Alteration::default(),
        layout: LayoutAlteration {
            placement: Some(Placement::Ring { points: 100 }),
            nodes: Some([NodeId(1), NodeId(2)].into()),
            partition_bytes: Some(Some(64 << 20)),
        },
    };
    catalog.apply(change).unwrap();
    catalog
}

/// What `testdata/v4/catalog` holds.
fn fourth_sample() -> Catalog {
    let mut catalog = third_sample();
    let leaf = |catalog: &Catalog, at: usize| {
        let table = catalog.table("1").unwrap();
        table.map.partitions().leaves()[at].partition
    };
    let grown = leaf(&catalog, 5);
    let change = Change::SplitGrown {
        table: "1".to_owned(),
        partition: grown,
    };
    catalog.apply(change).unwrap();
    let split = *catalog.split_of(grown).unwrap();
    let ready = SplitReady {
        table: split.table,
        partition: grown,
        view: split.view,
        begun_at: split.begun_at,
    };
    catalog.apply(Change::from(vec![ready])).unwrap();
    let mut begin = |at: usize| {
        let change = Change::MergePartitions {
            table: "1".to_owned(),
            partition: leaf(&catalog, at),
        };
        catalog.apply(change).unwrap();
        [leaf(&catalog, at), leaf(&catalog, at + 1)]
    };
    let (_, halves) = (begin(5), begin(3));
    let rests = halves.map(|partition| {
        let (view, begun_at) = catalog.rest_of(partition).unwrap();
        Rest {
            table: split.table,
            partition,
            view,
            begun_at,
            last: (view, Op(7)),
        }
    });
    let applied = catalog.apply(Change::from(vec![rests])).unwrap();
    assert_eq!(applied.stale, []);
    assert_eq!((catalog.merges().len(), catalog.all_merged().len()), (1, 2));
    catalog
}

/// What `testdata/v3/catalog` holds.
fn third_sample() -> Catalog {
    let mut catalog = second_sample();
    let partition = |catalog: &Catalog, at| {
        let mut partitions = catalog.table("1").unwrap().partitions();
        partitions.nth(at).unwrap().0
    };
    for at in [3, 9] {
        catalog
            .apply(Change::SplitPartition {
                table: "1".to_owned(),
                partition: partition(&catalog, at),
            })
            .unwrap();
    }
    let third = partition(&catalog, 3);
    let split = *catalog.split_of(third).unwrap();
    let ready = SplitReady {
        table: split.table,
        partition: third,
        view: split.view,
        begun_at: split.begun_at,
    };
    let applied = catalog.apply(Change::from(vec![ready])).unwrap();
    assert_eq!(applied.stale, []);
    catalog
}

/// What `testdata/v2/catalog` holds.
fn second_sample() -> Catalog {
    let mut catalog = first_sample();
    let successor = registration(2, 2);
    let weightless = registration(3, 1);
    let changes = [
        Change::Register(successor),
        Change::Register(weightless),
        Change::AlterNode {
            node: NodeId(3),
            alteration: NodeAlteration {
                weight: Some(0),
                zone: Some(Some("west".to_owned())),
                roles: None,
            },
        },
        Change::ReplaceNode {
            old: NodeId(0),
            new: NodeId(2),
        },
        Change::PauseMoves(true),
    ];
    for change in changes {
        catalog.apply(change).unwrap();
    }
    catalog
}

/// What `testdata/v1/catalog` holds.
fn first_sample() -> Catalog {
    let mut genesis = genesis(2);
    genesis.cluster = ClusterId(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
    genesis.node.zone = Some("east".to_owned());
    genesis.node.addresses.http_port = Some(8_080);
    genesis.seed = 0xfeed_beef;
    let mut catalog = Catalog::found(genesis).unwrap();
    let mut second = registration(1, 1);
    second.weight = 3;
    let mut moved = again(&second);
    moved.machine.boot = "boot-2".to_owned();
    let changes = [
        Change::Register(second),
        Change::CreateTable(NewTable {
            attributes: TableAttributes {
                medium: Medium::Disk,
                durability: Durability::Fsync,
                replicas: 2,
                min_in_sync: 2,
                maxmemory: Some(1 << 30),
                evict: Eviction::None,
            },
            partitions: Some(16),
            hasher: Hasher::Key64,
            ..NewTable::named("orders", 3, UnixMillis(1_700_000_000_001))
        }),
        Change::CreateTable(NewTable::named("1", 4, UnixMillis(1_700_000_000_002))),
        Change::CreateTable(NewTable::named("gone", 5, UnixMillis(1_700_000_000_003))),
        Change::DropTable {
            name: "gone".to_owned(),
        },
        Change::AlterTable {
            name: "1".to_owned(),
            alteration: Alteration {
                maxmemory: Some(Some(1 << 20)),
                evict: Some(Eviction::Lru),
                ..Alteration::default()
            },
        },
    ];
    for change in changes {
        catalog.apply(change).unwrap();
    }
    catalog.apply(Change::Register(moved)).unwrap();
    let node = catalog.node(NodeId(0)).unwrap();
    let envelope = Envelope {
        from: node.id,
        incarnation: node.incarnation,
        sequence: 7,
        change: Change::DropTable {
            name: "gone".to_owned(),
        },
    };
    catalog.apply_envelope(envelope).unwrap_err();
    let orders = catalog.table("orders").unwrap();
    let (id, partition) = (orders.id, orders.map.partitions().leaves()[0].partition);
    let group = &orders.map.groups()[0];
    let stays: Vec<Seat> = group
        .in_sync()
        .filter(|seat| catalog.is_current(*seat))
        .collect();
    let proposal = Proposal::of(id, partition, group, &stays);
    let applied = catalog.apply(Change::from(vec![proposal])).unwrap();
    assert_eq!(applied.stale, []);
    // Of what older formats hold nobody knows that.
    catalog.sized = Arc::default();
    catalog
}

/// A table that comes back, with so many partitions in views that they never had.
fn returning(since: u64, parked: u32) -> Standing {
    let parked = (1..=parked).map(|it| (PartitionId(it), brickyard_types::View(77)));
    Standing::Returning {
        since: CatalogVersion(since),
        parked: parked.collect(),
    }
}

/// Bytes with this body, and everything around it as it should be.
fn around(body: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&checksum(&bytes, body).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// The sample's body, changed.
fn changed(change: impl FnOnce(&mut Body<'_>)) -> Vec<u8> {
    changed_with_more(|body, _| change(body))
}

/// What follows the header.
type Whole<'a> = (
    Body<'a>,
    More<'a>,
    Partings,
    Joinings,
    Elastics,
    Layouts,
    Standings,
    Removals,
);

fn changed_whole(change: impl FnOnce(&mut Whole<'_>)) -> Vec<u8> {
    let bytes = sample().encode();
    let mut whole: Whole<'_> = postcard::from_bytes(&bytes[HEADER_BYTES..]).unwrap();
    change(&mut whole);
    around(&postcard::to_allocvec(&whole).unwrap())
}

fn changed_with_more(change: impl FnOnce(&mut Body<'_>, &mut More<'_>)) -> Vec<u8> {
    changed_whole(|(body, more, ..)| change(body, more))
}

fn changed_partings(change: impl FnOnce(&mut Partings)) -> Vec<u8> {
    changed_whole(|(_, _, partings, ..)| change(partings))
}

/// The same with other merges.
fn changed_joinings(change: impl FnOnce(&mut Joinings)) -> Vec<u8> {
    changed_whole(|(_, _, _, joinings, ..)| change(joinings))
}

/// The same with other tables that are sized by their bricks, and the like.
fn changed_elastics(change: impl FnOnce(&mut Elastics)) -> Vec<u8> {
    changed_whole(|(.., elastics, _, _, _)| change(elastics))
}

/// The same with other layouts.
fn changed_layouts(change: impl FnOnce(&mut Layouts)) -> Vec<u8> {
    changed_whole(|(.., layouts, _, _)| change(layouts))
}

/// The same with other tables out of service.
fn changed_standings(change: impl FnOnce(&mut Standings)) -> Vec<u8> {
    changed_whole(|(.., standings, _)| change(standings))
}

/// When this fails, the format has changed: raise `FORMAT_VERSION`, add `testdata/v7`, and keep
/// reading what is here.
#[test]
fn v6_catalog_is_read_and_written_as_ever() {
    let stored = include_bytes!("../testdata/v6/catalog");
    assert_eq!(Catalog::decode(stored).unwrap(), sample());
    assert_eq!(sample().encode(), stored);
}

#[test]
fn v5_catalog_is_read_as_ever() {
    let stored = include_bytes!("../testdata/v5/catalog");
    assert_eq!(Catalog::decode(stored).unwrap(), fifth_sample());
}

#[test]
fn v4_catalog_is_read_as_ever() {
    let stored = include_bytes!("../testdata/v4/catalog");
    assert_eq!(Catalog::decode(stored).unwrap(), fourth_sample());
}

#[test]
fn tables_sized_by_their_bricks_are_there_and_named_once() {
    let is_refused = |bytes: &[u8]| {
        let error = Catalog::decode(bytes).unwrap_err();
        matches!(error, StoredError::Contradiction { .. })
    };
    let id = sample().table("1").unwrap().id;
    assert!(is_refused(&changed_elastics(
        |it| it.sized = vec![TableId(99)]
    )));
    assert!(is_refused(&changed_elastics(|it| it.sized = vec![id, id])));
    assert!(Catalog::decode(&changed_elastics(|it| it.sized.clear())).is_ok());
}

#[test]
fn copies_more_are_of_partitions_that_are_there_and_few() {
    let is_refused = |change: fn(&mut Elastics)| {
        let error = Catalog::decode(&changed_elastics(change)).unwrap_err();
        matches!(error, StoredError::Contradiction { .. })
    };
    assert!(is_refused(|it| it.extras[0].0 = PartitionId(60_000)));
    assert!(is_refused(|it| it.extras[0].1 = 0));
    assert!(is_refused(|it| it.extras[0].1 = EXTRA_COPIES_MAX + 1));
    assert!(is_refused(|it| it.extras.push(it.extras[0])));
}

#[test]
fn v3_catalog_is_read_as_ever() {
    let stored = include_bytes!("../testdata/v3/catalog");
    assert_eq!(Catalog::decode(stored).unwrap(), third_sample());
}

#[test]
fn v2_catalog_is_read_as_ever() {
    let stored = include_bytes!("../testdata/v2/catalog");
    assert_eq!(Catalog::decode(stored).unwrap(), second_sample());
}

#[test]
fn v1_catalog_is_read_as_ever() {
    let stored = include_bytes!("../testdata/v1/catalog");
    assert_eq!(Catalog::decode(stored).unwrap(), first_sample());
}

#[test]
fn catalog_of_many_tables_is_small() {
    let mut catalog = sample();
    let before = catalog.encode().len();
    for name in 0..100 {
        let table = NewTable::named(format!("t{name}"), u64::MAX, UnixMillis(1 << 41));
        catalog.apply(Change::CreateTable(table)).unwrap();
    }
    let each = (catalog.encode().len() - before) / 100;
    assert!(each < 100, "{each} bytes a table of 1,200 partitions");
}

#[test]
fn newer_format_is_refused_by_its_number() {
    let mut bytes = sample().encode();
    bytes[8] = 7;
    let error = Catalog::decode(&bytes).unwrap_err();
    assert_eq!(error, StoredError::Newer { found: 7 });
    assert!(
        error
            .to_string()
            .starts_with("the catalog is in format 7, and this version knows")
    );
}

#[test]
fn other_files_and_cut_ones_are_refused() {
    let bytes = sample().encode();
    assert_eq!(Catalog::decode(b""), Err(StoredError::Magic));
    assert_eq!(Catalog::decode(b"[table]"), Err(StoredError::Magic));
    for len in 8..bytes.len() {
        let error = Catalog::decode(&bytes[..len]).unwrap_err();
        assert!(
            matches!(error, StoredError::Length { .. }),
            "{len}: {error}"
        );
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(matches!(
        Catalog::decode(&longer),
        Err(StoredError::Length { .. })
    ));
}

#[test]
fn every_flipped_bit_is_found() {
    let bytes = sample().encode();
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(Catalog::decode(&bytes).is_err(), "bit {bit}");
    }
}

#[test]
fn catalogs_that_no_rule_makes_are_refused() {
    let table = |name: &str| Cow::Owned(sample().table(name).unwrap().clone());
    let cases: [(Vec<u8>, &str); 32] = [
        (
            changed(|body| {
                body.nodes.clear();
                body.outcomes.clear();
            }),
            "there is no node",
        ),
        (
            changed(|body| {
                body.nodes.remove(0);
            }),
            "it has an outcome of node 0, which is not its own",
        ),
        (
            changed(|body| body.next_incarnation = 3),
            "node 1 has a number that is not its own",
        ),
        (
            changed(|body| body.nodes[1].to_mut().registration.key.0 = [0; 20]),
            "node 1 has a number that is not its own",
        ),
        (
            changed(|body| body.nodes[1].to_mut().registration.addresses.host.clear()),
            "host '' is not 1 to 255",
        ),
        (
            changed(|body| {
                body.tables.remove(1);
            }),
            "there is no table 'default'",
        ),
        (
            changed(|body| body.tables.push(table("orders"))),
            "table 'orders' has an id that is not its own",
        ),
        (
            changed(|body| body.next_table = 3),
            "table '1' has an id that is not its own",
        ),
        (
            changed(|body| body.next_partition = 100),
            "has a partition that is not its own",
        ),
        (
            changed(|body| {
                body.nodes.truncate(1);
                body.next_node = 1;
            }),
            "is on a brick that is not in the cluster",
        ),
        (
            changed(|body| body.tables[0].to_mut().id.0 = 2),
            "table '1' has the maps of another table",
        ),
        (
            changed(|body| body.tables[0].to_mut().name = "a b".to_owned()),
            "table name 'a b' is not",
        ),
        (around(&[0xff; 40]), "its fields cannot be read"),
        (
            changed_with_more(|_, more| more.orders[0].0 = NodeId(9)),
            "it has orders for node 9, which are not its own",
        ),
        (
            changed_with_more(|_, more| more.orders[1].1.to_mut().replaces = Some(NodeId(9))),
            "orders for node 2, which",
        ),
        (
            changed_partings(|it| it.splits[0].1.halves = [PartitionId(1), PartitionId(2)]),
            "is split into what cannot be",
        ),
        (
            changed_partings(|it| it.splits[0].0 = PartitionId(u32::MAX)),
            "is split into what cannot be",
        ),
        (
            changed_partings(|it| it.formers[0].1.table = TableId(77)),
            "cannot have been one",
        ),
        (
            changed_joinings(|it| it.merges[0].1.into = PartitionId(1)),
            "is merged into what cannot be",
        ),
        (
            changed_joinings(|it| it.merges[0].1.right = PartitionId(1 << 20)),
            "is merged into what cannot be",
        ),
        (
            changed_joinings(|it| it.merged[0].1.into = it.merged[0].0),
            "cannot have been one",
        ),
        (
            changed_joinings(|it| it.merged[0].1.last.1 = Op(8)),
            "cannot have been one",
        ),
        (
            changed_joinings(|it| it.merged[0].0 = PartitionId(1)),
            "cannot have been one",
        ),
        (
            changed_layouts(|it| it.layouts[0].0 = TableId(99)),
            "table 99 cannot be laid out so",
        ),
        (
            changed_layouts(|it| it.layouts.extend(it.layouts.clone())),
            "cannot be laid out so",
        ),
        (
            changed_layouts(|it| it.layouts[0].1.nodes = [NodeId(9)].into()),
            "cannot be laid out so",
        ),
        (
            changed_layouts(|it| it.layouts[0].1.placement = Placement::Ring { points: 0 }),
            "cannot be laid out so",
        ),
        (
            changed_standings(|it| it.standings[0].0 = TableId(99)),
            "table 99 cannot be out of service so",
        ),
        (
            changed_standings(|it| it.standings.extend(it.standings.clone())),
            "cannot be out of service so",
        ),
        (
            changed_standings(|it| it.standings[0].1 = Standing::Online),
            "cannot be out of service so",
        ),
        (
            changed_standings(|it| it.standings[1].1 = returning(u64::MAX, 2)),
            "cannot be out of service so",
        ),
        (
            changed_standings(|it| it.standings[1].1 = returning(1, 0)),
            "cannot be out of service so",
        ),
    ];
    for (bytes, text) in cases {
        let error = Catalog::decode(&bytes).unwrap_err().to_string();
        assert!(
            error.starts_with("the catalog contradicts itself: "),
            "{error}"
        );
        assert!(error.contains(text), "{error}");
    }
    let mut body = sample().encode().split_off(HEADER_BYTES);
    body.push(0);
    let error = Catalog::decode(&around(&body)).unwrap_err().to_string();
    assert!(error.contains("1 bytes follow its last field"), "{error}");
}

proptest! {
    /// The checksum keeps accidents out; behind it anything may stand and nothing panics.
    #[test]
    fn decode_never_panics(body in prop::collection::vec(any::<u8>(), 0..300), bare: bool) {
        let bytes = if bare { body } else { around(&body) };
        let _ = Catalog::decode(&bytes);
    }

    #[test]
    fn decode_of_a_damaged_body_never_panics(
        at in any::<prop::sample::Index>(), byte: u8, cut in any::<prop::sample::Index>(), cuts: bool,
    ) {
        let mut body = sample().encode().split_off(HEADER_BYTES);
        let at = at.index(body.len());
        body[at] = byte;
        if cuts {
            body.truncate(cut.index(body.len()));
        }
        if let Ok(catalog) = Catalog::decode(&around(&body)) {
            // What passes is a catalog that writes itself back.
            prop_assert_eq!(Catalog::decode(&catalog.encode()).unwrap(), catalog);
        }
    }
}

#[test]
#[ignore = "writes the sample where BRICKYARD_SAMPLE says, when the format has changed on purpose"]
fn sample_is_written() {
    let path = std::env::var("BRICKYARD_SAMPLE").unwrap();
    std::fs::write(path, sample().encode()).unwrap();
}
