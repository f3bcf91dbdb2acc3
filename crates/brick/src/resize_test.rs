use crate::cluster_harness::{Client, Cluster};
use crate::effect::Port;
use crate::parting::parting_test::{check, fill, replicated, split};
use std::time::Duration;

/// A table of four partitions that has outgrown them.
fn grown() -> (Cluster, Client) {
    let mut cluster = Cluster::sized(3, replicated(3), 4 << 10);
    let client = cluster.connect(0, Port::Node);
    let value = "x".repeat(600);
    for key in 0..32 {
        let reply = cluster.call(client, &format!("SET key{key} {value}"));
        assert_eq!(reply, "+OK");
    }
    for _ in 0..4 {
        cluster.settle();
    }
    assert!(cluster.partitions().0 > 5);
    (cluster, client)
}

/// What bricks see once a second happens so often.
fn pass(cluster: &mut Cluster, minutes: u64) {
    for _ in 0..minutes * 3 {
        cluster.tick(Duration::from_secs(20));
        cluster.settle();
    }
}

#[test]
fn partition_that_has_outgrown_what_one_may_have_is_split_by_itself() {
    let mut cluster = Cluster::sized(3, replicated(2), 4 << 10);
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client, 0..4);
    assert_eq!(cluster.partitions().0, 4);
    let value = "x".repeat(600);
    for key in 0..80 {
        let reply = cluster.call(client, &format!("SET key{key} {value}"));
        assert_eq!(reply, "+OK");
    }
    for _ in 0..10 {
        cluster.settle();
    }
    let (partitions, under_way) = cluster.partitions();
    assert!(partitions > 12, "{partitions} partitions");
    assert_eq!(under_way, 0);
    for _ in 0..2 {
        cluster.settle();
    }
    assert_eq!(
        cluster.partitions().0,
        partitions,
        "none is too large any more"
    );
    assert_eq!(cluster.call(client, "DBSIZE"), ":80");
}

#[test]
fn siblings_that_have_shrunk_for_a_while_are_merged_until_there_are_as_few_as_at_first() {
    let (mut cluster, client) = grown();
    let before = cluster.partitions().0;
    pass(&mut cluster, 2);
    assert_eq!(cluster.partitions().0, before, "nothing has shrunk");
    assert_eq!(cluster.call(client, "FLUSHALL"), "+OK");
    fill(&mut cluster, client, 0..10);
    assert_eq!(cluster.partitions().0, before, "not at once");
    pass(&mut cluster, 5);
    assert_eq!(cluster.partitions(), (4, 0), "{}", cluster.story());
    check(&mut cluster, client, 0..10);
    assert_eq!(cluster.call(client, "DBSIZE"), ":10");
}

#[test]
fn what_an_operator_split_stays_split() {
    let mut cluster = Cluster::sized(3, replicated(3), 4 << 10);
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client, 0..10);
    split(&mut cluster, &["key1"]);
    pass(&mut cluster, 2);
    assert_eq!(cluster.partitions(), (5, 0));
}

#[test]
fn what_a_table_says_counts_more_than_what_nodes_are_set_to() {
    let mut cluster = Cluster::sized(3, replicated(3), 4 << 10);
    let client = cluster.connect(0, Port::Node);
    let alter = |cluster: &mut Cluster, bytes: &str| {
        let request = format!("TABLE ALTER t PARTITION_BYTES {bytes}");
        assert_eq!(cluster.call(client, &request), "+OK");
        for _ in 0..12 {
            cluster.settle();
        }
        cluster.partitions()
    };
    assert_eq!(alter(&mut cluster, "0"), (4, 0));
    let value = "x".repeat(600);
    for key in 0..64 {
        let reply = cluster.call(client, &format!("SET key{key} {value}"));
        assert_eq!(reply, "+OK");
    }
    assert_eq!(alter(&mut cluster, "0"), (4, 0), "never");
    assert_eq!(alter(&mut cluster, "1mb"), (4, 0), "far from it");
    let (by_node, _) = alter(&mut cluster, "default");
    assert!(by_node > 6, "{by_node} partitions");
    let (small, _) = alter(&mut cluster, "1500");
    assert!(small > by_node + 6, "{small} partitions, {by_node} before");
    // They are merged again where the table allows more.
    assert_eq!(alter(&mut cluster, "1mb").0, small, "not at once");
    pass(&mut cluster, 30);
    assert_eq!(cluster.partitions(), (4, 0), "{}", cluster.story());
    assert_eq!(cluster.call(client, "DBSIZE"), ":64");
}
