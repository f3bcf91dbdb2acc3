//! Requests with ids: executed once however often they come (rule `requests are executed once`).
//!
//! In:  `REQUEST client sequence FIRST|AGAIN command ...`. Out: the command's reply, whether it was executed now
//!      or before; or an error that says which of the two is not known.
//!
//! Not here: what is remembered, and for how long (`requests`).

use super::run::{Call, Caller, Missing, Ran, admit, ran, values_room};
use crate::check::check;
use crate::connection::Connection;
use crate::core::Core;
use crate::executed::{Recall, micros, put_kept};
use crate::keyspace_events::Cause;
use crate::output::CommitDependency;
use crate::refusal::error_line;
use crate::request::{Attempt, Work};
use crate::view::{Redirect, RequestContext, View};
use brickyard_command::request::RequestArgs;
use brickyard_command::{
    Args, CommandId, ErrorReply, Failure, Spec, execute as execute_command, is_data_command,
    table::flag,
};
use brickyard_types::record::RequestId;
use brickyard_wire::{IDS_UP_TO, Reply, UNKNOWN_EXECUTED, UNKNOWN_FORGOTTEN, is_not_executed};

/// What `REQUEST` asks for.
pub(crate) enum Asked<'a> {
    /// The time that ids follow, in microseconds.
    Now(i64),
    /// A command with an id.
    Command(&'static Spec, Args<'a>, Attempt),
}

/// Reads `REQUEST`, and checks the command in it as if that had come alone.
pub(crate) fn asked<'a>(
    core: &Core,
    connection: &mut Connection,
    args: &Args<'a>,
) -> Result<Asked<'a>, ErrorReply> {
    let (client, sequence, is_again) = match RequestArgs::parse(*args)? {
        RequestArgs::Now => {
            return Ok(Asked::Now(
                i64::try_from(micros(core.unix)).unwrap_or(i64::MAX),
            ));
        }
        RequestArgs::Run {
            client,
            sequence,
            is_again,
        } => (client, sequence, is_again),
    };
    let args = args.skip(RequestArgs::WORDS);
    let spec = check(core, connection, None, &args)?;
    let is_write = is_data_command(spec.id) && spec.has(flag::WRITE) && spec.key_first > 0;
    if !is_write || spec.id == CommandId::Move {
        return Err(ErrorReply::new(format!(
            "ERR REQUEST is for commands that write keys of one slot, and '{}' is none; send it without an id",
            spec.name
        )));
    }
    let attempt = Attempt {
        id: RequestId { client, sequence },
        is_again,
        was_lost: false,
    };
    Ok(Asked::Command(spec, args, attempt))
}

/// Runs a request on one partition of this brick, unless it was executed before, and writes its reply to `out`.
pub(super) fn run_attempt(
    core: &mut Core,
    call: &Call<'_>,
    attempt: Attempt,
    out: &mut Vec<u8>,
) -> Ran {
    let Call {
        spec,
        args,
        location,
        caller,
        values,
    } = *call;
    let Caller {
        table,
        protocol,
        writer,
        room,
        ..
    } = caller;
    let recall = core.table(table).and_then(|state| {
        let held = state.partitions.get(location.leaf as usize)?.as_ref()?;
        Some(held.recall(attempt.id, core.unix, &core.log))
    });
    match recall.unwrap_or(Recall::New) {
        Recall::New => {}
        Recall::Undecided => return Err(Missing::Redirect(Redirect::Wait)),
        Recall::Done(dependency, Some(reply)) => {
            put_kept(out, reply, protocol);
            return Ok(dependency);
        }
        Recall::Done(dependency, None) => {
            let text = format!(
                "{UNKNOWN_EXECUTED} the request was executed when it came first, and its reply was too long to be \
                 kept: read the key to know"
            );
            Reply::new(out, protocol).error(&text);
            return Ok(dependency);
        }
        Recall::Forgotten(floor) => {
            let text = forgotten(floor, attempt);
            Reply::new(out, protocol).error(&text);
            return Ok(CommitDependency::NONE);
        }
        Recall::Ahead => {
            let now = micros(core.unix);
            Reply::new(out, protocol).error(&format!(
                "ERR the sequence {} is more than an hour ahead of this brick's clock, which says {now} (REQUEST \
                 NOW); the command was not executed",
                attempt.id.sequence
            ));
            return Ok(CommitDependency::NONE);
        }
    }
    let mut reply = Reply::new(out, protocol);
    if let Err(error) = admit(core, spec, args, table) {
        reply.error_bytes(&honest(attempt, error.as_bytes()));
        return Ok(CommitDependency::NONE);
    }
    let start = reply.position();
    let context = RequestContext {
        writer,
        reads_only: false,
        sees_prepared: false,
        // So that the reply is known when the record is made.
        writes_many: true,
        sees_intents: false,
        values_max: values_room(spec.id, room),
    };
    let key = args.at(spec.key_first as usize);
    let mut view = View::new(core, table, context, (key, location), values);
    view.because(|| Cause::of(spec.id, args));
    let outcome = execute_command(spec.id, args, &mut view, &mut reply);
    let failed = match &outcome {
        Ok(()) => None,
        Err(Failure::Suspend) => {
            reply.truncate(start);
            return ran(view.abandon());
        }
        Err(Failure::Error(error)) => {
            reply.truncate(start);
            reply.error_bytes(error.as_bytes());
            Some(error)
        }
    };
    let finished = view.finish_request(
        attempt,
        out.get(start..).unwrap_or_default(),
        failed.is_some(),
    );
    if let Some(error) = failed {
        core.stats().errors.replied.add(1);
        if error.as_bytes().starts_with(b"DAMAGED") {
            core.stats().errors.damaged.add(1);
        }
        if let Some(command) = core.stats().commands_by_id.get(spec.id as usize) {
            command.failed.add(1);
        }
    }
    let ran = ran(finished);
    if ran.is_err() {
        out.truncate(start);
    }
    ran
}

/// Gives an id to a command that writes and goes to another node: should the stream break, it may be sent
/// again.
pub(crate) fn name_work(work: Work, draw: impl FnOnce() -> RequestId) -> Work {
    match work {
        Work::Command(spec, args)
            if is_data_command(spec.id) && spec.has(flag::WRITE) && spec.key_first > 0 =>
        {
            let attempt = Attempt {
                id: draw(),
                is_again: false,
                was_lost: false,
            };
            Work::Attempt(attempt, spec, args)
        }
        work => work,
    }
}

fn forgotten(floor: u64, attempt: Attempt) -> String {
    if attempt.is_again {
        return format!(
            "{UNKNOWN_FORGOTTEN} this brick does not remember what became of requests of that time; the write may \
             or may not have been executed: read the key to know"
        );
    }
    format!(
        "{IDS_UP_TO}{floor} are not all remembered here; the command was not executed, send it with a higher sequence"
    )
}

/// The line of an error about work of which an attempt may be under way elsewhere.
pub(crate) fn honest_line(work: &Work, error: &ErrorReply) -> Vec<u8> {
    match work {
        Work::Attempt(attempt, ..) => {
            error_line(&ErrorReply::new(honest(*attempt, error.as_bytes())))
        }
        _ => error_line(error),
    }
}

/// The same for a reply as another brick made it.
pub(crate) fn honest_reply(attempt: Attempt, reply: Vec<u8>) -> Vec<u8> {
    let error = reply
        .strip_prefix(b"-")
        .and_then(|it| it.strip_suffix(b"\r\n"));
    match error {
        Some(error) if attempt.was_lost => error_line(&ErrorReply::new(honest(attempt, error))),
        _ => reply,
    }
}

/// An error about a request of which an attempt may be under way elsewhere: it does not promise that the request
/// will not be executed.
fn honest(attempt: Attempt, error: &[u8]) -> Vec<u8> {
    if attempt.was_lost && is_not_executed(error) {
        let start = b"UNKNOWNRESULT an earlier attempt was lost on its way and may have been executed, this one was \
                      not: ";
        return [&start[..], error].concat();
    }
    error.to_vec()
}
