use crate::accepted::Port;
use crate::cluster_harness::{Client, Cluster};
use brickyard_types::{Durability, Medium, TableAttributes};

pub(crate) fn replicated(replicas: u8) -> TableAttributes {
    TableAttributes {
        replicas,
        durability: Durability::Log,
        ..TableAttributes::default()
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
            medium: Medium::Disk,
            maxmemory: Some(64),
            ..replicated(3)
        },
    ]
}

pub(crate) fn fill(cluster: &mut Cluster, client: Client, keys: std::ops::Range<u32>) {
    for key in keys {
        let reply = cluster.call(client, &format!("SET key{key} value{key}"));
        assert_eq!(reply, "+OK", "key{key}: {}", cluster.story());
    }
}

pub(crate) fn check(cluster: &mut Cluster, client: Client, keys: std::ops::Range<u32>) {
    for key in keys {
        let expected = format!("value{key}");
        let expected = format!("${} {expected}", expected.len());
        let reply = cluster.call(client, &format!("GET key{key}"));
        assert_eq!(reply, expected, "key{key}: {}", cluster.story());
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

#[test]
fn every_key_is_there_after_a_split_and_after_the_next() {
    for attributes in kinds() {
        let mut cluster = Cluster::new(3, attributes);
        let clients = [0, 1, 2].map(|host| cluster.connect(host, Port::Node));
        fill(&mut cluster, clients[0], 0..60);
        for key in 0..5 {
            cluster.call(clients[0], &format!("DEL key{key}"));
        }
        split(&mut cluster, &["key1", "key2", "key1", "key7"]);
        for client in clients {
            check(&mut cluster, client, 5..60);
            assert_eq!(cluster.call(client, "DBSIZE"), ":55");
        }
        fill(&mut cluster, clients[1], 0..80);
        check(&mut cluster, clients[2], 0..80);
        assert_eq!(cluster.call(clients[0], "DBSIZE"), ":80");
    }
}

#[test]
fn parts_are_led_on_by_who_is_left() {
    for attributes in kinds().into_iter().filter(|it| it.replicas > 1) {
        let mut cluster = Cluster::new(3, attributes);
        let client = cluster.connect(0, Port::Node);
        fill(&mut cluster, client, 0..40);
        split(&mut cluster, &["key1", "key2"]);
        cluster.kill(2);
        check(&mut cluster, client, 0..40);
        fill(&mut cluster, client, 40..60);
        check(&mut cluster, client, 0..60);
    }
}

#[test]
fn cluster_that_was_killed_as_a_whole_finds_parts_in_logs_of_wholes() {
    for attributes in kinds() {
        if attributes.durability == Durability::Memory {
            continue;
        }
        let mut cluster = Cluster::new(3, attributes.clone());
        let client = cluster.connect(0, Port::Node);
        fill(&mut cluster, client, 0..40);
        split(&mut cluster, &["key1", "key2", "key1"]);
        fill(&mut cluster, client, 20..60);
        for key in 30..35 {
            assert_eq!(cluster.call(client, &format!("DEL key{key}")), ":1");
        }
        for _ in 0..2 {
            cluster.is_deciding = false;
            for node in 0..3 {
                cluster.kill(node);
            }
            cluster.is_deciding = true;
            for node in 0..3 {
                cluster.restart(node);
            }
            let client = cluster.connect(1, Port::Node);
            check(&mut cluster, client, 0..30);
            check(&mut cluster, client, 35..60);
            assert_eq!(cluster.call(client, "DBSIZE"), ":55", "{attributes:?}");
        }
        let client = cluster.connect(2, Port::Node);
        fill(&mut cluster, client, 0..60);
        check(&mut cluster, client, 0..60);
    }
}

#[test]
fn node_that_was_away_while_a_partition_was_split_catches_up_with_its_parts() {
    for attributes in kinds().into_iter().filter(|it| it.replicas == 3) {
        let mut cluster = Cluster::new(3, attributes.clone());
        let client = cluster.connect(0, Port::Node);
        fill(&mut cluster, client, 0..40);
        cluster.kill(2);
        fill(&mut cluster, client, 30..50);
        split(&mut cluster, &["key1", "key2"]);
        for key in 0..10 {
            assert_eq!(cluster.call(client, &format!("DEL key{key}")), ":1");
        }
        cluster.restart(2);
        cluster.settle();
        assert!(cluster.is_whole(3), "{attributes:?}: {}", cluster.story());
        cluster.kill(1);
        cluster.kill(0);
        let client = cluster.connect(2, Port::Node);
        check(&mut cluster, client, 10..50);
        assert_eq!(cluster.call(client, "DBSIZE"), ":40", "{attributes:?}");
        fill(&mut cluster, client, 0..60);
    }
}

#[test]
fn node_that_hears_of_a_split_when_it_is_over_serves_again() {
    for attributes in kinds().into_iter().filter(|it| it.replicas == 3) {
        let mut cluster = Cluster::new(3, attributes.clone());
        let (_, backup) = cluster.places_of("key1");
        let backup = backup.unwrap();
        let client = cluster.connect(backup, Port::Node);
        fill(&mut cluster, client, 0..20);
        cluster.inform(backup, false);
        split(&mut cluster, &["key1"]);
        cluster.inform(backup, true);
        cluster.settle();
        check(&mut cluster, client, 0..20);
        fill(&mut cluster, client, 0..30);
    }
}

/// PROTOCOL rule 19: a request that was executed before the split is known to the part that has its key, wherever it
/// is asked again.
#[test]
fn request_that_was_executed_by_the_whole_is_known_to_its_parts() {
    for attributes in kinds() {
        let mut cluster = Cluster::new(3, attributes);
        let client = cluster.connect(0, Port::Node);
        let clock = cluster.call(client, "REQUEST NOW");
        let base: u64 = clock.trim_start_matches(':').parse().unwrap();
        for key in 0..20 {
            let request = format!("REQUEST 7 {} FIRST INCR n{key}", base + key);
            assert_eq!(cluster.call(client, &request), ":1");
        }
        split(&mut cluster, &["n1", "n2", "n1"]);
        for key in 0..20 {
            let request = format!("REQUEST 7 {} AGAIN INCR n{key}", base + key);
            assert_eq!(cluster.call(client, &request), ":1", "n{key}");
            assert_eq!(cluster.call(client, &format!("GET n{key}")), "$1 1");
        }
    }
}

#[test]
fn writes_wait_for_a_split_and_none_is_lost() {
    let mut cluster = Cluster::new(3, replicated(3));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client, 0..10);
    cluster.is_deciding = false;
    cluster.split("key1");
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

#[test]
fn failure_while_a_partition_comes_to_rest_ends_the_split() {
    let mut cluster = Cluster::new(3, replicated(3));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client, 0..20);
    cluster.is_deciding = false;
    let (primary, backup) = cluster.places_of("key1");
    cluster.split("key1");
    cluster.settle();
    let before = cluster.partitions().0;
    cluster.is_deciding = true;
    cluster.kill(primary);
    assert_eq!(cluster.partitions(), (before, 0), "{}", cluster.story());
    let client = cluster.connect(backup.unwrap(), Port::Node);
    check(&mut cluster, client, 0..20);
    fill(&mut cluster, client, 0..30);
    split(&mut cluster, &["key1"]);
    check(&mut cluster, client, 0..30);
}
