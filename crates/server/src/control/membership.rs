//! The cluster in `/status`: its nodes, its leader, this node's place in it.

use crate::cluster::view::{ClusterView, MembershipState};
use brickyard_metadata::{Catalog, Node};
use brickyard_node::MemberView;
use brickyard_routing::NodeId;
use serde_json::{Value, json};
use std::time::Duration;

/// A lease that ends later than that never does: there is no other node.
const ENDLESS: Duration = Duration::from_secs(365 * 86_400);

/// How this node stands.
pub(super) fn membership(view: &ClusterView) -> Value {
    let waits_for = view.waits_for();
    let mut shown = match &view.membership {
        MembershipState::Bootstrap(_) => json!({ "is_member": false, "waits_for": waits_for }),
        MembershipState::Member(member) => member_json(member, waits_for),
    };
    shown["refusals"] = json!(view.refusals);
    shown
}

fn member_json(member: &MemberView, waits_for: Option<String>) -> Value {
    let ids = |nodes: &[NodeId]| nodes.iter().map(|node| node.0).collect::<Vec<_>>();
    let left = Some(member.lease_left).filter(|left| *left < ENDLESS);
    json!({
        "is_member": true,
        "waits_for": waits_for,
        "node": member.node.0,
        "incarnation": member.incarnation.map(|it| it.0),
        "leader": member.leader.map(|it| it.0),
        "term": member.term,
        "voters": ids(&member.voters),
        "learners": ids(&member.learners),
        "connected": ids(&member.connected),
        "down": member.down.as_deref().map(ids),
        "needs_lease": !member.is_alone,
        "lease_left_ms": left.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
        "adopted": member.adopted,
    })
}

/// All nodes.
pub(super) fn nodes(catalog: &Catalog) -> Value {
    catalog.nodes().map(node_json).collect()
}

fn node_json(node: &Node) -> Value {
    let registration = &node.registration;
    let addresses = &registration.addresses;
    json!({
        "node": node.id.0,
        "key": registration.key.to_string(),
        "incarnation": node.incarnation.0,
        "host": addresses.host,
        "port": addresses.port,
        "brick_ports": addresses.bricks,
        "peer_port": addresses.peer_port,
        "http_port": addresses.http_port,
        "weight": registration.weight,
        "zone": registration.zone,
        "roles": registration.roles.words(),
    })
}
