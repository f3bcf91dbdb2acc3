//! Why a data directory cannot be used.

use crate::FORMAT_VERSION;
use std::path::PathBuf;
use std::{fmt, io};

/// Why a data directory cannot be used. Nothing in it was changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum DataDirError {
    /// Another process has it.
    Busy {
        /// The directory.
        path: PathBuf,
        /// The process, as it wrote into the lock file.
        pid: Option<u32>,
    },
    /// It is of another format than this program knows.
    OtherFormat {
        /// The file that says so.
        path: PathBuf,
        /// The directory's format.
        found: u32,
    },
    /// A small file of it is damaged.
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// It is not empty and not a data directory.
    NotOurs {
        /// The directory.
        path: PathBuf,
        /// Something that is in it.
        found: String,
    },
    /// It is no data directory, and none was to be made.
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// The operating system refused.
    Io {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl DataDirError {
    pub(crate) fn io(doing: &'static str, path: PathBuf) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            doing,
            path,
            source,
        }
    }
}

impl fmt::Display for DataDirError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { path, pid } => {
                write!(f, "data directory {} is in use by ", path.display())?;
                match pid {
                    Some(pid) => write!(f, "process {pid}; stop it")?,
                    None => write!(f, "another process; stop it")?,
                }
                write!(f, " or give this one another directory")
            }
            Self::OtherFormat { path, found } => write!(
                f,
                "{} says format {found} and this program knows format {FORMAT_VERSION} alone; nothing \
                 was changed, start the brickyard that wrote this directory",
                path.display()
            ),
            Self::Damaged { path, what } => write!(
                f,
                "{} is damaged: {what}; restore it from a copy, the logs beside it are untouched",
                path.display()
            ),
            Self::NotOurs { path, found } => write!(
                f,
                "{} is not a data directory of brickyard and holds '{found}'; name an empty directory \
                 or one that does not exist",
                path.display()
            ),
            Self::Missing { path } => write!(
                f,
                "{} is not a data directory of brickyard: it has no FORMAT file",
                path.display()
            ),
            Self::Io {
                doing,
                path,
                source,
            } => write!(f, "cannot {doing} {}: {source}", path.display()),
        }
    }
}

impl std::error::Error for DataDirError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
