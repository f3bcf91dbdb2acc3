//! Executing work on this brick's partitions: admitted, and run against one view.

use crate::core::Core;
use crate::keyspace_events::Cause;
use crate::log::Writer;
use crate::memory;
use crate::output::CommitDependency;
use crate::refusal::dropped_table;
use crate::request::{Origin, Request, UNBOUNDED};
use crate::requests::ColdValue;
use crate::settings::Settings;
use crate::stats::{Counter, Stats};
use crate::trackers::Client;
use crate::view::{ColdWanted, Finished, Redirect, RequestContext, View};
use brickyard_command::{
    Args, CommandId, ErrorReply, Failure, Spec, execute as execute_command, keys, table::flag,
};
use brickyard_routing::{Location, Member};
use brickyard_wire::{Protocol, Reply};

/// How a command on this brick's keys went: its reply is written and waits for this; or nothing was written.
pub(crate) type Ran = Result<CommitDependency, Missing>;

/// What work lacks to be executed here.
pub(crate) enum Missing {
    /// These values.
    Values(Vec<ColdWanted>),
    /// It cannot be answered here and now.
    Redirect(Redirect),
    /// Room for a reply of so many bytes.
    Room(usize),
}

/// On which table work is run, and for whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) table: usize,
    pub(crate) protocol: Protocol,
    pub(crate) writer: Writer,
    /// How long the reply may be.
    pub(crate) room: usize,
    /// The client keeps copies of what it reads; its connection is with this brick.
    pub(crate) tracker: Option<Member>,
    /// A client of this brick, which can be told to give leases back.
    pub(crate) lessee: Option<Client>,
}

impl Caller {
    /// Whoever asks a request of brick `own`.
    pub(crate) fn of(request: &Request, table: usize, own: Member) -> Self {
        let Origin { member, token } = request.origin;
        let is_told = member == own && !token.is_of_part() && request.protocol == Protocol::Resp3;
        Self {
            table,
            protocol: request.protocol,
            writer: Writer::of(member, token.connection),
            room: request.room,
            tracker: request.is_tracked.then_some(member),
            lessee: is_told.then_some((token.connection, token.client)),
        }
    }
}

/// Everything that a command on one partition is run with.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) spec: &'static Spec,
    pub(crate) args: Args<'a>,
    /// Where its first key is.
    pub(crate) location: Location,
    pub(crate) caller: Caller,
    pub(crate) values: &'a [ColdValue],
}

/// Whether one call of the command may write more than one key.
#[inline]
const fn writes_many(id: CommandId) -> bool {
    matches!(
        id,
        CommandId::Mset
            | CommandId::Msetnx
            | CommandId::Del
            | CommandId::Unlink
            | CommandId::Rename
            | CommandId::Renamenx
            | CommandId::Copy
            | CommandId::Bitop
    )
}

/// Whether the command's reply has the values of its keys as they were, so that its length is known before it has changed them.
#[inline]
const fn tells_values(id: CommandId) -> bool {
    matches!(
        id,
        CommandId::Dump
            | CommandId::Get
            | CommandId::Getdel
            | CommandId::Getex
            | CommandId::Getset
            | CommandId::Hget
            | CommandId::Hgetall
            | CommandId::Hgetdel
            | CommandId::Hgetex
            | CommandId::Hkeys
            | CommandId::Hmget
            | CommandId::Hrandfield
            | CommandId::Hscan
            | CommandId::Hvals
            | CommandId::LeaseGet
            | CommandId::Mget
            | CommandId::Set
    )
}

/// How many bytes of values a command may read for its reply.
#[inline]
pub(super) const fn values_room(id: CommandId, room: usize) -> usize {
    if !tells_values(id) {
        UNBOUNDED
    } else if matches!(id, CommandId::Getex | CommandId::Hgetex) {
        // It reads the value once more to give it, or fields of it, another expiry.
        room.saturating_mul(2)
    } else {
        room
    }
}

/// A table is at its bound, and the write would make it grow.
const FULL: ErrorReply =
    ErrorReply::constant("OOM command not allowed when used memory > 'maxmemory'.");

/// Why writes are refused before they are looked at.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) error: ErrorReply,
    /// What counts it.
    counter: Option<fn(&Stats) -> &Counter>,
}

impl Refusal {
    fn counted(error: ErrorReply, counter: fn(&Stats) -> &Counter) -> Self {
        Self {
            error,
            counter: Some(counter),
        }
    }

    /// A write was refused for it.
    pub(super) fn count(&self, stats: &Stats) {
        if let Some(counter) = self.counter {
            counter(stats).add(1);
        }
    }
}

/// Why a write is refused before it is looked at; makes room for it where the table does so.
#[inline(always)]
pub(super) fn admit(
    core: &mut Core,
    spec: &Spec,
    args: Args<'_>,
    table: usize,
) -> Result<(), ErrorReply> {
    let grows = spec.has(flag::DENYOOM).then_some(args);
    match refusal(core, grows, table) {
        None => Ok(()),
        Some(refusal) => {
            refusal.count(core.stats());
            Err(refusal.error)
        }
    }
}

/// Why a write would be refused; one with these arguments may make the table grow.
#[inline(always)]
pub(super) fn refusal(core: &mut Core, grows: Option<Args<'_>>, table: usize) -> Option<Refusal> {
    let Some(state) = core.table(table) else {
        return Some(Refusal {
            error: dropped_table(),
            counter: None,
        });
    };
    let is_bounded = state.table.has_memory_max();
    if let Some(args) = grows
        && is_bounded
        && !memory::admits(core, table, args.bytes_len())
    {
        return Some(Refusal::counted(FULL, |stats| &stats.errors.memory));
    }
    let Some(state) = core.table(table) else {
        return Some(Refusal {
            error: dropped_table(),
            counter: None,
        });
    };
    if grows.is_some()
        && let Some(text) = core.segments.health.refusal(core.now)
        && state.is_logged()
    {
        let error = ErrorReply::new(text.to_owned());
        return Some(Refusal::counted(error, |stats| &stats.errors.disk));
    }
    let pending = core.log.pending_bytes() as u64;
    let bytes_max = Settings::load(&core.shared.settings.pending_bytes_max);
    let held = core.log.bytes_held() as u64;
    if held > bytes_max {
        let error = ErrorReply::new(format!(
            "BUSY brick {} has {held} bytes of writes waiting for replicas; the write was not executed, try \
             again later",
            core.id
        ));
        return Some(Refusal::counted(error, |stats| &stats.errors.busy));
    }
    if state.is_logged() && pending > bytes_max {
        let error = ErrorReply::new(format!(
            "BUSY brick {} has {pending} bytes of writes waiting for its disk; the write was not \
             executed, try again later",
            core.id
        ));
        return Some(Refusal::counted(error, |stats| &stats.errors.busy));
    }
    None
}

/// Why no write is taken now; `grows`: bytes by which it may make the table grow. It is counted.
pub(crate) fn write_refusal(
    core: &mut Core,
    table: usize,
    grows: Option<usize>,
) -> Option<ErrorReply> {
    let is_full = grows.is_some_and(|bytes| !memory::admits(core, table, bytes));
    let refusal = match is_full {
        true => Refusal::counted(FULL, |stats| &stats.errors.memory),
        false => refusal(core, grows.map(|_| Args::new(&[], &[])), table)?,
    };
    refusal.count(core.stats());
    Some(refusal.error)
}

/// Runs a command on one partition of this brick and writes its reply to `out`.
#[inline]
pub(crate) fn run(core: &mut Core, call: &Call<'_>, out: &mut Vec<u8>) -> Ran {
    let Call { spec, caller, .. } = *call;
    let Caller {
        table,
        protocol,
        writer,
        room,
        tracker,
        ..
    } = caller;
    let reads_only = spec.has(flag::READONLY);
    let mut reply = Reply::new(out, protocol);
    if !reads_only && let Err(error) = admit(core, spec, call.args, table) {
        reply.error_bytes(error.as_bytes());
        return Ok(CommitDependency::NONE);
    }
    let start = reply.position();
    let context = RequestContext {
        writer,
        reads_only,
        // A write that was prepared before has recalled no copy of this reader's, and has waited for no lease of it.
        sees_prepared: tracker.is_some() || spec.id == CommandId::LeaseGet,
        writes_many: writes_many(spec.id),
        sees_intents: false,
        values_max: values_room(spec.id, room),
    };
    let mut finished = attempt(core, call, context, &mut reply);
    if finished.is_fractured {
        reply.truncate(start);
        let context = RequestContext {
            sees_prepared: true,
            ..context
        };
        finished = attempt(core, call, context, &mut reply);
    }
    let ran = ran(finished);
    if ran.is_err() {
        reply.truncate(start);
    } else if let Some(tracker) = tracker {
        let keys = keys(spec, call.args).map(|at| call.args.at(at));
        note_copies(core, table, tracker, keys);
    }
    ran
}

/// A client of that brick has read these keys, and keeps copies.
#[cold]
pub(super) fn note_copies<'a>(
    core: &mut Core,
    table: usize,
    tracker: Member,
    keys: impl Iterator<Item = &'a [u8]>,
) {
    let Some(table) = core.table(table).map(|state| state.id) else {
        return;
    };
    let keys_max = Settings::load(&core.shared.settings.tracked_keys_max);
    for key in keys {
        core.holders.note_read(table, key, tracker, keys_max);
    }
}

/// What became of work. If it lacks something, what it wrote into the reply has to go.
#[inline]
pub(crate) fn ran(finished: Finished) -> Ran {
    match (finished.redirect, finished.values_needed) {
        (Some(redirect), _) => Err(Missing::Redirect(redirect)),
        (None, Some(needed)) => Err(Missing::Room(needed)),
        (None, None) if finished.wanted.is_empty() => Ok(finished.dependency),
        (None, None) => Err(Missing::Values(finished.wanted)),
    }
}

/// Runs the command as this asker.
#[inline]
fn attempt(
    core: &mut Core,
    call: &Call<'_>,
    context: RequestContext,
    reply: &mut Reply<'_>,
) -> Finished {
    let start = reply.position();
    let Call {
        spec,
        args,
        location,
        caller,
        values,
    } = *call;
    let key = args.at(spec.key_first as usize);
    let mut view = View::new(core, caller.table, context, (key, location), values);
    view.because(|| Cause::of(spec.id, args));
    view.let_keep(caller.lessee);
    match execute_command(spec.id, args, &mut view, reply) {
        Ok(()) => view.finish(),
        Err(Failure::Error(error)) => {
            let finished = view.abandon();
            reply.truncate(start);
            reply.error_bytes(error.as_bytes());
            core.stats().errors.replied.add(1);
            if error.as_bytes().starts_with(b"DAMAGED") {
                core.stats().errors.damaged.add(1);
            }
            if let Some(command) = core.stats().commands_by_id.get(spec.id as usize) {
                command.failed.add(1);
            }
            finished
        }
        Err(Failure::Suspend) => view.abandon(),
    }
}
