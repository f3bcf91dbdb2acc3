//! SAVE, BGSAVE and LASTSAVE as checkpoints; SHUTDOWN.
//!
//! A checkpoint seals the log's active segment and syncs everything: a copy of the directory taken
//! after it has all that was acknowledged before it, whatever the table's durability but `memory`.

use super::{Pending, Then};
use crate::brick::Brick;
use crate::connection::{Blocked, ConnectionId};
use crate::effect::{ControlRequest, Effect};
use crate::output::Gate;
use brickyard_command::request::{ShutdownArgs, parse_bgsave};
use brickyard_command::{Args, CommandId, ErrorReply, Spec};
use std::sync::atomic::Ordering::Relaxed;

impl Brick {
    pub(super) fn execute_save(&mut self, id: ConnectionId, spec: &'static Spec, args: &Args<'_>) {
        match spec.id {
            CommandId::Lastsave => {
                let at = self.core.shared.last_save_ms.load(Relaxed) / 1000;
                self.reply(id, |reply| reply.integer(at as i64));
            }
            CommandId::Save => self.checkpoint(id, false),
            CommandId::Bgsave => match parse_bgsave(*args) {
                Ok(()) => self.checkpoint(id, true),
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

    fn checkpoint(&mut self, id: ConnectionId, in_background: bool) {
        let number = self.block_on(id, Then::Saved { in_background });
        self.core.effects.push_back(Effect::Checkpoint(number));
    }

    /// The checkpoint is done, on all bricks.
    pub(crate) fn on_checkpointed(&mut self, request: u64, outcome: Result<(), String>) {
        let Some(Pending { token, then }) = self.pending.remove(&request) else {
            return;
        };
        let Then::Saved { in_background } = then else {
            return;
        };
        let connection = self.connections.get_mut(token.connection.0 as usize);
        if let Some(connection) = connection
            && connection.client == token.client
            && connection.blocked == Some(Blocked::Control(request))
        {
            connection.blocked = None;
        }
        let bytes = match outcome {
            Ok(()) => {
                self.core
                    .shared
                    .last_save_ms
                    .store(self.core.unix.0, Relaxed);
                if in_background {
                    b"+Background saving started\r\n".to_vec()
                } else {
                    b"+OK\r\n".to_vec()
                }
            }
            Err(text) => crate::keyed::error_line(&ErrorReply::new(format!("ERR {text}"))),
        };
        self.on_part(token, bytes, Gate::OPEN);
    }
}
