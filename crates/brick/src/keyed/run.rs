//! Executing work on this brick's partitions: admitted, and run against one view.

use super::attempt::run_attempt;
use super::exec::run_transaction;
use super::writer_of;
use crate::brick::Brick;
use crate::core::Core;
use crate::log::Writer;
use crate::output::Gate;
use crate::refusal::{dropped_table, error_line};
use crate::request::{Origin, Request, Work};
use crate::settings::Settings;
use crate::view::{Asker, ColdValue, ColdWanted, Detour, Finished, View, is_out_of_memory};
use brickyard_command::{
    Args, CommandId, ErrorReply, Failure, OwnedArgs, Spec, execute as execute_command,
    is_data_command, table::flag,
};
use brickyard_routing::Location;
use brickyard_wire::{Protocol, Reply};

/// How a command on this brick's keys went: its reply is written and waits for this; or nothing was written.
pub(crate) type Ran = Result<Gate, Missing>;

/// What work lacks to be executed here.
pub(crate) enum Missing {
    /// These values.
    Values(Vec<ColdWanted>),
    /// It cannot be answered here and now.
    Detour(Detour),
}

/// On which table work is run, and for whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) table: usize,
    pub(crate) protocol: Protocol,
    pub(crate) writer: Writer,
}

impl Caller {
    /// Whoever asks a request.
    pub(crate) fn of(request: &Request, table: usize) -> Self {
        let Origin { member, token } = request.origin;
        Self {
            table,
            protocol: request.protocol,
            writer: writer_of(member, token.connection),
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

impl Brick {
    /// Runs work with the values that were read back for it: its reply, or what it still needs.
    pub(crate) fn execute_work(
        &mut self,
        work: &Work,
        caller: Caller,
        values: &[ColdValue],
    ) -> Result<(Vec<u8>, Gate), Missing> {
        let mut out = Vec::new();
        let Caller {
            table, protocol, ..
        } = caller;
        let ran = match work {
            Work::Command(spec, args) if is_data_command(spec.id) => {
                let Some(call) = self.call(spec, args, caller, values) else {
                    return Ok((error_line(&dropped_table()), Gate::OPEN));
                };
                run(&mut self.core, &call, &mut out)
            }
            Work::Attempt(attempt, spec, args) => {
                let Some(call) = self.call(spec, args, caller, values) else {
                    return Ok((error_line(&dropped_table()), Gate::OPEN));
                };
                run_attempt(&mut self.core, &call, *attempt, &mut out)
            }
            Work::Command(spec, args) | Work::Share(spec, args, _) => {
                let gate = self.execute_share(spec, args.as_args(), table, protocol, &mut out);
                return Ok((out, gate));
            }
            Work::Transaction(transaction) => {
                run_transaction(&mut self.core, transaction, caller, values, &mut out)
            }
        };
        ran.map(|gate| (out, gate))
    }

    fn call<'a>(
        &self,
        spec: &'static Spec,
        args: &'a OwnedArgs,
        caller: Caller,
        values: &'a [ColdValue],
    ) -> Option<Call<'a>> {
        let args = args.as_args();
        let key = args.get(spec.key_first as usize).unwrap_or_default();
        Some(Call {
            spec,
            args,
            location: self.core.locate(caller.table, key)?,
            caller,
            values,
        })
    }
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

/// Why a write is refused before it is looked at.
#[inline]
pub(super) fn admit(core: &Core, spec: &Spec, table: usize) -> Result<(), ErrorReply> {
    let Some(state) = core.table(table) else {
        return Err(dropped_table());
    };
    if spec.has(flag::DENYOOM) && is_out_of_memory(state) {
        core.stats().errors.memory.add(1);
        return Err(ErrorReply::constant(
            "OOM command not allowed when used memory > 'maxmemory'.",
        ));
    }
    if let Some((until, text)) = &core.log_refusal
        && core.now < *until
        && state.is_logged()
        && spec.has(flag::DENYOOM)
    {
        core.stats().errors.disk.add(1);
        return Err(ErrorReply::new(text.clone()));
    }
    let pending = core.log.pending_bytes() as u64;
    let bytes_max = Settings::load(&core.shared.settings.pending_bytes_max);
    let held = core.log.bytes_held() as u64;
    if held > bytes_max {
        core.stats().errors.busy.add(1);
        return Err(ErrorReply::new(format!(
            "BUSY brick {} has {held} bytes of writes waiting for replicas; the write was not executed, try \
             again later",
            core.id
        )));
    }
    if state.is_logged() && pending > bytes_max {
        core.stats().errors.busy.add(1);
        return Err(ErrorReply::new(format!(
            "BUSY brick {} has {pending} bytes of writes waiting for its disk; the write was not \
             executed, try again later",
            core.id
        )));
    }
    Ok(())
}

/// Runs a command on one partition of this brick and writes its reply to `out`.
#[inline]
pub(crate) fn run(core: &mut Core, call: &Call<'_>, out: &mut Vec<u8>) -> Ran {
    let Call { spec, caller, .. } = *call;
    let Caller {
        table,
        protocol,
        writer,
    } = caller;
    let reads_only = spec.has(flag::READONLY);
    let mut reply = Reply::new(out, protocol);
    if !reads_only && let Err(error) = admit(core, spec, table) {
        reply.error_bytes(error.as_bytes());
        return Ok(Gate::OPEN);
    }
    let start = reply.position();
    let asker = Asker {
        writer,
        reads_only,
        sees_prepared: false,
        writes_many: writes_many(spec.id),
    };
    let mut finished = attempt(core, call, asker, &mut reply);
    if finished.is_torn {
        reply.truncate(start);
        let asker = Asker {
            sees_prepared: true,
            ..asker
        };
        finished = attempt(core, call, asker, &mut reply);
    }
    if let Some(detour) = finished.detour {
        reply.truncate(start);
        return Err(Missing::Detour(detour));
    }
    if finished.wanted.is_empty() {
        return Ok(finished.gate);
    }
    reply.truncate(start);
    Err(Missing::Values(finished.wanted))
}

/// Runs the command as this asker.
#[inline]
fn attempt(core: &mut Core, call: &Call<'_>, asker: Asker, reply: &mut Reply<'_>) -> Finished {
    let start = reply.position();
    let Call {
        spec,
        args,
        location,
        caller,
        values,
    } = *call;
    let key = args.at(spec.key_first as usize);
    let mut view = View::new(core, caller.table, asker, (key, location), values);
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
