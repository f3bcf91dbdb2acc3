//! Which answers wait, and for what.

use super::{ask, on_disk, places, replicated, reply, told_meanwhile, wait};
use crate::accepted::Port;
use crate::cluster_harness::Cluster;
use brickyard_types::record::Kind;
use brickyard_types::{Durability, TableAttributes};
use std::time::Duration;

/// Rule `uncommitted ops are voted for again`.
#[test]
fn new_primary_answers_with_nothing_older_than_its_predecessor_did() {
    let mut cluster = Cluster::new(3, replicated(3));
    let (primary, backup, other) = places(&cluster, "k");
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k old"), "+OK");
    let reader = cluster.connect(backup, Port::Node);
    // It commits and answers, and nobody hears that it has committed.
    cluster.send(client, "SET k new");
    cluster.turn_until(|it| it.is_pending(backup, "k") && it.is_pending(other, "k"));
    cluster.mute(primary, true);
    assert_eq!(reply(&mut cluster, client), "+OK");
    cluster.stick(other, true);
    cluster.kill(primary);
    cluster.settle();
    assert_eq!(cluster.places_of("k").0, backup);
    assert!(cluster.is_pending(backup, "k"), "{}", cluster.story());
    cluster.send(reader, "GET k");
    assert_eq!(told_meanwhile(&mut cluster, reader), "");
    // Inheriting is not committing: the other one has to vote for it again.
    cluster.stick(other, false);
    assert_eq!(reply(&mut cluster, reader), "$3 new");
}

/// Rule `uncommitted ops are voted for again`.
#[test]
fn read_of_what_was_inherited_is_answered_whatever_becomes_of_it() {
    let mut cluster = Cluster::new(3, replicated(3));
    let (primary, backup, other) = places(&cluster, "k");
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k old"), "+OK");
    let reader = cluster.connect(backup, Port::Node);
    // Only the first backup has it.
    cluster.stick(other, true);
    cluster.send(client, "SET k new");
    cluster.turn_until(|it| it.is_pending(backup, "k"));
    cluster.kill(primary);
    cluster.settle();
    cluster.send(reader, "GET k");
    assert_eq!(told_meanwhile(&mut cluster, reader), "");
    // The other one leads the next view, and has it in no log.
    cluster.mute(backup, true);
    cluster.regroup("k", &[other]);
    cluster.stick(other, false);
    cluster.settle();
    cluster.mute(backup, false);
    cluster.settle();
    let answer = cluster.receive(reader);
    assert!(["$3 old", "$3 new"].contains(&&*answer), "{answer}");
}

/// Rule `answers wait for prepared values`.
#[test]
fn answer_that_wrote_nothing_waits_for_what_it_was_decided_against() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let writer = cluster.connect(primary, Port::Node);
    let others = ["SETNX k w", "INCR k", "GETEX k PERSIST", "DEL k {k}2"];
    let others = others.map(|command| (cluster.connect(primary, Port::Node), command));
    cluster.mute(primary, true);
    cluster.send(writer, "SET k v");
    cluster.turn();
    for (client, command) in others {
        cluster.send(client, command);
    }
    for (client, command) in others {
        assert_eq!(told_meanwhile(&mut cluster, client), "", "{command}");
    }
    // Nobody else has it, and the view that follows is without it.
    cluster.regroup("k", &[backup]);
    cluster.settle();
    for (client, command) in others {
        let reply = cluster.receive(client);
        assert!(reply.starts_with("-UNKNOWNRESULT"), "{command}: {reply}");
    }
    let reader = cluster.connect(backup, Port::Node);
    assert_eq!(cluster.call(reader, "GET k"), "$-1");
}

/// Rule `records carry full outcomes`.
#[test]
fn record_has_the_whole_outcome() {
    let mut cluster = Cluster::new(3, replicated(2));
    let client = cluster.connect(0, Port::Node);
    let (primary, backup) = cluster.places_of("k");
    for command in ["SET k ab", "APPEND k cd", "SETRANGE k 1 x", "INCRBY {k}n 5"] {
        cluster.call(client, command);
    }
    assert_eq!(cluster.call(client, "INCRBYFLOAT {k}n 0.5"), "$3 5.5");
    let values = ["ab", "abcd", "axcd", "5", "5.5"];
    for node in [primary, backup.unwrap()] {
        let records = cluster.records(node).into_iter();
        let puts = records.filter(|(header, key, _)| {
            header.kind == Kind::Put && [b"k".as_slice(), b"{k}n"].contains(&&key[..])
        });
        let held: Vec<String> = puts
            .map(|(_, _, value)| String::from_utf8(value).unwrap())
            .collect();
        assert_eq!(held, values);
    }
}

/// Rule `records carry full outcomes`.
#[test]
fn append_that_reaches_a_learner_before_its_base_loses_nothing() {
    for durability in [Durability::Memory, Durability::Log] {
        let mut cluster = Cluster::new(
            2,
            TableAttributes {
                durability,
                ..replicated(2)
            },
        );
        let (primary, backup) = cluster.places_of("k");
        let backup = backup.unwrap();
        let client = cluster.connect(primary, Port::Node);
        cluster.kill(backup);
        cluster.settle();
        assert_eq!(cluster.call(client, "SET k ab"), "+OK");
        assert_eq!(cluster.call(client, "SET {k}2 x"), "+OK");
        // What it lacks comes late, what is written now at once.
        cluster.hold_reads(primary, true);
        cluster.restart(backup);
        assert_eq!(cluster.call(client, "APPEND k cd"), ":4");
        cluster.hold_reads(primary, false);
        cluster.settle();
        assert!(cluster.is_whole(2), "{durability:?}: {}", cluster.story());
        cluster.kill(primary);
        cluster.settle();
        let client = cluster.connect(backup, Port::Node);
        assert_eq!(cluster.call(client, "GET k"), "$4 abcd");
        assert_eq!(cluster.call(client, "GET {k}2"), "$1 x");
    }
}

/// Rule `removals name what they remove`.
#[test]
fn expiry_takes_nothing_that_is_being_written() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(primary, Port::Node);
    let reader = cluster.connect(primary, Port::Node);
    assert_eq!(ask(&mut cluster, client, "SET k old PX 50"), "+OK");
    cluster.stick(backup, true);
    cluster.send(client, "GETSET k new");
    cluster.turn();
    // Its time comes, for whoever looks: the committed state still has the old value.
    cluster.tick(Duration::from_millis(1000));
    cluster.send(reader, "GET k");
    cluster.turn();
    cluster.tick(Duration::from_millis(1000));
    cluster.stick(backup, false);
    cluster.settle();
    assert_eq!(cluster.receive(client), "$3 old");
    // Whoever was told of the old value has put the new one in its place: the key was there all the time.
    assert_eq!(cluster.receive(reader), "$3 new");
    for node in [primary, backup] {
        let reader = cluster.connect(node, Port::Node);
        assert_eq!(cluster.call(reader, "GET k"), "$3 new");
        let records = cluster.records(node);
        let removals = records.iter().filter(|it| it.0.kind == Kind::Delete);
        assert_eq!(removals.count(), 0);
    }
}

/// Rule `reads follow own writes`.
#[test]
fn connection_sees_its_own_write_wherever_it_went() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k 0"), "+OK");
    for node in [primary, backup] {
        let client = cluster.connect(node, Port::Node);
        let other = cluster.connect(node, Port::Node);
        cluster.stick(backup, true);
        cluster.send(client, "INCR k\nGET k\nMULTI\nGET k\nEXEC");
        // Who has not written it is not held up by it, where its outcome is known first.
        cluster.send(other, "GET k");
        let meanwhile = told_meanwhile(&mut cluster, client);
        assert_eq!(meanwhile, "", "node {node}");
        if node == primary {
            assert_eq!(cluster.receive(other), "$1 0");
        }
        cluster.stick(backup, false);
        cluster.settle();
        let replies = cluster.receive(client);
        let count = if node == primary { 1 } else { 2 };
        let expected = format!(":{count} $1 {count} +OK +QUEUED *1 $1 {count}");
        assert_eq!(replies, expected, "node {node}");
    }
}

/// Rule `reads follow own writes`.
#[test]
fn connection_sees_what_its_own_answer_was_decided_against() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let writer = cluster.connect(primary, Port::Node);
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(writer, "SET k v"), "+OK");
    cluster.stick(backup.unwrap(), true);
    cluster.send(writer, "DEL k");
    cluster.turn();
    // It deletes nothing, since the key is as good as gone; and then it is.
    cluster.send(client, "GETDEL k\nGET k");
    assert_eq!(told_meanwhile(&mut cluster, client), "");
    cluster.stick(backup.unwrap(), false);
    cluster.settle();
    assert_eq!(cluster.receive(client), "$-1 $-1");
}

/// Rule `reads follow own writes`.
#[test]
fn request_does_not_overtake_one_that_the_former_primary_still_has() {
    let mut cluster = Cluster::new(3, replicated(2));
    let (primary, backup, other) = places(&cluster, "k");
    let client = cluster.connect(other, Port::Node);
    assert_eq!(cluster.call(client, "SET k before"), "+OK");
    // The primary can serve nothing for now. It accepts the next view, and is the last to hear that it is in effect.
    cluster.is_deciding = false;
    cluster.lease(primary, false);
    cluster.send(client, "SET k after");
    assert_eq!(told_meanwhile(&mut cluster, client), "");
    cluster.regroup("k", &[backup, primary]);
    assert_eq!(told_meanwhile(&mut cluster, client), "");
    cluster.inform(primary, false);
    cluster.decide();
    assert_eq!(cluster.places_of("k").0, backup);
    cluster.send(client, "GET k");
    assert_eq!(told_meanwhile(&mut cluster, client), "");
    cluster.inform(primary, true);
    cluster.lease(primary, true);
    cluster.settle();
    assert_eq!(cluster.receive(client), "+OK $5 after");
}

/// Rule `reads of several keys see one moment`.
#[test]
fn read_of_several_keys_waits_for_all_of_them() {
    let mut cluster = Cluster::new(3, replicated(3));
    let (primary, backup, other) = places(&cluster, "{t}a");
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "MSET {t}a 1 {t}b 1"), "+OK");
    let readers = [
        (cluster.connect(backup, Port::Node), "MGET {t}a {t}b {t}c"),
        (
            cluster.connect(backup, Port::Node),
            "MULTI\nGET {t}a\nMGET {t}a {t}b\nEXEC",
        ),
    ];
    cluster.stick(other, true);
    cluster.send(client, "SET {t}b 2");
    cluster.turn_until(|it| it.is_pending(backup, "{t}b"));
    for (reader, commands) in readers {
        cluster.send(reader, commands);
    }
    for (reader, _) in readers {
        let told = told_meanwhile(&mut cluster, reader);
        assert!(!told.contains('*'), "{told}");
    }
    cluster.stick(other, false);
    cluster.settle();
    assert_eq!(cluster.receive(client), "+OK");
    assert_eq!(cluster.receive(readers[0].0), "*3 $1 1 $1 2 $-1");
    let replies = cluster.receive(readers[1].0);
    assert!(replies.ends_with("*2 $1 1 *2 $1 1 $1 2"), "{replies}");
}

/// Rule `only the primary expires keys`.
#[test]
fn expired_key_is_an_error_in_time_where_its_removal_is_refused() {
    let attributes = TableAttributes {
        min_in_sync: 2,
        ..replicated(2)
    };
    let mut cluster = Cluster::new(2, attributes);
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(ask(&mut cluster, client, "SET {k}2 v"), "+OK");
    assert_eq!(ask(&mut cluster, client, "SET k v PX 50"), "+OK");
    cluster.kill(backup);
    cluster.settle();
    for commands in ["GET k", "MULTI\nGET {k}2\nGET k\nEXEC"] {
        cluster.send(client, commands);
        for _ in 0..4 {
            cluster.settle();
        }
        let replies = cluster.receive(client);
        assert!(replies.contains("-CLUSTERDOWN"), "{commands}: {replies}");
    }
    cluster.restart(backup);
    assert!(cluster.is_whole(2), "{}", cluster.story());
    assert_eq!(cluster.call(client, "GET k"), "$-1");
    let reader = cluster.connect(backup, Port::Node);
    assert_eq!(cluster.call(reader, "EXISTS k"), ":0");
}

/// What a transaction needs of the log comes late, and one of its keys has expired by then and cannot be removed: it has no
/// more time than it had.
/// Rule `only the primary expires keys`.
#[test]
fn time_that_a_value_took_to_be_read_counts() {
    let attributes = TableAttributes {
        min_in_sync: 2,
        ..on_disk(2)
    };
    let mut cluster = Cluster::new(2, attributes);
    let (primary, backup) = cluster.places_of("k");
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(ask(&mut cluster, client, "SET {k}2 v"), "+OK");
    assert_eq!(ask(&mut cluster, client, "SET k v PX 4000"), "+OK");
    cluster.kill(backup.unwrap());
    cluster.settle();
    cluster.hold_reads(primary, true);
    cluster.send(client, "MULTI\nGET {k}2\nGET k\nEXEC");
    cluster.turn_until(|it| it.reads(primary) > 0);
    cluster.settle();
    cluster.settle();
    cluster.hold_reads(primary, false);
    cluster.settle();
    cluster.settle();
    let replies = cluster.receive(client);
    assert!(replies.contains("-CLUSTERDOWN"), "{replies}");
}

/// A write that waited for a view has less time left in which its replicas may take it.
/// Rule `only the primary expires keys`.
#[test]
fn time_that_a_write_waited_for_a_view_counts() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(primary, Port::Node);
    let other = cluster.connect(primary, Port::Node);
    assert_eq!(cluster.call(client, "SET k v"), "+OK");
    cluster.is_deciding = false;
    cluster.regroup("k", &[primary, backup]);
    cluster.send(client, "SET k w");
    cluster.settle();
    cluster.settle();
    assert_eq!(cluster.receive(client), "");
    cluster.is_deciding = true;
    cluster.stick(backup, true);
    cluster.settle();
    assert!(cluster.is_pending(primary, "k"), "{}", cluster.story());
    cluster.send(other, "SET {k}2 w");
    cluster.settle();
    let reply = cluster.receive(client);
    assert!(reply.starts_with("-UNKNOWNRESULT"), "{reply}");
    assert_eq!(cluster.receive(other), "", "it has time left");
}

/// A request that was asked again rests on what the new view began with, which is younger than the request.
/// Rule `only the primary expires keys`.
#[test]
fn time_that_a_request_waited_counts_where_it_was_executed_before() {
    let mut cluster = Cluster::new(3, replicated(3));
    let (primary, backup, other) = places(&cluster, "k");
    let client = cluster.connect(backup, Port::Node);
    let writer = cluster.connect(backup, Port::Node);
    assert_eq!(cluster.call(client, "SET k old"), "+OK");
    cluster.stick(other, true);
    cluster.send(client, "SET k new");
    cluster.turn_until(|it| it.is_pending(backup, "k"));
    cluster.is_deciding = false;
    cluster.kill(primary);
    wait(&mut cluster, 40);
    cluster.regroup("k", &[backup, other]);
    for _ in 0..6 {
        cluster.turn();
        cluster.decide();
    }
    assert_eq!(cluster.places_of("k").0, backup);
    cluster.send(writer, "SET {k}2 v");
    wait(&mut cluster, 8);
    assert_eq!(cluster.receive(client), "", "it has time left");
    assert!(cluster.is_pending(backup, "k"), "{}", cluster.story());
    wait(&mut cluster, 4);
    let reply = cluster.receive(client);
    assert!(reply.starts_with("-UNKNOWNRESULT"), "{reply}");
    assert_eq!(cluster.receive(writer), "", "it has time left");
    // Nobody was told anything of what is younger.
    cluster.stick(other, false);
    assert_eq!(super::reply(&mut cluster, writer), "+OK");
    assert_eq!(ask(&mut cluster, client, "GET k"), "$3 new");
}

/// Keys of two partitions of which the first node is primary and the second backup.
fn two_at_first(cluster: &Cluster) -> (String, String) {
    let first = cluster.key_at(0, 1);
    let second = (0..1000).map(|at| format!("m{at}")).find(|key| {
        let is_there = cluster.places_of(key) == (0, Some(1));
        is_there && cluster.partition_of(key) != cluster.partition_of(&first)
    });
    (first, second.expect("two of four partitions"))
}

/// A reply in parts rests on all that stands between their batches, also of others, and that is younger than the request.
/// Rule `only the primary expires keys`.
#[test]
fn reply_in_parts_has_its_time_whatever_stands_between_them() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (first, second) = two_at_first(&cluster);
    let client = cluster.connect(0, Port::Node);
    let other = cluster.connect(0, Port::Node);
    cluster.is_deciding = false;
    cluster.regroup(&second, &[0]);
    cluster.turn();
    cluster.send(client, &format!("MSET {first} v {second} v"));
    wait(&mut cluster, 40);
    assert_eq!(cluster.receive(client), "");
    cluster.stick(1, true);
    cluster.send(other, &format!("SET {first} w"));
    for _ in 0..6 {
        cluster.turn();
        cluster.decide();
    }
    wait(&mut cluster, 8);
    assert_eq!(cluster.receive(client), "", "it has time left");
    wait(&mut cluster, 4);
    let reply = cluster.receive(client);
    assert!(reply.starts_with("-UNKNOWNRESULT"), "{reply}");
    assert_eq!(cluster.receive(other), "", "it has time left");
}

/// One part of a reply is written and waits for its replicas, and the other never comes: both have the time of the request.
/// Rule `only the primary expires keys`.
#[test]
fn part_of_a_reply_has_its_time_when_another_is_missing() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (first, second) = two_at_first(&cluster);
    let client = cluster.connect(0, Port::Node);
    cluster.is_deciding = false;
    // The backup hears of neither view: it takes nothing in the one, and the other has no primary.
    cluster.inform(1, false);
    cluster.regroup(&first, &[0, 1]);
    cluster.regroup(&second, &[1]);
    cluster.turn();
    cluster.send(client, &format!("MSET {first} v {second} v"));
    wait(&mut cluster, 40);
    assert!(!cluster.is_pending(0, &first), "it waits for its view");
    for _ in 0..6 {
        cluster.turn();
        cluster.decide();
    }
    wait(&mut cluster, 8);
    assert_eq!(cluster.receive(client), "", "it has time left");
    assert!(cluster.is_pending(0, &first), "{}", cluster.story());
    assert!(!cluster.is_pending(0, &second), "{}", cluster.story());
    wait(&mut cluster, 4);
    let reply = cluster.receive(client);
    assert!(reply.starts_with("-UNKNOWNRESULT"), "{reply}");
    // The one part may yet be lost, so nobody may say that it was executed because the other was not.
    assert!(!reply.contains("a part of the command was executed"));
    assert!(cluster.is_pending(0, &first), "{}", cluster.story());
}

/// What had waited for a view is prepared together with what had not.
/// Rule `only the primary expires keys`.
#[test]
fn write_has_its_time_whatever_it_is_prepared_with() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let [client, other] = [(); 2].map(|()| cluster.connect(primary, Port::Node));
    assert_eq!(cluster.call(client, "SET k v"), "+OK");
    cluster.is_deciding = false;
    cluster.regroup("k", &[primary, backup]);
    cluster.send(client, "SET k w");
    wait(&mut cluster, 40);
    cluster.send(other, "SET {k}2 w");
    cluster.turn();
    cluster.stick(backup, true);
    for _ in 0..6 {
        cluster.decide();
        cluster.turn();
    }
    assert!(cluster.is_pending(primary, "k"), "{}", cluster.story());
    assert!(cluster.is_pending(primary, "{k}2"), "{}", cluster.story());
    wait(&mut cluster, 12);
    let reply = cluster.receive(client);
    assert!(reply.starts_with("-UNKNOWNRESULT"), "{reply}");
    assert_eq!(cluster.receive(other), "", "it has time left");
    cluster.stick(backup, false);
    assert_eq!(super::reply(&mut cluster, other), "+OK");
}

/// What a command on the table waits for is given up, and more has been written since: it has no more time for that.
/// Rule `only the primary expires keys`.
#[test]
fn time_that_a_subrequest_waited_for_what_was_given_up_counts() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let writer = cluster.connect(primary, Port::Node);
    let other = cluster.connect(primary, Port::Node);
    let client = cluster.connect(primary, Port::Brick);
    cluster.settle();
    cluster.receive(writer);
    cluster.is_deciding = false;
    cluster.stick(backup.unwrap(), true);
    cluster.send(writer, "SET k v");
    cluster.turn();
    cluster.send(client, "DBSIZE");
    cluster.settle();
    cluster.settle();
    assert_eq!(cluster.receive(writer), "");
    cluster.send(other, "SET {k}2 v");
    cluster.settle();
    cluster.settle();
    let reply = cluster.receive(writer);
    assert!(reply.starts_with("-UNKNOWNRESULT"), "{reply}");
    let reply = cluster.receive(client);
    assert!(reply.starts_with("-CLUSTERDOWN"), "{reply}");
    assert_eq!(cluster.receive(other), "", "it has time left");
}

/// Rule `only the primary expires keys`.
#[test]
fn removal_that_the_log_refuses_is_told() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, _) = cluster.places_of("k");
    let client = cluster.connect(primary, Port::Node);
    assert_eq!(ask(&mut cluster, client, "SET k v PX 50"), "+OK");
    cluster.stick(primary, true);
    cluster.tick(Duration::from_millis(200));
    cluster.send(client, "GET k");
    assert_eq!(told_meanwhile(&mut cluster, client), "");
    cluster.refuse(primary);
    let reply = reply(&mut cluster, client);
    assert!(reply.starts_with("-MISCONF"), "{reply}");
}

/// Rule `only the primary expires keys`, of fields of hashes.
#[test]
fn backup_asks_the_primary_about_an_expired_field() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(backup, Port::Node);
    let ways = [
        ("HGET k f", "$-1"),
        ("HGETALL k", "*2 $1 g $1 w"),
        ("MULTI\nHGET k g\nHGET k f\nEXEC", "*2 $1 w $-1"),
    ];
    let in_parts = [
        ("HGET k f", "$-1"),
        ("HLEN k", ":401"),
        ("MULTI\nHGET k g\nHGET k f\nEXEC", "*2 $1 w $-1"),
    ];
    let more: String = (0..400)
        .map(|it| format!(" field:{it} value:{it}"))
        .collect();
    let all = ways.map(|it| (it, "")).into_iter();
    for ((commands, expected), more) in all.chain(in_parts.map(|it| (it, &more[..]))) {
        ask(&mut cluster, client, &format!("HSET k f v g w{more}"));
        ask(&mut cluster, client, "HPEXPIRE k 50 FIELDS 1 f");
        let puts = |cluster: &Cluster, node: usize| cluster.records(node).len();
        let before = [primary, backup].map(|node| puts(&cluster, node));
        // The primary's log waits: the field is not gone before the hash without it has committed.
        cluster.stick(primary, true);
        cluster.tick(Duration::from_millis(200));
        cluster.send(client, commands);
        let told = told_meanwhile(&mut cluster, client);
        assert!(!told.ends_with(expected), "{commands}: {told}");
        assert_eq!(puts(&cluster, backup), before[1], "it decides nothing");
        cluster.stick(primary, false);
        cluster.settle();
        let replies = told + &cluster.receive(client);
        assert!(replies.ends_with(expected), "{commands}: {replies}");
        for (node, before) in [primary, backup].into_iter().zip(before) {
            assert!(puts(&cluster, node) > before, "{commands}");
        }
        ask(&mut cluster, client, "DEL k");
    }
}

#[test]
fn backup_asks_the_primary_about_an_expired_key() {
    let mut cluster = Cluster::new(2, replicated(2));
    let (primary, backup) = cluster.places_of("k");
    let backup = backup.unwrap();
    let client = cluster.connect(backup, Port::Node);
    let removals = |cluster: &Cluster, node: usize| {
        let records = cluster.records(node).into_iter();
        records.filter(|it| it.0.kind == Kind::Delete).count()
    };
    let ways = [
        ("GET k", "$-1"),
        ("MGET {k}2 k", "*2 $1 v $-1"),
        ("MULTI\nGET {k}2\nGET k\nEXEC", "*2 $1 v $-1"),
    ];
    for (count, (commands, expected)) in ways.into_iter().enumerate() {
        assert_eq!(ask(&mut cluster, client, "SET {k}2 v"), "+OK");
        assert_eq!(ask(&mut cluster, client, "SET k v PX 50"), "+OK");
        // The primary's log waits: the key is not gone before its removal has committed.
        cluster.stick(primary, true);
        cluster.tick(Duration::from_millis(200));
        cluster.send(client, commands);
        let told = told_meanwhile(&mut cluster, client);
        assert!(!told.contains("$-1"), "{commands}: {told}");
        assert_eq!(removals(&cluster, backup), count, "it decides nothing");
        cluster.stick(primary, false);
        cluster.settle();
        let replies = told + &cluster.receive(client);
        assert!(replies.ends_with(expected), "{commands}: {replies}");
        for node in [primary, backup] {
            assert_eq!(removals(&cluster, node), count + 1, "{commands}");
        }
    }
}
