use crate::accepted::Port;
use crate::cluster_harness::tables::{check, fill, replicated, split};
use crate::cluster_harness::{Client, Cluster};
use brickyard_types::PartitionId;
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

/// Neither primary knows what the other one has.
#[test]
fn siblings_that_are_apart_are_told_of_by_their_primaries_as_long_as_they_are_small() {
    let (mut cluster, client) = grown();
    // Each partition that came from a split is on two of the three nodes then, its sibling may be on others.
    for key in 0..32 {
        let key = format!("key{key}");
        let (primary, _) = cluster.places_of(&key);
        let out = cluster.partition_of(&key).0 as usize % 3;
        if cluster.group_of(&key).2.in_sync().count() == 3 && out != primary {
            let left: Vec<usize> = (0..3).filter(|at| *at != out).collect();
            let others = left.iter().copied().filter(|at| *at != primary);
            let left: Vec<usize> = std::iter::once(primary).chain(others).collect();
            cluster.regroup(&key, &left);
            cluster.settle();
        }
    }
    cluster.small.clear();
    pass(&mut cluster, 1);
    assert_eq!(cluster.small, [], "what is large is not told of");
    assert_eq!(cluster.call(client, "FLUSHALL"), "+OK");
    pass(&mut cluster, 1);
    let table = cluster.catalog().table("t").unwrap();
    let siblings = cluster.catalog().grown_siblings(table.id);
    let apart = siblings.iter().filter(|it| !table.are_together(**it));
    let mut wanted: Vec<PartitionId> = apart.flatten().copied().collect();
    wanted.sort();
    assert!(wanted.len() >= 2, "{siblings:?}");
    let mut told: Vec<PartitionId> = cluster.small.iter().map(|it| it.partition).collect();
    told.sort();
    told.dedup();
    assert_eq!(told, wanted);
    assert!(cluster.small.iter().all(|it| it.share < 250));
    // Nothing is asked of those: the leader has to bring them together first.
    let before = cluster.partitions().0;
    pass(&mut cluster, 3);
    let apart = |cluster: &Cluster| {
        let table = cluster.catalog().table("t").unwrap();
        wanted.iter().all(|it| table.siblings(*it).is_some())
    };
    assert!(apart(&cluster) && cluster.partitions().0 <= before);
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
