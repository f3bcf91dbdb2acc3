//! One request of a client, from when it cannot be answered on the spot until its reply: what is asked, of which table,
//! for whom, and until when.
//!
//! In:  a client's command, or a message of another brick. Out: the same value, wherever the request waits or goes:
//! the lists of [`crate::requests`], another brick of the node, another node.
//!
//! Invariants:
//! - A request has one deadline from its beginning on, however often it waits and wherever it goes (rule
//!   `only the primary expires keys`).
//! - Its session order is fixed: the slot of a key does not change with the map (rule `reads follow own writes`).
//!
//! Not here: where it waits (`requests`), what happens to it next (`dispatch`).

use crate::accepted::ConnectionId;
use crate::distributed::part::Part;
use crate::output::PlaceholderId;
use crate::transaction::Transaction;
use brickyard_command::{Args, CommandId, OwnedArgs, Spec, is_data_command, keys, table::flag};
use brickyard_routing::Member;
use brickyard_types::record::RequestId;
use brickyard_types::{Instant, Slot, TableId};
use brickyard_wire::Protocol;

/// Room for a reply of any length: whoever runs a request on the spot has looked at its client's output.
pub(crate) const UNBOUNDED: usize = usize::MAX;

/// The connection that parts of distributed transactions are asked for by: no client has it.
pub(crate) const PARTS: ConnectionId = ConnectionId(u32::MAX);

/// Which part of which reply of which client something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) connection: ConnectionId,
    /// The client's id: connection numbers are reused, these are not.
    pub(crate) client: u64,
    pub(crate) placeholder: PlaceholderId,
    pub(crate) part: u32,
}

impl Token {
    /// Whether an answer with it is for a distributed transaction.
    pub(crate) fn is_of_part(self) -> bool {
        self.connection == PARTS
    }
}

/// Who waits for the outcome of some work: a client of this brick, or another brick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) member: Member,
    pub(crate) token: Token,
}

/// What one connection asks of one slot of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionOrder {
    pub(crate) member: Member,
    pub(crate) connection: ConnectionId,
    pub(crate) table: TableId,
    pub(crate) slot: Slot,
}

/// A request that can be recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) id: RequestId,
    /// It may have been sent before. Of all the attempts that are made one does not say so.
    pub(crate) is_again: bool,
    /// This brick has lost an attempt, so it may not promise that the request was not executed.
    pub(crate) was_lost: bool,
}

impl Attempt {
    /// An attempt was made and its outcome is not known.
    pub(crate) fn lose(&mut self) {
        self.is_again = true;
        self.was_lost = true;
    }
}

/// See the module.
#[derive(Debug)]
pub struct Request {
    pub(crate) origin: Origin,
    pub(crate) table: TableId,
    pub(crate) protocol: Protocol,
    pub(crate) work: Work,
    /// What must not overtake it; `None`: it is about a whole table, or has not waited yet.
    pub(crate) order: Option<SessionOrder>,
    /// When it is given up. A brick of another node counts anew from when it gets the request.
    pub(crate) deadline: Instant,
    /// How often another brick has refused it, or lost it.
    pub(crate) attempts: u32,
    /// It was not executed as it came: its reply has a deadline of its own.
    pub(crate) has_waited: bool,
    /// Bytes of reply for which its connection has room ([`crate::room`]).
    pub(crate) room: usize,
    /// Its client keeps copies of what it reads: the primary answers, and notes that.
    pub(crate) is_tracked: bool,
    /// Whose it is: on the asker's brick no other client ever gets that number.
    pub(crate) client: u64,
}

impl Request {
    /// A request that begins now. It may have a reply of any length until room is reserved for that.
    pub(crate) const fn new(
        origin: Origin,
        table: TableId,
        protocol: Protocol,
        work: Work,
        deadline: Instant,
    ) -> Self {
        Self {
            origin,
            table,
            protocol,
            work,
            order: None,
            deadline,
            attempts: 0,
            has_waited: false,
            room: UNBOUNDED,
            is_tracked: false,
            client: origin.token.client,
        }
    }

    /// Bytes of memory, about.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.work.memory_bytes()
    }
}

/// What is asked.
#[derive(Debug)]
pub(crate) enum Work {
    /// One command on keys of one partition, or something for this brick that is about no table.
    Command(&'static Spec, OwnedArgs),
    /// A command on keys of one slot that writes, and can be recognised when it comes again.
    Attempt(Attempt, &'static Spec, OwnedArgs),
    /// A transaction on one partition, or one that has an anchor and is coordinated at the partition of that.
    Transaction(Box<Transaction>),
    /// What such a transaction asks of one partition's primary.
    Part(Box<Part>),
    /// A brick's share of a command on the whole table, and which partitions that is in the eyes of who asks
    /// ([`crate::session::subrequest::subrequest_name`]); 0: whatever the brick has.
    Subrequest(&'static Spec, OwnedArgs, u64),
}

impl Work {
    /// A client's command, with the id that it came with.
    pub(crate) fn of(spec: &'static Spec, args: &Args<'_>, attempt: Option<Attempt>) -> Self {
        match attempt {
            Some(attempt) => Self::Attempt(attempt, spec, args.to_owned()),
            None => Self::Command(spec, args.to_owned()),
        }
    }

    /// The id under which it may have been asked before.
    pub(crate) const fn named(&self) -> Option<Attempt> {
        match self {
            Self::Attempt(attempt, ..) => Some(*attempt),
            _ => None,
        }
    }

    /// Whether an attempt at it was lost, so that nobody may promise that it was not executed.
    pub(crate) const fn was_lost(&self) -> bool {
        matches!(self, Self::Attempt(attempt, ..) if attempt.was_lost)
    }

    /// Whether it may be done twice without harm.
    pub(crate) fn only_reads(&self) -> bool {
        match self {
            Self::Command(spec, _) | Self::Subrequest(spec, ..) => spec.has(flag::READONLY),
            Self::Attempt(..) => false,
            Self::Transaction(transaction) => transaction.only_reads(),
            Self::Part(part) => part.only_reads(),
        }
    }

    /// Whether it is about all that the brick has: what was prepared before it must have committed.
    pub(crate) fn is_about_all(&self) -> bool {
        match self {
            // It is about what has committed.
            Self::Subrequest(spec, ..) => spec.id != CommandId::Watchkeys,
            Self::Command(spec, _) => !is_data_command(spec.id) && spec.id != CommandId::Watch,
            Self::Attempt(..) | Self::Transaction(_) | Self::Part(_) => false,
        }
    }

    /// The keys of which a client may keep copies that asks for it.
    pub(crate) fn keys_read(&self) -> Vec<&[u8]> {
        match self {
            Self::Command(spec, args) if is_data_command(spec.id) && spec.has(flag::READONLY) => {
                let args = args.as_args();
                keys(spec, args).map(|at| args.at(at)).collect()
            }
            Self::Transaction(transaction) => transaction.keys_read().collect(),
            Self::Command(..) | Self::Attempt(..) | Self::Part(_) | Self::Subrequest(..) => {
                Vec::new()
            }
        }
    }

    /// Whether scripts are run for it.
    pub(crate) fn has_scripts(&self) -> bool {
        matches!(self, Self::Transaction(transaction) if transaction.has_scripts())
    }

    /// Bytes of memory, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Command(_, args) | Self::Attempt(_, _, args) | Self::Subrequest(_, args, _) => {
                args.memory_bytes()
            }
            Self::Transaction(transaction) => transaction.bytes(),
            Self::Part(part) => part.bytes(),
        }
    }

    /// The key that says where it belongs; `None`: it is about a whole table.
    pub(crate) fn first_key(&self) -> Option<&[u8]> {
        match self {
            Self::Command(spec, args) | Self::Attempt(_, spec, args) if spec.key_first > 0 => {
                args.as_args().get(spec.key_first as usize)
            }
            Self::Transaction(transaction) => transaction.first_key(),
            Self::Part(part) => Some(part.first_key()),
            Self::Command(..) | Self::Attempt(..) | Self::Subrequest(..) => None,
        }
    }
}
