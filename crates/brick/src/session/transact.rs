//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.
//!
//! A transaction is about the keys of one slot. Its commands are queued here and run where the
//! slot's partition is, against one view of it: what they write is one record of the log.

use crate::brick::Brick;
use crate::connection::{Blocked, ConnectionId};
use crate::gather::{Gather, Join};
use crate::keyed::{CROSSSLOT, error_line};
use crate::request::{Request, Token, Work};
use crate::transaction::{Step, Transaction, Watch};
use crate::watch::Version;
use brickyard_command::{Args, CommandId, ErrorReply, OwnedArgs, Spec, is_data_command, keys};
use brickyard_routing::Location;
use brickyard_wire::{ReplyDecoder, ReplyStep};

/// A queued command.
type Command = (&'static Spec, OwnedArgs);

/// Keys that one connection may watch.
const WATCHES_MAX: usize = 4096;

impl Brick {
    pub(super) fn execute_transact(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        args: &Args<'_>,
    ) {
        match spec.id {
            CommandId::Multi => self.begin_transaction(id),
            CommandId::Discard => {
                if self.clients[id].session.queue.take().is_none() {
                    return self.reply(id, |reply| reply.error("ERR DISCARD without MULTI"));
                }
                self.clients[id].session.watches.clear();
                self.reply(id, |reply| reply.ok());
            }
            CommandId::Unwatch => {
                self.clients[id].session.watches.clear();
                self.reply(id, |reply| reply.ok());
            }
            CommandId::Watch => self.watch(id, spec, args),
            _ => self.exec(id, spec),
        }
    }

    fn watch(&mut self, id: ConnectionId, spec: &'static Spec, args: &Args<'_>) {
        let connection = &self.clients[id];
        if connection.session.queue.is_some() {
            return self.reply(id, |reply| {
                reply.error("ERR WATCH inside MULTI is not allowed")
            });
        }
        let (table, protocol) = (connection.session.table, connection.session.protocol);
        let Some(state) = self.core.table(table) else {
            return self.refuse(id, Some(spec), &crate::keyed::dropped_table());
        };
        let Some(location) = self.one_slot(table, args.from(1)) else {
            return self.refuse(id, Some(spec), &CROSSSLOT);
        };
        let table_id = state.id;
        if let Some(moved) = self.redirect(connection.accepted.port, state, location) {
            return self.refuse(id, Some(spec), &moved);
        }
        if connection.session.watches.len() + args.len() > WATCHES_MAX {
            let error = ErrorReply::constant(
                "ERR this connection watches 4096 keys, the most there can be; UNWATCH, or EXEC first",
            );
            return self.refuse(id, Some(spec), &error);
        }
        // Which op each key has is asked where the keys are; the answer is kept here.
        let names: Vec<Vec<u8>> = args.from(1).map(<[u8]>::to_vec).collect();
        let session = &mut self.clients[id].session;
        session.watches.extend(names.into_iter().map(|key| Watch {
            table: table_id,
            key,
            version: Version::Unknown,
        }));
        let token = self.open_gather(id, Gather::new(Join::Watch, protocol, 1));
        self.clients[id].blocked = Some(Blocked::Drain);
        let work = Work::Command(spec, args.to_owned());
        let (origin, deadline) = (self.core.own(token), self.core.deadline());
        self.begin(Request::new(origin, table_id, protocol, work, deadline));
    }

    /// The versions of watched keys, as `WATCH`'s share rendered them: one line a key.
    pub(super) fn on_watched(&mut self, token: Token, lines: &[u8]) -> Vec<u8> {
        if lines.first() == Some(&b'-') {
            return lines.to_vec();
        }
        let versions = String::from_utf8_lossy(lines).into_owned();
        let versions: Vec<Version> = versions.lines().map(Version::parse).collect();
        let connection = &mut self.clients[token.connection];
        let first = connection
            .session
            .watches
            .len()
            .saturating_sub(versions.len());
        let new = connection.session.watches[first..].iter_mut();
        for (watch, version) in new.zip(versions) {
            watch.version = version;
        }
        b"+OK\r\n".to_vec()
    }

    /// The one slot and partition of all these keys; `None` if they are in several.
    fn one_slot<'a>(&self, table: usize, keys: impl Iterator<Item = &'a [u8]>) -> Option<Location> {
        let mut locations = keys.map(|key| self.core.locate(table, key));
        let first = locations.next()??;
        locations
            .all(|it| it.is_some_and(|it| it.slot == first.slot && it.leaf == first.leaf))
            .then_some(first)
    }

    fn exec(&mut self, id: ConnectionId, spec: &'static Spec) {
        let connection = &mut self.clients[id];
        let Some(queue) = connection.session.queue.take() else {
            return self.reply(id, |reply| reply.error("ERR EXEC without MULTI"));
        };
        let watches = std::mem::take(&mut connection.session.watches);
        let (table, protocol) = (connection.session.table, connection.session.protocol);
        let port = connection.accepted.port;
        if queue.is_refused {
            let error =
                ErrorReply::constant("EXECABORT Transaction discarded because of previous errors.");
            return self.refuse(id, Some(spec), &error);
        }
        let Some(state) = self.core.table(table) else {
            return self.refuse(id, Some(spec), &crate::keyed::dropped_table());
        };
        if watches.iter().any(|watch| watch.table != state.id) {
            // The connection went to another table in between.
            return self.reply(id, |reply| reply.null_array());
        }
        let queued = queue.commands.iter().flat_map(|(spec, args)| {
            let args = args.as_args();
            keys(spec, args).map(move |at| args.at(at).to_vec())
        });
        let all: Vec<Vec<u8>> = queued
            .chain(watches.iter().map(|watch| watch.key.clone()))
            .collect();
        if all.is_empty() {
            return self.exec_without_keys(id, queue.commands);
        }
        let Some(location) = self.one_slot(table, all.iter().map(Vec::as_slice)) else {
            return self.refuse(id, Some(spec), &CROSSSLOT);
        };
        if let Some(moved) = self.redirect(port, state, location) {
            return self.refuse(id, Some(spec), &moved);
        }
        let table_id = state.id;
        let (steps, later) = split(queue.commands);
        let transaction = Transaction { steps, watches };
        let has_later = later.iter().any(Option::is_some);
        let join = if has_later { Join::Exec } else { Join::Only };
        let gather = Gather::new(join, protocol, 1).costing(transaction.bytes());
        let token = self.open_gather(id, gather);
        if has_later {
            let connection = &mut self.clients[id];
            connection.session.after_exec = later;
            connection.blocked = Some(Blocked::Drain);
        }
        let work = Work::Transaction(Box::new(transaction));
        let (origin, deadline) = (self.core.own(token), self.core.deadline());
        self.begin(Request::new(origin, table_id, protocol, work, deadline));
    }

    /// The transaction was executed, or not: what it has of commands that are about no keys is executed now,
    /// or not, and their replies take their places.
    pub(super) fn on_executed(&mut self, token: Token, whole: Vec<u8>) -> Vec<u8> {
        let id = token.connection;
        let session = &mut self.clients[id].session;
        let later = std::mem::take(&mut session.after_exec);
        // Otherwise it is an error, or the null that tells of a watched key that has changed.
        let is_executed = whole.first() == Some(&b'*') && !whole.starts_with(b"*-");
        if !is_executed {
            return whole;
        }
        let Some((header, replies)) = elements(&whole) else {
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

    /// The reply to a command of the connection, not yet in its output.
    fn reply_of(&mut self, id: ConnectionId, spec: &'static Spec, args: &Args<'_>) -> Vec<u8> {
        let output = std::mem::take(&mut self.clients[id].output);
        self.execute_session(id, spec, args);
        let connection = &mut self.clients[id];
        let reply = connection.output.ready().to_vec();
        connection.output = output;
        reply
    }

    fn exec_without_keys(&mut self, id: ConnectionId, commands: Vec<(&'static Spec, OwnedArgs)>) {
        let replies: Vec<Vec<u8>> = commands
            .iter()
            .map(|(spec, args)| self.reply_of(id, spec, &args.as_args()))
            .collect();
        self.reply(id, |reply| {
            reply.array(replies.len());
            for bytes in &replies {
                reply.raw(bytes);
            }
        });
    }
}

/// What the brick of the keys executes, and beside it, place by place, what this one does afterwards.
fn split(commands: Vec<Command>) -> (Vec<Step>, Vec<Option<Command>>) {
    let place = |(spec, args): Command| {
        if is_data_command(spec.id) {
            (Step::Command(spec, args), None)
        } else {
            (Step::Later, Some((spec, args)))
        }
    };
    commands.into_iter().map(place).unzip()
}

/// The header of an array that may lack some of its elements, and those that are there.
fn elements(array: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let end = array.windows(2).position(|pair| pair == b"\r\n")? + 2;
    let (header, mut rest) = array.split_at(end);
    let mut replies = Vec::new();
    let mut decoder = ReplyDecoder::default();
    while !rest.is_empty() {
        let Ok(ReplyStep::Reply { consumed, .. }) = decoder.skim(rest) else {
            return None;
        };
        let (reply, behind) = rest.split_at(consumed);
        replies.push(reply);
        rest = behind;
    }
    Some((header, replies))
}
