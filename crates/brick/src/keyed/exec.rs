//! `EXEC`: the commands of a transaction against one view, and what they write as one record.

use super::run::{Caller, Missing, Ran, admit, note_copies};
use super::script::ScriptRun;
use super::step_view::StepView;
use crate::core::Core;
use crate::gather::REPLY_TOO_LONG;
use crate::output::CommitDependency;
use crate::refusal::dropped_table;
use crate::request::UNBOUNDED;
use crate::requests::ColdValue;
use crate::settings::Settings;
use crate::transaction::{Step, Transaction};
use crate::view::{RequestContext, View};
use brickyard_command::{ErrorReply, Failure, execute as execute_command, table::flag};
use brickyard_wire::Reply;

/// Runs a transaction: its watched keys are as they were, and all of its writes are one record; or
/// nothing happens.
pub(super) fn run_transaction(
    core: &mut Core,
    transaction: &Transaction,
    caller: Caller,
    values: &[ColdValue],
    out: &mut Vec<u8>,
) -> Ran {
    let ran = if transaction.has_scripts() {
        let mut scripts = ScriptRun::begin(core, caller.table, transaction.only_reads());
        let ran = run_steps(core, transaction, Some(&mut scripts), caller, values, out);
        if ran.is_err() {
            scripts.forget_published();
        }
        scripts.end(core);
        ran
    } else {
        run_steps(core, transaction, None, caller, values, out)
    };
    if let Some(tracker) = caller.tracker.filter(|_| ran.is_ok()) {
        note_copies(core, caller.table, tracker, transaction.keys_read());
    }
    ran
}

fn run_steps(
    core: &mut Core,
    transaction: &Transaction,
    mut scripts: Option<&mut ScriptRun>,
    caller: Caller,
    values: &[ColdValue],
    out: &mut Vec<u8>,
) -> Ran {
    let Caller {
        table,
        protocol,
        writer,
        room,
        ..
    } = caller;
    assert!(
        transaction.anchor.is_none(),
        "a transaction over several partitions is run on one"
    );
    let first = transaction.first_key().map(<[u8]>::to_vec);
    assert!(
        !transaction.is_bare || transaction.steps.len() == 1,
        "one reply for {} steps",
        transaction.steps.len()
    );
    let mut reply = Reply::new(out, protocol);
    let Some(location) = first.as_ref().and_then(|key| core.locate(table, key)) else {
        reply.error_bytes(dropped_table().as_bytes());
        return Ok(CommitDependency::NONE);
    };
    let key = first.unwrap_or_default();
    if let Err(error) = admit_steps(core, transaction, table) {
        reply.error_bytes(error.as_bytes());
        return Ok(CommitDependency::NONE);
    }
    let context = RequestContext {
        writer,
        reads_only: false,
        sees_prepared: false,
        writes_many: true,
        sees_intents: false,
        // What it has read is in its reply, whose length is looked at before anything is written.
        values_max: UNBOUNDED,
    };
    let mut view = View::new(core, table, context, (&key, location), values);
    for watch in &transaction.watches {
        match view.is_unchanged(watch) {
            Ok(true) => {}
            Ok(false) => {
                reply.null_array();
                return Ok(view.abandon().dependency);
            }
            Err(error) => {
                let finished = view.abandon();
                if let Some(redirect) = finished.redirect {
                    return Err(Missing::Redirect(redirect));
                }
                reply.error_bytes(error.as_bytes());
                return Ok(finished.dependency);
            }
        }
    }
    let start = reply.position();
    let bytes_max = Settings::load(&view.settings().output_bytes_max);
    let stepped = run_all(
        transaction,
        scripts.as_deref_mut(),
        &mut view,
        &mut reply,
        bytes_max,
    );
    let is_suspended = match stepped {
        Stepped::Done => false,
        Stepped::Suspended => true,
        Stepped::TooLong => {
            let dependency = view.abandon().dependency;
            reply.truncate(start);
            reply.error_bytes(REPLY_TOO_LONG.as_bytes());
            return Ok(dependency);
        }
    };
    if is_suspended {
        let finished = view.abandon();
        if let Some(redirect) = finished.redirect {
            reply.truncate(start);
            return Err(Missing::Redirect(redirect));
        }
        let wanted = finished.wanted.iter().map(|want| want.value_len as usize);
        let read: usize = values.iter().map(|value| value.value.len()).sum();
        if (read + wanted.sum::<usize>()) as u64 > bytes_max {
            if let Some(scripts) = scripts {
                scripts.forget_published();
            }
            reply.truncate(start);
            reply.error_bytes(REPLY_TOO_LONG.as_bytes());
            return Ok(finished.dependency);
        }
        return Err(Missing::Values(finished.wanted));
    }
    let needed = reply.position() - start;
    if needed > room {
        let redirect = view.abandon().redirect;
        reply.truncate(start);
        return Err(redirect.map_or(Missing::Room(needed), Missing::Redirect));
    }
    let finished = view.finish();
    if let Some(redirect) = finished.redirect {
        // Rule `only the primary expires keys`: what it found expired is gone when the primary says so.
        reply.truncate(start);
        return Err(Missing::Redirect(redirect));
    }
    Ok(finished.dependency)
}

/// How the steps of a transaction went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stepped {
    Done,
    /// Something has to be there first.
    Suspended,
    /// The reply would be longer than a reply may be.
    TooLong,
}

/// Refuses a transaction with a write that is refused before it is looked at.
pub(crate) fn admit_steps(
    core: &mut Core,
    transaction: &Transaction,
    table: usize,
) -> Result<(), ErrorReply> {
    for step in &transaction.steps {
        if let Step::Command(spec, args) = step
            && !spec.has(flag::READONLY)
        {
            admit(core, spec, args.as_args(), table)?;
        }
    }
    Ok(())
}

/// Runs the steps one after the other, and writes their replies.
pub(crate) fn run_all<V: StepView>(
    transaction: &Transaction,
    mut scripts: Option<&mut ScriptRun>,
    view: &mut V,
    reply: &mut Reply<'_>,
    bytes_max: u64,
) -> Stepped {
    let first = reply.position();
    let mut is_suspended = false;
    if !transaction.is_bare {
        reply.array(transaction.steps.len());
    }
    for step in &transaction.steps {
        if (reply.position() - first) as u64 > bytes_max {
            if let Some(scripts) = scripts {
                scripts.forget_published();
            }
            return Stepped::TooLong;
        }
        let (start, staged) = (reply.position(), view.staged());
        let done = match (step, scripts.as_deref_mut()) {
            (Step::Command(spec, args), _) => {
                view.begin_command(spec, args.as_args());
                execute_command(spec.id, args.as_args(), view, reply)
            }
            // What it does may rest on what those before it lack.
            (Step::Script(_), Some(_)) if is_suspended => Err(Failure::Suspend),
            (Step::Script(call), Some(scripts)) => scripts.run(call, view, reply),
            (Step::Script(_), None) => unreachable!("a transaction with scripts has an engine"),
            (Step::Later, _) => Ok(()),
        };
        match done {
            Ok(()) => {}
            Err(Failure::Error(error)) => {
                view.take_back(staged);
                reply.truncate(start);
                reply.error_bytes(error.as_bytes());
            }
            // Goes on only to see what else it needs: all of it is read at once then.
            Err(Failure::Suspend) => is_suspended = true,
        }
    }
    match is_suspended {
        true => Stepped::Suspended,
        false => Stepped::Done,
    }
}
