//! Work as requests have it, run on this brick's partitions.

use super::attempt::run_attempt;
use super::exec::run_transaction;
use super::part::run_part;
use super::run::{Call, Caller, Missing, run};
use crate::clients::Clients;
use crate::core::Core;
use crate::output::CommitDependency;
use crate::refusal::{dropped_table, error_line};
use crate::request::Work;
use crate::requests::ColdValue;
use crate::session::subrequest::{execute_subrequest, versions};
use brickyard_command::{CommandId, OwnedArgs, Spec, is_data_command};

/// Runs work with the values that were read back for it: its reply, or what it still needs.
pub(crate) fn execute_work(
    core: &mut Core,
    clients: &mut Clients,
    work: &Work,
    caller: Caller,
    values: &[ColdValue],
) -> Result<(Vec<u8>, CommitDependency), Missing> {
    let mut out = Vec::new();
    let Caller {
        table,
        protocol,
        room,
        ..
    } = caller;
    let ran = match work {
        Work::Command(spec, args) if is_data_command(spec.id) => {
            let Some(call) = call(core, spec, args, caller, values) else {
                return Ok((error_line(&dropped_table()), CommitDependency::NONE));
            };
            run(core, &call, &mut out)
        }
        Work::Attempt(attempt, spec, args) => {
            let Some(call) = call(core, spec, args, caller, values) else {
                return Ok((error_line(&dropped_table()), CommitDependency::NONE));
            };
            run_attempt(core, &call, *attempt, &mut out)
        }
        Work::Command(spec, args) if spec.id == CommandId::Watch => {
            versions(core, table, args.as_args(), &mut out)
        }
        Work::Command(spec, args) | Work::Subrequest(spec, args, _) => Ok(execute_subrequest(
            core,
            clients,
            spec,
            args.as_args(),
            table,
            protocol,
            &mut out,
        )),
        Work::Part(part) => run_part(core, part, caller, values, &mut out),
        Work::Transaction(transaction) => {
            run_transaction(core, transaction, caller, values, &mut out)
        }
    };
    let dependency = ran?;
    // Nothing has changed: it may be done again, when there is room for its reply. An error is short.
    if out.len() > room && work.only_reads() && out.first() != Some(&b'-') {
        return Err(Missing::Room(out.len()));
    }
    Ok((out, dependency))
}

fn call<'a>(
    core: &Core,
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
        location: core.locate(caller.table, key)?,
        caller,
        values,
    })
}
