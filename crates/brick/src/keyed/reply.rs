//! Replies that are not there at once: the holes in a client's output, and what fills them.

use crate::accepted::ConnectionId;
use crate::brick::Brick;
use crate::gather::Gather;
use crate::output::Gate;
use crate::request::Token;

impl Brick {
    /// Leaves a hole in the client's output for a reply in parts.
    pub(crate) fn open_gather(&mut self, id: ConnectionId, gather: Gather) -> Token {
        self.clients.open_gather(id, gather)
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
