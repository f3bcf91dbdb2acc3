use crate::fixture::{Cluster, P, Q, changing, group, replica};
use crate::{Role, Want};
use brickyard_types::View;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(100);

/// A table of so many copies on as many bricks, brick 0 leads.
fn cluster(copies: usize) -> Cluster {
    let backups: Vec<usize> = (1..copies).collect();
    let mut cluster = Cluster::new(copies);
    for at in 0..copies {
        cluster.brick(at).host.replicas = copies as u8;
    }
    for partition in [P, Q] {
        cluster.adopt(partition, &group(1, 0, &backups, &[]));
    }
    cluster.run();
    cluster
}

fn evict(partition: brickyard_types::PartitionId, at: usize, has_withdrawn: bool) -> Want {
    Want::Evict {
        partition,
        view: View(1),
        backup: replica(at),
        has_withdrawn,
    }
}

/// Ticks until a brick asks for evictions: what it asks for, and after how many.
fn evictions(cluster: &mut Cluster, at: usize, ticks: u32) -> Option<(u32, Vec<Want>)> {
    (1..=ticks).find_map(|tick| {
        cluster.pass(TICK);
        cluster.run();
        let mut asked = cluster.asked(at);
        asked.retain(|it| matches!(it, Want::Evict { .. }));
        (!asked.is_empty()).then_some((tick, asked))
    })
}

/// The log of a brick refuses what it was given last.
fn refuse(cluster: &mut Cluster, at: usize) {
    let brick = cluster.brick(at);
    let batch = brick.host.end_batch();
    brick.host.log.retain(|(mark, _)| *mark < batch);
    brick.on_refused(batch);
}

/// Rule `a withdrawn member is fenced`.
#[test]
fn a_backup_whose_disk_is_full_is_given_up_at_once_and_does_nothing_in_the_view_any_more() {
    let mut cluster = cluster(3);
    cluster.is_log_held[2] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    refuse(&mut cluster, 2);
    let status = cluster.brick(2).core.status(P);
    assert!(!status.serves_reads, "its word came after this");
    cluster.run();
    let asked = evictions(&mut cluster, 0, 1);
    assert_eq!(asked, Some((1, vec![evict(P, 2, true)])));
    // Its disk has room again, a new stream comes, and time passes: this view is over for it.
    cluster.is_log_held[2] = false;
    cluster.disconnect(0, 2);
    for _ in 0..50 {
        cluster.pass(TICK);
        cluster.run();
        assert!(!cluster.brick(2).core.status(P).serves_reads);
        assert_eq!(cluster.brick(0).committed(P), 1);
    }
    let asked = cluster.asked(0);
    let again = asked.iter().filter(|it| **it == evict(P, 2, true)).count();
    assert!((3..=6).contains(&again), "asked again {again} times");
    // In the next view it is a member like any other, should that have it.
    cluster.adopt(P, &group(2, 0, &[1, 2], &[]));
    cluster.run();
    assert_eq!(cluster.brick(0).committed(P), 3);
    assert!(cluster.brick(2).core.status(P).serves_reads);
}

/// Rule `a withdrawn member is fenced`: of a partition that lost nothing, too, if a new stream comes meanwhile.
#[test]
fn a_backup_that_refuses_a_beginning_serves_nothing_from_an_earlier_one() {
    let mut cluster = cluster(3);
    cluster.is_log_held[2] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    refuse(&mut cluster, 2);
    let serves = |cluster: &mut Cluster| cluster.brick(2).core.status(Q).serves_reads;
    assert!(serves(&mut cluster), "nothing of it was refused");
    cluster.disconnect(0, 2);
    cluster.connect(0, 2);
    cluster.run();
    cluster.pass(TICK);
    cluster.run();
    assert!(cluster.asked(0).contains(&evict(Q, 2, true)));
    assert!(!serves(&mut cluster), "its word came after this");
}

#[test]
fn a_backup_whose_disk_stands_still_says_so_itself() {
    let mut cluster = cluster(3);
    cluster.is_log_held[2] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    let (ticks, asked) = evictions(&mut cluster, 0, 20).unwrap();
    assert!((8..=11).contains(&ticks), "{ticks}");
    // Of both partitions: what is not written now would wait as well.
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked.contains(&evict(P, 2, true)) && asked.contains(&evict(Q, 2, true)));
}

/// What most copies share is no fault of one.
#[test]
fn nobody_is_given_up_where_most_disks_stand_still() {
    let mut cluster = cluster(3);
    cluster.is_log_held = vec![false, true, true];
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    assert_eq!(evictions(&mut cluster, 0, 45), None);
    cluster.is_log_held = vec![false; 3];
    assert_eq!(evictions(&mut cluster, 0, 100), None);
    assert_eq!(cluster.brick(0).committed(P), 2);
}

#[test]
fn of_two_copies_one_stays() {
    let mut cluster = cluster(2);
    cluster.is_log_held[1] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    let (ticks, asked) = evictions(&mut cluster, 0, 20).unwrap();
    assert!((8..=11).contains(&ticks), "{ticks}");
    assert!(asked.contains(&evict(P, 1, true)));
    // The only one in sync does not go, whatever its disk does.
    cluster.adopt(P, &group(2, 0, &[], &[1]));
    cluster.adopt(Q, &group(2, 0, &[], &[1]));
    cluster.is_log_held[0] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    assert_eq!(evictions(&mut cluster, 0, 100), None);
    assert_eq!(cluster.brick(0).core.status(P).role, Role::Primary);
}

/// Rule `a withdrawn member is fenced`.
#[test]
fn a_primary_whose_disk_stands_still_stops_and_asks_for_another() {
    let mut cluster = cluster(3);
    cluster.is_log_held[0] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    let (ticks, asked) = evictions(&mut cluster, 0, 20).unwrap();
    assert!((8..=11).contains(&ticks), "{ticks}");
    assert_eq!(asked, [evict(P, 0, true), evict(Q, 0, true)]);
    let status = cluster.brick(0).core.status(P);
    assert_eq!((status.role, status.serves_reads), (Role::Stopped, false));
    // It stays so whatever its disk does, and asks again.
    cluster.is_log_held[0] = false;
    let (ticks, asked) = evictions(&mut cluster, 0, 20).unwrap();
    assert!((8..=12).contains(&ticks), "{ticks}");
    assert_eq!(asked.len(), 2);
    assert_eq!(
        cluster.brick(0).committed(P),
        1,
        "a stopped one commits nothing"
    );
    // The next view is led by another, or by itself.
    let next = group(2, 1, &[2], &[0]);
    cluster.adopt(P, &changing(&group(1, 0, &[1, 2], &[]), &next, &[0]));
    cluster.adopt(P, &next);
    cluster.adopt(Q, &group(2, 0, &[1, 2], &[]));
    cluster.run();
    assert_eq!(cluster.brick(1).core.status(P).role, Role::Primary);
    assert!(cluster.brick(0).core.status(Q).accepts_writes);
    assert_eq!(evictions(&mut cluster, 0, 30), None);
}

/// A link that loses everything, while others vote.
#[test]
fn a_silent_member_is_to_be_evicted_long_before_the_timeout() {
    let mut cluster = cluster(3);
    cluster.wire(0, 2).is_held = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    let (ticks, asked) = evictions(&mut cluster, 0, 20).unwrap();
    assert!((10..=12).contains(&ticks), "{ticks}");
    assert_eq!(asked, [evict(P, 2, false)]);
}

/// Neither is progress: that a silent stream is closed, nor that another one comes.
#[test]
fn time_of_a_silent_member_does_not_begin_anew_when_its_stream_is_closed() {
    let mut cluster = cluster(3);
    cluster.brick(0).put(P, "k", "1").unwrap();
    cluster.run();
    cluster.wire(0, 2).is_held = true;
    cluster.brick(0).put(P, "k", "2").unwrap();
    cluster.run();
    assert_eq!(evictions(&mut cluster, 0, 8), None);
    cluster.disconnect(0, 2);
    cluster.bricks[2] = None;
    let (ticks, _) = evictions(&mut cluster, 0, 20).unwrap();
    assert!(ticks <= 4, "{ticks}");
}

/// A link is cut, and only later is anything written to the partition: that does not wait as long again.
#[test]
fn a_write_that_comes_late_does_not_wait_anew_for_a_silent_member() {
    for is_closed in [false, true] {
        let mut cluster = cluster(3);
        cluster.brick(0).put(P, "k", "1").unwrap();
        cluster.run();
        cluster.wire(0, 2).is_held = true;
        assert_eq!(evictions(&mut cluster, 0, 6), None);
        if is_closed {
            cluster.disconnect(0, 2);
            cluster.bricks[2] = None;
        }
        assert_eq!(evictions(&mut cluster, 0, 6), None, "nothing waits for it");
        cluster.brick(0).put(P, "k", "2").unwrap();
        cluster.run();
        let (ticks, asked) = evictions(&mut cluster, 0, 20).unwrap();
        assert!(ticks <= 2, "{ticks}");
        assert_eq!(asked, [evict(P, 2, false)]);
    }
}

/// It takes a quarter of a second for everything, and others do not.
fn is_slow(cluster: &mut Cluster, at: usize, ticks: u32) -> Option<Vec<Want>> {
    (0..ticks).find_map(|tick| {
        cluster.is_log_held[at] = tick % 5 != 0;
        cluster.brick(0).put(P, "k", "v")?;
        cluster.run();
        let asked = evictions(cluster, 0, 1)?;
        Some(asked.1)
    })
}

#[test]
fn a_slow_backup_goes_where_two_others_stay() {
    let mut three = cluster(3);
    assert_eq!(is_slow(&mut three, 1, 200), Some(vec![evict(P, 1, false)]));
    let mut two = cluster(2);
    assert_eq!(is_slow(&mut two, 1, 200), None);
}

#[test]
fn a_slow_primary_hands_over_where_two_others_stay() {
    let mut three = cluster(3);
    let asked = is_slow(&mut three, 0, 200).unwrap();
    assert_eq!(asked, [evict(P, 0, true), evict(Q, 0, true)]);
    let mut two = cluster(2);
    assert_eq!(is_slow(&mut two, 0, 200), None);
}

#[test]
fn nobody_is_slow_where_most_are() {
    let mut cluster = cluster(3);
    for tick in 0..300 {
        cluster.is_log_held = vec![tick % 5 != 0; 3];
        cluster.brick(0).put(P, "k", "v");
        cluster.run();
        assert_eq!(evictions(&mut cluster, 0, 1), None, "tick {tick}");
    }
}

/// A cluster in which all disks were slow, so that brick 0 has seen nobody be quick of late.
fn all_were_slow() -> Cluster {
    let mut cluster = cluster(3);
    for tick in 0..100 {
        cluster.is_log_held = vec![tick % 5 != 0; 3];
        cluster.brick(0).put(P, "k", "v");
        cluster.run();
        assert_eq!(evictions(&mut cluster, 0, 1), None, "tick {tick}");
    }
    cluster.is_log_held = vec![false; 3];
    cluster.run();
    cluster
}

/// Nothing that it could send them would show that they are quick by now.
#[test]
fn a_primary_whose_disk_is_full_hands_over_to_those_that_were_slow() {
    let mut cluster = all_were_slow();
    cluster.is_log_held[0] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    refuse(&mut cluster, 0);
    let (ticks, asked) = evictions(&mut cluster, 0, 20).unwrap();
    assert_eq!(ticks, 1);
    assert_eq!(asked, [evict(P, 0, true), evict(Q, 0, true)]);
}

#[test]
fn a_primary_whose_disk_is_full_stays_where_another_s_is_full_too() {
    let mut cluster = all_were_slow();
    cluster.is_log_held = vec![true, true, false];
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    refuse(&mut cluster, 1);
    refuse(&mut cluster, 0);
    cluster.run();
    let asked = evictions(&mut cluster, 0, 20);
    assert!(asked.is_none_or(|(_, asked)| !asked.contains(&evict(P, 0, true))));
}

#[test]
fn a_primary_whose_disk_stands_still_hands_over_to_those_that_were_slow_after_the_timeout() {
    let mut cluster = all_were_slow();
    cluster.is_log_held[0] = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    let (ticks, asked) = evictions(&mut cluster, 0, 90).unwrap();
    assert!((50..=75).contains(&ticks), "{ticks}");
    assert_eq!(asked, [evict(P, 0, true), evict(Q, 0, true)]);
}

/// As when a process was stopped, or got no time.
#[test]
fn a_primary_that_stood_still_blames_nobody() {
    let mut cluster = cluster(3);
    cluster.wire(0, 2).is_held = true;
    cluster.brick(0).put(P, "k", "v").unwrap();
    cluster.run();
    assert_eq!(evictions(&mut cluster, 0, 3), None);
    cluster.pass(Duration::from_secs(60));
    cluster.wire(0, 2).is_held = false;
    cluster.run();
    assert_eq!(evictions(&mut cluster, 0, 30), None);
    assert_eq!(cluster.brick(0).committed(P), 2);
}
