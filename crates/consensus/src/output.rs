//! What the caller has to do, in order.

use crate::state::{HardState, LogEntry, Snapshot};

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsensusOutput {
    /// Send to a node. It may be lost, late, doubled or overtaken.
    Send {
        /// The receiver.
        to: u64,
        /// For its [`crate::Consensus::step`].
        message: Vec<u8>,
    },
    /// Store; then report it with [`crate::Consensus::on_persisted`].
    Persist(Persist),
    /// Hand a committed entry to the state machine.
    Apply {
        /// Where it is in the log; ascending, with gaps where entries are not the state machine's.
        index: u64,
        /// The term of its leader.
        term: u64,
        /// What was proposed, never empty.
        data: Vec<u8>,
    },
    /// Replace the state machine.
    Restore(Snapshot),
    /// From this index on these nodes take part.
    Membership {
        /// Where in the log.
        index: u64,
        /// The voters, ascending.
        voters: Vec<u64>,
        /// The learners, ascending.
        learners: Vec<u64>,
    },
    /// Another leader or term. If it names this node, the term is already stored.
    Leadership {
        /// The leader, if it is known.
        leader: Option<u64>,
        /// In which term.
        term: u64,
    },
    /// This node leads, and its own disk holds up what others have stored: the lead goes to that voter, or to whoever is elected.
    HandOver {
        /// The voter, if there is one that can take it at once.
        to: Option<u64>,
    },
    /// A majority of voters answered, after the round began, that this node leads.
    QuorumConfirmed(u64),
    /// The round came to nothing: this node does not lead, or not yet with an entry of its own.
    QuorumLost(u64),
    /// Give a snapshot of the state machine as it is ([`crate::Consensus::compact`]): the log is
    /// long, or a follower needs one. Asked once until it is given.
    SnapshotWanted,
}

/// What to store. They are stored in the order of their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Persist {
    /// For [`crate::Consensus::on_persisted`].
    pub number: u64,
    /// The node's promise, if it changed.
    pub hard_state: Option<HardState>,
    /// Without a snapshot: entries that replace whatever the log has from the first one's index on.
    /// Stored in one piece with the hard state.
    pub entries: Vec<LogEntry>,
    /// If there is one, the log becomes this, the hard state (then always there), and the entries:
    /// nothing else stays.
    pub snapshot: Option<Snapshot>,
    /// It has to survive a power cut before it is reported. If not, written is enough.
    pub must_sync: bool,
}
