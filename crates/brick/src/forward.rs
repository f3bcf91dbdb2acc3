//! Work that one brick of a node asks of another.
//!
//! The gateway side leaves a hole in its client's output, sends a [`ForwardRequest`] and fills the
//! hole when the [`ForwardReply`] comes. Messages of one brick to another stay in order, so two
//! commands of one client on one key do too.

use crate::connection::ConnectionId;
use crate::output::HoleId;
use crate::transaction::Transaction;
use brickyard_command::{OwnedArgs, Spec};
use brickyard_types::{BrickId, TableId};
use brickyard_wire::Protocol;

/// Which part of which reply of which client something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) connection: ConnectionId,
    /// The client's id: connection numbers are reused, these are not.
    pub(crate) client: u64,
    pub(crate) hole: HoleId,
    pub(crate) part: u32,
}

/// What is asked.
#[derive(Debug)]
pub(crate) enum Work {
    /// One command on keys of one partition, or this brick's share of one on the whole table.
    Command(&'static Spec, OwnedArgs),
    /// A transaction on one partition.
    Transaction(Box<Transaction>),
}

/// A request to another brick.
#[derive(Debug)]
pub struct ForwardRequest {
    pub(crate) token: Token,
    pub(crate) table: TableId,
    pub(crate) protocol: Protocol,
    pub(crate) work: Work,
}

/// Its answer: a rendered reply whose time has come.
#[derive(Debug)]
pub struct ForwardReply {
    pub(crate) token: Token,
    pub(crate) bytes: Vec<u8>,
}

/// A message between two bricks of a node.
#[derive(Debug)]
pub enum Forward {
    /// Asks.
    Request(ForwardRequest),
    /// Answers.
    Reply(ForwardReply),
}

impl Forward {
    /// Bytes that the message holds, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Request(request) => match &request.work {
                Work::Command(_, args) => args.memory_bytes(),
                Work::Transaction(transaction) => transaction.bytes(),
            },
            Self::Reply(reply) => reply.bytes.len(),
        }
    }
}

/// Messages to the other bricks, collected for one turn of the loop.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    by_brick: Vec<Vec<Forward>>,
    bytes: usize,
}

impl Outbox {
    pub(crate) fn new(bricks: u32) -> Self {
        Self {
            by_brick: (0..bricks).map(|_| Vec::new()).collect(),
            bytes: 0,
        }
    }

    /// Bytes in it, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, to: BrickId, message: Forward) {
        if let Some(messages) = self.by_brick.get_mut(to.0 as usize) {
            self.bytes += message.bytes();
            messages.push(message);
        }
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

/// Who waits for the outcome of some work: a client of this brick, or another brick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) brick: BrickId,
    pub(crate) token: Token,
}
