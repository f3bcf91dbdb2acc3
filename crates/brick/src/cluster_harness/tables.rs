//! Tables of a cluster in tests, what is in them, and what happens to their partitions.

use super::{Client, Cluster};
use crate::accepted::Port;
use brickyard_types::{Durability, Medium, TableAttributes};
use std::ops::Range;

pub(crate) fn replicated(replicas: u8) -> TableAttributes {
    TableAttributes {
        replicas,
        durability: Durability::Log,
        ..TableAttributes::default()
    }
}

/// Values are read back from the log unless they were used just now.
pub(crate) fn on_disk(replicas: u8) -> TableAttributes {
    TableAttributes {
        medium: Medium::Disk,
        maxmemory: Some(1),
        ..replicated(replicas)
    }
}

/// A table of each kind that there is.
pub(crate) fn kinds() -> [TableAttributes; 5] {
    [
        replicated(3),
        replicated(1),
        TableAttributes {
            durability: Durability::Fsync,
            ..replicated(2)
        },
        TableAttributes {
            durability: Durability::Memory,
            ..replicated(3)
        },
        TableAttributes {
            maxmemory: Some(64),
            ..on_disk(3)
        },
    ]
}

pub(crate) fn fill(cluster: &mut Cluster, client: Client, keys: Range<u32>) {
    for key in keys {
        let reply = cluster.call(client, &format!("SET key{key} value{key}"));
        assert_eq!(reply, "+OK", "key{key}: {}", cluster.story());
    }
}

pub(crate) fn check(cluster: &mut Cluster, client: Client, keys: Range<u32>) {
    for key in keys {
        let expected = format!("value{key}");
        let expected = format!("${} {expected}", expected.len());
        let reply = cluster.call(client, &format!("GET key{key}"));
        assert_eq!(reply, expected, "key{key}: {}", cluster.story());
    }
}

pub(crate) fn delete(cluster: &mut Cluster, client: Client, keys: Range<u32>) {
    for key in keys {
        assert_eq!(cluster.call(client, &format!("DEL key{key}")), ":1");
    }
}

/// Splits the partitions of these keys, one after the other.
pub(crate) fn split(cluster: &mut Cluster, keys: &[&str]) {
    for key in keys {
        let before = cluster.partitions().0;
        cluster.split(key);
        cluster.settle();
        assert_eq!(cluster.partitions(), (before + 1, 0), "{}", cluster.story());
    }
}

/// Merges the partitions of these keys with their siblings, one after the other.
pub(crate) fn merge(cluster: &mut Cluster, keys: &[&str]) {
    for key in keys {
        let before = cluster.partitions().0;
        cluster.merge(key);
        cluster.settle();
        assert_eq!(cluster.partitions(), (before - 1, 0), "{}", cluster.story());
    }
}

/// Three nodes are killed at once and come back; a client of the second.
pub(crate) fn restart_all(cluster: &mut Cluster) -> Client {
    cluster.kill_at_once(0..3);
    for node in 0..3 {
        cluster.restart(node);
    }
    cluster.connect(1, Port::Node)
}

/// What is written while partitions change waits, and none of it is lost.
pub(crate) fn writes_wait(cluster: &mut Cluster, client: Client, change: fn(&mut Cluster, &str)) {
    cluster.is_deciding = false;
    change(cluster, "key1");
    for key in 0..10 {
        cluster.send(client, &format!("APPEND key{key} x"));
    }
    cluster.settle();
    cluster.is_deciding = true;
    cluster.settle();
    let replies = cluster.receive(client);
    let done = replies.matches(":7").count();
    assert_eq!(done, 10, "{replies}: {}", cluster.story());
    assert_eq!(cluster.partitions().1, 0);
}

/// Who leads is killed while partitions are about to change: they do not, and can again. Keys 0 to 19 are there.
pub(crate) fn failure_ends(
    cluster: &mut Cluster,
    change: fn(&mut Cluster, &str),
    again: fn(&mut Cluster, &[&str]),
) {
    cluster.is_deciding = false;
    let (primary, backup) = cluster.places_of("key1");
    change(cluster, "key1");
    cluster.settle();
    let before = cluster.partitions().0;
    cluster.is_deciding = true;
    cluster.kill(primary);
    assert_eq!(cluster.partitions(), (before, 0), "{}", cluster.story());
    let client = cluster.connect(backup.unwrap(), Port::Node);
    check(cluster, client, 0..20);
    fill(cluster, client, 0..30);
    again(cluster, &["key1"]);
    check(cluster, client, 0..30);
}

/// A node is away while partitions change and keys go, and then has all that is left. Keys 0 to 39 are there.
pub(crate) fn catches_up_with(
    cluster: &mut Cluster,
    client: Client,
    change: fn(&mut Cluster, &[&str]),
    keys: &[&str],
) {
    cluster.kill(2);
    fill(cluster, client, 30..50);
    change(cluster, keys);
    delete(cluster, client, 0..10);
    cluster.restart(2);
    cluster.settle();
    assert!(cluster.is_whole(3), "{}", cluster.story());
    cluster.kill(1);
    cluster.kill(0);
    let client = cluster.connect(2, Port::Node);
    check(cluster, client, 10..50);
    assert_eq!(cluster.call(client, "DBSIZE"), ":40", "{}", cluster.story());
    fill(cluster, client, 0..60);
}
