//! CLUSTER: the node's bricks as the nodes of a Redis cluster.

use crate::brick::Brick;
use crate::clients::Clients;
use crate::connection::ConnectionId;
use brickyard_command::request::ClusterCommand;
use brickyard_command::{Args, ErrorReply, Spec, help};
use brickyard_metadata::{CatalogVersion, Topology, TopologyReplies, brick_name};
use brickyard_wire::{Protocol, Reply};

impl Brick {
    pub(super) fn execute_cluster(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        args: &Args<'_>,
    ) {
        let outcome = ClusterCommand::parse(spec.id, *args)
            .and_then(|command| self.cluster(id, spec, args, &command));
        if let Err(error) = outcome {
            self.refuse(id, Some(spec), &error);
        }
    }

    fn cluster(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        args: &Args<'_>,
        command: &ClusterCommand<'_>,
    ) -> Result<(), ErrorReply> {
        let connection = &self.clients[id];
        let protocol = connection.session.protocol;
        let table = connection.session.table;
        match command {
            ClusterCommand::Help => self.reply(id, |reply| help("cluster", reply)),
            ClusterCommand::Slots => self.topology(id, table, |it| it.slots(protocol)),
            ClusterCommand::Shards => self.topology(id, table, |it| it.shards(protocol)),
            ClusterCommand::Nodes => self.topology(id, table, |it| it.nodes(protocol)),
            ClusterCommand::Info => self.topology(id, table, |it| it.info(protocol)),
            ClusterCommand::Watch(is_on) => self.watch_map(id, *is_on)?,
            ClusterCommand::MyId => {
                let name = self.core.name();
                self.reply(id, |reply| reply.bulk(name.as_bytes()));
            }
            ClusterCommand::KeySlot(key) => {
                let slot = brickyard_routing::slot(key);
                self.reply(id, |reply| reply.integer(slot.0.into()));
            }
            ClusterCommand::CountKeysInSlot(_) | ClusterCommand::GetKeysInSlot(..) => {
                self.ask_own_share(id, spec, args);
            }
            ClusterCommand::Links => self.reply(id, |reply| reply.array(0)),
            ClusterCommand::Replicas(node) => {
                let catalog = &self.core.catalog;
                let is_known = catalog
                    .addresses()
                    .any(|it| brick_name(catalog.cluster(), it.member).as_bytes() == *node);
                if !is_known {
                    let node = String::from_utf8_lossy(node).into_owned();
                    return Err(ErrorReply::new(format!("ERR Unknown node {node}")));
                }
                self.reply(id, |reply| reply.array(0));
            }
            ClusterCommand::Admin(name) => {
                let name = String::from_utf8_lossy(name).to_ascii_uppercase();
                return Err(ErrorReply::new(format!(
                    "ERR CLUSTER {name} is not for this cluster, which moves slots and replicas by itself; \
                     see \"brickyard --help\""
                )));
            }
        }
        Ok(())
    }

    fn watch_map(&mut self, id: ConnectionId, is_on: bool) -> Result<(), ErrorReply> {
        if is_on && self.clients[id].session.protocol == Protocol::Resp2 {
            return Err(ErrorReply::constant(
                "ERR CLUSTER WATCH pushes messages, which RESP2 does not know; send HELLO 3 before",
            ));
        }
        self.clients.watch_map(id, is_on);
        self.reply(id, |reply| reply.ok());
        Ok(())
    }

    fn topology(
        &mut self,
        id: ConnectionId,
        table: usize,
        choose: impl FnOnce(&TopologyReplies) -> &[u8],
    ) {
        // Rendered once a version of the catalog: thousands of clients may ask for it at the same moment.
        let version = self.core.catalog.version();
        let Some(state) = self.core.table_mut(table) else {
            return self.reply(id, |reply| {
                reply.error_bytes(crate::keyed::dropped_table().as_bytes())
            });
        };
        let is_current = state
            .topology
            .as_ref()
            .is_some_and(|(rendered, _)| *rendered == version);
        if !is_current {
            let replies = self.core.render_topology(table);
            if let Some(state) = self.core.table_mut(table) {
                state.topology = replies.map(|replies| (version, replies));
            }
        }
        let Some(replies) = self
            .core
            .table(table)
            .and_then(|state| state.topology.as_ref())
        else {
            return;
        };
        let bytes = choose(&replies.1).to_vec();
        self.reply(id, |reply| reply.raw(&bytes));
    }
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

impl crate::core::Core {
    /// The brick's id as a node of a Redis cluster.
    pub(crate) fn name(&self) -> String {
        self.shared
            .bricks
            .get(self.id.0 as usize)
            .map(|brick| brick.id.clone())
            .unwrap_or_default()
    }

    fn render_topology(&self, table: usize) -> Option<TopologyReplies> {
        let state = self.table(table)?;
        let topology = Topology::of(&self.catalog, &state.map);
        let myself = topology.index_of(self.member()).unwrap_or(0);
        Some(TopologyReplies::new(&topology, myself))
    }
}
