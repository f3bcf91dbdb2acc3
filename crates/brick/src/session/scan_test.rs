use crate::accepted::Port;
use crate::harness::{Client, Node, with};
use brickyard_types::Durability;
use std::collections::BTreeMap;

/// A node of three bricks with so many keys, and a client of its node port.
fn node_with(keys: usize) -> (Node, Client) {
    let mut node = Node::new(3, with(Durability::Log));
    let client = node.connect(0, Port::Node);
    for number in 0..keys {
        assert_eq!(node.call(client, &format!("SET key{number} v")), "+OK");
    }
    (node, client)
}

/// The cursor and the keys of a page.
fn page(node: &mut Node, client: Client, request: &str) -> (String, Vec<String>) {
    let reply = node.call(client, request);
    let mut words = reply
        .split(' ')
        .filter(|word| !word.starts_with(['*', '$']));
    let cursor = words.next().unwrap_or_default().to_owned();
    (cursor, words.map(str::to_owned).collect())
}

/// How often each key was returned, and how many calls it took.
fn scanned(node: &mut Node, client: Client, options: &str) -> (BTreeMap<String, usize>, usize) {
    let (mut seen, mut calls) = (BTreeMap::new(), 0);
    let mut cursor = "0".to_owned();
    loop {
        let (next, keys) = page(node, client, &format!("SCAN {cursor} {options}"));
        calls += 1;
        for key in keys {
            *seen.entry(key).or_insert(0) += 1;
        }
        if next == "0" {
            return (seen, calls);
        }
        assert_ne!(next, cursor, "it stands still after {calls} calls");
        cursor = next;
    }
}

#[test]
fn table_of_few_keys_is_one_page() {
    for keys in [0, 1, 5] {
        let (mut node, client) = node_with(keys);
        let (seen, calls) = scanned(&mut node, client, "");
        assert_eq!((seen.len(), calls), (keys, 1));
    }
}

#[test]
fn every_key_is_returned_once_in_about_as_many_pages_as_its_count_makes() {
    for (keys, count) in [(300, 20), (300, 1), (300, 7), (1_000, 100), (1_000, 10_000)] {
        let (mut node, client) = node_with(keys);
        let (seen, calls) = scanned(&mut node, client, &format!("COUNT {count}"));
        assert_eq!(seen.len(), keys, "of {keys} with COUNT {count}");
        assert!(seen.values().all(|times| *times == 1), "{seen:?}");
        let pages = keys.div_ceil(count);
        assert!(calls <= 3 * pages, "{calls} calls for {pages} pages");
    }
}

#[test]
fn page_of_a_brick_is_its_own_keys_alone() {
    let (mut node, _) = node_with(100);
    let mut all = 0;
    for brick in 0..3 {
        let client = node.connect(brick, Port::Brick);
        let (seen, calls) = scanned(&mut node, client, "COUNT 1000");
        assert_eq!(calls, 1, "at brick {brick}");
        all += seen.len();
    }
    assert_eq!(all, 100);
}

#[test]
fn client_cannot_say_what_bricks_say_to_one_another() {
    let (mut node, client) = node_with(0);
    assert_eq!(node.call(client, "SCAN 0 UPTO 0"), "-ERR syntax error");
}
