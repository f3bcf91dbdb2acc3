use super::Requests;
use crate::controller::testing::{TABLE, World, first, ms, replica};
use crate::message::{EvictAsk, PromoteAsk, RestAsk};
use brickyard_metadata::Change;
use brickyard_routing::Replica;
use brickyard_types::View;
use std::time::Duration;

/// A group of two (nodes 0 and 1) that lacks one, with node 2 learning.
fn world() -> World {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.restart(2);
    world.run(ms(1_000));
    assert_eq!(world.in_sync(), [first(0), first(1)]);
    assert_eq!(world.group().learners, [replica(2, 4)]);
    world
}

fn promotion(world: &World, view: u32, primary: Replica, learner: Replica) -> PromoteAsk {
    PromoteAsk {
        table: TABLE,
        partition: world.partition(),
        view: View(view),
        primary,
        learner,
    }
}

fn evict(world: &mut World, backup: Replica) {
    ask_to_evict(world, backup, false);
}

fn ask_to_evict(world: &mut World, backup: Replica, has_withdrawn: bool) {
    let group = world.group();
    let ask = EvictAsk {
        table: TABLE,
        partition: world.partition(),
        view: group.view,
        primary: group.primary,
        backup,
        has_withdrawn,
    };
    world.controller.on_evict(ask);
    world.run(ms(50));
}

/// Rule `learner votes before promotion`.
#[test]
fn learner_is_promoted_when_its_primary_asks() {
    let mut world = world();
    world.run(Duration::from_secs(5));
    assert_eq!(world.group().view, View(2), "nobody else promotes");
    world.promote(replica(2, 4));
    world.run(ms(50));
    // Nobody is fenced, but the primary has to accept.
    world.run_until(World::is_settled);
    assert_eq!(world.group().view, View(3));
    assert_eq!(world.in_sync(), [first(0), first(1), replica(2, 4)]);
}

/// Rule `learner votes before promotion`.
#[test]
fn promotion_that_is_asked_for_in_a_view_that_is_not_here_yet_is_made_when_it_is() {
    let mut world = world();
    let ask = promotion(&world, 3, first(0), replica(2, 4));
    world.controller.on_promote(ask);
    world.run(ms(200));
    assert_eq!(world.group().view, View(2));
    evict(&mut world, first(1));
    world.run_until(|world| world.group().view >= View(3) && world.is_settled());
    world.run_until(|world| world.in_sync().contains(&replica(2, 4)));
}

/// Rule `learner votes before promotion`.
#[test]
fn only_the_primary_of_the_view_in_effect_promotes() {
    let mut world = world();
    for ask in [
        promotion(&world, 2, first(1), replica(2, 4)),
        promotion(&world, 1, first(0), replica(2, 4)),
        promotion(&world, 3, first(0), replica(2, 4)),
    ] {
        world.controller.on_promote(ask);
        world.run(ms(1_000));
        assert_eq!(world.group().view, View(2));
        assert!(world.is_settled());
    }
}

/// Rule `learner votes before promotion`: a promotion that comes to nothing is answered by a view.
#[test]
fn promotion_of_a_learner_that_is_gone_is_answered_by_a_view() {
    let mut world = world();
    // The learner restarts while the primary asks for its former life.
    let ask = promotion(&world, 2, first(0), replica(2, 4));
    world.restart(2);
    world.controller.on_promote(ask);
    world.run_until(|world| world.group().view == View(3));
    assert_eq!(world.in_sync(), [first(0), first(1)]);
    // The same ask, late, is about a view that is over.
    world.controller.on_promote(ask);
    world.run(ms(1_000));
    assert_eq!(world.group().view, View(3));
}

/// Rule `learner votes before promotion`: one change at a time.
#[test]
fn promotion_waits_for_a_change_under_way() {
    let mut world = world();
    world.nodes[1].accepts_at = world.catalog.version();
    world.propose(&[first(1), first(0)]);
    let ask = promotion(&world, 2, first(0), replica(2, 4));
    world.controller.on_promote(ask);
    world.run(ms(1_000));
    assert_eq!(world.group().change.unwrap().backups, [first(0)]);
    world.nodes[1].accepts_at = brickyard_metadata::CatalogVersion(u64::MAX);
    world.run(ms(1_000));
    assert_eq!(
        (world.group().view, world.group().primary),
        (View(3), first(1))
    );
    assert_eq!(world.in_sync().len(), 2, "the new primary has not asked");
}

#[test]
fn promotion_is_given_up_when_the_learner_fails_meanwhile() {
    let mut world = world();
    world.nodes[0].accepts_at = world.catalog.version();
    world.promote(replica(2, 4));
    world.run(ms(400));
    assert_eq!(world.group().change.clone().unwrap().backups.len(), 2);
    world.restart(2);
    world.nodes[0].accepts_at = brickyard_metadata::CatalogVersion(u64::MAX);
    world.run_until(World::is_settled);
    assert_eq!(world.group().view, View(4));
    assert_eq!(world.in_sync(), [first(0), first(1)]);
}

#[test]
fn slow_backup_is_taken_out_and_may_learn_again_later() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    evict(&mut world, first(1));
    world.run_until(World::is_settled);
    assert_eq!(world.in_sync(), [first(0), first(2)]);
    world.run(Duration::from_secs(5));
    assert_eq!(world.group().learners, []);
    world.run(Duration::from_secs(7));
    assert_eq!(world.group().learners, [first(1)]);
}

/// Rule `learner votes before promotion`: its vote stays required until there is a newer view, and the leader that
/// was asked for its promotion may be gone.
#[test]
fn learner_that_holds_up_writes_is_let_go_by_a_view() {
    let mut world = world();
    evict(&mut world, replica(2, 4));
    world.run_until(World::is_settled);
    assert_eq!(world.group().view, View(3));
    assert_eq!(world.in_sync(), [first(0), first(1)]);
    assert_eq!(world.group().learners, []);
    world.run(Duration::from_secs(12));
    assert_eq!(
        world.group().learners,
        [replica(2, 4)],
        "it may learn again"
    );
}

/// Rule `learner votes before promotion`.
#[test]
fn learner_that_holds_up_writes_and_is_listed_no_more_is_answered_by_a_view() {
    let mut world = world();
    let again = world.restart(2);
    world.run_until(|world| world.group().learners == [again]);
    assert_eq!(world.group().view, View(2));
    evict(&mut world, replica(2, 4));
    world.run_until(|world| world.group().view == View(3));
    assert_eq!(world.in_sync(), [first(0), first(1)]);
    assert_eq!(
        world.group().learners,
        [again],
        "this life holds up nothing"
    );
}

#[test]
fn who_is_alone_is_not_evicted() {
    let mut world = World::new(1, 1, 1);
    world.run(ms(3_000));
    let view = world.group().view;
    evict(&mut world, first(0));
    world.run(ms(500));
    assert_eq!(world.group().view, view);
}

#[test]
fn primary_that_asks_to_go_hands_over_and_may_learn_again_later() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    evict(&mut world, first(0));
    world.run_until(World::is_settled);
    assert_eq!(world.in_sync(), [first(2), first(1)]);
    world.run(Duration::from_secs(12));
    assert_eq!(world.group().learners, [first(0)]);
}

#[test]
fn learner_that_is_not_needed_any_more_is_not_promoted() {
    let mut world = world();
    let ask = promotion(&world, 2, first(0), replica(2, 4));
    world.change(Change::AlterTable {
        name: "t".to_owned(),
        alteration: brickyard_metadata::Alteration {
            replicas: Some(2),
            ..brickyard_metadata::Alteration::default()
        },
    });
    world.controller.on_promote(ask);
    world.run(ms(1_000));
    assert_eq!(world.in_sync(), [first(0), first(1)]);
    assert_eq!(world.group().learners, []);
    assert_eq!(world.group().view, View(3), "the primary is answered");
}

/// Rule `learner votes before promotion`: whoever is no learner for a while drops what it holds, and is listed again
/// in the same life.
#[test]
fn promotion_asked_for_before_the_learner_was_let_go_is_not_that_of_the_next_listing() {
    let mut world = world();
    let learner = replica(2, 4);
    let late = promotion(&world, 2, first(0), learner);
    // Its lease runs out, it is not waited for any longer, and is heard again.
    world.nodes[2].is_up = false;
    world.run(Duration::from_secs(30));
    world.run_until(|world| world.group().learners.is_empty());
    world.nodes[2].is_up = true;
    world.run_until(|world| world.group().learners == [learner]);
    world.controller.on_promote(late);
    world.run(ms(1_000));
    assert_eq!(world.in_sync(), [first(0), first(1)]);
    // Once it has everything again it is asked for in the view that lists it.
    world.promote(learner);
    world.run_until(|world| world.in_sync().len() == 3);
}

#[test]
fn learner_whose_life_is_over_costs_no_view() {
    let mut world = world();
    let again = world.restart(2);
    world.run_until(|world| world.group().learners == [again]);
    assert_eq!(world.group().view, View(2));
}

/// Rule `learner votes before promotion`: a promotion that cannot be is answered by a view in which the learner is
/// none.
#[test]
fn learner_that_lost_its_place_is_dismissed_when_it_is_to_be_promoted() {
    let mut world = world();
    let fewer = Change::AlterTable {
        name: "t".to_owned(),
        alteration: brickyard_metadata::Alteration {
            replicas: Some(2),
            ..Default::default()
        },
    };
    world.catalog.apply(fewer).unwrap();
    let catalog = std::sync::Arc::new(world.catalog.clone());
    world.controller.on_catalog(world.now, catalog);
    world.promote(replica(2, 4));
    let before = world.proposed.len();
    world.run(ms(50));
    let Change::Decide(decisions) = &world.proposed[before] else {
        panic!("{:?}", world.proposed[before]);
    };
    let partition = world.partition();
    let mut proposals = decisions.proposals.iter();
    let proposal = proposals.find(|it| it.partition == partition);
    let proposal = proposal.expect("a view without it");
    assert_eq!(
        (proposal.learners.len(), proposal.in_sync().count()),
        (0, 2)
    );
}

#[test]
fn what_was_asked_in_views_that_are_over_is_forgotten() {
    let world = world();
    let mut requests = Requests::default();
    let rest = RestAsk {
        primary: first(0),
        rest: brickyard_metadata::Rest {
            table: TABLE,
            partition: world.partition(),
            view: View(1),
            begun_at: world.catalog.version(),
            last: (View(1), brickyard_types::Op(9)),
        },
    };
    requests.rests.insert(world.partition(), rest);
    assert!(requests.has_any(world.partition()));
    requests.forget(&world.catalog);
    assert!(!requests.has_any(world.partition()));
}

/// Rule `a withdrawn member is fenced`: nobody waits for it to stop, nor for its lease.
#[test]
fn a_withdrawn_member_is_not_waited_for() {
    for out in [first(1), first(0)] {
        for has_withdrawn in [true, false] {
            let mut world = World::new(3, 3, 1);
            world.run(ms(3_000));
            // Its disk stands still: it hears of no catalog.
            let node = out.member.node.0 as usize;
            world.nodes[node].stops_at = world.catalog.version();
            ask_to_evict(&mut world, out, has_withdrawn);
            world.run(ms(300));
            assert_eq!(world.is_settled(), has_withdrawn, "{out}");
            world.run_until(World::is_settled);
            assert!(!world.in_sync().contains(&out));
        }
    }
}

/// Rule `a withdrawn member is fenced`: what holds of one view says nothing of another one, nor of another member.
#[test]
fn a_withdrawal_counts_for_its_view_and_for_nobody_else() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    for node in [1, 2] {
        world.nodes[node].stops_at = world.catalog.version();
    }
    let group = world.group();
    let ask = |view, backup| EvictAsk {
        table: TABLE,
        partition: world.partition(),
        view,
        primary: group.primary,
        backup,
        has_withdrawn: true,
    };
    let (late, other) = (ask(View(0), first(1)), ask(group.view, first(2)));
    world.controller.on_evict(late);
    world.controller.on_evict(other);
    world.propose(&[first(0), first(2)]);
    world.run(ms(300));
    assert!(!world.is_settled(), "brick 1 has not stopped");
}

/// The word of one that has withdrawn is not lost when another one is suspected.
#[test]
fn a_withdrawal_is_answered_before_a_suspicion() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    world.nodes[1].stops_at = world.catalog.version();
    let group = world.group();
    let ask = |backup, has_withdrawn| EvictAsk {
        table: TABLE,
        partition: world.partition(),
        view: group.view,
        primary: group.primary,
        backup,
        has_withdrawn,
    };
    let (withdrawn, suspect) = (ask(first(1), true), ask(first(2), false));
    world.controller.on_evict(withdrawn);
    world.controller.on_evict(suspect);
    world.run(ms(600));
    assert!(world.is_settled());
    assert_eq!(world.in_sync(), [first(0), first(2)]);
}

#[test]
fn a_member_that_is_evicted_again_soon_stays_out_for_longer() {
    let mut world = World::new(3, 3, 1);
    world.run(ms(3_000));
    for (out, learns) in [(5, 12), (15, 22)] {
        evict(&mut world, first(1));
        world.run_until(World::is_settled);
        world.run(Duration::from_secs(out));
        assert_eq!(world.group().learners, [], "after {out} s");
        world.run(Duration::from_secs(learns - out));
        assert_eq!(world.group().learners, [first(1)], "after {learns} s");
        world.promote(first(1));
        world.run_until(|world| world.in_sync().len() == 3 && world.is_settled());
    }
}
