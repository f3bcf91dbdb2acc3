//! Room for replies of one client: how much is reserved, what came back for want of it, and when that is asked again.
//!
//! Not here: why, and the invariants ([`crate::room`]).

use super::Clients;
use crate::accepted::ConnectionId;
use crate::connection::Connection;
use crate::gather::Gather;
use crate::request::{Request, Token};
use crate::room::{CameBack, PARTS_FEW, SHORT};
use brickyard_routing::Member;
use brickyard_types::Instant;
use std::collections::BTreeSet;

impl Connection {
    /// What a request reserves whose reply's length is not known.
    fn room_of(&mut self, token: Token) -> Option<usize> {
        let lengths = self.reply_lengths;
        let room = |gather: &mut Gather| match gather.is_short() {
            true => SHORT,
            false => lengths.room(gather.parts() > PARTS_FEW),
        };
        self.gathers.change(token.placeholder, room)
    }

    /// Whether what came back may be asked again: nothing of the client is under way, and it has read enough for a request to be
    /// executed here.
    fn may_ask_again(&self) -> bool {
        !self.returned.is_empty()
            && !self.end.is_broken
            && self.gathers.holding().under_way == 0
            && self.output.ready().len() <= self.reply_lengths.output_soft()
    }
}

impl Clients {
    /// A request is about to wait, or to go elsewhere: how long its reply may be.
    pub(crate) fn reserve(&mut self, token: Token, known: usize) -> usize {
        let Some(connection) = self.named_mut(token) else {
            return SHORT;
        };
        let room = connection.room_of(token).unwrap_or(SHORT);
        let room = room.max(known.saturating_add(SHORT));
        connection
            .gathers
            .change(token.placeholder, |it| it.reserve(token.part, room));
        room
    }

    /// A request that came back is asked again, with the room that it has; whether its reply is still wanted.
    pub(crate) fn reserve_again(&mut self, request: &Request) -> bool {
        let token = request.origin.token;
        let reserved = self.named_mut(token).and_then(|connection| {
            connection
                .gathers
                .change(token.placeholder, |it| it.reserve(token.part, request.room))
        });
        reserved == Some(true)
    }

    /// The connection of a client, if it is still there. (By its number alone it is looked for among all.)
    pub(crate) fn id_of(&self, client: u64, token: Option<Token>) -> Option<ConnectionId> {
        match token {
            Some(token) => self.named(token).map(|it| it.id),
            None => self.iter().find(|it| it.client == client).map(|it| it.id),
        }
    }

    /// A request came back; it reserves nothing while it waits.
    pub(crate) fn put_back(&mut self, id: ConnectionId, came_back: CameBack, now: Instant) {
        let token = came_back.request.origin.token;
        let connection = &mut self[id];
        let is_wanted = connection
            .gathers
            .change(token.placeholder, |it| it.reserve(token.part, 0));
        connection.returned.note_brick(now);
        if is_wanted == Some(true) {
            connection.returned.put(came_back);
        }
    }

    /// Something of the connection's has come, was sent or came back: what came back may have room now.
    #[inline]
    pub(crate) fn look_at_room(&mut self, id: ConnectionId) {
        if let Some(connection) = self.get_mut(id)
            && !connection.marks.is_roomy
            && connection.may_ask_again()
        {
            connection.marks.is_roomy = true;
            self.roomy.push(id);
        }
    }

    /// Those whose requests may be asked again.
    pub(crate) fn take_roomy(&mut self) -> Vec<ConnectionId> {
        let roomy = std::mem::take(&mut self.roomy);
        for id in &roomy {
            let marks = &mut self[*id].marks;
            assert!(marks.is_roomy, "{id:?} is not marked as roomy");
            marks.is_roomy = false;
        }
        roomy
    }

    pub(crate) fn has_roomy(&self) -> bool {
        !self.roomy.is_empty()
    }

    /// What of a connection is asked again now, and the bricks that are to go on before; with the client's number.
    pub(crate) fn take_returned(
        &mut self,
        id: ConnectionId,
        now: Instant,
    ) -> Option<(u64, Vec<CameBack>, BTreeSet<Member>)> {
        let connection = self.get_mut(id).filter(|it| it.may_ask_again())?;
        let lengths = connection.reply_lengths;
        let usual = lengths.room(false);
        let free = lengths
            .output_soft()
            .saturating_sub(connection.replies_len());
        let taken = connection.returned.take(free, usual, now);
        Some((connection.client, taken, connection.returned.take_bricks()))
    }
}
