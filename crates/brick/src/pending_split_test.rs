use crate::accepted::Port;
use crate::cluster_harness::Cluster;
use crate::cluster_harness::tables::{
    catches_up_with, check, delete, failure_ends, fill, kinds, replicated, restart_all, split,
    writes_wait,
};
use brickyard_replication::{Baseline, Run};
use brickyard_types::record::{Header, Kind};
use brickyard_types::{Durability, Op, PartitionId, View};

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
        delete(&mut cluster, client, 30..35);
        for _ in 0..2 {
            let client = restart_all(&mut cluster);
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
        catches_up_with(&mut cluster, client, split, &["key1", "key2"]);
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

/// Rule `requests are executed once`: a request that was executed before the split is known to the part that has its
/// key, wherever it is asked again.
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
    writes_wait(&mut cluster, client, Cluster::split);
}

#[test]
fn failure_while_a_partition_comes_to_rest_ends_the_split() {
    let mut cluster = Cluster::new(3, replicated(3));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client, 0..20);
    failure_ends(&mut cluster, Cluster::split, split);
}

/// The cleaner took the segment with the cut, and with all that came after it up to a baseline of the part, before an older one.
#[test]
fn what_was_cut_before_a_split_does_not_come_back_when_its_cut_was_cleaned_away() {
    let mut cluster = Cluster::new(3, replicated(3));
    let client = cluster.connect(0, Port::Node);
    fill(&mut cluster, client, 0..10);
    let (table, whole, _) = cluster.group_of("key1");
    split(&mut cluster, &["key1"]);
    let part = cluster.partition_of("key1");
    let header = |kind, partition: PartitionId, view, op, committed| Header {
        kind,
        flags: 0,
        table,
        partition,
        view: View(view),
        op: Op(op),
        expires_at: None,
        request: None,
        origin: None,
        committed: Some(Op(committed)),
    };
    let baseline = Baseline {
        generation: 1,
        view: View(3),
        op: Op(8),
        runs: [(1, 1), (2, 5), (3, 8)]
            .map(|(view, first)| Run {
                view: View(view),
                first: Op(first),
            })
            .to_vec(),
    };
    let mut claim = Vec::new();
    baseline.encode(&mut claim);
    let log = [
        (
            header(Kind::Put, whole, 1, 4, 3),
            &b"key1"[..],
            b"v".to_vec(),
        ),
        (
            header(Kind::Put, whole, 1, 5, 3),
            b"{key1}cut",
            b"v".to_vec(),
        ),
        (
            header(Kind::Put, part, 3, 9, 8),
            b"{key1}new",
            b"v".to_vec(),
        ),
        (header(Kind::Baseline, part, 3, 8, 8), b"", claim),
    ];
    cluster.is_deciding = false;
    cluster.kill_at_once(0..3);
    for at in 0..3 {
        cluster.rewrite(at, &log);
        cluster.restart(at);
        let keys = cluster.keys_at(at, "key1");
        assert!(keys.contains(&"key1".to_owned()), "{keys:?}");
        assert!(!keys.contains(&"{key1}cut".to_owned()), "{keys:?}");
    }
}
