//! How much room the file systems have that a node keeps its data on.
//!
//! In:  the directories. Out: figures that any thread may read, as of the last look.
//!
//! Invariant: who looks may wait as long as a file system likes to; who reads the figures does not.

use brickyard_store::{Disk as _, OsDisk};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A directory on some file system.
#[derive(Debug)]
struct FileSystem {
    /// `data`, or `brick0` and so on: they may be mounts of their own.
    name: String,
    disk: OsDisk,
    free: AtomicU64,
    /// 0: nobody has looked yet.
    total: AtomicU64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct FileSystems(Vec<FileSystem>);

/// What one of them has, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileSystemRoom<'a> {
    pub(super) place: &'a str,
    pub(super) free: u64,
    pub(super) total: u64,
}

impl FileSystems {
    /// The data directory, and the logs of the bricks.
    pub(crate) fn new(data: OsDisk, bricks: impl IntoIterator<Item = OsDisk>) -> Self {
        let bricks = bricks.into_iter().enumerate();
        let bricks = bricks.map(|(brick, disk)| (format!("brick{brick}"), disk));
        let all = std::iter::once(("data".to_owned(), data)).chain(bricks);
        let file_systems = all.map(|(name, disk)| FileSystem {
            name,
            disk,
            free: AtomicU64::new(0),
            total: AtomicU64::new(0),
        });
        Self(file_systems.collect())
    }

    /// Asks the file systems.
    pub(super) fn look(&self) {
        for place in &self.0 {
            match place.disk.space() {
                Ok(space) => {
                    place.free.store(space.free, Relaxed);
                    place.total.store(space.total, Relaxed);
                }
                // What cannot be asked has no figure, rather than an old one.
                Err(_) => place.total.store(0, Relaxed),
            }
        }
    }

    /// Those that were asked.
    pub(super) fn rooms(&self) -> impl Iterator<Item = FileSystemRoom<'_>> {
        let rooms = self.0.iter().map(|place| FileSystemRoom {
            place: &place.name,
            free: place.free.load(Relaxed),
            total: place.total.load(Relaxed),
        });
        rooms.filter(|room| room.total > 0)
    }
}
