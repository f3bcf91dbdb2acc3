//! Replies to one client: at once, with the commit dependency that they wait for, or in parts that come later.

use super::Clients;
use crate::accepted::ConnectionId;
use crate::connection::{Blocked, Connection, ReplyMode};
use crate::gather::{Gather, Join};
use crate::log::Log;
use crate::output::{CommitDependency, Lost};
use crate::request::{Request, Token};
use crate::session::next::Subrequests;
use crate::settings::Settings;
use crate::stats::Stats;
use brickyard_command::{CommandId, ErrorReply, Spec};
use brickyard_routing::Member;
use brickyard_types::Instant;
use brickyard_wire::Reply;

/// What begins when all that its connection asked before it has been answered.
#[derive(Debug)]
pub(crate) enum Last {
    /// A transaction over several slots.
    Request(Box<Request>),
    /// A command on a whole table, as these bricks are asked for the parts that the token names.
    Subrequests(Box<Subrequests>, Vec<Member>, Token),
    /// A feed, whose answer that names.
    Round(Token),
}

/// A reply of which all parts are there.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) join: Join,
    pub(crate) bytes: Vec<u8>,
    dependency: CommitDependency,
    is_silent: bool,
    is_divided: bool,
}

/// Whether the client wants the reply to the command at hand.
#[inline]
pub(crate) fn wants_reply(connection: &Connection) -> bool {
    matches!(connection.session.reply_mode, ReplyMode::On)
}

impl Clients {
    /// Writes a reply that waits for nothing.
    #[inline]
    pub(crate) fn reply(&mut self, id: ConnectionId, write: impl FnOnce(&mut Reply<'_>)) {
        self.reply_dependent(id, CommitDependency::NONE, write);
    }

    /// Writes the reply that `write` makes, or nothing if that refuses.
    pub(crate) fn answer(
        &mut self,
        id: ConnectionId,
        write: impl FnOnce(&mut Reply<'_>) -> Result<(), ErrorReply>,
    ) -> Result<(), ErrorReply> {
        let mut outcome = Ok(());
        self.reply(id, |reply| {
            let start = reply.position();
            outcome = write(reply);
            if outcome.is_err() {
                reply.truncate(start);
            }
        });
        outcome
    }

    /// Writes a reply that waits for `dependency`.
    pub(crate) fn reply_dependent(
        &mut self,
        id: ConnectionId,
        dependency: CommitDependency,
        write: impl FnOnce(&mut Reply<'_>),
    ) {
        let Some(connection) = self.get_mut(id) else {
            return;
        };
        let protocol = connection.session.protocol;
        let is_wanted = wants_reply(connection);
        let out = connection.output.begin();
        let start = out.len();
        write(&mut Reply::new(out, protocol));
        if is_wanted {
            connection.output.end(start, dependency);
        } else {
            out.truncate(start);
            connection.output.end(start, CommitDependency::NONE);
        }
    }

    /// Answers with an error that was found before the command ran.
    pub(crate) fn refuse(
        &mut self,
        id: ConnectionId,
        spec: Option<&'static Spec>,
        error: &ErrorReply,
        stats: &Stats,
    ) {
        stats.errors.replied.add(1);
        if let Some(command) = spec.and_then(|spec| stats.commands_by_id.get(spec.id as usize)) {
            command.rejected.add(1);
        }
        let session = &mut self[id].session;
        if spec.is_some_and(|spec| spec.id == CommandId::Exec)
            && !error.as_bytes().starts_with(b"EXECABORT")
        {
            // Whatever is wrong with EXEC itself ends the transaction.
            session.multi.discard();
            if error.as_bytes().starts_with(b"ERR ") {
                let reason = error.as_bytes().strip_prefix(b"ERR ").unwrap_or_default();
                let start = b"EXECABORT Transaction discarded because of: ";
                let aborted = ErrorReply::new([&start[..], reason].concat());
                return self.reply(id, |reply| reply.error_bytes(aborted.as_bytes()));
            }
        } else if let Some(queue) = &mut session.multi.queue {
            queue.is_refused = true;
        }
        self.reply(id, |reply| reply.error_bytes(error.as_bytes()));
    }

    /// Leaves a placeholder in the client's output for a reply in parts.
    pub(crate) fn open_gather(&mut self, id: ConnectionId, mut gather: Gather) -> Token {
        let connection = &mut self[id];
        let placeholder = connection.output.open_placeholder();
        gather.is_silent = !wants_reply(connection);
        connection.gathers.begin(placeholder, gather);
        let client = connection.client;
        self.list(id);
        Token {
            connection: id,
            client,
            placeholder,
            part: 0,
        }
    }

    /// A part of a reply is there: the whole, if it was the last one. The whole is for [`Self::fill`].
    pub(crate) fn take_part(
        &mut self,
        token: Token,
        bytes: Vec<u8>,
        dependency: CommitDependency,
        now: Instant,
    ) -> Option<Whole> {
        let connection = self.named_mut(token)?;
        connection.returned.note_brick(now);
        connection.reply_lengths.note(bytes.len());
        let changed = connection.gathers.change(token.placeholder, |gather| {
            let whole = gather.on_part(token.part, bytes, dependency)?;
            let about = (gather.kind(), gather.is_silent, gather.is_divided());
            Some((whole, about))
        });
        self.look_at_room(token.connection);
        let ((bytes, dependency), (join, is_silent, is_divided)) = changed??;
        assert!(
            !(is_divided && join == Join::Only),
            "one part cannot be divided"
        );
        self[token.connection].gathers.end(token.placeholder);
        Some(Whole {
            join,
            bytes,
            dependency,
            is_silent,
            is_divided,
        })
    }

    /// The reply takes the place that was left for it, and its client goes on if it waited for that.
    pub(crate) fn fill(&mut self, token: Token, whole: Whole, settings: &Settings, log: &Log) {
        let id = token.connection;
        let Some(connection) = self.get_mut(id) else {
            return;
        };
        // Who wants no reply wants no error either, should the log refuse what it waits for.
        let (bytes, dependency) = if whole.is_silent {
            (Vec::new(), CommitDependency::NONE)
        } else {
            (whole.bytes, whole.dependency)
        };
        let is_unread = connection.output.len() > settings.output_max();
        connection
            .output
            .fill_placeholder(token.placeholder, bytes, dependency);
        if whole.is_divided {
            connection.output.mark_divided(token.placeholder);
        }
        connection.output.advance(log);
        let is_blocked = matches!(connection.blocked, Some(Blocked::Drain | Blocked::Watch));
        if is_blocked && connection.output.placeholders() == 0 {
            connection.blocked = None;
        }
        if is_unread {
            // Its requests are with other bricks already, so it cannot be held back any more.
            self.on_broken(id);
        }
        self.list(id);
        self.resume(id);
    }

    /// A reply that depends on nothing takes the place that was left for it.
    pub(crate) fn fill_waiting(
        &mut self,
        token: Token,
        (bytes, is_silent): (Vec<u8>, bool),
        settings: &Settings,
        log: &Log,
    ) {
        let whole = Whole {
            join: Join::Only,
            bytes,
            dependency: CommitDependency::NONE,
            is_silent,
            is_divided: false,
        };
        if self.named_mut(token).is_some() {
            self.fill(token, whole, settings, log);
        }
    }

    /// Something about more than one slot comes behind all that its connection has asked, and before all that it will ask: it, if
    /// nothing is before it.
    pub(crate) fn begin_alone(&mut self, id: ConnectionId, last: Last) -> Option<Last> {
        let connection = &mut self[id];
        connection.blocked = Some(Blocked::Drain);
        let before = connection.output.placeholders();
        assert!(before > 0, "{last:?} has no place for its reply");
        if before == 1 {
            return Some(last);
        }
        let waiting = self.begins_last.insert(id, last);
        assert!(waiting.is_none(), "a connection that is blocked asks on");
        None
    }

    /// What waited for all that its connection had asked before it, if that has been answered.
    pub(crate) fn take_last(&mut self, id: ConnectionId) -> Option<Last> {
        if self.begins_last.is_empty() || self.get(id)?.output.placeholders() != 1 {
            return None;
        }
        self.begins_last.remove(&id)
    }

    /// Operations were lost: whoever waits for one of them is told so.
    pub(crate) fn lose(&mut self, lost: Lost, error: &[u8]) {
        for connection in self.iter_mut() {
            connection.output.refuse(lost, error);
            connection.gathers.refuse(lost, error);
        }
    }

    /// What is made for `token` has had its time: if it waits still it becomes `error`.
    pub(crate) fn give_up(&mut self, token: Token, error: &[u8], log: &Log) {
        if let Some(connection) = self.named_mut(token) {
            let placeholder = token.placeholder;
            connection
                .gathers
                .change(placeholder, |gather| gather.give_up(token.part, error, log));
            connection.output.give_up(token.placeholder, error, log);
        }
    }

    /// Op numbers will be used again: a watched key's number no longer says what it was.
    pub(crate) fn forget_watches(&mut self) {
        for connection in self.iter_mut() {
            connection.session.multi.forget_versions();
        }
    }
}
