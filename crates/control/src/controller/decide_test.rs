use crate::controller::testing::{World, first, ms, seat};
use crate::message::ToNode;
use brickyard_metadata::{CatalogVersion, Change};
use brickyard_routing::NodeId;
use brickyard_types::View;
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

/// PROTOCOL rule 6: a new leader counts on nothing that it was not told itself.
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

/// PROTOCOL rule 6.
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

/// PROTOCOL rule 7: everybody who is fenced, not only who was last.
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

/// PROTOCOL rule 3: who owes an acknowledgement does not hold up the view for longer than its lease.
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

/// PROTOCOL rule 8.
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

/// PROTOCOL rule 35: whoever stays in-sync need not stop.
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

/// PROTOCOL rule 8: accepted by another life is not accepted.
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

/// PROTOCOL rule 20.
#[test]
fn node_that_registers_again_from_its_own_directory_is_not_waited_for() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.restart(0);
    world.run(ms(350));
    assert_eq!(world.group().view, View(2));
}

/// PROTOCOL rule 20.
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

/// PROTOCOL rule 20: whatever a former life says is not listened to.
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

/// PROTOCOL rule 23.
#[test]
fn hung_brick_is_taken_out_although_its_node_asks_for_its_lease() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.nodes[0].is_turning = false;
    world.run_until(|world| world.group().view == View(2));
    assert!(!world.in_sync().contains(&first(0)));
}

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
    assert_eq!(seat(1, 2), first(1));
}
