//! The real directory: `std::fs` and `pread`/`pwrite`, nothing else.
//!
//! Positioned calls keep the threads of a brick out of one another's way: they share a file
//! description but no file position.

use crate::disk::{Access, Disk, DiskFile, Space};
use brickyard_types::UnixMillis;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Mode of the files that the store makes: they hold users' data, so only the owner reads them.
const FILE_MODE: u32 = 0o600;

/// A directory of the operating system.
#[derive(Clone, Debug)]
pub struct OsDisk {
    path: Arc<Path>,
    /// Kept open for [`Disk::sync_dir`], which must work also when no descriptor is left.
    directory: Arc<File>,
}

impl OsDisk {
    /// Opens a directory that exists.
    ///
    /// # Errors
    /// Whatever the operating system says.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let directory = File::open(&path)?;
        if !directory.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self {
            path: path.into(),
            directory: Arc::new(directory),
        })
    }

    /// Where the directory is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Disk for OsDisk {
    type File = File;

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            // A name that is not UTF-8 is none of ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(self.path.join(name))
    }

    fn open(&self, name: &str, access: Access) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .write(access == Access::ReadWrite)
            .open(self.path.join(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.directory.sync_all()
    }

    fn space(&self) -> io::Result<Space> {
        let status = rustix::fs::fstatvfs(&*self.directory)?;
        Ok(Space {
            free: status.f_bavail.saturating_mul(status.f_frsize),
            total: status.f_blocks.saturating_mul(status.f_frsize),
        })
    }

    fn unix_millis(&self) -> UnixMillis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        UnixMillis(since.map_or(0, |time| {
            u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
        }))
    }

    fn describe(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }
}

impl DiskFile for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        Self::sync_data(self)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        Self::set_len(self, len)
    }

    #[cfg(target_os = "linux")]
    fn keep_room(&self, len: u64) -> io::Result<()> {
        Ok(rustix::fs::fallocate(
            self,
            rustix::fs::FallocateFlags::KEEP_SIZE,
            0,
            len,
        )?)
    }

    #[cfg(not(target_os = "linux"))]
    fn keep_room(&self, _len: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn byte_len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

#[cfg(test)]
#[path = "os_disk_test.rs"]
mod os_disk_test;
