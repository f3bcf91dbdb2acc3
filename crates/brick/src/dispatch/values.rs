//! Requests that wait until values that they need have been read back from the log.
//!
//! In:  a request with the values that it wants; values as they come. Out: reads of the log; the same request, run with
//!      what was read, or sent elsewhere if this brick may not run it any more.

use super::room::is_stalled;
use super::waits::set_order;
use crate::clients::Clients;
use crate::core::Core;
use crate::effect::{ColdRead, Effect};
use crate::keyed::{Caller, Missing, execute_work, keys_of, may_run};
use crate::log::KeyRef;
use crate::output::CommitDependency;
use crate::refusal::{error_line, no_table};
use crate::request::Request;
use crate::view::{ColdWanted, Redirect};
use brickyard_command::ErrorReply;

/// How a request went whose values have come; it is still kept under its number.
pub(super) enum RanWithValues {
    /// It was executed: its reply waits for the commit dependency.
    Done(usize, Vec<u8>, CommitDependency),
    /// It cannot be answered here and now.
    Redirect(usize, Redirect),
    /// There is no room for its reply, of so many bytes; or, with 0, none of its client's is made.
    NoRoom(usize, usize),
}

/// A request waits until the values that it wants are there, and those on its keys that came before it are done.
pub(super) fn await_values(core: &mut Core, mut request: Request, wanted: Vec<ColdWanted>) {
    set_order(&core.tables, &mut request);
    let table = core.tables.index_of(request.table);
    let keys = table.map_or(Vec::new(), |table| keys_of(core, &request.work, table));
    let id = core.requests.await_values(request, keys);
    fetch(core, id, wanted);
}

/// Asks for the values that a request wants.
fn fetch(core: &mut Core, id: usize, wanted: Vec<ColdWanted>) {
    for want in wanted {
        let Some(state) = core.table(want.place.table) else {
            continue;
        };
        let Some(Some(partition)) = state.partitions.get(want.place.leaf) else {
            continue;
        };
        let key = KeyRef {
            table: want.place.table as u32,
            partition: partition.local,
            hash: want.hash,
        };
        state.stats.cold_reads.add(1);
        let partition = (!state.is_divided).then_some(partition.id);
        let values = &mut core.requests.values;
        if let Some(token) = values.want(id, key, &want.name, want.op, want.position) {
            core.effects.push_back(Effect::Read(ColdRead {
                token,
                position: want.position,
                partition,
                op: want.op,
                key: want.name,
                value_len: want.value_len,
            }));
        }
    }
    core.requests.values.check(id);
}

/// A value was read, or could not be: requests that end with that, and what their clients are told.
pub(super) fn on_read(
    core: &mut Core,
    token: u64,
    value: Result<&[u8], String>,
) -> Vec<(Request, Vec<u8>)> {
    let read = value.as_ref().ok().copied();
    let Some((reading, position, waiting)) = core.requests.values.on_read(token, read) else {
        return Vec::new();
    };
    match value {
        Ok(value) => {
            let KeyRef {
                table,
                partition,
                hash,
            } = reading.key;
            // The table may have gone offline meanwhile, and come back.
            if let Some(state) = core.table_mut(table as usize)
                && state.table.has_number(partition)
            {
                // Only a cache: a table that has no room for it serves it all the same.
                let _ = state
                    .table
                    .warm(partition, hash, &reading.name, reading.op, value);
            }
            Vec::new()
        }
        Err(text) => {
            core.stats().errors.damaged.add(1);
            // The cleaner may have moved the record while it was read, or a client overwritten
            // it: then the command just runs again.
            if !reading.is_still_at(&core.tables, position) {
                return Vec::new();
            }
            let line = error_line(&ErrorReply::new(format!(
                "DAMAGED the value could not be read back: {text}. Run \"brickyard inspect\" on the \
                 data directory, or SET the key anew"
            )));
            let ended = waiting.into_iter().filter_map(|id| take(core, id));
            ended.map(|request| (request, line.clone())).collect()
        }
    }
}

/// Runs the next request that need not wait for values any longer, until one is done or cannot be.
pub(super) fn run_next(core: &mut Core, clients: &mut Clients) -> Option<RanWithValues> {
    while let Some(id) = core.requests.values.poll_runnable() {
        let values = core.requests.values.lend(id);
        let Some(request) = core.requests.get(id) else {
            continue;
        };
        if is_stalled(core, clients, request) {
            return Some(RanWithValues::NoRoom(id, 0));
        }
        let ran = match core.tables.index_of(request.table) {
            None => Ok((
                error_line(&no_table(request.work.named())),
                CommitDependency::NONE,
            )),
            // While it waited the lease may have run out, or the partition changed hands (rules
            // `leases count from the request` and `waiting reads are admitted anew`).
            Some(_) if !may_run(core, request) => {
                return Some(RanWithValues::Redirect(id, Redirect::Wait));
            }
            Some(table) => {
                let caller = Caller::of(request, table, core.member());
                // Lent out, since it runs on what holds it.
                let Some(work) = core.requests.lend_work(id) else {
                    continue;
                };
                let ran = execute_work(core, clients, &work, caller, &values);
                core.requests.give_back_work(id, work);
                ran
            }
        };
        match ran {
            Ok((bytes, dependency)) => return Some(RanWithValues::Done(id, bytes, dependency)),
            Err(Missing::Values(wanted)) => {
                core.requests.values.give_back(id, values);
                fetch(core, id, wanted);
            }
            Err(Missing::Redirect(redirect)) => return Some(RanWithValues::Redirect(id, redirect)),
            Err(Missing::Room(needed)) => return Some(RanWithValues::NoRoom(id, needed)),
        }
    }
    None
}

/// A request that waits no longer; what came behind it may have been waiting for that.
pub(super) fn take(core: &mut Core, id: usize) -> Option<Request> {
    let request = core.requests.take(id)?;
    core.replicas.wake();
    Some(request)
}
