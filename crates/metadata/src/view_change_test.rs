use super::*;
use crate::fixture::{again, cluster, registration};
use crate::{Catalog, Change, Decisions, NewTable, Registration};
use brickyard_routing::{Member, NodeId};
use brickyard_types::{BrickId, Incarnation, TableAttributes, UnixMillis};

const TABLE: TableId = TableId(2);

/// One partition on nodes 0 (primary), 1 and 2 of four.
fn world(durability: Durability) -> (Catalog, PartitionId) {
    let mut catalog = cluster(4, 1);
    let mut new = NewTable::named("t", 1, UnixMillis(1));
    new.attributes = TableAttributes {
        replicas: 3,
        durability,
        ..TableAttributes::default()
    };
    catalog.apply(Change::CreateTable(new)).unwrap();
    let partition = catalog.table("t").unwrap().map.partitions().leaves()[0].partition;
    (catalog, partition)
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

/// Nodes register in order, so each one's first life has its number plus one.
fn first(node: u32) -> Replica {
    replica(node, u64::from(node) + 1)
}

fn group(catalog: &Catalog, partition: PartitionId) -> Group {
    let table = catalog.table("t").unwrap();
    table.map.group(partition).unwrap().clone()
}

fn proposal(catalog: &Catalog, partition: PartitionId, in_sync: &[Replica]) -> Proposal {
    Proposal::of(TABLE, partition, &group(catalog, partition), in_sync)
}

/// Applies one decision: why it is stale, or what became of the group.
fn decide(catalog: &mut Catalog, partition: PartitionId, change: Change) -> Result<Group, Stale> {
    let before = catalog.clone();
    let applied = catalog.apply(change).unwrap();
    assert_eq!(applied.version, catalog.version());
    match applied.stale.first() {
        Some(stale) => {
            assert_eq!(*catalog, before, "what is stale changes nothing");
            assert_eq!(stale.partition, partition);
            Err(stale.reason.clone())
        }
        None => Ok(group(catalog, partition)),
    }
}

fn propose(catalog: &mut Catalog, proposal: Proposal) -> Result<Group, Stale> {
    let partition = proposal.partition;
    decide(catalog, partition, Change::from(vec![proposal]))
}

fn settle(catalog: &mut Catalog, partition: PartitionId, view: u32) -> Result<Group, Stale> {
    let settled = Settled {
        table: TABLE,
        partition,
        view: View(view),
    };
    decide(catalog, partition, Change::from(vec![settled]))
}

fn learn(
    catalog: &mut Catalog,
    partition: PartitionId,
    learners: &[Replica],
) -> Result<Group, Stale> {
    let new = NewLearners {
        table: TABLE,
        partition,
        view: group(catalog, partition).view,
        learners: learners.to_vec(),
    };
    decide(catalog, partition, Change::from(vec![new]))
}

fn restart(catalog: &mut Catalog, node: u8) {
    restart_with(catalog, node, |_| ());
}

fn restart_with(catalog: &mut Catalog, node: u8, change: impl FnOnce(&mut Registration)) {
    let known = catalog.node(NodeId(u32::from(node))).unwrap();
    let mut next = again(&known.registration);
    change(&mut next);
    catalog.apply(Change::Register(next)).unwrap();
}

/// Rule `a proposed view only stops`.
#[test]
fn proposed_view_is_not_in_effect() {
    let (mut catalog, p) = world(Durability::Log);
    let before = group(&catalog, p);
    let next = proposal(&catalog, p, &[first(1), first(2)]);
    let after = propose(&mut catalog, next).unwrap();
    assert_eq!(after.view, before.view);
    assert_eq!(after.primary, before.primary);
    let change = after.change.as_ref().unwrap();
    assert_eq!(change.view, View(2));
    assert_eq!(change.fenced, [first(0)]);
    assert_eq!(change.proposed_at, catalog.version().0);
    let after = settle(&mut catalog, p, 2).unwrap();
    assert_eq!((after.view, after.primary), (View(2), first(1)));
    assert_eq!(after.change, None);
}

/// Rule `a proposed view only stops`.
#[test]
fn proposal_whose_base_has_moved_is_refused() {
    let (mut catalog, p) = world(Durability::Log);
    let late = proposal(&catalog, p, &[first(0), first(1)]);
    let next = proposal(&catalog, p, &[first(1), first(2), first(0)]);
    propose(&mut catalog, next).unwrap();
    let pending = Stale::Pending {
        named: None,
        is: Some(View(2)),
    };
    assert_eq!(propose(&mut catalog, late.clone()), Err(pending));
    settle(&mut catalog, p, 2).unwrap();
    let base = Stale::Base {
        named: View(1),
        is: View(2),
    };
    assert_eq!(propose(&mut catalog, late), Err(base));
}

#[test]
fn view_takes_effect_once_and_only_as_proposed() {
    let (mut catalog, p) = world(Durability::Log);
    assert!(matches!(
        settle(&mut catalog, p, 2),
        Err(Stale::Pending { .. })
    ));
    let next = proposal(&catalog, p, &[first(1), first(0), first(2)]);
    propose(&mut catalog, next).unwrap();
    assert!(matches!(
        settle(&mut catalog, p, 3),
        Err(Stale::Pending { .. })
    ));
    settle(&mut catalog, p, 2).unwrap();
    assert!(matches!(
        settle(&mut catalog, p, 2),
        Err(Stale::Pending { .. })
    ));
}

/// Rule `removed members are fenced`.
#[test]
fn all_who_might_act_in_an_earlier_view_are_fenced() {
    let (mut catalog, p) = world(Durability::Log);
    // v2 without 1 is pending; v3 without 0 takes its place.
    let next = proposal(&catalog, p, &[first(0), first(2)]);
    assert_eq!(
        propose(&mut catalog, next).unwrap().change.unwrap().fenced,
        [first(1)]
    );
    let next = proposal(&catalog, p, &[first(2)]);
    let change = propose(&mut catalog, next).unwrap().change.unwrap();
    assert_eq!(
        (change.view, change.fenced),
        (View(3), vec![first(0), first(1)])
    );
}

/// Rule `removed members are fenced`: also those who are in-sync in a pending view alone.
#[test]
fn learner_whose_promotion_is_given_up_is_fenced() {
    let (mut catalog, p) = world(Durability::Log);
    learn(&mut catalog, p, &[first(3)]).unwrap();
    let mut next = proposal(&catalog, p, &[first(0), first(1), first(2), first(3)]);
    next.ground = Ground::Promotion;
    next.learners.clear();
    let change = propose(&mut catalog, next).unwrap().change.unwrap();
    assert_eq!(change.fenced, []);
    let mut next = proposal(&catalog, p, &[first(1), first(2)]);
    next.learners = vec![first(3)];
    let change = propose(&mut catalog, next).unwrap().change.unwrap();
    assert_eq!(change.fenced, [first(0), first(3)]);
    // And they stay so over the next one.
    let next = proposal(&catalog, p, &[first(2)]);
    let change = propose(&mut catalog, next).unwrap().change.unwrap();
    assert_eq!(change.fenced, [first(0), first(1), first(3)]);
}

/// Rule `a hand-over fences nobody`.
#[test]
fn member_that_becomes_a_learner_is_fenced_and_a_handed_over_primary_is_not() {
    let (mut catalog, p) = world(Durability::Log);
    let mut next = proposal(&catalog, p, &[first(0), first(2)]);
    next.learners = vec![first(1)];
    assert_eq!(
        propose(&mut catalog, next).unwrap().change.unwrap().fenced,
        [first(1)]
    );
    settle(&mut catalog, p, 2).unwrap();
    let next = proposal(&catalog, p, &[first(2), first(0)]);
    assert_eq!(
        propose(&mut catalog, next).unwrap().change.unwrap().fenced,
        []
    );
}

/// Rule `learner votes before promotion`.
#[test]
fn promotion_is_of_one_learner_and_nothing_else() {
    let (mut catalog, p) = world(Durability::Log);
    let promoted = [first(0), first(1), first(2), first(3)];
    let promotion = |catalog: &Catalog, in_sync: &[Replica]| Proposal {
        ground: Ground::Promotion,
        learners: Vec::new(),
        ..proposal(catalog, p, in_sync)
    };
    let next = promotion(&catalog, &promoted);
    let replica = first(3);
    assert_eq!(
        propose(&mut catalog, next),
        Err(Stale::NotLearner { replica })
    );
    learn(&mut catalog, p, &[first(3)]).unwrap();
    // Nobody becomes in-sync by another name.
    let next = proposal(&catalog, p, &[first(0), first(1), first(3)]);
    let crowded = Proposal {
        learners: Vec::new(),
        ..next
    };
    assert_eq!(
        propose(&mut catalog, crowded),
        Err(Stale::NotInSync { replica })
    );
    for (in_sync, why) in [
        (vec![first(0), first(1), first(3)], "a removal"),
        (vec![first(1), first(0), first(2), first(3)], "a hand-over"),
        (vec![first(0), first(1), first(2)], "nobody"),
    ] {
        let next = promotion(&catalog, &in_sync);
        assert_eq!(propose(&mut catalog, next), Err(Stale::Combined), "{why}");
    }
    let next = promotion(&catalog, &promoted);
    // The primary asked before a change began.
    let other = proposal(&catalog, p, &[first(0), first(1)]);
    let mut during = catalog.clone();
    propose(&mut during, other).unwrap();
    assert!(matches!(
        propose(&mut during, next.clone()),
        Err(Stale::Pending { .. })
    ));
    let next_there = Proposal {
        pending: Some(View(2)),
        ..next.clone()
    };
    assert!(matches!(
        propose(&mut during, next_there),
        Err(Stale::Pending { .. })
    ));
    let after = propose(&mut catalog, next).unwrap();
    assert_eq!(after.change.unwrap().backups, promoted[1..]);
}

/// Rules `learner votes before promotion` and `members name an incarnation`.
#[test]
fn learner_that_restarted_is_not_promoted() {
    let (mut catalog, p) = world(Durability::Log);
    learn(&mut catalog, p, &[first(3)]).unwrap();
    let mut next = proposal(&catalog, p, &[first(0), first(1), first(2), first(3)]);
    next.ground = Ground::Promotion;
    next.learners.clear();
    restart(&mut catalog, 3);
    let replica = first(3);
    assert_eq!(propose(&mut catalog, next), Err(Stale::Life { replica }));
}

/// Rule `members name an incarnation`.
#[test]
fn only_present_lives_are_members_of_new_views() {
    let (mut catalog, p) = world(Durability::Log);
    restart(&mut catalog, 1);
    for in_sync in [[first(0), first(1)], [first(1), first(0)]] {
        let next = proposal(&catalog, p, &in_sync);
        let replica = first(1);
        assert_eq!(propose(&mut catalog, next), Err(Stale::Life { replica }));
    }
    // The new life is not the member that the old one was.
    let next = proposal(&catalog, p, &[first(0), replica(1, 5)]);
    let replica = replica(1, 5);
    assert_eq!(
        propose(&mut catalog, next),
        Err(Stale::NotInSync { replica })
    );
    for learner in [first(1), replica] {
        let crowded = Err(Stale::Crowded { replica: learner });
        assert_eq!(learn(&mut catalog, p, &[learner]), crowded);
    }
    restart(&mut catalog, 3);
    let replica = first(3);
    assert_eq!(
        learn(&mut catalog, p, &[replica]),
        Err(Stale::Life { replica })
    );
}

/// Rule `a primary accepts its view`.
#[test]
fn view_whose_primary_restarted_does_not_take_effect() {
    let (mut catalog, p) = world(Durability::Log);
    let next = proposal(&catalog, p, &[first(1), first(2)]);
    propose(&mut catalog, next).unwrap();
    restart(&mut catalog, 1);
    let replica = first(1);
    assert_eq!(settle(&mut catalog, p, 2), Err(Stale::Life { replica }));
}

/// Rule `a restart cuts nothing`.
#[test]
fn full_restart_goes_on_with_one_former_member() {
    let (mut catalog, p) = world(Durability::Log);
    let restarted = |catalog: &Catalog, in_sync: &[Replica]| Proposal {
        ground: Ground::Restart,
        learners: Vec::new(),
        ..proposal(catalog, p, in_sync)
    };
    // One that did not restart, and one that was never in-sync.
    restart(&mut catalog, 3);
    for one in [first(0), replica(3, 5)] {
        let next = restarted(&catalog, &[one]);
        assert!(matches!(
            propose(&mut catalog, next),
            Err(Stale::NotInSync { .. })
        ));
    }
    for node in 0..3 {
        restart(&mut catalog, node);
    }
    let next = restarted(&catalog, &[replica(2, 8), replica(1, 7)]);
    assert!(matches!(
        propose(&mut catalog, next),
        Err(Stale::NotInSync { .. })
    ));
    let next = restarted(&catalog, &[replica(2, 8)]);
    let change = propose(&mut catalog, next).unwrap().change.unwrap();
    assert_eq!(change.fenced, [first(0), first(1), first(2)]);
    let after = settle(&mut catalog, p, 2).unwrap();
    assert_eq!(
        (after.primary, after.backups.len(), after.generation),
        (replica(2, 8), 0, 1)
    );
}

/// Rule `lost memory begins a generation`.
#[test]
fn what_was_in_memory_alone_begins_anew_in_another_history() {
    let (mut catalog, p) = world(Durability::Memory);
    let alone = |catalog: &Catalog, ground, one: Replica| Proposal {
        ground,
        learners: Vec::new(),
        ..proposal(catalog, p, &[one])
    };
    for node in 0..2 {
        restart(&mut catalog, node);
    }
    let next = alone(&catalog, Ground::Lost, replica(1, 6));
    assert_eq!(
        propose(&mut catalog, next),
        Err(Stale::Alive { replica: first(2) })
    );
    restart(&mut catalog, 2);
    let next = alone(&catalog, Ground::Restart, replica(1, 6));
    assert_eq!(propose(&mut catalog, next), Err(Stale::Durability));
    let next = alone(&catalog, Ground::Lost, first(3));
    let after = propose(&mut catalog, next).unwrap();
    assert_eq!((after.generation, after.change.unwrap().generation), (1, 2));
    let after = settle(&mut catalog, p, 2).unwrap();
    assert_eq!((after.primary, after.generation), (first(3), 2));
    // A log is never declared lost but by an operator.
    let (mut catalog, p) = world(Durability::Log);
    for node in 0..3 {
        restart(&mut catalog, node);
    }
    let next = Proposal {
        ground: Ground::Lost,
        learners: Vec::new(),
        ..proposal(&catalog, p, &[replica(1, 6)])
    };
    assert_eq!(propose(&mut catalog, next), Err(Stale::Durability));
}

/// Rule `forced recovery begins a generation`.
#[test]
fn forced_recovery_begins_another_history_above_all_views_that_were_seen() {
    let (mut catalog, p) = world(Durability::Log);
    let next = Proposal {
        ground: Ground::Forced,
        learners: Vec::new(),
        floor: View(80),
        ..proposal(&catalog, p, &[first(3)])
    };
    let change = propose(&mut catalog, next).unwrap().change.unwrap();
    assert_eq!((change.view, change.generation), (View(81), 2));
    // Given up, its number is not used again either.
    let next = proposal(&catalog, p, &[first(0), first(1)]);
    let change = propose(&mut catalog, next).unwrap().change.unwrap();
    assert_eq!((change.view, change.generation), (View(82), 1));
}

#[test]
fn learners_come_and_go_without_a_view() {
    let (mut catalog, p) = world(Durability::Log);
    let after = learn(&mut catalog, p, &[first(3)]).unwrap();
    assert_eq!((after.view, after.learners), (View(1), vec![first(3)]));
    let after = learn(&mut catalog, p, &[]).unwrap();
    assert_eq!(after.learners, []);
    assert!(matches!(
        learn(&mut catalog, p, &[first(2)]),
        Err(Stale::Crowded { .. })
    ));
    let next = proposal(&catalog, p, &[first(0), first(1)]);
    propose(&mut catalog, next).unwrap();
    assert!(matches!(
        learn(&mut catalog, p, &[first(3)]),
        Err(Stale::Pending { .. })
    ));
}

#[test]
fn stale_decision_does_not_take_the_others_with_it() {
    let (mut catalog, _) = world(Durability::Log);
    let leaves: Vec<PartitionId> = catalog
        .table("t")
        .unwrap()
        .map
        .partitions()
        .leaves()
        .iter()
        .map(|leaf| leaf.partition)
        .collect();
    let mut batch: Vec<Proposal> = leaves[..3]
        .iter()
        .map(|&p| {
            let is = group(&catalog, p);
            let in_sync = [is.primary, is.backups[0]];
            Proposal::of(TABLE, p, &is, &in_sync)
        })
        .collect();
    batch[1].base = View(9);
    // The same twice: the second comes too late.
    batch.push(batch[0].clone());
    let (version, map) = (catalog.version(), catalog.table("t").unwrap().map.version());
    let applied = catalog.apply(Change::from(batch)).unwrap();
    let stale: Vec<PartitionId> = applied.stale.iter().map(|it| it.partition).collect();
    assert_eq!(stale, [leaves[1], leaves[0]]);
    assert_eq!(catalog.version(), version.next());
    assert_eq!(catalog.table("t").unwrap().map.version(), map.next());
    assert!(group(&catalog, leaves[0]).change.is_some());
    assert!(group(&catalog, leaves[1]).change.is_none());
    let unknown = Settled {
        table: TABLE,
        partition: PartitionId(1),
        view: View(2),
    };
    let applied = catalog.apply(Change::from(vec![unknown])).unwrap();
    assert_eq!(applied.stale[0].reason, Stale::Unknown);
}

#[test]
fn decisions_of_all_kinds_are_one_state() {
    let (mut catalog, _) = world(Durability::Log);
    let leaves = catalog.table("t").unwrap().map.partitions().leaves();
    let [settles, changes, learns] = [0, 1, 2].map(|at: usize| leaves[at].partition);
    let next = |catalog: &Catalog, p| proposal(catalog, p, &[first(0), first(1)]);
    let under_way = next(&catalog, settles);
    propose(&mut catalog, under_way).unwrap();
    let learners = |partition, view| NewLearners {
        table: TABLE,
        partition,
        view,
        learners: vec![first(3)],
    };
    let decisions = Decisions {
        settled: vec![Settled {
            table: TABLE,
            partition: settles,
            view: View(2),
        }],
        splits: Vec::new(),
        merges: Vec::new(),
        proposals: vec![next(&catalog, changes)],
        // Of one of them the view is over: it comes after what puts the next one into effect.
        learners: vec![learners(learns, View(1)), learners(settles, View(1))],
    };
    assert_eq!(decisions.count(), 4);
    let mut few = decisions.clone();
    few.truncate(2);
    assert_eq!(
        (few.settled.len(), few.proposals.len(), few.count()),
        (1, 1, 2)
    );
    let applied = catalog.apply(Change::Decide(decisions)).unwrap();
    assert_eq!(applied.version, catalog.version());
    let stale: Vec<PartitionId> = applied.stale.iter().map(|it| it.partition).collect();
    assert_eq!(stale, [settles]);
    assert_eq!(group(&catalog, settles).view, View(2));
    let change = group(&catalog, changes).change.unwrap();
    assert!(change.proposed_at <= catalog.version().0);
    assert_eq!(group(&catalog, learns).learners, [first(3)]);
}

#[test]
fn node_is_removed_once_no_group_names_it() {
    let (mut catalog, p) = world(Durability::Log);
    let remove = |node, force| Change::RemoveNode {
        node: NodeId(node),
        force,
    };
    let refusal = catalog.apply(remove(2, false)).unwrap_err().to_string();
    assert!(refusal.starts_with("node 2 is named by "), "{refusal}");
    assert!(
        catalog
            .apply(remove(9, false))
            .unwrap_err()
            .to_string()
            .starts_with("node 9 is not")
    );
    catalog.apply(remove(2, true)).unwrap();
    assert_eq!(catalog.node(NodeId(2)), None);
    // It is nobody now, and what is stored of it is believed still.
    assert!(!catalog.is_current(first(2)) && !catalog.is_proven_dead(first(2)));
    assert_eq!(Catalog::decode(&catalog.encode()).unwrap(), catalog);
    let next = proposal(&catalog, p, &[first(0), first(1)]);
    assert_eq!(
        propose(&mut catalog, next).unwrap().change.unwrap().fenced,
        [first(2)]
    );
    // With the same directory it is another node from now on.
    let applied = catalog
        .apply(Change::Register(again(&registration(2, 1))))
        .unwrap();
    assert_eq!(applied.registered.unwrap().node, NodeId(4));
}

#[test]
fn last_node_with_a_weight_stays() {
    let mut catalog = cluster(2, 1);
    let empty = |node| Change::AlterNode {
        node: NodeId(node),
        alteration: crate::NodeAlteration {
            weight: Some(0),
            ..crate::NodeAlteration::default()
        },
    };
    catalog.apply(empty(0)).unwrap();
    assert_eq!(catalog.node(NodeId(0)).unwrap().weight(), 0);
    for change in [
        empty(1),
        Change::RemoveNode {
            node: NodeId(1),
            force: true,
        },
    ] {
        let refusal = catalog.apply(change).unwrap_err().to_string();
        assert!(
            refusal.starts_with("node 1 is the only one with a weight"),
            "{refusal}"
        );
    }
}
