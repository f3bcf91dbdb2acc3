//! The cluster as Redis Cluster clients picture it: nodes with slots.
//!
//! In: a table's map and the catalog's nodes. Out: a [`Topology`], ready to be rendered
//! (`topology_reply`).
//!
//! A brick is a node here, as a Redis process is: one core, one event loop, one port. Redis knows one role a node, and so do its
//! clients: an address that is a primary of some slots and a replica of others is taken for one of the two, and half
//! of the keys are not found. So a brick stands here as a primary only, and its backups are read at the port of their node, which
//! serves every key: that stands here as a replica, of whatever its bricks have copies of.
//!
//! In Redis a replica has one primary. `CLUSTER SLOTS`, which clients route by, can say more; in `CLUSTER NODES` a node's port
//! follows the brick of which it has most.

use crate::{catalog::Catalog, node::Address, version::ClusterId};
use brickyard_routing::{Hasher, KeyHasher, Member, NodeId, Replica, SlotRange, TableMap};
use brickyard_types::HashFunction;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What a node of the picture is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyRole {
    /// A brick, with the slots that it is primary of.
    Primary(Member),
    /// The port of a node, with what its bricks have copies of. Where only one primary can be named that it follows, it is the
    /// one with that index.
    Replica(NodeId, Option<usize>),
}

/// A node as clients see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyNode {
    /// What it is.
    pub role: TopologyRole,
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

/// A node's port that serves reads of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopologyReplica {
    /// Index among the nodes.
    pub node: usize,
    /// The port of the brick behind it that has the copy; told to clients that know what it is.
    pub brick_port: Option<u16>,
}

/// A run of slots and the nodes that hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyRange {
    /// The slots.
    pub slots: SlotRange,
    /// Index of the primary among the nodes.
    pub primary: usize,
    /// The replicas that may serve reads, in the order of the nodes.
    pub replicas: Vec<TopologyReplica>,
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
    /// The hash function of the table, if it is none that clients know: then any of the bricks does for any key.
    pub hash: Option<HashFunction>,
}

impl Topology {
    /// The topology of one table: all bricks of all nodes, by node and number, and behind them the ports of nodes that have
    /// backups. Their ports speak TLS, or none does.
    ///
    /// A member that is not in the cluster any more is left out of its ranges; a range whose primary is
    /// not is left out as a whole, and clients are told that the cluster is not complete.
    #[must_use]
    pub fn of(catalog: &Catalog, map: &TableMap, has_tls: bool) -> Self {
        let addresses: Vec<Address<'_>> = catalog.addresses().collect();
        // They are in order.
        let index_of = |replica: &Replica| {
            addresses
                .binary_search_by_key(&replica.member, |address| address.member)
                .ok()
        };
        let hasher = map.hasher().hasher();
        let runs = map.slot_runs();
        let backups = runs.iter().flat_map(|(_, group)| &group.backups);
        let nodes: BTreeMap<NodeId, Address<'_>> = backups
            .filter_map(|it| Some((it.member.node, addresses[index_of(it)?])))
            .collect();
        let ports: Vec<NodeId> = nodes.keys().copied().collect();
        let replica_of = |replica: &Replica| {
            let port = ports.binary_search(&replica.member.node).ok()?;
            Some(TopologyReplica {
                node: addresses.len() + port,
                brick_port: Some(addresses[index_of(replica)?].port),
            })
        };
        let ranges = runs.iter().filter_map(|(slots, group)| {
            let mut replicas: Vec<TopologyReplica> =
                group.backups.iter().filter_map(replica_of).collect();
            // In whatever order the group has them: neighbours that differ in nothing else are one range.
            replicas.sort_by_key(|replica| replica.node);
            Some(TopologyRange {
                slots: *slots,
                primary: index_of(&group.primary)?,
                replicas,
            })
        });
        let ranges = joined(ranges);
        let bricks = addresses
            .iter()
            .map(|it| TopologyNode::primary(catalog.cluster(), it));
        let followed = followed(addresses.len(), ports.len(), &ranges);
        let ports = nodes
            .values()
            .zip(followed)
            .map(|(it, follows)| TopologyNode::replica(catalog.cluster(), it, follows));
        Self {
            epoch: catalog.version().0,
            nodes: bricks.chain(ports).collect(),
            ranges,
            has_tls,
            hash: (!hasher.follows_slots()).then(|| hasher.function()),
        }
    }

    /// The index of a brick among the nodes.
    #[must_use]
    pub fn index_of(&self, member: Member) -> Option<usize> {
        let role = TopologyRole::Primary(member);
        self.nodes.iter().position(|it| it.role == role)
    }

    /// The index of a node's port among the nodes, if that has copies of something.
    #[must_use]
    pub fn index_of_port(&self, node: NodeId) -> Option<usize> {
        let is_its =
            |it: &TopologyNode| matches!(it.role, TopologyRole::Replica(its, _) if its == node);
        self.nodes.iter().position(is_its)
    }

    /// The slots of which the node with that index is primary, in as few ranges as can be, whoever has copies.
    pub(crate) fn owned(&self, node: usize) -> Vec<SlotRange> {
        let ranges = self.ranges.iter().filter(|range| range.primary == node);
        let alone = ranges.map(|range| TopologyRange {
            replicas: Vec::new(),
            ..*range
        });
        joined(alone).into_iter().map(|range| range.slots).collect()
    }

    /// The nodes that hold a replica of something of `primary`'s, in the order of the nodes.
    pub(crate) fn replicas_of(&self, primary: usize) -> Vec<usize> {
        let holds = |node| {
            let mut owned = self.ranges.iter().filter(|range| range.primary == primary);
            owned.any(|range| range.replicas.iter().any(|replica| replica.node == node))
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

impl TopologyNode {
    fn primary(cluster: ClusterId, address: &Address<'_>) -> Self {
        Self {
            role: TopologyRole::Primary(address.member),
            id: brick_name(cluster, address.member),
            host: address.host.to_owned(),
            port: address.port,
            peer_port: address.peer_port,
            node_port: Some(address.node_port),
        }
    }

    /// The port of the node that has the brick at this address.
    fn replica(cluster: ClusterId, address: &Address<'_>, follows: Option<usize>) -> Self {
        let node = address.member.node;
        Self {
            role: TopologyRole::Replica(node, follows),
            id: name_of(cluster, node, b"node port"),
            host: address.host.to_owned(),
            port: address.node_port,
            peer_port: address.peer_port,
            node_port: None,
        }
    }
}

/// Neighbours as one where they differ in nothing but their slots.
fn joined(ranges: impl Iterator<Item = TopologyRange>) -> Vec<TopologyRange> {
    let mut joined: Vec<TopologyRange> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(before)
                if before.slots.end == range.slots.begin
                    && before.primary == range.primary
                    && before.replicas == range.replicas =>
            {
                before.slots.end = range.slots.end;
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// For each node's port behind so many bricks the primary that it follows: one that few others do, and of which it has much.
fn followed(bricks: usize, ports: usize, ranges: &[TopologyRange]) -> Vec<Option<usize>> {
    let mut followers = vec![0_usize; bricks];
    let choose = |port: usize| {
        let mut slots = vec![0_u32; bricks];
        for range in ranges {
            if range.replicas.iter().any(|it| it.node == bricks + port) {
                slots[range.primary] += u32::from(range.slots.len());
            }
        }
        let held = (0..bricks).filter(|primary| slots[*primary] > 0);
        let chosen = held.min_by_key(|primary| (followers[*primary], Reverse(slots[*primary])));
        if let Some(chosen) = chosen {
            followers[chosen] += 1;
        }
        chosen
    };
    (0..ports).map(choose).collect()
}

/// The id under which Redis Cluster clients know a brick: 40 hexadecimal digits, the same at every
/// start, another for each brick of each cluster.
#[must_use]
pub fn brick_name(cluster: ClusterId, brick: Member) -> String {
    name_of(cluster, brick.node, &brick.brick.0.to_be_bytes())
}

fn name_of(cluster: ClusterId, node: NodeId, part: &[u8]) -> String {
    let mut key = cluster.0.to_be_bytes().to_vec();
    key.extend_from_slice(&node.0.to_be_bytes());
    key.extend_from_slice(part);
    let word = |seed| KeyHasher::new(Hasher::Slot, seed).key_hash(&key);
    format!("{:016x}{:016x}{:08x}", word(0), word(1), word(2) >> 32)
}

#[cfg(test)]
#[path = "topology_test.rs"]
mod topology_test;
