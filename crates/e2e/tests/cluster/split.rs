//! Partitions are split and merged while clients write and read through the client library, judged by what they saw; and what
//! the logs then have is found again by a cluster that was killed as a whole.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::resize::{merge_all, partitions, split_all};
use brickyard_e2e::server::brickyard;
use brickyard_e2e::trial::{Keys, Setup, try_failure, wait_for_writes};

#[track_caller]
fn assert_equal_replicas(cluster: &Cluster, partitions: usize) {
    let address = format!("127.0.0.1:{}", cluster.port(0));
    let finished = brickyard(&["table", "digest", "t", "--address", &address]);
    let text = finished.text();
    let wanted = format!("{partitions} equal, 0 behind, 0 differ");
    assert!(text.contains(&wanted), "{text}");
}

#[test]
fn four_partitions_become_sixteen_while_clients_write_and_all_is_there_after_a_restart_of_all() {
    let setup = Setup {
        attributes: &["PARTITIONS", "4"],
        ..Setup::new("splits, then a kill of all nodes")
    };
    try_failure(setup, Keys::Any, |cluster, load, _| {
        assert_eq!(partitions(cluster).len(), 4);
        split_all(cluster);
        wait_for_writes(load);
        split_all(cluster);
        wait_for_writes(load);
        cluster.wait_until_whole("t", 2);
        assert_equal_replicas(cluster, 16);
        for at in 0..3 {
            cluster.kill(at);
        }
        for at in 0..3 {
            cluster.launch(at);
        }
    })
    .map(|report| report.checked());
}

#[test]
fn sixteen_partitions_become_four_while_clients_write_and_all_is_there_after_a_restart_of_all() {
    let setup = Setup {
        attributes: &["PARTITIONS", "4"],
        replicas: 3,
        ..Setup::new("merges, then a kill of all nodes")
    };
    try_failure(setup, Keys::Any, |cluster, load, _| {
        split_all(cluster);
        split_all(cluster);
        wait_for_writes(load);
        merge_all(cluster);
        wait_for_writes(load);
        merge_all(cluster);
        wait_for_writes(load);
        cluster.wait_until_whole("t", 3);
        assert_equal_replicas(cluster, 4);
        for at in 0..3 {
            cluster.kill(at);
        }
        for at in 0..3 {
            cluster.launch(at);
        }
    })
    .map(|report| report.checked());
}

#[test]
fn primary_that_is_killed_in_the_middle_of_splits_costs_nothing() {
    let setup = Setup {
        attributes: &["PARTITIONS", "4"],
        replicas: 3,
        ..Setup::new("kill of a primary that splits")
    };
    try_failure(setup, Keys::Any, |cluster, load, holders| {
        for number in partitions(cluster) {
            cluster
                .client(holders[1])
                .call(&["TABLE", "SPLIT", "t", &number.to_string()]);
        }
        cluster.kill(holders[0]);
        wait_for_writes(load);
        cluster.launch(holders[0]);
        cluster.wait_until_formed();
        cluster.wait_until_whole("t", 3);
        // What the failure has ended is asked for again.
        while partitions(cluster).len() < 8 {
            split_all(cluster);
        }
        assert_equal_replicas(cluster, partitions(cluster).len());
    })
    .map(|report| report.checked());
}
