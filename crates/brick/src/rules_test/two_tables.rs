//! Transactions over two tables, and what becomes of them when a coordinator goes, a participant, or a table.

use super::{ask, replicated, reply, told_meanwhile, wait};
use crate::accepted::Port;
use crate::cluster_harness::{Client, Cluster};
use brickyard_metadata::{Change, NewTable};
use brickyard_types::UnixMillis;

/// The table that keys go to, by the number 1.
const OTHER: &str = "1";

/// Three nodes, and the name of a key. In table `t` it holds something and is led by node 0, and node 1 has the copy; in the other table it is the other
/// way round.
fn cluster() -> (Cluster, String) {
    let mut cluster = Cluster::new(3, replicated(2));
    let new = NewTable {
        attributes: replicated(2),
        partitions: Some(4),
        ..NewTable::named(OTHER, 11, UnixMillis(0))
    };
    cluster.change(Change::CreateTable(new));
    let key = cluster.key_at(0, 1);
    // Tables are placed alike, so that the nodes may be the right ones already.
    if cluster.places_in(OTHER, &key) == (0, Some(1)) {
        cluster.regroup_in(OTHER, &key, &[1, 0]);
        cluster.settle();
    }
    assert_eq!(cluster.places_in(OTHER, &key).0, 1);
    let client = cluster.connect(0, Port::Node);
    assert_eq!(cluster.call(client, &format!("SET {key} old")), "+OK");
    (cluster, key)
}

/// A client at a node that works on the other table.
fn beyond(cluster: &mut Cluster, at: usize) -> Client {
    let client = cluster.connect(at, Port::Node);
    assert_eq!(cluster.call(client, &format!("TABLE USE {OTHER}")), "+OK");
    client
}

/// Keys that have intents on all nodes that live.
fn intents(cluster: &mut Cluster, at: &[usize]) -> usize {
    let mut all = 0;
    for node in at {
        let tables = cluster.brick(*node).core.tables.iter();
        all += tables.map(|state| state.table.intents()).sum::<usize>();
    }
    all
}

/// Begins to move the key, up to when it has its intent in the other table.
fn begin(cluster: &mut Cluster, key: &str) -> Client {
    let client = cluster.connect(0, Port::Node);
    cluster.send(client, &format!("MOVE {key} 1"));
    cluster.turn_until(|it| intents(it, &[1]) == 1);
    client
}

/// The same up to when it has committed, and its coordinator can tell nobody.
fn begin_and_commit(cluster: &mut Cluster, key: &str) -> Client {
    let client = begin(cluster, key);
    cluster.turn_until(|it| it.is_pending(1, key));
    cluster.mute(0, true);
    // Rule `two tables are answered for last`.
    assert_eq!(told_meanwhile(cluster, client), "");
    let stats = cluster.brick(0).core.stats();
    assert_eq!(stats.distributed.committed.value(), 1);
    client
}

/// What a client reads of a key, whatever has to be seen to before.
fn read(cluster: &mut Cluster, client: Client, key: &str) -> String {
    cluster.send(client, &format!("GET {key}"));
    wait(cluster, 10);
    reply(cluster, client)
}

#[test]
fn keys_of_two_tables_change_together() {
    let (mut cluster, key) = cluster();
    for at in 0..3 {
        let (client, there) = (cluster.connect(at, Port::Node), beyond(&mut cluster, at));
        assert_eq!(cluster.call(client, &format!("MOVE {key} 1")), ":1");
        assert_eq!(cluster.call(client, &format!("GET {key}")), "$-1");
        assert_eq!(cluster.call(there, &format!("GET {key}")), "$3 old");
        let back = format!("COPY {key} {key} DB 1 REPLACE\nMOVE {key} 1");
        assert_eq!(cluster.call(client, &back), ":0 :0");
        assert_eq!(cluster.call(there, &format!("DEL {key}")), ":1");
        assert_eq!(cluster.call(client, &format!("SET {key} old")), "+OK");
        let copy = format!("COPY {key} other DB 1\nGET {key}");
        assert_eq!(cluster.call(client, &copy), ":1 $3 old");
        assert_eq!(cluster.call(there, "GETDEL other"), "$3 old");
    }
    cluster.settle();
    assert_eq!(intents(&mut cluster, &[0, 1, 2]), 0);
}

/// Rule `a vote stays`.
#[test]
fn key_that_is_being_moved_is_read_in_neither_table() {
    let (mut cluster, key) = cluster();
    let (here, there) = (cluster.connect(0, Port::Node), beyond(&mut cluster, 1));
    let client = begin_and_commit(&mut cluster, &key);
    for reader in [here, there] {
        cluster.send(reader, &format!("GET {key}"));
        assert_eq!(told_meanwhile(&mut cluster, reader), "");
    }
    cluster.mute(0, false);
    cluster.settle();
    assert_eq!(cluster.receive(client), ":1");
    assert_eq!(cluster.receive(here), "$-1");
    assert_eq!(cluster.receive(there), "$3 old");
}

/// Rule `an anchor decides`.
#[test]
fn move_whose_coordinator_dies_before_it_commits_has_not_happened() {
    let (mut cluster, key) = cluster();
    begin(&mut cluster, &key);
    cluster.mute(0, true);
    let (here, there) = (cluster.connect(2, Port::Node), beyond(&mut cluster, 2));
    cluster.kill(0);
    cluster.settle();
    assert_eq!(read(&mut cluster, there, &key), "$-1");
    assert_eq!(read(&mut cluster, here, &key), "$3 old");
    cluster.restart(0);
    cluster.settle();
    wait(&mut cluster, 10);
    assert_eq!(read(&mut cluster, here, &key), "$3 old");
    assert_eq!(intents(&mut cluster, &[0, 1, 2]), 0);
}

/// Rule `an anchor decides`: the anchor is in its own table, and not in that of the key.
#[test]
fn move_that_has_committed_has_happened_whoever_dies() {
    let (mut cluster, key) = cluster();
    begin_and_commit(&mut cluster, &key);
    cluster.kill(0);
    cluster.settle();
    let (here, there) = (cluster.connect(2, Port::Node), beyond(&mut cluster, 1));
    assert_eq!(read(&mut cluster, there, &key), "$3 old");
    assert_eq!(read(&mut cluster, here, &key), "$-1");
    assert_eq!(intents(&mut cluster, &[1, 2]), 0);
}

/// The same, found by whoever meets the key that was moved.
#[test]
fn anchor_of_a_move_sees_to_the_key_of_the_other_table() {
    let (mut cluster, key) = cluster();
    begin_and_commit(&mut cluster, &key);
    cluster.kill(0);
    cluster.settle();
    let (here, there) = (cluster.connect(2, Port::Node), beyond(&mut cluster, 1));
    assert_eq!(read(&mut cluster, here, &key), "$-1");
    assert_eq!(ask(&mut cluster, there, &format!("GET {key}")), "$3 old");
    assert_eq!(intents(&mut cluster, &[1, 2]), 0);
}

/// Intents of two tables are read back from a log as they were written.
#[test]
fn move_that_has_committed_has_happened_though_all_nodes_were_restarted() {
    let (mut cluster, key) = cluster();
    begin_and_commit(&mut cluster, &key);
    cluster.kill_at_once(0..3);
    cluster.mute(0, false);
    for at in 0..3 {
        cluster.restart(at);
    }
    cluster.settle();
    let (here, there) = (cluster.connect(2, Port::Node), beyond(&mut cluster, 2));
    assert_eq!(read(&mut cluster, there, &key), "$3 old");
    assert_eq!(read(&mut cluster, here, &key), "$-1");
    assert_eq!(intents(&mut cluster, &[0, 1, 2]), 0);
}

/// Rule `two tables are answered for last`: the coordinator asks again until another primary has answered.
#[test]
fn participant_that_dies_after_a_move_has_committed_holds_it_up_and_no_more() {
    let (mut cluster, key) = cluster();
    let client = begin_and_commit(&mut cluster, &key);
    cluster.kill(1);
    cluster.mute(0, false);
    cluster.settle();
    assert_eq!(cluster.receive(client), ":1");
    let (here, there) = (cluster.connect(2, Port::Node), beyond(&mut cluster, 2));
    assert_eq!(cluster.call(there, &format!("GET {key}")), "$3 old");
    assert_eq!(cluster.call(here, &format!("GET {key}")), "$-1");
    cluster.settle();
    assert_eq!(intents(&mut cluster, &[0, 2]), 0);
}

#[test]
fn participant_that_dies_before_a_move_commits_takes_nothing_with_it() {
    let (mut cluster, key) = cluster();
    let client = begin(&mut cluster, &key);
    cluster.kill(1);
    cluster.settle();
    assert_eq!(cluster.receive(client), ":1");
    let there = beyond(&mut cluster, 2);
    assert_eq!(cluster.call(there, &format!("GET {key}")), "$3 old");
}

fn drop_table(cluster: &mut Cluster, name: &str) {
    cluster.change(Change::DropTable {
        name: name.to_owned(),
    });
}

#[test]
fn key_stays_where_it_is_if_the_other_table_is_dropped_before_its_move_commits() {
    let (mut cluster, key) = cluster();
    let client = begin(&mut cluster, &key);
    cluster.mute(1, true);
    drop_table(&mut cluster, OTHER);
    cluster.mute(1, false);
    cluster.settle();
    let told = cluster.receive(client);
    assert!(
        told.starts_with("-ERR the other table was dropped"),
        "{told}"
    );
    let here = cluster.connect(2, Port::Node);
    assert_eq!(cluster.call(here, &format!("GET {key}")), "$3 old");
    assert_eq!(intents(&mut cluster, &[0, 1, 2]), 0);
}

#[test]
fn key_has_come_to_nothing_if_its_table_is_dropped_before_its_move_commits() {
    let (mut cluster, key) = cluster();
    let client = begin(&mut cluster, &key);
    cluster.mute(1, true);
    drop_table(&mut cluster, "t");
    cluster.mute(1, false);
    cluster.settle();
    let told = cluster.receive(client);
    assert!(told.starts_with('-'), "{told}");
    let there = beyond_without(&mut cluster, 2);
    assert_eq!(read(&mut cluster, there, &key), "$-1");
    assert_eq!(cluster.call(there, &format!("SET {key} new")), "+OK");
    assert_eq!(intents(&mut cluster, &[0, 1, 2]), 0);
}

/// The same where there is no table `t` any more.
fn beyond_without(cluster: &mut Cluster, at: usize) -> Client {
    let client = cluster.connect_to(at, Port::Node, OTHER);
    assert_eq!(cluster.call(client, "DBSIZE").chars().next(), Some(':'));
    client
}

/// Rule `two tables are answered for last`.
#[test]
fn nobody_was_told_of_a_move_whose_table_is_dropped_before_the_key_is_there() {
    let (mut cluster, key) = cluster();
    let client = begin_and_commit(&mut cluster, &key);
    drop_table(&mut cluster, "t");
    cluster.mute(0, false);
    cluster.settle();
    let told = cluster.receive(client);
    assert!(told.starts_with("-UNKNOWNRESULT"), "{told}");
    let there = beyond_without(&mut cluster, 2);
    assert_eq!(read(&mut cluster, there, &key), "$-1");
    assert_eq!(cluster.call(there, &format!("SET {key} new")), "+OK");
    assert_eq!(intents(&mut cluster, &[0, 1, 2]), 0);
}

/// The same with nobody left who knows of it.
#[test]
fn intent_whose_anchors_table_was_dropped_is_taken_back() {
    let (mut cluster, key) = cluster();
    begin_and_commit(&mut cluster, &key);
    cluster.kill(0);
    drop_table(&mut cluster, "t");
    cluster.settle();
    let there = beyond_without(&mut cluster, 1);
    assert_eq!(read(&mut cluster, there, &key), "$-1");
    assert_eq!(cluster.call(there, &format!("SET {key} new")), "+OK");
    assert_eq!(intents(&mut cluster, &[1, 2]), 0);
}

#[test]
fn move_is_over_if_the_other_table_is_dropped_when_it_has_committed() {
    let (mut cluster, key) = cluster();
    let client = begin_and_commit(&mut cluster, &key);
    drop_table(&mut cluster, OTHER);
    cluster.mute(0, false);
    cluster.settle();
    assert_eq!(cluster.receive(client), ":1");
    let here = cluster.connect(2, Port::Node);
    assert_eq!(cluster.call(here, &format!("GET {key}")), "$-1");
    assert_eq!(intents(&mut cluster, &[0, 1, 2]), 0);
}

/// The same with nobody left who has begun it.
#[test]
fn anchor_whose_other_key_is_gone_with_its_table_is_resolved() {
    let (mut cluster, key) = cluster();
    begin_and_commit(&mut cluster, &key);
    cluster.kill(0);
    drop_table(&mut cluster, OTHER);
    cluster.settle();
    let here = cluster.connect(2, Port::Node);
    assert_eq!(read(&mut cluster, here, &key), "$-1");
    assert_eq!(cluster.call(here, &format!("SET {key} new")), "+OK");
    assert_eq!(intents(&mut cluster, &[1, 2]), 0);
}

/// A table of the same name is another table.
#[test]
fn table_that_was_made_anew_knows_nothing_of_a_move() {
    let (mut cluster, key) = cluster();
    begin_and_commit(&mut cluster, &key);
    cluster.kill(0);
    drop_table(&mut cluster, "t");
    let new = NewTable {
        attributes: replicated(2),
        partitions: Some(4),
        ..NewTable::named("t", 3, UnixMillis(0))
    };
    cluster.mute(0, false);
    cluster.restart(0);
    cluster.change(Change::CreateTable(new));
    let (here, there) = (cluster.connect(2, Port::Node), beyond(&mut cluster, 1));
    assert_eq!(read(&mut cluster, there, &key), "$-1");
    assert_eq!(read(&mut cluster, here, &key), "$-1");
    assert_eq!(intents(&mut cluster, &[0, 1, 2]), 0);
}
