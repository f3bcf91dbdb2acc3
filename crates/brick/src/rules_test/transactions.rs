//! Transactions over several partitions, and what becomes of them when their coordinator goes.

use super::{ask, replicated, reply, told_meanwhile, wait};
use crate::accepted::Port;
use crate::cluster_harness::{Client, Cluster};
use brickyard_types::TableAttributes;

#[test]
fn participant_whose_table_is_full_refuses_what_grows_and_takes_what_does_not() {
    let attributes = TableAttributes {
        maxmemory: Some(400_000),
        ..replicated(2)
    };
    let mut cluster = Cluster::new(3, attributes);
    let (anchor, other) = (cluster.key_at(0, 1), cluster.key_at(1, 2));
    let client = cluster.connect(0, Port::Node);
    let set = |key: &str, len: usize| format!("SETRANGE {key} {} x", len - 1);
    for key in [&anchor, &other] {
        cluster.call(client, &set(key, 1_000));
    }
    // The other key's primary is full, that of the anchor is not.
    let fillers = (0..1_000).map(|at| format!("filler{at}"));
    let mut fillers = fillers.filter(|key| cluster.places_of(key).0 == 1);
    let fillers: Vec<String> = fillers.by_ref().take(40).collect();
    let told = fillers
        .iter()
        .map(|key| cluster.call(client, &set(key, 20_000)));
    assert!(
        told.last().unwrap().starts_with("-OOM"),
        "it takes all of it"
    );
    let write = |len| format!("MULTI\n{}\n{}\nEXEC", set(&anchor, 2_000), set(&other, len));
    let refused = cluster.call(client, &write(50_000));
    assert!(refused.contains(" -OOM"), "{refused}");
    let length = cluster.call(client, &format!("STRLEN {anchor}"));
    assert_eq!(length, ":1000", "half of it was done");
    let delete = format!("MULTI\nDEL {anchor}\nDEL {other}\nEXEC");
    let deleted = cluster.call(client, &delete);
    assert!(deleted.ends_with("*2 :1 :1"), "{deleted}");
}

/// Three nodes; the anchor is led by node 0, the other key by node 1, and node 2 has the other key's copy.
fn cluster() -> (Cluster, String, String) {
    let cluster = Cluster::new(3, replicated(2));
    let (anchor, other) = (cluster.key_at(0, 1), cluster.key_at(1, 2));
    (cluster, anchor, other)
}

const DONE: &str = "*2 +OK +OK";

/// Queues a transaction about both keys.
fn queue(cluster: &mut Cluster, client: Client, (anchor, other): (&str, &str)) {
    let queued = format!("MULTI\nSET {anchor} new\nSET {other} new");
    assert_eq!(cluster.call(client, &queued), "+OK +QUEUED +QUEUED");
}

/// Keys that have intents on a node.
fn intents(cluster: &mut Cluster, at: usize) -> usize {
    let tables = cluster.brick(at).core.tables.iter();
    tables.map(|state| state.table.intents()).sum()
}

/// Begins it at a node, up to when the other key has its intent.
fn begin(cluster: &mut Cluster, at: usize, (anchor, other): (&str, &str)) -> Client {
    let client = cluster.connect(at, Port::Node);
    queue(cluster, client, (anchor, other));
    cluster.send(client, "EXEC");
    cluster.turn_until(|it| intents(it, 1) == 1);
    client
}

#[test]
fn keys_of_several_partitions_change_together() {
    let (mut cluster, anchor, other) = cluster();
    for at in 0..3 {
        let client = cluster.connect(at, Port::Node);
        queue(&mut cluster, client, (&anchor, &other));
        assert_eq!(cluster.call(client, "EXEC"), DONE);
        let read = format!("MULTI\nGET {other}\nGET {anchor}\nEXEC");
        let read = cluster.call(client, &read);
        assert_eq!(read, "+OK +QUEUED +QUEUED *2 $3 new $3 new");
        let delete = format!("MULTI\nDEL {anchor}\nDEL {other}\nEXEC");
        assert!(cluster.call(client, &delete).ends_with("*2 :1 :1"));
    }
    cluster.settle();
    let left: usize = (0..3).map(|at| intents(&mut cluster, at)).sum();
    assert_eq!(left, 0, "intents are left");
}

/// Rule `a vote stays`.
#[test]
fn key_with_an_intent_is_neither_read_nor_written_by_others() {
    let (mut cluster, anchor, other) = cluster();
    let client = cluster.connect(1, Port::Node);
    assert_eq!(cluster.call(client, &format!("SET {other} old")), "+OK");
    let commands = [
        "SET KEY x",
        "APPEND KEY x",
        "GET KEY",
        "EXISTS KEY",
        "TTL KEY",
        "DEL KEY",
    ];
    let mut others = Vec::new();
    for at in [1, 2] {
        for command in commands {
            others.push((at, command, cluster.connect(at, Port::Node)));
        }
    }
    let first = begin(&mut cluster, 0, (&anchor, &other));
    cluster.mute(0, true);
    for (at, command, client) in &others {
        cluster.send(*client, &command.replace("KEY", &other));
        let told = told_meanwhile(&mut cluster, *client);
        assert_eq!(told, "", "{command} at node {at}");
    }
    cluster.mute(0, false);
    cluster.settle();
    assert_eq!(cluster.receive(first), DONE);
    for (_, command, client) in others {
        let told = cluster.receive(client);
        let is_done = !told.is_empty() && !told.starts_with('-');
        assert!(is_done, "{command}: {told}");
    }
}

/// Rule `an anchor decides`.
#[test]
fn transaction_whose_coordinator_dies_before_it_commits_has_not_happened() {
    let (mut cluster, anchor, other) = cluster();
    let client = cluster.connect(2, Port::Node);
    for key in [&anchor, &other] {
        assert_eq!(cluster.call(client, &format!("SET {key} old")), "+OK");
    }
    begin(&mut cluster, 0, (&anchor, &other));
    cluster.mute(0, true);
    told_meanwhile(&mut cluster, client);
    cluster.kill(0);
    cluster.settle();
    cluster.send(client, &format!("GET {other}"));
    wait(&mut cluster, 10);
    assert_eq!(reply(&mut cluster, client), "$3 old");
    assert_eq!(cluster.call(client, &format!("GET {anchor}")), "$3 old");
    // What it had prepared by itself does not come back with it.
    cluster.restart(0);
    cluster.settle();
    wait(&mut cluster, 10);
    assert_eq!(cluster.call(client, &format!("GET {anchor}")), "$3 old");
    assert_eq!(intents(&mut cluster, 0) + intents(&mut cluster, 1), 0);
}

/// Rule `an anchor decides`.
#[test]
fn transaction_that_was_answered_has_happened_whoever_dies() {
    let (mut cluster, anchor, other) = cluster();
    let client = begin(&mut cluster, 0, (&anchor, &other));
    cluster.turn_until(|it| it.is_pending(1, &anchor));
    // It hears that it has committed, and can tell nobody but its client.
    cluster.mute(0, true);
    assert_eq!(reply(&mut cluster, client), DONE);
    cluster.kill(0);
    cluster.settle();
    let reader = cluster.connect(2, Port::Node);
    cluster.send(reader, &format!("GET {other}"));
    wait(&mut cluster, 10);
    assert_eq!(reply(&mut cluster, reader), "$3 new");
    cluster.send(reader, &format!("GET {anchor}"));
    wait(&mut cluster, 10);
    assert_eq!(reply(&mut cluster, reader), "$3 new");
    assert_eq!(intents(&mut cluster, 1) + intents(&mut cluster, 2), 0);
}

/// Rule `one moment for all keys`.
#[test]
fn what_a_transaction_has_only_read_does_not_change_before_it_commits() {
    let (mut cluster, anchor, other) = cluster();
    let third = cluster.key_at(2, 0);
    let script = "if redis.call('exists', KEYS[2], KEYS[3]) == 0 then redis.call('set', KEYS[1], 'mine') end";
    let run = |one: &str, two: &str| format!("EVAL \"{script}\" 3 {one} {two} {third}");
    for _ in 0..4 {
        let clients = [0, 1].map(|at| cluster.connect(at, Port::Node));
        // Both have read each other's key when the last answer comes.
        cluster.mute(2, true);
        cluster.send(clients[0], &run(&anchor, &other));
        cluster.send(clients[1], &run(&other, &anchor));
        for _ in 0..4 {
            cluster.turn();
        }
        cluster.mute(2, false);
        for _ in 0..4 {
            cluster.settle();
        }
        for client in clients {
            assert_eq!(cluster.receive(client), "$-1");
        }
        // Each would have written only if the other had not.
        let client = cluster.connect(2, Port::Node);
        let deleted = cluster.call(client, &format!("DEL {anchor} {other}"));
        assert_eq!(deleted, ":1", "both have written");
    }
}

/// Rule `a coordinator commits in the view in which it began`.
#[test]
fn transaction_is_over_where_its_coordinator_was_not_the_primary_meanwhile() {
    let (mut cluster, anchor, other) = cluster();
    let client = cluster.connect(0, Port::Node);
    queue(&mut cluster, client, (&anchor, &other));
    cluster.send(client, "EXEC");
    // The vote does not come yet: the copy's disk is stuck.
    cluster.stick(2, true);
    cluster.turn_until(|it| it.is_pending(1, &other));
    cluster.regroup(&anchor, &[1, 0]);
    cluster.settle();
    cluster.regroup(&anchor, &[0, 1]);
    cluster.settle();
    assert_eq!(cluster.places_of(&anchor).0, 0);
    cluster.stick(2, false);
    wait(&mut cluster, 5);
    // It is tried again from its beginning, as another attempt.
    assert_eq!(reply(&mut cluster, client), DONE);
    let stats = cluster.brick(0).core.stats();
    assert_eq!(stats.distributed.committed.value(), 1);
    assert_eq!(stats.distributed.moved.value(), 1);
}

#[test]
fn requests_of_a_connection_stay_in_their_order_around_a_transaction() {
    let (mut cluster, anchor, other) = cluster();
    for at in 0..3 {
        let client = cluster.connect(at, Port::Node);
        let all = format!(
            "SET {other} 1\nMULTI\nINCR {other}\nINCR {anchor}\nEXEC\nINCR {other}\nGET {anchor}\nDEL {anchor} {other}"
        );
        assert_eq!(
            cluster.call(client, &all),
            "+OK +OK +QUEUED +QUEUED *2 :2 :1 :3 $1 1 :2"
        );
    }
}

#[test]
fn watched_keys_of_several_partitions_are_compared() {
    let (mut cluster, anchor, other) = cluster();
    let (client, second) = (
        cluster.connect(0, Port::Node),
        cluster.connect(2, Port::Node),
    );
    let watch = format!("WATCH {anchor} {other}");
    let write = format!("MULTI\nSET {anchor} 1\nEXEC");
    for key in [&anchor, &other] {
        assert_eq!(ask(&mut cluster, client, &watch), "+OK");
        assert_eq!(cluster.call(second, &format!("SET {key} 2")), "+OK");
        assert_eq!(cluster.call(client, &write), "+OK +QUEUED *-1");
    }
    assert_eq!(cluster.call(client, &watch), "+OK");
    assert_eq!(cluster.call(client, &write), "+OK +QUEUED *1 +OK");
}

/// Rule `one moment for all keys`.
#[test]
fn what_a_transaction_has_read_beside_its_anchor_is_compared() {
    let (mut cluster, anchor, other) = cluster();
    let mut keys = (0..1000).map(|at| format!("r{at}"));
    let read = keys.find(|key| cluster.partition_of(key) == cluster.partition_of(&anchor));
    let read = read.unwrap();
    let (client, writer) = (
        cluster.connect(0, Port::Node),
        cluster.connect(0, Port::Node),
    );
    assert_eq!(cluster.call(writer, &format!("SET {read} old")), "+OK");
    let copies = "for at = 1, 2 do redis.call('set', KEYS[at], redis.call('get', KEYS[3])) end";
    // It has read, and the vote does not come yet.
    cluster.stick(2, true);
    cluster.send(
        client,
        &format!("EVAL \"{copies}\" 3 {anchor} {other} {read}"),
    );
    cluster.turn_until(|it| it.is_pending(1, &other));
    assert_eq!(ask(&mut cluster, writer, &format!("SET {read} new")), "+OK");
    cluster.stick(2, false);
    for _ in 0..4 {
        cluster.settle();
    }
    assert_eq!(cluster.receive(client), "$-1");
    for key in [&anchor, &other] {
        assert_eq!(cluster.call(client, &format!("GET {key}")), "$3 new");
    }
}

#[test]
fn values_of_any_length_are_read_wherever_they_are() {
    let (mut cluster, anchor, other) = cluster();
    let client = cluster.connect(0, Port::Node);
    let long = cluster.call(client, &format!("SETRANGE {other} 99999 x"));
    assert_eq!(long, ":100000");
    let rename = format!("RENAME {other} {anchor}");
    assert_eq!(ask(&mut cluster, client, &rename), "+OK");
    // It is gone for who was answered, before its intent is.
    assert_eq!(ask(&mut cluster, client, "DBSIZE"), ":1");
    let length = cluster.call(client, &format!("STRLEN {anchor}"));
    assert_eq!(length, ":100000");
}

/// A command as clients send it, with words of any length.
fn framed(words: &[&str]) -> String {
    let words = words
        .iter()
        .map(|word| format!("${}\n{word}\n", word.len()));
    let all: Vec<String> = words.collect();
    format!("*{}\n{}", all.len(), all.concat())
        .trim_end()
        .to_owned()
}

#[test]
fn keys_that_are_too_long_are_refused_and_harm_nobody() {
    let (mut cluster, anchor, other) = cluster();
    let client = cluster.connect(0, Port::Node);
    let long = "k".repeat(70_000);
    let queue = |cluster: &mut Cluster, all: &[&[&str]]| {
        assert_eq!(cluster.call(client, "MULTI"), "+OK");
        for words in all {
            assert_eq!(cluster.call(client, &framed(words)), "+QUEUED");
        }
        cluster.call(client, "EXEC")
    };
    let read = queue(
        &mut cluster,
        &[&["GET", &long], &["SET", &anchor, "1"], &["GET", &other]],
    );
    assert_eq!(read, "*3 $-1 +OK $-1");
    let beside = queue(
        &mut cluster,
        &[
            &["SET", &anchor, "2"],
            &["SET", &long, "2"],
            &["SET", &other, "2"],
        ],
    );
    assert!(
        beside.starts_with("*3 +OK -ERR key is 70000 bytes long"),
        "{beside}"
    );
    let first = queue(&mut cluster, &[&["SET", &long, "3"], &["SET", &other, "3"]]);
    assert!(first.starts_with("-ERR key is 70000 bytes long"), "{first}");
    assert_eq!(
        cluster.call(client, &framed(&["WATCH", &long, &other])),
        "+OK"
    );
    let watched = queue(&mut cluster, &[&["SET", &anchor, "4"]]);
    assert!(
        watched.starts_with("-ERR key is 70000 bytes long"),
        "{watched}"
    );
    assert_eq!(cluster.call(client, &format!("GET {other}")), "$1 2");
}
