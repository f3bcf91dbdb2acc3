//! Nodes come and go, and no client notices: joins, drains, removals, replacements and weights, while clients write
//! and read through the client library, checked by what they saw.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::moves::{held, number, ours};
use brickyard_e2e::process::Process;
use brickyard_e2e::resize::partitions;
use brickyard_e2e::server::{brickyard, program};
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

/// With a third brick there is need for twice as many.
#[test]
fn tables_get_partitions_for_a_node_that_joined_while_clients_write() {
    let setup = Setup {
        nodes: &[0, 1],
        arguments: &["--split-after", "1s"],
        attributes: &[],
        ..Setup::new("partitions for a third node")
    };
    try_failure(setup, Keys::Any, |cluster, load, _| {
        assert_eq!(partitions(cluster).len(), 512);
        cluster.add();
        cluster.wait_until_formed();
        wait_for("every partition to be split", || {
            (partitions(cluster).len() == 1024).then_some(())
        });
        ours(cluster, 0, &["rebalance"]);
        wait_for_writes(load);
        let shares: Vec<i64> = held(cluster, 0, 1024).values().map(|it| it.0).collect();
        assert!(
            shares.len() == 3 && shares.iter().all(|it| (682..=683).contains(it)),
            "{shares:?}"
        );
        let text = ours(cluster, 2, &["table", "digest", "t"]);
        assert!(text.contains("1024 equal, 0 behind, 0 differ"), "{text}");
    })
    .map(|report| report.checked());
}

#[test]
fn operator_is_told_how_a_node_joins_and_when_it_has_its_share() {
    let mut cluster = Cluster::start(&[0, 1], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "64"]);
    cluster.wait_until_whole("t", 2);
    let address = format!("127.0.0.1:{}", cluster.port(0));
    let folder = tempfile::tempdir().unwrap();
    let mut command = program();
    command.args(["node", "add", "--address", &address]);
    let mut adding = Process::start(&mut command, &folder.path().join("output"));
    wait_for("word of how to start one", || {
        let told = adding.output();
        let is_named = |seed: &String| told.contains(seed);
        (told.contains("--join") && cluster.seeds().iter().all(is_named)).then_some(())
    });
    let new = cluster.add();
    let status = adding.wait();
    let output = adding.output();
    assert!(status.success(), "{output}");
    assert!(output.contains("has joined and has its share"), "{output}");
    let copies: i64 = held(&cluster, 0, PARTITIONS)[&new].0;
    assert!((42..=43).contains(&copies), "{copies}");
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

/// A machine that burnt down: what others have too is made whole, and what only it had is named before it is given up.
#[test]
fn node_that_is_gone_for_ever_is_removed_by_force_with_its_loss_named() {
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "64"]);
    cluster.create_table("single", &["REPLICAS", "1", "PARTITIONS", "8"]);
    cluster.wait_until_whole("t", 2);
    let keys: Vec<String> = (0..200).map(|key| format!("key{key}")).collect();
    for table in ["t", "single"] {
        let mut client = cluster.table(0, table).unwrap();
        for key in &keys {
            client.must(&["SET", key, key]);
        }
    }
    let gone = number(&cluster, 2);
    cluster.kill(2);
    let address = format!("127.0.0.1:{}", cluster.port(0));
    // Without force it is not given up, and nothing changes.
    let finished = brickyard(&["node", "remove", &gone, "--address", &address]);
    assert_eq!(finished.status.code(), Some(1), "{}", finished.text());
    for words in ["does not answer", "'single'"] {
        assert!(finished.stderr.contains(words), "{}", finished.text());
    }

    // While its lease runs it may still be there.
    let finished = wait_for("the node to count as gone", || {
        let words = ["node", "remove", &gone, "--force", "--address", &address];
        let finished = brickyard(&words);
        let is_early = finished.stderr.contains("is running");
        (!is_early).then_some(finished)
    });
    assert!(finished.status.success(), "{}", finished.text());
    assert!(
        finished.stderr.contains("'single'") && finished.stderr.contains("partition"),
        "{}",
        finished.text()
    );
    cluster.wait_until_gone(2);
    cluster.wait_until_formed();
    cluster.wait_until_whole("t", 2);
    let mut client = cluster.table(0, "t").unwrap();
    for key in &keys {
        assert_eq!(client.call(&["GET", key]).text(), *key);
    }
    // The operator gives up what was there alone.
    wait_for("the partitions that are lost to begin empty", || {
        let words = [
            "table",
            "recover",
            "single",
            "--confirm",
            "single",
            "--address",
            &address,
        ];
        brickyard(&words).status.success().then_some(())
    });
    let mut client = cluster.table(1, "single").unwrap();
    let left = wait_for("all partitions to be served", || {
        let values: Vec<String> = keys
            .iter()
            .map(|key| client.call(&["GET", key]).text())
            .collect();
        let is_served = values.iter().all(|it| !it.starts_with('-'));
        is_served.then(|| values.iter().filter(|it| it.starts_with("key")).count())
    });
    assert!((1..keys.len()).contains(&left), "{left} keys are left");
    wait_for("a write", || {
        let reply = client.call(&["SET", &keys[0], "again"]);
        (reply.text() == "OK").then_some(())
    });
}
