//! Commands on keys: where each runs, and what happens when it cannot run at once.
//!
//! In:  a checked request with keys. Out: its reply in place; or a hole in the output that another
//!      brick, or a value read back from the log, will fill.
//!
//! Invariants:
//! - A command whose keys are all in one slot takes effect at one instant, on every port.
//! - A command that is merely many (MGET, MSET, DEL, ...) is split by key at the node port, and
//!   each key's part takes effect at one instant.
//! - Commands that touch a key which a parked command waits for park behind it.
//!
//! The files: this one the way of a client's command from its request to its reply, `standing` (may it run
//! here, now), `place` (which brick runs it), `run` (on one partition), `request` (one with an id), `exec` (a transaction), `park` (values
//! that are in the log alone), `reply` (replies in parts).

mod exec;
mod park;
mod place;
mod reply;
mod request;
mod run;
mod standing;

pub(crate) use request::{honest_line, honest_reply};
pub(crate) use run::{Missing, Share};
pub(crate) use standing::too_few;

use crate::batch::Target;
use crate::brick::Brick;
use crate::clients::wants_reply;
use crate::connection::ConnectionId;
use crate::effect::Port;
use crate::forward::{Origin, Work};
use crate::gather::{Gather, Join};
use crate::log::Writer;
use crate::output::Gate;
use crate::requests::Request;
use brickyard_command::{Args, ErrorReply, Spec, check_key_lengths, keys, table::flag};
use brickyard_routing::Member;
use brickyard_wire::{Protocol, Reply};
use place::split;
use request::run_request;
use run::{Call, Ran, run};
use standing::{Standing, standing};

pub(crate) const CROSSSLOT: ErrorReply =
    ErrorReply::constant("CROSSSLOT Keys in request don't hash to the same slot");

impl Brick {
    /// Who prepares what this connection writes.
    #[inline]
    pub(crate) fn writer(&self, id: ConnectionId) -> Writer {
        writer_of(self.core.member(), id)
    }

    #[inline]
    pub(crate) fn execute_keyed(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        target: Option<Target>,
        args: &Args<'_>,
    ) {
        self.execute_named(id, spec, target, args, None);
    }

    /// The same, for a request that may have an id.
    #[inline]
    fn execute_named(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        target: Option<Target>,
        args: &Args<'_>,
        request: Option<Request>,
    ) {
        let connection = &self.clients[id];
        let table = connection.session.table;
        let protocol = connection.session.protocol;
        let port = connection.accepted.port;
        // The table may have changed since the batch was parsed.
        let target = target.filter(|target| target.table == table);
        let first = spec.key_first as usize;
        let location = match target {
            Some(target) => target.location,
            None => match self.core.locate(table, args.get(first).unwrap_or_default()) {
                Some(location) => location,
                None => return self.refuse(id, Some(spec), &no_table(request)),
            },
        };
        let has_one_key = spec.key_first == spec.key_last;
        if !has_one_key {
            // Before anything is done: a command that is refused must not have done half.
            if let Err(error) = check_key_lengths(spec, *args) {
                return self.refuse(id, Some(spec), &error);
            }
            let slots_agree = keys(spec, *args).all(|at| {
                self.core
                    .locate(table, args.at(at))
                    .is_some_and(|it| it.leaf == location.leaf && it.slot == location.slot)
            });
            if !slots_agree {
                if port == Port::Node
                    && request.is_none()
                    && let Some((part, join)) = split(spec.id)
                {
                    return self.scatter(id, spec, part, join, args);
                }
                return self.refuse(id, Some(spec), &CROSSSLOT);
            }
        }
        let Some(state) = self.core.table(table) else {
            return self.refuse(id, Some(spec), &no_table(request));
        };
        let reads_only = spec.has(flag::READONLY);
        // The node port serves whatever is right; a cluster client says that replicas will do.
        let from_backup = port == Port::Node || connection.session.is_readonly;
        let standing = standing(&self.core, state, location.leaf, reads_only, from_backup);
        let standing = if connection.gathers.is_empty() {
            standing
        } else {
            self.behind_earlier(standing, id, location, state)
        };
        match standing {
            Standing::Serves => {}
            Standing::Refused(error) => return self.refuse(id, Some(spec), &error),
            elsewhere => {
                if matches!(elsewhere, Standing::Elsewhere(_))
                    && let Some(moved) = self.redirect(port, state, location)
                {
                    return self.refuse(id, Some(spec), &moved);
                }
                let work = Work::of(spec, args, request);
                let gather = Gather::new(Join::Only, protocol, 1).costing(work.memory_bytes());
                let token = self.open_gather(id, gather);
                if let Standing::Elsewhere(owner) = elsewhere {
                    let until = self.core.deadline();
                    return self.forward(owner, token, table, protocol, work, until);
                }
                return self.stall(work, table, protocol, token);
            }
        }
        let call = Call {
            spec,
            args: *args,
            table,
            location,
            protocol,
            writer: self.writer(id),
            values: &[],
        };
        if self.must_park(&call) {
            let work = Work::of(spec, args, request);
            let gather = Gather::new(Join::Only, protocol, 1).costing(work.memory_bytes());
            let token = self.open_gather(id, gather);
            let origin = Origin {
                member: self.core.member(),
                token,
            };
            return self.park(work, table, protocol, origin, call.writer, Vec::new());
        }
        // The hot path: the reply goes straight into the client's output.
        let connection = &mut self.clients[id];
        let is_wanted = wants_reply(connection);
        let out = connection.output.begin();
        let start = out.len();
        let ran = match request {
            None => run(&mut self.core, &call, out),
            Some(request) => run_request(&mut self.core, &call, request, out),
        };
        match ran {
            Ran::Done(gate) => {
                if is_wanted {
                    connection.output.end(start, gate);
                } else {
                    // Nor an error, should the log refuse it.
                    out.truncate(start);
                    connection.output.end(start, Gate::OPEN);
                }
            }
            Ran::Wants(wanted) => {
                out.truncate(start);
                connection.output.end(start, Gate::OPEN);
                let work = Work::of(spec, args, request);
                let gather = Gather::new(Join::Only, protocol, 1).costing(work.memory_bytes());
                let token = self.open_gather(id, gather);
                let origin = Origin {
                    member: self.core.member(),
                    token,
                };
                self.park(work, table, protocol, origin, self.writer(id), wanted);
            }
            Ran::Detour(detour) => {
                out.truncate(start);
                connection.output.end(start, Gate::OPEN);
                let work = Work::of(spec, args, request);
                let gather = Gather::new(Join::Only, protocol, 1).costing(work.memory_bytes());
                let token = self.open_gather(id, gather);
                self.detour(detour, work, table, protocol, token, location.leaf);
            }
        }
    }
}

/// Who prepares what a connection of some brick writes.
pub(crate) fn writer_of(member: Member, connection: ConnectionId) -> Writer {
    let node = u64::from(member.node.0) << 44;
    Writer(node | u64::from(member.brick.0) << 32 | u64::from(connection.0))
}

pub(crate) fn dropped_table() -> ErrorReply {
    ErrorReply::constant(
        "ERR the table of this connection was dropped, or is not made yet; choose another with TABLE USE or SELECT",
    )
}

/// The same for what may have been asked before: elsewhere the table may be known, and that attempt executed.
pub(crate) fn no_table(request: Option<Request>) -> ErrorReply {
    if request.is_some_and(|request| request.is_again) {
        return ErrorReply::constant(
            "UNKNOWNRESULT an earlier attempt may have been executed; this one was not: the table was dropped, or is not \
             made yet here",
        );
    }
    dropped_table()
}

pub(crate) fn error_line(error: &ErrorReply) -> Vec<u8> {
    let mut out = Vec::new();
    Reply::new(&mut out, Protocol::Resp2).error_bytes(error.as_bytes());
    out
}
