//! SAVE, BGSAVE and LASTSAVE as checkpoints; SHUTDOWN.
//!
//! A checkpoint seals the active segment of every brick's log and syncs everything: a copy of the
//! directory taken after it has all that was acknowledged before it, whatever the table's durability but
//! `memory`, and a start reads only hint files of `disk` tables.

use super::Then;
use crate::brick::Brick;
use crate::connection::{Blocked, ConnectionId};
use crate::effect::{ControlRequest, Effect};
use crate::gather::{Gather, Join};
use crate::keyed::{dropped_table, error_line};
use crate::output::Gate;
use crate::request::{Origin, Request, Token, Work};
use brickyard_command::request::{ShutdownArgs, parse_bgsave};
use brickyard_command::{Args, CommandId, ErrorReply, Spec};
use brickyard_routing::Member;
use brickyard_types::BrickId;
use std::sync::atomic::Ordering::Relaxed;

impl Brick {
    pub(super) fn execute_save(&mut self, id: ConnectionId, spec: &'static Spec, args: &Args<'_>) {
        match spec.id {
            CommandId::Lastsave => {
                let at = self.core.shared.last_save_ms.load(Relaxed) / 1000;
                self.reply(id, |reply| reply.integer(at as i64));
            }
            CommandId::Save => self.checkpoint(id, spec, args),
            CommandId::Bgsave => match parse_bgsave(*args) {
                Ok(()) => self.checkpoint(id, spec, args),
                Err(error) => self.refuse(id, Some(spec), &error),
            },
            _ => match ShutdownArgs::parse(*args) {
                Ok(shutdown) if shutdown.is_abort => {
                    let error = ErrorReply::constant("ERR No shutdown in progress.");
                    self.refuse(id, Some(spec), &error);
                }
                Ok(_) => self.ask_control(id, ControlRequest::Shutdown, Then::Ok),
                Err(error) => self.refuse(id, Some(spec), &error),
            },
        }
    }

    /// Asks every brick of the node: each has a log.
    fn checkpoint(&mut self, id: ConnectionId, spec: &'static Spec, args: &Args<'_>) {
        let session = &self.clients[id].session;
        let protocol = session.protocol;
        // A message between bricks names a table; this one is about none.
        let any = std::iter::once(session.table).chain(0..self.core.tables.len());
        let table = { any }.find_map(|table| self.core.table(table));
        let Some(table) = table.map(|state| state.id) else {
            return self.refuse(id, Some(spec), &dropped_table());
        };
        let in_background = spec.id == CommandId::Bgsave;
        let bricks = self.core.bricks;
        let gather = Gather::new(Join::Saved { in_background }, protocol, bricks as usize);
        let token = self.open_gather(id, gather);
        self.clients[id].blocked = Some(Blocked::Drain);
        for part in 0..bricks {
            let token = Token { part, ..token };
            let member = Member {
                brick: BrickId(part),
                ..self.core.member()
            };
            let work = Work::Share(spec, args.to_owned(), 0);
            let (origin, deadline) = (self.core.own(token), self.core.deadline());
            let request = Request::new(origin, table, protocol, work, deadline);
            if member == self.core.member() {
                self.serve(request);
            } else {
                self.forward(member, request);
            }
        }
    }

    /// This brick's share of a checkpoint.
    pub(crate) fn checkpoint_for(&mut self, origin: Origin) {
        let number = self.calls.begin_checkpoint(origin);
        self.core.effects.push_back(Effect::Checkpoint(number));
    }

    /// The log is synced, and its active segment sealed.
    pub(crate) fn on_checkpointed(&mut self, number: u64, outcome: Result<(), String>) {
        let Some(origin) = self.calls.end_checkpoint(number) else {
            return;
        };
        let bytes = match outcome {
            Ok(()) => b"+OK\r\n".to_vec(),
            Err(text) => error_line(&ErrorReply::new(format!("ERR {text}"))),
        };
        self.complete(origin, bytes, Gate::OPEN, None);
    }

    /// All bricks have answered.
    pub(super) fn on_saved(&self, in_background: bool, whole: Vec<u8>) -> Vec<u8> {
        if whole.first() != Some(&b'+') {
            return whole;
        }
        let now = self.core.unix.0;
        self.core.shared.last_save_ms.fetch_max(now, Relaxed);
        if in_background {
            b"+Background saving started\r\n".to_vec()
        } else {
            whole
        }
    }
}

#[cfg(test)]
#[path = "save_test.rs"]
mod save_test;
