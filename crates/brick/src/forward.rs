//! What one brick tells another, of its node or of another node: requests, and their replies.
//!
//! The gateway side leaves a placeholder in its client's output, sends a [`Request`] and fills the
//! placeholder when the [`ForwardReply`] comes. Messages of one brick to another stay in order, so two
//! commands of one client on one key do too.
//!
//! Not here: requests for other nodes, which wait for a stream and for their answer (`remote`).

use crate::accepted::ConnectionId;
use crate::channels::Published;
use crate::request::{Request, Token};
use crate::tracking::Notice;
use brickyard_routing::{Member, NodeId};
use brickyard_types::BrickId;
use std::sync::Arc;

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    /// Its reply is rendered.
    Outcome,
    /// The brick is not the key's primary, and did nothing: whoever asked has an older map, or a newer one.
    Misplaced,
    /// The brick did nothing, since the reply is longer than there is room for at the asker's.
    NoRoom(NoRoom),
}

/// For what there was no room ([`crate::room`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoRoom {
    /// Whose the request is.
    pub(crate) client: u64,
    /// How many bytes the reply would have; 0: it was not looked at, since it comes behind one for which there was no room.
    pub(crate) needed: usize,
}

/// The answer to a request: a rendered reply whose time has come, or why there is none.
#[derive(Debug)]
pub struct ForwardReply {
    pub(crate) token: Token,
    pub(crate) bytes: Vec<u8>,
    pub(crate) kind: ReplyKind,
}

impl ForwardReply {
    /// The outcome of what was asked.
    pub(crate) const fn new(token: Token, bytes: Vec<u8>) -> Self {
        Self {
            token,
            bytes,
            kind: ReplyKind::Outcome,
        }
    }

    /// Says that nothing was done.
    pub(crate) const fn undone(token: Token, kind: ReplyKind) -> Self {
        Self {
            token,
            bytes: Vec::new(),
            kind,
        }
    }
}

/// A message between two bricks of a node.
#[derive(Debug)]
pub enum Forward {
    /// Asks.
    Request(Request),
    /// Answers.
    Reply(ForwardReply),
    /// Gives back what does not belong to the brick that was asked, which did nothing.
    Returned(Box<Request>),
    /// Gives back what would have a reply for which there is no room, or comes behind such a one.
    NoRoom(Box<Request>, usize),
    /// The client of that number has room again.
    Resume(u64),
    /// A message to a channel that clients of the brick subscribe to.
    Published(Published),
    /// About copies of keys.
    Notice(Notice),
    /// What a client there is told for another one: a key that has changed, or that all have.
    Redirected {
        /// Who is told.
        connection: ConnectionId,
        /// Its number.
        client: u64,
        /// Of which key.
        key: Option<Vec<u8>>,
    },
    /// What clients have asked for, as lines for clients of the brick that watch.
    Shown(Arc<[u8]>),
    /// No command waits by `CLIENT PAUSE` any more.
    Unpaused,
}

impl Forward {
    /// Bytes that the message holds, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Request(request) => request.bytes(),
            Self::Returned(request) | Self::NoRoom(request, _) => request.bytes(),
            Self::Resume(_) | Self::Unpaused => size_of::<Self>(),
            Self::Shown(lines) => lines.len(),
            Self::Reply(reply) => reply.bytes.len(),
            Self::Published(published) => published.bytes(),
            Self::Notice(notice) => notice.bytes(),
            Self::Redirected { key, .. } => size_of::<Self>() + key.as_ref().map_or(0, Vec::len),
        }
    }
}

/// Messages to the other bricks, collected for one turn of the loop.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    by_brick: Vec<Vec<Forward>>,
    /// Replies to bricks of other nodes; they leave through `remote`.
    remote: Vec<(Member, ForwardReply)>,
    /// Messages to channels; they leave for wherever somebody may subscribe when the turn ends.
    published: Vec<Published>,
    /// About copies of keys, for bricks of other nodes.
    notices: Vec<(Member, Notice)>,
    node: NodeId,
    bytes: usize,
}

impl Outbox {
    pub(crate) fn new(node: NodeId, bricks: u32) -> Self {
        Self {
            by_brick: (0..bricks).map(|_| Vec::new()).collect(),
            remote: Vec::new(),
            published: Vec::new(),
            notices: Vec::new(),
            node,
            bytes: 0,
        }
    }

    /// Bytes in it, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A message for another brick of this node.
    pub(crate) fn push(&mut self, to: Member, message: Forward) {
        assert_eq!(to.node, self.node, "{to} is on another node: {message:?}");
        if let Some(messages) = self.by_brick.get_mut(to.brick.0 as usize) {
            self.bytes += message.bytes();
            messages.push(message);
        }
    }

    /// An answer for another brick, wherever it is.
    pub(crate) fn reply(&mut self, to: Member, reply: ForwardReply) {
        if to.node == self.node {
            self.push(to, Forward::Reply(reply));
        } else {
            self.bytes += reply.bytes.len();
            self.remote.push((to, reply));
        }
    }

    /// A message to a channel.
    pub(crate) fn publish(&mut self, published: Published) {
        self.bytes += published.bytes();
        self.published.push(published);
    }

    /// Another brick, wherever it is, is told something about copies of keys.
    pub(crate) fn tell(&mut self, to: Member, notice: Notice) {
        if to.node == self.node {
            return self.push(to, Forward::Notice(notice));
        }
        self.bytes += notice.bytes();
        self.notices.push((to, notice));
    }

    /// What bricks of other nodes are told of copies.
    pub(crate) fn take_notices(&mut self) -> Vec<(Member, Notice)> {
        std::mem::take(&mut self.notices)
    }

    /// The messages to channels.
    pub(crate) fn take_published(&mut self) -> Vec<Published> {
        std::mem::take(&mut self.published)
    }

    /// The answers for other nodes.
    pub(crate) fn take_remote(&mut self) -> Vec<(Member, ForwardReply)> {
        std::mem::take(&mut self.remote)
    }

    /// The messages for one brick that has some.
    pub(crate) fn take(&mut self) -> Option<(BrickId, Vec<Forward>)> {
        let first = self
            .by_brick
            .iter()
            .position(|messages| !messages.is_empty());
        let Some(brick) = first else {
            self.bytes = 0;
            return None;
        };
        let messages = std::mem::take(&mut self.by_brick[brick]);
        Some((BrickId(brick as u32), messages))
    }
}
