use crate::fixture::{ACCEPTS_AFTER, Cluster, P, Q, TABLE, changing, group};
use crate::{Baseline, Half, Run};
use brickyard_types::record::Kind;
use brickyard_types::{Op, PartitionId, View};

const WHOLE: PartitionId = PartitionId(9);

/// Two bricks that hold P in view 1 with two ops, and Q with one more than that.
fn siblings() -> Cluster {
    let mut cluster = Cluster::started(2, &[P, Q], &group(1, 0, &[1], &[]));
    cluster.brick(0).put(P, "p", "1").unwrap();
    for value in ["1", "2"] {
        cluster.brick(0).put(Q, "q", value).unwrap();
    }
    cluster.run();
    cluster
}

fn baseline() -> Baseline {
    let (view, first) = (View(1), Op(1));
    Baseline {
        generation: 1,
        view,
        op: Op(3),
        runs: vec![Run { view, first }],
    }
}

/// Merges at a brick, where the logs ended at these ops; whether it held both.
fn merge(cluster: &mut Cluster, at: usize, lasts: [u64; 2]) -> bool {
    let half = |partition, op| Half {
        partition,
        view: View(1),
        last: (View(1), Op(op)),
    };
    let halves = [half(P, lasts[0]), half(Q, lasts[1])];
    let brick = cluster.brick(at);
    brick.with(|core| core.merge(TABLE, &halves, WHOLE, &baseline()))
}

/// Rule `splits and merges are bound to views`.
#[test]
fn whole_begins_behind_both_logs_and_goes_on() {
    let mut cluster = siblings();
    for at in 0..2 {
        assert!(merge(&mut cluster, at, [2, 3]));
        let brick = cluster.brick(at);
        assert_eq!(
            (brick.committed(WHOLE), brick.last(WHOLE)),
            (3, (1, 3)),
            "above both"
        );
        let summaries = brick.core.summaries().find(|(of, _)| *of == WHOLE);
        let summary = summaries.unwrap().1;
        assert!(summary.is_complete);
        assert_eq!((summary.last, summary.watermark), ((View(1), Op(3)), Op(3)));
        assert_eq!((brick.last(P), brick.last(Q)), ((0, 0), (0, 0)), "gone");
    }
    cluster.adopt(WHOLE, &group(2, 0, &[1], &[]));
    cluster.run();
    cluster.brick(0).put(WHOLE, "p", "2").unwrap();
    cluster.run();
    for at in 0..2 {
        let brick = cluster.brick(at);
        assert_eq!((brick.last(WHOLE), brick.committed(WHOLE)), ((2, 5), 5));
        assert_eq!(brick.get(WHOLE, "p").as_deref(), Some("2"));
    }
}

/// Rule `splits and merges are bound to views`.
#[test]
fn who_lacks_the_end_of_either_summaries_nothing_and_gets_a_full_copy() {
    let mut cluster = siblings();
    assert!(merge(&mut cluster, 0, [2, 3]));
    // As if it had missed the last op of one.
    assert!(!merge(&mut cluster, 1, [3, 3]));
    let summaries = cluster.brick(1).core.summaries();
    let summary = summaries
        .into_iter()
        .find(|(of, _)| *of == WHOLE)
        .unwrap()
        .1;
    assert!(!summary.is_complete);
    assert_eq!((summary.last.1, summary.committed), (Op(0), Op(0)));
    cluster.adopt(WHOLE, &group(2, 0, &[], &[1]));
    cluster.run();
    let kinds = cluster.brick(1).host.kinds(WHOLE);
    let is_full = |(kind, op): &(Kind, u64)| *kind == Kind::Baseline && *op >= 3;
    assert!(kinds.iter().any(is_full), "{kinds:?}");
    let summaries = cluster.brick(1).core.summaries();
    let summary = summaries
        .into_iter()
        .find(|(of, _)| *of == WHOLE)
        .unwrap()
        .1;
    assert!(summary.is_complete && summary.watermark >= Op(3));
}

/// Rule `splits and merges are bound to views`.
#[test]
fn what_was_acknowledged_of_a_half_binds_the_whole() {
    let mut cluster = siblings();
    let now = group(1, 0, &[1], &[]);
    // Brick 1 has accepted a later view of one half, which nobody hears of.
    let change = changing(&now, &group(5, 1, &[0], &[]), &[]);
    cluster.brick(1).adopt(P, &change);
    cluster.pass(ACCEPTS_AFTER);
    for at in 0..2 {
        assert!(merge(&mut cluster, at, [2, 3]));
    }
    cluster.adopt(WHOLE, &group(2, 0, &[1], &[]));
    cluster.run();
    assert_eq!(cluster.brick(0).committed(WHOLE), 3, "no vote in view 2");
    cluster.adopt(WHOLE, &group(5, 0, &[1], &[]));
    cluster.run();
    assert_eq!(
        cluster.brick(0).committed(WHOLE),
        cluster.brick(0).last(WHOLE).1
    );
    assert!(cluster.brick(0).committed(WHOLE) > 3);
}

/// Rule `log summaries begin at a baseline`.
#[test]
fn whole_claims_nothing_once_the_log_has_refused_the_copies_of_a_half() {
    let mut cluster = Cluster::started(2, &[Q], &group(1, 0, &[1], &[]));
    for value in ["1", "2"] {
        cluster.brick(0).put(Q, "q", value).unwrap();
    }
    cluster.adopt(P, &group(1, 0, &[], &[]));
    cluster.brick(0).put(P, "p", "1").unwrap();
    cluster.run();
    cluster.is_log_held[1] = true;
    cluster.adopt(P, &group(1, 0, &[], &[1]));
    cluster.run();
    assert!(merge(&mut cluster, 1, [2, 3]), "it has all that both had");
    let brick = cluster.brick(1);
    let batch = brick.host.end_batch();
    brick.on_refused(batch);
    let (_, summary) = brick.core.summaries().find(|it| it.0 == WHOLE).unwrap();
    assert_eq!((summary.is_complete, summary.last.1), (false, Op(0)));
}
