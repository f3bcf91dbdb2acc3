use super::restart_test::{restarted, torn};
use crate::fixture::{Cluster, P, Q, TABLE, group};
use crate::{LogMark, Want};
use brickyard_types::record::{Kind, decode};
use brickyard_types::{PartitionId, View};
use std::time::Duration;

const R: PartitionId = PartitionId(9);

/// Two bricks in view 1; brick 0 has prepared op 2, which nobody else has heard of.
fn prepared() -> Cluster {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.wire(0, 1).is_held = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    cluster.requests.clear();
    cluster
}

fn set_split(cluster: &mut Cluster, at: usize, split: Option<(View, u64)>) {
    let brick = cluster.brick(at);
    brick.with(|core| core.set_split(P, split));
}

fn split(cluster: &mut Cluster, at: usize, view: u32) {
    let brick = cluster.brick(at);
    brick.with(|core| core.split(TABLE, P, View(view), &[Q, R]));
}

/// Whether brick 0 has asked for the split.
fn asks(cluster: &mut Cluster) -> bool {
    let asked = cluster.asked(0);
    asked.contains(&Want::Split {
        partition: P,
        view: View(1),
        begun_at: 5,
        last: (View(1), brickyard_types::Op(2)),
    })
}

/// Rule `splits and merges are bound to views`.
#[test]
fn primary_takes_no_more_writes_and_says_so_when_all_has_committed() {
    let mut cluster = prepared();
    set_split(&mut cluster, 0, Some((View(1), 5)));
    assert_eq!(cluster.brick(0).put(P, "k", "later"), None);
    cluster.run();
    assert!(!asks(&mut cluster), "op 2 is pending");
    cluster.wire(0, 1).is_held = false;
    cluster.run();
    assert!(asks(&mut cluster));
    assert_eq!(cluster.brick(0).put(P, "k", "later"), None);
    // Nobody answers: it says so again.
    let repeat = cluster.brick(0).core.config.repeat;
    cluster.pass(repeat);
    cluster.flush(0);
    assert!(asks(&mut cluster));
    // The split has ended, by a change that this brick has no part in: it goes on.
    set_split(&mut cluster, 0, None);
    cluster.brick(0).put(P, "k", "later").unwrap();
    cluster.run();
    cluster.pass(repeat);
    cluster.flush(0);
    assert!(!asks(&mut cluster));
}

/// Rule `splits and merges are bound to views`.
#[test]
fn split_of_another_view_is_nobodys() {
    let mut cluster = prepared();
    cluster.wire(0, 1).is_held = false;
    cluster.run();
    set_split(&mut cluster, 0, Some((View(2), 5)));
    cluster.run();
    assert_eq!(cluster.asked(0), []);
    cluster.brick(0).put(P, "k", "later").unwrap();
}

/// Rule `splits and merges are bound to views`.
#[test]
fn who_was_in_sync_has_committed_all_whether_it_knew_or_not() {
    let mut cluster = prepared();
    let at = cluster.wires.len() - 1;
    while !cluster.wires[at].down.is_empty() {
        cluster.deliver_down(at).unwrap();
    }
    cluster.brick(1).sync();
    cluster.flush(1);
    while !cluster.wires[at].up.is_empty() {
        cluster.deliver_up(at).unwrap();
    }
    assert_eq!(
        (cluster.brick(0).committed(P), cluster.brick(1).committed(P)),
        (2, 1)
    );
    for at in 0..2 {
        split(&mut cluster, at, 1);
        let brick = cluster.brick(at);
        for half in [Q, R] {
            assert_eq!((brick.committed(half), brick.last(half)), (2, (1, 2)));
            let summaries = brick.core.summaries().find(|(of, _)| *of == half);
            let summary = summaries.unwrap().1;
            assert!(summary.is_complete && summary.last == (View(1), brickyard_types::Op(2)));
        }
        assert_eq!(brick.last(P), (0, 0), "the whole is gone");
        assert_eq!(brick.get(P, "k").as_deref(), Some("v"));
    }
    // The halves begin as any view does, and writes go on.
    for half in [Q, R] {
        cluster.adopt(half, &group(2, 0, &[1], &[]));
    }
    cluster.wires[at].is_held = false;
    cluster.run();
    cluster.brick(0).put(Q, "a", "1").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(1).last(Q), (2, 4));
    assert_eq!(cluster.brick(1).committed(R), 3);
    assert_eq!(cluster.brick(1).get(Q, "a").as_deref(), Some("1"));
}

/// Rule `splits and merges are bound to views`.
#[test]
fn what_the_log_has_refused_holds_up_no_split() {
    let mut cluster = prepared();
    cluster.is_log_held[1] = true;
    cluster.wire(0, 1).is_held = false;
    // The disk of brick 1 is full: what brick 0 has prepared is sent again and again.
    for round in 0..3 {
        cluster.run();
        let brick = cluster.brick(1);
        assert!(
            !brick.core.is_written(P),
            "{round}: it is on its way to the log"
        );
        let batch = brick.host.end_batch();
        brick.host.log.retain(|(mark, _)| *mark < batch);
        brick.on_refused(batch);
        assert!(
            brick.core.is_written(P),
            "{round}: nothing of it is to come"
        );
        cluster.run();
        // As long as it is unfit it takes nothing.
        cluster.pass(Duration::from_secs(60));
    }
}

/// Rule `splits and merges are bound to views`.
#[test]
fn what_is_to_be_appended_again_holds_up_a_split() {
    let mut cluster = prepared();
    cluster.is_log_held[0] = true;
    cluster.brick(0).put(P, "k", "later").unwrap();
    let brick = cluster.brick(0);
    let batch = brick.host.end_batch();
    brick.host.log.retain(|(mark, _)| *mark < batch);
    brick.on_refused(batch);
    assert!(!brick.core.is_written(P), "others may have it");
    cluster.pass(Duration::from_secs(1));
    let brick = cluster.brick(0);
    assert!(!brick.core.is_written(P), "it is on its way to the log");
    brick.sync();
    assert!(brick.core.is_written(P));
}

/// Rule `splits and merges are bound to views`.
#[test]
fn who_was_not_drops_what_it_had_pending() {
    let mut cluster = prepared();
    // View 2 came and went without brick 0; it was split then.
    split(&mut cluster, 0, 2);
    let brick = cluster.brick(0);
    for half in [Q, R] {
        assert_eq!((brick.committed(half), brick.last(half)), (1, (1, 1)));
    }
    let (_, raw) = brick.host.log.last().unwrap();
    let record = decode(raw).unwrap();
    assert_eq!(
        (record.header.kind, record.header.partition),
        (Kind::Cut, P)
    );
    assert_eq!(record.header.op.0, 1, "or a restart would count op 2 in");
    assert_ne!(LogMark::NONE, brick.host.log.last().unwrap().0);
    assert_eq!(brick.get(P, "k"), None);
}

/// Rule `splits and merges are bound to views`.
#[test]
fn who_was_in_sync_and_has_restarted_keeps_what_it_had_pending() {
    // The primary came to rest with op 3; whoever voted for it restarts before it hears that it has committed.
    let (_, log) = torn();
    let mut brick = restarted(&log);
    assert_eq!(brick.core.pending(P).count(), 1);
    brick.with(|core| core.split(TABLE, P, View(1), &[Q, R]));
    for half in [Q, R] {
        assert_eq!((brick.committed(half), brick.last(half)), (3, (1, 3)));
        let (_, summary) = brick.core.summaries().find(|(of, _)| *of == half).unwrap();
        assert!(
            summary.is_complete,
            "it may be all that is left: {summary:?}"
        );
        assert_eq!(summary.last, (View(1), brickyard_types::Op(3)));
    }
    assert_eq!(brick.get(P, "b").as_deref(), Some("2"));
}
