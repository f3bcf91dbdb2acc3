//! Catch-ups that break off, whose beginning the log refuses, or that end while something is under way.

use super::copy_test::{copy_all, joining, promotion};
use crate::fixture::{Cluster, P, changing, group};
use crate::frame::{CopyStart, Frame};
use crate::state_transfer::{Plan, plan};
use crate::{ReplicaSummary, Run, Want};
use brickyard_types::record::Kind;
use brickyard_types::{Op, View};
use std::collections::VecDeque;

const FIRST: Run = Run {
    view: View(1),
    first: Op(1),
};

/// What brick 1 claims: whether that is all, and up to which op.
fn claimed(cluster: &mut Cluster) -> (bool, u64) {
    let summary = cluster.brick(1).core.summary_of(P).unwrap();
    (summary.is_complete, summary.last.1.0)
}

fn refuse(cluster: &mut Cluster) {
    let brick = cluster.brick(1);
    let batch = brick.host.end_batch();
    brick.host.log.retain(|(mark, _)| *mark < batch);
    brick.on_refused(batch);
}

#[test]
fn a_learner_commits_what_is_known_to_be_committed_once_its_log_has_it() {
    let mut cluster = joining();
    cluster.is_log_held[1] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 5);
    let brick = cluster.brick(1);
    assert_eq!((brick.last(P), brick.committed(P)), ((1, 5), 4));
    brick.append();
    assert_eq!(brick.committed(P), 5, "nothing else may ever come");
}

/// Brick 1 was in sync up to op 2, and is a learner of a primary that has gone on.
fn left_behind() -> Cluster {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    cluster.does_copy = false;
    cluster.is_log_held[1] = true;
    cluster.brick(0).put(P, "pending", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(1).last(P), (1, 2), "and not in its log");
    let next = group(2, 0, &[], &[]);
    cluster.adopt(P, &changing(&first, &next, &[1]));
    cluster.adopt(P, &next);
    for key in ["d", "e"] {
        cluster.brick(0).put(P, key, "new").unwrap();
    }
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 5);
    cluster
}

/// Its primary has gone on meanwhile: what lies between comes as copies, and the stream follows behind.
#[test]
fn a_catch_up_that_broke_off_begins_anew_where_its_primary_is() {
    let mut cluster = left_behind();
    cluster.is_log_held[1] = false;
    cluster.adopt(P, &group(2, 0, &[], &[1]));
    cluster.run();
    let asked = cluster.asked(0);
    let Some(Want::CatchUp { link, after, .. }) = asked.last() else {
        panic!("{asked:?}");
    };
    cluster.copy(0, P, *link, *after, 1);
    cluster.brick(0).put(P, "live", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(1).committed(P), 6);
    cluster.disconnect(0, 1);
    for key in ["f", "g"] {
        cluster.brick(0).put(P, key, "new").unwrap();
        cluster.brick(0).append();
        cluster.brick(0).with(|core| core.flush());
    }
    assert_eq!(cluster.brick(0).committed(P), 8);
    cluster.run();
    cluster.brick(0).put(P, "h", "new").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(1).last(P), (2, 9));
    assert_eq!(cluster.brick(1).host.cleared, [], "what it had stays");
    // Rule `a cut is a record`: what its log says of the first stream ends where the second one begins.
    let kinds = cluster.brick(1).host.kinds(P);
    assert!(kinds.contains(&(Kind::Cut, 6)), "{kinds:?}");
    copy_all(&mut cluster);
    assert_eq!(cluster.asked(0), [promotion(2)]);
    assert_eq!(cluster.brick(1).committed(P), 9);
    for key in ["pending", "d", "e", "live", "f", "g", "h"] {
        assert!(cluster.brick(1).get(P, key).is_some(), "{key}");
    }
    assert_eq!(claimed(&mut cluster), (true, 9));
}

/// With its beginning a catch-up commits what both logs have: that is applied, and was in the batch that goes nowhere.
#[test]
fn whoever_loses_the_beginning_of_a_catch_up_claims_nothing() {
    let mut cluster = left_behind();
    cluster.adopt(P, &group(2, 0, &[], &[1]));
    cluster.run();
    assert_eq!(cluster.brick(1).get(P, "pending").as_deref(), Some("v"));
    assert_eq!(claimed(&mut cluster), (false, 2));
    refuse(&mut cluster);
    assert_eq!(claimed(&mut cluster), (false, 0));
    // Nor when one that broke off begins anew.
    let mut cluster = left_behind();
    cluster.brick(1).sync();
    cluster.adopt(P, &group(2, 0, &[], &[1]));
    cluster.run();
    cluster.brick(1).sync();
    cluster.run();
    assert_eq!(claimed(&mut cluster), (false, 2));
    cluster.disconnect(0, 1);
    cluster.run();
    assert_eq!(claimed(&mut cluster), (false, 2));
    refuse(&mut cluster);
    assert_eq!(claimed(&mut cluster), (false, 0));
}

#[test]
fn a_copy_that_does_not_know_its_own_end_is_an_error() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.adopt(P, &group(2, 0, &[], &[1]));
    cluster.flush(0);
    cluster.deliver_down(0).unwrap();
    let start = CopyStart {
        partition: P,
        view: View(2),
        is_full: true,
        cut: Op(0),
        first: (View(1), Op(1)),
        runs: Vec::new(),
    };
    assert!(cluster.forge(0, 1, &Frame::CopyStart(start)).is_err());
    assert_eq!(cluster.brick(1).host.cleared, []);
}

/// Rule `tombstones reach down to the watermark`.
#[test]
fn whoever_has_all_that_has_committed_lacks_no_tombstone() {
    let mut cluster = joining();
    let brick = cluster.brick(0);
    brick.with(|core| core.raise_watermark(P, Op(9)));
    let partition = brick.core.partitions.by_id(P).unwrap();
    let with = |op| ReplicaSummary {
        generation: 1,
        committed: Op(op),
        last: (View(1), Op(op)),
        is_complete: true,
        watermark: Op(0),
        runs: vec![FIRST],
    };
    assert_eq!(plan(partition, &with(3)), Plan::Full);
    assert_eq!(plan(partition, &with(4)), Plan::Above(Op(4)));
}

#[test]
fn the_end_of_a_catch_up_counts_once() {
    let mut cluster = joining();
    copy_all(&mut cluster);
    let link = cluster.wire(0, 1).link;
    let done = Frame::CopyDone {
        partition: P,
        view: View(1),
    };
    let mut bytes = Vec::new();
    done.encode(&mut bytes);
    let waiting = |cluster: &mut Cluster| {
        let sender = &cluster.brick(0).core.links.get(link).unwrap().sender;
        sender.waiting.each_ref().map(VecDeque::len)
    };
    let before = waiting(&mut cluster);
    for _ in 0..9 {
        assert_eq!(cluster.brick(0).on_frame(link, &bytes), Ok(()));
    }
    assert_eq!(waiting(&mut cluster), before);
}

/// Rule `learner votes before promotion`.
#[test]
fn what_was_sent_before_a_learners_vote_was_required_commits_with_that_vote() {
    let mut cluster = Cluster::started(3, &[P], &group(1, 0, &[2], &[]));
    cluster.does_copy = false;
    cluster.brick(0).put(P, "old", "v").unwrap();
    cluster.run();
    cluster.adopt(P, &group(1, 0, &[2], &[1]));
    cluster.run();
    let asked = cluster.asked(0);
    let Some(Want::CatchUp { link, after, .. }) = asked.last() else {
        panic!("{asked:?}");
    };
    let wire = cluster
        .wires
        .iter()
        .position(|it| it.link == *link)
        .unwrap();
    cluster.wires[wire].is_held = true;
    cluster.copy(0, P, *link, *after, usize::MAX);
    cluster.brick(0).catch_up_done(*link, P);
    let deliver_down = |cluster: &mut Cluster| {
        cluster.run();
        while !cluster.wires[wire].down.is_empty() {
            cluster.deliver_down(wire).unwrap();
        }
    };
    let deliver_up = |cluster: &mut Cluster| {
        while !cluster.wires[wire].up.is_empty() {
            cluster.deliver_up(wire).unwrap();
        }
    };
    deliver_down(&mut cluster);
    cluster.brick(1).sync();
    // The learner has all copies in its log, and nobody knows yet. An op goes to both, and into neither's log.
    cluster.is_log_held = vec![false, true, true];
    cluster.brick(0).put(P, "k", "v").unwrap();
    deliver_down(&mut cluster);
    cluster.flush(1);
    deliver_up(&mut cluster);
    cluster.is_log_held[2] = false;
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 2, "the learner's is missing");
    cluster.brick(1).sync();
    cluster.flush(1);
    deliver_up(&mut cluster);
    assert_eq!(cluster.brick(0).committed(P), 3);
}
