//! What a node must remember over a restart.

use std::fmt;

/// The promise that a node made to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HardState {
    /// The latest term it has seen.
    pub term: u64,
    /// The candidate that it voted for in that term; 0: none.
    pub vote: u64,
    /// Entries up to here are known to be committed; a hint, except to membership: it is stored in
    /// one piece with the entries that came with it.
    pub commit: u64,
}

/// One entry of the log.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct LogEntry {
    /// Its place; the entries of a log are consecutive.
    pub index: u64,
    /// The term of the leader that made it.
    pub term: u64,
    /// The state machine's or the agreement's.
    pub kind: EntryKind,
    /// What was proposed; of a leader's first entry in its term, nothing.
    pub data: Vec<u8>,
}

impl fmt::Debug for LogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            index, term, kind, ..
        } = self;
        write!(f, "{kind:?} {index}.{term} ({} bytes)", self.data.len())
    }
}

/// Whether an entry is the state machine's or the agreement's. The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EntryKind {
    /// The state machine's.
    Data = 0,
    /// The agreement's own: a change of its members.
    Membership = 1,
}

impl TryFrom<u8> for EntryKind {
    type Error = u8;

    fn try_from(number: u8) -> Result<Self, u8> {
        match number {
            0 => Ok(Self::Data),
            1 => Ok(Self::Membership),
            other => Err(other),
        }
    }
}

/// The state machine at an index, and the members at that index.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// The last entry that it contains.
    pub index: u64,
    /// That entry's term.
    pub term: u64,
    /// The voters, ascending.
    pub voters: Vec<u64>,
    /// The learners, ascending.
    pub learners: Vec<u64>,
    /// The state machine, as it wrote itself.
    pub data: Vec<u8>,
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            index,
            term,
            voters,
            learners,
            data,
        } = self;
        write!(
            f,
            "snapshot {index}.{term} voters {voters:?} learners {learners:?} ({} bytes)",
            data.len()
        )
    }
}

/// What a node finds when it starts; the default is that of a node that has yet to join.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveredState {
    /// Its promise.
    pub hard_state: HardState,
    /// The snapshot, if there is one.
    pub snapshot: Option<Snapshot>,
    /// The entries behind the snapshot.
    pub entries: Vec<LogEntry>,
}

/// Why a node cannot take part with what it found: its memory has holes, and a node that forgot a
/// vote must not vote.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecoverError {
    /// The id is 0, or the ticks make no sense.
    Config(String),
    /// An entry is missing, or there twice.
    Gap {
        /// The index that should come next.
        expected: u64,
        /// The one that does.
        found: u64,
    },
    /// Terms go down along the log, or an entry's is higher than the node's own.
    Term {
        /// The entry.
        index: u64,
        /// Its term.
        term: u64,
    },
    /// What was known to be committed is not there.
    Commit {
        /// What was known.
        commit: u64,
        /// The first and last index that it may be.
        between: (u64, u64),
    },
    /// The snapshot has no voters, one twice, or an index or term of 0.
    Snapshot,
    /// An entry about membership is of no known kind.
    Membership {
        /// The entry.
        index: u64,
    },
}

impl fmt::Display for RecoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(what) => write!(f, "{what}"),
            Self::Gap { expected, found } => {
                write!(f, "entry {found} follows where {expected} should")
            }
            Self::Term { index, term } => write!(f, "entry {index} has term {term} out of order"),
            Self::Commit { commit, between } => write!(
                f,
                "entry {commit} was committed, but the log has {} to {}",
                between.0, between.1
            ),
            Self::Snapshot => write!(f, "the snapshot has no voters, or no index or term"),
            Self::Membership { index } => {
                write!(
                    f,
                    "entry {index} is a change of membership of no known kind"
                )
            }
        }
    }
}

impl std::error::Error for RecoverError {}
