//! Hand-overs among members: rule `a hand-over fences nobody`.

use crate::Want;
use crate::fixture::{ACCEPTS_AFTER, Brick, Cluster, P, changing, group};
use brickyard_routing::Group;

/// Brick 0 leads, and brick 1 is to.
fn proposed() -> (Cluster, Group, Group) {
    let now = group(1, 0, &[1], &[]);
    let next = group(2, 1, &[0], &[]);
    let cluster = Cluster::started(2, &[P], &now);
    (cluster, changing(&now, &next, &[]), next)
}

/// The version that is accepted, now that one was adopted and the log is synced.
fn accepted(brick: &mut Brick) -> u64 {
    if let Some(Want::SyncLog) = brick.poll_request() {
        brick.with(|core| core.on_sync_asked());
    }
    brick.sync();
    brick.core.accepted()
}

/// Rule `a hand-over fences nobody`.
#[test]
fn what_is_under_way_at_a_hand_over_is_inherited() {
    let (mut cluster, proposal, next) = proposed();
    // The new primary hears of it first.
    cluster.brick(1).adopt(P, &proposal);
    cluster.brick(1).with(|core| core.adopted(5));
    assert_eq!(accepted(cluster.brick(1)), 0, "brick 0 may still send");
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.brick(0).adopt(P, &proposal);
    assert_eq!(cluster.brick(0).core.next(P), None, "nothing more is taken");
    cluster.run();
    assert_eq!(accepted(cluster.brick(1)), 5);
    cluster.adopt(P, &next);
    cluster.run();
    assert_eq!(cluster.brick(0).host.cut, []);
    for at in [0, 1] {
        assert_eq!(cluster.brick(at).get(P, "k").as_deref(), Some("v"));
    }
    assert_eq!(cluster.brick(0).committed(P), cluster.brick(1).committed(P));
}

/// Rule `a hand-over fences nobody`.
#[test]
fn word_that_comes_before_the_map_counts() {
    let (mut cluster, proposal, _) = proposed();
    cluster.brick(0).adopt(P, &proposal);
    cluster.run();
    cluster.brick(1).adopt(P, &proposal);
    cluster.brick(1).with(|core| core.adopted(5));
    assert_eq!(accepted(cluster.brick(1)), 5);
}

/// Rule `a hand-over fences nobody`.
#[test]
fn new_primary_waits_for_the_former_one_for_a_while_only() {
    let (mut cluster, proposal, _) = proposed();
    cluster.brick(1).adopt(P, &proposal);
    cluster.brick(1).with(|core| core.adopted(5));
    // Versions that come meanwhile wait with it.
    cluster.brick(1).adopt(P, &proposal);
    cluster.brick(1).with(|core| core.adopted(6));
    assert_eq!(accepted(cluster.brick(1)), 0);
    assert_eq!(
        cluster.brick(1).core.stopped(),
        6,
        "removals are obeyed at once"
    );
    cluster.pass(ACCEPTS_AFTER);
    assert_eq!(accepted(cluster.brick(1)), 6);
}

/// Rule `a hand-over fences nobody`.
#[test]
fn nobody_waits_for_who_is_to_stop() {
    let now = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &now);
    let proposal = changing(&now, &group(2, 1, &[], &[]), &[0]);
    cluster.brick(1).adopt(P, &proposal);
    cluster.brick(1).with(|core| core.adopted(5));
    assert_eq!(accepted(cluster.brick(1)), 5);
}

/// A hand-over that is given up, or a partition that goes, holds nothing back.
#[test]
fn what_is_not_handed_over_after_all_is_not_waited_for() {
    let (mut cluster, proposal, _) = proposed();
    let now = group(1, 0, &[1], &[]);
    let ends: [fn(&mut Brick, &Group); 2] = [
        |brick, now| brick.adopt(P, now),
        |brick, _| brick.with(|core| core.forget(P)),
    ];
    for (version, end) in (5..).step_by(2).zip(ends) {
        let brick = cluster.brick(1);
        brick.adopt(P, &proposal);
        brick.with(|core| core.adopted(version));
        assert!(accepted(brick) < version);
        end(brick, &now);
        brick.with(|core| core.adopted(version + 1));
        assert_eq!(accepted(brick), version + 1);
    }
}
