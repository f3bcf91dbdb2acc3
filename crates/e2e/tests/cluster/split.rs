//! Partitions are split and merged while clients write and read through the client library, checked by what they saw; and what
//! the logs then have is found again by a cluster that was killed as a whole.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::moves::{number, ours};
use brickyard_e2e::resize::{merge_all, partitions, split_all};
use brickyard_e2e::server::brickyard;
use brickyard_e2e::trial::{Keys, Setup, try_failure, wait_for_writes};
use std::collections::BTreeSet;

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

/// Whether both halves of some partition of the four that the table was made with are on the same nodes, of each.
fn are_together(cluster: &Cluster) -> Vec<bool> {
    let mut client = cluster.table(0, "t").unwrap();
    let ranges = client.call(&["CLUSTER", "SLOTS"]);
    let nodes = |slot: i64| -> BTreeSet<String> {
        let ranges = ranges.items().unwrap_or_default().iter();
        let mut ranges = ranges.filter_map(|it| it.items());
        let range = ranges.find(|it| {
            let ends = [0, 1].map(|at| it[at].as_integer().unwrap_or(-1));
            (ends[0]..=ends[1]).contains(&slot)
        });
        let replicas = range.map_or(&[][..], |it| &it[2..]).iter();
        let names = replicas.filter_map(|replica| replica.items()?.get(1).map(ToString::to_string));
        names.collect()
    };
    let parents = (0..4).map(|at| at * 4096);
    parents
        .map(|begin| nodes(begin) == nodes(begin + 2048))
        .collect()
}

/// They grow on two nodes, and are spread over four.
#[test]
fn siblings_that_have_shrunk_on_different_nodes_come_together_and_become_one() {
    let setup = Setup {
        nodes: &[0, 1],
        arguments: &["--merge-after", "1s"],
        attributes: &["PARTITIONS", "4", "PARTITION_BYTES", "64kb"],
        ..Setup::new("siblings that shrank apart")
    };
    try_failure(setup, Keys::Any, |cluster, load, _| {
        let mut client = cluster.table(0, "t").unwrap();
        let value = "x".repeat(1000);
        for key in 0..360 {
            client.must(&["SET", &format!("large{key}"), &value]);
        }
        wait_for("partitions to be split", || {
            (partitions(cluster).len() >= 8).then_some(())
        });
        // One after the other: five of the sixteen copies go to the third, so a pair at least comes apart.
        for _ in 0..2 {
            cluster.add();
            cluster.wait_until_formed();
            ours(cluster, 0, &["rebalance"]);
        }
        wait_for_writes(load);
        let together = are_together(cluster);
        assert!(together.contains(&false), "{together:?}");
        for key in 0..360 {
            client.call(&["DEL", &format!("large{key}")]);
        }
        wait_for("partitions to be merged", || {
            (partitions(cluster).len() == 4).then_some(())
        });
        wait_for_writes(load);
        cluster.wait_until_whole("t", 2);
        assert_equal_replicas(cluster, 4);
    })
    .map(|report| report.checked());
}

/// An operator has them split, spread, and merged again.
#[test]
fn siblings_on_different_nodes_are_merged_when_an_operator_asks_for_as_long_as_it_takes() {
    let cluster = Cluster::start(&[0, 1, 2, 3], 1, &[]);
    let few = [number(&cluster, 0), number(&cluster, 1)].join(",");
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "4", "NODES", &few]);
    cluster.wait_until_whole("t", 2);
    let mut client = cluster.table(0, "t").unwrap();
    for key in 0..100 {
        client.must(&["SET", &format!("key{key}"), "value"]);
    }
    split_all(&cluster);
    for nodes in [&[0, 1, 2][..], &[0, 1, 2, 3]] {
        let named: Vec<String> = nodes.iter().map(|at| number(&cluster, *at)).collect();
        let words = ["table", "alter", "t", "--nodes", &named.join(",")];
        ours(&cluster, 0, &words);
        ours(&cluster, 0, &["rebalance"]);
    }
    let together = are_together(&cluster);
    assert!(together.contains(&false), "{together:?}");
    let before = partitions(&cluster);
    for half in &before {
        if partitions(&cluster).contains(half) {
            ours(&cluster, 0, &["table", "merge", "t", &half.to_string()]);
            wait_for("the two to be one", || {
                (!partitions(&cluster).contains(half)).then_some(())
            });
        }
    }
    assert_eq!(partitions(&cluster).len(), 4);
    ours(&cluster, 0, &["rebalance"]);
    assert_equal_replicas(&cluster, 4);
    assert_eq!(client.call(&["DBSIZE"]).as_integer(), Some(100));
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
