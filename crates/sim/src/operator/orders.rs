//! What an operator wants, and what became of it.
//!
//! Not here: how it is said (`operator`).

use crate::clock::Nanos;
use crate::network::ConnectionId;
use brickyard_types::Placement;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Something that an operator wants. Nodes are numbered by machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Drain(usize),
    Weigh(usize, u32),
    /// It is to vote no more.
    Demote(usize),
    /// Drained and demoted before.
    Remove(usize),
    /// The first one's place is taken by the second.
    Replace(usize, usize),
    PauseMoves,
    ResumeMoves,
    /// Some partition of a table, by dice.
    Split(usize, u64),
    /// Some partition of a table that came from a split, and its sibling, by dice.
    Merge(usize, u64),
    /// A table is to be placed so.
    Place(usize, Placement),
    /// A table is to be on these nodes, a bit each; 0: on any.
    Confine(usize, u8),
    /// What a partition of a table may have; `None`: what nodes are set to.
    Bound(usize, Option<u64>),
    /// A node is to have these roles.
    Employ(usize, &'static str),
    /// A table is to go out of memory, or to come back.
    TakeOffline(usize),
    BringOnline(usize),
}

/// What an order is about that a later one may be about as well: of those the last one holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    Weight(usize),
    Roles(usize),
    Moves,
    Placement(usize),
    Nodes(usize),
    Bytes(usize),
    PartitionStatus(usize),
}

impl Order {
    pub(crate) fn subject(self) -> Option<Subject> {
        Some(match self {
            Self::Drain(node) | Self::Weigh(node, _) => Subject::Weight(node),
            Self::Demote(node) | Self::Employ(node, _) => Subject::Roles(node),
            Self::PauseMoves | Self::ResumeMoves => Subject::Moves,
            Self::Place(table, _) => Subject::Placement(table),
            Self::Confine(table, _) => Subject::Nodes(table),
            Self::Bound(table, _) => Subject::Bytes(table),
            Self::TakeOffline(table) | Self::BringOnline(table) => Subject::PartitionStatus(table),
            Self::Remove(_) | Self::Replace(..) | Self::Split(..) | Self::Merge(..) => return None,
        })
    }
}

/// What a node is used for unless somebody says otherwise.
pub(crate) const ALL_ROLES: &str = "storage,control,gateway";

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Operator {
    pub(super) orders: VecDeque<Order>,
    pub(super) connection: Option<ConnectionId>,
    pub(super) asked_at: Option<Nanos>,
    pub(super) received: Vec<u8>,
    pub(super) is_due: bool,
    /// What is in doubt is said again then; until then it may be carried out once more.
    pub(crate) affirms_at: Nanos,
    /// Tables that were to be on some nodes only.
    pub(super) confined: BTreeSet<usize>,
    /// The last word on everything that was carried out.
    pub(super) latest: BTreeMap<Subject, Order>,
}

impl Operator {
    /// Whether everything was done or refused.
    pub(crate) fn is_done(&self) -> bool {
        self.orders.is_empty()
    }

    /// Tables that were to be laid out otherwise.
    pub(crate) fn laid_out(&self) -> Vec<usize> {
        self.confined.iter().copied().collect()
    }

    /// From now on it is so.
    pub(crate) fn holds(&mut self, order: Order) {
        if let Some(subject) = order.subject() {
            self.latest.insert(subject, order);
        }
    }

    /// Whether a node is to be removed, and was not told to be yet.
    pub(crate) fn is_to_remove(&self, node: usize) -> bool {
        self.orders.contains(&Order::Remove(node))
    }
}
