use crate::fixture::{cluster, registration};
use crate::{Catalog, Change, Move, NewLearners, NewTable, NodeAlteration, Proposal};
use brickyard_routing::{Member, NodeId, Replica};
use brickyard_types::{BrickId, UnixMillis};
use std::collections::{BTreeMap, BTreeSet};

fn member(node: u32) -> Member {
    Member {
        node: NodeId(node),
        brick: BrickId(0),
    }
}

/// `nodes` nodes, a table with two copies on the first `on` of them.
fn spread(nodes: u8, on: u8) -> Catalog {
    let mut catalog = cluster(on, 1);
    let mut new = NewTable::named("t", 1, UnixMillis(1));
    new.attributes.replicas = 2;
    new.partitions = Some(64);
    catalog.apply(Change::CreateTable(new)).unwrap();
    for number in on..nodes {
        let change = Change::Register(registration(number, 1));
        catalog.apply(change).unwrap();
    }
    catalog
}

fn copies(catalog: &Catalog) -> BTreeMap<u32, usize> {
    let table = catalog.table("t").unwrap();
    let plan = catalog.plan(&BTreeSet::new());
    let mut counts = BTreeMap::new();
    for (partition, _) in table.partitions() {
        for member in plan.target(partition) {
            *counts.entry(member.node.0).or_default() += 1;
        }
    }
    counts
}

#[test]
fn node_that_joined_is_given_its_share_of_every_table() {
    let catalog = spread(4, 3);
    assert_eq!(
        copies(&catalog),
        BTreeMap::from([(0, 32), (1, 32), (2, 32), (3, 32)])
    );
    let plan = catalog.plan(&BTreeSet::new());
    let table = catalog.table("t").unwrap();
    assert_eq!(catalog.misplaced(table, &plan), 32);
    let moves = plan.moves(&catalog);
    let copies = moves
        .iter()
        .filter(|it| it.table == table.id && !it.is_hand_over);
    assert!(
        copies
            .clone()
            .all(|it| it.to == Some(member(3)) && it.from.is_some())
    );
    // Also of the default table, which has one copy on the first node.
    let others = moves.iter().filter(|it| it.table != table.id);
    assert_eq!(others.count(), 192);
    // Whoever plans comes to the same.
    assert_eq!(plan, catalog.clone().plan(&BTreeSet::new()));
}

#[test]
fn node_without_weight_or_hope_is_left_out() {
    let mut catalog = spread(4, 4);
    assert_eq!(copies(&catalog).len(), 4);
    let lost = catalog.plan(&BTreeSet::from([NodeId(2)]));
    catalog
        .apply(Change::AlterNode {
            node: NodeId(2),
            alteration: NodeAlteration {
                weight: Some(0),
                ..NodeAlteration::default()
            },
        })
        .unwrap();
    assert_eq!(copies(&catalog).get(&2), None);
    let drained = catalog.plan(&BTreeSet::new());
    let table = catalog.table("t").unwrap();
    for (partition, _) in table.partitions() {
        assert_eq!(drained.target(partition), lost.target(partition));
        assert!(!drained.wants(partition, member(2)));
    }
}

#[test]
fn successor_gets_exactly_what_the_other_has() {
    let mut catalog = spread(3, 3);
    let mut empty = registration(3, 1);
    empty.weight = 0;
    catalog.apply(Change::Register(empty)).unwrap();
    let change = Change::ReplaceNode {
        old: NodeId(1),
        new: NodeId(3),
    };
    catalog.apply(change).unwrap();
    let plan = catalog.plan(&BTreeSet::new());
    let table = catalog.table("t").unwrap();
    for (partition, group) in table.partitions() {
        let stands_in = |replica: Replica| match replica.member {
            it if it == member(1) => member(3),
            it => it,
        };
        let wanted: BTreeSet<Member> = group.in_sync().map(stands_in).collect();
        let target: BTreeSet<Member> = plan.target(partition).iter().copied().collect();
        assert_eq!(target, wanted);
    }
}

/// A move goes on where it is, whoever looks at it.
#[test]
fn move_under_way_stays_the_plan() {
    let mut catalog = spread(4, 3);
    let plan = catalog.plan(&BTreeSet::new());
    let moves = plan.moves(&catalog);
    let table = catalog.table("t").unwrap().id;
    let first = *moves.iter().find(|it| it.table == table).unwrap();
    let partition = first.partition;
    let replica =
        |catalog: &Catalog, node: u32| catalog.node(NodeId(node)).unwrap().replica(BrickId(0));
    let group = |catalog: &Catalog| {
        let table = catalog.table("t").unwrap();
        table.map.group(partition).unwrap().clone()
    };
    let learners = NewLearners {
        table,
        partition,
        view: group(&catalog).view,
        learners: vec![replica(&catalog, 3)],
    };
    let applied = catalog.apply(Change::from(vec![learners])).unwrap();
    assert_eq!(applied.stale, []);
    let next = catalog.plan(&BTreeSet::new());
    assert_eq!(next.target(partition).len(), 2);
    assert!(next.wants(partition, member(3)));
    assert!(!next.wants(partition, first.from.unwrap()));
    // It is still to be done, and counts no less than before.
    let count = |moves: &[Move]| moves.iter().filter(|it| !it.is_hand_over).count();
    assert_eq!(count(&next.moves(&catalog)), count(&moves));
    let mut in_sync: Vec<Replica> = group(&catalog).in_sync().collect();
    in_sync.push(replica(&catalog, 3));
    let mut proposal = Proposal::of(table, partition, &group(&catalog), &in_sync);
    proposal.ground = crate::Ground::Promotion;
    proposal.learners.clear();
    let applied = catalog.apply(Change::from(vec![proposal])).unwrap();
    assert_eq!(applied.stale, []);
    let last = catalog.plan(&BTreeSet::new());
    assert!(!last.wants(partition, first.from.unwrap()));
}
