//! The cluster as Redis Cluster clients picture it: nodes with slots.
//!
//! In: a table's map and the catalog's nodes. Out: a [`Topology`], ready to be rendered
//! (`topology_reply`).
//!
//! A brick is a node here, as a Redis process is: one core, one event loop, one port. Redis knows
//! one primary a node and makes a replica follow a whole one; a brick is primary for some slots and
//! backup for others. `CLUSTER SLOTS`, which clients route by, can say that; `CLUSTER NODES` cannot,
//! and calls a brick a `slave` only if it is primary for none.

use crate::{catalog::Catalog, version::ClusterId};
use brickyard_routing::{Hasher, KeyHasher, Member, Replica, SlotRange, TableMap};

/// A node as clients see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyNode {
    /// The brick.
    pub member: Member,
    /// 40 hexadecimal digits, another for each node.
    pub id: String,
    /// Host name or IP address.
    pub host: String,
    /// Its port for clients.
    pub port: u16,
    /// Its port for other nodes.
    pub peer_port: u16,
    /// The port of the brick's node, which serves every key; told to clients that know what it is.
    pub node_port: Option<u16>,
}

/// A run of slots and the nodes that hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyRange {
    /// The slots.
    pub slots: SlotRange,
    /// Index of the primary among the nodes.
    pub primary: usize,
    /// Indexes of the replicas that may serve reads.
    pub replicas: Vec<usize>,
}

/// Nodes and slots at one version of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// What clients compare to tell an older picture from a newer one: the catalog's version.
    pub epoch: u64,
    /// The nodes, in the order in which they are listed.
    pub nodes: Vec<TopologyNode>,
    /// The slots, in order, in runs as wide as can be.
    pub ranges: Vec<TopologyRange>,
    /// The ports speak TLS.
    pub has_tls: bool,
}

impl Topology {
    /// The topology of one table: all bricks of all nodes, by node and number. Their ports speak TLS, or none does.
    ///
    /// A member that is not in the cluster any more is left out of its ranges; a range whose primary is
    /// not is left out as a whole, and clients are told that the cluster is not complete.
    #[must_use]
    pub fn of(catalog: &Catalog, map: &TableMap, has_tls: bool) -> Self {
        let addresses = catalog.addresses();
        let nodes: Vec<TopologyNode> = addresses
            .map(|address| TopologyNode {
                member: address.member,
                id: brick_name(catalog.cluster(), address.member),
                host: address.host.to_owned(),
                port: address.port,
                peer_port: address.peer_port,
                node_port: Some(address.node_port),
            })
            .collect();
        // The nodes are in order.
        let index_of = |replica: Replica| {
            nodes
                .binary_search_by_key(&replica.member, |node| node.member)
                .ok()
        };
        let mut ranges: Vec<TopologyRange> = Vec::new();
        for (slots, group) in map.slot_runs() {
            let Some(primary) = index_of(group.primary) else {
                continue;
            };
            let backups = group.backups.iter().copied();
            ranges.push(TopologyRange {
                slots,
                primary,
                replicas: backups.filter_map(index_of).collect(),
            });
        }
        Self {
            epoch: catalog.version().0,
            nodes,
            ranges,
            has_tls,
        }
    }

    /// The index of a brick among the nodes.
    #[must_use]
    pub fn index_of(&self, member: Member) -> Option<usize> {
        self.nodes.iter().position(|node| node.member == member)
    }

    /// The ranges of which the node with that index is primary.
    pub(crate) fn owned(&self, node: usize) -> impl Iterator<Item = &TopologyRange> {
        self.ranges
            .iter()
            .filter(move |range| range.primary == node)
    }

    /// The nodes that hold a replica of something of `primary`'s, in the order of the nodes.
    pub(crate) fn replicas_of(&self, primary: usize) -> Vec<usize> {
        let holds = |node| {
            self.owned(primary)
                .any(|range| range.replicas.contains(&node))
        };
        (0..self.nodes.len()).filter(|&node| holds(node)).collect()
    }

    /// How many slots have a primary.
    pub(crate) fn slots_assigned(&self) -> u32 {
        self.ranges
            .iter()
            .map(|range| u32::from(range.slots.len()))
            .sum()
    }
}

/// The id under which Redis Cluster clients know a brick: 40 hexadecimal digits, the same at every
/// start, another for each brick of each cluster.
#[must_use]
pub fn brick_name(cluster: ClusterId, brick: Member) -> String {
    let mut key = cluster.0.to_be_bytes().to_vec();
    key.extend_from_slice(&brick.node.0.to_be_bytes());
    key.extend_from_slice(&brick.brick.0.to_be_bytes());
    let word = |seed| KeyHasher::new(Hasher::Slot, seed).key_hash(&key);
    format!("{:016x}{:016x}{:08x}", word(0), word(1), word(2) >> 32)
}

#[cfg(test)]
#[path = "topology_test.rs"]
mod topology_test;
