use crate::fixture::{Cluster, P, Q, changing, group};
use crate::frame::{Frame, Vote};
use crate::{LogMark, Sequence, Submitted, Want};
use brickyard_types::{Durability, Op, View};
use std::time::Duration;

#[test]
fn an_op_commits_when_all_in_sync_members_have_appended_it() {
    let mut cluster = Cluster::started(3, &[P], &group(1, 0, &[1, 2], &[]));
    assert_eq!(cluster.brick(0).committed(P), 1, "the view's start");
    cluster.is_log_held[2] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 1);
    cluster.is_log_held[2] = false;
    cluster.run();
    for at in 0..3 {
        assert_eq!(cluster.brick(at).committed(P), 2, "brick {at}");
        assert_eq!(cluster.brick(at).get(P, "k").as_deref(), Some("v"));
    }
}

#[test]
fn the_own_log_counts_like_any_other() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.is_log_held[0] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 1);
    cluster.is_log_held[0] = false;
    cluster.run();
    assert_eq!(cluster.brick(1).committed(P), 2);
}

#[test]
fn a_table_with_fsync_waits_for_every_disk() {
    let mut cluster = Cluster::new(2);
    for at in 0..2 {
        cluster.brick(at).host.durability = Durability::Fsync;
    }
    cluster.adopt(P, &group(1, 0, &[1], &[]));
    cluster.run();
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.is_log_held[1] = true;
    cluster.run();
    cluster.brick(1).append();
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 1, "appended is not synced");
    cluster.brick(1).sync();
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 2);
    // The primary's own disk is one of them.
    cluster.is_log_held = vec![true, false];
    cluster.brick(0).put(P, "k", "w").unwrap();
    cluster.run();
    cluster.brick(0).check_again();
    assert_eq!(cluster.brick(0).committed(P), 2, "appended is not synced");
    cluster.brick(0).sync();
    assert_eq!(cluster.brick(0).committed(P), 3);
}

#[test]
fn a_table_in_memory_waits_for_no_log() {
    let mut cluster = Cluster::new(2);
    for at in 0..2 {
        cluster.brick(at).host.durability = Durability::Memory;
        cluster.is_log_held[at] = true;
    }
    cluster.adopt(P, &group(1, 0, &[1], &[]));
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(1).get(P, "k").as_deref(), Some("v"));
}

#[test]
fn nothing_commits_without_a_lease_and_votes_are_kept() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.brick(0).core.lease(false);
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 1);
    cluster.brick(0).core.lease(true);
    cluster.run();
    assert_eq!(cluster.brick(1).committed(P), 2);
}

/// Rule `votes cover what was appended`.
#[test]
fn a_vote_covers_no_partition_that_was_refused() {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P, Q], &first);
    // Brick 1 accepts view 2 of P, as its primary; brick 0 does not know of it and goes on in view 1.
    let next = group(2, 1, &[], &[]);
    cluster.brick(1).adopt(P, &changing(&first, &next, &[0]));
    cluster.brick(0).put(P, "p", "lost").unwrap();
    cluster.brick(0).put(Q, "q", "kept").unwrap();
    cluster.run();
    cluster.brick(0).check_again();
    assert_eq!(cluster.brick(0).committed(Q), 2, "the stream goes on");
    assert_eq!(cluster.brick(0).committed(P), 1, "what was refused is not");
    assert_eq!(cluster.brick(0).core.pending(P).next().unwrap().op, Op(2));
}

/// Rule `votes cover what was appended`.
#[test]
fn a_refusal_goes_ahead_of_the_vote_that_passes_it() {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.wire(0, 1).is_held = true;
    cluster.run();
    cluster.brick(1).host.fault = Some("no room".to_owned());
    while !cluster.wires[0].down.is_empty() {
        cluster.deliver_down(0).unwrap();
    }
    cluster.flush(1);
    let (_, up) = cluster.under_way(0);
    let refused = up.iter().position(|it| matches!(it, Frame::Refuse(_)));
    let voted = up.iter().position(|it| matches!(it, Frame::Vote(_)));
    assert!(refused.is_some() && refused < voted, "{up:?}");
}

/// Rule `votes cover what was appended`.
#[test]
fn records_that_the_log_refused_are_not_voted_for() {
    let mut cluster = Cluster::started(2, &[P, Q], &group(1, 0, &[1], &[]));
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.is_log_held[1] = true;
    cluster.run();
    // The batch with the record is refused, and the next one is not.
    let brick = cluster.brick(1);
    let refused = brick.host.end_batch();
    brick.on_refused(refused);
    assert_eq!(brick.host.cut, [(P, View(1), Op(2))]);
    cluster.is_log_held[1] = false;
    cluster.brick(0).put(Q, "q", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(0).committed(Q), 2);
    assert_eq!(cluster.brick(0).committed(P), 1);
    // Later it is begun again. What was voted for on the stream before says nothing.
    cluster.pass(Duration::from_millis(200));
    cluster.wire(0, 1).is_held = true;
    cluster.run();
    cluster.brick(0).check_again();
    assert_eq!(cluster.brick(0).committed(P), 1);
    cluster.wire(0, 1).is_held = false;
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 2);
    assert_eq!(cluster.brick(1).get(P, "k").as_deref(), Some("v"));
}

#[test]
fn what_the_primarys_own_log_refused_stays_pending_and_is_appended_again() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.is_log_held[0] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    let brick = cluster.brick(0);
    let refused = brick.host.end_batch();
    brick.host.log.retain(|(mark, _)| *mark < refused);
    brick.on_refused(refused);
    assert!(!brick.core.status(P).accepts_writes);
    cluster.is_log_held[0] = false;
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 1, "not in the own log");
    cluster.pass(Duration::from_millis(200));
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 2);
    assert!(cluster.brick(0).core.status(P).accepts_writes);
    assert_eq!(cluster.brick(0).host.kinds(P).len(), 2);
}

#[test]
fn a_member_that_does_not_vote_is_to_be_evicted() {
    let mut cluster = Cluster::started(3, &[P], &group(1, 0, &[1, 2], &[]));
    cluster.is_log_held[2] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    let evict = Want::Evict {
        partition: P,
        view: View(1),
        backup: cluster.replicas[2],
        has_withdrawn: false,
    };
    for _ in 0..48 {
        cluster.pass(Duration::from_millis(100));
        cluster.run();
    }
    assert_eq!(cluster.asked(0), []);
    for _ in 0..5 {
        cluster.pass(Duration::from_millis(100));
        cluster.run();
    }
    assert_eq!(cluster.asked(0), [evict]);
}

#[test]
fn a_member_without_a_stream_is_dialed_again_and_to_be_evicted() {
    let mut cluster = Cluster::new(2);
    cluster.brick(0).adopt(P, &group(1, 0, &[1], &[]));
    cluster.bricks[1] = None;
    for _ in 0..60 {
        cluster.pass(Duration::from_millis(100));
        cluster.flush(0);
    }
    let asked = cluster.asked(0);
    let peer = cluster.replicas[1];
    let dials = asked.iter().filter(|it| **it == Want::Dial(peer)).count();
    assert!(
        (50..=61).contains(&dials),
        "{dials}: the pauses are made by who dials"
    );
    assert!(asked.iter().any(|it| matches!(it, Want::Evict { .. })));
}

#[test]
fn a_vote_for_what_was_not_sent_closes_the_link() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    let link = cluster.wire(0, 1).link;
    let mut bytes = Vec::new();
    let vote = Frame::Vote(Vote {
        received: Sequence(1 << 40),
        ..Vote::up_to(Sequence(1))
    });
    vote.encode(&mut bytes);
    let brick = cluster.brick(0);
    let result = brick.on_frame(link, &bytes);
    assert!(result.is_err());
}

#[test]
fn what_waits_for_disks_commits_when_the_table_asks_for_no_sync_any_more() {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::new(2);
    for at in 0..2 {
        cluster.brick(at).host.durability = Durability::Fsync;
    }
    cluster.adopt(P, &first);
    cluster.run();
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.is_log_held = vec![true; 2];
    for at in [0, 1, 0] {
        cluster.run();
        cluster.brick(at).append();
    }
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 1, "appended is not synced");
    for at in 0..2 {
        cluster.brick(at).host.durability = Durability::Log;
    }
    cluster.adopt(P, &first);
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 2);
}

#[test]
fn an_eviction_is_asked_for_at_the_end_of_the_timeout_and_not_before() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.is_log_held[1] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    let timeout = cluster.brick(0).core.config.eviction_timeout;
    let tick = Duration::from_millis(100);
    // At the first tick it is seen to hold something up.
    for at in 0..=timeout.as_millis() / tick.as_millis() {
        cluster.pass(tick);
        cluster.run();
        let asked = cluster.asked(0);
        let is_asked = asked.iter().any(|it| matches!(it, Want::Evict { .. }));
        assert_eq!(
            is_asked,
            tick * at as u32 == timeout,
            "tick {at}: {asked:?}"
        );
    }
}

#[test]
fn an_eviction_is_asked_for_in_every_partition_that_is_held_up() {
    let mut cluster = Cluster::started(2, &[P, Q], &group(1, 0, &[1], &[]));
    cluster.is_log_held[1] = true;
    for partition in [P, Q] {
        cluster.brick(0).put(partition, "k", "v").unwrap();
    }
    for _ in 0..55 {
        cluster.pass(Duration::from_millis(100));
        cluster.run();
    }
    let evict = |partition| Want::Evict {
        partition,
        view: View(1),
        backup: cluster.replicas[1],
        has_withdrawn: false,
    };
    let (p, q) = (evict(P), evict(Q));
    let asked = cluster.asked(0);
    assert!(asked.contains(&p) && asked.contains(&q), "{asked:?}");
}

/// Rule `a primary accepts its view`.
#[test]
fn a_primary_that_accepted_a_newer_view_asks_for_no_eviction_in_the_older() {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    cluster.is_log_held[1] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    let change = changing(&first, &group(2, 0, &[], &[]), &[1]);
    cluster.brick(0).adopt(P, &change);
    for _ in 0..60 {
        cluster.pass(Duration::from_millis(100));
        cluster.run();
    }
    assert_eq!(cluster.asked(0), []);
}

/// Neither is progress: that a stream comes, nor that its receiver refuses what comes on it.
#[test]
fn a_member_that_cannot_be_reached_and_then_refuses_holds_up_from_the_beginning_on() {
    let mut cluster = Cluster::new(2);
    cluster.brick(0).adopt(P, &group(1, 0, &[1], &[]));
    let mut evicted_after = None;
    for round in 1..=70 {
        cluster.pass(Duration::from_millis(100));
        cluster.flush(0);
        if round < 30 {
            cluster.requests.clear();
        } else {
            // Brick 1 has not heard of the partition.
            cluster.run();
        }
        let asked = cluster.asked(0);
        if evicted_after.is_none() && asked.iter().any(|it| matches!(it, Want::Evict { .. })) {
            evicted_after = Some(round);
        }
    }
    assert_eq!(cluster.brick(1).core.status(P).role, crate::Role::None);
    let timeout = cluster.brick(0).core.config.eviction_timeout;
    // It was seen to hold something up at the first tick.
    let rounds = timeout.as_millis() / 100 + 1;
    assert_eq!(evicted_after, Some(rounds));
}

#[test]
fn a_commit_position_is_told_once_a_turn() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.wire(0, 1).is_held = true;
    for value in ["1", "2"] {
        cluster.brick(0).put(P, "k", value).unwrap();
        cluster.run();
    }
    // Two turns of brick 1, of which each votes for one of the two: two commits in one turn of brick 0.
    for _ in 0..2 {
        while !matches!(cluster.under_way(0).0[0], Frame::Sequence { .. }) {
            cluster.deliver_down(0).unwrap();
        }
        cluster.deliver_down(0).unwrap();
        cluster.brick(1).sync();
        cluster.flush(1);
    }
    for committed in [2, 3] {
        while cluster.brick(0).committed(P) < committed {
            assert!(!cluster.wires[0].up.is_empty(), "op {committed} commits");
            cluster.deliver_up(0).unwrap();
        }
    }
    cluster.flush(0);
    let (down, _) = cluster.under_way(0);
    let told: Vec<_> = down
        .iter()
        .filter_map(|frame| match frame {
            Frame::Sequence { commits, .. } => Some(commits.iter().collect::<Vec<_>>()),
            _ => None,
        })
        .collect();
    assert_eq!(told, [[(P, Op(3))]]);
}

#[test]
fn what_is_in_no_log_commits_at_once_where_nobody_else_is() {
    let mut cluster = Cluster::new(1);
    cluster.brick(0).host.durability = Durability::Memory;
    cluster.is_log_held[0] = true;
    cluster.adopt(P, &group(1, 0, &[], &[]));
    cluster.run();
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.flush(0);
    assert_eq!(cluster.brick(0).get(P, "k").as_deref(), Some("v"));
    // Or its owner does without the replicator, and says how far it is.
    let brick = cluster.brick(0);
    for upto in [5, 6] {
        brick.with(|core| core.on_applied(P, Op(upto)));
        assert_eq!((brick.last(P), brick.committed(P)), ((1, upto), upto));
        assert_eq!(brick.core.next(P).unwrap().op, Op(upto + 1));
    }
}

/// Brick 0 with a log of that durability; up to which batch it is synced, and up to which appended.
fn with_log(
    durability: Durability,
    backups: &[usize],
    learners: &[usize],
) -> (Cluster, [LogMark; 2]) {
    let mut cluster = Cluster::new(2);
    for at in 0..2 {
        cluster.brick(at).host.durability = durability;
    }
    cluster.adopt(P, &group(1, 0, backups, learners));
    cluster.run();
    cluster.brick(0).sync();
    let synced = LogMark(cluster.brick(0).host.batch.0);
    let brick = cluster.brick(0);
    brick.with(|core| core.on_synced(synced));
    let appended = LogMark(synced.0 + 1);
    brick.with(|core| core.on_appended(appended));
    assert_eq!(brick.committed(P), 1, "the view's start");
    (cluster, [synced, appended])
}

/// Whether `count` records in that batch have committed by being submitted.
fn submit(cluster: &mut Cluster, count: u32, mark: LogMark) -> bool {
    let core = &mut cluster.brick(0).core;
    let (before, last) = (core.committed(P), core.last(P).1);
    let Submitted {
        first,
        is_committed,
    } = core.on_prepared(P, count, mark);
    assert_eq!(first, last.next());
    let end = Op(last.0 + u64::from(count));
    assert_eq!(core.last(P).1, end);
    let committed = if is_committed { end } else { before };
    assert_eq!(core.committed(P), committed);
    is_committed
}

#[test]
fn what_only_the_own_log_has_to_have_commits_when_it_is_submitted() {
    let (mut cluster, [_, appended]) = with_log(Durability::Log, &[], &[]);
    assert!(submit(&mut cluster, 1, appended));
    assert!(submit(&mut cluster, 3, appended));
    let (mut cluster, [synced, _]) = with_log(Durability::Fsync, &[], &[]);
    assert!(submit(&mut cluster, 2, synced));
}

#[test]
fn what_the_own_log_does_not_have_as_durably_as_asked_is_not_committed_when_it_is_submitted() {
    let (mut cluster, [_, appended]) = with_log(Durability::Log, &[], &[]);
    assert!(!submit(&mut cluster, 1, LogMark(appended.0 + 1)));
    assert!(!submit(&mut cluster, 1, appended), "one before it waits");
    let (mut cluster, [_, appended]) = with_log(Durability::Fsync, &[], &[]);
    assert!(!submit(&mut cluster, 1, appended));
}

#[test]
fn what_others_vote_for_is_not_committed_when_it_is_submitted() {
    for (backups, learners) in [(&[1][..], &[][..]), (&[], &[1])] {
        let (mut cluster, [_, appended]) = with_log(Durability::Log, backups, learners);
        assert!(
            !submit(&mut cluster, 1, appended),
            "{backups:?} {learners:?}"
        );
    }
    let (mut cluster, _) = with_log(Durability::Memory, &[], &[]);
    assert!(
        !submit(&mut cluster, 1, LogMark::NONE),
        "its owner has not applied it"
    );
}

/// Rule `leases count from the request`.
#[test]
fn nothing_commits_by_being_submitted_without_a_lease() {
    let (mut cluster, [_, appended]) = with_log(Durability::Log, &[], &[]);
    cluster.brick(0).core.lease(false);
    assert!(!submit(&mut cluster, 1, appended));
}

/// Rule `a primary accepts its view`.
#[test]
fn nothing_commits_by_being_submitted_in_a_view_that_was_left() {
    let (mut cluster, [_, appended]) = with_log(Durability::Log, &[], &[]);
    let next = group(2, 1, &[], &[]);
    let change = changing(&group(1, 0, &[], &[]), &next, &[0]);
    cluster.brick(0).adopt(P, &change);
    assert!(!submit(&mut cluster, 1, appended));
}

/// Rule `a primary accepts its view`.
#[test]
fn accepting_waits_for_the_sync_of_what_committed_by_being_submitted() {
    let (mut cluster, [synced, appended]) = with_log(Durability::Log, &[], &[]);
    assert!(submit(&mut cluster, 1, appended));
    let brick = cluster.brick(0);
    let change = changing(&group(1, 0, &[], &[]), &group(2, 0, &[], &[]), &[]);
    brick.adopt(P, &change);
    brick.with(|core| core.adopted(5));
    assert_eq!(brick.poll_request(), Some(Want::SyncLog));
    brick.with(|core| core.on_synced(synced));
    assert_eq!(brick.core.accepted(), 0);
    brick.with(|core| core.on_synced(appended));
    assert_eq!(brick.core.accepted(), 5);
}

#[test]
fn a_commit_position_is_told_in_the_turn_in_which_it_commits() {
    let mut cluster = Cluster::started(2, &[P, Q], &group(1, 0, &[1], &[]));
    for (value, op) in [("1", 2), ("2", 3), ("3", 4)] {
        cluster.brick(0).put(P, "k", value).unwrap();
        cluster.run();
        assert_eq!(cluster.brick(0).committed(P), op);
        assert_eq!(cluster.brick(1).committed(P), op, "no records came after");
    }
}
