use crate::accepted::{Accepted, Port};
use crate::harness::Node;
use brickyard_types::TableAttributes;
use std::sync::atomic::Ordering;

#[test]
fn connections_of_a_user_are_killed_and_an_unknown_one_is_named() {
    let mut node = Node::new(2, TableAttributes::default());
    let (client, other) = (node.connect(0, Port::Node), node.connect(1, Port::Node));
    assert_eq!(
        node.call(client, "CLIENT KILL USER nobody"),
        "-ERR No such user 'nobody'"
    );
    assert_eq!(node.bricks[1].poll_closed(), None);
    assert_eq!(node.call(client, "CLIENT KILL USER default"), ":1");
    assert_eq!(node.bricks[1].poll_closed(), Some(other.id));
}

#[test]
fn connection_too_many_is_refused_and_counts_for_nothing() {
    let mut node = Node::new(1, TableAttributes::default());
    let client = node.connect(0, Port::Node);
    assert_eq!(node.call(client, "CONFIG SET maxclients 2"), "+OK");
    node.connect(0, Port::Node);
    for _ in 0..3 {
        let accepted = Accepted {
            port: Port::Node,
            peer: "127.0.0.1:5000".to_owned(),
            local: "127.0.0.1:6379".to_owned(),
        };
        assert!(node.bricks[0].accept(accepted).is_err());
    }
    let counters = &node.bricks[0].core.shared.counters;
    assert_eq!(counters.clients.load(Ordering::Relaxed), 2);
}

#[test]
fn list_of_clients_says_who_only_reads() {
    let mut node = Node::new(1, TableAttributes::default());
    let client = node.connect(0, Port::Brick);
    let flags = |listed: &str, wanted: &str| listed.contains(&format!(" flags={wanted} "));
    let listed = node.call(client, "CLIENT LIST");
    assert!(flags(&listed, "N"), "{listed}");
    assert_eq!(node.call(client, "READONLY"), "+OK");
    let listed = node.call(client, "CLIENT LIST");
    assert!(flags(&listed, "r"), "{listed}");
}
