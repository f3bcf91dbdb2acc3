//! Reads from clients' memories while clients write and nodes fail: linearizable by what they all saw.

use brickyard_e2e::cluster::{Cluster, LEASE};
use brickyard_e2e::trial::{Keys, Report, Setup, try_failure, wait_for_writes};
use brickyard_torture::Load;
use std::thread::sleep;

/// Four clients with caches of their own read few keys and write them.
const fn leased(name: &'static str) -> Setup {
    Setup {
        attributes: &["PARTITIONS", "16", "LEASES", "on"],
        keys: 8,
        cache_bytes: 1 << 20,
        ..Setup::new(name)
    }
}

fn check(report: Option<Report>) {
    let Some(report) = report.map(Report::checked) else {
        return;
    };
    let kept = report.recording.kept;
    println!("{kept} reads from memory");
    assert!(kept > 100, "{kept} reads from memory: {report}");
}

fn kill(cluster: &mut Cluster, at: usize, load: &Load) {
    cluster.kill(at);
    wait_for_writes(load);
    cluster.launch(at);
}

#[test]
fn what_is_kept_is_never_stale_when_primaries_are_killed() {
    check(try_failure(
        leased("kill -9 of one node after the other, with caches"),
        Keys::Any,
        |cluster, load, _| {
            for at in 0..3 {
                kill(cluster, at, load);
                cluster.wait_until_formed();
                cluster.wait_until_whole("t", 2);
            }
        },
    ));
}

#[test]
fn what_is_kept_is_never_stale_when_primaries_hand_over() {
    check(try_failure(
        leased("rolling restart, with caches"),
        Keys::Any,
        |cluster, load, _| {
            for at in 0..3 {
                cluster.stop(at);
                cluster.launch(at);
                cluster.wait_until_formed();
                cluster.wait_until_whole("t", 2);
                wait_for_writes(load);
            }
        },
    ));
}

#[test]
fn what_is_kept_is_never_stale_when_a_node_sleeps() {
    let setup = Setup {
        aside: Some(1),
        ..leased("SIGSTOP for five leases, with caches")
    };
    check(try_failure(setup, Keys::Any, |cluster, load, _| {
        cluster.signal(1, "STOP");
        // The pause itself is what is tested.
        sleep(5 * LEASE);
        cluster.signal(1, "CONT");
        wait_for_writes(load);
    }));
}
