//! What a node promised the others: its vote, its part of the cluster's log, and a snapshot.
//!
//! ```text
//! control       header | snapshot | append | append | append ...
//!               └─ synced before the file got its name ─┘
//! control.tmp   the next one, while it is written
//! control.unsure   a sync failed, and the log was not opened since
//! ```
//! In:  hard states, entries, snapshots, as opaque bytes and numbers. Out: after a restart, the latest
//! of each.
//!
//! Invariants:
//! - What [`ControlLog::sync`] covered survives a power cut. Of the rest, a beginning does: an append
//!   is there as a whole or not at all, and none without those before it.
//! - What was synced is never silently dropped. A node that forgot a vote could vote twice, and two
//!   nodes could lead at once; so damage is an error, never a gap.
//! - A failed sync ends the use of the log until it is opened again.
//!
//! Not here: what the bytes mean, when a sync is due (`consensus`).
//! The format is told byte by byte in docs/data-file.md.

mod error;
mod header;
mod inspect;
mod record;
mod scan;
mod state;

pub use error::{ControlDamage, ControlLogError};
pub use inspect::{ControlReport, ControlTerm, inspect_control_log};
pub use scan::{ControlScan, scan_control_log};
pub use state::{ControlEntry, ControlHardState, ControlSnapshot, ControlState};

use crate::config::PageCache;
use crate::disk::{Access, Disk, DiskFile, note_failed_sync, read_file};
use crate::error::Poisoned;
use crate::segment::header::DirectoryId;
use header::Header;
use record::Appending;
use std::{fmt, io};

/// The file's name in its directory.
const NAME: &str = "control";
const TEMPORARY: &str = "control.tmp";
/// Left by a failed sync: the page cache is no witness of what was written since the one before.
const UNSURE: &str = "control.unsure";

/// The file keeps so much room ahead of its end, where the file system can: a disk that others have filled does not keep this
/// node from hearing for long what the others agree on, and what it should do about its full disk.
const ROOM_AHEAD: u64 = 1 << 20;

/// See the module. One thread uses it.
pub struct ControlLog<D: Disk> {
    disk: D,
    directory: DirectoryId,
    file: D::File,
    /// Bytes of sound records and the header: where the next record goes.
    len: u64,
    /// Bytes that survive a power cut.
    synced: u64,
    /// The file has room until here.
    room: u64,
    /// The next record's.
    number: u64,
    poisoned: Option<Poisoned>,
}

/// A log that was opened, and what was in it.
#[derive(Debug)]
pub struct ControlOpened<D: Disk> {
    /// For what comes next.
    pub log: ControlLog<D>,
    /// What was in it.
    pub state: ControlState,
    /// Bytes of a torn tail that were cut; none of them was ever synced.
    pub cut_bytes: u64,
}

impl<D: Disk> ControlLog<D> {
    /// Opens the log of a directory; `None` if it has none. A torn tail is cut.
    ///
    /// What was read is written anew and synced. So from then on nothing of it can be taken for a torn
    /// tail, and what an earlier process failed to sync, and may be in the page cache alone, is synced.
    ///
    /// # Errors
    /// [`ControlLogError`]; nothing was changed, unless it is `Poisoned`: then open it again.
    pub fn open(
        disk: D,
        directory: DirectoryId,
        page_cache: PageCache,
    ) -> Result<Option<ControlOpened<D>>, ControlLogError> {
        let name = disk.describe(NAME);
        let failed = |doing| ControlLogError::io(doing, name.clone());
        // What a failed sync should have written may be gone from memory, too, with the machine still on.
        let is_unsure = disk.open(UNSURE, Access::Read).is_ok();
        let page_cache = if is_unsure {
            PageCache::MaybeLost
        } else {
            page_cache
        };
        let bytes = match read_file(&disk, NAME) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(failed("read"))?,
        };
        let scan = scan_control_log(&bytes, directory, page_cache)
            .map_err(|damage| ControlLogError::of(damage, name.clone()))?;
        assert!(
            scan.len <= bytes.len() as u64,
            "{} of {} bytes are sound",
            scan.len,
            bytes.len()
        );
        let (sound, torn) = bytes.split_at(scan.len as usize);
        let cut_bytes = torn.len() as u64;
        let log = match write_anew(&disk, directory, &scan.state) {
            // A node must be able to start with a full disk.
            Err(ControlLogError::Full { .. }) => {
                // What a failed sync was to write no sync writes, unless it is written again: there is room for it.
                let unwritten = if is_unsure { sound } else { &[] };
                Self::go_on(disk, directory, &scan, cut_bytes, unwritten)?
            }
            written => written?.into_log(disk, directory),
        };
        if is_unsure {
            // All that was read is synced now.
            remove(&log.disk, UNSURE).map_err(failed("remove the mark beside"))?;
        }
        Ok(Some(ControlOpened {
            log,
            state: scan.state,
            cut_bytes,
        }))
    }

    /// Goes on with the file that is there. What of its beginning may be in the page cache alone is written again.
    fn go_on(
        disk: D,
        directory: DirectoryId,
        scan: &ControlScan,
        cut_bytes: u64,
        unwritten: &[u8],
    ) -> Result<Self, ControlLogError> {
        let name = disk.describe(NAME);
        let file = disk
            .open(NAME, Access::ReadWrite)
            .map_err(ControlLogError::io("open", name.clone()))?;
        if cut_bytes > 0 {
            file.set_len(scan.len)
                .map_err(ControlLogError::io("cut the torn tail of", name.clone()))?;
        }
        file.write_all_at(unwritten, 0)
            .map_err(ControlLogError::io("write to", name))?;
        let mut log = Self {
            disk,
            directory,
            file,
            len: scan.len,
            synced: 0,
            room: 0,
            number: scan.records,
            poisoned: None,
        };
        log.sync()?;
        Ok(log)
    }

    /// Makes the log of a directory that has none, synced.
    ///
    /// # Errors
    /// [`ControlLogError::Exists`] if it has one, and whatever the operating system says; then
    /// there is none.
    pub fn create(
        disk: D,
        directory: DirectoryId,
        state: &ControlState,
    ) -> Result<Self, ControlLogError> {
        match disk.open(NAME, Access::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => {
                let file = disk.describe(NAME);
                opened.map_err(ControlLogError::io("open", file.clone()))?;
                return Err(ControlLogError::Exists { file });
            }
        }
        let written = write_anew(&disk, directory, state)?;
        Ok(written.into_log(disk, directory))
    }

    /// Writes a hard state and entries, in one piece. The entries replace whatever the log has from
    /// the first one's index on.
    ///
    /// # Errors
    /// [`ControlLogError::Full`] and the like: nothing was written, try again. `Poisoned`: stop the
    /// node.
    pub fn append(
        &mut self,
        hard_state: Option<ControlHardState>,
        entries: &[ControlEntry],
    ) -> Result<(), ControlLogError> {
        if hard_state.is_none() && entries.is_empty() {
            return Ok(());
        }
        self.write(|place| record::append(hard_state, entries, place))
    }

    /// Makes everything so far survive a power cut.
    ///
    /// # Errors
    /// `Poisoned`: stop the node.
    pub fn sync(&mut self) -> Result<(), ControlLogError> {
        self.check()?;
        if let Err(error) = self.sync_data() {
            return Err(self.poison("sync", error));
        }
        assert!(
            self.synced <= self.len,
            "synced through {} of {}",
            self.synced,
            self.len
        );
        self.synced = self.len;
        Ok(())
    }

    /// Puts a new file in the place of the log, synced: after a crash there is the one or the other.
    ///
    /// # Errors
    /// [`ControlLogError::Full`] and the like: the old log is in place and goes on. `Poisoned`: stop
    /// the node.
    pub fn replace(&mut self, state: &ControlState) -> Result<(), ControlLogError> {
        self.check()?;
        match write_anew(&self.disk, self.directory, state) {
            Ok(written) => {
                *self = written.into_log(self.disk.clone(), self.directory);
                Ok(())
            }
            Err(ControlLogError::Poisoned(poisoned)) => {
                self.poisoned = Some(poisoned.clone());
                Err(ControlLogError::Poisoned(poisoned))
            }
            Err(error) => Err(error),
        }
    }

    /// Syncs, and leaves a mark of it: behind a mark nothing can be taken for a torn tail.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn close(mut self) -> Result<(), ControlLogError> {
        self.sync()?;
        self.write(|place| record::append(None, &[], place))?;
        self.sync()
    }

    /// Bytes of the file; for deciding when a snapshot is due.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        self.len
    }

    fn write(
        &mut self,
        encode: impl FnOnce(Appending) -> Result<Vec<u8>, ControlLogError>,
    ) -> Result<(), ControlLogError> {
        self.check()?;
        let bytes = encode(Appending {
            offset: self.len,
            number: self.number,
            synced: self.synced,
        })?;
        assert!(
            bytes.len() >= record::HEAD_BYTES,
            "a record of {} bytes",
            bytes.len()
        );
        if let Err(error) = self.file.write_all_at(&bytes, self.len) {
            return Err(self.undo(bytes.len() as u64, error));
        }
        self.len += bytes.len() as u64;
        self.number += 1;
        self.keep_room();
        Ok(())
    }

    fn keep_room(&mut self) {
        if self.room >= self.len + ROOM_AHEAD / 2 {
            return;
        }
        let room = self.len + ROOM_AHEAD;
        // If none can be kept, whatever needs room finds out.
        if self.file.keep_room(room).is_ok() {
            self.room = room;
        }
    }

    /// Takes back what a refused write left, so that it never comes back.
    fn undo(&mut self, needed: u64, error: io::Error) -> ControlLogError {
        let undone = self.file.set_len(self.len);
        if let Err(error) = undone.and_then(|()| self.sync_data()) {
            return self.poison("undo a write to", error);
        }
        self.synced = self.len;
        self.room = 0;
        refusal(&self.disk, NAME, needed, error)
    }

    fn sync_data(&self) -> io::Result<()> {
        let synced = self.file.sync_data();
        synced.inspect_err(|_| note_failed_sync(&self.disk, UNSURE))
    }

    fn check(&self) -> Result<(), ControlLogError> {
        match &self.poisoned {
            Some(poisoned) => Err(ControlLogError::Poisoned(poisoned.clone())),
            None => Ok(()),
        }
    }

    fn poison(&mut self, doing: &'static str, error: io::Error) -> ControlLogError {
        let poisoned = Poisoned {
            doing,
            file: self.disk.describe(NAME),
            cause: error.to_string(),
        };
        self.poisoned = Some(poisoned.clone());
        ControlLogError::Poisoned(poisoned)
    }
}

impl<D: Disk> fmt::Debug for ControlLog<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlLog")
            .field("file", &self.disk.describe(NAME))
            .field("len", &self.len)
            .field("synced", &self.synced)
            .field("poisoned", &self.poisoned)
            .finish_non_exhaustive()
    }
}

/// A file that was written anew.
struct Written<D: Disk> {
    file: D::File,
    len: u64,
    records: u64,
}

impl<D: Disk> Written<D> {
    fn into_log(self, disk: D, directory: DirectoryId) -> ControlLog<D> {
        let mut log = ControlLog {
            disk,
            directory,
            file: self.file,
            len: self.len,
            synced: self.len,
            room: 0,
            number: self.records,
            poisoned: None,
        };
        log.keep_room();
        log
    }
}

fn write_anew<D: Disk>(
    disk: &D,
    directory: DirectoryId,
    state: &ControlState,
) -> Result<Written<D>, ControlLogError> {
    let (bytes, records) = encode(directory, disk.unix_millis().0, state)?;
    let len = bytes.len() as u64;
    let described = disk.describe(TEMPORARY);
    remove(disk, TEMPORARY).map_err(ControlLogError::io("remove", described.clone()))?;
    let file = match disk.create(TEMPORARY) {
        Ok(file) => file,
        Err(error) => return Err(refusal(disk, TEMPORARY, len, error)),
    };
    if let Err(error) = file.write_all_at(&bytes, 0) {
        // The next one clears the leftover too; a full disk wants its room back now.
        let _ = disk.remove(TEMPORARY);
        return Err(refusal(disk, TEMPORARY, len, error));
    }
    let failed = |doing| {
        let file = described.clone();
        move |error: io::Error| {
            ControlLogError::Poisoned(Poisoned {
                doing,
                file,
                cause: error.to_string(),
            })
        }
    };
    // One after the other: what could not be synced must not take the place of what was.
    file.sync_data().map_err(failed("sync"))?;
    // From here on nobody knows which file would be there after a crash.
    disk.rename(TEMPORARY, NAME).map_err(failed("rename"))?;
    disk.sync_dir().map_err(failed("sync the directory of"))?;
    Ok(Written { file, len, records })
}

/// A whole file, and how many records are in it.
fn encode(
    directory: DirectoryId,
    created: u64,
    state: &ControlState,
) -> Result<(Vec<u8>, u64), ControlLogError> {
    let mut bytes = vec![0; header::HEADER_BYTES];
    let mut number = 0;
    if let Some(snapshot) = &state.snapshot {
        let place = Appending {
            offset: bytes.len() as u64,
            number,
            synced: 0,
        };
        bytes.extend(record::snapshot(snapshot, place)?);
        number += 1;
    }
    let place = Appending {
        offset: bytes.len() as u64,
        number,
        synced: 0,
    };
    bytes.extend(record::append(
        Some(state.hard_state),
        &state.entries,
        place,
    )?);
    assert_eq!(
        record::Head::at(&bytes, header::HEADER_BYTES as u64).map(|head| head.number),
        Some(0),
        "the first record of a file is read as it was written"
    );
    let header = Header {
        base: bytes.len() as u64,
        created,
        directory,
    };
    bytes[..header::HEADER_BYTES].copy_from_slice(&header.encode());
    Ok((bytes, number + 1))
}

fn refusal<D: Disk>(disk: &D, name: &str, needed: u64, error: io::Error) -> ControlLogError {
    let file = disk.describe(name);
    let is_full = matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    );
    if is_full {
        return ControlLogError::Full { file, needed };
    }
    ControlLogError::io("write", file)(error)
}

fn remove<D: Disk>(disk: &D, name: &str) -> io::Result<()> {
    match disk.remove(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "control_log_test.rs"]
mod control_log_test;
#[cfg(test)]
#[path = "crash_test.rs"]
mod crash_test;
