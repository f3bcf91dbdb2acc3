//! Everything that can go wrong with a brick's log, with where it happened and what to do.

use crate::FORMAT_VERSION;
use crate::segment::header::DirectoryId;
use brickyard_types::record::DecodeError;
use brickyard_types::{BrickId, Op, PartitionId, Position, SegmentId, View};
use std::{fmt, io};

/// Why a log could not be opened, inspected or repaired. Nothing was changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused.
    Io {
        /// What was tried.
        doing: &'static str,
        /// Which file.
        file: String,
        /// What it said.
        source: io::Error,
    },
    /// A file is of another format than this program knows.
    OtherFormat {
        /// Which file.
        file: String,
        /// The file's format.
        found: u32,
    },
    /// A segment belongs to another data directory or brick, or was renamed.
    Foreign {
        /// Which file.
        file: String,
        /// What its header says: directory, brick, segment.
        found: (DirectoryId, BrickId, SegmentId),
        /// What it should say.
        expected: (DirectoryId, BrickId, SegmentId),
    },
    /// There is no such segment.
    NoSegment {
        /// The one asked for.
        segment: SegmentId,
    },
}

impl StoreError {
    pub(crate) fn io(doing: &'static str, file: String) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            doing,
            file,
            source,
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io {
                doing,
                file,
                source,
            } => write!(f, "cannot {doing} {file}: {source}"),
            Self::OtherFormat { file, found } => write!(
                f,
                "{file} has format {found} and this program reads format {FORMAT_VERSION} alone; nothing \
                 was changed, start the brickyard that wrote this directory"
            ),
            Self::Foreign {
                file,
                found,
                expected,
            } => write!(
                f,
                "{file} belongs to directory {} brick {} segment {}, expected directory {} brick {} \
                 segment {}; move the file out of this directory or back to its own",
                found.0, found.1, found.2, expected.0, expected.1, expected.2
            ),
            Self::NoSegment { segment } => {
                write!(f, "there is no segment {segment} in this directory")
            }
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Why a batch is not in the log. Nothing of it will ever be replayed, unless the log is poisoned:
/// then its fate is unknown until the log has been opened again.
#[derive(Debug)]
#[non_exhaustive]
pub enum AppendError {
    /// There is no room, or only the reserve; free space and try again.
    DiskFull {
        /// Bytes of the batch.
        needed: u64,
        /// Bytes free on the file system, the reserve included.
        free: u64,
        /// Bytes that only [`crate::Purpose::Reclaim`] may use.
        reserve: u64,
    },
    /// The next segment could not be created, for another reason than room; try again.
    NoSegment {
        /// Which file.
        file: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The batch can never fit into a segment.
    TooLarge {
        /// Bytes of the batch.
        bytes: u64,
        /// Bytes that a batch may have.
        max: u64,
    },
    /// The log can no longer be trusted; stop the brick and open it again.
    Poisoned(Poisoned),
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DiskFull {
                needed,
                free,
                reserve,
            } => write!(
                f,
                "disk full: {needed} bytes were needed and {free} are free, of which {reserve} are \
                 kept for deletes and the cleaner; free some space"
            ),
            Self::NoSegment { file, source } => write!(
                f,
                "cannot create {file}: {source}; the log is as it was and takes writes again as soon as \
                 the file can be created"
            ),
            Self::TooLarge { bytes, max } => {
                write!(
                    f,
                    "a batch of {bytes} bytes is larger than a segment can be ({max})"
                )
            }
            Self::Poisoned(poisoned) => poisoned.fmt(f),
        }
    }
}

impl std::error::Error for AppendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoSegment { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// A sync failed, or a failed write could not be undone: what is on the disk is unknown.
///
/// The kernel may have dropped the pages that it could not write and report success the next time
/// (Rebello et al., ATC 2020), so nothing is tried again: stop the brick, look at the disk, start it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poisoned {
    /// What was tried.
    pub doing: &'static str,
    /// Which file.
    pub file: String,
    /// What the operating system said.
    pub cause: String,
}

impl fmt::Display for Poisoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { doing, file, cause } = self;
        write!(
            f,
            "cannot {doing} {file}: {cause}; what is on the disk is now unknown, so this brick's log \
             is closed: check the disk and start again"
        )
    }
}

impl std::error::Error for Poisoned {}

/// Why a value could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The operating system refused.
    Io {
        /// Where.
        position: Position,
        /// What it said.
        source: io::Error,
    },
    /// The bytes there are not a sound record.
    Damaged {
        /// Where.
        position: Position,
        /// What did not verify.
        cause: DecodeError,
    },
    /// There is a sound record there and it is another one.
    Mismatch {
        /// Where.
        position: Position,
        /// Partition and view (as far as they were asked for) and op that were expected.
        expected: (Option<PartitionId>, Option<View>, Op),
        /// Partition, view and op that are there; if equal, the key is not in the record.
        found: (PartitionId, View, Op),
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { position, source } => write!(f, "cannot read {position}: {source}"),
            Self::Damaged { position, cause } => write!(
                f,
                "{position} is damaged: {cause}; run \"brickyard inspect\" on the data directory"
            ),
            Self::Mismatch {
                position,
                expected,
                found,
            } => {
                let (partition, view, op) = expected;
                write!(
                    f,
                    "{position} holds partition {} view {} op {}",
                    found.0, found.1, found.2
                )?;
                write!(f, ", expected the key's record of op {op}")?;
                if let Some(partition) = partition {
                    write!(f, " of partition {partition}")?;
                }
                match view {
                    Some(view) => write!(f, " view {view}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
