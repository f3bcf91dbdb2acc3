//! Replies that are not there at once: the holes in a client's output, and what fills them.

use crate::brick::Brick;
use crate::connection::ConnectionId;
use crate::execute::wants_reply;
use crate::forward::{Forward, ForwardReply, Origin, Token};
use crate::gather::Gather;
use crate::output::{Gate, Opens};
use crate::settings::Settings;

impl Brick {
    /// Leaves a hole in the client's output for a reply in parts.
    pub(crate) fn open_gather(&mut self, id: ConnectionId, mut gather: Gather) -> Token {
        let connection = &mut self.connections[id.0 as usize];
        let hole = connection.output.open_hole();
        gather.is_silent = !wants_reply(connection);
        connection.outstanding += gather.cost;
        connection.gathers.push_back((hole, gather));
        let client = connection.client;
        self.list(id);
        Token {
            connection: id,
            client,
            hole,
            part: 0,
        }
    }

    /// Bytes of replies that a client may leave unread.
    pub(crate) fn output_bytes_max(&self) -> usize {
        let max = Settings::load(&self.core.shared.settings.output_bytes_max);
        usize::try_from(max).unwrap_or(usize::MAX)
    }

    /// The outcome of some work goes to whoever waits for it.
    pub(crate) fn complete(&mut self, origin: Origin, bytes: Vec<u8>, gate: Gate) {
        self.note_deadline(origin, gate);
        let is_own = origin.member == self.core.member();
        if is_own && (self.core.log.opens(gate) || !self.has_later(origin.token)) {
            self.on_part(origin.token, bytes, gate);
            return;
        }
        let reply = ForwardReply {
            token: origin.token,
            bytes,
            is_misplaced: false,
        };
        if !is_own && self.core.log.opens(gate) {
            self.core.outbox.push(origin.member, Forward::Reply(reply));
        } else {
            self.held_replies.push((gate, origin.member, reply));
        }
    }

    /// Whether the reply decides what its connection does next: commands of a transaction that are about no keys
    /// run when the rest has committed, not when that may yet be refused.
    fn has_later(&self, token: Token) -> bool {
        let connection = self.connections.get(token.connection.0 as usize);
        connection.is_some_and(|it| it.client == token.client && !it.session.after_exec.is_empty())
    }

    /// A part of a reply is there.
    pub(crate) fn on_part(&mut self, token: Token, bytes: Vec<u8>, gate: Gate) {
        let id = token.connection;
        let output_bytes_max = self.output_bytes_max();
        let Some(connection) = self.connections.get_mut(id.0 as usize) else {
            return;
        };
        if connection.client != token.client {
            return;
        }
        let Some(gather) = connection.gather(token.hole) else {
            return;
        };
        let (join, is_silent) = (gather.kind(), gather.is_silent);
        let Some((whole, gate)) = gather.on_part(token.part, bytes, gate) else {
            return;
        };
        let is_divided = gather.is_divided();
        connection.end_gather(token.hole);
        let whole = self.on_gathered(token, join, whole);
        let Some(connection) = self.connections.get_mut(id.0 as usize) else {
            return;
        };
        // Who wants no reply wants no error either, should the log refuse what it waits for.
        let (whole, gate) = if is_silent {
            (Vec::new(), Gate::OPEN)
        } else {
            (whole, gate)
        };
        let is_unread = connection.output.len() > output_bytes_max;
        connection.output.fill_hole(token.hole, whole, gate);
        if is_divided {
            connection.output.mark_divided(token.hole);
        }
        connection.output.advance(&self.core.log);
        if connection.blocked == Some(crate::connection::Blocked::Drain)
            && connection.output.holes() == 0
        {
            connection.blocked = None;
        }
        if is_unread {
            // Its requests are with other bricks already, so it cannot be held back any more.
            self.on_error(id);
        }
        self.list(id);
        self.resume(id);
    }
}
