//! From where an import that broke off goes on: a small file.
//!
//! In:  a [`ResumePoint`]. Out: the same, from the file.
//!
//! Invariant: the file is the old one or the new one as a whole, whatever happens while it is written.

use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The only format there is.
const FORMAT: u32 = 1;

/// How far an import is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The snapshot is being copied: what broke off begins anew.
    Copying,
    /// The stream is being followed.
    Following,
    /// Clients use the target.
    HandedOver,
}

/// What has to be known to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumePoint {
    /// The format of the file.
    format: u32,
    /// The source, as host and port.
    pub source: String,
    /// The table of each database.
    pub tables: BTreeMap<u32, String>,
    /// Whether the tables were empty when the import began: then what is in them is the import's own.
    pub began_empty: bool,
    /// How far it is.
    pub phase: Phase,
    /// The replication id of the source's history.
    pub replication_id: String,
    /// Everything of the stream before this offset is at the target.
    pub offset: u64,
    /// The database that commands at that offset are about.
    pub database: u32,
    /// Records that were stored so far.
    pub stored: u64,
}

/// Why there is no resume point.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The file cannot be read or written.
    #[error("the resume point {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// The file has something else.
    #[error(
        "{} is no resume point of this program ({reason}); name another file by --state, or remove it to begin anew",
        path.display()
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl ResumePoint {
    /// An import that begins.
    #[must_use]
    pub fn new(source: &str, tables: BTreeMap<u32, String>, began_empty: bool) -> Self {
        Self {
            format: FORMAT,
            source: source.to_owned(),
            tables,
            began_empty,
            phase: Phase::Copying,
            replication_id: String::new(),
            offset: 0,
            database: 0,
            stored: 0,
        }
    }

    /// What the file has; `None` where there is no file.
    ///
    /// # Errors
    /// [`ResumeError`]: it cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Option<Self>, ResumeError> {
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                let path = path.to_owned();
                return Err(ResumeError::Io { path, source });
            }
        };
        let not_ours = |reason| ResumeError::NotOurs {
            path: path.to_owned(),
            reason,
        };
        let point: Self = serde_json::from_slice(&text).map_err(|it| not_ours(it.to_string()))?;
        if point.format == FORMAT {
            Ok(Some(point))
        } else {
            Err(not_ours(format!("format {}", point.format)))
        }
    }

    /// Writes the file, so that a power cut leaves it whole.
    ///
    /// # Errors
    /// [`ResumeError::Io`].
    pub fn write(&self, path: &Path) -> Result<(), ResumeError> {
        self.try_write(path).map_err(|source| ResumeError::Io {
            path: path.to_owned(),
            source,
        })
    }

    fn try_write(&self, path: &Path) -> io::Result<()> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut file, self)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        File::open(folder)?.sync_all()
    }
}

#[cfg(test)]
mod resume_test {
    use super::{Phase, ResumePoint};

    #[test]
    fn point_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        assert_eq!(ResumePoint::read(&path).unwrap(), None);
        let tables = [(0, "default".to_owned())].into();
        let mut point = ResumePoint::new("old:6379", tables, true);
        point.write(&path).unwrap();
        point.phase = Phase::Following;
        point.offset = 17;
        point.write(&path).unwrap();
        assert_eq!(ResumePoint::read(&path).unwrap(), Some(point));
        // Nothing but the file itself is left behind.
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn other_files_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        std::fs::write(&path, "hello").unwrap();
        let told = ResumePoint::read(&path).unwrap_err().to_string();
        assert!(told.contains("state is no resume point"), "{told}");
    }
}
