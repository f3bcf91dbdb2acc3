//! Commands on many keys, in parts of one key each; and which brick a cluster client is told to ask.

use crate::accepted::ConnectionId;
use crate::clients::Clients;
use crate::core::Core;
use crate::gather::{Gather, Join};
use crate::refusal::dropped_table;
use crate::request::{Request, Token, Work};
use brickyard_command::{Args, CommandId, ErrorReply, OwnedArgs, Spec, keys, lookup, table::flag};

/// Splits a command by key; each part is a command on one key, to be begun.
pub(super) fn scatter(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    (part, join): (&'static str, Join),
    args: &Args<'_>,
) -> Result<Vec<Request>, ErrorReply> {
    let Some(part_spec) = lookup(part.as_bytes()) else {
        return Ok(Vec::new());
    };
    let step = spec.key_step as usize;
    if !(args.len() - 1).is_multiple_of(step) {
        return Err(ErrorReply::wrong_arity(spec.name));
    }
    let session = &clients[id].session;
    let (protocol, table) = (session.protocol, session.table);
    let table = core.table(table).ok_or_else(dropped_table)?.id;
    let places: Vec<usize> = keys(spec, *args).collect();
    assert!(places.len() > 1, "'{}' has many keys", spec.name);
    let bytes = args.from(0).map(<[u8]>::len).sum();
    let gather = Gather::new(join, protocol, places.len())
        .within(core.shared.settings.output_max())
        .reading(spec.has(flag::READONLY))
        .costing(bytes);
    let token = clients.open_gather(id, gather);
    let parts = places.into_iter().enumerate().map(|(part, at)| {
        let token = Token {
            part: part as u32,
            ..token
        };
        let mut part_args = OwnedArgs::with_capacity(args.at(at).len() + 8, 1 + step);
        part_args.push(part_spec.name.as_bytes());
        for offset in 0..step {
            part_args.push(args.at(at + offset));
        }
        let (origin, work) = (core.own(token), Work::Command(part_spec, part_args));
        Request::new(origin, table, protocol, work, core.deadline())
    });
    Ok(parts.collect())
}

/// The commands that are split by key: the command on one key, and how the replies join.
pub(super) const fn split(id: CommandId) -> Option<(&'static str, Join)> {
    match id {
        // Of what is no string it says nothing, where GET has an error.
        CommandId::Mget => Some(("mget", Join::Concat)),
        CommandId::Mset => Some(("set", Join::Ok)),
        CommandId::Del => Some(("del", Join::Sum)),
        CommandId::Unlink => Some(("unlink", Join::Sum)),
        CommandId::Exists => Some(("exists", Join::Sum)),
        CommandId::Touch => Some(("touch", Join::Sum)),
        _ => None,
    }
}
