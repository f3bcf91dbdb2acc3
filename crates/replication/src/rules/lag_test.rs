use crate::MemberLag;
use crate::fixture::{Cluster, P, TABLE, group, replica};
use std::time::Duration;

const TICK: Duration = Duration::from_millis(100);

fn lag_of(cluster: &mut Cluster, at: usize) -> MemberLag {
    let all: Vec<MemberLag> = cluster.brick(0).core.lags().collect();
    let found: Vec<&MemberLag> = all.iter().filter(|it| it.replica == replica(at)).collect();
    let [one] = found[..] else {
        panic!("one figure of brick {at}: {all:?}");
    };
    *one
}

#[test]
fn a_backup_is_behind_by_what_it_has_not_voted_for_and_for_as_long_as_that_waits() {
    let mut cluster = Cluster::started(3, &[P], &group(1, 0, &[1, 2], &[]));
    let abreast = MemberLag {
        table: TABLE,
        replica: replica(2),
        is_learner: false,
        is_in_step: true,
        operations: 0,
        waited: Duration::ZERO,
    };
    assert_eq!(lag_of(&mut cluster, 2), abreast);

    cluster.is_log_held[2] = true;
    for number in 0..5 {
        let key = format!("k{number}");
        cluster.brick(0).put(P, &key, "v").unwrap();
        cluster.run();
    }
    assert_eq!(lag_of(&mut cluster, 2).operations, 5);
    // The other one holds them all.
    assert_eq!(lag_of(&mut cluster, 1).operations, 0);
    for _ in 0..4 {
        cluster.pass(TICK);
        cluster.run();
    }
    let waited = lag_of(&mut cluster, 2).waited;
    assert!(TICK * 2 <= waited && waited <= TICK * 4, "{waited:?}");
    assert_eq!(lag_of(&mut cluster, 1).waited, Duration::ZERO);

    cluster.is_log_held[2] = false;
    cluster.run();
    cluster.pass(TICK);
    assert_eq!(lag_of(&mut cluster, 2), abreast);
    // Who leads nothing has nobody behind it.
    assert_eq!(cluster.brick(1).core.lags().count(), 0);
}

#[test]
fn a_backup_without_a_stream_is_behind_by_all_that_is_pending() {
    let mut cluster = Cluster::started(3, &[P], &group(1, 0, &[1, 2], &[]));
    cluster.brick(0).put(P, "before", "v").unwrap();
    cluster.run();
    cluster.disconnect(0, 2);
    cluster.requests.clear();
    for key in ["a", "b"] {
        cluster.brick(0).put(P, key, "v").unwrap();
    }
    let lag = lag_of(&mut cluster, 2);
    assert_eq!((lag.is_in_step, lag.operations), (false, 2));
}

#[test]
fn a_learner_is_behind_by_what_it_had_not_when_its_copies_began() {
    let mut cluster = Cluster::started(3, &[P], &group(1, 0, &[1], &[]));
    for number in 0..7 {
        let key = format!("k{number}");
        cluster.brick(0).put(P, &key, "v").unwrap();
        cluster.run();
    }
    cluster.does_copy = false;
    cluster.adopt(P, &group(2, 0, &[1], &[2]));
    cluster.run();
    let lag = lag_of(&mut cluster, 2);
    assert!(lag.is_learner, "{lag:?}");
    assert!(lag.operations >= 7, "{lag:?}");
}
