//! CLUSTER: the node's bricks as the nodes of a Redis cluster.

use super::next::{Next, Outcome};
use super::way;
use super::whole::ask_own_subrequest;
use crate::accepted::{ConnectionId, Port};
use crate::clients::Clients;
use crate::core::Core;
use crate::refusal::dropped_table;
use brickyard_command::request::ClusterCommand;
use brickyard_command::{Args, ErrorReply, Spec, help};
use brickyard_metadata::{CatalogVersion, Topology, TopologyReplies, replica_lines};
use brickyard_wire::{Protocol, Reply};

/// Answers CLUSTER.
pub(super) fn cluster(
    core: &mut Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    let session = &clients[id].session;
    let (protocol, table) = (session.protocol, session.table);
    let port = clients[id].accepted.port;
    match ClusterCommand::parse(spec.id, args)? {
        ClusterCommand::Help => clients.reply(id, |reply| help("cluster", reply)),
        ClusterCommand::Slots => {
            let topology = topology(core, table)?;
            clients.reply(id, |reply| reply.raw(topology.slots(protocol)));
        }
        ClusterCommand::Shards => {
            let topology = topology(core, table)?;
            clients.reply(id, |reply| reply.raw(topology.shards(protocol)));
        }
        ClusterCommand::Nodes => {
            let topology = topology(core, table)?;
            let lines = match port {
                Port::Node => topology.nodes_at_port(protocol),
                Port::Brick => topology.nodes(protocol),
            };
            clients.reply(id, |reply| reply.raw(lines));
        }
        ClusterCommand::Info => {
            let topology = topology(core, table)?;
            clients.reply(id, |reply| reply.raw(topology.info(protocol)));
        }
        ClusterCommand::Watch(is_on) => {
            if is_on && protocol == Protocol::Resp2 {
                return Err(ErrorReply::constant(
                    "ERR CLUSTER WATCH pushes messages, which RESP2 does not know; send HELLO 3 before",
                ));
            }
            clients.watch_map(id, is_on);
            clients.reply(id, |reply| reply.ok());
        }
        ClusterCommand::Lookup(None) => way::starts(core, clients, id)?,
        ClusterCommand::Lookup(Some(request)) => way::look_up(core, clients, id, &request)?,
        ClusterCommand::MyId => {
            let own = match port {
                Port::Node => port_name(core, table),
                Port::Brick => None,
            };
            let own = own.map_or_else(|| name(core).to_owned(), String::into_bytes);
            clients.reply(id, |reply| reply.bulk(&own));
        }
        ClusterCommand::KeySlot(key) => {
            let slot = brickyard_routing::slot(key);
            clients.reply(id, |reply| reply.integer(slot.0.into()));
        }
        ClusterCommand::CountKeysInSlot(_) | ClusterCommand::GetKeysInSlot(..) => {
            return ask_own_subrequest(core, clients, id, spec, args);
        }
        ClusterCommand::Links => clients.reply(id, |reply| reply.array(0)),
        ClusterCommand::Replicas(node) => {
            let lines = replica_lines(&drawn(core, table)?, node).map_err(ErrorReply::new)?;
            clients.reply(id, |reply| {
                reply.array(lines.len());
                lines.iter().for_each(|line| reply.bulk(line.as_bytes()));
            });
        }
        ClusterCommand::Admin(name) => {
            let name = String::from_utf8_lossy(name).to_ascii_uppercase();
            return Err(ErrorReply::new(format!(
                "ERR CLUSTER {name} is not for this cluster, which moves slots and replicas by itself; \
                 see \"brickyard --help\""
            )));
        }
    }
    Ok(Next::Done)
}

/// The map has changed.
pub(crate) fn tell_map_watchers(clients: &mut Clients, version: CatalogVersion) {
    if clients.has_map_watchers() {
        let mut message = Vec::new();
        let mut push = Reply::new(&mut message, Protocol::Resp3);
        push.push(2);
        push.bulk(b"cluster-map");
        push.integer(version.0.cast_signed());
        clients.tell_map_watchers(&message);
    }
}

/// The replies about the map of a table, rendered once a version of the catalog: thousands of clients may ask for it at
/// the same moment.
fn topology(core: &mut Core, table: usize) -> Result<&TopologyReplies, ErrorReply> {
    let (version, member) = (core.tables.catalog().version(), core.member());
    let state = core.table_mut(table).ok_or_else(dropped_table)?;
    let rendered = match state.drawn.topology.take().filter(|(it, _)| *it == version) {
        Some(rendered) => rendered,
        None => {
            let topology = drawn(core, table)?;
            let brick = topology.index_of(member).unwrap_or(0);
            let port = topology.index_of_port(member.node);
            (version, TopologyReplies::new(&topology, brick, port))
        }
    };
    let state = core.table_mut(table).ok_or_else(dropped_table)?;
    Ok(&state.drawn.topology.insert(rendered).1)
}

fn drawn(core: &Core, table: usize) -> Result<Topology, ErrorReply> {
    let state = core.table(table).ok_or_else(dropped_table)?;
    let has_tls = core.shared.address.has_tls;
    Ok(Topology::of(core.tables.catalog(), &state.map, has_tls))
}

/// The id of the node's port, if it has copies of something and so is a node of a Redis cluster.
fn port_name(core: &Core, table: usize) -> Option<String> {
    let topology = drawn(core, table).ok()?;
    let port = topology.index_of_port(core.member().node)?;
    Some(topology.nodes[port].id.clone())
}

/// The brick's id as a node of a Redis cluster.
fn name(core: &Core) -> &[u8] {
    let own = core.shared.address.bricks.get(core.id.0 as usize);
    own.map_or(&[], |brick| brick.id.as_bytes())
}
