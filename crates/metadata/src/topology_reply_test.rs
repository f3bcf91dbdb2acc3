//! The shapes are compared with what redis-server 7.0.15 sent (`testdata/redis-7.0.15`): `two` of two
//! primaries, the first with a replica; `gaps` of one node without slots 6 and 8. In those files
//! the times of ping and pong, the epochs and the replication offsets are set to 0, and the node's
//! health to online.

use super::*;
use crate::TopologyRange;
use crate::topology::{TopologyNode, TopologyReplica};
use brickyard_routing::{Member, NodeId, SlotRange};
use brickyard_types::HashFunction;

fn node(id: &str, host: &str, port: u16) -> TopologyNode {
    TopologyNode {
        role: TopologyRole::Primary(Member::default()),
        id: id.to_owned(),
        host: host.to_owned(),
        port,
        peer_port: port + 10_000,
        node_port: None,
    }
}

fn range(begin: u16, end: u16, primary: usize, replicas: &[usize]) -> TopologyRange {
    TopologyRange {
        slots: SlotRange { begin, end },
        primary,
        replicas: replicas
            .iter()
            .map(|node| TopologyReplica {
                node: *node,
                brick_port: None,
            })
            .collect(),
    }
}

fn two() -> Topology {
    let replica = TopologyNode {
        role: TopologyRole::Replica(NodeId(0), Some(1)),
        ..node(REPLICA, "127.0.0.1", 17_723)
    };
    Topology {
        epoch: 0,
        nodes: vec![
            replica,
            node(FIRST, "127.0.0.1", 17_721),
            node(SECOND, "127.0.0.1", 17_722),
        ],
        ranges: vec![range(0, 8_192, 1, &[0]), range(8_192, 16_384, 2, &[])],
        has_tls: false,
        hash: None,
    }
}

const REPLICA: &str = "4d444f1ba5e8d980190dad8cc72ecf9748d0faf6";
const FIRST: &str = "e05b00912bae1e65ff1d1b4e153d7f6eb67389fb";
const SECOND: &str = "e6130915af4da447ab36259645155842ea03808f";
const ALONE: &str = "1c0f10d6cba35ac2bd473ddbfa219f5fb5a23915";

fn gaps() -> Topology {
    Topology {
        epoch: 0,
        nodes: vec![node(ALONE, "", 17_724)],
        ranges: vec![
            range(0, 6, 0, &[]),
            range(7, 8, 0, &[]),
            range(9, 16_384, 0, &[]),
        ],
        has_tls: false,
        hash: None,
    }
}

macro_rules! redis {
    ($name:literal) => {
        include_bytes!(concat!("../testdata/redis-7.0.15/", $name)).as_slice()
    };
}

#[track_caller]
fn assert_same(ours: &[u8], redis: &[u8]) {
    // As text, so that a difference can be read.
    assert_eq!(
        String::from_utf8_lossy(ours),
        String::from_utf8_lossy(redis)
    );
}

#[test]
fn slots_are_as_from_redis() {
    let replies = TopologyReplies::new(&two(), 1, None);
    assert_same(replies.slots(Protocol::Resp2), redis!("two_slots_resp2"));
    assert_same(replies.slots(Protocol::Resp3), redis!("two_slots_resp3"));
    let replies = TopologyReplies::new(&gaps(), 0, None);
    assert_same(replies.slots(Protocol::Resp2), redis!("gaps_slots_resp2"));
    assert_same(replies.slots(Protocol::Resp3), redis!("gaps_slots_resp3"));
}

#[test]
fn node_port_is_told_once_a_node_as_metadata() {
    let mut topology = two();
    topology.ranges.insert(0, range(0, 1, 1, &[]));
    topology.nodes[1].node_port = Some(6379);
    let replies = TopologyReplies::new(&topology, 1, None);
    let text = |protocol| String::from_utf8_lossy(replies.slots(protocol)).into_owned();
    for (protocol, metadata) in [(Protocol::Resp2, "*2"), (Protocol::Resp3, "%1")] {
        let wanted = format!("{metadata}\r\n$9\r\nnode-port\r\n$4\r\n6379\r\n");
        let text = text(protocol);
        assert_eq!(text.matches(&wanted).count(), 1, "{text}");
        assert_eq!(text.matches("node-port").count(), 1, "{text}");
    }
}

#[test]
fn shards_are_as_from_redis() {
    let replies = TopologyReplies::new(&two(), 1, None);
    assert_same(replies.shards(Protocol::Resp2), redis!("two_shards_resp2"));
    assert_same(replies.shards(Protocol::Resp3), redis!("two_shards_resp3"));
    let replies = TopologyReplies::new(&gaps(), 0, None);
    assert_same(replies.shards(Protocol::Resp2), redis!("gaps_shards_resp2"));
    assert_same(replies.shards(Protocol::Resp3), redis!("gaps_shards_resp3"));
}

#[test]
fn nodes_are_as_from_redis() {
    let replies = TopologyReplies::new(&two(), 1, None);
    assert_same(replies.nodes(Protocol::Resp2), redis!("two_nodes_resp2"));
    assert_same(replies.nodes(Protocol::Resp3), redis!("two_nodes_resp3"));
    let replies = TopologyReplies::new(&gaps(), 0, None);
    assert_same(replies.nodes(Protocol::Resp2), redis!("gaps_nodes_resp2"));
    assert_same(replies.nodes(Protocol::Resp3), redis!("gaps_nodes_resp3"));
}

#[test]
fn info_is_as_from_redis() {
    let replies = TopologyReplies::new(&gaps(), 0, None);
    assert_same(replies.info(Protocol::Resp2), redis!("gaps_info_resp2"));
    assert_same(replies.info(Protocol::Resp3), redis!("gaps_info_resp3"));
    let replies = TopologyReplies::new(&two(), 1, None);
    let info = String::from_utf8_lossy(replies.info(Protocol::Resp2)).into_owned();
    assert!(info.contains("cluster_state:ok\r\n"), "{info}");
    assert!(
        info.contains("cluster_known_nodes:3\r\ncluster_size:2\r\n"),
        "{info}"
    );
    let keyed = Topology {
        hash: Some(HashFunction::Keyed),
        ..two()
    };
    let replies = TopologyReplies::new(&keyed, 1, None);
    let with_hash = String::from_utf8_lossy(replies.info(Protocol::Resp2)).into_owned();
    assert!(
        with_hash.ends_with("cluster_hash:keyed\r\n\r\n"),
        "{with_hash}"
    );
}

#[test]
fn myself_is_who_answers() {
    let topology = two();
    for (index, node) in topology.nodes.iter().enumerate() {
        let replies = TopologyReplies::new(&topology, index, None);
        let text = String::from_utf8_lossy(replies.nodes(Protocol::Resp2)).into_owned();
        let line = text.lines().find(|line| line.contains("myself,"));
        assert!(line.unwrap().starts_with(&node.id), "{text}");
    }
}

#[test]
fn port_of_the_node_answers_as_itself_if_it_is_there() {
    let topology = two();
    let text = |port| {
        let replies = TopologyReplies::new(&topology, 1, port);
        String::from_utf8_lossy(replies.nodes_at_port(Protocol::Resp2)).into_owned()
    };
    assert!(text(None).contains(&format!("{FIRST} 127.0.0.1:17721@27721 myself,master")));
    assert!(text(Some(0)).contains(&format!(
        "{REPLICA} 127.0.0.1:17723@27723 myself,slave {FIRST}"
    )));
}

#[test]
fn port_of_a_brick_with_a_copy_is_told_with_each_range() {
    let mut topology = two();
    topology.ranges[0].replicas[0].brick_port = Some(6380);
    topology.ranges[1].replicas = vec![TopologyReplica {
        node: 0,
        brick_port: Some(6381),
    }];
    let replies = TopologyReplies::new(&topology, 1, None);
    let text = String::from_utf8_lossy(replies.slots(Protocol::Resp2)).into_owned();
    for port in ["6380", "6381"] {
        let wanted = format!("{REPLICA}\r\n*2\r\n$10\r\nbrick-port\r\n$4\r\n{port}\r\n");
        assert_eq!(text.matches(&wanted).count(), 1, "{text}");
    }
}

#[test]
fn slots_of_a_primary_are_one_range_whoever_has_copies() {
    let mut topology = two();
    topology.ranges = vec![
        range(0, 10, 1, &[0]),
        range(10, 8_192, 1, &[]),
        range(8_192, 16_384, 2, &[]),
    ];
    let replies = TopologyReplies::new(&topology, 1, None);
    assert_same(replies.nodes(Protocol::Resp2), redis!("two_nodes_resp2"));
    assert_same(replies.shards(Protocol::Resp2), redis!("two_shards_resp2"));
}

#[test]
fn replicas_are_those_that_follow() {
    let topology = two();
    let lines = |id: &str| replica_lines(&topology, id.as_bytes());
    let line = format!("{REPLICA} 127.0.0.1:17723@27723 slave {FIRST} 0 0 0 connected");
    assert_eq!(lines(FIRST), Ok(vec![line]));
    assert_eq!(lines(SECOND), Ok(Vec::new()));
    let refused = |text: &str| Err(format!("ERR {text}"));
    assert_eq!(
        lines(REPLICA),
        refused("The specified node is not a master")
    );
    assert_eq!(lines("nobody"), refused("Unknown node nobody"));
}

#[test]
fn shards_say_which_ports_speak_tls() {
    let plain = TopologyReplies::new(&two(), 1, None);
    let secure = Topology {
        has_tls: true,
        hash: None,
        ..two()
    };
    let secure = TopologyReplies::new(&secure, 1, None);
    let text = |replies: &TopologyReplies| {
        String::from_utf8_lossy(replies.shards(Protocol::Resp2)).into_owned()
    };
    let expected = text(&plain).replace("$4\r\nport\r\n", "$8\r\ntls-port\r\n");
    assert_ne!(expected, text(&plain));
    assert_eq!(text(&secure), expected);
    // The other replies name ports without saying what they speak.
    let protocol = Protocol::Resp2;
    assert_eq!(secure.slots(protocol), plain.slots(protocol));
    assert_eq!(secure.nodes(protocol), plain.nodes(protocol));
}
