use crate::accepted::Port;
use crate::harness::{Client, Node, with};
use brickyard_types::{Durability, Eviction, Medium, TableAttributes};
use std::time::Duration;

const BOUND: usize = 2 << 20;

fn bounded(medium: Medium, evict: Eviction) -> TableAttributes {
    TableAttributes {
        maxmemory: Some(BOUND as u64),
        medium,
        evict,
        ..with(Durability::Log)
    }
}

fn used(node: &Node) -> usize {
    node.bricks[0]
        .core
        .tables
        .get(0)
        .unwrap()
        .table
        .memory_used()
}

/// SETs of so many keys from number `from` on, all at once; how many were taken.
fn set(node: &mut Node, client: Client, from: usize, count: usize, len: usize) -> usize {
    let value = "x".repeat(len);
    let commands: Vec<String> = (from..from + count)
        .map(|number| format!("SET k{number} {value}"))
        .collect();
    let replies = node.call(client, &commands.join("\n"));
    replies.matches("+OK").count()
}

fn keys(node: &mut Node, client: Client) -> usize {
    let size = node.call(client, "DBSIZE");
    size.trim_start_matches(':').parse().unwrap()
}

#[test]
fn what_is_prepared_counts_before_it_is_applied() {
    let mut node = Node::new(1, bounded(Medium::Ram, Eviction::None));
    let client = node.connect(0, Port::Node);
    node.logs[0].is_held = true;
    // None of them is applied while the others are looked at.
    set(&mut node, client, 0, 400, 10_000);
    node.append(0);
    node.settle();
    let taken = node.receive(client).matches("+OK").count();
    assert!(
        (100..200).contains(&taken),
        "{taken} values of 10 kB in 2 MiB"
    );
    assert!(used(&node) <= BOUND, "{} bytes", used(&node));
    // What was given up or applied does not count twice.
    node.logs[0].is_held = false;
    let deletes: Vec<String> = (0..50).map(|number| format!("DEL k{number}")).collect();
    node.call(client, &deletes.join("\n"));
    assert_eq!(set(&mut node, client, 0, 45, 10_000), 45);
    assert!(used(&node) <= BOUND, "{} bytes", used(&node));
}

#[test]
fn a_cache_stays_within_its_bound_and_near_it_whatever_comes_at_once() {
    let mut node = Node::new(1, bounded(Medium::Ram, Eviction::Lru));
    let client = node.connect(0, Port::Node);
    let mut fewest = usize::MAX;
    for round in 0..60 {
        let len = [300, 1000, 3000][round % 3];
        let count = 300_000 / len;
        assert_eq!(set(&mut node, client, round * 1000, count, len), count);
        assert!(
            used(&node) <= BOUND,
            "{} bytes in round {round}",
            used(&node)
        );
        if round > 20 {
            fewest = fewest.min(used(&node));
        }
        node.advance(Duration::from_millis(100));
    }
    assert!(
        fewest > BOUND * 5 / 8,
        "{fewest} bytes: it removed more than it had to"
    );
}

#[test]
fn removals_on_their_way_count_as_room_until_they_are_applied() {
    let mut node = Node::new(1, bounded(Medium::Ram, Eviction::Lru));
    let client = node.connect(0, Port::Node);
    for round in 0..20 {
        set(&mut node, client, round * 1000, 200, 1000);
    }
    let before = keys(&mut node, client);
    node.logs[0].is_held = true;
    // As much as is written has to go, and no more, though nothing of it goes yet.
    set(&mut node, client, 100_000, 200, 1000);
    node.append(0);
    node.settle();
    node.logs[0].is_held = false;
    assert_eq!(node.receive(client).matches("+OK").count(), 200);
    let after = keys(&mut node, client);
    assert!(
        after.abs_diff(before) < before / 10,
        "{before} keys became {after}"
    );
    assert!(used(&node) <= BOUND, "{} bytes", used(&node));
    let room = &node.bricks[0].core.tables.get(0).unwrap().room;
    assert!(
        room.leaving_bytes() < BOUND / 10,
        "{} bytes are still to leave",
        room.leaving_bytes()
    );
}

#[test]
fn a_table_on_disk_keeps_its_values_there_and_takes_more_keys_than_have_room() {
    let mut node = Node::new(1, bounded(Medium::Disk, Eviction::None));
    let client = node.connect(0, Port::Node);
    for round in 0..20 {
        assert_eq!(set(&mut node, client, round * 1000, 300, 1000), 300);
        assert!(
            used(&node) <= BOUND,
            "{} bytes in round {round}",
            used(&node)
        );
    }
    for round in 20..200 {
        assert_eq!(set(&mut node, client, round * 1000, 300, 10), 300);
    }
    assert!(used(&node) > BOUND, "keys alone are more than the bound");
    assert_eq!(node.call(client, "STRLEN k0\nDEL k0"), ":1000 :1");
}
