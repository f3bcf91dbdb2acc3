//! A node's data directory: one process at a time, of one format, with one directory a brick.
//!
//! ```text
//! LOCK      held (flock) as long as the process lives; its pid, for people
//! FORMAT    format version, node id, directory id
//! BOOT      the machine's boot id while the log was last known to be whole
//! catalog   and other small files: the caller's, replaced as a whole
//! brick-0/  brick-1/  ...  one log each
//! ```
//! In:  a path. Out: the ids, the bricks' directories, and whether the page cache can be believed.
//!
//! Invariants:
//! - Nothing in the directory is changed before the lock is held and the format is known.
//! - A directory that holds something else is never taken over.
//!
//! Not here: what is in a brick's directory (the rest of this crate).

mod boot;
mod error;
mod stamp;

pub use error::DataDirError;

use crate::config::PageCache;
use crate::disk::{Disk, replace_file};
use crate::os_disk::OsDisk;
use crate::segment::header::DirectoryId;
pub use boot::BootNote;
use brickyard_types::{BrickId, NodeKey};
use rustix::fs::{FlockOperation, flock};
use stamp::Stamp;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const LOCK: &str = "LOCK";
const FORMAT: &str = "FORMAT";
const BOOT: &str = "BOOT";

/// Directories are for their owner alone, as the files in them are.
const DIRECTORY_MODE: u32 = 0o700;

/// Whether a directory may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// Make it if it is missing or empty.
    IfMissing,
    /// It must be there: for tools that look at it.
    Never,
}

/// See the module. The lock is given back when this is dropped.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    disk: OsDisk,
    stamp: Stamp,
    boot: BootNote,
    /// Held, never read.
    _lock: File,
}

impl DataDir {
    /// Opens the directory, or makes it.
    ///
    /// # Errors
    /// [`DataDirError`]; nothing was changed but what creating the directory takes.
    pub fn open(path: impl Into<PathBuf>, create: Create) -> Result<Self, DataDirError> {
        let path = path.into();
        let failed = |doing, name: &str| DataDirError::io(doing, path.join(name));
        if create == Create::IfMissing {
            DirBuilder::new()
                .recursive(true)
                .mode(DIRECTORY_MODE)
                .create(&path)
                .map_err(failed("create directory", ""))?;
        }
        let disk = OsDisk::open(&path).map_err(failed("open directory", ""))?;
        let is_new = check_content(&disk, &path, create)?;
        let lock = lock(&path)?;
        let stamp = if is_new {
            let stamp = Stamp::draw().map_err(failed("draw ids for", FORMAT))?;
            replace_file(&disk, FORMAT, stamp.encode().as_bytes())
                .map_err(failed("write", FORMAT))?;
            sync_parent(&path).map_err(failed("sync the parent of", ""))?;
            stamp
        } else {
            let text =
                std::fs::read_to_string(path.join(FORMAT)).map_err(failed("read", FORMAT))?;
            Stamp::decode(&text).map_err(|error| error.at(path.join(FORMAT)))?
        };
        let boot = BootNote::load(&disk, is_new, boot::read_boot_id());
        let boot = boot.map_err(failed("read", BOOT))?;
        let mut directory = Self {
            path,
            disk,
            stamp,
            boot,
            _lock: lock,
        };
        if create == Create::IfMissing {
            directory.note_failed_syncs()?;
        }
        Ok(directory)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory itself, for the caller's own small files.
    #[must_use]
    pub fn disk(&self) -> &OsDisk {
        &self.disk
    }

    /// The node's id.
    #[must_use]
    pub fn node(&self) -> NodeKey {
        self.stamp.node
    }

    /// The directory's id, which every segment carries.
    #[must_use]
    pub fn directory(&self) -> DirectoryId {
        self.stamp.directory
    }

    /// Whether writes that were not synced can have been lost since the last process; for
    /// [`crate::LogConfig::page_cache`].
    #[must_use]
    pub fn page_cache(&self) -> PageCache {
        self.boot.page_cache()
    }

    /// Whether the tail of the logs may be missing something that was acknowledged without a sync: the
    /// machine stopped since, and no primary has confirmed the tail yet (rule `a lost log end is noted first`).
    #[must_use]
    pub fn is_tail_unsure(&self) -> bool {
        self.boot.is_tail_unsure()
    }

    /// Whether the logs may be missing something that was synced: see [`BootNote::is_end_cut`].
    #[must_use]
    pub fn is_end_cut(&self) -> bool {
        self.boot.is_end_cut()
    }

    /// Notes that every brick's log was opened in this boot of the machine, and so is synced and cut.
    ///
    /// Not before: a process that is killed half-way through must leave the old boot id for the next
    /// one to find. The same write keeps the mark that the tail is unsure, or was cut.
    ///
    /// # Errors
    /// Whatever the operating system says; the old note is then still there.
    pub fn confirm_boot(&mut self) -> Result<(), DataDirError> {
        let bricks = self.brick_disks()?;
        let failed = DataDirError::io("write", self.path.join(BOOT));
        self.boot.confirm_boot(&self.disk, &bricks).map_err(failed)
    }

    /// Notes that the tail is whole: every partition was promoted to in-sync again, or there is no
    /// replica that could know better.
    ///
    /// # Errors
    /// Whatever the operating system says; the tail then stays unsure.
    pub fn confirm_tail(&mut self) -> Result<(), DataDirError> {
        let failed = DataDirError::io("write", self.path.join(BOOT));
        self.boot.confirm_tail(&self.disk).map_err(failed)
    }

    /// What is known of the machine's boots, for whoever confirms the tail.
    #[must_use]
    pub fn boot(&self) -> &BootNote {
        &self.boot
    }

    /// The directory of a brick's log, made if it is missing.
    ///
    /// # Errors
    /// Whatever the operating system says.
    pub fn brick(&self, brick: BrickId) -> Result<OsDisk, DataDirError> {
        let name = brick_name(brick);
        let path = self.path.join(&name);
        match DirBuilder::new().mode(DIRECTORY_MODE).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => {
                created.map_err(DataDirError::io("create directory", path.clone()))?;
                self.disk
                    .sync_dir()
                    .map_err(DataDirError::io("sync directory", self.path.clone()))?;
            }
        }
        OsDisk::open(&path).map_err(DataDirError::io("open directory", path))
    }

    /// The bricks that have a directory, ascending.
    ///
    /// # Errors
    /// Whatever the operating system says.
    pub fn bricks(&self) -> Result<Vec<BrickId>, DataDirError> {
        let names = self
            .disk
            .list()
            .map_err(DataDirError::io("list", self.path.clone()))?;
        let mut bricks: Vec<_> = names.iter().filter_map(|name| parse_brick(name)).collect();
        bricks.sort();
        Ok(bricks)
    }
}

impl DataDir {
    fn note_failed_syncs(&mut self) -> Result<(), DataDirError> {
        let bricks = self.brick_disks()?;
        let failed = DataDirError::io("write", self.path.join(BOOT));
        let noted = self.boot.note_failed_syncs(&self.disk, &bricks);
        noted.map_err(failed)
    }

    fn brick_disks(&self) -> Result<Vec<OsDisk>, DataDirError> {
        let bricks = self.bricks()?.into_iter();
        bricks.map(|brick| self.brick(brick)).collect()
    }
}

fn brick_name(brick: BrickId) -> String {
    format!("brick-{brick}")
}

fn parse_brick(name: &str) -> Option<BrickId> {
    let brick = BrickId(name.strip_prefix("brick-")?.parse().ok()?);
    (brick_name(brick) == name).then_some(brick)
}

/// Whether the directory is new; an error if it is somebody else's.
fn check_content(disk: &OsDisk, path: &Path, create: Create) -> Result<bool, DataDirError> {
    let names = disk
        .list()
        .map_err(DataDirError::io("list", path.to_owned()))?;
    if names.iter().any(|name| name == FORMAT) {
        return Ok(false);
    }
    // What an interrupted creation leaves, and what a fresh file system has.
    let ours = [LOCK, "FORMAT.tmp", "lost+found"];
    match names
        .into_iter()
        .find(|name| !ours.contains(&name.as_str()))
    {
        Some(found) => Err(DataDirError::NotOurs {
            path: path.to_owned(),
            found,
        }),
        None if create == Create::Never => Err(DataDirError::Missing {
            path: path.to_owned(),
        }),
        None => Ok(true),
    }
}

fn lock(path: &Path) -> Result<File, DataDirError> {
    let name = path.join(LOCK);
    let failed = |doing| DataDirError::io(doing, name.clone());
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&name)
        .map_err(failed("open"))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut holder = String::new();
            // The pid is for people; the lock counts without it.
            let _ = file.read_to_string(&mut holder);
            return Err(DataDirError::Busy {
                path: path.to_owned(),
                pid: holder.trim().parse().ok(),
            });
        }
        Err(error) => return Err(failed("lock")(error.into())),
    }
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .map_err(failed("write"))?;
    Ok(file)
}

/// Makes the directory's own name survive a power cut.
fn sync_parent(path: &Path) -> io::Result<()> {
    let path = path.canonicalize()?;
    path.parent()
        .map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

#[cfg(test)]
#[path = "data_dir_test.rs"]
mod data_dir_test;
