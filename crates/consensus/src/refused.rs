//! Why an input was not taken.

use std::fmt;

/// Why a message was refused. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejected {
    /// It is not a message, or one that no node sends.
    Malformed(&'static str),
    /// It was written by a newer program.
    Version(u8),
    /// It names another sender than the connection has, or this node itself.
    Sender {
        /// The sender that the message names.
        named: u64,
        /// The node at the other end of the connection.
        from: u64,
    },
    /// It is for another node.
    Receiver {
        /// The receiver that it names.
        to: u64,
    },
    /// It answers, and comes from no member.
    NotMember {
        /// Its sender.
        from: u64,
    },
    /// Two nodes claim to lead in one term.
    TwoLeaders {
        /// The term.
        term: u64,
        /// The leader that is known.
        known: u64,
        /// The other one.
        other: u64,
    },
    /// The leader knows that this node once had more of the log than it has: its disk lost what it
    /// had promised to keep. It must not go on: remove its data directory and let the node
    /// join anew.
    LogLost {
        /// What the leader knows it to have.
        expected: u64,
        /// The last entry that it has.
        last: u64,
    },
    /// The node's disk is busy with what it must remember before it stands; ask again.
    Busy,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => write!(f, "not a message: {what}"),
            Self::Version(version) => write!(f, "message of version {version}, newer than this"),
            Self::Sender { named, from } => {
                write!(f, "node {from} sent a message in the name of node {named}")
            }
            Self::Receiver { to } => write!(f, "message for node {to}"),
            Self::NotMember { from } => write!(f, "answer of node {from}, which is no member"),
            Self::TwoLeaders { term, known, other } => write!(
                f,
                "nodes {known} and {other} both claim to lead in term {term}"
            ),
            Self::LogLost { expected, last } => write!(
                f,
                "this node had entry {expected} once and has only {last} now: its disk lost what it \
                 had promised to keep; remove its data directory and let it join anew"
            ),
            Self::Busy => write!(f, "the disk is busy"),
        }
    }
}

impl std::error::Error for Rejected {}

/// Why a request was refused. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// Ask the leader.
    NotLeader {
        /// The leader, if it is known.
        leader: Option<u64>,
    },
    /// Leadership is being handed over; ask again.
    Transferring,
    /// Too much waits for its commit; ask again.
    Full,
    /// Longer than [`crate::ENTRY_BYTES_MAX`].
    TooLarge,
    /// Another change of membership is under way, or the leader is too new to know; ask again.
    Pending,
    /// Without it there would be no voter.
    LastVoter,
    /// It is the leader: hand the lead over first.
    IsLeader,
    /// It is so already.
    IsSo,
    /// It is no member, or not of the kind that this is for.
    NotMember,
    /// The learner lacks too much of the log; ask again.
    Behind {
        /// What it is known to have.
        matched: u64,
        /// What is committed.
        commit: u64,
    },
    /// The state machine is not there yet, or there is a later snapshot.
    NotApplied {
        /// Where it is.
        applied: u64,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLeader {
                leader: Some(leader),
            } => write!(f, "node {leader} leads"),
            Self::NotLeader { leader: None } => write!(f, "no leader is known"),
            Self::Transferring => write!(f, "leadership is being handed over; try again"),
            Self::Full => write!(f, "too many changes wait for a majority; try again"),
            Self::TooLarge => write!(f, "the change is too large"),
            Self::Pending => write!(f, "another change of membership is under way; try again"),
            Self::LastVoter => write!(f, "it is the last voter"),
            Self::IsLeader => write!(f, "it leads; hand the lead over first"),
            Self::IsSo => write!(f, "it is so already"),
            Self::NotMember => write!(f, "it is not a member that this can be done to"),
            Self::Behind { matched, commit } => {
                write!(f, "it has entry {matched} of {commit}; try again later")
            }
            Self::NotApplied { applied } => {
                write!(f, "a snapshot can be made of entry {applied} alone")
            }
        }
    }
}

impl std::error::Error for Refused {}
