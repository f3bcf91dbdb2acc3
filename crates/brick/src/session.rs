//! Commands of the connection, of the table as a whole, and of the node.
//!
//! In:  a checked request without keys. Out: its reply; for what other bricks or the control thread
//!      must do, a hole in the output until they have answered.
//!
//! The files: `login` (HELLO, AUTH, SELECT, RESET), `client` (CLIENT), `whole` (DBSIZE, KEYS, SCAN,
//! RANDOMKEY, FLUSHDB: every brick's share), `share` (that of this brick), `listing` (its keys), `transact`
//! (MULTI, EXEC, WATCH), `tables` (TABLE), `export` (TABLE EXPORT), `digest` (TABLE DIGEST), `nodes` (NODE, REBALANCE),
//! `cluster`, `config`, `info`, `inspect` (SLOWLOG, LATENCY, COMMAND), `save` (SAVE, SHUTDOWN).

mod calls;
mod client;
mod cluster;
mod config;
mod digest;
mod export;
mod info;
mod inspect;
mod listing;
mod login;
mod nodes;
mod save;
mod share;
mod tables;
mod transact;
mod whole;

pub(crate) use calls::Calls;
pub(crate) use cluster::tell_map_watchers;
pub(crate) use export::{Exports, is_of_export};
pub(crate) use share::ShareAdmission;
pub(crate) use whole::Shares;

use crate::brick::Brick;
use crate::connection::{Blocked, ConnectionId};
use crate::effect::{ControlReply, ControlRequest, Effect};
use crate::gather::{Gather, Join};
use brickyard_command::request::parse_ping;
use brickyard_command::{Args, CommandId, ErrorReply, Spec};

/// What happens when the control thread has answered.
#[derive(Debug)]
pub(crate) enum Then {
    /// `+OK`.
    Ok,
    /// The connection acts for the user, and for HELLO the rest of it happens.
    Enter {
        user: String,
        hello: Option<login::Hello>,
    },
    /// The connection works on the table.
    Use { table: String, database: u16 },
}

impl Brick {
    /// Executes a command that is about no keys.
    pub(crate) fn execute_session(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        args: &Args<'_>,
    ) {
        use CommandId as Id;
        match spec.id {
            Id::Ping => self.ping(id, spec, args),
            Id::Echo => self.reply(id, |reply| reply.bulk(args.at(1))),
            Id::Time => self.time(id),
            Id::Quit => {
                self.reply(id, |reply| reply.ok());
                self.clients.close(id);
            }
            Id::Readonly | Id::Readwrite => self.set_readonly(id, spec),
            // We never send ASK: a brick that is asked for what it does not have forwards or
            // says MOVED. The command is harmless.
            Id::Asking => self.reply(id, |reply| reply.ok()),
            Id::Hello | Id::Auth | Id::Select | Id::Reset => self.execute_login(id, spec, args),
            Id::Multi | Id::Exec | Id::Discard | Id::Watch | Id::Unwatch => {
                self.execute_transact(id, spec, args);
            }
            Id::Dbsize | Id::Keys | Id::Scan | Id::Randomkey | Id::Flushdb | Id::Flushall => {
                self.execute_whole(id, spec, args);
            }
            Id::Wait => self.wait(id, args),
            Id::Save | Id::Bgsave | Id::Lastsave | Id::Shutdown => {
                self.execute_save(id, spec, args)
            }
            Id::Info => self.info(id, args),
            Id::Request => self.execute_request(id, spec, args),
            _ if spec.name.starts_with("client") => self.execute_client(id, spec, args),
            _ if spec.name.starts_with("cluster") => self.execute_cluster(id, spec, args),
            _ if spec.name.starts_with("config") => self.execute_config(id, spec, args),
            _ if spec.name.starts_with("node") => self.execute_node(id, spec, args),
            _ if spec.name.starts_with("rebalance") => self.execute_rebalance(id, spec),
            _ if spec.name.starts_with("table") => self.execute_table(id, spec, args),
            _ => self.execute_inspect(id, spec, args),
        }
    }

    fn ping(&mut self, id: ConnectionId, spec: &'static Spec, args: &Args<'_>) {
        match parse_ping(*args) {
            Ok(None) => self.reply(id, |reply| reply.simple("PONG")),
            Ok(Some(message)) => self.reply(id, |reply| reply.bulk(message)),
            Err(error) => self.refuse(id, Some(spec), &error),
        }
    }

    fn time(&mut self, id: ConnectionId) {
        let now = self.core.unix.0;
        self.reply(id, |reply| {
            reply.array(2);
            reply.bulk((now / 1000).to_string().as_bytes());
            reply.bulk((now % 1000 * 1000).to_string().as_bytes());
        });
    }

    /// Reads from backups are linearizable here, so these are permissions and no consent to
    /// anything stale.
    fn set_readonly(&mut self, id: ConnectionId, spec: &'static Spec) {
        if self.clients[id].accepted.port == crate::effect::Port::Node {
            let error = ErrorReply::constant("ERR This instance has cluster support disabled");
            return self.refuse(id, Some(spec), &error);
        }
        let session = &mut self.clients[id].session;
        session.is_readonly = spec.id == CommandId::Readonly;
        self.reply(id, |reply| reply.ok());
    }

    /// Asks the control thread; the connection executes nothing until it has answered.
    pub(crate) fn ask_control(&mut self, id: ConnectionId, request: ControlRequest, then: Then) {
        let number = self.block_on(id, then);
        self.core
            .effects
            .push_back(Effect::Control(number, request));
    }

    /// Leaves a hole that an answer from outside will fill, and blocks the connection until then.
    pub(crate) fn block_on(&mut self, id: ConnectionId, then: Then) -> u64 {
        let protocol = self.clients[id].session.protocol;
        let token = self.open_gather(id, Gather::new(Join::Only, protocol, 1));
        let number = self.calls.begin(token, then);
        self.clients[id].blocked = Some(Blocked::Control(number));
        number
    }

    /// The control thread has answered.
    pub(crate) fn on_control(&mut self, request: u64, reply: ControlReply) {
        let Some(calls::Pending { token, then }) = self.calls.end(request) else {
            return;
        };
        let id = token.connection;
        let Some(connection) = self.clients.named_mut(token) else {
            return;
        };
        connection.blocked = None;
        let bytes = self.answer(id, reply, then);
        self.on_part(token, bytes, crate::output::Gate::OPEN);
    }

    fn answer(&mut self, id: ConnectionId, reply: ControlReply, then: Then) -> Vec<u8> {
        let closes_on_error = matches!(then, Then::Use { .. });
        let outcome = match (reply, then) {
            (ControlReply::Authenticated(is_right), Then::Enter { user, hello }) => {
                self.finish_login(id, is_right, &user, hello)
            }
            (ControlReply::Changed(_), Then::Use { table, database }) => self
                .use_table(id, &table, database)
                .map(|()| b"+OK\r\n".to_vec()),
            (ControlReply::Changed(_), _) => Ok(b"+OK\r\n".to_vec()),
            (ControlReply::Refused(refusal), _) => Err(ErrorReply::new(format!("ERR {refusal}"))),
            (ControlReply::Failed(text), _) => Err(ErrorReply::new(text)),
            (ControlReply::Authenticated(_), _) => Ok(b"+OK\r\n".to_vec()),
        };
        match outcome {
            Ok(bytes) => bytes,
            Err(error) => {
                if closes_on_error {
                    // Some clients go on after an error and would write into another table.
                    self.clients.close(id);
                }
                crate::keyed::error_line(&error)
            }
        }
    }
}
