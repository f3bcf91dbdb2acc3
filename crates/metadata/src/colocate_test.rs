use super::*;
use crate::fixture::cluster;
use crate::{Catalog, Change, Ground, NewLearners, NewTable, Proposal, Settled, SplitReady};
use brickyard_routing::{Group, Replica};
use brickyard_types::{BrickId, UnixMillis};

/// Nodes with so many bricks, and a table of 16 partitions with two replicas, the first of which was split: its halves.
fn tables(nodes: u8, bricks: u32) -> (Catalog, [PartitionId; 2]) {
    let mut catalog = cluster(nodes, bricks);
    let mut new = NewTable::named("t", 1, UnixMillis(0));
    new.partitions = Some(16);
    new.attributes.replicas = 2;
    catalog.apply(Change::CreateTable(new)).unwrap();
    let partition = leaves(&catalog)[0].partition;
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
    catalog.apply(Change::from(vec![ready])).unwrap();
    let leaves = leaves(&catalog);
    (catalog, [leaves[0].partition, leaves[1].partition])
}

fn leaves(catalog: &Catalog) -> Vec<Leaf> {
    let table = catalog.table("t").unwrap();
    table.map.partitions().leaves().to_vec()
}

fn group(catalog: &Catalog, partition: PartitionId) -> Group {
    let table = catalog.table("t").unwrap();
    table.map.group(partition).unwrap().clone()
}

fn member(node: u32, brick: u32) -> Member {
    Member {
        node: NodeId(node),
        brick: BrickId(brick),
    }
}

fn replica(catalog: &Catalog, member: Member) -> Replica {
    catalog.node(member.node).unwrap().replica(member.brick)
}

fn set(members: &[Member]) -> BTreeSet<Member> {
    members.iter().copied().collect()
}

fn members(catalog: &Catalog, partition: PartitionId) -> BTreeSet<Member> {
    let group = group(catalog, partition);
    group.in_sync().map(|replica| replica.member).collect()
}

fn regroup(catalog: &mut Catalog, partition: PartitionId, mut proposal: Proposal) {
    proposal.learners.clear();
    let table = proposal.table;
    let applied = catalog.apply(Change::from(vec![proposal])).unwrap();
    assert_eq!(applied.stale, []);
    let view = group(catalog, partition).change.unwrap().view;
    let settled = Settled {
        table,
        partition,
        view,
    };
    catalog.apply(Change::from(vec![settled])).unwrap();
}

/// A brick learns a partition, and another member leaves it.
fn exchange(catalog: &mut Catalog, partition: PartitionId, out: Member, come: Member) {
    let table = catalog.table("t").unwrap().id;
    let come = replica(catalog, come);
    let learners = NewLearners {
        table,
        partition,
        view: group(catalog, partition).view,
        learners: vec![come],
    };
    let applied = catalog.apply(Change::from(vec![learners])).unwrap();
    assert_eq!(applied.stale, [], "a node holds a partition once");
    let before = group(catalog, partition);
    let all: Vec<Replica> = before.in_sync().chain([come]).collect();
    let promotion = Proposal {
        ground: Ground::Promotion,
        ..Proposal::of(table, partition, &before, &all)
    };
    regroup(catalog, partition, promotion);
    let before = group(catalog, partition);
    let left: Vec<Replica> = before.in_sync().filter(|it| it.member != out).collect();
    let proposal = Proposal::of(table, partition, &before, &left);
    regroup(catalog, partition, proposal);
}

/// Takes the steps that a plan asks for, one copy at a time, and counts them.
fn carry_out(catalog: &mut Catalog, partition: PartitionId, pairs: &Pairs) -> usize {
    for step in 0..8 {
        let plan = catalog.plan_colocated(&BTreeSet::new(), pairs);
        let target = set(plan.target(partition));
        let present = members(catalog, partition);
        let is_apart = |it: &&Member| present.iter().all(|other| other.node != it.node);
        let Some(come) = target.difference(&present).find(is_apart) else {
            assert_eq!(target, present);
            return step;
        };
        let out = present.difference(&target);
        // Who is in the way of another one goes first.
        let out = out.min_by_key(|it| target.iter().all(|other| other.node != it.node));
        exchange(catalog, partition, *out.unwrap(), *come);
    }
    panic!("it does not come to rest");
}

#[test]
fn right_one_goes_where_the_left_one_should_be_and_nothing_else_moves() {
    let (mut catalog, [left, right]) = tables(4, 1);
    let here = members(&catalog, left);
    let there: Vec<Member> = (0..4).map(|it| member(it, 0)).collect();
    let there: Vec<Member> = there.into_iter().filter(|it| !here.contains(it)).collect();
    for (out, come) in here.iter().zip(&there) {
        exchange(&mut catalog, right, *out, *come);
    }
    let table = catalog.table("t").unwrap();
    assert_eq!(table.siblings(right), Some([left, right]));
    assert!(!table.are_together([left, right]));
    // Both are well where they are, one by one.
    let plan = catalog.plan(&BTreeSet::new());
    assert_eq!(set(plan.target(right)), set(&there));
    let pairs = Pairs::from([(right, left)]);
    let plan = catalog.plan_colocated(&BTreeSet::new(), &pairs);
    assert_eq!(set(plan.target(right)), here);
    for leaf in leaves(&catalog).iter().filter(|it| it.partition != right) {
        let stays = members(&catalog, leaf.partition);
        assert_eq!(set(plan.target(leaf.partition)), stays);
    }
    assert_eq!(carry_out(&mut catalog, right, &pairs), 2);
    assert!(catalog.table("t").unwrap().are_together([left, right]));
}

#[test]
fn pair_that_is_none_changes_nothing() {
    let (catalog, [left, right]) = tables(4, 1);
    let other = leaves(&catalog)[2].partition;
    let plan = catalog.plan(&BTreeSet::new());
    for pair in [
        (other, left),
        (left, right),
        (right, other),
        (right, PartitionId(99)),
    ] {
        let pairs = Pairs::from([pair]);
        assert_eq!(catalog.plan_colocated(&BTreeSet::new(), &pairs), plan);
    }
}

/// Between two bricks of one node there would be no copy on it: one goes round by another node.
#[test]
fn copies_change_bricks_of_a_node_by_way_of_another_node() {
    let (mut catalog, [left, right]) = tables(3, 2);
    let here = members(&catalog, left);
    let free = (0..3).find(|it| here.iter().all(|other| other.node.0 != *it));
    let free = member(free.unwrap(), 0);
    for out in here.clone() {
        let sibling = member(out.node.0, 1 - out.brick.0);
        exchange(&mut catalog, right, out, free);
        exchange(&mut catalog, right, free, sibling);
    }
    assert!(members(&catalog, right).is_disjoint(&here));
    let pairs = Pairs::from([(right, left)]);
    assert_eq!(carry_out(&mut catalog, right, &pairs), 3);
    assert_eq!(members(&catalog, right), here);
}

#[test]
fn copies_stay_where_there_is_no_way_round() {
    let (mut catalog, [left, right]) = tables(3, 2);
    let here = members(&catalog, left);
    let free = (0..3).find(|it| here.iter().all(|other| other.node.0 != *it));
    let free = free.unwrap();
    let out = *here.first().unwrap();
    exchange(&mut catalog, right, out, member(free, 0));
    exchange(
        &mut catalog,
        right,
        member(free, 0),
        member(out.node.0, 1 - out.brick.0),
    );
    let present = members(&catalog, right);
    let pairs = Pairs::from([(right, left)]);
    let plan = catalog.plan_colocated(&BTreeSet::from([NodeId(free)]), &pairs);
    assert_eq!(set(plan.target(right)), present);
    assert_ne!(set(plan.target(left)), present);
}

#[test]
fn siblings_whose_merge_has_begun_count_as_one() {
    let (mut catalog, [left, right]) = tables(4, 1);
    let change = Change::MergePartitions {
        table: "t".to_owned(),
        partition: right,
    };
    catalog.apply(change).unwrap();
    let pairs = Pairs::from([(right, left)]);
    let plan = catalog.plan(&BTreeSet::new());
    assert_eq!(plan, catalog.plan_colocated(&BTreeSet::new(), &pairs));
    assert_eq!(set(plan.target(left)), set(plan.target(right)));
}
