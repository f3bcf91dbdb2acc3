//! Commands of the connection, of the table as a whole, and of the node.
//!
//! In:  a checked request without keys. Out: its reply; for what other bricks or the control thread
//!      must do, a placeholder in the output until they have answered.
//!
//! A command is a function of the components that it may change. It writes its reply, or refuses with an error, and says what is
//! left to do ([`Next`]); this file does that, since it takes more of the brick than any command needs.
//!
//! The files: `login` (HELLO, AUTH, SELECT, RESET), `across` (MOVE, COPY with `DB`), `acl` and `account_rules` (ACL), `client` (CLIENT), `tracking` (CLIENT TRACKING), `channels` (SUBSCRIBE, PUBLISH), `whole` (DBSIZE, KEYS, SCAN,
//! RANDOMKEY, FLUSHDB: every brick's share), `watch_keys` (WATCHKEYS: the same, round after round), `subrequest` (that of this brick), `listing` (its keys), `scripts` (EVAL, FCALL, SCRIPT), `functions` (FUNCTION), `transact`
//! (MULTI, EXEC, WATCH), `tables` (TABLE), `export` (TABLE EXPORT), `digest` (TABLE DIGEST), `nodes` (NODE, REBALANCE),
//! `cluster`, `way` (CLUSTER LOOKUP), `config`, `info`, `lease` (LEASE RETURN), `memory` (MEMORY, ROLE), `inspect` (SLOWLOG, LATENCY, COMMAND), `save` (SAVE, SHUTDOWN).

mod account_rules;
mod acl;
pub(crate) mod across;
pub(crate) mod audit;
pub(crate) mod calls;
mod channels;
mod client;
pub(crate) mod cluster;
mod config;
mod describe;
mod digest;
pub(crate) mod export;
mod functions;
mod info;
mod inspect;
mod lease;
mod listing;
mod login;
mod lookup;
mod memory;
pub(crate) mod next;
mod nodes;
mod ranked;
pub(crate) mod save;
mod scan;
mod scripts;
pub(crate) mod subrequest;
mod tables;
mod tracking;
pub(crate) mod transact;
mod watch_keys;
mod way;
pub(crate) mod whole;

use crate::accepted::{ConnectionId, Port};
use crate::brick::Brick;
use crate::clients::{Clients, Last, track};
use crate::connection::{Blocked, Connection};
use crate::core::Core;
use crate::effect::{ControlReply, ControlRequest, Effect};
use crate::gather::{Gather, Join};
use crate::output::CommitDependency;
use crate::plain::{ping, time};
use crate::quota::is_limit;
use crate::refusal::error_line;
use crate::request::{Request, Token, Work};
use crate::upkeep::publish;
use audit::{AuditRecord, is_audited};
use brickyard_command::request::{ConfigCommand, ExportPiece, ScriptCommand};
use brickyard_command::{Args, CommandId, ErrorReply, OwnedArgs, Spec, resolve, table::flag};
use brickyard_routing::Member;
use brickyard_types::{Op, PartitionId};
use calls::Calls;
use next::{Next, Outcome, Subrequests, Then};
use subrequest::subrequest_name;

impl Brick {
    /// Executes a command that is about no keys.
    pub(crate) fn execute_session(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        args: &Args<'_>,
    ) {
        // It names keys.
        if spec.id == CommandId::Request {
            return self.execute_request(id, spec, args);
        }
        if spec.id == CommandId::Copy {
            match across::own_copy(&self.core, &self.clients[id], spec, *args) {
                Ok(Some(own)) => {
                    return self.execute_keyed(id, spec, None, &own.as_args(), None);
                }
                Ok(None) => {}
                Err(error) => return self.refuse(id, Some(spec), &error),
            }
        }
        let audited = is_audited(spec).then(|| audit::record(&self.clients[id], args));
        let outcome = self.answer(id, spec, *args).and_then(|next| {
            let audited = match &next {
                // Its answer tells.
                Next::Control(..) => audited.clone(),
                next => {
                    let is_done = matches!(next, Next::Done);
                    let result = if is_done { "OK" } else { "begun" };
                    self.tell(audited.clone().map(|it| it.with_result(result)));
                    None
                }
            };
            self.do_rest(id, next, audited)
        });
        if let Err(error) = outcome {
            self.note_denied(id);
            self.tell(audited.map(|it| it.with_reply(&error_line(&error))));
            self.refuse(id, Some(spec), &error);
        }
    }

    /// A command was refused before it came to its function.
    pub(crate) fn tell_of_refused(
        &mut self,
        id: ConnectionId,
        args: &Args<'_>,
        error: &ErrorReply,
    ) {
        // A stranger cannot fill the log, nor who has done what it may for now.
        if self.clients[id].session.user.is_none() || is_limit(error) {
            return;
        }
        let spec = resolve(*args).ok().filter(|spec| is_audited(spec));
        let record = spec.map(|_| audit::record(&self.clients[id], args));
        self.tell(record.map(|it| it.with_reply(&error_line(error))));
    }

    fn tell(&mut self, record: Option<AuditRecord>) {
        self.core.effects.extend(record.map(Effect::Audit));
    }

    /// Hands the command to its function, with what that may change.
    fn answer(&mut self, id: ConnectionId, spec: &'static Spec, args: Args<'_>) -> Outcome {
        use CommandId as Id;
        let Self {
            core,
            clients,
            meter,
            upkeep,
            feeds,
            ..
        } = self;
        let port = clients[id].accepted.port;
        match spec.id {
            Id::Ping if clients[id].only_subscribes() => clients.push(id, |push| {
                push.array(2);
                push.bulk(b"pong");
                push.bulk(args.get(1).unwrap_or_default());
            }),
            Id::Ping => clients.answer(id, |reply| ping(args, reply))?,
            Id::Echo => clients.reply(id, |reply| reply.bulk(args.at(1))),
            Id::Time => clients.reply(id, |reply| time(core.unix, reply)),
            Id::Quit => {
                clients.reply(id, |reply| reply.ok());
                clients.close(id);
            }
            Id::Readonly | Id::Readwrite => {
                set_readonly(&mut clients[id], spec);
                clients.reply(id, |reply| reply.ok());
            }
            // We never send ASK: a brick that is asked for what it does not have forwards or
            // says MOVED. The command is harmless.
            Id::Asking => clients.reply(id, |reply| reply.ok()),
            Id::Hello | Id::Auth | Id::Select | Id::Reset => {
                return login::login(core, clients, id, spec, args);
            }
            Id::Move | Id::Copy => return across::across(core, clients, id, spec, args),
            Id::Multi | Id::Exec | Id::Discard | Id::Watch | Id::Unwatch => {
                return transact::transact(core, clients, id, spec, args);
            }
            Id::Eval | Id::EvalRo | Id::Evalsha | Id::EvalshaRo | Id::Fcall | Id::FcallRo => {
                return scripts::eval(core, clients, id, spec, args);
            }
            _ if spec.name.starts_with("function") => {
                return functions::function(core, clients, id, spec, args);
            }
            _ if spec.name.starts_with("script") => {
                let command = ScriptCommand::parse(spec.id, args)?;
                scripts::script(core, clients, id, &command)?;
            }
            Id::Dbsize | Id::Keys | Id::Scan | Id::Randomkey | Id::Flushdb | Id::Flushall => {
                return whole::whole(core, clients, id, spec, args);
            }
            Id::Wait => whole::wait(core, clients, id, args),
            Id::Watchkeys => {
                return watch_keys::watch_keys(core, clients, feeds, id, spec, args);
            }
            Id::Save | Id::Bgsave | Id::Lastsave | Id::Shutdown => {
                return save::save(core, clients, id, spec, args);
            }
            Id::Role => clients.reply(id, memory::role),
            Id::Monitor => {
                clients.reply(id, |reply| reply.ok());
                clients.monitor(core, id, true);
            }
            _ if spec.id == Id::Info || spec.name.starts_with("memory") => {
                publish(core);
                let info = info::Info {
                    core,
                    port,
                    ops_per_second: upkeep.ops_per_second(),
                };
                clients.reply(id, |reply| match spec.id {
                    Id::Info => reply.verbatim("txt", info.render(args).as_bytes()),
                    _ => memory::memory(&info, spec.id, reply),
                });
            }
            _ if spec.has(flag::PUBSUB) || spec.id == Id::PubsubHelp => {
                return channels::channels(core, clients, id, spec, args);
            }
            _ if spec.name.starts_with("acl") => {
                return acl::acl(core, clients, id, spec, args);
            }
            _ if spec.name.starts_with("client") => {
                return client::client(core, clients, id, spec, args);
            }
            _ if spec.name.starts_with("cluster") => {
                return cluster::cluster(core, clients, id, spec, args);
            }
            _ if spec.name.starts_with("config") => {
                let command = ConfigCommand::parse(spec.id, args)?;
                let default = lookup::default_table(core);
                clients.answer(id, |reply| {
                    config::config(&core.shared, &default, port, &command, reply)
                })?;
            }
            _ if spec.name.starts_with("lease") => {
                return lease::lease(core, clients, id, spec, args);
            }
            _ if spec.name.starts_with("node") => {
                return nodes::node(core, clients, id, spec, args);
            }
            _ if spec.name.starts_with("rebalance") => {
                return nodes::rebalance(core, clients, id, spec);
            }
            _ if spec.name.starts_with("table") => {
                return tables::table(core, clients, id, spec, args);
            }
            _ => {
                let (all, slowlog) = (&core.shared.stats, meter.slowlog());
                clients.answer(id, |reply| {
                    inspect::inspect(all, slowlog, spec, args, reply)
                })?;
            }
        }
        Ok(Next::Done)
    }

    /// Does what is left to do.
    fn do_rest(
        &mut self,
        id: ConnectionId,
        next: Next,
        audited: Option<AuditRecord>,
    ) -> Result<(), ErrorReply> {
        match next {
            Next::Done => {}
            Next::Control(request, then) => {
                ask_control(
                    &mut self.core,
                    &mut self.clients,
                    &mut self.calls,
                    id,
                    request,
                    (then, audited),
                );
            }
            Next::Subrequests(asked, bricks, token) => {
                let last = Last::Subrequests(Box::new(asked), bricks, token);
                if let Some(last) = self.clients.begin_alone(id, last) {
                    self.begin_now(last);
                }
            }
            Next::Round(token) => {
                if let Some(last) = self.clients.begin_alone(id, Last::Round(token)) {
                    self.begin_now(last);
                }
            }
            Next::Last(mut request) => {
                if self.clients.tracks(id) {
                    track(&self.core, &mut self.clients, id, &mut request);
                }
                let last = self.clients.begin_alone(id, Last::Request(request));
                if let Some(last) = last {
                    self.begin_now(last);
                }
            }
            Next::Begin(mut requests) => {
                if self.clients.tracks(id) {
                    let all = requests.iter_mut();
                    all.for_each(|request| track(&self.core, &mut self.clients, id, request));
                }
                requests.into_iter().for_each(|request| self.begin(request));
            }
            Next::Part(token, bytes) => self.on_part(token, bytes, CommitDependency::NONE),
            Next::Export {
                name,
                partition,
                piece,
            } => return self.export(id, &name, partition, piece),
            Next::Commands(commands) => self.execute_commands(id, &commands),
        }
        Ok(())
    }

    /// The control thread has answered.
    pub(crate) fn on_control(&mut self, request: u64, reply: ControlReply) {
        let ended = self.calls.end(request);
        let Some(calls::Pending {
            token,
            then,
            audited,
        }) = ended
        else {
            return;
        };
        let Some(connection) = self.clients.named_mut(token) else {
            // The client has gone; what it asked for may have been done all the same.
            let gone = audited.map(|it| it.with_result(&format!("{reply:?}")));
            return self.tell(gone);
        };
        assert_eq!(
            connection.blocked,
            Some(Blocked::Control(request)),
            "the connection waits for another answer"
        );
        connection.blocked = None;
        match (&reply, &then) {
            (ControlReply::CaughtUp, Then::Call(spec, args)) => {
                return self.go_on_in_place(token, |core, clients| {
                    scripts::call_in_place(core, clients, token, spec, args.as_args())
                });
            }
            (ControlReply::Changed(_), Then::Across(spec, args)) => {
                return self.go_on_in_place(token, |core, clients| {
                    across::across_in_place(core, clients, token, spec, args.as_args())
                });
            }
            _ => {}
        }
        let is_of_table = then.is_of_table();
        let bytes = match on_answer(&self.core, connection, reply, then) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.note_denied(token.connection);
                if is_limit(&error) {
                    self.core.stats().errors.replied.add(1);
                    self.on_limited(token.connection, &error);
                }
                if is_of_table {
                    self.clients.close(token.connection);
                }
                error_line(&error)
            }
        };
        self.tell(audited.map(|it| it.with_reply(&bytes)));
        self.on_part(token, bytes, CommitDependency::NONE);
    }

    /// What was lacking for a command is there: it goes on, and its reply has the place that was left.
    fn go_on_in_place(
        &mut self,
        token: Token,
        begin: impl FnOnce(&mut Core, &mut Clients) -> Outcome,
    ) {
        let Self { core, clients, .. } = self;
        let next = begin(core, clients);
        let begun = next.and_then(|next| self.do_rest(token.connection, next, None));
        if let Err(error) = begun {
            self.core.stats().errors.replied.add(1);
            self.on_part(token, error_line(&error), CommitDependency::NONE);
        }
    }

    /// Asks each brick for its subrequest, as the parts of a reply from `token`'s part on.
    pub(crate) fn ask_subrequests(
        &mut self,
        asked: &Subrequests,
        bricks: Vec<Member>,
        token: Token,
    ) {
        let Subrequests {
            spec,
            args,
            table,
            protocol,
            is_named,
            deadline,
            is_again,
        } = asked;
        let Some(table_id) = self.core.table(*table).map(|state| state.id) else {
            return;
        };
        assert!(!bricks.is_empty(), "somebody is asked, or nobody answers");
        for (part, brick) in bricks.into_iter().enumerate() {
            let token = Token {
                part: token.part + part as u32,
                ..token
            };
            let subrequest = match is_named {
                true => subrequest_name(&self.core, spec, args.as_args(), *table, brick),
                false => 0,
            };
            let work = Work::Subrequest(spec, args.clone(), subrequest);
            let origin = self.core.own(token);
            let mut request = Request::new(origin, table_id, *protocol, work, *deadline);
            request.has_waited = *is_again;
            if brick == self.core.member() {
                self.serve(request);
            } else {
                self.forward(brick, request);
            }
        }
    }

    /// A command on a whole table begins. It may have waited for what its connection had asked before, and others share the table
    /// by now.
    pub(crate) fn begin_subrequests(
        &mut self,
        asked: &Subrequests,
        bricks: Vec<Member>,
        token: Token,
    ) {
        let now = whole::sharers(&self.core, asked.spec, asked.args.as_args(), asked.table);
        match asked.is_named && now != bricks {
            true => self.ask_subrequests_again(asked, token),
            false => self.ask_subrequests(asked, bricks, token),
        }
    }

    /// A subrequest of a command that only reads could not be had: all of them are asked for anew, by the map that there is
    /// now, since together they must be the table.
    pub(crate) fn ask_subrequests_again(&mut self, asked: &Subrequests, token: Token) {
        let bricks = whole::sharers(&self.core, asked.spec, asked.args.as_args(), asked.table);
        let connection = self.clients.named_mut(token);
        let begun = connection.and_then(|it| {
            let begin = |gather: &mut Gather| gather.begin_again(token.part, bricks.len());
            it.gathers.change(token.placeholder, begin)
        });
        if let Some(part) = begun.flatten() {
            self.ask_subrequests(asked, bricks, Token { part, ..token });
        }
    }

    /// A part of a reply is there.
    pub(crate) fn on_part(&mut self, token: Token, bytes: Vec<u8>, dependency: CommitDependency) {
        if token.is_of_part() {
            assert!(
                dependency.is_none(),
                "an answer that waits for {dependency:?}"
            );
            return self.on_transaction_answer(token, bytes);
        }
        let Some(mut whole) = self
            .clients
            .take_part(token, bytes, dependency, self.core.now)
        else {
            return;
        };
        if whole.join == Join::Changes {
            return self.end_round(token, &whole.bytes);
        }
        whole.bytes = self.on_gathered(token, whole.join, whole.bytes);
        let core = &self.core;
        self.clients
            .fill(token, whole, &core.shared.settings, &core.log);
        if let Some(last) = self.clients.take_last(token.connection) {
            self.begin_now(last);
        }
    }

    /// A reply in parts is whole; some mean more than they say.
    fn on_gathered(&mut self, token: Token, join: Join, whole: Vec<u8>) -> Vec<u8> {
        let session = &mut self.clients[token.connection].session;
        match join {
            Join::Watch => transact::on_watched(session, &whole),
            Join::Exec => {
                let later = std::mem::take(&mut session.multi.after_exec);
                self.on_executed(token.connection, later, whole)
            }
            Join::Saved { in_background } => save::on_saved(&self.core, in_background, whole),
            Join::Killed => client::old_kill_reply(&whole),
            Join::Scan => scan::joined(&self.core, session.table, session.protocol, whole),
            _ => whole,
        }
    }

    /// The transaction was executed, or not: what it has of commands that are about no keys is executed now,
    /// or not, and their replies take their places.
    fn on_executed(
        &mut self,
        id: ConnectionId,
        later: Vec<Option<next::Command>>,
        whole: Vec<u8>,
    ) -> Vec<u8> {
        // Otherwise it is an error, or the null that tells of a watched key that has changed.
        let is_executed = whole.first() == Some(&b'*') && !whole.starts_with(b"*-");
        if !is_executed {
            return whole;
        }
        let Some((header, replies)) = transact::elements(&whole) else {
            return error_line(&ErrorReply::constant(
                "UNKNOWNRESULT the transaction was executed and its replies cannot be told apart",
            ));
        };
        let mut out = header.to_vec();
        let mut replies = replies.into_iter();
        for step in later {
            match step {
                Some((spec, args)) => out.extend(self.reply_of(id, spec, &args.as_args())),
                None => out.extend_from_slice(replies.next().unwrap_or_default()),
            }
        }
        out
    }

    fn execute_commands(&mut self, id: ConnectionId, commands: &[(&'static Spec, OwnedArgs)]) {
        let replies: Vec<Vec<u8>> = commands
            .iter()
            .map(|(spec, args)| self.reply_of(id, spec, &args.as_args()))
            .collect();
        self.clients.reply(id, |reply| {
            reply.array(replies.len());
            for bytes in &replies {
                reply.raw(bytes);
            }
        });
    }

    /// The reply to a command of the connection, not yet in its output.
    fn reply_of(&mut self, id: ConnectionId, spec: &'static Spec, args: &Args<'_>) -> Vec<u8> {
        let output = std::mem::take(&mut self.clients[id].output);
        self.execute_session(id, spec, args);
        let own = std::mem::replace(&mut self.clients[id].output, output);
        own.ready().to_vec()
    }

    fn export(
        &mut self,
        id: ConnectionId,
        name: &str,
        partition: PartitionId,
        piece: ExportPiece,
    ) -> Result<(), ErrorReply> {
        let Self {
            core,
            clients,
            exports,
            ..
        } = self;
        if let ExportPiece::First(after) = piece {
            exports.end(core, id);
            exports.begin(core, id, name, partition, after.map(Op))?;
        }
        let piece = exports.next_piece(core, clients, id, name, partition);
        self.tell_cleaner();
        if let Some((token, bytes)) = piece? {
            self.on_part(token, bytes, CommitDependency::NONE);
        }
        Ok(())
    }

    /// A value that an export wants was read back, or could not be.
    pub(crate) fn on_export_read(&mut self, token: u64, value: Result<&[u8], String>) {
        let Self {
            core,
            clients,
            exports,
            ..
        } = self;
        let piece = exports.on_read(core, clients, token, value);
        self.tell_cleaner();
        if let Some((token, bytes)) = piece {
            self.on_part(token, bytes, CommitDependency::NONE);
        }
    }

    /// Lets the cleaner go on if it waited for an export that has ended.
    pub(crate) fn tell_cleaner(&mut self) {
        if self.exports.take_ended() {
            self.clean_synced();
        }
    }

    /// The log is synced, and its active segment sealed.
    pub(crate) fn on_checkpointed(&mut self, number: u64, outcome: Result<(), String>) {
        if let Some(origin) = self.calls.end_checkpoint(number) {
            let bytes = match outcome {
                Ok(()) => b"+OK\r\n".to_vec(),
                Err(text) => error_line(&ErrorReply::new(format!("ERR {text}"))),
            };
            self.complete(origin, bytes, CommitDependency::NONE, None);
        }
    }
}

/// Asks the control thread; a placeholder is left for its answer, and the connection executes nothing until then.
fn ask_control(
    core: &mut Core,
    clients: &mut Clients,
    calls: &mut Calls,
    id: ConnectionId,
    request: ControlRequest,
    (then, audited): (Then, Option<AuditRecord>),
) {
    let protocol = clients[id].session.protocol;
    let token = clients.open_gather(id, Gather::new(Join::Only, protocol, 1));
    let number = calls.begin(token, then, audited);
    let before = clients[id].blocked.replace(Blocked::Control(number));
    assert!(before.is_none(), "a connection that waits asks: {before:?}");
    core.effects.push_back(Effect::Control(number, request));
}

/// What the client is told when the control thread has answered.
fn on_answer(
    core: &Core,
    connection: &mut Connection,
    reply: ControlReply,
    then: Then,
) -> Result<Vec<u8>, ErrorReply> {
    match (reply, then) {
        (
            ControlReply::Authenticated(is_right),
            Then::Enter {
                user,
                table,
                hashes,
                hello,
            },
        ) => {
            login::check_still(core, &user, is_right, &hashes)?;
            login::finish_login(core, connection, is_right, (&user, table), hello)
        }
        (ControlReply::Changed(_) | ControlReply::CaughtUp, Then::Use { table, database }) => {
            login::use_table(core, connection, &table, database).map(|()| b"+OK\r\n".to_vec())
        }
        (ControlReply::Changed(_), Then::Count(count)) => Ok(format!(":{count}\r\n").into_bytes()),
        (ControlReply::Changed(_), Then::Name(name)) => {
            Ok(format!("${}\r\n{name}\r\n", name.len()).into_bytes())
        }
        (ControlReply::Generated(password), _) => {
            Ok(format!("${}\r\n{password}\r\n", password.len()).into_bytes())
        }
        (ControlReply::Changed(_), _) => Ok(b"+OK\r\n".to_vec()),
        (ControlReply::Refused(refusal), _) => Err(ErrorReply::new(format!("ERR {refusal}"))),
        (ControlReply::Failed(text), _) => Err(ErrorReply::new(text)),
        (ControlReply::Authenticated(_) | ControlReply::CaughtUp, _) => Ok(b"+OK\r\n".to_vec()),
    }
}

/// Reads from backups are linearizable here, so these are permissions and no consent to anything stale. The node port serves
/// from wherever it may; cluster clients that have it as seed say so there too.
fn set_readonly(connection: &mut Connection, spec: &'static Spec) {
    let is_readonly = spec.id == CommandId::Readonly && connection.accepted.port == Port::Brick;
    connection.session.is_readonly = is_readonly;
}
