use super::*;
use crate::fixture::{again, genesis, registration};
use crate::{
    Account, AccountRule, Alteration, CatalogVersion, Cause, Change, ClusterId, Divide,
    EXTRA_COPIES_MAX, Envelope, Extra, KeyPattern, LastOutcome, LayoutAlteration, Library,
    LibraryFunction, LibraryPolicy, Limited, Merge, Merged, NewTable, Node, NodeAlteration,
    NodeKey, Orders, Proposal, Rest, Split, SplitReady, TableEdit, TableEntry, TableGrant,
    TableStatus, UserLimits,
};
use brickyard_routing::{Hasher, NodeId, Replica};
use brickyard_types::{
    Durability, Eviction, KeyBounds, Leases, Medium, Op, PartitionId, Placement, TableAttributes,
    TableId, UnixMillis, View,
};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

/// A catalog with something in every field; what `testdata/v1/catalog` holds.
fn sample() -> Catalog {
    let mut catalog = founded();
    lose_a_member(&mut catalog);
    order_nodes(&mut catalog);
    split(&mut catalog);
    merge(&mut catalog);
    resize(&mut catalog);
    take_offline(&mut catalog);
    catalog
}

fn take_offline(catalog: &mut Catalog) {
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
}

fn resize(catalog: &mut Catalog) {
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
            cause: Cause::Load,
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
    let change = Change::AlterTable {
        name: "1".to_owned(),
        alteration: Alteration {
            layout: LayoutAlteration {
                placement: Some(Placement::Ring { points: 100 }),
                nodes: Some([NodeId(1), NodeId(2)].into()),
                partition_bytes: Some(Some(64 << 20)),
                copies_max: None,
            },
            ..Alteration::default()
        },
    };
    catalog.apply(change).unwrap();
}

fn merge(catalog: &mut Catalog) {
    let id = catalog.table("1").unwrap().id;
    let leaf = |catalog: &Catalog, at: usize| {
        let table = catalog.table("1").unwrap();
        table.map.partitions().leaves()[at].partition
    };
    let grown = leaf(catalog, 5);
    let change = Change::Divide(Divide {
        cause: Cause::Size,
        partitions: vec![(id, grown)],
    });
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
            partition: leaf(catalog, at),
        };
        catalog.apply(change).unwrap();
        [leaf(catalog, at), leaf(catalog, at + 1)]
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
    assert_eq!(
        (catalog.merges().len(), catalog.all_merged().count()),
        (1, 2)
    );
}

fn split(catalog: &mut Catalog) {
    let partition = |catalog: &Catalog, at| {
        let mut partitions = catalog.table("1").unwrap().partitions();
        partitions.nth(at).unwrap().0
    };
    for at in [3, 9] {
        catalog
            .apply(Change::SplitPartition {
                table: "1".to_owned(),
                partition: partition(catalog, at),
            })
            .unwrap();
    }
    let third = partition(catalog, 3);
    let split = *catalog.split_of(third).unwrap();
    let ready = SplitReady {
        table: split.table,
        partition: third,
        view: split.view,
        begun_at: split.begun_at,
    };
    let applied = catalog.apply(Change::from(vec![ready])).unwrap();
    assert_eq!(applied.stale, []);
}

fn order_nodes(catalog: &mut Catalog) {
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
}

fn founded() -> Catalog {
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
                ..TableAttributes::default()
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
    catalog
}

fn lose_a_member(catalog: &mut Catalog) {
    let orders = catalog.table("orders").unwrap();
    let (id, partition) = (orders.id, orders.map.partitions().leaves()[0].partition);
    let group = &orders.map.groups()[0];
    let stays: Vec<Replica> = group
        .in_sync()
        .filter(|replica| catalog.is_current(*replica))
        .collect();
    let proposal = Proposal::of(id, partition, group, &stays);
    let applied = catalog.apply(Change::from(vec![proposal])).unwrap();
    assert_eq!(applied.stale, []);
}

/// A table that comes back, with so many partitions in views that they never had.
fn returning(since: u64, suspended: u32) -> TableStatus {
    let suspended = (1..=suspended).map(|it| (PartitionId(it), View(77)));
    TableStatus::Returning {
        since: CatalogVersion(since),
        suspended: suspended.collect(),
    }
}

/// Bytes with this body, and everything around it as it should be.
fn around(body: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&FORMAT_PLAIN.to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&checksum(&bytes, body).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// A catalog, field by field, in the order in which they are stored.
#[derive(Serialize, Deserialize)]
struct Body {
    version: CatalogVersion,
    cluster: ClusterId,
    is_paused: bool,
    next_table: u32,
    next_partition: u32,
    next_node: u32,
    next_incarnation: u64,
    nodes: Vec<(NodeId, Node)>,
    orders: Vec<(NodeId, Orders)>,
    removed: Vec<(NodeKey, u64)>,
    outcomes: Vec<(NodeId, LastOutcome)>,
    tables: Vec<TableEntry>,
    splits: Vec<(PartitionId, Split)>,
    merges: Vec<(PartitionId, Merge)>,
    parents: Vec<(PartitionId, StoredParent)>,
    extras: Vec<(PartitionId, u8)>,
}

#[derive(Clone, Serialize, Deserialize)]
struct StoredParent {
    table: TableId,
    depth: u8,
    first: u64,
    view: View,
    cause: Option<Cause>,
    merged: Option<Merged>,
}

/// A parent partition that was merged.
fn a_half(body: &mut Body) -> &mut (PartitionId, StoredParent) {
    let mut parents = body.parents.iter_mut();
    parents.find(|(_, it)| it.merged.is_some()).unwrap()
}

/// The sample, with other fields.
fn changed(change: impl FnOnce(&mut Body)) -> Vec<u8> {
    let bytes = sample().encode();
    let mut body: Body = postcard::from_bytes(&bytes[HEADER_BYTES..]).unwrap();
    change(&mut body);
    around(&postcard::to_allocvec(&body).unwrap())
}

/// When this fails, the format has changed. If that was the purpose, `sample_is_written` writes the new file.
#[test]
fn catalog_is_read_and_written_as_ever() {
    let stored = include_bytes!("../testdata/v1/catalog");
    assert_eq!(Catalog::decode(stored).unwrap(), sample());
    assert_eq!(sample().encode(), stored);
}

/// The sample with a user who has something in every field; what `testdata/v2/catalog` holds.
fn sample_with_a_user() -> Catalog {
    let mut catalog = sample();
    let rules = vec![
        AccountRule::On,
        AccountRule::AddHash("$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA".to_owned()),
        AccountRule::Command("+@read".to_owned()),
        AccountRule::Command("-get".to_owned()),
        AccountRule::Keys(KeyPattern {
            pattern: b"cart:*".to_vec(),
            read: true,
            write: false,
        }),
        AccountRule::Channels(b"news".to_vec()),
        AccountRule::ResetTables,
        AccountRule::Tables(TableGrant {
            tables: "shop-*".to_owned(),
            read: true,
            write: true,
            admin: false,
        }),
    ];
    let change = Change::SetAccount {
        name: "ann".to_owned(),
        initial: Vec::new(),
        rules,
    };
    catalog.apply(change).unwrap();
    catalog
}

#[test]
fn catalog_with_users_is_read_and_written_as_ever() {
    let stored = include_bytes!("../testdata/v2/catalog");
    assert_eq!(Catalog::decode(stored).unwrap(), sample_with_a_user());
    assert_eq!(sample_with_a_user().encode(), stored);
}

/// The same, who has limits and beside whom there is one that has none; what `testdata/v3/catalog` holds.
fn sample_with_limits() -> Catalog {
    let mut catalog = sample_with_a_user();
    let limits = vec![
        AccountRule::Limit(Limited::Connections, 100),
        AccountRule::Limit(Limited::Operations, 5_000),
        AccountRule::Limit(Limited::Bytes, 10 << 20),
    ];
    for (name, rules) in [("ann", limits), ("bob", Vec::new())] {
        let change = Change::SetAccount {
            name: name.to_owned(),
            initial: Vec::new(),
            rules,
        };
        catalog.apply(change).unwrap();
    }
    catalog
}

#[test]
fn catalog_with_limits_is_read_and_written_as_ever() {
    let stored = include_bytes!("../testdata/v3/catalog");
    let read = Catalog::decode(stored).unwrap();
    assert_eq!(read, sample_with_limits());
    assert_eq!(read.encode(), stored);
    let limits = |name: &str| read.accounts().get(name).unwrap().limits;
    assert_eq!(limits("ann").operations, 5_000);
    assert!(limits("bob").is_none());
}

#[test]
fn catalog_of_before_limits_has_none_and_goes_back_to_its_format_without_them() {
    let stored = include_bytes!("../testdata/v2/catalog");
    let mut catalog = Catalog::decode(stored).unwrap();
    assert!(catalog.accounts().get("ann").unwrap().limits.is_none());
    let format = |catalog: &Catalog| catalog.encode()[8];
    for (rule, expected) in [
        (AccountRule::Limit(Limited::Bytes, 1), 3),
        (AccountRule::Limit(Limited::Bytes, 0), 2),
        (AccountRule::Limit(Limited::Connections, 1), 3),
        (AccountRule::ResetLimits, 2),
    ] {
        let change = Change::SetAccount {
            name: "ann".to_owned(),
            initial: Vec::new(),
            rules: vec![rule],
        };
        catalog.apply(change).unwrap();
        assert_eq!(format(&catalog), expected);
        assert_eq!(Catalog::decode(&catalog.encode()).unwrap(), catalog);
    }
}

/// The same, with libraries of functions; what `testdata/v4/catalog` holds.
fn sample_with_libraries() -> Catalog {
    let mut catalog = sample_with_limits();
    let function = |name: &str, description: Option<&[u8]>, flags| LibraryFunction {
        name: name.to_owned(),
        description: description.map(<[u8]>::to_vec),
        flags,
    };
    let library = |name: &str, functions| Library {
        name: name.to_owned(),
        code: format!("#!lua name={name}\n").into_bytes(),
        functions,
    };
    let libraries = vec![
        library(
            "limits",
            vec![function("take", Some(b"one of a bucket"), 0b10)],
        ),
        library(
            "carts",
            vec![function("add", None, 0), function("total", None, 1)],
        ),
    ];
    let change = Change::AddLibraries {
        libraries,
        policy: LibraryPolicy::Append,
    };
    catalog.apply(change).unwrap();
    catalog
}

#[test]
fn catalog_with_libraries_is_read_and_written_as_ever() {
    let stored = include_bytes!("../testdata/v4/catalog");
    let read = Catalog::decode(stored).unwrap();
    assert_eq!(read, sample_with_libraries());
    assert_eq!(read.encode(), stored);
}

/// The same, with tables that keep their changes; what `testdata/v5/catalog` holds.
fn sample_with_histories() -> Catalog {
    let mut catalog = sample_with_libraries();
    for (name, history) in [("1", 1 << 20), ("default", 64)] {
        keep(&mut catalog, name, history);
    }
    catalog
}

/// The same, with tables that have leases, or had them; what `testdata/v6/catalog` holds.
fn sample_with_leases() -> Catalog {
    let mut catalog = sample_with_histories();
    let table = NewTable {
        partitions: Some(16),
        ..NewTable::named("kept", 7, UnixMillis(1_700_000_000_005))
    };
    let made = TableEdit::Create { table, history: 5 };
    for (table, is_on) in [(made, true), (altered("1"), true), (altered("1"), false)] {
        let change = Change::LeaseTable { table, is_on };
        catalog.apply(change).unwrap();
    }
    catalog
}

/// The same, with tables of every hash function; what `testdata/v7/catalog` holds.
fn sample_with_hashes() -> Catalog {
    let mut catalog = sample_with_leases();
    for (name, hasher) in later_hashers() {
        let table = NewTable {
            partitions: Some(16),
            hasher,
            ..NewTable::named(name, 8, UnixMillis(1_700_000_000_006))
        };
        catalog.apply(Change::CreateTable(table)).unwrap();
    }
    catalog
}

fn later_hashers() -> [(&'static str, Hasher); 3] {
    let bounds = KeyBounds::new("user:0000", "user:9999").unwrap();
    [
        ("keyed", Hasher::Keyed),
        ("runs", Hasher::Ordered(None)),
        ("users", Hasher::Ordered(Some(bounds))),
    ]
}

#[test]
fn catalog_with_hash_functions_is_read_and_written_as_ever() {
    let stored = include_bytes!("../testdata/v7/catalog");
    let read = Catalog::decode(stored).unwrap();
    assert_eq!(read, sample_with_hashes());
    assert_eq!(read.encode(), stored);
    for (name, hasher) in later_hashers() {
        assert_eq!(read.table(name).unwrap().map.hasher().hasher(), hasher);
    }
}

#[test]
fn catalog_has_a_format_of_its_own_as_long_as_a_table_has_a_later_hash_function() {
    for (name, hasher) in later_hashers() {
        let mut catalog = sample();
        let table = NewTable {
            hasher,
            ..NewTable::named(name, 6, UnixMillis(0))
        };
        catalog.apply(Change::CreateTable(table)).unwrap();
        assert_eq!(catalog.encode()[8], 7);
        assert_eq!(Catalog::decode(&catalog.encode()).unwrap(), catalog);
        // A format that knows nothing of it is no format of this catalog.
        let mut bytes = catalog.encode();
        bytes[8] = 6;
        let crc = checksum(&bytes[..16], &bytes[HEADER_BYTES..]);
        bytes[16..20].copy_from_slice(&crc.to_le_bytes());
        assert!(Catalog::decode(&bytes).is_err());
        let name = name.to_owned();
        catalog.apply(Change::DropTable { name }).unwrap();
        assert_eq!(catalog.encode()[8], 1);
    }
}

/// Nothing else of the table changes.
fn altered(name: &str) -> TableEdit {
    TableEdit::Alter {
        name: name.to_owned(),
        alteration: Alteration::default(),
        history: None,
    }
}

#[test]
fn catalog_with_leases_is_read_and_written_as_ever() {
    let stored = include_bytes!("../testdata/v6/catalog");
    let read = Catalog::decode(stored).unwrap();
    assert_eq!(read, sample_with_leases());
    assert_eq!(read.encode(), stored);
    let leases = |name: &str| read.table(name).unwrap().attributes.leases;
    assert_eq!(
        [leases("kept"), leases("1"), leases("orders")],
        [Leases::Granted, Leases::Ended, Leases::Never]
    );
    assert_eq!(read.table("kept").unwrap().attributes.history, 5);
}

#[test]
fn leases_are_remembered_until_their_table_is_dropped() {
    let mut catalog = sample();
    assert_eq!(catalog.encode()[8], 1);
    for (is_on, format, version) in [(false, 1, 0), (true, 6, 1), (true, 6, 0), (false, 6, 1)] {
        let before = catalog.version().0;
        let table = altered("orders");
        catalog.apply(Change::LeaseTable { table, is_on }).unwrap();
        assert_eq!(catalog.version().0 - before, version);
        assert_eq!(catalog.encode()[8], format);
        assert_eq!(Catalog::decode(&catalog.encode()).unwrap(), catalog);
    }
    let name = "orders".to_owned();
    catalog.apply(Change::DropTable { name }).unwrap();
    assert_eq!(catalog.encode()[8], 1);
}

#[test]
fn leases_of_no_table_are_no_catalog() {
    let mut bytes = sample_with_leases().encode();
    // The last table's number, before what its leases are.
    let at = bytes.len() - 2;
    bytes[at] = 99;
    let crc = checksum(&bytes[..16], &bytes[HEADER_BYTES..]);
    bytes[16..20].copy_from_slice(&crc.to_le_bytes());
    let error = Catalog::decode(&bytes).unwrap_err().to_string();
    assert!(error.contains("leases of table 99"), "{error}");
}

fn keep(catalog: &mut Catalog, name: &str, history: u64) {
    let change = Change::AlterWithHistory {
        name: name.to_owned(),
        alteration: Alteration::default(),
        history,
    };
    catalog.apply(change).unwrap();
}

#[test]
fn catalog_with_histories_is_read_and_written_as_ever() {
    let stored = include_bytes!("../testdata/v5/catalog");
    let read = Catalog::decode(stored).unwrap();
    assert_eq!(read, sample_with_histories());
    assert_eq!(read.encode(), stored);
    assert_eq!(read.table("1").unwrap().attributes.history, 1 << 20);
}

#[test]
fn catalog_with_histories_needs_nothing_else_and_goes_back_to_its_format_without_them() {
    for (mut catalog, format) in [
        (sample(), 1),
        (sample_with_a_user(), 2),
        (sample_with_limits(), 3),
        (sample_with_libraries(), 4),
    ] {
        keep(&mut catalog, "1", 5);
        assert_eq!(catalog.encode()[8], 5);
        assert_eq!(Catalog::decode(&catalog.encode()).unwrap(), catalog);
        keep(&mut catalog, "1", 0);
        assert_eq!(catalog.encode()[8], format);
    }
}

#[test]
fn a_table_that_is_made_keeps_changes_where_that_is_said() {
    let mut catalog = sample();
    let mut table = NewTable::named("plain", 6, UnixMillis(0));
    // What is written of a new table has no place for it.
    table.attributes.history = 7;
    catalog.apply(Change::CreateTable(table)).unwrap();
    assert_eq!(catalog.table("plain").unwrap().attributes.history, 0);
    let table = NewTable::named("kept", 6, UnixMillis(0));
    let change = Change::CreateWithHistory { table, history: 9 };
    catalog.apply(change).unwrap();
    assert_eq!(catalog.table("kept").unwrap().attributes.history, 9);
}

#[test]
fn catalog_with_libraries_needs_no_users_and_goes_back_to_its_format_without_them() {
    for (mut catalog, format) in [
        (sample(), 1),
        (sample_with_a_user(), 2),
        (sample_with_limits(), 3),
    ] {
        assert_eq!(catalog.encode()[8], format);
        let with_libraries = sample_with_libraries();
        let libraries = with_libraries.libraries().stored();
        let change = Change::AddLibraries {
            libraries: libraries.into_iter().cloned().collect(),
            policy: LibraryPolicy::Append,
        };
        catalog.apply(change).unwrap();
        assert_eq!(catalog.encode()[8], 4);
        assert_eq!(Catalog::decode(&catalog.encode()).unwrap(), catalog);
        catalog.apply(Change::FlushLibraries).unwrap();
        assert_eq!(catalog.encode()[8], format);
    }
}

#[test]
fn libraries_that_no_load_makes_are_refused() {
    let library = |name: &str, function: &str| Library {
        name: name.to_owned(),
        code: Vec::new(),
        functions: vec![LibraryFunction {
            name: function.to_owned(),
            description: None,
            flags: 0,
        }],
    };
    let with = |libraries: &[Library]| {
        let mut behind = vec![0, 0];
        behind.extend(postcard::to_allocvec(libraries).unwrap());
        with_behind(4, &behind)
    };
    let read = with(&[library("a", "f"), library("b", "g")]).unwrap();
    assert_eq!(read.libraries().iter().len(), 2);
    for wrong in [
        vec![],
        vec![library("a", "f"), library("a", "g")],
        vec![library("b", "f"), library("a", "g")],
        vec![library("a", "f"), library("b", "F")],
        vec![library("a b", "f")],
    ] {
        assert!(with(&wrong).is_err(), "{wrong:?}");
    }
}

/// What reads a catalog in which this follows the other fields.
fn with_behind(format: u32, behind: &[u8]) -> Result<Catalog, StoredError> {
    let bytes = sample().encode();
    let body = [&bytes[HEADER_BYTES..], behind].concat();
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&format.to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&checksum(&bytes, &body).to_le_bytes());
    bytes.extend_from_slice(&body);
    Catalog::decode(&bytes)
}

#[test]
fn limits_that_no_rule_makes_are_refused() {
    let with = |format: u32, limits: &[(&str, UserLimits)]| {
        let accounts = [("ann", Account::default()), ("bob", Account::default())];
        let mut behind = postcard::to_allocvec(&accounts[..]).unwrap();
        behind.extend(postcard::to_allocvec(limits).unwrap());
        with_behind(format, &behind)
    };
    let some = UserLimits {
        operations: 5,
        ..UserLimits::NONE
    };
    let high = UserLimits {
        operations: u64::MAX,
        ..UserLimits::NONE
    };
    assert!(with(3, &[("ann", some)]).is_ok());
    for (format, limits) in [
        (2, &[("ann", some)][..]),
        (3, &[]),
        (3, &[("ann", UserLimits::NONE)]),
        (3, &[("ann", high)]),
        (3, &[("cid", some)]),
        (3, &[("bob", some), ("ann", some)]),
        (3, &[("ann", some), ("ann", some)]),
        (4, &[("ann", some)]),
    ] {
        assert!(with(format, limits).is_err(), "{format}: {limits:?}");
    }
}

#[test]
fn users_that_no_rule_makes_are_refused() {
    let with = |accounts: &[(&str, Account)]| {
        with_behind(FORMAT_USERS, &postcard::to_allocvec(accounts).unwrap())
    };
    let commandless = Account {
        commands: Vec::new(),
        ..Account::default()
    };
    let long = Account {
        channels: vec![vec![b'x'; 70_000]],
        ..Account::default()
    };
    assert!(with(&[("ann", Account::default())]).is_ok());
    for accounts in [
        &[][..],
        &[("", Account::default())],
        &[("a b", Account::default())],
        &[("ann", commandless)],
        &[("ann", long)],
        &[("bob", Account::default()), ("ann", Account::default())],
    ] {
        assert!(with(accounts).is_err(), "{accounts:?}");
    }
}

#[test]
fn copies_more_are_of_partitions_that_are_there_and_few() {
    let is_refused = |change: fn(&mut Body)| {
        let error = Catalog::decode(&changed(change)).unwrap_err();
        matches!(error, StoredError::Contradiction { .. })
    };
    assert!(is_refused(|it| it.extras[0].0 = PartitionId(60_000)));
    assert!(is_refused(|it| it.extras[0].1 = 0));
    assert!(is_refused(|it| it.extras[0].1 = EXTRA_COPIES_MAX + 1));
    assert!(is_refused(|it| it.extras.push(it.extras[0])));
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
fn other_format_is_refused_by_its_number() {
    let mut bytes = sample().encode();
    bytes[8] = 8;
    let error = Catalog::decode(&bytes).unwrap_err();
    assert_eq!(error, StoredError::Format { found: 8 });
    assert!(
        error
            .to_string()
            .starts_with("the catalog is in format 8, and this program reads 1 to 7")
    );
}

#[test]
fn other_order_or_encoding_is_refused() {
    let has_order = |change: fn(&mut Body)| {
        let error = Catalog::decode(&changed(change)).unwrap_err().to_string();
        assert!(error.contains("another order or encoding"), "{error}");
    };
    has_order(|it| it.tables.reverse());
    has_order(|it| it.nodes.reverse());
    has_order(|it| it.parents.reverse());
    // The version in a byte more than it needs.
    let mut body = sample().encode().split_off(HEADER_BYTES);
    assert!(body[0] < 0x80);
    body.splice(0..1, [body[0] | 0x80, 0]);
    let error = Catalog::decode(&around(&body)).unwrap_err().to_string();
    assert!(error.contains("another order or encoding"), "{error}");
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
    let table = |name: &str| sample().table(name).unwrap().clone();
    let cases: [(Vec<u8>, &str); 29] = [
        (
            changed(|body| {
                body.nodes.clear();
                body.orders.clear();
                body.outcomes.clear();
            }),
            "there is no node",
        ),
        (
            changed(|body| {
                body.nodes.remove(0);
                body.orders.clear();
            }),
            "it has an outcome of node 0, which is not its own",
        ),
        (
            changed(|body| body.next_incarnation = 3),
            "node 1 has a number that is not its own",
        ),
        (
            changed(|body| body.nodes[1].1.registration.key.0 = [0; 20]),
            "node 1 has a number that is not its own",
        ),
        (
            changed(|body| body.nodes[1].1.registration.addresses.host.clear()),
            "host '' is not 1 to 255",
        ),
        (
            changed(|body| {
                body.tables.remove(1);
            }),
            "there is no table 'default'",
        ),
        (
            changed(|body| {
                let twin = TableEntry {
                    name: "twin".to_owned(),
                    ..table("orders")
                };
                body.tables.push(twin);
            }),
            "table 'twin' has an id that is not its own",
        ),
        (
            changed(|body| body.tables.push(table("orders"))),
            "it has another order or encoding",
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
                body.orders.clear();
                body.next_node = 1;
            }),
            "is on a brick that is not in the cluster",
        ),
        (
            changed(|body| body.tables[0].id.0 = 2),
            "table '1' has the maps of another table",
        ),
        (
            changed(|body| body.tables[0].name = "a b".to_owned()),
            "table name 'a b' is not",
        ),
        (around(&[0xff; 40]), "its fields cannot be read"),
        (
            changed(|it| it.orders[0].0 = NodeId(9)),
            "it has orders for node 9, which are not its own",
        ),
        (
            changed(|it| it.orders[1].1.replaces = Some(NodeId(9))),
            "orders for node 2, which",
        ),
        (
            changed(|it| it.splits[0].1.halves = [PartitionId(1), PartitionId(2)]),
            "is split into what cannot be",
        ),
        (
            changed(|it| it.splits[0].0 = PartitionId(u32::MAX)),
            "is split into what cannot be",
        ),
        (
            changed(|it| it.parents[0].1.table = TableId(77)),
            "cannot have been one",
        ),
        (
            changed(|it| it.merges[0].1.into = PartitionId(1)),
            "is merged into what cannot be",
        ),
        (
            changed(|it| it.merges[0].1.right = PartitionId(1 << 20)),
            "is merged into what cannot be",
        ),
        (
            changed(|it| {
                let (id, parent) = a_half(it);
                parent.merged.as_mut().unwrap().into = *id;
            }),
            "cannot have been one",
        ),
        (
            changed(|it| a_half(it).1.merged.as_mut().unwrap().last.1 = Op(8)),
            "cannot have been one",
        ),
        (
            changed(|it| a_half(it).0 = PartitionId(1)),
            "cannot have been one",
        ),
        (
            changed(|it| it.tables[0].layout.nodes = [NodeId(9)].into()),
            "cannot be laid out so",
        ),
        (
            changed(|it| {
                it.tables[0].layout.placement = Placement::Ring { points: 0 };
            }),
            "cannot be laid out so",
        ),
        (
            changed(|it| {
                let table = &mut it.tables[0];
                table.attributes.durability = Durability::Memory;
                table.status = TableStatus::Offline;
            }),
            "cannot be out of service so",
        ),
        (
            changed(|it| it.tables[0].status = returning(u64::MAX, 2)),
            "cannot be out of service so",
        ),
        (
            changed(|it| it.tables[0].status = returning(1, 0)),
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
#[ignore = "writes the samples into the folder of BRICKYARD_SAMPLE, when the format has changed on purpose"]
fn sample_is_written() {
    let folder = std::path::PathBuf::from(std::env::var("BRICKYARD_SAMPLE").unwrap());
    for (format, catalog) in [
        ("v1", sample()),
        ("v2", sample_with_a_user()),
        ("v3", sample_with_limits()),
        ("v4", sample_with_libraries()),
        ("v5", sample_with_histories()),
        ("v6", sample_with_leases()),
        ("v7", sample_with_hashes()),
    ] {
        std::fs::write(folder.join(format).join("catalog"), catalog.encode()).unwrap();
    }
}
