//! Who is closed when all clients' buffers take more than they may, and who is not.

use crate::accepted::{ConnectionId, Port};
use crate::harness::{self, Client, Node};
use brickyard_types::Durability;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

const KIB: usize = 1 << 10;

fn node_with_bound(bricks: u32, bound: usize) -> Node {
    let node = Node::new(bricks, harness::with(Durability::Memory));
    let settings = &node.bricks[0].core.shared.settings;
    settings.maxmemory_clients.store(bound as u64, Relaxed);
    node
}

/// Sends so many bytes of a request that does not end.
fn begin_request(node: &mut Node, client: Client, bytes: usize) {
    let brick = &mut node.bricks[client.brick];
    let input = brick.input(client.id);
    input.extend_from_slice(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n");
    input.resize(bytes, b'v');
    brick.on_received(client.id);
    node.turn();
}

/// Those that a brick closes now.
fn closed(node: &mut Node, brick: usize) -> Vec<ConnectionId> {
    std::iter::from_fn(|| node.bricks[brick].poll_closed()).collect()
}

#[test]
fn one_that_holds_most_is_closed_and_told_of() {
    let mut node = node_with_bound(1, 1024 * KIB);
    let clients: Vec<Client> = (0..3).map(|_| node.connect(0, Port::Node)).collect();
    for (client, kib) in clients.iter().zip([200, 500, 200]) {
        begin_request(&mut node, *client, kib * KIB);
    }
    node.advance(Duration::from_millis(100));
    assert_eq!(closed(&mut node, 0), [], "there is room");
    begin_request(&mut node, clients[2], 400 * KIB);
    node.advance(Duration::from_millis(100));
    assert_eq!(closed(&mut node, 0), [clients[1].id]);
    let other = node.connect(0, Port::Node);
    assert_eq!(node.call(other, "SET k v"), "+OK");
    node.advance(Duration::from_secs(2));
    let info = node.call(other, "INFO ALL");
    assert!(info.contains("evicted_clients:1 "), "{info}");
    assert!(!info.contains("mem_clients_normal:0 "), "{info}");
    assert_eq!(node.reports.len(), 1, "{:?}", node.reports);
    let told = &node.reports[0];
    assert!(told.contains("(127.0.0.1:5000) was closed"), "{told}");
}

#[test]
fn a_brick_closes_nobody_for_what_another_bricks_client_holds() {
    let mut node = node_with_bound(2, 1200 * KIB);
    let (small, large) = (node.connect(0, Port::Node), node.connect(1, Port::Node));
    begin_request(&mut node, small, 500 * KIB);
    begin_request(&mut node, large, 900 * KIB);
    node.advance(Duration::from_millis(100));
    assert_eq!(closed(&mut node, 0), []);
    assert_eq!(closed(&mut node, 1), [large.id]);
}

#[test]
fn replies_that_nobody_reads_and_queues_of_multi_count() {
    let mut node = node_with_bound(1, 1024 * KIB);
    let (reader, queuer) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    let set = format!("SET k {}", "v".repeat(60_000));
    node.call(reader, &set);
    node.send(reader, &"GET k\n".repeat(10));
    node.call(queuer, "MULTI");
    node.advance(Duration::from_millis(100));
    assert_eq!(closed(&mut node, 0), []);
    for _ in 0..9 {
        node.call(queuer, &set);
    }
    node.advance(Duration::from_millis(100));
    assert_eq!(closed(&mut node, 0).len(), 1);
    let stats = &node.bricks[0].core.shared.stats[0].clients;
    assert!(stats.buffer_bytes.value() < 1024 * KIB as u64);
}

#[test]
fn spare_buffers_of_the_idle_are_given_back_first() {
    let mut node = node_with_bound(1, 1024 * KIB);
    let clients: Vec<Client> = (0..29).map(|_| node.connect(0, Port::Node)).collect();
    for client in &clients {
        let brick = &mut node.bricks[0];
        let input = brick.input(client.id);
        input.reserve_exact(32 * KIB);
        input.extend_from_slice(b"*1\r\n$4\r\nPI");
        brick.on_received(client.id);
    }
    node.turn();
    node.advance(Duration::from_secs(2));
    let stats = &node.bricks[0].core.shared.stats[0].clients;
    assert!(stats.buffer_bytes.value() < 300 * KIB as u64);
    assert_eq!(closed(&mut node, 0), []);
    assert_eq!(node.call(clients[7], "NG"), "+PONG");
}

#[test]
fn whoever_asked_not_to_be_closed_is_closed_last() {
    let mut node = node_with_bound(1, 900 * KIB);
    let (asked, other) = (node.connect(0, Port::Node), node.connect(0, Port::Node));
    node.connect(0, Port::Node);
    assert_eq!(node.call(asked, "CLIENT NO-EVICT ON"), "+OK");
    begin_request(&mut node, asked, 600 * KIB);
    begin_request(&mut node, other, 500 * KIB);
    node.advance(Duration::from_millis(100));
    assert_eq!(closed(&mut node, 0), [other.id]);
    begin_request(&mut node, asked, 970 * KIB);
    node.advance(Duration::from_millis(100));
    assert_eq!(
        closed(&mut node, 0),
        [asked.id],
        "the bound holds all the same"
    );
}
