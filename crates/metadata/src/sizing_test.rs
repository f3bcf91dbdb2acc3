use super::*;
use crate::fixture::{cluster, registration};
use crate::{Catalog, Change, NewTable, NodeAlteration};
use brickyard_routing::{Hasher, NodeId};
use brickyard_types::UnixMillis;

fn with_table(nodes: u8, partitions: Option<u32>) -> (Catalog, TableId) {
    let mut catalog = cluster(nodes, 1);
    let new = NewTable {
        partitions,
        ..NewTable::named("t", 1, UnixMillis(0))
    };
    let applied = catalog.apply(Change::CreateTable(new)).unwrap();
    (catalog, applied.table)
}

fn join(catalog: &mut Catalog, nodes: std::ops::Range<u8>) {
    for number in nodes {
        catalog
            .apply(Change::Register(registration(number, 1)))
            .unwrap();
    }
}

fn depth(catalog: &Catalog) -> u8 {
    catalog.depth_wanted(catalog.table("t").unwrap())
}

fn shallow(catalog: &Catalog) -> Vec<(TableId, PartitionId)> {
    let table = catalog.table("t").unwrap();
    let depth = catalog.depth_wanted(table);
    let all = table.shallower(depth);
    all.map(|(partition, _)| (table.id, partition)).collect()
}

fn size(name: &str, by_bricks: bool) -> Change {
    Change::SizeTable {
        name: name.to_owned(),
        by_bricks,
    }
}

#[test]
fn table_has_enough_partitions_when_it_is_made_and_too_few_when_nodes_have_joined() {
    let (mut catalog, _) = with_table(2, None);
    assert_eq!(depth(&catalog), 9, "2 bricks: 400, so 512");
    assert_eq!(shallow(&catalog), []);
    join(&mut catalog, 2..3);
    assert_eq!(depth(&catalog), 10);
    assert_eq!(shallow(&catalog).len(), 512);
}

#[test]
fn chosen_number_stays_until_an_operator_says_otherwise_and_back() {
    let (mut catalog, _) = with_table(2, Some(4));
    join(&mut catalog, 2..9);
    assert_eq!((depth(&catalog), shallow(&catalog).len()), (0, 0));
    let before = catalog.version();
    catalog.apply(size("t", true)).unwrap();
    assert!(catalog.version() > before);
    assert_eq!(shallow(&catalog).len(), 4);
    catalog.apply(size("t", false)).unwrap();
    assert_eq!(shallow(&catalog).len(), 0);
    let again = catalog.version();
    catalog.apply(size("t", false)).unwrap();
    assert_eq!(catalog.version(), again);
    assert!(catalog.apply(size("u", true)).is_err());
}

#[test]
fn weights_ask_for_four_times_as_many_at_most_and_a_slot_is_the_smallest() {
    let (mut catalog, _) = with_table(2, None);
    let weigh = |weight| Change::AlterNode {
        node: NodeId(1),
        alteration: NodeAlteration {
            weight: Some(weight),
            ..NodeAlteration::default()
        },
    };
    catalog.apply(weigh(1_000)).unwrap();
    assert_eq!(depth(&catalog), 11);
    catalog.apply(weigh(0)).unwrap();
    assert_eq!(depth(&catalog), 8, "of one brick 256");
    catalog.apply(weigh(1)).unwrap();
    join(&mut catalog, 2..200);
    assert_eq!(depth(&catalog), Hasher::Slot.split_depth_max());
}

#[test]
fn several_splits_are_one_change_and_those_that_cannot_begin_hold_up_none() {
    let (mut catalog, table) = with_table(2, None);
    join(&mut catalog, 2..3);
    let all = shallow(&catalog);
    let gone = PartitionId(60_000);
    let divide = Divide {
        cause: Cause::Bricks,
        partitions: vec![all[0], (table, gone), all[1], (TableId(77), all[2].1)],
    };
    let before = catalog.version();
    let applied = catalog.apply(Change::Divide(divide)).unwrap();
    assert_eq!(applied.version, CatalogVersion(before.0 + 1));
    let stale: Vec<PartitionId> = applied.stale.iter().map(|it| it.partition).collect();
    assert_eq!(stale, [gone, all[2].1]);
    let begun: Vec<_> = catalog.splits().map(|(id, it)| (id, it.begun_at)).collect();
    assert_eq!(
        begun,
        [(all[0].1, applied.version), (all[1].1, applied.version)]
    );
}

#[test]
fn how_a_table_is_sized_is_stored_with_it() {
    for partitions in [None, Some(4)] {
        let (catalog, table) = with_table(2, partitions);
        let read = Catalog::decode(&catalog.encode()).unwrap();
        let table = read.table_by_id(table).unwrap();
        assert_eq!(table.is_sized_by_bricks, partitions.is_none());
    }
}
