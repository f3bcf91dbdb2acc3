//! NODE and REBALANCE: which nodes there are, what they hold, and where partitions should be.
//!
//! What is shown is of this brick's catalog: the plan is a function of it, so that any brick can tell what is going
//! to move before it does. Which nodes are up only the leader knows (`/status`).

use super::next::{Next, Outcome};
use crate::accepted::ConnectionId;
use crate::clients::Clients;
use crate::core::Core;
use crate::upkeep::publish;
use brickyard_command::request::{NodeCommand, NodeOptions, RebalanceCommand};
use brickyard_command::{Args, Spec, help};
use brickyard_metadata::{Catalog, Change, Move, Node, NodeAlteration, Plan, Roles};
use brickyard_routing::{Member, NodeId};
use brickyard_types::TableId;
use brickyard_wire::Reply;
use std::collections::{BTreeMap, BTreeSet};

/// What a node has of all tables.
#[derive(Clone, Copy, Debug, Default)]
struct Holding {
    primaries: u64,
    copies: u64,
    learning: u64,
}

/// Answers NODE.
pub(super) fn node(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    let change = match NodeCommand::parse(spec.id, args)? {
        NodeCommand::Help => {
            clients.reply(id, |reply| help("node", reply));
            return Ok(Next::Done);
        }
        NodeCommand::List => {
            clients.reply(id, |reply| list_nodes(core.tables.catalog(), reply));
            return Ok(Next::Done);
        }
        NodeCommand::Alter(node, options) => Change::AlterNode {
            node: NodeId(node),
            alteration: alteration(core.tables.catalog(), NodeId(node), options),
        },
        NodeCommand::Drain { node, force } => Change::DrainNode {
            node: NodeId(node),
            force,
        },
        NodeCommand::Remove { node, force } => Change::RemoveNode {
            node: NodeId(node),
            force,
        },
        NodeCommand::Replace { old, new } => Change::ReplaceNode {
            old: NodeId(old),
            new: NodeId(new),
        },
    };
    Ok(Next::change(change))
}

/// Answers REBALANCE.
pub(super) fn rebalance(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
) -> Outcome {
    match RebalanceCommand::of(spec.id) {
        RebalanceCommand::Help => clients.reply(id, |reply| help("rebalance", reply)),
        RebalanceCommand::Pause => return Ok(Next::change(Change::PauseMoves(true))),
        RebalanceCommand::Resume => return Ok(Next::change(Change::PauseMoves(false))),
        RebalanceCommand::Plan => {
            // Other bricks' figures are as of their last second.
            publish(core);
            clients.reply(id, |reply| show_plan(core, reply));
        }
        RebalanceCommand::Status => {
            publish(core);
            clients.reply(id, |reply| show_moves(core, reply));
        }
    }
    Ok(Next::Done)
}

fn list_nodes(catalog: &Catalog, reply: &mut Reply<'_>) {
    let holdings = holdings(catalog);
    reply.array(catalog.nodes().len());
    for node in catalog.nodes() {
        let holding = holdings.get(&node.id).copied().unwrap_or_default();
        show_node(reply, catalog, node, holding);
    }
}

/// What has to move, and about how many bytes each copy has: the mean of this node's of the table.
fn moves(core: &Core) -> Vec<(Move, u64)> {
    let catalog = core.tables.catalog();
    let plan: Plan = catalog.plan(&BTreeSet::new());
    let own = core.member().node;
    let mut bytes: BTreeMap<TableId, u64> = BTreeMap::new();
    for table in catalog.tables() {
        let stats = core.shared.stats.iter();
        let memory: u64 = stats
            .filter_map(|stats| Some(stats.tables().get(&table.id)?.memory.value()))
            .sum();
        let is_here = |member: Member| member.node == own;
        let held = table
            .partitions()
            .filter(|(_, group)| group.members().any(|replica| is_here(replica.member)));
        bytes.insert(table.id, memory / (held.count().max(1) as u64));
    }
    let moves = plan.moves(catalog).into_iter();
    moves
        .map(|it| {
            let copied = !it.is_hand_over && it.to.is_some();
            let bytes = bytes.get(&it.table).copied().filter(|_| copied);
            (it, bytes.unwrap_or_default())
        })
        .collect()
}

fn show_plan(core: &Core, reply: &mut Reply<'_>) {
    let moves = moves(core);
    let tables: BTreeMap<TableId, (&str, String)> = core
        .tables
        .catalog()
        .tables()
        .map(|table| {
            let placement = table.layout.placement.to_string();
            (table.id, (table.name.as_str(), placement))
        })
        .collect();
    reply.array(moves.len());
    for (it, bytes) in &moves {
        let (table, placement) = tables.get(&it.table).cloned().unwrap_or_default();
        let kind = if it.is_hand_over { "primary" } else { "copy" };
        reply.map(7);
        text(reply, "table", table);
        number(reply, "partition", it.partition.0.into());
        text(reply, "kind", kind);
        text(reply, "from", &shown(it.from));
        text(reply, "to", &shown(it.to));
        number(reply, "bytes", *bytes);
        text(reply, "placement", &placement);
    }
}

fn show_moves(core: &Core, reply: &mut Reply<'_>) {
    let moves = moves(core);
    let catalog = core.tables.catalog();
    let is_paused = catalog.is_paused();
    let groups = catalog.tables().flat_map(|table| table.map.groups());
    let learning: usize = groups.map(|group| group.learners.len()).sum();
    let hand_overs = moves.iter().filter(|(it, _)| it.is_hand_over).count();
    let bytes: u64 = moves.iter().map(|(_, bytes)| bytes).sum();
    reply.map(5);
    text(reply, "moves", if is_paused { "paused" } else { "on" });
    number(reply, "copies", (moves.len() - hand_overs) as u64);
    number(reply, "primaries", hand_overs as u64);
    number(reply, "learning", learning as u64);
    number(reply, "bytes", bytes);
}

/// What the request says, and of the roles that it does not name what they are.
fn alteration(catalog: &Catalog, node: NodeId, options: NodeOptions) -> NodeAlteration {
    let roles = catalog.node(node).map(|node| node.registration.roles);
    let named = [options.control, options.storage, options.gateway];
    let roles = roles.filter(|_| named.iter().any(Option::is_some));
    NodeAlteration {
        weight: options.weight,
        zone: options.zone,
        roles: roles.map(|roles| Roles {
            control: options.control.unwrap_or(roles.control),
            storage: options.storage.unwrap_or(roles.storage),
            gateway: options.gateway.unwrap_or(roles.gateway),
        }),
    }
}

fn holdings(catalog: &Catalog) -> BTreeMap<NodeId, Holding> {
    let mut all: BTreeMap<NodeId, Holding> = BTreeMap::new();
    for group in catalog.tables().flat_map(|table| table.map.groups()) {
        all.entry(group.primary.member.node).or_default().primaries += 1;
        for replica in group.in_sync() {
            all.entry(replica.member.node).or_default().copies += 1;
        }
        for replica in &group.learners {
            all.entry(replica.member.node).or_default().learning += 1;
        }
    }
    all
}

fn show_node(reply: &mut Reply<'_>, catalog: &Catalog, node: &Node, holding: Holding) {
    let registration = &node.registration;
    let addresses = &registration.addresses;
    let state = match (node.weight(), holding.copies + holding.learning) {
        (0, 0) => "empty",
        (0, _) => "draining",
        _ => "in use",
    };
    let roles = registration.roles.words();
    let successor = catalog.successor(node.id);
    let address = format!("{}:{}", addresses.host, addresses.port);
    reply.map(11);
    number(reply, "node", node.id.0.into());
    text(reply, "address", &address);
    text(reply, "state", state);
    text(
        reply,
        "zone",
        registration.zone.as_deref().unwrap_or_default(),
    );
    number(reply, "weight", registration.weight.into());
    text(reply, "roles", &roles.join(","));
    number(reply, "bricks", registration.bricks.into());
    number(reply, "primaries", holding.primaries);
    number(reply, "copies", holding.copies);
    number(reply, "learning", holding.learning);
    text(
        reply,
        "successor",
        &successor.map(|it| it.to_string()).unwrap_or_default(),
    );
}

fn text(reply: &mut Reply<'_>, field: &str, value: &str) {
    reply.bulk(field.as_bytes());
    reply.bulk(value.as_bytes());
}

fn number(reply: &mut Reply<'_>, field: &str, value: u64) {
    reply.bulk(field.as_bytes());
    reply.integer(value as i64);
}

fn shown(member: Option<Member>) -> String {
    member.map(|member| member.to_string()).unwrap_or_default()
}

#[cfg(test)]
#[path = "nodes_test.rs"]
mod nodes_test;
