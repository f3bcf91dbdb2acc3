//! Replies that are not there at once: the holes in a client's output, and what fills them.

use crate::brick::Brick;
use crate::connection::ConnectionId;
use crate::forward::{Forward, ForwardReply, Origin, Token};
use crate::gather::Gather;
use crate::output::{Gate, Opens};

impl Brick {
    /// Leaves a hole in the client's output for a reply in parts.
    pub(crate) fn open_gather(&mut self, id: ConnectionId, gather: Gather) -> Token {
        self.clients.open_gather(id, gather)
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
        let connection = self.clients.named(token);
        connection.is_some_and(|it| !it.session.after_exec.is_empty())
    }

    /// A part of a reply is there.
    pub(crate) fn on_part(&mut self, token: Token, bytes: Vec<u8>, gate: Gate) {
        let Some(mut whole) = self.clients.take_part(token, bytes, gate) else {
            return;
        };
        whole.bytes = self.on_gathered(token, whole.join, whole.bytes);
        let core = &self.core;
        self.clients
            .fill(token, whole, &core.shared.settings, &core.log);
    }
}
