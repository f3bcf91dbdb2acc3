use crate::accepted::Port;
use crate::harness::{Client, Node, restarted_on_disk};
use brickyard_types::{Durability, Eviction, Leases, TableAttributes};
use std::time::Duration;

fn attributes() -> TableAttributes {
    TableAttributes {
        leases: Leases::Granted,
        ..TableAttributes::default()
    }
}

/// A node whose first leases, if it gave any before it was started, are over.
fn node_with(bricks: u32, attributes: TableAttributes) -> Node {
    let mut node = Node::new(bricks, attributes);
    // The first record of each view commits, and counts from then.
    node.settle();
    node.advance(Duration::from_millis(100));
    node
}

fn node() -> Node {
    node_with(1, attributes())
}

fn reader(node: &mut Node, brick: usize) -> Client {
    let client = node.connect(brick, Port::Node);
    node.call(client, "HELLO 3");
    client
}

fn heard(node: &mut Node, client: Client) -> String {
    node.settle();
    node.receive(client)
}

fn recalled(key: &str, number: u64) -> String {
    format!(">4 $6 recall $7 default ${} {key} :{number}", key.len())
}

#[test]
fn a_lease_is_given_with_a_value_or_its_absence() {
    let mut node = node();
    let client = reader(&mut node, 0);
    assert_eq!(node.call(client, "LEASE GET k"), "*2 _ :100");
    assert_eq!(node.call(client, "SET s 1"), "+OK");
    assert_eq!(node.call(client, "LEASE GET s"), "*2 $1 1 :100");
    node.call(client, "HSET h f 1");
    assert!(node.call(client, "LEASE GET h").starts_with("-WRONGTYPE"));
    assert!(
        node.call(client, "LEASE RETURN x")
            .contains("not an integer")
    );
    assert!(node.call(client, "LEASE HELP").contains("RETURN <number>"));
}

#[test]
fn only_who_can_be_told_gets_a_lease_and_only_of_the_brick_that_leads() {
    let mut node = node_with(2, attributes());
    let old = node.connect(0, Port::Node);
    let all = [0, 1].map(|at| reader(&mut node, at));
    for at in 0..20 {
        let key = format!("key{at}");
        let get = format!("LEASE GET {key}");
        assert_eq!(node.call(old, &get), "*2 $-1 :0");
        let replies = all.map(|client| node.call(client, &get));
        let granted = replies.iter().filter(|reply| *reply == "*2 _ :100");
        assert_eq!(granted.count(), 1, "{replies:?}");
        assert!(replies.contains(&"*2 _ :0".to_owned()), "{replies:?}");
    }
    node.call(all[0], "MULTI");
    node.call(all[0], "LEASE GET key1");
    assert_eq!(node.call(all[0], "EXEC"), "*1 *2 _ :0");
    let mut plain = Node::new(1, TableAttributes::default());
    let client = reader(&mut plain, 0);
    assert_eq!(plain.call(client, "LEASE GET k"), "*2 _ :0");
}

#[test]
fn a_write_waits_for_leases_whatever_it_is() {
    let mut node = node();
    let client = reader(&mut node, 0);
    let writer = node.connect(0, Port::Node);
    let mut number = 0;
    for (before, key, write, expected) in [
        ("SET k 1", "k", "SET k 2", "+OK"),
        ("SET k 1", "k", "INCR k", ":2"),
        ("SET k 1", "k", "DEL k", ":1"),
        ("SET k 1", "k", "EXPIRE k 100", ":1"),
        ("DEL k", "k", "SET k 1", "+OK"),
        ("SET {k}1 1", "{k}1", "RENAME {k}1 {k}2", "+OK"),
        ("SET {k}1 1", "{k}2", "COPY {k}1 {k}2 REPLACE", ":1"),
        (
            "SET k 1",
            "k",
            "HSET {k}h f 1\nMULTI\nSET k 2\nEXEC",
            ":1 +OK +QUEUED *1 +OK",
        ),
        (
            "SET k 1",
            "k",
            "EVAL \"return redis.call('incr',KEYS[1])\" 1 k",
            ":2",
        ),
        ("SET k 1", "k", "REQUEST 7 1 FIRST SET k 2", "+OK"),
        ("SET k 1", "k", "FLUSHALL", "+OK"),
        ("SET k 1", "k", "FLUSHDB", "+OK"),
    ] {
        node.call(writer, "DEL k {k}h {k}1 {k}2");
        node.call(writer, before);
        let held = node.call(client, &format!("LEASE GET {key}"));
        assert!(held.ends_with(":100"), "{write}: {held}");
        number += 1;
        let answered = node.call(writer, write);
        assert!(
            !answered.ends_with(expected) || answered.is_empty(),
            "{write}: {answered}"
        );
        assert_eq!(heard(&mut node, client), recalled(key, number), "{write}");
        let other = node.call(client, &format!("LEASE GET {key}"));
        assert!(other.ends_with(":0"), "{write}: {other}");
        node.call(client, &format!("LEASE RETURN {number}"));
        let answered = format!("{answered} {}", heard(&mut node, writer));
        assert!(
            answered.trim_end().ends_with(expected),
            "{write}: {answered}"
        );
    }
}

#[test]
fn a_transaction_over_several_slots_waits_for_leases_of_all_it_writes() {
    let mut node = node_with(2, attributes());
    let readers = [0, 1].map(|at| reader(&mut node, at));
    let writer = node.connect(0, Port::Node);
    let keys = ["a", "b", "c"];
    for key in keys {
        for client in readers {
            node.call(client, &format!("LEASE GET {key}"));
        }
    }
    node.send(writer, "MULTI\nSET a 1\nSET b 1\nSET c 1\nEXEC");
    assert!(!heard(&mut node, writer).contains("*3"));
    let mut answer = String::new();
    for _ in 0..20 {
        for client in readers {
            // Their numbers come one after the other.
            if !heard(&mut node, client).is_empty() {
                node.call(client, "LEASE RETURN 100");
            }
        }
        node.advance(Duration::from_millis(4));
        answer += &heard(&mut node, writer);
    }
    assert!(answer.ends_with("*3 +OK +OK +OK"), "{answer}");
}

#[test]
fn a_write_waits_until_leases_have_run_out_where_nobody_gives_them_back() {
    let mut node = node();
    let client = reader(&mut node, 0);
    let writer = node.connect(0, Port::Node);
    node.call(client, "LEASE GET k");
    // Who is gone has given back nothing.
    node.bricks[0].on_error(client.id);
    assert!(node.bricks[0].poll_closed().is_some());
    assert_eq!(node.call(writer, "SET k 1"), "");
    node.advance(Duration::from_millis(99));
    assert_eq!(heard(&mut node, writer), "");
    node.advance(Duration::from_millis(1));
    assert_eq!(heard(&mut node, writer), "+OK");
}

/// Rule `a write waits for leases`: what is prepared was, and what was read before it is nobody's to keep.
#[test]
fn what_is_prepared_is_read_and_kept_when_it_has_committed() {
    let mut node = node();
    let client = reader(&mut node, 0);
    let writer = node.connect(0, Port::Node);
    node.logs[0].is_held = true;
    assert_eq!(node.call(writer, "SET k new"), "");
    assert_eq!(node.call(client, "LEASE GET k"), "");
    node.logs[0].is_held = false;
    assert_eq!(heard(&mut node, client), "*2 $3 new :100");
    assert_eq!(node.call(writer, "SET k newer"), "+OK");
    assert_eq!(heard(&mut node, client), recalled("k", 1));
}

#[test]
fn a_reply_that_waits_is_overtaken_by_the_recall() {
    let mut node = node();
    let client = reader(&mut node, 0);
    let writer = node.connect(0, Port::Node);
    node.logs[0].is_held = true;
    node.call(writer, "SET k new");
    node.call(client, "LEASE GET k");
    node.call(writer, "SET k newer");
    assert_eq!(heard(&mut node, client), recalled("k", 1));
    node.call(client, "LEASE RETURN 1");
    node.logs[0].is_held = false;
    // It was asked for before it was given back, so that its client does not keep it.
    assert_eq!(heard(&mut node, client), "*2 $3 new :100 +OK");
    assert_eq!(heard(&mut node, writer), "+OK +OK");
}

#[test]
fn a_key_is_kept_no_longer_than_it_lives_and_its_removal_waits_for_leases() {
    let mut node = node();
    let client = reader(&mut node, 0);
    let other = node.connect(0, Port::Node);
    node.call(client, "SET k 1 PX 60");
    assert_eq!(node.call(client, "LEASE GET k"), "*2 $1 1 :59");
    // Only the wall clock goes on: by it the key is gone.
    node.unix = brickyard_types::UnixMillis(node.unix.0 + 61);
    assert_eq!(node.call(other, "GET k"), "");
    assert_eq!(heard(&mut node, client), recalled("k", 1));
    node.call(client, "LEASE RETURN 1");
    assert_eq!(heard(&mut node, other), "$-1");
    assert_eq!(node.call(client, "LEASE GET k"), "*2 _ :100");
    // What goes by itself goes later.
    node.call(client, "SET j 1 PX 60");
    node.call(client, "LEASE GET j");
    node.unix = brickyard_types::UnixMillis(node.unix.0 + 61);
    node.advance(Duration::ZERO);
    assert_eq!(heard(&mut node, client), recalled("j", 2));
    assert_eq!(node.call(other, "DBSIZE"), ":1");
    node.call(client, "LEASE RETURN 2");
    // It is looked at again every second.
    node.advance(Duration::from_secs(1));
    assert_eq!(node.call(other, "DBSIZE"), ":0");
}

#[test]
fn what_was_evicted_has_no_lease() {
    let mut node = node_with(
        1,
        TableAttributes {
            maxmemory: Some(256 << 10),
            evict: Eviction::Lru,
            durability: Durability::Memory,
            ..attributes()
        },
    );
    let client = reader(&mut node, 0);
    let writer = node.connect(0, Port::Node);
    let value = "x".repeat(1000);
    let mut stale = 0;
    for key in 0..2_000 {
        node.call(writer, &format!("SET key{key} {value}"));
        let held = node.call(client, &format!("LEASE GET key{key}"));
        if held.ends_with(":100") && node.call(writer, &format!("EXISTS key{key}")) == ":0" {
            let told = heard(&mut node, client);
            stale += usize::from(!told.contains("recall"));
        }
        if key % 50 == 0 {
            node.advance(Duration::from_millis(101));
        }
        node.receive(client);
    }
    assert_eq!(stale, 0);
    assert!(!node.call(writer, "INFO stats").contains("evicted_keys:0 "));
}

#[test]
fn a_value_that_was_read_back_may_be_kept() {
    let (mut node, _) = restarted_on_disk("SET k value");
    let admin = node.connect(0, Port::Node);
    assert_eq!(node.call(admin, "TABLE ALTER default LEASES on"), "+OK");
    let client = reader(&mut node, 0);
    assert_eq!(node.call(client, "LEASE GET k"), "", "it is read");
    node.answer_reads(0);
    assert_eq!(heard(&mut node, client), "*2 $5 value :100");
}

#[test]
fn leases_are_an_attribute_of_the_table() {
    let mut node = Node::new(1, TableAttributes::default());
    let client = reader(&mut node, 0);
    let shown = |node: &mut Node| {
        let all = node.call(client, "TABLE DESCRIBE t");
        let at = all.find("leases").unwrap();
        all[at..].split(' ').nth(2).unwrap().to_owned()
    };
    assert_eq!(node.call(client, "TABLE CREATE t LEASES on"), "+OK");
    assert_eq!(shown(&mut node), "on");
    assert_eq!(node.call(client, "TABLE USE t"), "+OK");
    node.advance(Duration::from_millis(100));
    assert_eq!(node.call(client, "LEASE GET k"), "*2 _ :100");
    assert_eq!(node.call(client, "TABLE ALTER t LEASES off"), "+OK");
    assert_eq!(shown(&mut node), "off");
    assert_eq!(node.call(client, "LEASE GET j"), "*2 _ :0");
    // What was given before counts.
    assert_eq!(node.call(client, "SET k 1"), ">4 $6 recall $1 t $1 k :1");
    assert_eq!(node.call(client, "LEASE RETURN 1"), "+OK +OK");
    let answer = node.call(client, "TABLE ALTER t LEASES maybe");
    assert!(answer.contains("use one of on, off"), "{answer}");
}
