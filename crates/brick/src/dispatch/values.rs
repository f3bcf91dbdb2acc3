//! Requests that wait until values that they need have been read back from the log.
//!
//! In:  a request with the values that it wants; values as they come. Out: reads of the log; the same request, run with
//!      what was read, or sent elsewhere if this brick may not run it any more.

use crate::brick::Brick;
use crate::effect::{ColdRead, Effect};
use crate::keyed::{Caller, Missing, execute_work, keys_of, may_run};
use crate::log::KeyRef;
use crate::output::Gate;
use crate::refusal::{error_line, no_table};
use crate::request::Request;
use crate::session::export::is_of_export;
use crate::view::{ColdWanted, Detour};
use brickyard_command::ErrorReply;

impl Brick {
    /// A request waits until the values that it wants are there, and those on its keys that came before it are done.
    pub(crate) fn await_values(&mut self, mut request: Request, wanted: Vec<ColdWanted>) {
        self.core.set_order(&mut request);
        let table = self.core.tables.index_of(request.table);
        let keys = table.map_or(Vec::new(), |table| {
            keys_of(&self.core, &request.work, table)
        });
        let id = self.core.requests.await_values(request, keys);
        self.fetch(id, wanted);
        self.run_with_values();
    }

    /// Asks for the values that a request wants.
    fn fetch(&mut self, id: usize, wanted: Vec<ColdWanted>) {
        for want in wanted {
            let Some(state) = self.core.table(want.place.table) else {
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
            let values = &mut self.core.requests.values;
            if let Some(token) = values.want(id, key, &want.name, want.op, want.position) {
                self.core.effects.push_back(Effect::Read(ColdRead {
                    token,
                    position: want.position,
                    partition,
                    op: want.op,
                    key: want.name,
                    value_len: want.value_len,
                }));
            }
        }
        self.core.requests.values.check(id);
    }

    /// A value was read, or could not be.
    pub(crate) fn on_read(&mut self, token: u64, value: Result<&[u8], String>) {
        if is_of_export(token) {
            return self.on_export_read(token, value);
        }
        let read = value.as_ref().ok().copied();
        let Some((reading, position, waiting)) = self.core.requests.values.on_read(token, read)
        else {
            return;
        };
        match value {
            Ok(value) => {
                let KeyRef {
                    table,
                    partition,
                    hash,
                } = reading.key;
                if let Some(state) = self.core.table_mut(table as usize) {
                    // Only a cache: a table that has no room for it serves it all the same.
                    let _ = state
                        .table
                        .warm(partition, hash, &reading.name, reading.op, value);
                }
            }
            Err(text) => {
                self.core.stats().errors.damaged.add(1);
                let line = error_line(&ErrorReply::new(format!(
                    "DAMAGED the value could not be read back: {text}. Run \"brickyard inspect\" on the \
                     data directory, or SET the key anew"
                )));
                // The cleaner may have moved the record while it was read, or a client overwritten
                // it: then the command just runs again.
                if self.core.is_still_at(&reading, position) {
                    for id in waiting {
                        self.finish(id, line.clone(), Gate::OPEN);
                    }
                }
            }
        }
        self.run_with_values();
        if self.core.is_adopting() {
            self.adopt_waiting();
        }
    }

    /// Runs requests that need not wait for values any longer.
    fn run_with_values(&mut self) {
        while let Some(id) = self.core.requests.values.poll_runnable() {
            let values = self.core.requests.values.lend(id);
            let Some(request) = self.core.requests.get(id) else {
                continue;
            };
            let Some(table) = self.core.tables.index_of(request.table) else {
                let error = error_line(&no_table(request.work.named()));
                self.finish(id, error, Gate::OPEN);
                continue;
            };
            // While it waited the lease may have run out, or the partition changed hands (PROTOCOL rules 22
            // and 24).
            if !may_run(&self.core, request) {
                self.detour_from_values(id, Detour::Wait);
                continue;
            }
            let caller = Caller::of(request, table);
            // Lent out, since it runs on the brick that holds it.
            let Some(work) = self.core.requests.lend_work(id) else {
                continue;
            };
            let ran = execute_work(&mut self.core, &mut self.clients, &work, caller, &values);
            self.core.requests.give_back_work(id, work);
            match ran {
                Ok((bytes, gate)) => self.finish(id, bytes, gate),
                Err(Missing::Values(wanted)) => {
                    self.core.requests.values.give_back(id, values);
                    self.fetch(id, wanted);
                }
                Err(Missing::Detour(detour)) => self.detour_from_values(id, detour),
            }
        }
    }

    /// A request waits for something else, or goes elsewhere; and with it what its connection sent
    /// after it on its keys, which would overtake it (PROTOCOL rule 26).
    fn detour_from_values(&mut self, id: usize, detour: Detour) {
        let behind = self.core.requests.values.behind(id);
        if let Some(request) = self.core.requests.take(id) {
            self.detour(detour, request);
        }
        for id in behind {
            if let Some(request) = self.core.requests.take(id) {
                self.detour(Detour::Wait, request);
            }
        }
    }

    fn finish(&mut self, id: usize, bytes: Vec<u8>, gate: Gate) {
        if let Some(request) = self.core.requests.take(id) {
            // What came behind it may be waiting for that.
            self.core.replicas.wake();
            self.respond(&request, bytes, gate);
        }
    }
}
