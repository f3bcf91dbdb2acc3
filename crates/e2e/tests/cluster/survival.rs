//! Failures while clients write and read through the client library, checked by what they saw.

use brickyard_e2e::cluster::{Cluster, LEASE};
use brickyard_e2e::trial::{Keys, Setup, try_failure, wait_for_writes};
use std::thread::sleep;

fn kill(cluster: &mut Cluster, at: usize, load: &brickyard_torture::Load) {
    cluster.kill(at);
    // As long as the others need to go on without it.
    wait_for_writes(load);
    cluster.launch(at);
}

#[test]
fn killed_backup_costs_nothing_acknowledged() {
    let setup = Setup::new("kill -9 of a backup");
    try_failure(setup, Keys::OfOneGroup, |cluster, load, holders| {
        kill(cluster, holders[1], load);
    })
    .map(|report| report.checked());
}

#[test]
fn killed_primary_costs_nothing_acknowledged() {
    let setup = Setup::new("kill -9 of a primary");
    try_failure(setup, Keys::OfOneGroup, |cluster, load, holders| {
        kill(cluster, holders[0], load);
    })
    .map(|report| report.checked());
}

#[test]
fn killed_leader_of_the_control_plane_costs_nothing_acknowledged() {
    let setup = Setup::new("kill -9 of the control leader");
    try_failure(setup, Keys::Any, |cluster, load, _| {
        let leader = cluster.leader();
        kill(cluster, leader, load);
    })
    .map(|report| report.checked());
}

#[test]
fn all_nodes_killed_at_once_keep_everything() {
    let setup = Setup {
        replicas: 3,
        ..Setup::new("kill -9 of all nodes at once")
    };
    try_failure(setup, Keys::Any, |cluster, _, _| {
        for at in 0..3 {
            cluster.kill(at);
        }
        for at in [1, 0, 2] {
            cluster.launch(at);
        }
    })
    .map(|report| report.checked());
}

#[test]
fn paused_node_answers_nothing_stale_when_it_wakes() {
    let setup = Setup {
        aside: Some(1),
        ..Setup::new("SIGSTOP for five leases")
    };
    try_failure(setup, Keys::Any, |cluster, _, _| {
        cluster.signal(1, "STOP");
        // The pause itself is what is tested.
        sleep(5 * LEASE);
        cluster.signal(1, "CONT");
    })
    .map(|report| report.checked());
}

#[test]
fn rolling_restart_loses_nothing() {
    let setup = Setup::new("rolling restart");
    try_failure(setup, Keys::Any, |cluster, _, _| {
        for at in 0..3 {
            cluster.stop(at);
            cluster.launch(at);
            cluster.wait_until_formed();
            cluster.wait_until_whole("t", 2);
        }
    })
    .map(|report| report.checked());
}

fn cut(setup: Setup, pairs: &'static [(usize, usize)]) {
    let setup = Setup {
        can_be_cut: true,
        aside: Some(0),
        ..setup
    };
    try_failure(setup, Keys::Any, |cluster, load, _| {
        let network = cluster.network().expect("it was asked for");
        for &(from, to) in pairs {
            network.cut(from, to);
        }
        // Long enough for leases to run out; what is cut off must not serve then.
        sleep(2 * LEASE);
        wait_for_writes(load);
        network.heal();
    })
    .map(|report| report.checked());
}

#[test]
fn node_that_is_cut_off_does_no_harm() {
    let setup = Setup::new("cut between a node and the others");
    cut(setup, &[(0, 1), (1, 0), (0, 2), (2, 0)]);
}

#[test]
fn node_that_is_not_heard_does_no_harm() {
    let setup = Setup::new("a node's packets to the others are lost");
    cut(setup, &[(0, 1), (0, 2)]);
}

#[test]
fn node_that_hears_nothing_does_no_harm() {
    let setup = Setup::new("the others' packets to a node are lost");
    cut(setup, &[(1, 0), (2, 0)]);
}
