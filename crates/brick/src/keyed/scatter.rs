//! Commands on many keys, in parts of one key each; and which brick a cluster client is told to ask.

use crate::accepted::ConnectionId;
use crate::brick::Brick;
use crate::gather::{Gather, Join};
use crate::refusal::dropped_table;
use crate::request::{Request, Token, Work};
use brickyard_command::{Args, CommandId, ErrorReply, OwnedArgs, Spec, keys, lookup, table::flag};

impl Brick {
    /// Splits a command by key; each part is a command on one key.
    pub(super) fn scatter(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        part: &'static str,
        join: Join,
        args: &Args<'_>,
    ) {
        let Some(part_spec) = lookup(part.as_bytes()) else {
            return;
        };
        let step = spec.key_step as usize;
        if !(args.len() - 1).is_multiple_of(step) {
            return self.refuse(id, Some(spec), &ErrorReply::wrong_arity(spec.name));
        }
        let connection = &self.clients[id];
        let protocol = connection.session.protocol;
        let table = connection.session.table;
        let places: Vec<usize> = keys(spec, *args).collect();
        let bytes = args.from(0).map(<[u8]>::len).sum();
        let gather = Gather::new(join, protocol, places.len())
            .within(self.core.shared.settings.output_max())
            .reading(spec.has(flag::READONLY))
            .costing(bytes);
        let Some(table) = self.core.table(table).map(|state| state.id) else {
            return self.refuse(id, Some(spec), &dropped_table());
        };
        let deadline = self.core.deadline();
        let token = self.open_gather(id, gather);
        for (part, at) in places.into_iter().enumerate() {
            let token = Token {
                part: part as u32,
                ..token
            };
            let mut part_args = OwnedArgs::with_capacity(args.at(at).len() + 8, 1 + step);
            part_args.push(part_spec.name.as_bytes());
            for offset in 0..step {
                part_args.push(args.at(at + offset));
            }
            let work = Work::Command(part_spec, part_args);
            let origin = self.core.own(token);
            self.begin(Request::new(origin, table, protocol, work, deadline));
        }
    }
}

/// The commands that are split by key: the command on one key, and how the replies join.
pub(super) const fn split(id: CommandId) -> Option<(&'static str, Join)> {
    match id {
        CommandId::Mget => Some(("get", Join::Array)),
        CommandId::Mset => Some(("set", Join::Ok)),
        CommandId::Del => Some(("del", Join::Sum)),
        CommandId::Unlink => Some(("unlink", Join::Sum)),
        CommandId::Exists => Some(("exists", Join::Sum)),
        CommandId::Touch => Some(("touch", Join::Sum)),
        _ => None,
    }
}
