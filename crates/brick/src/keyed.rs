//! Commands on keys: where each runs, and what happens when it cannot run at once.
//!
//! In:  a checked request with keys. Out: its reply in place; or a placeholder in the output that another
//!      brick, or a value read back from the log, will fill.
//!
//! Invariants:
//! - A command whose keys are all in one slot takes effect at one instant, on every port.
//! - At the node port so does one whose keys are of several slots ([`crate::distributed`]).
//! - A command that is merely many (MGET, MSET, DEL, ...) is split by key at the node port, and
//!   each key's part takes effect at one instant.
//! - Commands that touch a key for which a request waits wait behind it.
//!
//! The files: this one the way of a client's command from its request to its reply, `admission` (may it run
//! here, now), `scatter` (in parts, by key), `run` (on one partition), `work` (of a request), `attempt` (one with an id), `exec` (a transaction), `part` (what a distributed one asks), `script` (what a script calls),
//! `touched` (keys on which a request waits). What does not run at once goes on in `dispatch`.

mod admission;
mod attempt;
mod exec;
mod part;
mod run;
mod scatter;
mod script;
mod step_view;
mod touched;
mod work;

pub(crate) use admission::{Admission, admission_of, may_run};
pub(crate) use attempt::{Asked, asked, honest_line, honest_reply, name_work};
pub(crate) use exec::{Stepped, admit_steps, run_all};
pub(crate) use part::put_intent;
pub(crate) use run::{Caller, Missing, Ran, ran, write_refusal};
pub(crate) use script::ScriptRun;
pub(crate) use step_view::StepView;
#[cfg(test)]
pub(crate) use touched::key_ref;
pub(crate) use touched::{is_behind_values, keys_of, must_await_values};
pub(crate) use work::execute_work;

use crate::accepted::{ConnectionId, Port};
use crate::batch::Target;
use crate::clients::{Clients, wants_reply};
use crate::core::Core;
use crate::gather::{Gather, Join};
use crate::log::Writer;
use crate::output::CommitDependency;
use crate::refusal::{
    CROSSSLOT, EARLIER_NODE, EARLIER_NODE_LEASES, dropped_table, may_distribute, no_table, port_of,
    redirect,
};
use crate::request::{Attempt, Request, UNBOUNDED, Work};
use crate::transaction::Transaction;
use crate::view::{ColdWanted, Redirect};
pub(crate) use admission::admission;
use admission::behind_earlier;
use attempt::run_attempt;
use brickyard_command::table::{category, flag};
use brickyard_command::{Args, CommandId, ErrorReply, Spec, check_key_lengths, keys};
use brickyard_metadata::Level;
use brickyard_routing::Member;
use brickyard_types::TableId;
use brickyard_wire::Protocol;
use run::{Call, run};
use scatter::{scatter, split};

/// What is left to do for a command on keys.
#[derive(Debug)]
pub(crate) enum Left {
    /// Its reply is written.
    Nothing,
    /// It waits until something changes.
    AwaitView(Request),
    /// Another brick is asked.
    Forward(Member, Request),
    /// It waits for these values, or behind what waits for them.
    AwaitValues(Request, Vec<ColdWanted>),
    /// It cannot be answered here and now.
    Redirect(Redirect, Request),
    /// Its parts begin, each by itself.
    Begin(Vec<Request>),
    /// It begins when all before it has been answered.
    Last(Box<Request>),
}

impl Left {
    /// The requests that are left.
    pub(crate) fn requests(&mut self) -> Box<dyn Iterator<Item = &mut Request> + '_> {
        match self {
            Self::Nothing => Box::new(std::iter::empty()),
            Self::AwaitView(request)
            | Self::Forward(_, request)
            | Self::AwaitValues(request, _)
            | Self::Redirect(_, request) => Box::new(std::iter::once(request)),
            Self::Begin(all) => Box::new(all.iter_mut()),
            Self::Last(request) => Box::new(std::iter::once(&mut **request)),
        }
    }
}

/// Executes a client's command on keys, which may have an id: its reply is written, or a place is left for it.
#[inline]
pub(crate) fn execute(
    core: &mut Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    target: Option<Target>,
    args: &Args<'_>,
    attempt: Option<Attempt>,
) -> Result<Left, ErrorReply> {
    let is_tracked = spec.has(flag::READONLY) && clients.tracks(id);
    let connection = &clients[id];
    let table = connection.session.table;
    let protocol = connection.session.protocol;
    let port = connection.accepted.port;
    let port = core.table(table).map_or(port, |it| port_of(it, port));
    // The table may have changed since the batch was parsed.
    let target = target.filter(|target| target.table == table);
    let first = spec.key_first as usize;
    let location = match target {
        Some(target) => target.location,
        None => match core.locate(table, args.get(first).unwrap_or_default()) {
            Some(location) => location,
            None => return Err(no_table(attempt)),
        },
    };
    let has_one_key = spec.key_first == spec.key_last;
    if !has_one_key {
        // Before anything is done: a command that is refused must not have done half.
        check_key_lengths(spec, *args)?;
        let slots_agree = keys(spec, *args).all(|at| {
            core.locate(table, args.at(at))
                .is_some_and(|it| it.leaf == location.leaf && it.slot == location.slot)
        });
        if !slots_agree {
            if port == Port::Node
                && attempt.is_none()
                && let Some(split) = split(spec.id)
            {
                return scatter(core, clients, id, spec, split, args).map(Left::Begin);
            }
            if attempt.is_some() {
                return Err(CROSSSLOT);
            }
            may_distribute(core, port)?;
            let transaction = Transaction::of_command(spec, args.to_owned()).anchored();
            let table = core.table(table).ok_or_else(dropped_table)?.id;
            let work = Work::Transaction(Box::new(transaction));
            let request = defer(core, clients, id, table, work);
            return Ok(Left::Last(Box::new(request)));
        }
    }
    let Some(state) = core.table(table) else {
        return Err(no_table(attempt));
    };
    let reads_only = spec.has(flag::READONLY);
    // The node port serves whatever is right; a cluster client says that replicas will do. Who holds copies the primary knows.
    let from_backup = (port == Port::Node || connection.session.is_readonly) && !is_tracked;
    let admission = admission(core, state, location.leaf, reads_only, from_backup);
    let admission = if connection.gathers.is_empty() {
        admission
    } else {
        behind_earlier(core, admission, id, location, state)
    };
    let table_id = state.id;
    match admission {
        Admission::Serves => {}
        Admission::Refused(error) => return Err(error),
        Admission::Waits => {
            let work = Work::of(spec, args, attempt);
            let request = defer(core, clients, id, table_id, work);
            return Ok(Left::AwaitView(request));
        }
        Admission::Elsewhere(owner) => {
            if let Some(moved) = redirect(core, port, state, location) {
                return Err(moved);
            }
            if spec.categories & category::HASH != 0 && !core.shared.lowest_level.has(Level::HASHES)
            {
                return Err(EARLIER_NODE);
            }
            if spec.id == CommandId::LeaseGet && !core.shared.lowest_level.has(Level::LEASES) {
                return Err(EARLIER_NODE_LEASES);
            }
            let work = Work::of(spec, args, attempt);
            let request = defer(core, clients, id, table_id, work);
            return Ok(Left::Forward(owner, request));
        }
    }
    if is_behind_values(core, spec, *args, table) {
        let work = Work::of(spec, args, attempt);
        let request = defer(core, clients, id, table_id, work);
        return Ok(Left::AwaitValues(request, Vec::new()));
    }
    let caller = Caller {
        table,
        protocol,
        writer: Writer::of(core.member(), id),
        // The connection executes no more when it has much to send.
        room: UNBOUNDED,
        tracker: is_tracked.then(|| core.member()),
        lessee: (protocol == Protocol::Resp3).then_some((id, connection.client)),
    };
    let call = Call {
        spec,
        args: *args,
        location,
        caller,
        values: &[],
    };
    // The hot path: the reply goes straight into the client's output.
    let connection = &mut clients[id];
    let is_wanted = wants_reply(connection);
    let out = connection.output.begin();
    let start = out.len();
    let ran = match attempt {
        None => run(core, &call, out),
        Some(attempt) => run_attempt(core, &call, attempt, out),
    };
    let missing = match ran {
        Ok(dependency) if is_wanted => {
            connection.output.end(start, dependency);
            return Ok(Left::Nothing);
        }
        Ok(_) => {
            // Nor an error, should the log refuse it.
            out.truncate(start);
            connection.output.end(start, CommitDependency::NONE);
            return Ok(Left::Nothing);
        }
        Err(missing) => missing,
    };
    out.truncate(start);
    connection.output.end(start, CommitDependency::NONE);
    let work = Work::of(spec, args, attempt);
    let request = defer(core, clients, id, table_id, work);
    Ok(match missing {
        Missing::Values(wanted) => Left::AwaitValues(request, wanted),
        Missing::Redirect(redirect) => Left::Redirect(redirect, request),
        Missing::Room(_) => Left::Begin(vec![request]),
    })
}

/// A client's request that is not answered at once: its reply gets a place in the client's output.
fn defer(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    table: TableId,
    work: Work,
) -> Request {
    let protocol = clients[id].session.protocol;
    let gather = Gather::new(Join::Only, protocol, 1).costing(work.memory_bytes());
    let origin = core.own(clients.open_gather(id, gather));
    Request::new(origin, table, protocol, work, core.deadline())
}
