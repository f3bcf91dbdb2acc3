use crate::controller::case::{Case, is_stable};
use crate::controller::proposals::propose;
use crate::controller::testing::{TABLE, World, first, ms, replica};
use crate::message::{DrainAsk, ToNode};
use crate::output::ControlOutput;
use brickyard_metadata::{CatalogVersion, Change, NewLearners};
use brickyard_routing::{NodeId, Replica};
use brickyard_types::{Durability, View};
use std::time::Duration;

/// Long enough for a lease to run out that was renewed a moment ago, with its margin.
const PAST_LEASE: Duration = Duration::from_millis(1_900);

#[test]
fn nothing_happens_while_all_is_well() {
    let mut world = World::new(3, 3, 8);
    world.run(Duration::from_secs(30));
    assert_eq!(world.proposed, []);
    assert_eq!(world.nodes[2].grants.len(), 100);
}

#[test]
fn partition_goes_on_without_a_node_whose_lease_ran_out() {
    let mut world = World::new(3, 3, 8);
    world.run(ms(3_000));
    world.nodes[0].is_up = false;
    world.run(ms(1_200));
    assert_eq!(world.proposed, [], "its lease has not run out yet");
    world.run_until(|world| world.group().view == View(2));
    assert_eq!(world.group().generation, 1);
    assert!(!world.in_sync().contains(&first(0)));
    world.run(PAST_LEASE);
    // All partitions in one batch, put into effect as their primaries accept; and these are spread.
    assert!(matches!(&world.proposed[0], Change::Decide(batch) if batch.proposals.len() == 8));
    assert!(world.proposed.len() <= 3, "{:?}", world.proposed);
    let groups = world.groups();
    for node in 1..3 {
        let primaries = groups.iter().filter(|group| group.primary == first(node));
        assert_eq!(primaries.count(), 4);
    }
}

/// Rule `a proposed view only stops`: a new leader counts on nothing that it was not told itself.
#[test]
fn new_leader_gives_everybody_time_to_ask() {
    let mut world = World::new(3, 3, 8);
    world.run(ms(3_000));
    world.nodes[0].is_up = false;
    world.run(ms(1_200));
    world.elect();
    world.run(ms(1_400));
    assert_eq!(world.proposed, []);
    world.run_until(|world| world.group().view == View(2));
}

/// Rule `a proposed view only stops`.
#[test]
fn acknowledgements_are_collected_afresh_by_a_new_leader() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.holds_proposals = true;
    world.propose(&[first(1), first(2)]);
    world.run(ms(300));
    assert!(
        matches!(&world.held[0].1, Change::Decide(decisions) if decisions.settled.len() == 1),
        "{:?}",
        world.held
    );
    // That leader is gone before it came to anything; the next one asks again, and 0 does not answer.
    world.nodes[0].is_up = false;
    world.elect();
    world.holds_proposals = false;
    world.run(ms(1_300));
    assert_eq!(world.group().view, View(1));
    assert!(world.group().change.is_some());
    world.run(ms(500));
    assert_eq!(world.group().view, View(2), "its lease ran out");
}

/// Rule `removed members are fenced`: everybody who is fenced, not only who was last.
#[test]
fn view_waits_for_all_whom_it_fences() {
    for who in [0, 1] {
        let mut world = World::new(3, 3, 1);
        world.run(ms(3_000));
        let before = world.catalog.version();
        world.nodes[who].stops_at = before;
        world.propose(&[first(2)]);
        world.run(ms(1_200));
        assert_eq!(world.group().view, View(1), "node {who} has not stopped");
        world.nodes[who].stops_at = CatalogVersion(u64::MAX);
        world.run(ms(400));
        assert_eq!(world.group().view, View(2));
    }
}

/// Rule `grants count for adopted maps`: who owes an acknowledgement does not hold up the view for longer than its
/// lease.
#[test]
fn member_that_does_not_stop_loses_its_lease() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.nodes[0].stops_at = world.catalog.version();
    world.propose(&[first(1), first(2)]);
    let granted = world.nodes[0].grants.len();
    world.run(ms(1_200));
    assert_eq!(world.group().view, View(1));
    // It asked all the time.
    assert_eq!(world.nodes[0].grants.len(), granted);
    world.run(ms(500));
    assert_eq!(world.group().view, View(2));
}

/// Rule `a primary accepts its view`.
#[test]
fn view_waits_for_its_primary_to_accept_it() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.nodes[1].accepts_at = world.catalog.version();
    world.propose(&[first(1), first(0), first(2)]);
    world.run(ms(5_000));
    assert_eq!(world.group().view, View(1));
    world.nodes[1].accepts_at = CatalogVersion(u64::MAX);
    world.run(ms(400));
    assert_eq!(world.group().view, View(2));
    assert_eq!(world.group().primary, first(1));
}

/// Rule `a hand-over fences nobody`: whoever stays in-sync need not stop.
#[test]
fn hand_over_waits_for_nobody_but_the_new_primary() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.nodes[0].stops_at = world.catalog.version();
    world.nodes[2].stops_at = world.catalog.version();
    world.propose(&[first(1), first(0), first(2)]);
    world.run(ms(400));
    assert_eq!(world.group().view, View(2));
}

/// Rule `a primary accepts its view`: accepted by another life is not accepted.
#[test]
fn view_whose_primary_restarts_is_given_up() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.nodes[1].accepts_at = world.catalog.version();
    world.propose(&[first(1), first(2)]);
    world.run(ms(300));
    let again = world.restart(1);
    world.run_until(World::is_settled);
    let group = world.group();
    assert_eq!((group.view, group.primary), (View(3), first(2)));
    assert!(!world.in_sync().contains(&again));
}

/// Rule `only the same machine proves death`.
#[test]
fn node_that_registers_again_from_its_own_directory_is_not_waited_for() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.restart(0);
    world.run(ms(350));
    assert_eq!(world.group().view, View(2));
}

/// Rule `only the same machine proves death`.
#[test]
fn node_that_registers_again_from_elsewhere_is_waited_for() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.restart_with(0, |it| it.machine.directory = (9, 9));
    world.run(ms(1_200));
    assert_eq!(world.group().view, View(1), "the former life may act still");
    assert!(world.group().change.is_some());
    world.run(ms(400));
    assert_eq!(world.group().view, View(2));
}

/// Rule `only the same machine proves death`: whatever a former life says is not listened to.
#[test]
fn former_life_is_told_that_it_is_over() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    let again = world.restart_with(0, |it| it.machine.directory = (9, 9));
    world.nodes[0].incarnation = first(0).incarnation;
    let granted = world.nodes[0].grants.len();
    world.sent.clear();
    world.run(ms(1_000));
    assert_eq!(
        world.group().view,
        View(1),
        "its word that it stopped is worth nothing"
    );
    assert_eq!(world.nodes[0].grants.len(), granted);
    let is_told = world.sent.iter().any(|(node, message)| {
        let ToNode::Superseded(it) = message else {
            return false;
        };
        *node == NodeId(0) && it.present == Some(again.incarnation)
    });
    assert!(is_told);
}

/// Rule `a hanging loop loses its lease`.
#[test]
fn hung_brick_is_taken_out_although_its_node_asks_for_its_lease() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.nodes[0].is_turning = false;
    world.run_until(|world| world.group().view == View(2));
    assert!(!world.in_sync().contains(&first(0)));
}

/// Rule `removed members are fenced`.
#[test]
fn two_that_fail_one_after_the_other_are_both_fenced() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.nodes[1].is_up = false;
    world.run(ms(600));
    world.nodes[0].is_up = false;
    // 2 does not accept, so that the first view stays proposed until 0 is gone as well.
    world.nodes[2].accepts_at = world.catalog.version();
    world.nodes[0].accepts_at = world.catalog.version();
    world.run_until(|world| {
        let change = world.group().change;
        change.is_some_and(|change| change.view == View(3))
    });
    let change = world.group().change.unwrap();
    assert_eq!(change.primary, first(2));
    assert_eq!(change.fenced, [first(0), first(1)]);
    world.nodes[2].accepts_at = CatalogVersion(u64::MAX);
    world.run_until(World::is_settled);
    assert_eq!(
        (world.group().view, world.in_sync()),
        (View(3), vec![first(2)])
    );
}

#[test]
fn one_proposal_is_out_at_a_time() {
    let mut world = World::new(3, 3, 8);
    world.run(ms(3_000));
    world.holds_proposals = true;
    world.nodes[0].is_up = false;
    world.run(Duration::from_secs(10));
    assert_eq!(world.held.len(), 1);
    let (token, change) = world.held.remove(0);
    // It came to nothing: it is decided again, though not at once.
    let lost = Err("lost".to_owned());
    world.controller.on_outcome(world.now, token, &lost);
    world.run(ms(50));
    assert_eq!(world.held.len(), 0);
    world.run(ms(100));
    assert_eq!(world.held[0].1, change);
    // An outcome of another proposal is none of this one.
    world.controller.on_outcome(world.now, token, &lost);
    world.run(ms(1_000));
    assert_eq!(world.held.len(), 1);
}

#[test]
fn batches_are_bounded() {
    let mut world = World::new(3, 3, 64);
    world.config.batch = 10;
    world.elect();
    world.run(ms(3_000));
    world.nodes[0].is_up = false;
    world.run_until(|world| {
        let groups = world.groups();
        groups
            .iter()
            .all(|group| group.view == View(2) && group.change.is_none())
    });
    for change in &world.proposed {
        if let Change::Decide(decisions) = change {
            assert!(decisions.count() <= 10, "{decisions:?}");
        }
    }
}

/// A cluster of one: nobody who might have taken its place.
#[test]
fn lone_voter_is_not_given_up_before_it_acts_by_a_catalog_with_company() {
    let mut world = World::new(2, 2, 1);
    world.nodes[0].stops_at = CatalogVersion(1);
    world.nodes[0].is_turning = false;
    world.run(Duration::from_secs(10));
    assert_eq!(world.proposed, [], "it may act without a lease");
    assert_eq!(world.steps, []);
    world.nodes[0].stops_at = CatalogVersion(u64::MAX);
    world.run_until(|world| world.group().view == View(2));
    assert_eq!(world.in_sync(), [first(1)]);
}

#[test]
fn one_lease_after_the_last_round_that_was_answered_nobody_has_a_lease() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.has_quorum = false;
    let granted = world.nodes[1].grants.len();
    world.run(ms(1_000));
    assert_eq!(world.nodes[1].grants.len(), granted);
    assert_eq!(replica(1, 2), first(1));
}

/// Whoever has reported is not made to wait for the next look at all nodes.
#[test]
fn report_that_was_waited_for_decides_at_once() {
    let mut world = World::with(3, 3, 1, |it| it.durability = Durability::Fsync);
    world.run(ms(3_000));
    for node in &mut world.nodes {
        node.is_up = false;
    }
    world.run(ms(2_000));
    world.nodes[2].summaries = vec![world.summary((1, 9))];
    world.restart(2);
    let asked = |world: &World| {
        let mut sent = world.sent.iter();
        sent.any(|(_, message)| matches!(message, ToNode::Report(_)))
    };
    while !asked(&world) {
        world.now = world.now + ms(10);
        world.tick();
    }
    assert!(!world.is_settled(), "{:?}", world.group());
}

/// What came to nothing is proposed again after a third of the time between two renewals.
#[test]
fn decision_that_failed_is_made_again_after_a_pause() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.holds_proposals = true;
    world.propose(&[first(1), first(2)]);
    world.run(ms(300));
    let [(token, _)] = world.held.as_slice() else {
        panic!("{:?}", world.held);
    };
    let (token, failed_at) = (*token, world.now);
    let lost = Err("no majority".to_owned());
    world.controller.on_outcome(failed_at, token, &lost);
    let proposed_at = |world: &mut World, after| {
        world.now = failed_at + ms(after);
        world.controller.run(world.now);
        world.carry_out();
        world.held.len()
    };
    assert_eq!(proposed_at(&mut world, 99), 1);
    assert_eq!(proposed_at(&mut world, 100), 2);
}

/// Members of a group that are handed partitions in one pass are each given their part.
#[test]
fn primaries_of_a_node_that_leaves_are_spread_in_one_pass() {
    let mut world = World::new(3, 3, 32);
    world.run(ms(3_000));
    let before = world.proposed.len();
    let ask = DrainAsk {
        node: NodeId(0),
        incarnation: world.nodes[0].incarnation,
    };
    world.controller.on_drain(world.now, ask, world.log);
    world.controller.run(world.now);
    world.carry_out();
    let Change::Decide(decisions) = &world.proposed[before] else {
        panic!("{:?}", world.proposed[before]);
    };
    let of_table = decisions.proposals.iter().filter(|it| it.table == TABLE);
    let mut given = std::collections::BTreeMap::new();
    for proposal in of_table {
        assert!(proposal.primary != first(0), "{proposal:?}");
        *given.entry(proposal.primary).or_insert(0) += 1;
    }
    assert_eq!(given.into_values().collect::<Vec<_>>(), [16, 16]);
}

/// A leader keeps nothing of lives that are over.
#[test]
fn lives_that_are_over_are_forgotten() {
    let mut world = World::new(3, 3, 4);
    world.run(ms(3_000));
    for _ in 0..3 {
        world.restart(1);
        world.run(ms(4_000));
    }
    world.restart(2);
    let told = format!("{:?}", world.controller.leases);
    let former = format!("({:?}, {:?})", NodeId(1), first(1).incarnation);
    assert!(!told.contains(&former), "{former} in {told}");
    let told = format!("{:?}", world.controller.recovery);
    let of_node = |it: Replica| it.member.node == NodeId(1) && told.contains(&format!("{it:?}"));
    let lives = (2..6).map(|it| replica(1, it)).filter(|it| of_node(*it));
    assert!(lives.count() <= 1, "{told}");
}

/// Voters that say nothing are asked again after a third of the time between two renewals.
#[test]
fn voters_that_are_silent_are_asked_again() {
    let mut world = World::new(3, 3, 4);
    world.elect();
    let begun = world.now;
    let mut asked_at = |after| {
        world.now = begun + ms(after);
        world.controller.run(world.now);
        let outputs = std::iter::from_fn(|| world.controller.poll());
        let is_query =
            |it: &ControlOutput| matches!(it, ControlOutput::Send(_, ToNode::LeaderContact(_)));
        outputs.filter(is_query).count()
    };
    assert_eq!([0, 99, 100, 199, 200].map(&mut asked_at), [3, 0, 3, 0, 3]);
}

#[test]
fn partition_is_stable_while_nobody_comes_or_goes() {
    let mut world = World::new(4, 2, 1);
    world.run(ms(3_000));
    let is_so = |world: &World| {
        let view = world.controller.view(world.now);
        is_stable(&world.catalog, &view, world.partition(), &world.group())
    };
    assert!(is_so(&world));
    let members = world.in_sync();
    let other = (0..4).map(first).find(|it| !members.contains(it));
    world.change(Change::from(vec![NewLearners {
        table: TABLE,
        partition: world.partition(),
        view: world.group().view,
        learners: vec![other.unwrap()],
    }]));
    assert!(!is_so(&world), "one learns");
    world.run_until(|world| world.group().learners.is_empty() && world.is_settled());
    assert!(is_so(&world));
    world.holds_proposals = true;
    world.propose(&[world.in_sync()[1], world.in_sync()[0]]);
    assert!(!is_so(&world), "its view changes");
}

/// The first view's primary leads on if the next one's dies before it leads.
#[test]
fn primary_stays_where_the_one_that_was_to_follow_it_fails() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.propose(&[first(2), first(0), first(1)]);
    world.run_until(World::is_settled);
    assert_eq!(world.group().primary, first(2));
    world.nodes[1].stops_at = world.catalog.version();
    world.nodes[1].is_up = false;
    world.propose(&[first(1), first(2), first(0)]);
    world.run(ms(4_000));
    assert_eq!(world.group().primary, first(2), "{:?}", world.group());
}

#[test]
#[should_panic = "two copies of"]
fn view_with_two_members_on_a_node_is_a_bug() {
    let world = World::of(3, 2, 2, 8, |_| ());
    let table = world.catalog.table("t").unwrap();
    let (partition, group) = table.partitions().next().unwrap();
    let case = Case {
        catalog: &world.catalog,
        view: &world.controller.view(world.now),
        table,
        partition,
        group,
    };
    let mut other = group.primary;
    other.member.brick.0 ^= 1;
    propose(&case, &[group.primary, other]);
}
