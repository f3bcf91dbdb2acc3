//! What clients keep under leases, and who else may write.

use super::{ask, reply, told_meanwhile, wait};
use crate::accepted::Port;
use crate::cluster_harness::tables::{merge, replicated, restart_all, split};
use crate::cluster_harness::{Client, Cluster};
use brickyard_types::{Leases, TableAttributes};
use std::time::Duration;

fn leased(replicas: u8) -> TableAttributes {
    TableAttributes {
        leases: Leases::Granted,
        ..replicated(replicas)
    }
}

/// A cluster of three nodes whose table can be written.
fn cluster(replicas: u8) -> Cluster {
    let mut cluster = Cluster::new(3, leased(replicas));
    wait(&mut cluster, 3);
    cluster
}

/// A client of a brick's own port that keeps what it reads.
fn reader(cluster: &mut Cluster, at: usize) -> Client {
    let client = cluster.connect(at, Port::Brick);
    cluster.call(client, "HELLO 3");
    client
}

/// A client has got a lease of a key, whose value is 1, just now.
fn keeps(cluster: &mut Cluster, client: Client, key: &str) {
    let told = ask(cluster, client, &format!("LEASE GET {key}"));
    assert_eq!(told, "*2 $1 1 :100", "{}", cluster.story());
}

/// Writes the key and waits for that.
fn write(cluster: &mut Cluster, client: Client, key: &str, value: u32) {
    let told = cluster.call(client, &format!("SET {key} {value}"));
    assert_eq!(told, "+OK", "{}", cluster.story());
}

/// The write is not executed before time has passed.
fn waits(cluster: &mut Cluster, writer: Client, key: &str) {
    cluster.send(writer, &format!("SET {key} 2"));
    let told = told_meanwhile(cluster, writer);
    assert_eq!(told, "", "a client may have 1 yet\n{}", cluster.story());
    cluster.tick(Duration::from_millis(99));
    assert_eq!(told_meanwhile(cluster, writer), "", "{}", cluster.story());
}

/// Rule `a write waits for leases`: one that has none would be answered while another client serves the old value.
#[test]
fn a_write_waits_for_leases_of_others() {
    let mut cluster = cluster(2);
    let key = cluster.key_at(1, 2);
    let client = reader(&mut cluster, 1);
    let writer = cluster.connect(0, Port::Node);
    write(&mut cluster, writer, &key, 1);
    keeps(&mut cluster, client, &key);
    cluster.send(writer, &format!("SET {key} 2"));
    assert_eq!(told_meanwhile(&mut cluster, writer), "");
    assert!(cluster.receive(client).contains("recall"));
    assert_eq!(ask(&mut cluster, client, "LEASE RETURN 1"), "+OK");
    assert_eq!(reply(&mut cluster, writer), "+OK");
}

/// Rule `a write waits for leases`: who says nothing has one until it has run out.
#[test]
fn a_write_waits_for_a_lease_to_run_out() {
    let mut cluster = cluster(2);
    let key = cluster.key_at(1, 2);
    let client = reader(&mut cluster, 1);
    let writer = cluster.connect(0, Port::Node);
    write(&mut cluster, writer, &key, 1);
    keeps(&mut cluster, client, &key);
    waits(&mut cluster, writer, &key);
    cluster.tick(Duration::from_millis(1));
    assert_eq!(reply(&mut cluster, writer), "+OK");
}

/// Rule `leases end before another writes`: who comes after a primary that has failed knows nothing of its leases.
#[test]
fn leases_of_a_primary_that_was_killed_end_before_the_next_one_writes() {
    let mut cluster = cluster(2);
    let key = cluster.key_at(1, 2);
    let client = reader(&mut cluster, 1);
    let writer = cluster.connect(2, Port::Node);
    write(&mut cluster, writer, &key, 1);
    keeps(&mut cluster, client, &key);
    cluster.kill(1);
    for _ in 0..10 {
        cluster.turn();
        cluster.decide();
    }
    assert_eq!(cluster.places_of(&key).0, 2);
    assert_eq!(ask(&mut cluster, writer, &format!("GET {key}")), "$1 1");
    waits(&mut cluster, writer, &key);
    wait(&mut cluster, 2);
    assert_eq!(reply(&mut cluster, writer), "+OK");
}

/// Rule `leases end before another writes`: at a hand-over nobody is fenced. A former primary that has not heard of it gives leases until it votes in the new
/// view, however long ago the new primary began.
#[test]
fn leases_of_a_primary_that_has_not_heard_of_the_next_one_end_before_that_writes() {
    let mut cluster = cluster(2);
    let key = cluster.key_at(1, 2);
    let client = reader(&mut cluster, 1);
    let writer = cluster.connect(2, Port::Node);
    write(&mut cluster, writer, &key, 1);
    cluster.inform(1, false);
    cluster.regroup(&key, &[2, 1]);
    for _ in 0..10 {
        cluster.turn();
        cluster.decide();
        cluster.tick(Duration::from_millis(100));
    }
    assert_eq!(cluster.places_of(&key).0, 2);
    keeps(&mut cluster, client, &key);
    cluster.inform(1, true);
    waits(&mut cluster, writer, &key);
    wait(&mut cluster, 3);
    assert_eq!(reply(&mut cluster, writer), "+OK");
}

/// Rule `leases end before another writes`: one that leads on through a view knows its leases, and waits for nothing.
#[test]
fn a_primary_that_leads_on_writes_at_once() {
    let mut cluster = cluster(3);
    let key = cluster.key_at(1, 2);
    let writer = cluster.connect(1, Port::Node);
    write(&mut cluster, writer, &key, 1);
    cluster.kill(0);
    for _ in 0..10 {
        cluster.turn();
        cluster.decide();
    }
    assert_eq!(ask(&mut cluster, writer, &format!("SET {key} 2")), "+OK");
}

/// Rule `leases end before another writes`, where partitions are taken apart and put together: writes go on, and leases count.
#[test]
fn leases_live_through_splits_and_merges() {
    let mut cluster = cluster(2);
    let key = cluster.key_at(1, 2);
    let writer = cluster.connect(0, Port::Node);
    write(&mut cluster, writer, &key, 1);
    for change in [split, merge] {
        change(&mut cluster, &[&key]);
        wait(&mut cluster, 2);
        let at = cluster.places_of(&key).0;
        let client = reader(&mut cluster, at);
        write(&mut cluster, writer, &key, 1);
        keeps(&mut cluster, client, &key);
        waits(&mut cluster, writer, &key);
        wait(&mut cluster, 1);
        assert_eq!(reply(&mut cluster, writer), "+OK");
    }
}

#[test]
fn tables_with_leases_are_written_after_a_restart_and_after_they_were_away() {
    let mut cluster = cluster(2);
    let writer = cluster.connect(1, Port::Node);
    write(&mut cluster, writer, "key1", 1);
    let writer = restart_all(&mut cluster);
    wait(&mut cluster, 5);
    write(&mut cluster, writer, "key1", 2);
    cluster.take_offline();
    cluster.bring_online();
    wait(&mut cluster, 5);
    write(&mut cluster, writer, "key1", 3);
}

#[test]
fn a_lease_ends_with_that_of_the_node() {
    let mut cluster = cluster(1);
    let key = (0..)
        .map(|at| format!("k{at}"))
        .find(|key| cluster.places_of(key).0 == 1)
        .unwrap();
    let client = reader(&mut cluster, 1);
    write(&mut cluster, client, &key, 1);
    cluster.lease_for(1, Duration::from_millis(30));
    let told = ask(&mut cluster, client, &format!("LEASE GET {key}"));
    assert_eq!(told, "*2 $1 1 :30");
}

/// Rule `a write waits for leases`: the client has sent its read after the turn in which it is served began.
#[test]
fn a_lease_counts_from_when_its_read_was_here() {
    let mut cluster = cluster(2);
    let key = cluster.key_at(1, 2);
    let client = reader(&mut cluster, 1);
    let writer = cluster.connect(0, Port::Node);
    write(&mut cluster, writer, &key, 1);
    let command = format!("LEASE GET {key}");
    cluster.pause_before_reading(client, &command, Duration::from_millis(90));
    assert_eq!(told_meanwhile(&mut cluster, client), "*2 $1 1 :100");
    waits(&mut cluster, writer, &key);
    wait(&mut cluster, 1);
    assert_eq!(reply(&mut cluster, writer), "+OK");
}
