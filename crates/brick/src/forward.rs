//! Work that one brick asks of another, of its node or of another node.
//!
//! The gateway side leaves a hole in its client's output, sends a [`ForwardRequest`] and fills the
//! hole when the [`ForwardReply`] comes. Messages of one brick to another stay in order, so two
//! commands of one client on one key do too.

use crate::connection::ConnectionId;
use crate::output::HoleId;
use crate::requests::Request;
use crate::stall::Lane;
use crate::transaction::{Step, Transaction};
use brickyard_command::{Args, OwnedArgs, Spec};
use brickyard_routing::{Member, NodeId};
use brickyard_types::{BrickId, Instant, TableId};
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
    /// One command on keys of one partition, or something for this brick that is about no table.
    Command(&'static Spec, OwnedArgs),
    /// A command on keys of one slot that writes, and can be recognised when it comes again.
    Request(Request, &'static Spec, OwnedArgs),
    /// A transaction on one partition.
    Transaction(Box<Transaction>),
    /// A brick's share of a command on the whole table, and which partitions that is in the eyes of who asks
    /// ([`crate::core::Core::share`]); 0: whatever the brick has.
    Share(&'static Spec, OwnedArgs, u64),
}

impl Work {
    /// A client's command, with the id that it came with.
    pub(crate) fn of(spec: &'static Spec, args: &Args<'_>, request: Option<Request>) -> Self {
        match request {
            Some(request) => Self::Request(request, spec, args.to_owned()),
            None => Self::Command(spec, args.to_owned()),
        }
    }

    /// The id under which it may have been asked before.
    pub(crate) const fn named(&self) -> Option<Request> {
        match self {
            Self::Request(request, ..) => Some(*request),
            _ => None,
        }
    }

    /// Whether an attempt at it was lost, so that nobody may promise that it was not executed.
    pub(crate) const fn was_lost(&self) -> bool {
        matches!(self, Self::Request(request, ..) if request.was_lost)
    }

    /// Bytes of memory, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Command(_, args) | Self::Request(_, _, args) | Self::Share(_, args, _) => {
                args.memory_bytes()
            }
            Self::Transaction(transaction) => transaction.bytes(),
        }
    }

    /// The key that says where it belongs; `None`: it is about a whole table.
    pub(crate) fn first_key(&self) -> Option<&[u8]> {
        let key_of = |spec: &'static Spec, args: &'_ OwnedArgs| {
            (spec.key_first > 0 && args.as_args().len() > spec.key_first as usize)
                .then_some(spec.key_first as usize)
        };
        match self {
            Self::Command(spec, args) | Self::Request(_, spec, args) => {
                let at = key_of(spec, args)?;
                args.as_args().get(at)
            }
            Self::Transaction(transaction) => {
                let mut steps = transaction.steps.iter();
                let in_steps = steps.find_map(|step| match step {
                    Step::Command(spec, args) => {
                        let at = key_of(spec, args)?;
                        args.as_args().get(at)
                    }
                    Step::Later => None,
                });
                in_steps.or_else(|| transaction.watches.first().map(|watch| &watch.key[..]))
            }
            Self::Share(..) => None,
        }
    }
}

/// A request to another brick.
#[derive(Debug)]
pub struct ForwardRequest {
    pub(crate) token: Token,
    pub(crate) table: TableId,
    pub(crate) protocol: Protocol,
    pub(crate) work: Work,
    /// When whoever asks gives it up; the other brick has a deadline of its own.
    pub(crate) until: Instant,
    /// What it must not be overtaken in, by what the same connection asks later; noted where it is asked.
    pub(crate) lane: Option<Lane>,
    /// How often it was sent on in vain; not sent either.
    pub(crate) moves: u32,
}

/// Its answer: a rendered reply whose time has come.
#[derive(Debug)]
pub struct ForwardReply {
    pub(crate) token: Token,
    pub(crate) bytes: Vec<u8>,
    /// The brick is not the key's primary, and did nothing: whoever asked has an older map, or a newer one.
    pub(crate) is_misplaced: bool,
}

/// A message between two bricks of a node.
#[derive(Debug)]
pub enum Forward {
    /// Asks.
    Request(ForwardRequest),
    /// Answers.
    Reply(ForwardReply),
    /// Gives back what does not belong to the brick that was asked, which did nothing; within a node, reads alone.
    Returned(Box<ForwardRequest>),
}

impl Forward {
    /// Bytes that the message holds, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Request(request) => request.bytes(),
            Self::Returned(request) => request.bytes(),
            Self::Reply(reply) => reply.bytes.len(),
        }
    }
}

impl ForwardRequest {
    /// Bytes of what is asked, about.
    pub(crate) fn bytes(&self) -> usize {
        self.work.memory_bytes()
    }
}

/// Messages to the other bricks, collected for one turn of the loop.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    by_brick: Vec<Vec<Forward>>,
    /// For bricks of other nodes; they leave through `remote`.
    pub(crate) remote: Vec<(Member, Forward)>,
    node: NodeId,
    bytes: usize,
}

impl Outbox {
    pub(crate) fn new(node: NodeId, bricks: u32) -> Self {
        Self {
            by_brick: (0..bricks).map(|_| Vec::new()).collect(),
            remote: Vec::new(),
            node,
            bytes: 0,
        }
    }

    /// Bytes in it, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, to: Member, message: Forward) {
        if to.node != self.node {
            self.bytes += message.bytes();
            self.remote.push((to, message));
        } else if let Some(messages) = self.by_brick.get_mut(to.brick.0 as usize) {
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
    pub(crate) member: Member,
    pub(crate) token: Token,
}
