use crate::fixture::{Brick, Cluster, FakeHost, P, group, replica_in};
use crate::{Role, Want};
use brickyard_types::record::Kind;
use brickyard_types::{Instant, Op, View};

/// Two bricks with ops 1 and 2 committed and op 3 in both logs; brick 1 has died.
pub(super) fn torn() -> (Cluster, Vec<(crate::LogMark, Vec<u8>)>) {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.brick(0).put(P, "a", "1").unwrap();
    cluster.run();
    cluster.brick(0).put(P, "b", "2").unwrap();
    cluster.flush(0);
    while !cluster.wires[0].down.is_empty() {
        cluster.deliver_down(0).unwrap();
    }
    let log = cluster.crash(1);
    (cluster, log)
}

pub(super) fn restarted(log: &[(crate::LogMark, Vec<u8>)]) -> Brick {
    let (host, rebuilds) = FakeHost::recover(log);
    let mut brick = Brick::new(replica_in(1, 2));
    brick.host = host;
    brick.host.batch.0 = 2;
    for (partition, rebuild) in rebuilds {
        brick.restore(partition, &rebuild.finish());
    }
    brick
}

/// Rule `a restart cuts nothing`.
#[test]
fn a_restart_cuts_nothing_and_reports_what_it_has() {
    let (mut cluster, log) = torn();
    let brick = restarted(&log);
    let (_, summary) = brick.core.summaries().next().unwrap();
    assert_eq!(summary.last, (View(1), Op(3)), "the suffix is claimed");
    assert!(summary.is_complete);
    assert_eq!(summary.committed, Op(2), "as the newest record says");
    assert_eq!(brick.core.pending(P).count(), 1);
    assert_eq!(brick.core.status(P).role, Role::None);
    // It becomes the only member left, and what had been acknowledged is there.
    cluster.crash(0);
    cluster.replicas[1] = replica_in(1, 2);
    cluster.bricks[1] = Some(brick);
    let mut next = group(2, 1, &[], &[]);
    next.primary = replica_in(1, 2);
    cluster.brick(1).adopt(P, &next);
    cluster.run();
    assert_eq!(cluster.brick(1).committed(P), 4);
    assert_eq!(cluster.brick(1).get(P, "b").as_deref(), Some("2"));
}

/// A brick whose log has a suffix in the name of a partition that was split: it writes that once more as a part's, behind
/// a baseline, in a batch that a full disk refuses.
fn refused() -> Brick {
    let (_, log) = torn();
    let mut brick = restarted(&[]);
    let (host, rebuilds) = FakeHost::recover(&log);
    brick.host.tables = host.tables;
    let again = brick.host.batch;
    for (partition, rebuild) in rebuilds {
        let mut restored = rebuild.finish();
        assert_eq!(restored.suffix.len(), 1);
        restored.suffix[0].mark = again;
        brick.restore(partition, &restored);
        brick.core.baseline_in(partition, again);
    }
    brick.host.end_batch();
    brick.on_refused(again);
    brick
}

/// No stream brings it again, and it may be all that there is: whoever believed a log summary without it would go on without
/// what may have committed.
/// Rule `a restart cuts nothing`.
#[test]
fn a_suffix_that_the_log_refuses_is_written_again() {
    let mut brick = refused();
    let (_, summary) = brick.core.summaries().next().unwrap();
    assert!(summary.is_complete, "{summary:?}");
    assert_eq!(summary.last, (View(1), Op(3)));
    assert_eq!(
        brick.core.baseline(P),
        None,
        "without the suffix a base is no claim"
    );
    // The disk is full for a while.
    for round in 1..4 {
        brick.tick(Instant(round << 32));
        let batch = brick.host.end_batch();
        brick.host.log.clear();
        brick.on_refused(batch);
    }
    brick.tick(Instant(4 << 32));
    let written = [(Kind::Baseline, 2), (Kind::Cut, 2), (Kind::Put, 3)];
    assert_eq!(brick.host.kinds(P), written);
    let batch = brick.host.end_batch();
    brick.on_appended(batch);
    assert!(brick.core.baseline(P).is_some());
    brick.tick(Instant(5 << 32));
    assert_eq!(brick.host.kinds(P), written, "once is enough");
}

/// Rule `log summaries begin at a baseline`.
#[test]
fn a_view_begins_behind_what_the_log_had_refused() {
    let mut brick = refused();
    let mut alone = group(2, 1, &[], &[]);
    alone.primary = replica_in(1, 2);
    brick.adopt(P, &alone);
    let written = [
        (Kind::Baseline, 2),
        (Kind::Cut, 2),
        (Kind::Put, 3),
        (Kind::ViewStart, 4),
    ];
    assert_eq!(brick.host.kinds(P), written);
    let (_, mut rebuilds) = FakeHost::recover(&brick.host.log);
    let restored = rebuilds.remove(&P).unwrap().finish();
    assert!(restored.is_complete, "{restored:?}");
    assert_eq!(restored.last, (View(2), Op(4)));
}

/// Rule `log summaries begin at a baseline`.
#[test]
fn a_view_begins_behind_what_its_primary_had_prepared() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.brick(0).put(P, "a", "1").unwrap();
    cluster.run();
    cluster.brick(0).put(P, "b", "2").unwrap();
    let brick = cluster.brick(0);
    let batch = brick.host.end_batch();
    brick.host.log.retain(|(mark, _)| *mark < batch);
    brick.on_refused(batch);
    brick.adopt(P, &group(2, 0, &[], &[]));
    let (_, mut rebuilds) = FakeHost::recover(&brick.host.log);
    let restored = rebuilds.remove(&P).unwrap().finish();
    assert!(restored.is_complete, "{restored:?}");
    assert_eq!(restored.last, (View(2), Op(4)));
}

/// Rule `a restart cuts nothing`.
#[test]
fn the_suffix_is_cut_where_the_primary_of_a_newer_view_says() {
    let (mut cluster, log) = torn();
    // Brick 0 goes on alone in view 2.
    cluster.replicas[1] = replica_in(1, 2);
    cluster.bricks[1] = Some(restarted(&log));
    let mut next = group(2, 0, &[], &[]);
    next.learners = vec![replica_in(1, 2)];
    cluster.brick(1).adopt(P, &next);
    assert_eq!(cluster.brick(1).last(P), (1, 3));
    assert_eq!(cluster.brick(1).host.cut, []);
    cluster.brick(0).adopt(P, &next);
    cluster.run();
    assert_eq!(cluster.brick(1).last(P).0, 2);
    assert_eq!(cluster.brick(1).last(P), cluster.brick(0).last(P));
    assert!(
        cluster
            .asked(0)
            .iter()
            .any(|it| matches!(it, Want::Promote { .. }))
    );
}

/// Rule `members name an incarnation`.
#[test]
fn a_brick_that_came_back_is_a_learner_and_not_in_sync() {
    let (mut cluster, log) = torn();
    cluster.replicas[1] = replica_in(1, 2);
    cluster.bricks[1] = Some(restarted(&log));
    let mut group = group(1, 0, &[1], &[]);
    group.learners = vec![replica_in(1, 2)];
    cluster.adopt(P, &group);
    cluster.run();
    assert_eq!(cluster.brick(1).core.status(P).role, Role::Learner);
    assert!(!cluster.brick(1).core.status(P).serves_reads);
    assert_eq!(
        cluster.brick(0).committed(P),
        2,
        "its former life is still a member"
    );
}
