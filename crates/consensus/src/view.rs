//! What can be asked of a node's part in the agreement at any time.

use crate::consensus::Consensus;
use crate::members::Members;
use raft::{INVALID_ID, StateRole};

/// How far a member is, as the leader knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// It has stored the log up to here.
    pub matched: u64,
    /// It was heard within the last election timeout.
    pub is_active: bool,
}

impl Consensus {
    /// The leader, if it is known.
    #[must_use]
    pub fn leader(&self) -> Option<u64> {
        Some(self.raft.raft.leader_id).filter(|id| *id != INVALID_ID)
    }

    /// The latest term that it has seen.
    #[must_use]
    pub fn term(&self) -> u64 {
        self.raft.raft.term
    }

    /// Whether this node leads, as far as it knows.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.raft.raft.state == StateRole::Leader
    }

    /// Whether this node leads, and its state machine has everything that earlier leaders
    /// committed.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let term = self.raft.raft.raft_log.term(self.applied);
        self.is_leader() && term == Ok(self.term())
    }

    /// The voters, ascending, by the entries that were applied.
    #[must_use]
    pub fn voters(&self) -> Vec<u64> {
        self.members_now().voters
    }

    /// The learners, ascending, by the entries that were applied.
    #[must_use]
    pub fn learners(&self) -> Vec<u64> {
        self.members_now().learners
    }

    /// The last index whose outputs were polled: where the caller's state machine is.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// The last entry that is known to be committed.
    #[must_use]
    pub fn commit(&self) -> u64 {
        self.raft.raft.raft_log.committed
    }

    /// The last entry of the log.
    #[must_use]
    pub fn last_index(&self) -> u64 {
        self.raft.raft.raft_log.last_index()
    }

    /// How far a member is; only the leader knows.
    #[must_use]
    pub fn progress(&self, id: u64) -> Option<Progress> {
        let progress = self.raft.raft.prs().get(id).filter(|_| self.is_leader())?;
        Some(Progress {
            matched: progress.matched,
            is_active: progress.recent_active || id == self.config.id,
        })
    }

    /// How many messages of leaders were taken; when it goes up, one was just heard.
    #[must_use]
    pub fn leader_contacts(&self) -> u64 {
        self.leader_contacts
    }

    pub(crate) fn members_now(&self) -> Members {
        Members::of(&self.raft.raft.prs().conf().to_conf_state())
    }
}
