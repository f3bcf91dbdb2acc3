//! Rule `requests are executed once`: what is asked again with the same id is executed once.

use crate::accepted::Port;
use crate::cluster_harness::{Client, Cluster};
use crate::harness::Node;
use brickyard_types::{Durability, Medium, TableAttributes};
use std::time::Duration;

/// The tests' clock, in microseconds.
const NOW: u64 = 1_700_000_000_000_000;

fn replicated(replicas: u8, durability: Durability) -> TableAttributes {
    TableAttributes {
        replicas,
        durability,
        ..TableAttributes::default()
    }
}

fn request(number: u64, attempt: &str, command: &str) -> String {
    format!("REQUEST 7 {} {attempt} {command}", NOW + number)
}

fn ask(cluster: &mut Cluster, client: Client, number: u64, attempt: &str, command: &str) -> String {
    cluster.call(client, &request(number, attempt, command))
}

#[test]
fn retry_is_answered_as_the_first_attempt_was_on_any_port() {
    let mut cluster = Cluster::new(3, replicated(2, Durability::Log));
    for host in 0..3 {
        let client = cluster.connect(host, Port::Node);
        let key = format!("k{host}");
        for attempt in ["FIRST", "AGAIN", "FIRST"] {
            let reply = ask(&mut cluster, client, 1, attempt, &format!("INCR {key}"));
            assert_eq!(reply, ":1", "{attempt}");
        }
        for attempt in ["FIRST", "AGAIN"] {
            let reply = ask(
                &mut cluster,
                client,
                2,
                attempt,
                &format!("APPEND {key} xy"),
            );
            assert_eq!(reply, ":3");
        }
        assert_eq!(cluster.call(client, &format!("GET {key}")), "$3 1xy");
        // Another client's request of the same number is another.
        let other = format!("REQUEST 8 {} AGAIN APPEND {key} z", NOW + 1);
        assert_eq!(cluster.call(client, &other), ":4");
    }
}

#[test]
fn retry_after_a_fail_over_is_known_to_the_former_backup() {
    for durability in [Durability::Log, Durability::Fsync, Durability::Memory] {
        let mut cluster = Cluster::new(2, replicated(2, durability));
        let key = cluster.key_at(1, 0);
        let client = cluster.connect(0, Port::Node);
        assert_eq!(
            ask(&mut cluster, client, 1, "FIRST", &format!("INCR {key}")),
            ":1"
        );
        assert_eq!(cluster.call(client, &format!("INCRBY {key} 10")), ":11");
        cluster.kill(1);
        let again = ask(&mut cluster, client, 1, "AGAIN", &format!("INCR {key}"));
        assert_eq!(again, ":1", "{durability:?}");
        assert_eq!(cluster.call(client, &format!("GET {key}")), "$2 11");
    }
}

#[test]
fn retry_after_a_restart_of_all_is_known() {
    let mut cluster = Cluster::new(2, replicated(2, Durability::Log));
    let client = cluster.connect(0, Port::Node);
    assert_eq!(ask(&mut cluster, client, 1, "FIRST", "INCR k"), ":1");
    assert_eq!(ask(&mut cluster, client, 2, "FIRST", "APPEND k x"), ":2");
    cluster.kill_at_once(0..2);
    cluster.restart(0);
    cluster.restart(1);
    let client = cluster.connect(1, Port::Node);
    assert_eq!(ask(&mut cluster, client, 1, "AGAIN", "INCR k"), ":1");
    assert_eq!(ask(&mut cluster, client, 2, "AGAIN", "APPEND k x"), ":2");
    assert_eq!(cluster.call(client, "GET k"), "$2 1x");
}

#[test]
fn learner_gets_the_window_and_answers_when_it_is_primary() {
    for durability in [Durability::Log, Durability::Memory] {
        let mut cluster = Cluster::new(3, replicated(3, durability));
        let client = cluster.connect(0, Port::Node);
        let counters = ["a", "b", "c", "d", "e", "f"];
        cluster.kill(2);
        for (at, key) in (0..).zip(counters) {
            assert_eq!(
                ask(&mut cluster, client, at, "FIRST", &format!("INCR {key}")),
                ":1"
            );
            // The record with the id is superseded: only the window knows.
            assert_eq!(cluster.call(client, &format!("SET {key} 5")), "+OK");
        }
        cluster.restart(2);
        assert!(cluster.is_whole(3), "{}", cluster.story());
        cluster.kill(0);
        cluster.kill(1);
        let client = cluster.connect(2, Port::Node);
        for (at, key) in (0..).zip(counters) {
            let again = ask(&mut cluster, client, at, "AGAIN", &format!("INCR {key}"));
            assert_eq!(again, ":1", "{durability:?} {key}");
            assert_eq!(cluster.call(client, &format!("GET {key}")), "$1 5");
        }
        assert_eq!(ask(&mut cluster, client, 99, "AGAIN", "INCR a"), ":6");
    }
}

#[test]
fn copy_in_full_brings_the_window_and_a_restart_keeps_it() {
    let mut cluster = Cluster::new(3, replicated(2, Durability::Log));
    let key = cluster.key_at(0, 1);
    let client = cluster.connect(0, Port::Node);
    assert_eq!(
        ask(&mut cluster, client, 1, "FIRST", &format!("INCR {key}")),
        ":1"
    );
    assert_eq!(cluster.call(client, &format!("SET {key} 5")), "+OK");
    // Node 2 never had anything of the partition.
    cluster.set_learners(&key, &[2]);
    cluster.settle();
    cluster.regroup(&key, &[2]);
    cluster.settle();
    assert_eq!(cluster.places_of(&key), (2, None));
    for _ in 0..2 {
        let client = cluster.connect(2, Port::Node);
        assert_eq!(
            ask(&mut cluster, client, 1, "AGAIN", &format!("INCR {key}")),
            ":1"
        );
        assert_eq!(cluster.call(client, &format!("GET {key}")), "$1 5");
        cluster.kill_at_once([2]);
        cluster.restart(2);
    }
}

#[test]
fn retry_that_finds_its_request_pending_waits_for_the_same_operation() {
    let mut cluster = Cluster::new(2, replicated(2, Durability::Log));
    let key = cluster.key_at(0, 1);
    let clients = [0, 0, 1].map(|host| cluster.connect(host, Port::Node));
    cluster.is_deciding = false;
    cluster.stick(1, true);
    for (client, attempt) in clients.into_iter().zip(["FIRST", "AGAIN", "AGAIN"]) {
        cluster.send(client, &request(1, attempt, &format!("INCR {key}")));
        cluster.turn();
    }
    cluster.settle();
    for client in clients {
        assert_eq!(cluster.receive(client), "");
    }
    cluster.stick(1, false);
    cluster.settle();
    for client in clients {
        assert_eq!(cluster.receive(client), ":1");
    }
    assert_eq!(cluster.call(clients[0], &format!("GET {key}")), "$1 1");
}

#[test]
fn retry_of_what_nobody_knew_in_time_learns_it_in_the_end() {
    let mut cluster = Cluster::new(2, replicated(2, Durability::Log));
    let key = cluster.key_at(0, 1);
    let client = cluster.connect(0, Port::Node);
    cluster.is_deciding = false;
    cluster.stick(1, true);
    cluster.send(client, &request(1, "FIRST", &format!("INCR {key}")));
    for _ in 0..10 {
        cluster.settle();
    }
    let reply = cluster.receive(client);
    assert!(reply.starts_with("-UNKNOWNRESULT"), "{reply}");
    cluster.send(client, &request(1, "AGAIN", &format!("INCR {key}")));
    cluster.turn();
    cluster.turn();
    assert_eq!(cluster.receive(client), "", "it is not known yet");
    cluster.stick(1, false);
    cluster.settle();
    assert_eq!(cluster.receive(client), ":1");
}

#[test]
fn id_of_an_operation_that_was_cut_is_executed_anew() {
    let mut cluster = Cluster::new(3, replicated(3, Durability::Log));
    let key = {
        let mut keys = (0..1000).map(|at| format!("k{at}"));
        keys.find(|key| cluster.places_of(key).0 == 0).unwrap()
    };
    let client = cluster.connect(0, Port::Node);
    // It stands in the primary's log, and nobody else hears of it.
    cluster.is_deciding = false;
    cluster.mute(0, true);
    cluster.send(client, &request(1, "FIRST", &format!("INCR {key}")));
    cluster.turn();
    cluster.turn();
    assert!(cluster.is_pending(0, &key));
    cluster.is_deciding = true;
    cluster.kill(0);
    let client = cluster.connect(1, Port::Node);
    assert_eq!(cluster.call(client, &format!("SET {key} 10")), "+OK");
    assert_eq!(
        ask(&mut cluster, client, 1, "AGAIN", &format!("INCR {key}")),
        ":11"
    );
    // And the one that had it, once it is back, knows of the second.
    cluster.break_links(0);
    cluster.restart(0);
    assert!(cluster.is_whole(3), "{}", cluster.story());
    cluster.kill(1);
    cluster.kill(2);
    let client = cluster.connect(0, Port::Node);
    assert_eq!(
        ask(&mut cluster, client, 1, "AGAIN", &format!("INCR {key}")),
        ":11"
    );
    assert_eq!(cluster.call(client, &format!("GET {key}")), "$2 11");
}

#[test]
fn gateway_asks_again_when_its_stream_breaks_before_the_reply() {
    let mut cluster = Cluster::new(2, replicated(1, Durability::Log));
    let mut keys = (0..1000).map(|at| format!("k{at}"));
    let key = keys.find(|key| cluster.places_of(key).0 == 1).unwrap();
    let client = cluster.connect(0, Port::Node);
    cluster.mute(1, true);
    // The client gives no id.
    cluster.send(client, &format!("INCR {key}\nAPPEND {key} x"));
    for _ in 0..4 {
        cluster.turn();
    }
    assert_eq!(cluster.receive(client), "");
    cluster.break_links(1);
    cluster.settle();
    assert_eq!(cluster.receive(client), ":1 :2");
    assert_eq!(cluster.call(client, &format!("GET {key}")), "$2 1x");
}

#[test]
fn gateway_asks_the_new_primary_what_became_of_a_write() {
    let mut cluster = Cluster::new(3, replicated(2, Durability::Log));
    let key = cluster.key_at(1, 2);
    let client = cluster.connect(0, Port::Node);
    // The backup has it, and has not said so.
    cluster.is_deciding = false;
    cluster.stick(2, true);
    cluster.send(client, &format!("INCR {key}"));
    cluster.turn_until(|cluster| cluster.is_pending(2, &key));
    cluster.is_deciding = true;
    cluster.kill(1);
    cluster.stick(2, false);
    cluster.settle();
    assert_eq!(cluster.receive(client), ":1");
    assert_eq!(cluster.call(client, &format!("GET {key}")), "$1 1");
}

#[test]
fn gateway_does_not_deny_what_it_lost() {
    let mut cluster = Cluster::new(2, replicated(1, Durability::Log));
    let mut keys = (0..1000).map(|at| format!("k{at}"));
    let key = keys.find(|key| cluster.places_of(key).0 == 1).unwrap();
    let client = cluster.connect(0, Port::Node);
    cluster.mute(1, true);
    cluster.send(client, &format!("INCR {key}"));
    for _ in 0..4 {
        cluster.turn();
    }
    cluster.cut(0, 1);
    cluster.mute(1, false);
    for _ in 0..10 {
        cluster.settle();
    }
    let reply = cluster.receive(client);
    assert!(reply.starts_with("-UNKNOWNRESULT"), "{reply}");
}

fn alone(attributes: TableAttributes) -> (Node, crate::harness::Client) {
    let mut node = Node::new(1, attributes);
    let client = node.connect(0, Port::Node);
    (node, client)
}

fn clean(node: &mut Node) {
    for _ in 0..100 {
        node.advance(Duration::from_millis(100));
    }
}

#[test]
fn cleaner_keeps_ids_whose_records_go() {
    for (durability, medium) in [
        (Durability::Log, Medium::Ram),
        (Durability::Fsync, Medium::Disk),
    ] {
        let (mut node, client) = alone(TableAttributes {
            durability,
            medium,
            ..TableAttributes::default()
        });
        for (number, command) in [(1, "INCR k"), (2, "APPEND live x"), (3, "DEL gone")] {
            node.call(client, &request(number, "FIRST", command));
        }
        assert_eq!(node.call(client, "SET k 5"), "+OK");
        assert_eq!(node.call(client, &request(4, "AGAIN", "SETNX k 1")), ":0");
        node.roll(0);
        clean(&mut node);
        assert!(node.logs[0].sealed.is_empty(), "nothing was cleaned");
        for _ in 0..2 {
            let client = node.connect(0, Port::Node);
            assert_eq!(node.call(client, &request(1, "AGAIN", "INCR k")), ":1");
            assert_eq!(
                node.call(client, &request(2, "AGAIN", "APPEND live x")),
                ":1"
            );
            assert_eq!(node.call(client, &request(4, "FIRST", "SETNX k 1")), ":0");
            // A value on the disk would have to be read back for GET.
            assert_eq!(
                node.call(client, "STRLEN k\nSTRLEN live\nEXISTS gone"),
                ":1 :1 :0"
            );
            node.restart();
        }
    }
}

#[test]
fn what_was_forgotten_is_never_executed_again() {
    let (mut node, client) = alone(TableAttributes::default());
    assert_eq!(node.call(client, &request(1, "FIRST", "INCR k")), ":1");
    assert_eq!(node.call(client, "SET k 5"), "+OK");
    node.roll(0);
    // Eleven minutes later nobody can be waiting for it any more.
    node.advance(Duration::from_secs(660));
    clean(&mut node);
    assert!(node.logs[0].sealed.is_empty(), "nothing was cleaned");
    for _ in 0..2 {
        let client = node.connect(0, Port::Node);
        let again = node.call(client, &request(1, "AGAIN", "INCR k"));
        assert!(again.starts_with("-UNKNOWNRESULT forgotten:"), "{again}");
        // Its first attempt, if it comes now, was not executed; who sent it knows a higher number then.
        let first = node.call(client, &request(1, "FIRST", "INCR k"));
        assert_eq!(
            brickyard_wire::ids_up_to(first.strip_prefix('-').unwrap().as_bytes()),
            Some(NOW + 1)
        );
        assert_eq!(node.call(client, "GET k"), "$1 5");
        node.restart();
    }
}

#[test]
fn id_of_a_refused_batch_is_executed_anew() {
    let (mut node, client) = alone(TableAttributes::default());
    assert_eq!(node.call(client, "SET k 5"), "+OK");
    node.logs[0].is_held = true;
    for command in [
        request(1, "FIRST", "INCR k"),
        request(2, "AGAIN", "SETNX k 1"),
    ] {
        node.call(client, &command);
    }
    node.refuse(0);
    node.logs[0].is_held = false;
    assert!(node.call(client, "PING").contains("-MISCONF"));
    node.advance(Duration::from_secs(1));
    assert_eq!(node.call(client, "DEL k"), ":1");
    assert_eq!(node.call(client, &request(1, "AGAIN", "INCR k")), ":1");
    assert_eq!(node.call(client, "DEL k"), ":1");
    assert_eq!(node.call(client, &request(2, "AGAIN", "SETNX k 1")), ":1");
    node.restart();
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, &request(2, "AGAIN", "SETNX k 1")), ":1");
}

#[test]
fn late_first_attempt_comes_to_the_end_that_the_retry_came_to() {
    let (mut node, client) = alone(TableAttributes::default());
    node.call(client, "SET taken x\nSET word x");
    assert_eq!(
        node.call(client, &request(1, "AGAIN", "SETNX taken 1")),
        ":0"
    );
    let refused = node.call(client, &request(2, "AGAIN", "INCR word"));
    assert!(refused.starts_with("-ERR value is not"), "{refused}");
    node.call(client, "DEL taken\nSET word 1");
    node.restart();
    let client = node.connect(0, Port::Node);
    assert_eq!(
        node.call(client, &request(1, "FIRST", "SETNX taken 1")),
        ":0"
    );
    assert_eq!(
        node.call(client, &request(2, "FIRST", "INCR word")),
        refused
    );
    assert_eq!(node.call(client, "EXISTS taken\nGET word"), ":0 $1 1");
}

#[test]
fn reply_that_was_not_kept_is_said_to_be_lost_and_others_are_translated() {
    let (mut node, client) = alone(TableAttributes::default());
    let long = "x".repeat(1000);
    node.call(client, &format!("SET k {long}"));
    let reply = node.call(client, &request(1, "FIRST", "GETSET k y"));
    assert_eq!(reply, format!("$1000 {long}"));
    let again = node.call(client, &request(1, "AGAIN", "GETSET k y"));
    assert!(again.starts_with("-UNKNOWNRESULT executed:"), "{again}");
    assert_eq!(
        node.call(client, &request(2, "FIRST", "GETSET new y")),
        "$-1"
    );
    node.call(client, "HELLO 3");
    assert_eq!(node.call(client, &request(2, "AGAIN", "GETSET new y")), "_");
    assert_eq!(node.call(client, "GET k"), "$1 y");
}

#[test]
fn request_is_for_commands_that_write_one_slot() {
    let (mut node, client) = alone(TableAttributes::default());
    for (command, error) in [
        ("GET k", "-ERR REQUEST is for"),
        ("PING", "-ERR REQUEST is for"),
        ("FLUSHALL", "-ERR REQUEST is for"),
        ("REQUEST 1 2 FIRST INCR k", "-ERR REQUEST is for"),
        ("INCR", "-ERR wrong number"),
        ("NOSUCH k", "-ERR unknown command"),
        ("DEL a b", "-CROSSSLOT"),
    ] {
        let reply = node.call(client, &request(1, "FIRST", command));
        assert!(reply.starts_with(error), "{command}: {reply}");
    }
    assert_eq!(
        node.call(client, &request(1, "FIRST", "DEL {t}a {t}b")),
        ":0"
    );
    let far = format!("REQUEST 7 {} FIRST INCR k", NOW + 3_700_000_000);
    assert!(node.call(client, &far).starts_with("-ERR the sequence"));
    assert!(
        node.call(client, "MULTI\nREQUEST NOW")
            .contains("-ERR Command not allowed")
    );
    assert_eq!(
        node.call(client, "DISCARD\nREQUEST NOW"),
        format!("+OK :{NOW}")
    );
}

#[test]
fn window_is_bounded_and_what_it_loses_counts_as_forgotten() {
    use super::*;
    use brickyard_types::PartitionId;
    let (mut node, client) = alone(TableAttributes::default());
    node.call(client, "SET k 1");
    let core = &mut node.bricks[0].core;
    let table = core.tables.index_named("default").unwrap();
    let id = PartitionId(1);
    let requests_known = &mut 0;
    let crate::core::Core { tables, unix, .. } = core;
    let partitions = &mut tables.get_mut(table).unwrap().partitions;
    let partition = partitions.iter_mut().flatten().next().unwrap();
    let of = |sequence| RequestId {
        client: 9,
        sequence,
    };
    let first = NOW;
    for at in 0..PARTITION_MAX as u64 + 10 {
        let noted = (of(first + at), Op(at + 1));
        partition.note_request(requests_known, *unix, noted, Some(b"+OK\r\n"));
    }
    let window = partition.requests.as_ref().unwrap();
    assert_eq!(
        (window.len(), *requests_known),
        (PARTITION_MAX, PARTITION_MAX)
    );
    assert_eq!(window.floor(), first + 9);
    let ok = Some(&b"+OK\r\n"[..]);
    assert!(!window.has(of(first + 9), Op(10), ok) && window.has(of(first + 10), Op(11), ok));
    partition.cut_requests(requests_known, Op(1000));
    assert_eq!(*requests_known, 1000 - 11);
    partition.drop_requests(requests_known);
    assert_eq!((*requests_known, id), (0, id));
}

/// A segment that has both goes: the cleaner moves the id of the one, and not of the other, whichever it comes to last.
#[test]
fn record_that_was_cut_says_nothing_of_the_request_that_was_executed_again() {
    use super::*;
    let (mut node, client) = alone(TableAttributes::default());
    node.call(client, "SET k 1");
    let core = &mut node.bricks[0].core;
    let table = core.tables.index_named("default").unwrap();
    let crate::core::Core { tables, unix, .. } = core;
    let partitions = &mut tables.get_mut(table).unwrap().partitions;
    let partition = partitions.iter_mut().flatten().next().unwrap();
    let id = RequestId {
        client: 9,
        sequence: NOW,
    };
    let (all, op) = (&mut 0, Op(14));
    let (cut, again) = (Some(&b":9\r\n"[..]), Some(&b":8\r\n"[..]));
    partition.note_request(all, *unix, (id, op), cut);
    assert!(partition.requests.as_ref().unwrap().has(id, op, cut));
    partition.cut_requests(all, Op(13));
    partition.note_request(all, *unix, (id, op), again);
    let window = partition.requests.as_ref().unwrap();
    assert!(window.has(id, op, again) && !window.has(id, op, cut));
    assert!(!window.has(id, op, None) && !window.has(id, Op(13), again));
}
