use crate::accepted::Port;
use crate::cluster_harness::tables::replicated;
use crate::cluster_harness::{Client, Cluster};
use brickyard_types::{Leases, TableAttributes};
use std::time::Duration;

/// Three nodes with twenty keys, and a client of the first.
fn filled(attributes: TableAttributes) -> (Cluster, Client) {
    let mut cluster = Cluster::new(3, attributes);
    let client = cluster.connect(0, Port::Node);
    for key in 0..20 {
        assert_eq!(cluster.call(client, &format!("SET key{key} v")), "+OK");
    }
    (cluster, client)
}

fn told(cluster: &mut Cluster, client: Client) -> String {
    for _ in 0..20 {
        cluster.turn();
    }
    cluster.receive(client)
}

#[test]
fn subrequest_waits_for_the_lease() {
    let (mut cluster, client) = filled(replicated(2));
    for without in [0, 1] {
        cluster.lease(without, false);
        cluster.send(client, "DBSIZE");
        assert_eq!(told(&mut cluster, client), "");
        cluster.lease(without, true);
        cluster.settle();
        assert_eq!(cluster.receive(client), ":20");
    }
    // So does a brick's own part of the table.
    let own = cluster.connect(1, Port::Brick);
    cluster.lease(1, false);
    cluster.send(own, "DBSIZE");
    assert_eq!(told(&mut cluster, own), "");
    cluster.lease(1, true);
    cluster.settle();
    assert!(cluster.receive(own).starts_with(':'));
}

#[test]
fn subrequest_that_waits_for_the_lease_in_vain_is_refused_in_time() {
    let (mut cluster, client) = filled(replicated(2));
    cluster.lease(0, false);
    cluster.send(client, "DBSIZE");
    let mut reply = String::new();
    for _ in 0..200 {
        cluster.tick(Duration::from_millis(100));
        reply += &told(&mut cluster, client);
    }
    assert!(reply.starts_with("-CLUSTERDOWN"), "{reply}");
}

#[test]
fn subrequests_are_asked_for_anew_when_a_brick_is_gone() {
    let (mut cluster, client) = filled(replicated(2));
    cluster.is_deciding = false;
    cluster.kill(2);
    cluster.send(client, "DBSIZE");
    assert_eq!(told(&mut cluster, client), "");
    // Others have its partitions now.
    cluster.is_deciding = true;
    cluster.kill(2);
    cluster.settle();
    assert_eq!(cluster.receive(client), ":20");
}

#[test]
fn subrequests_are_asked_for_anew_when_partitions_change_hands_meanwhile() {
    let (mut cluster, client) = filled(replicated(3));
    for _ in 0..3 {
        // What was asked has not arrived yet when another leads.
        cluster.mute(0, true);
        cluster.send(client, "DBSIZE");
        assert_eq!(told(&mut cluster, client), "");
        let (primary, backup) = cluster.places_of("key1");
        let next = backup.unwrap();
        cluster.regroup("key1", &[next, 3 - primary - next, primary]);
        cluster.settle();
        assert_eq!(cluster.places_of("key1").0, next, "{}", cluster.story());
        cluster.mute(0, false);
        cluster.settle();
        assert_eq!(cluster.receive(client), ":20");
    }
}

#[test]
fn flush_says_at_once_that_too_few_replicas_are_in_sync() {
    let (mut cluster, client) = filled(TableAttributes {
        min_in_sync: 3,
        ..replicated(3)
    });
    cluster.kill(2);
    cluster.settle();
    let reply = cluster.call(client, "FLUSHDB");
    assert!(reply.starts_with("-NOREPLICAS"), "{reply}");
    assert_eq!(cluster.call(client, "DBSIZE"), ":20");
}

/// Found by the simulator: the brick that came to lead a partition while the flush waited for a write before it was not asked.
#[test]
fn flush_asks_those_who_have_the_table_when_it_begins() {
    let mut cluster = Cluster::new(
        3,
        TableAttributes {
            leases: Leases::Granted,
            ..replicated(3)
        },
    );
    cluster.settle();
    let keys: Vec<String> = (0..20).map(|at| format!("key{at}")).collect();
    for key in &keys {
        if cluster.places_of(key).0 == 2 {
            cluster.regroup(key, &[0, 1, 2]);
            cluster.settle();
        }
    }
    let led_by = |at: usize| keys.iter().find(|key| cluster.places_of(key).0 == at);
    let (moved, held) = (led_by(0).unwrap(), led_by(1).unwrap());
    let client = cluster.connect(0, Port::Node);
    for key in [moved, held] {
        assert_eq!(cluster.call(client, &format!("SET {key} 1")), "+OK");
    }
    let reader = cluster.connect(1, Port::Brick);
    cluster.call(reader, "HELLO 3");
    cluster.send(reader, &format!("LEASE GET {held}"));
    cluster.turn();
    cluster.send(client, &format!("SET {held} 2\nFLUSHDB"));
    for _ in 0..10 {
        cluster.turn();
    }
    cluster.regroup(moved, &[2, 0, 1]);
    for _ in 0..20 {
        cluster.turn();
        cluster.decide();
    }
    assert_eq!(cluster.places_of(moved).0, 2);
    assert_eq!(cluster.receive(client), "", "a lease is out");
    cluster.settle();
    assert_eq!(cluster.receive(client), "+OK +OK");
    assert_eq!(cluster.call(client, &format!("GET {moved}")), "$-1");
}
