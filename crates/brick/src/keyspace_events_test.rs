use super::*;
use crate::accepted::Port;
use crate::harness::{Client, Node};
use brickyard_types::TableAttributes;
use std::time::Duration;

#[test]
fn classes_read_as_they_are_shown_and_others_are_refused() {
    for text in ["", "K", "AKE", "g$xE", "lshzKE", "xeK"] {
        let classes = EventClasses::parse(text).unwrap();
        assert_eq!(classes.text(), text);
        assert_eq!(EventClasses::of_bits(classes.bits()), classes);
    }
    let all = EventClasses::parse("g$lshzxetdKE").unwrap();
    assert_eq!(all.text(), "AKE");
    for text in ["q", "KEm", "n", "K E"] {
        assert!(EventClasses::parse(text).is_err(), "{text}");
    }
    assert!(!EventClasses::parse("A").unwrap().tell_anything());
}

/// A client that hears all events of a table, and one that makes them happen.
fn subscribed(bricks: u32) -> (Node, Client, Client) {
    let mut node = Node::new(bricks, TableAttributes::default());
    let [subscriber, client] = [0, bricks as usize - 1].map(|at| node.connect(at, Port::Node));
    assert_eq!(
        node.call(client, "CONFIG SET notify-keyspace-events KEA"),
        "+OK"
    );
    assert_eq!(
        node.call(client, "CONFIG GET notify-keyspace-events"),
        "*2 $22 notify-keyspace-events $3 AKE"
    );
    node.call(subscriber, "PSUBSCRIBE __keyevent@*");
    (node, subscriber, client)
}

/// The events that were heard, with their keys.
fn heard(node: &mut Node, subscriber: Client) -> Vec<String> {
    node.settle();
    let text = node.receive(subscriber);
    let messages = text.split("*4 $8 pmessage").skip(1);
    let told = messages.map(|message| {
        let words: Vec<&str> = message.split_whitespace().collect();
        let event = words[3].rsplit(':').next().unwrap_or_default();
        format!("{event} {}", words[5])
    });
    told.collect()
}

#[test]
fn what_did_not_happen_is_not_told() {
    let (mut node, subscriber, client) = subscribed(2);
    for command in [
        "GET none",
        "DEL none",
        "SET k v XX",
        "EXPIRE none 5",
        "PERSIST none",
        "INCRBY none x",
    ] {
        node.call(client, command);
    }
    assert_eq!(heard(&mut node, subscriber), [""; 0]);
    node.call(client, "MULTI\nSET {t}k v\nINCR {t}k\nSET {t}n 1\nEXEC");
    assert_eq!(heard(&mut node, subscriber), ["set {t}k", "set {t}n"]);
    node.call(client, "WATCH {t}n");
    node.call(client, "SET {t}n 2");
    node.call(client, "MULTI\nSET {t}n 3\nEXEC");
    assert_eq!(heard(&mut node, subscriber), ["set {t}n"]);
}

#[test]
fn keys_whose_time_has_come_are_told_when_they_go() {
    let (mut node, subscriber, client) = subscribed(1);
    node.call(client, "SET a 1 PX 50\nSET b 1 PX 50");
    assert_eq!(
        heard(&mut node, subscriber),
        ["set a", "expire a", "set b", "expire b"]
    );
    node.advance(Duration::from_millis(200));
    let mut told = heard(&mut node, subscriber);
    told.sort_unstable();
    assert_eq!(told, ["expired a", "expired b"]);
    // One that is found expired before it is removed.
    node.call(client, "SET c 1 PX 50");
    heard(&mut node, subscriber);
    node.unix.0 += 100;
    node.call(client, "GET c");
    assert_eq!(heard(&mut node, subscriber), ["expired c"]);
}

#[test]
fn each_write_of_a_transaction_and_of_a_script_is_told() {
    let (mut node, subscriber, client) = subscribed(2);
    node.call(client, "MULTI\nSET {t}k 1\nINCR {t}k\nEXPIRE {t}k 9\nEXEC");
    assert_eq!(
        heard(&mut node, subscriber),
        ["set {t}k", "incrby {t}k", "expire {t}k"]
    );
    node.call(
        client,
        "EVAL \"redis.call('incr', KEYS[1]) return redis.call('del', KEYS[1])\" 1 {t}k",
    );
    assert_eq!(heard(&mut node, subscriber), ["incrby {t}k", "del {t}k"]);
    node.call(client, "RENAME {t}k {t}l");
    assert_eq!(heard(&mut node, subscriber), [""; 0], "it is not there");
}

#[test]
fn a_table_without_a_number_is_named() {
    let (mut node, subscriber, client) = subscribed(1);
    node.call(client, "TABLE CREATE orders");
    node.call(client, "TABLE USE orders");
    node.call(subscriber, "PSUBSCRIBE __keyspace@orders__:*");
    node.call(client, "SET k v");
    node.settle();
    let text = node.receive(subscriber);
    assert!(text.contains("__keyspace@orders__:k $3 set"), "{text}");
    assert!(text.contains("__keyevent@orders__:set $1 k"), "{text}");
}
