//! `CLUSTER SLOTS`, `SHARDS`, `NODES` and `INFO` as bytes, in the very shapes of redis 7.0.15.
//!
//! In: a [`Topology`] and which of its nodes answer. Out: each reply in both protocols.
//!
//! They are rendered once for each version of the map and not once for each question: cluster
//! clients ask again at every connection and every error, thousands of them at a time when
//! something fails, which is when there is the least time to answer.

use crate::topology::{Topology, TopologyRole};
use brickyard_types::Slot;
use brickyard_wire::{Protocol, Reply};

/// A reply in RESP2 and RESP3.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rendered {
    resp2: Vec<u8>,
    resp3: Vec<u8>,
}

impl Rendered {
    fn new(render: impl Fn(&mut Reply<'_>)) -> Self {
        let mut rendered = Self::default();
        render(&mut Reply::new(&mut rendered.resp2, Protocol::Resp2));
        render(&mut Reply::new(&mut rendered.resp3, Protocol::Resp3));
        rendered
    }

    fn bytes(&self, protocol: Protocol) -> &[u8] {
        match protocol {
            Protocol::Resp2 => &self.resp2,
            Protocol::Resp3 => &self.resp3,
        }
    }
}

/// What a brick and its node's port answer about the cluster, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyReplies {
    slots: Rendered,
    shards: Rendered,
    nodes: Rendered,
    nodes_at_port: Rendered,
    info: Rendered,
}

impl TopologyReplies {
    /// Renders the answers of the brick with index `brick`, and of its node's port with index `port`: that answers as the brick
    /// where it is not among the nodes, since clients insist on finding `myself` there.
    #[must_use]
    pub fn new(topology: &Topology, brick: usize, port: Option<usize>) -> Self {
        let nodes = |myself: usize| {
            let text: String = (0..topology.nodes.len())
                .map(|index| node_line(topology, index, index == myself) + "\n")
                .collect();
            Rendered::new(|reply| reply.verbatim("txt", text.as_bytes()))
        };
        let info = info_text(topology);
        Self {
            slots: Rendered::new(|reply| slots(reply, topology)),
            shards: Rendered::new(|reply| shards(reply, topology)),
            nodes: nodes(brick),
            nodes_at_port: nodes(port.unwrap_or(brick)),
            info: Rendered::new(|reply| reply.verbatim("txt", info.as_bytes())),
        }
    }

    /// The reply to `CLUSTER SLOTS`.
    #[must_use]
    pub fn slots(&self, protocol: Protocol) -> &[u8] {
        self.slots.bytes(protocol)
    }

    /// The reply to `CLUSTER SHARDS`.
    #[must_use]
    pub fn shards(&self, protocol: Protocol) -> &[u8] {
        self.shards.bytes(protocol)
    }

    /// The reply to `CLUSTER NODES` at the brick's port.
    #[must_use]
    pub fn nodes(&self, protocol: Protocol) -> &[u8] {
        self.nodes.bytes(protocol)
    }

    /// The reply to `CLUSTER NODES` at the node's port.
    #[must_use]
    pub fn nodes_at_port(&self, protocol: Protocol) -> &[u8] {
        self.nodes_at_port.bytes(protocol)
    }

    /// The reply to `CLUSTER INFO`.
    #[must_use]
    pub fn info(&self, protocol: Protocol) -> &[u8] {
        self.info.bytes(protocol)
    }
}

/// Clients of our own learn from the metadata of a node (Redis: its other addresses) where the port is that
/// serves every key, and which brick behind such a port has a copy; others pass over names that they do not know.
const NODE_PORT: &[u8] = b"node-port";
const BRICK_PORT: &[u8] = b"brick-port";

fn slots(reply: &mut Reply<'_>, topology: &Topology) {
    // Told with a node's first range: there may be thousands.
    let mut is_told = vec![false; topology.nodes.len()];
    reply.array(topology.ranges.len());
    for range in &topology.ranges {
        reply.array(3 + range.replicas.len());
        reply.integer(range.slots.begin.into());
        reply.integer(range.slots.last().into());
        let node_port = topology.nodes[range.primary].node_port;
        let is_known = std::mem::replace(&mut is_told[range.primary], true);
        let metadata = node_port.filter(|_| !is_known);
        slots_node(reply, topology, range.primary, (NODE_PORT, metadata));
        for replica in &range.replicas {
            slots_node(
                reply,
                topology,
                replica.node,
                (BRICK_PORT, replica.brick_port),
            );
        }
    }
}

fn slots_node(
    reply: &mut Reply<'_>,
    topology: &Topology,
    index: usize,
    (name, port): (&[u8], Option<u16>),
) {
    let node = &topology.nodes[index];
    reply.array(4);
    reply.bulk(node.host.as_bytes());
    reply.integer(node.port.into());
    reply.bulk(node.id.as_bytes());
    reply.map(usize::from(port.is_some()));
    if let Some(port) = port {
        reply.bulk(name);
        reply.bulk(port.to_string().as_bytes());
    }
}

fn shards(reply: &mut Reply<'_>, topology: &Topology) {
    let owns = |&node: &usize| !topology.owned(node).is_empty();
    let primaries: Vec<usize> = (0..topology.nodes.len()).filter(owns).collect();
    reply.array(primaries.len());
    for primary in primaries {
        reply.map(2);
        reply.bulk(b"slots");
        let owned = topology.owned(primary);
        reply.array(2 * owned.len());
        for slots in owned {
            reply.integer(slots.begin.into());
            reply.integer(slots.last().into());
        }
        reply.bulk(b"nodes");
        let replicas = topology.replicas_of(primary);
        reply.array(1 + replicas.len());
        shard_node(reply, topology, primary, "master");
        for replica in replicas {
            shard_node(reply, topology, replica, "replica");
        }
    }
}

fn shard_node(reply: &mut Reply<'_>, topology: &Topology, index: usize, role: &str) {
    let node = &topology.nodes[index];
    reply.map(7);
    reply.bulk(b"id");
    reply.bulk(node.id.as_bytes());
    reply.bulk(if topology.has_tls {
        b"tls-port"
    } else {
        b"port"
    });
    reply.integer(node.port.into());
    for name in ["ip", "endpoint"] {
        reply.bulk(name.as_bytes());
        reply.bulk(node.host.as_bytes());
    }
    reply.bulk(b"role");
    reply.bulk(role.as_bytes());
    // Replicas have no byte offset in common to compare: in-sync ones hold all that was acknowledged.
    reply.bulk(b"replication-offset");
    reply.integer(0);
    reply.bulk(b"health");
    reply.bulk(b"online");
}

/// A line of `CLUSTER NODES`, without its end.
fn node_line(topology: &Topology, index: usize, is_myself: bool) -> String {
    let node = &topology.nodes[index];
    let flag = if is_myself { "myself," } else { "" };
    let (role, primary) = match node.role {
        TopologyRole::Primary(_) => ("master", None),
        TopologyRole::Replica(_, follows) => ("slave", follows),
    };
    let primary = primary.map_or("-", |primary| &topology.nodes[primary].id);
    // Ping and pong are 0: the picture is drawn once for each map, and bricks do not gossip.
    let mut line = format!(
        "{} {}:{}@{} {flag}{role} {primary} 0 0 {} connected",
        node.id, node.host, node.port, node.peer_port, topology.epoch
    );
    for slots in topology.owned(index) {
        line.push(' ');
        line.push_str(&slots.to_string());
    }
    line
}

/// The lines of `CLUSTER NODES` of those that follow the node with the id `primary`.
///
/// # Errors
/// There is no such node, or it is a replica itself; as Redis says it.
pub fn replica_lines(topology: &Topology, primary: &[u8]) -> Result<Vec<String>, String> {
    let mut ids = topology.nodes.iter().map(|node| node.id.as_bytes());
    let Some(at) = ids.position(|id| id == primary) else {
        let primary = String::from_utf8_lossy(primary);
        return Err(format!("ERR Unknown node {primary}"));
    };
    let follows = |index: usize| match topology.nodes[index].role {
        TopologyRole::Primary(_) => None,
        TopologyRole::Replica(_, follows) => follows,
    };
    if matches!(topology.nodes[at].role, TopologyRole::Replica(..)) {
        return Err("ERR The specified node is not a master".to_owned());
    }
    let replicas = (0..topology.nodes.len()).filter(|index| follows(*index) == Some(at));
    Ok(replicas
        .map(|index| node_line(topology, index, false))
        .collect())
}

fn info_text(topology: &Topology) -> String {
    let assigned = topology.slots_assigned();
    let is_complete = assigned == u32::from(Slot::COUNT);
    let primaries = (0..topology.nodes.len())
        .filter(|&node| !topology.owned(node).is_empty())
        .count();
    let (state, nodes, epoch) = (
        if is_complete { "ok" } else { "fail" },
        topology.nodes.len(),
        topology.epoch,
    );
    let hash = topology.hash.map(|it| format!("cluster_hash:{it}\r\n"));
    let hash = hash.unwrap_or_default();
    format!(
        "cluster_state:{state}\r\n\
         cluster_slots_assigned:{assigned}\r\n\
         cluster_slots_ok:{assigned}\r\n\
         cluster_slots_pfail:0\r\n\
         cluster_slots_fail:0\r\n\
         cluster_known_nodes:{nodes}\r\n\
         cluster_size:{primaries}\r\n\
         cluster_current_epoch:{epoch}\r\n\
         cluster_my_epoch:{epoch}\r\n\
         cluster_stats_messages_sent:0\r\n\
         cluster_stats_messages_received:0\r\n\
         total_cluster_links_buffer_limit_exceeded:0\r\n\
         {hash}"
    )
}

#[cfg(test)]
#[path = "topology_reply_test.rs"]
mod topology_reply_test;
