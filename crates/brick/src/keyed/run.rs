//! Executing work on this brick's partitions: admitted, run against one view, or set aside.

use super::exec::run_transaction;
use super::request::run_request;
use super::{dropped_table, error_line};
use crate::brick::Brick;
use crate::core::Core;
use crate::forward::{Origin, Work};
use crate::log::Writer;
use crate::output::{Gate, Opens};
use crate::replica::Placing;
use crate::session::ShareStanding;
use crate::settings::Settings;
use crate::view::{Asker, ColdValue, ColdWanted, Detour, Finished, View, is_out_of_memory};
use brickyard_command::{
    Args, CommandId, ErrorReply, Failure, Spec, execute as execute_command, is_data_command,
    table::flag,
};
use brickyard_routing::Location;
use brickyard_types::Instant;
use brickyard_wire::{Protocol, Reply};

/// How a command on this brick's keys went.
pub(crate) enum Ran {
    /// The reply is written and waits for this.
    Done(Gate),
    /// It needs these values first; nothing was written.
    Wants(Vec<ColdWanted>),
    /// It cannot be answered here and now; nothing was written.
    Detour(Detour),
}

/// What work lacks to be executed here.
pub(crate) enum Missing {
    Values(Vec<ColdWanted>),
    Detour(Detour),
}

/// A brick's share of a command on a whole table, set aside.
#[derive(Debug)]
pub(crate) struct Share {
    pub(crate) work: Work,
    pub(crate) table: usize,
    pub(crate) protocol: Protocol,
    pub(crate) origin: Origin,
    pub(crate) writer: Writer,
    /// When it is given up.
    pub(crate) until: Instant,
}

/// Everything that a command on one partition is run with.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) spec: &'static Spec,
    pub(crate) args: Args<'a>,
    pub(crate) table: usize,
    /// Where its first key is.
    pub(crate) location: Location,
    pub(crate) protocol: Protocol,
    pub(crate) writer: Writer,
    pub(crate) values: &'a [ColdValue],
}

impl Brick {
    /// Runs work on this brick whose outcome goes to `origin`.
    pub(crate) fn run_for(
        &mut self,
        work: Work,
        table: usize,
        protocol: Protocol,
        origin: Origin,
        writer: Writer,
    ) {
        let is_share = match &work {
            Work::Share(..) => true,
            Work::Command(spec, _) => !is_data_command(spec.id) && spec.id != CommandId::Watch,
            Work::Request(..) | Work::Transaction(_) => false,
        };
        if is_share {
            // It is about what the table holds, so what was prepared before must have committed.
            let gate = self.core.log.barrier();
            if !self.core.log.opens(gate) {
                let share = Share {
                    work,
                    table,
                    protocol,
                    origin,
                    writer,
                    until: self.core.deadline(),
                };
                return self.deferred.push_back((gate, share));
            }
        }
        self.run_now(work, table, protocol, origin, writer);
    }

    /// Runs a share that has waited for what was prepared before it: what was prepared since is none of its
    /// business, and waiting for that too might never end.
    pub(crate) fn run_deferred(&mut self, share: Share) {
        let Share {
            work,
            table,
            protocol,
            origin,
            writer,
            until,
        } = share;
        self.keep_time(Placing { until, moves: 0 }, |brick| {
            brick.run_now(work, table, protocol, origin, writer);
        });
    }

    fn run_now(
        &mut self,
        work: Work,
        table: usize,
        protocol: Protocol,
        origin: Origin,
        writer: Writer,
    ) {
        if let Work::Share(spec, args, share) = &work {
            if matches!(spec.id, CommandId::Save | CommandId::Bgsave) {
                return self.checkpoint_for(origin);
            }
            let standing = self
                .core
                .share_standing(spec, args.as_args(), *share, table);
            if !matches!(standing, ShareStanding::Serves) {
                let until = self.core.deadline();
                return self.set_share_aside(standing, work, table, protocol, origin, until);
            }
        }
        let must_park = !self.core.cold.is_idle()
            && self
                .keys_of(&work, table)
                .iter()
                .any(|key| self.core.cold.is_waited_for(key));
        if must_park {
            return self.park(work, table, protocol, origin, writer, Vec::new());
        }
        match self.rerun(&work, table, protocol, writer, &[]) {
            Ok((bytes, gate)) => self.complete(origin, bytes, gate),
            Err(Missing::Values(wanted)) => {
                self.park(work, table, protocol, origin, writer, wanted);
            }
            Err(Missing::Detour(detour)) => self.take_detour(detour, work, table, protocol, origin),
        }
    }

    /// Runs work with the values that were read back for it: its reply, or the values that it
    /// still needs.
    pub(crate) fn rerun(
        &mut self,
        work: &Work,
        table: usize,
        protocol: Protocol,
        writer: Writer,
        values: &[ColdValue],
    ) -> Result<(Vec<u8>, Gate), Missing> {
        let mut out = Vec::new();
        let ran = match work {
            Work::Command(spec, args) => {
                let args = args.as_args();
                if !is_data_command(spec.id) {
                    let gate = self.execute_share(spec, args, table, protocol, &mut out);
                    return Ok((out, gate));
                }
                let key = args.get(spec.key_first as usize).unwrap_or_default();
                let Some(location) = self.core.locate(table, key) else {
                    return Ok((error_line(&dropped_table()), Gate::OPEN));
                };
                let call = Call {
                    spec,
                    args,
                    table,
                    location,
                    protocol,
                    writer,
                    values,
                };
                run(&mut self.core, &call, &mut out)
            }
            Work::Request(request, spec, args) => {
                let args = args.as_args();
                let key = args.get(spec.key_first as usize).unwrap_or_default();
                let Some(location) = self.core.locate(table, key) else {
                    return Ok((error_line(&dropped_table()), Gate::OPEN));
                };
                let call = Call {
                    spec,
                    args,
                    table,
                    location,
                    protocol,
                    writer,
                    values,
                };
                run_request(&mut self.core, &call, *request, &mut out)
            }
            Work::Share(spec, args, _) => {
                let args = args.as_args();
                let gate = self.execute_share(spec, args, table, protocol, &mut out);
                return Ok((out, gate));
            }
            Work::Transaction(transaction) => run_transaction(
                &mut self.core,
                transaction,
                table,
                protocol,
                writer,
                values,
                &mut out,
            ),
        };
        match ran {
            Ran::Done(gate) => Ok((out, gate)),
            Ran::Wants(wanted) => Err(Missing::Values(wanted)),
            Ran::Detour(detour) => Err(Missing::Detour(detour)),
        }
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
        core.stats().refused_memory.add(1);
        return Err(ErrorReply::constant(
            "OOM command not allowed when used memory > 'maxmemory'.",
        ));
    }
    if let Some((until, text)) = &core.log_refusal
        && core.now < *until
        && state.is_logged()
        && spec.has(flag::DENYOOM)
    {
        core.stats().refused_disk.add(1);
        return Err(ErrorReply::new(text.clone()));
    }
    let pending = core.log.pending_bytes() as u64;
    let bytes_max = Settings::load(&core.shared.settings.pending_bytes_max);
    let held = core.log.bytes_held() as u64;
    if held > bytes_max {
        core.stats().refused_busy.add(1);
        return Err(ErrorReply::new(format!(
            "BUSY brick {} has {held} bytes of writes waiting for replicas; the write was not executed, try \
             again later",
            core.id
        )));
    }
    if state.is_logged() && pending > bytes_max {
        core.stats().refused_busy.add(1);
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
    let Call {
        spec,
        table,
        protocol,
        writer,
        ..
    } = *call;
    let reads_only = spec.has(flag::READONLY);
    let mut reply = Reply::new(out, protocol);
    if !reads_only && let Err(error) = admit(core, spec, table) {
        reply.error_bytes(error.as_bytes());
        return Ran::Done(Gate::OPEN);
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
        return Ran::Detour(detour);
    }
    if finished.wanted.is_empty() {
        return Ran::Done(finished.gate);
    }
    reply.truncate(start);
    Ran::Wants(finished.wanted)
}

/// Runs the command as this asker.
#[inline]
fn attempt(core: &mut Core, call: &Call<'_>, asker: Asker, reply: &mut Reply<'_>) -> Finished {
    let start = reply.position();
    let Call {
        spec,
        args,
        table,
        location,
        values,
        ..
    } = *call;
    let key = args.at(spec.key_first as usize);
    let mut view = View::new(core, table, asker, (key, location), values);
    match execute_command(spec.id, args, &mut view, reply) {
        Ok(()) => view.finish(),
        Err(Failure::Error(error)) => {
            let finished = view.abandon();
            reply.truncate(start);
            reply.error_bytes(error.as_bytes());
            core.stats().errors.add(1);
            if error.as_bytes().starts_with(b"DAMAGED") {
                core.stats().refused_damaged.add(1);
            }
            if let Some(command) = core.stats().commands_by_id.get(spec.id as usize) {
                command.failed.add(1);
            }
            finished
        }
        Err(Failure::Suspend) => view.abandon(),
    }
}
