//! The members of the agreement, and how they change: one node at a time.
//!
//! Changing one voter at a time keeps any majority before and any majority after in touch, so
//! there is never a moment with two leaders.

use raft::eraftpb::{ConfChangeSingle, ConfChangeType, ConfChangeV2, ConfState};
use std::collections::VecDeque;

/// A change of the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConfChange {
    /// A node that is no member gets the log and does not vote.
    AddLearner(u64),
    /// A learner that has nearly all of the log votes from now on.
    Promote(u64),
    /// A voter only learns from now on.
    Demote(u64),
    /// A member is none any more. It may not get to know.
    Remove(u64),
}

/// Bytes of an encoded change: what it is, and the node.
const CHANGE_BYTES: usize = 9;

impl ConfChange {
    /// The node that it is about.
    #[must_use]
    pub fn node(self) -> u64 {
        let (Self::AddLearner(id) | Self::Promote(id) | Self::Demote(id) | Self::Remove(id)) = self;
        id
    }

    pub(crate) fn encode(self) -> Vec<u8> {
        assert_ne!(
            self.node(),
            0,
            "{self:?} is about no node, and would not be decoded"
        );
        let kind = match self {
            Self::AddLearner(_) => 1,
            Self::Promote(_) => 2,
            Self::Demote(_) => 3,
            Self::Remove(_) => 4,
        };
        let mut bytes = vec![kind];
        bytes.extend_from_slice(&self.node().to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; CHANGE_BYTES] = bytes.try_into().ok()?;
        let [kind, id @ ..] = bytes;
        let id = u64::from_le_bytes(id);
        match kind {
            _ if id == 0 => None,
            1 => Some(Self::AddLearner(id)),
            2 => Some(Self::Promote(id)),
            3 => Some(Self::Demote(id)),
            4 => Some(Self::Remove(id)),
            _ => None,
        }
    }

    pub(crate) fn library(self) -> ConfChangeV2 {
        let mut single = ConfChangeSingle::default();
        single.set_node_id(self.node());
        single.set_change_type(match self {
            Self::AddLearner(_) | Self::Demote(_) => ConfChangeType::AddLearnerNode,
            Self::Promote(_) => ConfChangeType::AddNode,
            Self::Remove(_) => ConfChangeType::RemoveNode,
        });
        let mut change = ConfChangeV2::default();
        change.mut_changes().push(single);
        change
    }
}

/// The members at some index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Members {
    /// Ascending.
    pub(crate) voters: Vec<u64>,
    /// Ascending.
    pub(crate) learners: Vec<u64>,
}

impl Members {
    pub(crate) fn of(state: &ConfState) -> Self {
        let sorted = |ids: &[u64]| {
            let mut ids = ids.to_vec();
            ids.sort_unstable();
            ids
        };
        Self {
            voters: sorted(state.get_voters()),
            learners: sorted(state.get_learners()),
        }
    }

    pub(crate) fn library(&self) -> ConfState {
        ConfState::from((self.voters.clone(), self.learners.clone()))
    }

    /// Whether there is a voter, and no node is named twice.
    pub(crate) fn is_sound(&self) -> bool {
        let mut all: Vec<u64> = self.voters.iter().chain(&self.learners).copied().collect();
        all.sort_unstable();
        let are_distinct = all.windows(2).all(|pair| pair[0] != pair[1]);
        are_distinct && !self.voters.is_empty() && all[0] != 0
    }

    pub(crate) fn contains(&self, id: u64) -> bool {
        self.voters.contains(&id) || self.learners.contains(&id)
    }
}

/// The members by the index from which on they took part, back to the latest snapshot.
#[derive(Debug)]
pub(crate) struct History {
    /// Ascending; never empty.
    since: VecDeque<(u64, Members)>,
}

impl History {
    pub(crate) fn new(index: u64, members: Members) -> Self {
        Self {
            since: VecDeque::from([(index, members)]),
        }
    }

    pub(crate) fn push(&mut self, index: u64, members: Members) {
        assert!(members.is_sound(), "{members:?} take part from {index} on");
        let last = self.since.back().map(|(since, _)| *since);
        assert!(
            last.is_some_and(|last| last < index),
            "members change at {index}, after they did at {last:?}"
        );
        self.since.push_back((index, members));
    }

    /// The members at `index`, which is not below the latest snapshot.
    ///
    /// # Panics
    /// If it is below (a caller bug).
    pub(crate) fn at(&self, index: u64) -> Members {
        let first = self.since.front().map(|(since, _)| *since);
        assert!(
            first.is_some_and(|first| first <= index),
            "the members at {index}, and they are known since {first:?}"
        );
        let mut known = self.since.iter().rev();
        let found = known.find(|(since, _)| *since <= index);
        found
            .map(|(_, members)| members.clone())
            .unwrap_or_default()
    }

    /// Forgets what was before `index`.
    pub(crate) fn forget_before(&mut self, index: u64) {
        while self.since.get(1).is_some_and(|(since, _)| *since <= index) {
            self.since.pop_front();
        }
        assert!(!self.since.is_empty(), "no members are known");
    }
}

#[cfg(test)]
#[path = "members_test.rs"]
mod members_test;
