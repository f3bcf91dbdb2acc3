use crate::accepted::Port;
use crate::harness::{Client, Node};
use brickyard_types::TableAttributes;

/// A node that keeps every command in its slow log, and a client of it.
fn node_that_finds_everything_slow() -> (Node, Client) {
    let mut node = Node::new(1, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    assert_eq!(
        node.call(client, "CONFIG SET slowlog-log-slower-than 0"),
        "+OK"
    );
    (node, client)
}

#[test]
fn slowlog_shows_as_many_entries_as_it_is_asked_for() {
    let (mut node, client) = node_that_finds_everything_slow();
    for _ in 0..12 {
        node.call(client, "GET k");
    }
    let mut shown = |request: &str| node.call(client, request).matches("$3 GET $1 k").count();
    assert_eq!(shown("SLOWLOG GET 12"), 12);
    assert_eq!(shown("SLOWLOG GET -1"), 12);
    assert!(shown("SLOWLOG GET") < 12);
    assert_eq!(shown("SLOWLOG GET 0"), 0);
}

#[test]
fn slowlog_keeps_no_password() {
    let (mut node, client) = node_that_finds_everything_slow();
    for request in [
        "AUTH secret",
        "auth ann secret",
        "AUTH ann secret more",
        "HELLO 3 AUTH ann secret SETNAME me",
        "HELLO 2 SETNAME me auth ann secret",
        "HELLO 9 AUTH secret",
    ] {
        node.call(client, request);
    }
    let entries = node.call(client, "SLOWLOG GET -1");
    assert!(!entries.contains("secret"), "{entries}");
    assert_eq!(entries.matches("$4 AUTH $10 (redacted)").count(), 4);
    assert!(
        entries.contains("$5 HELLO $1 2 $7 SETNAME $2 me $4 auth $10 (redacted) $10 (redacted)")
    );
}

#[test]
fn entry_of_the_slowlog_has_six_parts() {
    let (mut node, client) = node_that_finds_everything_slow();
    node.call(client, "GET k");
    let shown = node.call(client, "SLOWLOG GET 1");
    assert!(shown.starts_with("*1 *6 :"), "{shown}");
}

#[test]
fn help_is_given_and_links_are_none() {
    let mut node = Node::new(1, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    for command in ["OBJECT HELP", "MEMORY HELP", "SLOWLOG HELP", "LATENCY HELP"] {
        let help = node.call(client, command);
        assert!(help.starts_with('*') && help.contains("HELP"), "{help}");
    }
    assert_eq!(node.call(client, "CLUSTER LINKS"), "*0");
}
