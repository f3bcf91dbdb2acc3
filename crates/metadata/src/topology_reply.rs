//! `CLUSTER SLOTS`, `SHARDS`, `NODES` and `INFO` as bytes, in the very shapes of redis 7.0.15.
//!
//! In: a [`Topology`] and which of its nodes answers. Out: each reply in both protocols.
//!
//! They are rendered once for each version of the map and not once for each question: cluster
//! clients ask again at every connection and every error, thousands of them at a time when
//! something fails, which is when there is the least time to answer.

use crate::topology::Topology;
use brickyard_types::Slot;
use brickyard_wire::{Protocol, Reply};
use std::fmt::Write;

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

/// What one node answers about the cluster, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyReplies {
    slots: Rendered,
    shards: Rendered,
    nodes: Rendered,
    info: Rendered,
}

impl TopologyReplies {
    /// Renders the answers of the node with index `myself`.
    ///
    /// A node port, which is no node of the cluster, answers as one of its bricks: clients insist
    /// on finding `myself` among the nodes.
    #[must_use]
    pub fn new(topology: &Topology, myself: usize) -> Self {
        let nodes = nodes_text(topology, myself);
        let info = info_text(topology, myself);
        Self {
            slots: Rendered::new(|reply| slots(reply, topology)),
            shards: Rendered::new(|reply| shards(reply, topology)),
            nodes: Rendered::new(|reply| reply.verbatim("txt", nodes.as_bytes())),
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

    /// The reply to `CLUSTER NODES`.
    #[must_use]
    pub fn nodes(&self, protocol: Protocol) -> &[u8] {
        self.nodes.bytes(protocol)
    }

    /// The reply to `CLUSTER INFO`.
    #[must_use]
    pub fn info(&self, protocol: Protocol) -> &[u8] {
        self.info.bytes(protocol)
    }
}

/// Clients of our own learn from the metadata of a node (Redis: its other addresses) where the port is that
/// serves every key; others pass over names that they do not know.
const NODE_PORT: &[u8] = b"node-port";

fn slots(reply: &mut Reply<'_>, topology: &Topology) {
    // Told with a node's first range: there may be thousands.
    let mut is_told = vec![false; topology.nodes.len()];
    reply.array(topology.ranges.len());
    for range in &topology.ranges {
        reply.array(3 + range.replicas.len());
        reply.integer(range.slots.begin.into());
        reply.integer(range.slots.last().into());
        for &index in std::iter::once(&range.primary).chain(&range.replicas) {
            let node = &topology.nodes[index];
            reply.array(4);
            reply.bulk(node.host.as_bytes());
            reply.integer(node.port.into());
            reply.bulk(node.id.as_bytes());
            let is_known = std::mem::replace(&mut is_told[index], true);
            match node.node_port.filter(|_| !is_known) {
                Some(port) => {
                    reply.map(1);
                    reply.bulk(NODE_PORT);
                    reply.bulk(port.to_string().as_bytes());
                }
                None => reply.map(0),
            }
        }
    }
}

fn shards(reply: &mut Reply<'_>, topology: &Topology) {
    let owns = |&node: &usize| topology.owned(node).next().is_some();
    let primaries: Vec<usize> = (0..topology.nodes.len()).filter(owns).collect();
    reply.array(primaries.len());
    for primary in primaries {
        reply.map(2);
        reply.bulk(b"slots");
        reply.array(2 * topology.owned(primary).count());
        for range in topology.owned(primary) {
            reply.integer(range.slots.begin.into());
            reply.integer(range.slots.last().into());
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

fn nodes_text(topology: &Topology, myself: usize) -> String {
    let mut text = String::new();
    for (index, node) in topology.nodes.iter().enumerate() {
        let follows = (0..topology.nodes.len())
            .find(|&primary| topology.replicas_of(primary).contains(&index))
            .filter(|_| topology.owned(index).next().is_none());
        let flag = if index == myself { "myself," } else { "" };
        let role = if follows.is_some() { "slave" } else { "master" };
        let primary = follows.map_or("-", |primary| &topology.nodes[primary].id);
        // Ping and pong are 0: the picture is drawn once for each map, and bricks do not gossip.
        let line = write!(
            text,
            "{} {}:{}@{} {flag}{role} {primary} 0 0 {} connected",
            node.id, node.host, node.port, node.peer_port, topology.epoch
        );
        let ranges = topology
            .owned(index)
            .try_for_each(|range| write!(text, " {}", range.slots));
        debug_assert!(line.and(ranges).is_ok(), "writing to a string cannot fail");
        text.push('\n');
    }
    text
}

fn info_text(topology: &Topology, myself: usize) -> String {
    let assigned = topology.slots_assigned();
    let is_complete = assigned == u32::from(Slot::COUNT);
    let primaries = (0..topology.nodes.len())
        .filter(|&node| topology.owned(node).next().is_some())
        .count();
    debug_assert!(
        myself < topology.nodes.len(),
        "a node that answers is listed"
    );
    let (state, nodes, epoch) = (
        if is_complete { "ok" } else { "fail" },
        topology.nodes.len(),
        topology.epoch,
    );
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
         total_cluster_links_buffer_limit_exceeded:0\r\n"
    )
}

#[cfg(test)]
#[path = "topology_reply_test.rs"]
mod topology_reply_test;
