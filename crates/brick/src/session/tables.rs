//! TABLE: tables made, shown, altered, chosen and dropped.

use super::describe::describe_table;
use super::digest::digest_table;
use super::export::list_exportable;
use super::login::use_table;
use super::lookup::{inherited_attributes, inherited_copies_max};
use super::next::{Next, Outcome, Then};
use super::ranked::ranked_keys;
use crate::accepted::ConnectionId;
use crate::clients::{Clients, database_of};
use crate::core::Core;
use crate::effect::ControlRequest;
use crate::users::Rights;
use brickyard_command::request::{ReplicaCount, Sizing, TableCommand, TableOptions};
use brickyard_command::{Args, ErrorReply, Spec, help};
use brickyard_metadata::{Alteration, Change, LayoutAlteration, NewTable, Recovery, TableEdit};
use brickyard_routing::{Hasher, NodeId};
use brickyard_types::{HashFunction, PartitionId};
use std::sync::Arc;

/// Answers TABLE.
pub(super) fn table(
    core: &mut Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    let command = TableCommand::parse(spec.id, args)?;
    let user = clients[id].session.user.as_ref();
    let user = user.map(|seat| Arc::clone(seat.user()));
    let rights = |name: &str| {
        user.as_ref()
            .map_or_else(Rights::default, |user| user.rights(name))
    };
    check_rights(&command, rights)?;
    let change = match command {
        TableCommand::Help => {
            clients.reply(id, |reply| help("table", reply));
            return Ok(Next::Done);
        }
        TableCommand::List => {
            let names = core.tables.names();
            let names = names.filter(|name| rights(name) != Rights::default());
            clients.reply(id, |reply| {
                reply.array(names.clone().count());
                for name in names {
                    reply.bulk(name.as_bytes());
                }
            });
            return Ok(Next::Done);
        }
        TableCommand::Describe(name) => {
            return describe_table(core, clients, id, (spec, args.to_owned()), name);
        }
        TableCommand::HotKeys { name, count } | TableCommand::BigKeys { name, count } => {
            return ranked_keys(core, clients, id, (spec, args.to_owned()), (name, count));
        }
        TableCommand::Digest { name, from } => {
            clients.answer(id, |reply| digest_table(core, name, from, reply))?;
            return Ok(Next::Done);
        }
        TableCommand::Exportable(name) => {
            clients.answer(id, |reply| list_exportable(core, name, reply))?;
            return Ok(Next::Done);
        }
        TableCommand::Export {
            name,
            partition,
            piece,
        } => {
            return Ok(Next::Export {
                name: name.to_owned(),
                partition: PartitionId(partition),
                piece,
            });
        }
        TableCommand::Use(name)
            if core.tables.index_named(name).is_none() && rights(name) != Rights::default() =>
        {
            // Another node may have made it a moment ago.
            let then = Then::Use {
                table: name.to_owned(),
                database: database_of(name),
            };
            return Ok(Next::Control(ControlRequest::CatchUp, then));
        }
        TableCommand::Use(name) => {
            if let Err(error) = use_table(core, &mut clients[id], name, database_of(name)) {
                // As after a refused SELECT: nobody must go on in the wrong table.
                clients.close(id);
                return Err(error);
            }
            clients.reply(id, |reply| reply.ok());
            return Ok(Next::Done);
        }
        TableCommand::Create(name, options) => {
            create_table(new_table(core, name, &options), options.leases)
        }
        TableCommand::Alter(name, options) => match options.sizing {
            Some(sizing) => Change::SizeTable {
                name: name.to_owned(),
                by_bricks: sizing == Sizing::Auto,
            },
            None => alter_table(core, name, &options),
        },
        TableCommand::Recover {
            name,
            partitions,
            is_confirmed,
        } => Change::Recover(Recovery {
            table: name.to_owned(),
            partitions: partitions.into_iter().map(PartitionId).collect(),
            is_confirmed,
        }),
        TableCommand::Split { name, partition } => Change::SplitPartition {
            table: name.to_owned(),
            partition: PartitionId(partition),
        },
        TableCommand::Merge { name, partition } => Change::MergePartitions {
            table: name.to_owned(),
            partition: PartitionId(partition),
        },
        TableCommand::Offline { name, force } => Change::TakeOffline {
            name: name.to_owned(),
            force,
        },
        TableCommand::Online(name) => Change::BringOnline {
            name: name.to_owned(),
        },
        TableCommand::Drop(name) => Change::DropTable {
            name: name.to_owned(),
        },
    };
    Ok(Next::change(change))
}

fn check_rights(
    command: &TableCommand<'_>,
    rights: impl Fn(&str) -> Rights,
) -> Result<(), ErrorReply> {
    match command {
        TableCommand::Create(name, _)
        | TableCommand::Alter(name, _)
        | TableCommand::Digest { name, .. }
        | TableCommand::HotKeys { name, .. }
        | TableCommand::BigKeys { name, .. }
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
            Err(ErrorReply::new(format!(
                "NOPERM making, altering, digesting, exporting, recovering, splitting, merging and dropping table '{name}', showing its hot and its big keys, and taking it offline and back, needs the right admin on it"
            )))
        }
        TableCommand::Describe(name) if rights(name) == Rights::default() => Err(ErrorReply::new(
            format!("NOPERM this user has no rights on table '{name}'"),
        )),
        _ => Ok(()),
    }
}

fn new_table(core: &mut Core, name: &str, options: &TableOptions) -> NewTable {
    let mut new = NewTable::named(name, core.random.next(), core.unix);
    new.attributes = inherited_attributes(core);
    options.apply_to(&mut new.attributes);
    new.partitions = options.partitions;
    new.hasher = hasher(options);
    new.layout.copies_max = inherited_copies_max(core);
    new.layout = new.layout.altered(&layout_alteration(core, options));
    new
}

/// By default the one that every cluster client knows.
fn hasher(options: &TableOptions) -> Hasher {
    match options.hash.unwrap_or(HashFunction::Slot) {
        HashFunction::Slot => Hasher::Slot,
        HashFunction::Keyed => Hasher::Keyed,
        HashFunction::Key64 => Hasher::Key64,
        HashFunction::Ordered => Hasher::Ordered(options.bounds),
    }
}

fn create_table(new: NewTable, leases: Option<bool>) -> Change {
    let history = new.attributes.history;
    match leases {
        Some(true) => Change::LeaseTable {
            table: TableEdit::Create {
                table: new,
                history,
            },
            is_on: true,
        },
        // As an earlier program knows it.
        None | Some(false) if history == 0 => Change::CreateTable(new),
        None | Some(false) => Change::CreateWithHistory {
            table: new,
            history,
        },
    }
}

fn layout_alteration(core: &Core, options: &TableOptions) -> LayoutAlteration {
    let nodes = options.nodes.as_ref();
    let copies_max = options.replicas.map(|replicas| match replicas {
        ReplicaCount::Auto => Some(core.shared.limits.default_replicas),
        ReplicaCount::Fixed(_) => None,
    });
    LayoutAlteration {
        copies_max,
        placement: options.placement,
        nodes: nodes.map(|nodes| nodes.iter().copied().map(NodeId).collect()),
        partition_bytes: options.partition_bytes,
    }
}

fn alter_table(core: &Core, name: &str, options: &TableOptions) -> Change {
    let (name, alteration) = (name.to_owned(), alteration(core, options));
    match (options.leases, options.history) {
        (None, None) => Change::AlterTable { name, alteration },
        (None, Some(history)) => Change::AlterWithHistory {
            name,
            alteration,
            history,
        },
        (Some(is_on), history) => Change::LeaseTable {
            table: TableEdit::Alter {
                name,
                alteration,
                history,
            },
            is_on,
        },
    }
}

/// What `TABLE ALTER` changes; that it names no PARTITIONS was seen when it was parsed.
fn alteration(core: &Core, options: &TableOptions) -> Alteration {
    let replicas = options.replicas.and_then(|replicas| match replicas {
        ReplicaCount::Auto => None,
        ReplicaCount::Fixed(replicas) => Some(replicas),
    });
    Alteration {
        medium: options.medium,
        durability: options.durability,
        replicas,
        min_in_sync: options.min_in_sync,
        maxmemory: options.maxmemory,
        evict: options.evict,
        layout: layout_alteration(core, options),
    }
}

#[cfg(test)]
#[path = "tables_test.rs"]
mod tables_test;
