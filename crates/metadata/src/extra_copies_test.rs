use super::*;
use crate::fixture::cluster;
use crate::{Catalog, Cause, Change, Divide, Move, NewTable, SplitReady};
use brickyard_types::UnixMillis;
use std::collections::BTreeSet;

/// Three nodes, and a table of eight partitions on two each; and its first partition.
fn with_table() -> (Catalog, TableId, PartitionId) {
    let mut catalog = cluster(3, 1);
    let mut new = NewTable::named("t", 1, UnixMillis(0));
    new.partitions = Some(8);
    new.attributes.replicas = 2;
    let table = catalog.apply(Change::CreateTable(new)).unwrap().table;
    let partition = catalog.table("t").unwrap().partitions().next().unwrap().0;
    (catalog, table, partition)
}

fn set(catalog: &mut Catalog, extras: &[(TableId, PartitionId, u8)]) -> Vec<PartitionId> {
    let extras = extras.iter().map(|&(table, partition, copies)| Extra {
        table,
        partition,
        copies,
    });
    let applied = catalog.apply(Change::SetExtras(extras.collect())).unwrap();
    applied.stale.into_iter().map(|it| it.partition).collect()
}

fn finish_split(catalog: &mut Catalog, partition: PartitionId) {
    let split = *catalog.split_of(partition).unwrap();
    let ready = SplitReady {
        table: split.table,
        partition,
        view: split.view,
        begun_at: split.begun_at,
    };
    let applied = catalog.apply(Change::from(vec![ready])).unwrap();
    assert_eq!(applied.stale, []);
}

fn divide(table: TableId, partition: PartitionId) -> Change {
    Change::Divide(Divide {
        cause: Cause::Load,
        partitions: vec![(table, partition)],
    })
}

#[test]
fn hot_partition_wants_copies_more_until_they_are_given_back() {
    let (mut catalog, table, hot) = with_table();
    let before = catalog.version();
    assert!(set(&mut catalog, &[(table, hot, 1)]).is_empty());
    assert!(catalog.version() > before);
    let t = catalog.table("t").unwrap();
    let wanted: Vec<usize> = t
        .partitions()
        .map(|(partition, _)| catalog.copies_wanted(t, partition))
        .collect();
    assert_eq!(wanted, [3, 2, 2, 2, 2, 2, 2, 2]);
    let before = catalog.version();
    set(&mut catalog, &[(table, hot, 1)]);
    assert_eq!(catalog.version(), before, "it is so already");
    set(&mut catalog, &[(table, hot, 0)]);
    assert_eq!(catalog.extras().len(), 0);
}

#[test]
fn copies_more_are_bounded_and_one_that_cannot_be_holds_up_none() {
    let (mut catalog, table, hot) = with_table();
    let gone = PartitionId(60_000);
    let stale = set(
        &mut catalog,
        &[
            (table, gone, 1),
            (TableId(77), hot, 1),
            (table, hot, EXTRA_COPIES_MAX + 1),
            (table, hot, 2),
        ],
    );
    assert_eq!(stale, [gone, hot, hot]);
    assert_eq!(catalog.extra(hot), 2);
    let big = NewTable::named("u", 1, UnixMillis(0));
    let big = catalog.apply(Change::CreateTable(big)).unwrap().table;
    let all: Vec<_> = catalog.table("u").unwrap().partitions().collect();
    let all: Vec<_> = all
        .iter()
        .map(|(partition, _)| (big, *partition, 1))
        .collect();
    let stale = set(&mut catalog, &all);
    assert_eq!(catalog.extras().len(), EXTRAS_MAX);
    assert_eq!(stale.len(), all.len() + 1 - EXTRAS_MAX);
}

#[test]
fn copies_more_end_with_the_partition_and_with_its_table() {
    let (mut catalog, table, hot) = with_table();
    set(&mut catalog, &[(table, hot, 1)]);
    catalog.apply(divide(table, hot)).unwrap();
    assert_eq!(catalog.extra(hot), 1, "it is one still");
    finish_split(&mut catalog, hot);
    assert_eq!(catalog.extras().len(), 0);
    let other = catalog.table("t").unwrap().partitions().last().unwrap().0;
    set(&mut catalog, &[(table, other, 1)]);
    let name = "t".to_owned();
    catalog.apply(Change::DropTable { name }).unwrap();
    assert_eq!(catalog.extras().len(), 0);
}

#[test]
fn halves_of_a_hot_partition_are_siblings_that_may_be_merged_again() {
    let (mut catalog, table, hot) = with_table();
    catalog.apply(divide(table, hot)).unwrap();
    finish_split(&mut catalog, hot);
    let t = catalog.table("t").unwrap();
    let leaves = t.map.partitions().leaves();
    let halves = [leaves[0].partition, leaves[1].partition];
    assert_eq!(catalog.hot_siblings(table), [halves]);
    assert!(catalog.grown_siblings(table).is_empty());
    let read = Catalog::decode(&catalog.encode()).unwrap();
    assert_eq!(read.hot_siblings(table), [halves]);
    catalog
        .apply(Change::SizeTable {
            name: "t".to_owned(),
            by_bricks: true,
        })
        .unwrap();
    assert!(
        catalog.hot_siblings(table).is_empty(),
        "its bricks need them"
    );
}

#[test]
fn copy_more_is_no_move_that_is_left_to_be_made() {
    let (mut catalog, table, hot) = with_table();
    let moves = |catalog: &Catalog| -> Vec<Move> {
        let all = catalog.plan(&BTreeSet::new()).moves(catalog);
        all.into_iter().filter(|it| it.table == table).collect()
    };
    let before = moves(&catalog);
    assert!(before.is_empty(), "{before:?}");
    set(&mut catalog, &[(table, hot, 1)]);
    let group = catalog.table("t").unwrap().map.group(hot).unwrap().clone();
    let nodes: Vec<_> = catalog
        .nodes()
        .map(|node| node.replica(brickyard_types::BrickId(0)))
        .collect();
    let other = nodes
        .into_iter()
        .find(|replica| group.in_sync().all(|it| it != *replica))
        .unwrap();
    let learners = crate::NewLearners {
        table,
        partition: hot,
        view: group.view,
        learners: vec![other],
    };
    catalog.apply(Change::from(vec![learners])).unwrap();
    let group = catalog.table("t").unwrap().map.group(hot).unwrap().clone();
    let mut all: Vec<_> = group.in_sync().collect();
    all.push(other);
    let mut proposal = crate::Proposal::of(table, hot, &group, &all);
    proposal.ground = crate::Ground::Promotion;
    proposal.learners.clear();
    catalog.apply(Change::from(vec![proposal])).unwrap();
    let view = catalog
        .table("t")
        .unwrap()
        .map
        .group(hot)
        .unwrap()
        .change
        .as_ref()
        .unwrap()
        .view;
    let settled = crate::Settled {
        table,
        partition: hot,
        view,
    };
    let applied = catalog.apply(Change::from(vec![settled])).unwrap();
    assert_eq!(applied.stale, []);
    assert_eq!(moves(&catalog), []);
    set(&mut catalog, &[(table, hot, 0)]);
    let moves = moves(&catalog);
    assert!(
        matches!(
            moves[..],
            [Move {
                from: Some(_),
                to: None,
                ..
            }]
        ),
        "{moves:?}"
    );
}
