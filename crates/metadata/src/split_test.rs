use super::*;
use crate::fixture::cluster;
use crate::{Catalog, Change, NewTable, Proposal};
use brickyard_types::UnixMillis;

/// Two nodes, and a table of four partitions; and one of its partitions.
fn tables() -> (Catalog, PartitionId) {
    let mut catalog = cluster(2, 1);
    let change = Change::CreateTable(NewTable {
        partitions: Some(4),
        ..NewTable::named("t", 1, UnixMillis(0))
    });
    catalog.apply(change).unwrap();
    let partition = catalog.table("t").unwrap().partitions().nth(1).unwrap().0;
    (catalog, partition)
}

fn split(partition: PartitionId) -> Change {
    Change::SplitPartition {
        table: "t".to_owned(),
        partition,
    }
}

fn ready(catalog: &Catalog, partition: PartitionId) -> SplitReady {
    let split = catalog.split_of(partition).unwrap();
    SplitReady {
        table: split.table,
        partition,
        view: split.view,
        begun_at: split.begun_at,
    }
}

fn finish(catalog: &mut Catalog, ready: SplitReady) -> Vec<Stale> {
    let applied = catalog.apply(Change::from(vec![ready])).unwrap();
    applied.stale.into_iter().map(|it| it.reason).collect()
}

fn group(catalog: &Catalog, partition: PartitionId) -> Group {
    let table = catalog.table("t").unwrap();
    table.map.group(partition).unwrap().clone()
}

#[test]
fn halves_have_the_members_of_the_whole_in_the_view_after_its_last() {
    let (mut catalog, partition) = tables();
    let before = group(&catalog, partition);
    let version = catalog.apply(split(partition)).unwrap().version;
    // Until its primary is ready nothing has happened to it.
    assert_eq!(group(&catalog, partition), before);
    let answer = ready(&catalog, partition);
    assert_eq!(answer.begun_at, version);
    let halves = catalog.split_of(partition).unwrap().halves;
    assert_eq!(finish(&mut catalog, answer), []);
    assert_eq!(catalog.version(), version.next());
    for half in halves {
        let after = Group {
            view: View(before.view.0 + 1),
            ..before.clone()
        };
        assert_eq!(group(&catalog, half), after);
    }
    let table = catalog.table("t").unwrap();
    assert_eq!(table.map.group(partition), None);
    assert_eq!(table.partitions().len(), 5);
    let parent = catalog.parent(partition).unwrap();
    assert_eq!((parent.view, parent.table), (before.view, table.id));
    assert_eq!(parent.prefix().to_string(), "01*");
    // Said again, it is too late.
    assert_eq!(finish(&mut catalog, answer), [Stale::Unknown]);
    assert_eq!(Catalog::decode(&catalog.encode()).unwrap(), catalog);
}

#[test]
fn view_change_ends_the_split_and_an_answer_to_it_comes_too_late() {
    let (mut catalog, partition) = tables();
    catalog.apply(split(partition)).unwrap();
    let answer = ready(&catalog, partition);
    let group = group(&catalog, partition);
    let table = answer.table;
    let other = Proposal::of(table, partition, &group, &[group.primary]);
    let applied = catalog.apply(Change::from(vec![other])).unwrap();
    assert_eq!(applied.stale, []);
    assert_eq!(catalog.split_of(partition), None);
    assert_eq!(finish(&mut catalog, answer), [Stale::Unknown]);
    // Nor is another one begun meanwhile.
    let refused = catalog.apply(split(partition)).unwrap_err();
    assert!(matches!(refused, Refusal::PartitionChanging { .. }));
}

#[test]
fn answer_to_another_split_of_the_view_does_not_count() {
    let (mut catalog, partition) = tables();
    catalog.apply(split(partition)).unwrap();
    let answer = ready(&catalog, partition);
    let other = SplitReady {
        begun_at: answer.begun_at.next(),
        ..answer
    };
    assert_eq!(finish(&mut catalog, other), [Stale::Unknown]);
    let other = SplitReady {
        view: View(answer.view.0 + 1),
        ..answer
    };
    assert!(matches!(
        finish(&mut catalog, other)[..],
        [Stale::Base { .. }]
    ));
    assert!(catalog.split_of(partition).is_some());
}

#[test]
fn ids_of_partitions_are_never_used_again() {
    let (mut catalog, partition) = tables();
    let mut met = vec![partition];
    let mut at = partition;
    for _ in 0..12 {
        catalog.apply(split(at)).unwrap();
        let answer = ready(&catalog, at);
        let halves = catalog.split_of(at).unwrap().halves;
        assert!(halves.iter().all(|half| !met.contains(half)));
        met.extend(halves);
        assert_eq!(finish(&mut catalog, answer), []);
        at = halves[1];
    }
    // It is one slot now.
    let refused = catalog.apply(split(at)).unwrap_err();
    let expected = Refusal::SplitTooDeep {
        partition: at.0,
        is_slot: true,
    };
    assert_eq!(refused, expected);
    assert_eq!(catalog.parents().len(), 12);
    assert_eq!(Catalog::decode(&catalog.encode()).unwrap(), catalog);
}

#[test]
fn dropped_table_takes_what_was_known_of_its_splits_along() {
    let (mut catalog, partition) = tables();
    catalog.apply(split(partition)).unwrap();
    let answer = ready(&catalog, partition);
    finish(&mut catalog, answer);
    let (next, _) = catalog.table("t").unwrap().partitions().next().unwrap();
    catalog.apply(split(next)).unwrap();
    let name = "t".to_owned();
    catalog.apply(Change::DropTable { name }).unwrap();
    assert_eq!((catalog.splits().len(), catalog.parents().len()), (0, 0));
}

#[test]
fn splits_of_what_is_not_there_are_refused_with_what_to_do() {
    let (mut catalog, partition) = tables();
    let elsewhere = Change::SplitPartition {
        table: "default".to_owned(),
        partition,
    };
    let refused = catalog.apply(elsewhere).unwrap_err();
    assert!(matches!(refused, Refusal::UnknownPartition { .. }));
    let nowhere = Change::SplitPartition {
        table: "x".to_owned(),
        partition,
    };
    let refused = catalog.apply(nowhere).unwrap_err();
    assert!(matches!(refused, Refusal::UnknownTable { .. }));
    // Asked for twice it is begun once.
    let version = catalog.apply(split(partition)).unwrap().version;
    assert_eq!(catalog.apply(split(partition)).unwrap().version, version);
}
