use crate::controller::testing::{World, ms, registration};
use crate::membership::{Membership, MembershipChange};
use crate::message::{AstrayReport, DrainAsk};
use brickyard_metadata::{Change, NodeAlteration, Roles};
use brickyard_routing::NodeId;
use std::collections::BTreeSet;
use std::time::Duration;

fn ids(ids: &[u32]) -> BTreeSet<NodeId> {
    ids.iter().copied().map(NodeId).collect()
}

/// Lets those vote, and the others learn.
fn members(world: &mut World, voters: &[u32], learners: &[u32]) {
    world.membership = Membership {
        voters: ids(voters),
        learners: ids(learners),
        caught_up: ids(learners),
    };
    world.controller.on_membership(world.membership.clone());
    world.steps.clear();
}

/// Carries out every step until there is none; the voters at the end and the steps on the way.
fn settle(world: &mut World) -> (Vec<u32>, Vec<MembershipChange>) {
    let mut steps = Vec::new();
    for _ in 0..20 {
        world.steps.clear();
        world.run(ms(100));
        let Some(step) = world.steps.first().copied() else {
            continue;
        };
        steps.push(step);
        let Membership {
            voters, learners, ..
        } = &mut world.membership;
        match step {
            MembershipChange::AddLearner(node) => {
                learners.insert(node);
            }
            MembershipChange::Promote(node) => {
                learners.remove(&node);
                voters.insert(node);
            }
            MembershipChange::Demote(node) => {
                voters.remove(&node);
                learners.insert(node);
            }
            MembershipChange::Remove(node) => {
                voters.remove(&node);
                learners.remove(&node);
            }
        }
        world.membership.caught_up = world.membership.learners.clone();
        world.controller.on_membership(world.membership.clone());
    }
    let voters = world.membership.voters.iter().map(|node| node.0).collect();
    (voters, steps)
}

fn roles(node: u32, control: bool) -> Change {
    Change::AlterNode {
        node: NodeId(node),
        alteration: NodeAlteration {
            roles: Some(Roles {
                control,
                ..Roles::default()
            }),
            ..NodeAlteration::default()
        },
    }
}

#[test]
fn two_nodes_have_one_voter_and_three_have_three() {
    let mut world = World::new(2, 1, 1);
    world.run(ms(3_000));
    assert_eq!(settle(&mut world).0, [0]);
    let mut world = World::new(4, 1, 1);
    world.run(ms(3_000));
    members(&mut world, &[0], &[1]);
    let (voters, steps) = settle(&mut world);
    assert_eq!(voters, [0, 1, 2]);
    assert_eq!(
        steps,
        [
            MembershipChange::AddLearner(NodeId(2)),
            MembershipChange::AddLearner(NodeId(3)),
            MembershipChange::Promote(NodeId(1)),
            MembershipChange::Promote(NodeId(2)),
        ]
    );
}

#[test]
fn five_voters_are_had_if_asked_for() {
    let mut world = World::new(5, 1, 1);
    world.config.voters = 5;
    world.elect();
    world.run(ms(3_000));
    assert_eq!(settle(&mut world).0, [0, 1, 2, 3, 4]);
}

#[test]
fn node_votes_only_once_it_has_the_log() {
    let mut world = World::new(3, 1, 1);
    world.run(ms(3_000));
    members(&mut world, &[0], &[1, 2]);
    world.membership.caught_up = ids(&[1]);
    world.controller.on_membership(world.membership.clone());
    world.run(ms(3_000));
    assert_eq!(world.steps, [], "two voters are worse than one");
}

#[test]
fn voter_that_is_lost_is_replaced_before_it_is_taken_out() {
    let mut world = World::new(4, 1, 1);
    world.run(ms(3_000));
    members(&mut world, &[0, 1, 2], &[3]);
    world.nodes[2].is_up = false;
    world.run(Duration::from_secs(20));
    assert_eq!(world.steps, [], "it may come back");
    world.run(Duration::from_secs(15));
    let (voters, steps) = settle(&mut world);
    assert_eq!(voters, [0, 1, 3]);
    let (promote, demote) = (
        MembershipChange::Promote(NodeId(3)),
        MembershipChange::Demote(NodeId(2)),
    );
    assert_eq!(steps, [promote, demote]);
}

#[test]
fn lost_voter_without_a_replacement_stays() {
    let mut world = World::new(3, 1, 1);
    world.run(ms(3_000));
    members(&mut world, &[0, 1, 2], &[]);
    world.nodes[2].is_up = false;
    world.run(Duration::from_secs(60));
    assert_eq!(world.steps, []);
}

#[test]
fn voters_are_in_different_zones() {
    let mut world = World::new(5, 1, 1);
    for (node, zone) in ["a", "a", "b", "b", "c"].into_iter().enumerate() {
        world.change(Change::AlterNode {
            node: NodeId(node as u32),
            alteration: NodeAlteration {
                zone: Some(Some(zone.to_owned())),
                ..NodeAlteration::default()
            },
        });
    }
    world.run(ms(3_000));
    members(&mut world, &[0], &[1, 2, 3, 4]);
    assert_eq!(settle(&mut world).0, [0, 2, 4]);
}

#[test]
fn node_that_is_not_to_vote_does_not() {
    let mut world = World::new(4, 1, 1);
    world.run(ms(3_000));
    members(&mut world, &[0, 1, 2], &[3]);
    world.change(roles(1, false));
    assert_eq!(settle(&mut world).0, [0, 2, 3]);
    // With two left that may, one votes: two would be worse.
    world.change(roles(2, false));
    world.change(roles(3, false));
    assert_eq!(settle(&mut world).0, [0]);
}

#[test]
fn leader_that_is_not_to_vote_lets_another_lead() {
    let mut world = World::new(3, 1, 1);
    world.run(ms(3_000));
    world.change(roles(0, false));
    world.run(ms(1_000));
    assert_eq!(world.transfers, [NodeId(1)]);
}

#[test]
fn removed_node_takes_no_part_any_more() {
    let mut world = World::new(4, 1, 1);
    world.run(ms(3_000));
    world.nodes[3].is_up = false;
    world.change(Change::RemoveNode {
        node: NodeId(3),
        force: true,
    });
    let (voters, steps) = settle(&mut world);
    assert_eq!(voters, [0, 1, 2]);
    assert_eq!(steps, [MembershipChange::Remove(NodeId(3))]);
    assert_eq!(registration(3).bricks, 1);
}

/// Until then its bricks need no lease, and so nobody else may come to lead.
#[test]
fn lone_voter_stays_alone_until_its_bricks_know_of_the_others() {
    let mut world = World::new(3, 1, 1);
    members(&mut world, &[0], &[1, 2]);
    world.elect();
    world.nodes[0].stops_at = brickyard_metadata::CatalogVersion(1);
    world.run(ms(3_000));
    assert_eq!(world.steps, []);
    world.nodes[0].stops_at = brickyard_metadata::CatalogVersion(u64::MAX);
    world.run(ms(500));
    assert_eq!(world.steps, [MembershipChange::Promote(NodeId(1))]);
}

/// Its machine has stopped, so that nothing proves its former life dead; and that one will not say anything any more.
#[test]
fn lone_voter_that_starts_again_does_not_wait_for_its_former_life() {
    let mut world = World::new(3, 1, 1);
    members(&mut world, &[0], &[1, 2]);
    world.elect();
    world.restart_with(0, |it| it.machine.boot = "another".to_owned());
    world.run(ms(5_000));
    let wished = world.steps.first();
    assert_eq!(wished, Some(&MembershipChange::Promote(NodeId(1))));
}

#[test]
fn of_two_that_should_vote_no_more_the_one_that_is_down_goes_first() {
    let mut world = World::new(5, 3, 1);
    world.run(ms(3_000));
    world.nodes[1].is_up = false;
    world.run(ms(5_000));
    members(&mut world, &[0, 1, 2, 3], &[4]);
    world.run(ms(100));
    assert_eq!(
        world.steps.first(),
        Some(&MembershipChange::Demote(NodeId(1)))
    );
}

/// That a learner has caught up is no reason to ask for the same step once more; that voters have changed is.
#[test]
fn step_is_asked_for_again_when_members_have_changed() {
    let mut world = World::new(4, 3, 1);
    world.run(ms(3_000));
    members(&mut world, &[0, 1, 2, 3], &[]);
    world.run(ms(100));
    let asked = world.steps.len();
    assert_eq!(asked, 1);
    world.membership.caught_up = ids(&[0]);
    world.controller.on_membership(world.membership.clone());
    world.run(ms(100));
    assert_eq!(world.steps.len(), asked, "it is under way");
    world.membership.voters = ids(&[0, 1, 2]);
    world.membership.learners = ids(&[3]);
    world.controller.on_membership(world.membership.clone());
    world.membership.voters = ids(&[0, 1, 2, 3]);
    world.membership.learners = ids(&[]);
    world.controller.on_membership(world.membership.clone());
    world.run(ms(100));
    assert_eq!(world.steps.len(), asked + 1, "as before, once more");
}

/// Node 1 says that it was asked for node 2's lease.
fn astray(world: &mut World) {
    let report = AstrayReport {
        node: NodeId(2),
        incarnation: world.nodes[2].incarnation,
    };
    world.controller.on_astray(world.now, NodeId(1), report);
    world.run(ms(50));
}

#[test]
fn the_lead_goes_to_a_voter_that_hears_a_node_which_the_leader_does_not_and_before_that_loses_its_lease()
 {
    let mut world = World::new(3, 2, 1);
    let lease = world.config.lease;
    world.run(10 * lease);
    members(&mut world, &[0, 1, 2], &[]);
    astray(&mut world);
    assert_eq!(world.transfers, [], "it is heard");
    world.nodes[2].is_up = false;
    world.run(lease / 2 + ms(50));
    assert_eq!(world.transfers, [], "nobody hears it");
    let proposed = world.proposed.len();
    astray(&mut world);
    assert_eq!(world.transfers, [NodeId(1)]);
    assert_eq!(world.proposed.len(), proposed);
    // That one may be gone by then.
    world.transfers.clear();
    world.nodes[1].is_up = false;
    world.run(3 * lease);
    astray(&mut world);
    assert_eq!(world.transfers, []);
}

#[test]
fn a_leader_that_has_only_begun_keeps_the_lead_whoever_hears_more() {
    let mut world = World::new(3, 2, 1);
    let lease = world.config.lease;
    world.run(10 * lease);
    world.elect();
    world.nodes[2].is_up = false;
    world.run(2 * lease);
    astray(&mut world);
    assert_eq!(world.transfers, []);
    world.run(7 * lease);
    astray(&mut world);
    assert_eq!(world.transfers, [NodeId(1)]);
}

#[test]
fn a_leader_that_stops_keeps_the_lead_while_it_holds_something_whoever_hears_more() {
    let mut world = World::new(3, 3, 8);
    let lease = world.config.lease;
    world.run(10 * lease);
    world.nodes[2].is_up = false;
    world.run(lease / 2 + ms(50));
    let ask = DrainAsk {
        node: NodeId(0),
        incarnation: world.nodes[0].incarnation,
    };
    world.controller.on_drain(world.now, ask, world.log);
    astray(&mut world);
    assert!(world.controller.drained(world.now, ask).remaining > 0);
    assert_eq!(world.transfers, []);
}
