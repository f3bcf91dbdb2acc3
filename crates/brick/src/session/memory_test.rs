use crate::accepted::Port;
use crate::harness::{Node, with};
use brickyard_types::Durability;
use std::time::Duration;

#[test]
fn tools_are_told_who_takes_memory() {
    let mut node = Node::new(2, with(Durability::Log));
    let client = node.connect(0, Port::Node);
    node.call(client, "MSET a 1 b 2 c 3");
    // What other bricks have is published now and then.
    node.advance(Duration::from_secs(1));
    let stats = node.call(client, "MEMORY STATS");
    assert!(stats.starts_with("*32 $14 peak.allocated :"), "{stats}");
    assert!(stats.contains("$10 keys.count :3 "), "{stats}");
    assert!(stats.contains("$18 dataset.percentage $"), "{stats}");
    assert!(node.call(client, "MEMORY DOCTOR").contains("short nowhere"));
    assert_eq!(node.call(client, "MEMORY PURGE"), "+OK");
    assert!(
        node.call(client, "MEMORY MALLOC-STATS")
            .contains("not supported")
    );
    assert_eq!(node.call(client, "ROLE"), "*3 $6 master :0 *0");
    let ids = node.call(client, "CLUSTER MYSHARDID");
    assert_eq!(ids, node.call(client, "CLUSTER MYID"));
}

#[test]
fn no_spikes_are_kept() {
    let mut node = Node::new(1, with(Durability::Log));
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "LATENCY HISTORY command"), "*0");
    assert_eq!(
        node.call(client, "LATENCY GRAPH command"),
        "-ERR No samples available for event 'command'"
    );
    assert!(
        node.call(client, "LATENCY DOCTOR")
            .contains("LATENCY HISTOGRAM")
    );
}
