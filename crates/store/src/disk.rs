//! What the store needs from an operating system: one directory of files.
//!
//! In:  names, bytes, offsets. Out: `std::io` results.
//!
//! Invariants that an implementation must keep:
//! - After [`DiskFile::sync_data`] returned `Ok`, the bytes written before the call survive a power
//!   cut, and so does the file's length.
//! - After [`Disk::sync_dir`] returned `Ok`, the creations, renames and removals before the call do.
//! - Without them anything may survive a power cut, in any order and in part.
//! - A process that dies in a write leaves whole sectors of it, from its beginning on: the kernel copies page by page.
//!
//! Not here: the real directory ([`crate::OsDisk`]) and the one that fails on request (`mem_disk`).

use brickyard_types::UnixMillis;
use std::io;

/// What survives a power cut, or the end of a process, as a whole or not at all.
pub(crate) const SECTOR_BYTES: usize = 512;

/// One directory, as the store sees the operating system.
pub trait Disk: Clone + Send + Sync + 'static {
    /// An open file of this directory.
    type File: DiskFile;

    /// Names of the files in the directory, sorted.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Creates an empty file for reading and writing.
    ///
    /// # Errors
    /// `AlreadyExists` if there is one of this name, and whatever else the operating system says.
    fn create(&self, name: &str) -> io::Result<Self::File>;

    /// Opens a file that exists.
    ///
    /// # Errors
    /// `NotFound` if there is none, and whatever else the operating system says.
    fn open(&self, name: &str, access: Access) -> io::Result<Self::File>;

    /// Gives a file another name, replacing the file of that name if there is one.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file; those that have it open can still read it.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes creations, renames and removals so far survive a power cut.
    ///
    /// # Errors
    /// After an error nothing is known; the caller must not try again (it poisons the store).
    fn sync_dir(&self) -> io::Result<()>;

    /// How much room there is.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn space(&self) -> io::Result<Space>;

    /// The wall clock; only written into headers for people to read.
    fn unix_millis(&self) -> UnixMillis;

    /// Name of a file of this directory for messages.
    fn describe(&self, name: &str) -> String;
}

/// An open file. Offsets are explicit, so that threads can share a file without a position.
pub trait DiskFile: Send + Sync + 'static {
    /// Reads into `buffer` from `offset` and returns how much; 0 only at the end of the file.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes a prefix of `bytes` at `offset` and returns its length.
    ///
    /// # Errors
    /// Whatever the operating system says; a part may have been written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Makes the bytes and the length of the file survive a power cut.
    ///
    /// # Errors
    /// After an error nothing is known; the caller must not try again (it poisons the store).
    fn sync_data(&self) -> io::Result<()>;

    /// Cuts the file, or extends it with zeros.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Keeps room on the disk for the file to grow to so many bytes; its length stays. A cut gives the room behind it back.
    ///
    /// # Errors
    /// Whatever the operating system says: there is no room, or the file system cannot keep any.
    fn keep_room(&self, len: u64) -> io::Result<()>;

    /// Length of the file in bytes.
    ///
    /// # Errors
    /// Whatever the operating system says.
    fn byte_len(&self) -> io::Result<u64>;

    /// Reads until `buffer` is full or the file ends, and returns how much was read.
    ///
    /// # Errors
    /// As [`Self::read_at`], but interruptions are retried.
    fn read_full_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        assert!(
            done <= buffer.len(),
            "{done} bytes were read into {}",
            buffer.len()
        );
        Ok(done)
    }

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// As [`Self::write_at`], but interruptions are retried; a part may have been written. A
    /// write that makes no progress is reported as `StorageFull`.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match self.write_at(&bytes[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::StorageFull.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        assert_eq!(done, bytes.len(), "no more is written than was asked for");
        Ok(())
    }
}

/// What an opened file is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading alone.
    Read,
    /// Reading and writing.
    ReadWrite,
}

/// Room on the file system of a directory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Free for this process.
    pub free: u64,
    /// Of the whole file system.
    pub total: u64,
}

/// Writes a small file as a whole: after a crash the old content is there, or the new.
///
/// The content goes to `name.tmp`, which is synced and renamed; then the directory is synced.
///
/// # Errors
/// Whatever the disk says; the old content is then still in place (a failed directory sync may
/// leave either).
pub fn replace_file<D: Disk>(disk: &D, name: &str, bytes: &[u8]) -> io::Result<()> {
    assert!(
        !name.is_empty() && !name.ends_with(".tmp"),
        "'{name}' names a file of its own"
    );
    let temporary = format!("{name}.tmp");
    match disk.remove(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = disk.create(&temporary)?;
    let written = file
        .write_all_at(bytes, 0)
        .and_then(|()| file.sync_data())
        .and_then(|()| disk.rename(&temporary, name));
    if let Err(error) = written {
        // The leftover would be cleared by the next start too; a full disk wants its room back now.
        let _ = disk.remove(&temporary);
        return Err(error);
    }
    disk.sync_dir()
}

/// Leaves word for the next start that a sync has failed, so that the page cache is no witness of what the disk has. If
/// even this fails there is nothing more that could be done.
pub(crate) fn note_failed_sync<D: Disk>(disk: &D, name: &str) {
    let _ = disk
        .create(name)
        .and_then(|file| file.sync_data())
        .and_then(|()| disk.sync_dir());
}

/// Reads a small file whole.
///
/// # Errors
/// Whatever the disk says, `NotFound` included.
pub fn read_file<D: Disk>(disk: &D, name: &str) -> io::Result<Vec<u8>> {
    let file = disk.open(name, Access::Read)?;
    let len = usize::try_from(file.byte_len()?).map_err(io::Error::other)?;
    let mut bytes = vec![0; len];
    let got = file.read_full_at(&mut bytes, 0)?;
    bytes.truncate(got);
    Ok(bytes)
}
