//! Nodes come and go, and nobody notices: joins, drains, removals, replacements and weights, while clients write
//! and read through the client library, judged by what they saw.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::moves::{held, number, ours};
use brickyard_e2e::server::brickyard;
use brickyard_e2e::trial::{Keys, Setup, try_failure, wait_for_writes};
use std::collections::BTreeMap;

/// Partitions of the table under test.
const PARTITIONS: i64 = 64;

fn setup(name: &'static str) -> Setup {
    Setup {
        attributes: &["PARTITIONS", "64"],
        ..Setup::new(name)
    }
}

#[track_caller]
fn assert_equal_replicas(cluster: &Cluster, through: usize) {
    let text = ours(cluster, through, &["table", "digest", "t"]);
    assert!(text.contains("64 equal, 0 behind, 0 differ"), "{text}");
}

fn even(nodes: &[usize]) -> BTreeMap<usize, (i64, i64)> {
    let count = nodes.len() as i64;
    let share = (2 * PARTITIONS / count, PARTITIONS / count);
    nodes.iter().map(|at| (*at, share)).collect()
}

#[test]
fn fourth_node_is_filled_while_clients_write() {
    try_failure(
        setup("join of a fourth node"),
        Keys::Any,
        |cluster, load, _| {
            ours(cluster, 0, &["rebalance", "pause"]);
            cluster.add();
            cluster.wait_until_formed();
            let plan = ours(cluster, 0, &["rebalance", "--dry-run"]);
            assert!(plan.contains("Moves are paused"), "{plan}");
            let moves = ours(cluster, 0, &["rebalance", "--dry-run", "--json"]);
            let copies = moves
                .split('{')
                .filter(|it| it.contains("\"table\": \"t\"") && it.contains("\"kind\": \"copy\""));
            assert_eq!(copies.count(), 32, "{moves}");
            assert_eq!(held(cluster, 0, PARTITIONS).get(&3), None);
            ours(cluster, 0, &["rebalance"]);
            wait_for_writes(load);
            let held = held(cluster, 0, PARTITIONS);
            let copies: BTreeMap<usize, i64> = held.iter().map(|(at, it)| (*at, it.0)).collect();
            assert_eq!(copies, BTreeMap::from([(0, 32), (1, 32), (2, 32), (3, 32)]));
            assert_equal_replicas(cluster, 3);
        },
    )
    .map(|report| report.checked());
}

#[test]
fn drained_and_removed_node_leaves_nothing_behind() {
    try_failure(setup("drain and removal"), Keys::Any, |cluster, load, _| {
        let gone = number(cluster, 1);
        ours(cluster, 0, &["node", "drain", &gone]);
        // Nothing is left there; who leads the rest is evened out after that.
        assert_eq!(held(cluster, 0, PARTITIONS).get(&1), None);
        wait_for("primaries to be even", || {
            (held(cluster, 0, PARTITIONS) == even(&[0, 2])).then_some(())
        });
        let listed = ours(cluster, 2, &["node", "list"]);
        let empty: Vec<&str> = listed.lines().filter(|it| it.ends_with("empty")).collect();
        assert!(
            empty.len() == 1 && empty[0].trim().starts_with(&gone),
            "{listed}"
        );
        assert_equal_replicas(cluster, 2);
        wait_for_writes(load);
        ours(cluster, 0, &["node", "remove", &gone]);
        cluster.wait_until_gone(1);
        cluster.wait_until_formed();
    })
    .map(|report| report.checked());
}

#[test]
fn successor_takes_over_exactly_what_was_there() {
    try_failure(
        setup("replacement of a node"),
        Keys::Any,
        |cluster, load, _| {
            let before = held(cluster, 0, PARTITIONS);
            let new = cluster.add_with(&["--weight", "0"]);
            cluster.wait_until_formed();
            let old = number(cluster, 1);
            ours(
                cluster,
                0,
                &["node", "replace", &old, &number(cluster, new)],
            );
            let after = held(cluster, 0, PARTITIONS);
            let copies =
                |held: &BTreeMap<usize, (i64, i64)>, at: usize| held.get(&at).map(|it| it.0);
            assert_eq!(copies(&after, 1), None);
            for (then, now) in [(0, 0), (1, new), (2, 2)] {
                assert_eq!(copies(&after, now), copies(&before, then));
            }
            assert_equal_replicas(cluster, new);
            ours(cluster, new, &["node", "remove", &old]);
            cluster.wait_until_gone(1);
            wait_for_writes(load);
        },
    )
    .map(|report| report.checked());
}

#[test]
fn copies_follow_weights() {
    try_failure(setup("weights 1:1:2"), Keys::Any, |cluster, load, _| {
        ours(cluster, 1, &["node", "weight", &number(cluster, 2), "2"]);
        wait_for_writes(load);
        let copies: Vec<i64> = held(cluster, 0, PARTITIONS)
            .values()
            .map(|it| it.0)
            .collect();
        assert_eq!(copies, [32, 32, 64]);
        assert_equal_replicas(cluster, 0);
        // What was ordered holds when the node starts anew with its old configuration.
        cluster.stop(2);
        cluster.launch(2);
        cluster.wait_until_formed();
        let listed = ours(cluster, 0, &["node", "list", "--json"]);
        assert_eq!(listed.matches("\"weight\": 2").count(), 1, "{listed}");
    })
    .map(|report| report.checked());
}

#[test]
fn what_would_leave_too_few_copies_is_refused_with_its_reason() {
    let cluster = Cluster::start(&[0, 1], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "64"]);
    cluster.wait_until_whole("t", 2);
    let address = format!("127.0.0.1:{}", cluster.port(0));
    let other = number(&cluster, 1);
    for (words, text) in [
        (["node", "drain", &other], "table 't' asks for 2 copies"),
        (["node", "remove", &other], "table 't' asks for 2 copies"),
        (["node", "drain", "7"], "node 7 is not in the cluster"),
        (["node", "remove", "7"], "node 7 is not in the cluster"),
    ] {
        let finished = brickyard(&[&words[..], &["--address", &address]].concat());
        assert_eq!(finished.status.code(), Some(1), "{}", finished.text());
        assert!(finished.stderr.contains(text), "{}", finished.text());
    }
}
