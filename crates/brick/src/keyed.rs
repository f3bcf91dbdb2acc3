//! Commands on keys: where each runs, and what happens when it cannot run at once.
//!
//! In:  a checked request with keys. Out: its reply in place; or a hole in the output that another
//!      brick, or a value read back from the log, will fill.
//!
//! Invariants:
//! - A command whose keys are all in one slot takes effect at one instant, on every port.
//! - A command that is merely many (MGET, MSET, DEL, ...) is split by key at the node port, and
//!   each key's part takes effect at one instant.
//! - Commands that touch a key for which a request waits wait behind it.
//!
//! The files: this one the way of a client's command from its request to its reply, `admission` (may it run
//! here, now), `scatter` (in parts, by key), `run` (on one partition), `attempt` (one with an id), `exec` (a transaction),
//! `reply` (replies in parts). What does not run at once goes on in `dispatch`.

mod admission;
mod attempt;
mod exec;
mod reply;
mod run;
mod scatter;

pub(crate) use admission::{Admission, too_few};
pub(crate) use attempt::{honest_line, honest_reply};
pub(crate) use run::{Caller, Missing};

use crate::accepted::{ConnectionId, Port};
use crate::batch::Target;
use crate::brick::Brick;
use crate::clients::wants_reply;
use crate::executed::Attempt;
use crate::gather::{Gather, Join};
use crate::log::Writer;
use crate::output::Gate;
use crate::refusal::{CROSSSLOT, dropped_table, redirect};
use crate::request::{Request, Work};
use admission::admission;
use attempt::run_attempt;
use brickyard_command::{Args, ErrorReply, Spec, check_key_lengths, keys, table::flag};
use brickyard_routing::Member;
use brickyard_types::TableId;
use run::{Call, run};
use scatter::split;

impl Brick {
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
        attempt: Option<Attempt>,
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
                None => return self.refuse(id, Some(spec), &no_table(attempt)),
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
                    && attempt.is_none()
                    && let Some((part, join)) = split(spec.id)
                {
                    return self.scatter(id, spec, part, join, args);
                }
                return self.refuse(id, Some(spec), &CROSSSLOT);
            }
        }
        let Some(state) = self.core.table(table) else {
            return self.refuse(id, Some(spec), &no_table(attempt));
        };
        let reads_only = spec.has(flag::READONLY);
        // The node port serves whatever is right; a cluster client says that replicas will do.
        let from_backup = port == Port::Node || connection.session.is_readonly;
        let admission = admission(&self.core, state, location.leaf, reads_only, from_backup);
        let admission = if connection.gathers.is_empty() {
            admission
        } else {
            self.behind_earlier(admission, id, location, state)
        };
        let table_id = state.id;
        match admission {
            Admission::Serves => {}
            Admission::Refused(error) => return self.refuse(id, Some(spec), &error),
            Admission::Waits => {
                let request = self.defer(id, table_id, Work::of(spec, args, attempt));
                return self.await_view(request, None);
            }
            Admission::Elsewhere(owner) => {
                if let Some(moved) = redirect(&self.core, port, state, location) {
                    return self.refuse(id, Some(spec), &moved);
                }
                let request = self.defer(id, table_id, Work::of(spec, args, attempt));
                return self.forward(owner, request);
            }
        }
        if self.is_behind_values(spec, *args, table) {
            let request = self.defer(id, table_id, Work::of(spec, args, attempt));
            return self.await_values(request, Vec::new());
        }
        let caller = Caller {
            table,
            protocol,
            writer: writer_of(self.core.member(), id),
        };
        let call = Call {
            spec,
            args: *args,
            location,
            caller,
            values: &[],
        };
        // The hot path: the reply goes straight into the client's output.
        let connection = &mut self.clients[id];
        let is_wanted = wants_reply(connection);
        let out = connection.output.begin();
        let start = out.len();
        let ran = match attempt {
            None => run(&mut self.core, &call, out),
            Some(attempt) => run_attempt(&mut self.core, &call, attempt, out),
        };
        let missing = match ran {
            Ok(gate) if is_wanted => return connection.output.end(start, gate),
            Ok(_) => {
                // Nor an error, should the log refuse it.
                out.truncate(start);
                return connection.output.end(start, Gate::OPEN);
            }
            Err(missing) => missing,
        };
        out.truncate(start);
        connection.output.end(start, Gate::OPEN);
        let request = self.defer(id, table_id, Work::of(spec, args, attempt));
        match missing {
            Missing::Values(wanted) => self.await_values(request, wanted),
            Missing::Detour(detour) => self.detour(detour, request),
        }
    }

    /// A client's request that is not answered at once: its reply gets a place in the client's output.
    fn defer(&mut self, id: ConnectionId, table: TableId, work: Work) -> Request {
        let protocol = self.clients[id].session.protocol;
        let gather = Gather::new(Join::Only, protocol, 1).costing(work.memory_bytes());
        let token = self.open_gather(id, gather);
        let origin = self.core.own(token);
        Request::new(origin, table, protocol, work, self.core.deadline())
    }
}

/// Who prepares what a connection of some brick writes.
pub(crate) fn writer_of(member: Member, connection: ConnectionId) -> Writer {
    let node = u64::from(member.node.0) << 44;
    Writer(node | u64::from(member.brick.0) << 32 | u64::from(connection.0))
}

/// The same for what may have been asked before: elsewhere the table may be known, and that attempt executed.
pub(crate) fn no_table(attempt: Option<Attempt>) -> ErrorReply {
    if attempt.is_some_and(|attempt| attempt.is_again) {
        return ErrorReply::constant(
            "UNKNOWNRESULT an earlier attempt may have been executed; this one was not: the table was dropped, or is not \
             made yet here",
        );
    }
    dropped_table()
}
