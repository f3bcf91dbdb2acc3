use crate::fixture::{Cluster, P, Q, changing, group, replica};
use crate::frame::{CopyStart, Frame};
use crate::{ReplicaSummary, Role, Want};
use brickyard_types::record::Kind;
use brickyard_types::{Op, PartitionId, View};
use std::time::Duration;

pub(super) fn promotion(view: u32) -> Want {
    Want::Promote {
        partition: P,
        view: View(view),
        learner: replica(1),
    }
}

/// Brick 0 alone, with committed ops 2 to 4; then brick 1 becomes its learner and nothing is copied yet.
pub(super) fn joining() -> Cluster {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[], &[]));
    for key in ["a", "b", "c"] {
        cluster.brick(0).put(P, key, "old").unwrap();
    }
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 4);
    cluster.does_copy = false;
    cluster.adopt(P, &group(1, 0, &[], &[1]));
    cluster.run();
    cluster
}

pub(super) fn copy_all(cluster: &mut Cluster) {
    let asked = cluster.asked(0);
    for request in asked {
        if let Want::CatchUp { link, after, .. } = request {
            cluster.copy(0, P, link, after, usize::MAX);
            cluster.brick(0).catch_up_done(link, P);
        }
    }
    cluster.run();
}

#[test]
fn a_learner_is_filled_and_promoted_and_holds_everything() {
    let mut cluster = joining();
    assert_eq!(cluster.brick(1).core.status(P).role, Role::Learner);
    cluster.brick(0).put(P, "b", "new").unwrap();
    cluster.run();
    assert_eq!(
        cluster.brick(0).committed(P),
        5,
        "a learner holds nothing up"
    );
    copy_all(&mut cluster);
    assert_eq!(cluster.asked(0), [promotion(1)]);
    let next = group(2, 0, &[1], &[]);
    let change = changing(&group(1, 0, &[], &[1]), &next, &[]);
    cluster.adopt(P, &change);
    cluster.adopt(P, &next);
    cluster.run();
    assert_eq!(cluster.brick(1).core.status(P).role, Role::Backup);
    assert!(cluster.brick(1).core.status(P).serves_reads);
    for (key, value) in [("a", "old"), ("b", "new"), ("c", "old")] {
        assert_eq!(cluster.brick(1).get(P, key).as_deref(), Some(value));
    }
    assert_eq!(cluster.brick(1).committed(P), 6);
}

#[test]
fn an_op_that_was_not_flushed_to_a_learner_does_not_commit() {
    let mut cluster = joining();
    cluster.brick(0).put(P, "k", "v").unwrap();
    // The own log is ahead of the end of the turn.
    cluster.brick(0).append();
    cluster.brick(0).check_again();
    assert_eq!(cluster.brick(0).committed(P), 4);
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 5);
    assert_eq!(cluster.brick(1).last(P), (1, 5), "the stream has it");
}

/// Rule `learner votes before promotion`.
#[test]
fn a_learners_vote_is_required_from_the_end_of_its_catch_up_on() {
    let mut cluster = joining();
    copy_all(&mut cluster);
    cluster.requests.clear();
    cluster.is_log_held[1] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 4);
    cluster.is_log_held[1] = false;
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 5);
}

/// Rule `learner votes before promotion`.
#[test]
fn a_promotion_is_asked_for_when_the_learner_holds_everything() {
    let mut cluster = joining();
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    let asked = cluster.asked(0);
    let Want::CatchUp { link, after, .. } = asked[0] else {
        panic!("{asked:?}");
    };
    cluster.copy(0, P, link, after, usize::MAX);
    cluster.brick(0).catch_up_done(link, P);
    cluster.run();
    assert_eq!(cluster.asked(0), [promotion(1)]);
    // A learner whose log has the copies and not the stream's newest records holds not everything.
    let mut cluster = joining();
    copy_all_but_votes(&mut cluster);
    assert_eq!(cluster.asked(0), []);
}

/// The copies are done, the learner's votes are under way.
fn copy_all_but_votes(cluster: &mut Cluster) {
    let asked = cluster.asked(0);
    let Want::CatchUp { link, after, .. } = asked[0] else {
        panic!("{asked:?}");
    };
    cluster.copy(0, P, link, after, usize::MAX);
    cluster.brick(0).catch_up_done(link, P);
    // A record goes along that the learner's log does not have for now.
    cluster.brick(0).put(P, "late", "v").unwrap();
    cluster.wires[0].is_held = true;
    cluster.run();
    while !cluster.wires[0].down.is_empty() {
        cluster.deliver_down(0).unwrap();
    }
    cluster.run();
    let mut kept = cluster.wires[0].up.clone();
    kept.retain(|frame| !matches!(Frame::decode(frame), Ok(Frame::Vote(_))));
    cluster.wires[0].up = kept;
    while !cluster.wires[0].up.is_empty() {
        cluster.deliver_up(0).unwrap();
    }
    cluster.flush(0);
}

/// Rule `learner votes before promotion`.
#[test]
fn learner_that_dropped_what_it_held_is_asked_for_when_it_has_it_again() {
    let mut cluster = joining();
    copy_all(&mut cluster);
    assert_eq!(cluster.asked(0), [promotion(1)]);
    // For a while the map does not name it, so that it drops all; the view stays the same.
    let learner = cluster.brick(1);
    learner.with(|core| core.forget(P));
    cluster.adopt(P, &group(1, 0, &[], &[]));
    cluster.adopt(P, &group(1, 0, &[], &[1]));
    cluster.run();
    let mut asked = cluster.asked(0);
    for _ in 0..30 {
        cluster.pass(Duration::from_millis(100));
        cluster.run();
        asked.extend(cluster.asked(0));
    }
    assert!(!asked.contains(&promotion(1)), "{asked:?}");
    let mut copies = asked.iter().filter_map(|request| match request {
        Want::CatchUp { link, after, .. } => Some((*link, *after)),
        _ => None,
    });
    let (link, after) = copies.next_back().unwrap();
    cluster.copy(0, P, link, after, usize::MAX);
    cluster.brick(0).catch_up_done(link, P);
    cluster.run();
    assert_eq!(cluster.asked(0), [promotion(1)]);
}

/// Rule `learner votes before promotion`.
#[test]
fn the_vote_stays_required_until_a_newer_view_whatever_happens() {
    let mut cluster = joining();
    copy_all(&mut cluster);
    assert_eq!(cluster.asked(0), [promotion(1)]);
    // The proposal is under way. The stream breaks, the map says that there is no learner any more.
    cluster.disconnect(0, 1);
    cluster.requests.clear();
    cluster.bricks[1] = None;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 4);
    cluster.adopt(P, &group(1, 0, &[], &[]));
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 4);
    // It is to be evicted like a backup; a newer view without it frees the partition.
    for _ in 0..60 {
        cluster.pass(Duration::from_millis(100));
        cluster.flush(0);
    }
    let asked = cluster.asked(0);
    assert!(
        asked
            .iter()
            .any(|it| matches!(it, Want::Evict { backup, .. } if *backup == replica(1)))
    );
    cluster.adopt(P, &group(2, 0, &[], &[]));
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 6);
}

/// Rule `learner votes before promotion`.
#[test]
fn a_learner_that_falls_out_before_it_was_proposed_holds_nothing_up() {
    let mut cluster = joining();
    copy_all_but_votes(&mut cluster);
    cluster.brick(0).put(P, "more", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 5, "its vote is required");
    cluster.disconnect(0, 1);
    cluster.flush(0);
    assert_eq!(cluster.brick(0).committed(P), 6);
}

/// Rule `a learner begins with what is pending`.
#[test]
fn a_learners_stream_begins_with_what_is_pending() {
    let mut cluster = Cluster::started(3, &[P], &group(1, 0, &[2], &[]));
    cluster.does_copy = false;
    cluster.brick(0).put(P, "old", "v").unwrap();
    cluster.run();
    // Op 3 was prepared before the learner came, and commits after the copy was made.
    cluster.is_log_held[2] = true;
    cluster.brick(0).put(P, "pending", "v").unwrap();
    cluster.run();
    cluster.adopt(P, &group(1, 0, &[2], &[1]));
    cluster.run();
    copy_all(&mut cluster);
    cluster.is_log_held[2] = false;
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 3);
    assert_eq!(cluster.brick(1).get(P, "old").as_deref(), Some("v"));
    assert_eq!(cluster.brick(1).get(P, "pending").as_deref(), Some("v"));
}

/// A learner that holds ops up to 4 of view 1, of which 0 of key `k` was deleted since by op 5 or so.
fn behind(watermark: u64) -> Cluster {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    cluster.brick(0).put(P, "stays", "v").unwrap();
    cluster.brick(0).put(P, "goes", "v").unwrap();
    cluster.run();
    let next = group(2, 0, &[], &[]);
    cluster.adopt(P, &changing(&first, &next, &[1]));
    cluster.adopt(P, &next);
    cluster.brick(0).put(P, "new", "v").unwrap();
    cluster.run();
    // The deletion of `goes` has come and gone: its tombstone was dropped.
    let brick = cluster.brick(0);
    brick.host.tables.get_mut(&P).unwrap().remove(&b"goes"[..]);
    brick.with(|core| core.raise_watermark(P, Op(watermark)));
    cluster.requests.clear();
    cluster.adopt(P, &group(2, 0, &[], &[1]));
    cluster.run();
    cluster
}

/// Rule `tombstones reach down to the watermark`.
#[test]
fn a_learner_older_than_the_watermark_is_filled_anew() {
    let mut cluster = behind(5);
    assert_eq!(cluster.brick(1).host.cleared, [P]);
    assert_eq!(cluster.brick(1).get(P, "goes"), None);
    assert_eq!(cluster.brick(1).get(P, "stays").as_deref(), Some("v"));
    assert_eq!(
        cluster
            .brick(1)
            .core
            .summaries()
            .next()
            .unwrap()
            .1
            .watermark,
        Op(5)
    );
}

/// Rule `tombstones reach down to the watermark`.
#[test]
fn a_learner_above_the_watermark_gets_the_difference() {
    let mut cluster = behind(3);
    assert_eq!(cluster.brick(1).host.cleared, []);
    assert_eq!(cluster.brick(1).get(P, "new").as_deref(), Some("v"));
    let kinds = cluster.brick(1).host.kinds(P);
    let copies = kinds.iter().filter(|it| **it == (Kind::Put, 5)).count();
    assert_eq!(copies, 1, "{kinds:?}");
}

/// Rule `tombstones reach down to the watermark`.
#[test]
fn one_op_below_the_watermark_is_below_it() {
    assert_eq!(behind(4).brick(1).host.cleared, [P]);
}

/// Rule `tombstones reach down to the watermark`.
#[test]
fn a_watermark_that_rises_during_a_catch_up_begins_it_anew() {
    let mut cluster = joining();
    cluster
        .requests
        .retain(|(_, it)| !matches!(it, Want::CatchUp { after: None, .. }));
    cluster.brick(0).with(|core| core.raise_watermark(P, Op(3)));
    cluster.run();
    let asked = cluster.asked(0);
    assert!(
        asked
            .iter()
            .any(|it| matches!(it, Want::StopCatchUp { .. }))
    );
    assert!(
        matches!(asked.last(), Some(Want::CatchUp { after: None, .. })),
        "{asked:?}"
    );
}

/// Rule `log summaries begin at a baseline`.
#[test]
fn an_unfinished_catch_up_is_not_claimed() {
    let mut cluster = joining();
    let asked = cluster.asked(0);
    let Want::CatchUp { link, after, .. } = asked[0] else {
        panic!("{asked:?}");
    };
    assert_eq!(after, Some(Op(0)));
    cluster.copy(0, P, link, after, 1);
    cluster.brick(0).put(P, "live", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(1).last(P), (1, 5));
    let summary = cluster.brick(1).core.summaries().next().unwrap().1;
    assert_eq!(
        (summary.last, summary.is_complete),
        ((View(0), Op(0)), false)
    );
    assert_eq!(
        cluster.brick(1).core.baseline(P),
        None,
        "nothing to clean by"
    );
    // The same after a restart, from the log alone.
    let log = cluster.crash(1);
    let (_, rebuilds) = crate::fixture::FakeHost::recover(&log);
    let restored = rebuilds.into_values().next().unwrap().finish();
    assert_eq!(
        (restored.last, restored.is_complete),
        ((View(0), Op(0)), false)
    );
}

/// Rule `log summaries begin at a baseline`.
#[test]
fn a_finished_catch_up_is_claimed_once_its_baseline_is_in_the_log() {
    let mut cluster = joining();
    cluster.brick(0).put(P, "live", "v").unwrap();
    cluster.run();
    cluster.is_log_held[1] = true;
    copy_all(&mut cluster);
    assert_eq!(cluster.asked(0), [], "not in the learner's log");
    cluster.is_log_held[1] = false;
    cluster.run();
    assert_eq!(cluster.asked(0), [promotion(1)]);
    let log = cluster.crash(1);
    let (_, rebuilds) = crate::fixture::FakeHost::recover(&log);
    let restored = rebuilds.into_values().next().unwrap().finish();
    assert_eq!(
        (restored.last, restored.is_complete),
        ((View(1), Op(5)), true)
    );
    assert_eq!(restored.baseline.op, Op(4));
}

/// Rule `forced recovery begins a generation`.
#[test]
fn another_generation_is_copied_in_full() {
    let mut cluster = Cluster::started(2, &[P, Q], &group(1, 0, &[1], &[]));
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    let mut forced = group(7, 0, &[], &[1]);
    forced.generation = 2;
    cluster.adopt(P, &forced);
    cluster.run();
    assert_eq!(cluster.brick(1).host.cleared, [P]);
    assert_eq!(cluster.brick(1).get(P, "k").as_deref(), Some("v"));
    assert_eq!(cluster.brick(1).core.generation(P), 2);
    assert_eq!(cluster.asked(0), [promotion(7)]);
}

/// Rule `a cut is a record`.
#[test]
fn a_learner_never_cuts_what_it_knows_to_be_committed() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    // As a learner of view 2 it is told to cut below its commit position.
    cluster.adopt(P, &group(2, 0, &[], &[1]));
    cluster.flush(0);
    cluster.deliver_down(0).unwrap();
    let start = CopyStart {
        partition: P,
        view: View(2),
        cut: Op(1),
        first: (View(1), Op(1)),
        runs: vec![crate::Run {
            view: View(1),
            first: Op(1),
        }],
        ..CopyStart::default()
    };
    assert_eq!(cluster.forge(0, 1, &Frame::CopyStart(start)), Ok(()));
    assert_eq!(cluster.brick(1).committed(P), 2);
    assert_eq!(cluster.brick(1).host.cut, []);
    cluster.flush(1);
    let refused = |frame: &Frame<'_>| matches!(frame, Frame::Refuse(_));
    let wire = cluster.wires.len() - 1;
    assert!(cluster.under_way(wire).1.iter().any(refused));
}

/// A learner that is taken off the list and on again in one view is asked twice what it has: the answer to the
/// first question does not pass for one to the second.
#[test]
fn an_old_summary_does_not_undo_what_was_copied_since() {
    let (without, with) = (group(1, 0, &[], &[]), group(1, 0, &[], &[1]));
    let mut cluster = Cluster::started(2, &[P], &without);
    cluster.brick(0).put(P, "a", "old").unwrap();
    cluster.run();
    let ask = |cluster: &mut Cluster| {
        cluster.brick(0).adopt(P, &without);
        cluster.brick(0).adopt(P, &with);
        cluster.flush(0);
    };
    cluster.adopt(P, &with);
    cluster.flush(0);
    cluster.answer();
    ask(&mut cluster);
    ask(&mut cluster);
    let wire = cluster.wires.len() - 1;
    while !cluster.wires[wire].down.is_empty() {
        cluster.deliver_down(wire).unwrap();
    }
    cluster.flush(1);
    // The first claim is answered, and everything is copied.
    cluster.deliver_up(wire).unwrap();
    cluster.flush(0);
    let held: Vec<_> = cluster.wires[wire].up.drain(..).collect();
    assert!(!held.is_empty(), "the second claim is under way");
    cluster.run();
    assert_eq!(cluster.brick(1).committed(P), 2);
    assert_eq!(cluster.asked(0), [promotion(1)]);
    // It is asked a third time, and the second claim comes.
    ask(&mut cluster);
    cluster.wires[wire].up.extend(held);
    cluster.run();
    cluster.pass(Duration::from_secs(1));
    cluster.run();
    assert_eq!(cluster.brick(1).committed(P), 2);
    assert_eq!(cluster.asked(1), []);
    assert!(cluster.asked(0).contains(&promotion(1)));
}

#[test]
fn a_summary_of_nothing_by_one_that_has_something_is_filled_anew() {
    let mut cluster = joining();
    let partition = cluster.brick(0).core.partitions.by_id(P).unwrap();
    let mut summary = ReplicaSummary {
        is_complete: true,
        ..ReplicaSummary::default()
    };
    assert_eq!(
        crate::state_transfer::plan(partition, &summary),
        crate::state_transfer::Plan::Above(Op(0))
    );
    summary.is_complete = false;
    assert_eq!(
        crate::state_transfer::plan(partition, &summary),
        crate::state_transfer::Plan::Full
    );
}

#[test]
fn copies_are_wanted_by_a_learner_that_is_copied_alone() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    let link = cluster.wire(0, 1).link;
    let core = &cluster.brick(0).core;
    assert!(!core.wants_copies(link, P) && !core.wants_copies(link, PartitionId(99)));
    let all: Vec<_> = core.summaries().collect();
    assert_eq!(
        core.summary_of(P).map(|summary| (P, summary)).as_ref(),
        all.first()
    );
}
