//! Everything that can go wrong with the control log, and what to do.

use crate::FORMAT_VERSION;
use crate::error::Poisoned;
use crate::segment::header::DirectoryId;
use std::{fmt, io};

/// Why a file's content cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlDamage {
    /// Something that was synced cannot be read.
    Damaged {
        /// Where it begins.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// It is of another format than this program knows.
    OtherFormat {
        /// Its format.
        found: u32,
    },
    /// It was written in another data directory.
    Foreign {
        /// In which.
        found: DirectoryId,
        /// In which it should be.
        expected: DirectoryId,
    },
}

/// Why the control log could not be opened or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum ControlLogError {
    /// The operating system refused; nothing was changed.
    Io {
        /// What was tried.
        doing: &'static str,
        /// Which file.
        file: String,
        /// What it said.
        source: io::Error,
    },
    /// There is no room; nothing was changed, free some and try again.
    Full {
        /// Which file.
        file: String,
        /// Bytes that it needs.
        needed: u64,
    },
    /// It can never be stored.
    TooLarge {
        /// Its bytes, or how many of them there are.
        bytes: u64,
    },
    /// There is one already.
    Exists {
        /// Which file.
        file: String,
    },
    /// What is there cannot be used. The node must not start with it, nor without it.
    Unusable {
        /// Which file.
        file: String,
        /// Why.
        damage: ControlDamage,
    },
    /// What is on the disk is unknown; stop the node and start it again.
    Poisoned(Poisoned),
}

impl ControlLogError {
    pub(super) fn io(doing: &'static str, file: String) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            doing,
            file,
            source,
        }
    }

    pub(super) fn of(damage: ControlDamage, file: String) -> Self {
        Self::Unusable { file, damage }
    }
}

impl ControlDamage {
    /// Where it begins, if it is at a place.
    #[must_use]
    pub const fn offset(&self) -> Option<u64> {
        match self {
            Self::Damaged { offset, .. } => Some(*offset),
            Self::OtherFormat { .. } | Self::Foreign { .. } => None,
        }
    }
}

impl fmt::Display for ControlDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged { offset, what } => write!(f, "damaged at offset {offset}: {what}"),
            Self::OtherFormat { found } => write!(
                f,
                "of format {found}, and this program reads format {FORMAT_VERSION} alone"
            ),
            Self::Foreign { found, expected } => {
                write!(f, "of data directory {found}, expected {expected}")
            }
        }
    }
}

impl std::error::Error for ControlDamage {}

impl fmt::Display for ControlLogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io {
                doing,
                file,
                source,
            } => write!(f, "cannot {doing} {file}: {source}"),
            Self::Full { file, needed } => write!(
                f,
                "disk full: {file} needs {needed} bytes more; nothing was changed, free some space"
            ),
            Self::TooLarge { bytes } => {
                write!(f, "{bytes} is more than the control log can store at once")
            }
            Self::Exists { file } => write!(f, "{file} is there already"),
            Self::Unusable { file, damage } => {
                write!(f, "{file} is {damage}; nothing was changed. ")?;
                match damage {
                    ControlDamage::Damaged { .. } => write!(
                        f,
                        "It holds this node's votes, and a node that forgot a vote must not vote \
                         again, so it does not start. If the other nodes have a majority: remove this \
                         node from the cluster, move its whole data directory away, and start it with an \
                         empty one; it joins as a new node and gets everything from the others. \
                         Do not remove this file alone. If there are no others: restore the data \
                         directory from a copy"
                    ),
                    ControlDamage::OtherFormat { .. } => {
                        write!(f, "Start the brickyard that wrote this directory")
                    }
                    ControlDamage::Foreign { .. } => write!(
                        f,
                        "Votes are one node's own: put the file back to where it came from"
                    ),
                }
            }
            Self::Poisoned(Poisoned { doing, file, cause }) => write!(
                f,
                "cannot {doing} {file}: {cause}; what is on the disk is now unknown, so this node \
                 makes no more promises: check the disk and start again"
            ),
        }
    }
}

impl std::error::Error for ControlLogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Unusable { damage, .. } => Some(damage),
            Self::Poisoned(poisoned) => Some(poisoned),
            _ => None,
        }
    }
}
