use super::*;
use crate::fixture::cluster;
use crate::{Catalog, Cause, Change, Divide, NewLearners, NewTable, Proposal, Settled, SplitReady};
use brickyard_routing::{Group, Leaf, Replica};
use brickyard_types::UnixMillis;

/// Two nodes, and a table of four partitions with two replicas, one of which was split; and the two halves of it.
fn tables() -> (Catalog, [PartitionId; 2]) {
    let mut catalog = cluster(2, 1);
    let mut new = NewTable::named("t", 1, UnixMillis(0));
    new.partitions = Some(4);
    new.attributes.replicas = 2;
    catalog.apply(Change::CreateTable(new)).unwrap();
    let partition = leaves(&catalog)[1].partition;
    split(&mut catalog, partition);
    let leaves = leaves(&catalog);
    (catalog, [leaves[1].partition, leaves[2].partition])
}

fn leaves(catalog: &Catalog) -> Vec<Leaf> {
    let table = catalog.table("t").unwrap();
    table.map.partitions().leaves().to_vec()
}

fn split(catalog: &mut Catalog, partition: PartitionId) {
    let change = Change::SplitPartition {
        table: "t".to_owned(),
        partition,
    };
    catalog.apply(change).unwrap();
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

fn merge(partition: PartitionId) -> Change {
    Change::MergePartitions {
        table: "t".to_owned(),
        partition,
    }
}

fn rests(catalog: &Catalog, halves: [PartitionId; 2], ops: [u64; 2]) -> [Rest; 2] {
    let table = catalog.table("t").unwrap().id;
    [0, 1].map(|at| {
        let (view, begun_at) = catalog.rest_of(halves[at]).unwrap();
        Rest {
            table,
            partition: halves[at],
            view,
            begun_at,
            last: (view, Op(ops[at])),
        }
    })
}

fn finish(catalog: &mut Catalog, rests: [Rest; 2]) -> Vec<Stale> {
    let applied = catalog.apply(Change::from(vec![rests])).unwrap();
    applied.stale.into_iter().map(|it| it.reason).collect()
}

fn group(catalog: &Catalog, partition: PartitionId) -> Group {
    let table = catalog.table("t").unwrap();
    table.map.group(partition).unwrap().clone()
}

/// A view with these members, the primary first.
fn regroup(catalog: &mut Catalog, partition: PartitionId, replicas: &[Replica]) {
    let table = catalog.table("t").unwrap().id;
    let group = group(catalog, partition);
    let proposal = Proposal::of(table, partition, &group, replicas);
    let applied = catalog.apply(Change::from(vec![proposal])).unwrap();
    assert_eq!(applied.stale, []);
    settle(catalog, partition);
}

fn settle(catalog: &mut Catalog, partition: PartitionId) {
    let settled = Settled {
        table: catalog.table("t").unwrap().id,
        partition,
        view: group(catalog, partition).change.unwrap().view,
    };
    let applied = catalog.apply(Change::from(vec![settled])).unwrap();
    assert_eq!(applied.stale, []);
}

#[test]
fn whole_has_the_members_of_the_halves_in_a_view_after_both_and_ops_behind_both() {
    let (mut catalog, halves) = tables();
    let before = group(&catalog, halves[0]);
    let version = catalog.apply(merge(halves[1])).unwrap().version;
    // Until their primary is ready nothing has happened to them.
    assert_eq!(
        halves.map(|it| group(&catalog, it)),
        [(); 2].map(|()| before.clone())
    );
    let answers = rests(&catalog, halves, [70, 40]);
    assert_eq!(answers[0].begun_at, version);
    assert_eq!(finish(&mut catalog, answers), []);
    assert_eq!(catalog.version(), version.next());
    let whole = leaves(&catalog)[1];
    assert_eq!(whole.prefix.to_string(), "01*");
    let after = Group {
        view: View(before.view.0 + 1),
        ..before.clone()
    };
    assert_eq!(group(&catalog, whole.partition), after);
    for (half, op) in halves.iter().zip([70, 40]) {
        assert!(*half < whole.partition, "numbers rise");
        assert_eq!(catalog.parent(*half).unwrap().view, before.view);
        let merged = Merged {
            into: whole.partition,
            last: (before.view, Op(op)),
            baseline: (before.view, Op(70)),
            generation: 1,
        };
        assert_eq!(catalog.merged(*half), Some(&merged));
    }
    // Said again, it is too late.
    assert_eq!(finish(&mut catalog, answers), [Stale::Unknown]);
    assert_eq!(Catalog::decode(&catalog.encode()).unwrap(), catalog);
    // And it may be split again.
    split(&mut catalog, whole.partition);
}

#[test]
fn siblings_rest_when_one_brick_leads_both() {
    let (mut catalog, halves) = tables();
    let replicas: Vec<Replica> = group(&catalog, halves[1]).in_sync().collect();
    regroup(&mut catalog, halves[1], &[replicas[1], replicas[0]]);
    catalog.apply(merge(halves[0])).unwrap();
    assert_eq!(catalog.rests().count(), 0);
    assert_eq!(Catalog::decode(&catalog.encode()).unwrap(), catalog);
    regroup(&mut catalog, halves[1], &replicas);
    let answers = rests(&catalog, halves, [5, 5]);
    assert_eq!(answers[1].view, group(&catalog, halves[1]).view);
    assert_eq!(finish(&mut catalog, answers), []);
    let whole = leaves(&catalog)[1].partition;
    assert_eq!(group(&catalog, whole).view, View(answers[1].view.0 + 1));
}

#[test]
fn whatever_changes_the_members_of_either_ends_the_merge() {
    let (begun, halves) = {
        let (mut catalog, halves) = tables();
        catalog.apply(merge(halves[0])).unwrap();
        (catalog, halves)
    };
    let answers = rests(&begun, halves, [5, 5]);
    for half in halves {
        let table = begun.table("t").unwrap().id;
        let group = group(&begun, half);
        let proposal = Proposal::of(table, half, &group, &[group.primary]);
        let mut catalog = begun.clone();
        catalog.apply(Change::from(vec![proposal])).unwrap();
        assert_eq!(catalog.merges().len(), 0);
        assert_eq!(finish(&mut catalog, answers), [Stale::Unknown]);
        // Nor is another one begun meanwhile.
        let refused = catalog.apply(merge(half)).unwrap_err();
        assert!(matches!(refused, Refusal::PartitionChanging { .. }));
    }
    let mut catalog = begun.clone();
    catalog
        .apply(Change::Register(crate::fixture::registration(2, 1)))
        .unwrap();
    let third = catalog.nodes().last().unwrap();
    let learner = NewLearners {
        table: answers[0].table,
        partition: halves[1],
        view: answers[1].view,
        learners: vec![third.replica(brickyard_types::BrickId(0))],
    };
    let applied = catalog.apply(Change::from(vec![learner])).unwrap();
    assert_eq!(applied.stale, []);
    assert_eq!(catalog.merges().len(), 0, "what it has is copied first");
}

#[test]
fn answers_to_another_rest_do_not_count() {
    let (mut catalog, halves) = tables();
    catalog.apply(merge(halves[0])).unwrap();
    let answers = rests(&catalog, halves, [5, 5]);
    let mut other = answers;
    other[1].begun_at = other[1].begun_at.next();
    assert_eq!(finish(&mut catalog, other), [Stale::Unknown]);
    let mut other = answers;
    other[1].view = View(9);
    assert!(matches!(
        finish(&mut catalog, other)[..],
        [Stale::Base { .. }]
    ));
    let mut swapped = answers;
    swapped.swap(0, 1);
    assert_eq!(finish(&mut catalog, swapped), [Stale::Unknown]);
    assert_eq!(catalog.merges().len(), 1);
}

#[test]
fn merges_that_cannot_be_are_refused_with_what_to_do() {
    let (mut catalog, halves) = tables();
    let first = leaves(&catalog)[0].partition;
    let refused = catalog.apply(merge(first)).unwrap_err();
    assert!(matches!(refused, Refusal::FewestPartitions { .. }));
    let refused = catalog.apply(merge(PartitionId(77))).unwrap_err();
    assert!(matches!(refused, Refusal::UnknownPartition { .. }));
    split(&mut catalog, halves[1]);
    let refused = catalog.apply(merge(halves[0])).unwrap_err();
    assert!(matches!(refused, Refusal::SiblingSplit { .. }));
    // Asked for twice, of either, it is begun once; and neither is split meanwhile.
    let parts = [2, 3].map(|at| leaves(&catalog)[at].partition);
    let version = catalog.apply(merge(parts[0])).unwrap().version;
    assert_eq!(catalog.apply(merge(parts[1])).unwrap().version, version);
    let refused = catalog.apply(Change::SplitPartition {
        table: "t".to_owned(),
        partition: parts[1],
    });
    let refused = refused.unwrap_err();
    assert!(matches!(refused, Refusal::PartitionChanging { .. }));
}

#[test]
fn siblings_on_different_bricks_are_refused() {
    let (mut catalog, halves) = tables();
    let primary = group(&catalog, halves[0]).primary;
    regroup(&mut catalog, halves[0], &[primary]);
    let refused = catalog.apply(merge(halves[1])).unwrap_err();
    assert!(matches!(refused, Refusal::SiblingsApart { .. }));
}

#[test]
fn siblings_are_merged_by_themselves_only_if_the_last_split_of_theirs_was_for_size() {
    let (mut catalog, halves) = tables();
    let table = catalog.table("t").unwrap().id;
    assert!(catalog.grown_siblings(table).is_empty());
    let parts = |catalog: &Catalog| [2, 3].map(|at| leaves(catalog)[at].partition);
    let grown = Change::Divide(Divide {
        cause: Cause::Size,
        partitions: vec![(table, halves[1])],
    });
    catalog.apply(grown).unwrap();
    // The intent is there already.
    let split_of = catalog.split_of(halves[1]).unwrap();
    let ready = SplitReady {
        table,
        partition: halves[1],
        view: split_of.view,
        begun_at: split_of.begun_at,
    };
    catalog.apply(Change::from(vec![ready])).unwrap();
    let siblings = parts(&catalog);
    assert_eq!(catalog.grown_siblings(table), [siblings]);
    assert_eq!(Catalog::decode(&catalog.encode()).unwrap(), catalog);
    catalog.apply(merge(siblings[0])).unwrap();
    let answers = rests(&catalog, siblings, [5, 5]);
    assert_eq!(finish(&mut catalog, answers), []);
    // An operator wants it in two.
    let whole = leaves(&catalog)[2].partition;
    split(&mut catalog, whole);
    assert!(catalog.grown_siblings(table).is_empty());
}

#[test]
fn what_was_merged_is_forgotten_with_its_table() {
    let (mut catalog, halves) = tables();
    catalog.apply(merge(halves[0])).unwrap();
    let answers = rests(&catalog, halves, [5, 5]);
    assert_eq!(finish(&mut catalog, answers), []);
    let drop = Change::DropTable {
        name: "t".to_owned(),
    };
    catalog.apply(drop).unwrap();
    assert_eq!(catalog.all_merged().count(), 0);
    assert_eq!(catalog.parents().len(), 0);
    assert_eq!(Catalog::decode(&catalog.encode()).unwrap(), catalog);
}
