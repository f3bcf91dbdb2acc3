//! TABLE: tables made, shown, altered, chosen and dropped.

use super::Then;
use crate::brick::Brick;
use crate::connection::ConnectionId;
use crate::effect::ControlRequest;
use crate::users::Rights;
use brickyard_command::request::{Sizing, TableCommand, TableOptions};
use brickyard_command::{Args, ErrorReply, Spec, help};
use brickyard_metadata::{
    Alteration, Change, Layout, LayoutAlteration, NewTable, Recovery, TableStatus,
};
use brickyard_routing::NodeId;
use brickyard_types::{PartitionId, TableAttributes};
use brickyard_wire::Reply;

impl Brick {
    pub(super) fn execute_table(&mut self, id: ConnectionId, spec: &'static Spec, args: &Args<'_>) {
        let outcome =
            TableCommand::parse(spec.id, *args).and_then(|command| self.table(id, &command));
        if let Err(error) = outcome {
            self.refuse(id, Some(spec), &error);
        }
    }

    fn table(&mut self, id: ConnectionId, command: &TableCommand<'_>) -> Result<(), ErrorReply> {
        let user = self.clients[id].session.user.clone();
        let rights = |name: &str| {
            user.as_ref()
                .map_or_else(Rights::default, |user| user.rights(name))
        };
        match command {
            TableCommand::Create(name, _)
            | TableCommand::Alter(name, _)
            | TableCommand::Digest { name, .. }
            | TableCommand::Exportable(name)
            | TableCommand::Export { name, .. }
            | TableCommand::Drop(name)
            | TableCommand::Offline { name, .. }
            | TableCommand::Online(name)
            | TableCommand::Recover { name, .. }
            | TableCommand::Split { name, .. }
            | TableCommand::Merge { name, .. }
                if !rights(name).admin =>
            {
                return Err(ErrorReply::new(format!(
                    "NOPERM making, altering, digesting, exporting, recovering, splitting, merging and dropping table '{name}', and taking it offline and back, needs the right admin on it"
                )));
            }
            TableCommand::Describe(name) if rights(name) == Rights::default() => {
                return Err(ErrorReply::new(format!(
                    "NOPERM this user has no rights on table '{name}'"
                )));
            }
            TableCommand::Help => self.reply(id, |reply| help("table", reply)),
            TableCommand::List => self.list_tables(id),
            TableCommand::Describe(name) => return self.describe_table(id, name),
            TableCommand::Digest { name, from } => return self.digest_table(id, name, *from),
            TableCommand::Exportable(name) => return self.list_exportable(id, name),
            TableCommand::Export {
                name,
                partition,
                piece,
            } => return self.export(id, name, PartitionId(*partition), *piece),
            TableCommand::Use(name) => {
                let database = name
                    .parse()
                    .ok()
                    .filter(|n| (1..16).contains(n))
                    .unwrap_or(0);
                if let Err(error) = self.use_table(id, name, database) {
                    // As after a refused SELECT: nobody must go on in the wrong table.
                    self.clients.close(id);
                    return Err(error);
                }
                self.reply(id, |reply| reply.ok());
            }
            TableCommand::Create(name, options) => self.create_table(id, name, options),
            TableCommand::Alter(name, options) => {
                let name = (*name).to_owned();
                let change = match options.sizing {
                    Some(sizing) => Change::SizeTable {
                        name,
                        by_bricks: sizing == Sizing::Auto,
                    },
                    None => Change::AlterTable {
                        name,
                        alteration: alteration(options),
                    },
                };
                self.ask_control(id, ControlRequest::Change(change), Then::Ok);
            }
            TableCommand::Recover {
                name,
                partitions,
                is_confirmed,
            } => {
                let change = Change::Recover(Recovery {
                    table: (*name).to_owned(),
                    partitions: partitions.iter().copied().map(PartitionId).collect(),
                    is_confirmed: *is_confirmed,
                });
                self.ask_control(id, ControlRequest::Change(change), Then::Ok);
            }
            TableCommand::Split { name, partition } => {
                let change = Change::SplitPartition {
                    table: (*name).to_owned(),
                    partition: PartitionId(*partition),
                };
                self.ask_control(id, ControlRequest::Change(change), Then::Ok);
            }
            TableCommand::Merge { name, partition } => {
                let change = Change::MergePartitions {
                    table: (*name).to_owned(),
                    partition: PartitionId(*partition),
                };
                self.ask_control(id, ControlRequest::Change(change), Then::Ok);
            }
            TableCommand::Offline { name, force } => {
                let change = Change::TakeOffline {
                    name: (*name).to_owned(),
                    force: *force,
                };
                self.ask_control(id, ControlRequest::Change(change), Then::Ok);
            }
            TableCommand::Online(name) => {
                let change = Change::BringOnline {
                    name: (*name).to_owned(),
                };
                self.ask_control(id, ControlRequest::Change(change), Then::Ok);
            }
            TableCommand::Drop(name) => {
                let change = Change::DropTable {
                    name: (*name).to_owned(),
                };
                self.ask_control(id, ControlRequest::Change(change), Then::Ok);
            }
        }
        Ok(())
    }

    fn create_table(&mut self, id: ConnectionId, name: &str, options: &TableOptions) {
        let mut new = NewTable::named(name, self.core.random.next(), self.core.unix);
        new.attributes = self.inherited_attributes();
        options.apply_to(&mut new.attributes);
        new.partitions = options.partitions;
        new.layout = new.layout.altered(&layout_alteration(options));
        let change = Change::CreateTable(new);
        self.ask_control(id, ControlRequest::Change(change), Then::Ok);
    }

    fn list_tables(&mut self, id: ConnectionId) {
        let names: Vec<String> = self.core.table_by_name.keys().cloned().collect();
        let user = self.clients[id].session.user.clone();
        let names: Vec<&String> = names
            .iter()
            .filter(|name| {
                user.as_ref()
                    .is_some_and(|user| user.rights(name) != Rights::default())
            })
            .collect();
        self.reply(id, |reply| {
            reply.array(names.len());
            for name in names {
                reply.bulk(name.as_bytes());
            }
        });
    }

    fn describe_table(&mut self, id: ConnectionId, name: &str) -> Result<(), ErrorReply> {
        let state = self
            .core
            .table_by_name
            .get(name)
            .and_then(|index| self.core.table(*index));
        let Some(state) = state else {
            return Err(ErrorReply::new(format!(
                "ERR there is no table '{name}'; TABLE LIST shows those there are"
            )));
        };
        let partitions = state.map.partitions().leaves().len();
        let (table_id, attributes) = (state.id, state.attributes.clone());
        let table = self.core.catalog.table_by_id(table_id);
        let sizing = match table.is_some_and(|it| it.is_sized_by_bricks) {
            true => "auto",
            false => "fixed",
        };
        let extra = state.map.partitions().leaves().iter();
        let extra = extra.map(|leaf| u64::from(self.core.catalog.extra(leaf.partition)));
        let extra: u64 = extra.sum();
        let layout = state.layout.clone();
        let standing = match &state.standing {
            TableStatus::Online => "online",
            TableStatus::Offline => "offline",
            TableStatus::Returning { .. } => "returning",
        };
        // Other bricks' figures are as of their last second.
        crate::upkeep::publish(&self.core, &self.clients);
        let mut keys = 0;
        let mut memory = 0;
        for stats in &self.core.shared.stats {
            if let Some(table) = stats.tables().get(&table_id) {
                keys += table.keys.value();
                memory += table.memory.value();
            }
        }
        self.reply(id, |reply| {
            describe(
                reply,
                name,
                table_id.0,
                (&attributes, &layout),
                (partitions, sizing, extra),
                standing,
                (keys, memory),
            )
        });
        Ok(())
    }
}

fn describe(
    reply: &mut Reply<'_>,
    name: &str,
    id: u32,
    (attributes, layout): (&TableAttributes, &Layout),
    (partitions, sizing, extra): (usize, &str, u64),
    standing: &str,
    (keys, memory): (u64, u64),
) {
    reply.map(17);
    let mut text = |field: &str, value: &str| {
        reply.bulk(field.as_bytes());
        reply.bulk(value.as_bytes());
    };
    text("name", name);
    text("medium", attributes.medium.word());
    text("durability", attributes.durability.word());
    text("evict", attributes.evict.word());
    text("standing", standing);
    text("sizing", sizing);
    text("placement", &layout.placement.to_string());
    text("nodes", &named(layout));
    text("partition_bytes", &own_bytes(layout));
    let mut number = |field: &str, value: u64| {
        reply.bulk(field.as_bytes());
        reply.integer(value as i64);
    };
    number("id", id.into());
    number("replicas", attributes.replicas.into());
    number("min_in_sync", attributes.min_in_sync.into());
    number("partitions", partitions as u64);
    number("extra_copies", extra);
    number("maxmemory", attributes.maxmemory.unwrap_or(0));
    number("keys", keys);
    number("memory", memory);
}

/// The nodes that a table names, as `TABLE ALTER` takes them.
fn named(layout: &Layout) -> String {
    let nodes: Vec<String> = layout.nodes.iter().map(ToString::to_string).collect();
    match nodes.is_empty() {
        true => "all".to_owned(),
        false => nodes.join(","),
    }
}

/// How large a partition may be, as `TABLE ALTER` takes it.
fn own_bytes(layout: &Layout) -> String {
    let bytes = layout.partition_bytes;
    bytes.map_or_else(|| "default".to_owned(), |bytes| bytes.to_string())
}

fn layout_alteration(options: &TableOptions) -> LayoutAlteration {
    let nodes = options.nodes.as_ref();
    LayoutAlteration {
        placement: options.placement,
        nodes: nodes.map(|nodes| nodes.iter().copied().map(NodeId).collect()),
        partition_bytes: options.partition_bytes,
    }
}

/// What `TABLE ALTER` changes; that it names no PARTITIONS was seen when it was parsed.
fn alteration(options: &TableOptions) -> Alteration {
    Alteration {
        medium: options.medium,
        durability: options.durability,
        replicas: options.replicas,
        min_in_sync: options.min_in_sync,
        maxmemory: options.maxmemory,
        evict: options.evict,
        layout: layout_alteration(options),
    }
}

#[cfg(test)]
#[path = "tables_test.rs"]
mod tables_test;
