//! What the own log refused: a full disk, for a while.

use crate::fixture::{Cluster, P, Q, changing, group};
use crate::{Role, Want};
use brickyard_types::record::Kind;
use brickyard_types::{Op, PartitionId, View};

const R: PartitionId = PartitionId(9);

/// The brick's open batch goes nowhere.
fn refuse(cluster: &mut Cluster, at: usize) {
    let brick = cluster.brick(at);
    let batch = brick.host.end_batch();
    brick.host.log.retain(|(mark, _)| *mark < batch);
    brick.on_refused(batch);
}

fn has_put(cluster: &mut Cluster, at: usize, partition: PartitionId) -> bool {
    let kinds = cluster.brick(at).host.kinds(partition);
    kinds.iter().any(|it| it.0 == Kind::Put)
}

/// The first of three partitions is gone when what the log refused is due again, and the last is not due yet.
#[test]
fn a_partition_that_is_gone_is_not_appended_again_and_holds_up_no_other() {
    let mut cluster = Cluster::started(2, &[P, Q, R], &group(1, 0, &[1], &[]));
    let half = cluster.brick(0).core.config.retry / 2;
    cluster.pass(half);
    cluster.is_log_held[0] = true;
    for partition in [P, Q] {
        cluster.brick(0).put(partition, "k", "v").unwrap();
    }
    refuse(&mut cluster, 0);
    cluster.pass(half);
    cluster.brick(0).put(R, "k", "v").unwrap();
    refuse(&mut cluster, 0);
    cluster.brick(0).with(|core| core.forget(P));
    cluster.pass(half);
    assert!(has_put(&mut cluster, 0, Q));
    assert!(!has_put(&mut cluster, 0, P) && !has_put(&mut cluster, 0, R));
    cluster.pass(half);
    assert!(has_put(&mut cluster, 0, R));
}

/// Rule `a primary accepts its view`.
#[test]
fn what_is_appended_again_is_synced_before_a_view_is_accepted() {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    cluster.is_log_held[0] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    refuse(&mut cluster, 0);
    cluster.requests.clear();
    let change = changing(&first, &group(2, 0, &[], &[]), &[1]);
    let brick = cluster.brick(0);
    brick.adopt(P, &change);
    brick.with(|core| core.adopted(5));
    assert_eq!(brick.poll_request(), Some(Want::SyncLog));
    brick.sync();
    assert_eq!(brick.core.accepted(), 0, "op 2 is in no log");
    let retry = brick.core.config.retry;
    cluster.pass(retry);
    let brick = cluster.brick(0);
    assert_eq!(brick.poll_request(), Some(Want::SyncLog), "one that has it");
    brick.sync();
    assert_eq!(brick.core.accepted(), 5);
    // Where nothing is to be accepted no sync is wanted.
    let mut cluster = Cluster::started(2, &[P], &first);
    cluster.is_log_held[0] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    refuse(&mut cluster, 0);
    cluster.requests.clear();
    cluster.pass(retry);
    assert!(has_put(&mut cluster, 0, P));
    assert_eq!(cluster.brick(0).poll_request(), None);
}

/// Ops 2 and 3 of an old primary have not committed; its log has the one and has refused the other.
#[test]
fn a_primary_that_becomes_a_backup_drops_what_its_log_refused_and_no_more() {
    let first = group(1, 0, &[1], &[]);
    let mut cluster = Cluster::started(2, &[P], &first);
    cluster.wire(0, 1).is_held = true;
    cluster.brick(0).put(P, "a", "1").unwrap();
    cluster.run();
    cluster.is_log_held[0] = true;
    cluster.brick(0).put(P, "b", "2").unwrap();
    refuse(&mut cluster, 0);
    assert_eq!(cluster.brick(0).host.cut, [], "others may have it");
    cluster.brick(0).adopt(P, &group(2, 1, &[0], &[]));
    assert_eq!(cluster.brick(0).core.status(P).role, Role::Backup);
    assert_eq!(cluster.brick(0).host.cut, [(P, View(1), Op(3))]);
    assert_eq!(cluster.brick(0).last(P), (1, 2));
    assert!(cluster.brick(0).core.is_written(P), "nothing is to come");
    let before = cluster.brick(0).host.kinds(P);
    let retry = cluster.brick(0).core.config.retry;
    cluster.pass(retry);
    assert_eq!(cluster.brick(0).host.kinds(P), before);
}

/// Nothing went into the batch that was open, so nothing is waited for.
#[test]
fn a_record_that_was_not_taken_is_not_on_its_way_to_the_log() {
    let mut cluster = Cluster::started(2, &[P], &group(1, 0, &[1], &[]));
    cluster.is_log_held[1] = true;
    cluster.brick(1).host.fault = Some("no room".to_owned());
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    assert_eq!(cluster.brick(1).last(P), (1, 1));
    assert!(cluster.brick(1).core.is_written(P));
}
