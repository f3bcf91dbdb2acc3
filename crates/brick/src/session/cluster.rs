//! CLUSTER: the node's bricks as the nodes of a Redis cluster.

use super::next::{Next, Outcome};
use super::whole::ask_own_subrequest;
use crate::accepted::ConnectionId;
use crate::clients::Clients;
use crate::core::Core;
use crate::refusal::dropped_table;
use brickyard_command::request::ClusterCommand;
use brickyard_command::{Args, ErrorReply, Spec, help};
use brickyard_metadata::{CatalogVersion, Topology, TopologyReplies, brick_name};
use brickyard_wire::{Protocol, Reply};
use std::sync::Arc;

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
            clients.reply(id, |reply| reply.raw(topology.nodes(protocol)));
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
        ClusterCommand::MyId => {
            clients.reply(id, |reply| reply.bulk(name(core)));
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
            let catalog = core.tables.catalog();
            let is_known = catalog
                .addresses()
                .any(|it| brick_name(catalog.cluster(), it.member).as_bytes() == node);
            if !is_known {
                let node = String::from_utf8_lossy(node).into_owned();
                return Err(ErrorReply::new(format!("ERR Unknown node {node}")));
            }
            clients.reply(id, |reply| reply.array(0));
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
    let (version, myself) = (core.tables.catalog().version(), core.member());
    let catalog = Arc::clone(core.tables.catalog());
    let has_tls = core.shared.address.has_tls;
    let state = core.table_mut(table).ok_or_else(dropped_table)?;
    let rendered = state.topology.take().filter(|(it, _)| *it == version);
    let rendered = rendered.unwrap_or_else(|| {
        let topology = Topology::of(&catalog, &state.map, has_tls);
        let myself = topology.index_of(myself).unwrap_or(0);
        (version, TopologyReplies::new(&topology, myself))
    });
    Ok(&state.topology.insert(rendered).1)
}

/// The brick's id as a node of a Redis cluster.
fn name(core: &Core) -> &[u8] {
    let own = core.shared.address.bricks.get(core.id.0 as usize);
    own.map_or(&[], |brick| brick.id.as_bytes())
}
