//! From a parsed request to its reply: checks, then the command itself.
//!
//! In:  a request of one client. Out: a reply in the client's output, with the gate it waits for.
//!
//! The order of the checks is Redis's, so that a request with several faults gets the same error.

use crate::accepted::ConnectionId;
use crate::batch::{BATCH_BYTES_MAX, Batch, Found, Parsed, Target, is_heavy};
use crate::brick::Brick;
use crate::connection::{Connection, ReplyMode};
use crate::output::Gate;
use crate::session::{enqueue, is_queueable};
use crate::slowlog::SlowCommand;
use crate::users::Rights;
use brickyard_command::{Args, CommandId, ErrorReply, Spec, resolve, table::flag};
use brickyard_wire::Reply;

/// Whether this is a line of a request that a browser makes. A page of anywhere can make its reader's
/// browser send one to a server on the reader's machine that asks for no password, with commands for a
/// body: like Redis, we hang up before we come to those.
fn is_of_http(args: &Args<'_>) -> bool {
    let name = args.at(0);
    name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:")
}

impl Brick {
    /// Executes a batch of the requests that have arrived, or one that may take long.
    pub fn run(&mut self) {
        self.take_messages();
        self.run_ready();
        self.retry_waiting();
        self.core.tables.free_removed();
        let is_single = self.core.shared.settings.measures_each();
        self.batch.collect(&self.core, &mut self.clients, is_single);
        self.batch.look_ahead(&self.core);
        self.clients.begin_batch();
        self.execute_batch(is_single);
        self.clients.end_batch();
        self.upkeep.on_turn(&mut self.core);
    }

    fn execute_batch(&mut self, is_single: bool) {
        let batch = std::mem::take(&mut self.batch);
        let mut last = None;
        for parsed in batch.iter() {
            let id = parsed.connection;
            if let Some(last) = last.filter(|last| *last != id) {
                self.clients.end_requests(last, self.core.stats());
            }
            last = Some(id);
            let is_next = self
                .clients
                .get(id)
                .is_some_and(|it| it.input.executed() == parsed.start && it.may_execute());
            if is_next && self.core.log.building_len() < BATCH_BYTES_MAX {
                self.execute_parsed(parsed, &batch, is_single);
            } else {
                self.clients.stop(id);
            }
        }
        if let Some(last) = last {
            self.clients.end_requests(last, self.core.stats());
        }
        assert!(self.batch.is_empty(), "a batch is made while one runs");
        self.batch = batch;
    }

    fn execute_parsed(&mut self, parsed: &Parsed, batch: &Batch, is_single: bool) {
        let id = parsed.connection;
        match &parsed.found {
            Found::Nothing => self.clients[id].input.skip_to(parsed.end),
            Found::Garbage(error) => {
                let connection = &mut self.clients[id];
                let reply = connection.output.begin();
                let start = reply.len();
                Reply::new(reply, connection.session.protocol).protocol_error(error);
                connection.output.end(start, Gate::OPEN);
                connection.input.skip_to(parsed.end);
                self.core.stats().clients.protocol_errors.add(1);
                self.clients.close(id);
            }
            Found::Request { spec, target } => {
                // The input is lent to the command and given back: the command may change
                // anything else of its connection.
                let connection = &mut self.clients[id];
                let input = connection.input.lend();
                let args = batch.args(parsed, &input);
                if is_single || spec.is_some_and(|spec| is_heavy(spec, args.len())) {
                    let (settings, now) = (&self.core.shared.settings, self.core.unix);
                    let slow = SlowCommand::begin(connection, *spec, &args, settings, now);
                    if let Some(slow) = slow {
                        self.meter.note_slow(slow);
                    }
                }
                self.execute(id, *spec, *target, &args);
                if let Some(connection) = self.clients.get_mut(id) {
                    connection.input.give_back(input, parsed.end);
                }
            }
        }
    }

    /// Executes one request.
    #[inline]
    pub(crate) fn execute(
        &mut self,
        id: ConnectionId,
        spec: Option<&'static Spec>,
        target: Option<Target>,
        args: &Args<'_>,
    ) {
        match check(&mut self.clients[id], spec, args) {
            Ok(spec) => {
                self.meter.note(spec.id);
                let is_keyed = spec.key_first > 0 && spec.id != CommandId::Watch;
                if self.clients[id].session.multi.queue.is_some() && is_queueable(spec.id) {
                    let queued = enqueue(&self.core, &mut self.clients, id, spec, *args);
                    if let Err(error) = queued {
                        self.refuse(id, Some(spec), &error);
                    }
                } else if is_keyed {
                    self.execute_keyed(id, spec, target, args);
                } else {
                    self.execute_session(id, spec, args);
                }
            }
            Err(_) if is_of_http(args) => {
                self.core.stats().clients.protocol_errors.add(1);
                self.on_error(id);
            }
            Err(error) => self.refuse(id, spec, &error),
        }
        if self
            .clients
            .get(id)
            .is_some_and(|it| it.session.reply_mode != ReplyMode::On)
        {
            self.turn_reply_mode(id);
        }
    }

    /// Answers with an error that was found before the command ran.
    pub(crate) fn refuse(
        &mut self,
        id: ConnectionId,
        spec: Option<&'static Spec>,
        error: &ErrorReply,
    ) {
        let stats = self.core.stats();
        self.clients.refuse(id, spec, error, stats);
    }

    /// Writes a reply that waits for nothing.
    #[inline]
    pub(crate) fn reply(&mut self, id: ConnectionId, write: impl FnOnce(&mut Reply<'_>)) {
        self.clients.reply(id, write);
    }

    fn turn_reply_mode(&mut self, id: ConnectionId) {
        let session = &mut self.clients[id].session;
        session.reply_mode = match session.reply_mode {
            ReplyMode::SkipNext => ReplyMode::Skip,
            ReplyMode::Skip => ReplyMode::On,
            mode => mode,
        };
    }
}

/// What is wrong with a request whatever its command does.
#[inline]
pub(crate) fn check(
    connection: &mut Connection,
    spec: Option<&'static Spec>,
    args: &Args<'_>,
) -> Result<&'static Spec, ErrorReply> {
    connection.session.commands += 1;
    let spec = match spec {
        Some(spec) if spec.subcommands.is_empty() && spec.accepts(args.len()) => spec,
        _ => resolve(*args)?,
    };
    connection.session.last_command = spec.name;
    let Some(_) = connection.session.user else {
        if spec.has(flag::NO_AUTH) {
            return Ok(spec);
        }
        return Err(ErrorReply::constant("NOAUTH Authentication required."));
    };
    // All rights on a table are none on the node.
    if connection.session.rights != Rights::ALL || spec.has(flag::ADMIN) {
        check_rights(connection, spec)?;
    }
    if connection.session.multi.queue.is_some() && spec.has(flag::NO_MULTI) {
        return Err(ErrorReply::constant(
            "ERR Command not allowed inside a transaction",
        ));
    }
    Ok(spec)
}

/// Rights on the connection's table; on the node, for commands that are about it. What TABLE does to
/// other tables is checked when their names are known (`session::tables`).
fn check_rights(connection: &Connection, spec: &Spec) -> Result<(), ErrorReply> {
    let is_of_tables = spec.name.starts_with("table");
    let needs_node = spec.has(flag::ADMIN) && !is_of_tables;
    let administers = connection
        .session
        .user
        .as_ref()
        .is_some_and(|user| user.administers_node());
    let wanted = Rights {
        read: spec.has(flag::READONLY),
        write: spec.has(flag::WRITE),
        admin: false,
    };
    let is_granted = connection.session.rights.covers(wanted) && (administers || !needs_node);
    if is_granted || is_of_tables || spec.has(flag::NO_AUTH) {
        return Ok(());
    }
    let user = connection
        .session
        .user
        .as_ref()
        .map_or("default", |user| user.name.as_str());
    Err(ErrorReply::new(format!(
        "NOPERM User {user} has no permissions to run the '{}' command on this table",
        spec.name
    )))
}

#[cfg(test)]
#[path = "execute_test.rs"]
mod execute_test;
