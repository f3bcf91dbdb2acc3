//! A directory in memory that fails on request: the one fake disk, for tests and for the simulator.
//!
//! In:  a seed and [`Fault`]s. Out: [`Disk`], the same run every time.
//!
//! ```text
//!  MemDisk ─┬─ Names     which names there are, and which a power cut may leave
//!           ├─ Content   of a file: what a reader sees, what the disk has, what a sync has to write
//!           └─ Faults    what fails, and when
//! ```
//! A power cut keeps what was synced; of the rest it keeps what the seed says, sector by sector and
//! name by name, so that writes that were never synced come back torn, holed, or not at all. What a failed sync
//! should have written it loses, also if a later sync succeeds; until then, or until [`MemDisk::drop_page_cache`],
//! it can be read (Rebello et al., ATC 2020).
//!
//! Not here: delays (the simulator's own), and when a fault happens (whoever injects it).

mod content;
mod fault;
mod names;

use crate::disk::{Access, Disk, DiskFile, Space};
use brickyard_types::UnixMillis;
use content::Content;
pub use fault::Fault;
use fault::{Dice, Faults};
use names::Names;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See the module. Clones share the directory.
#[derive(Clone, Debug)]
pub struct MemDisk {
    state: Arc<Mutex<State>>,
}

/// A file of a [`MemDisk`].
#[derive(Debug)]
pub struct MemFile {
    state: Arc<Mutex<State>>,
    inode: u64,
}

#[derive(Debug)]
struct State {
    /// What stands before the names of files in messages.
    path: String,
    names: Names,
    contents: BTreeMap<u64, Content>,
    faults: Faults,
    dice: Dice,
    millis: u64,
    /// Room that files keep ahead of their ends, by inode; `None`: a file system that cannot.
    rooms: Option<BTreeMap<u64, u64>>,
}

impl MemDisk {
    /// An empty directory; `seed` decides what power cuts keep.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::in_directory("", seed)
    }

    /// The same, and messages say `directory` before the name of a file.
    #[must_use]
    pub fn in_directory(directory: &str, seed: u64) -> Self {
        let separator = if directory.is_empty() { "" } else { "/" };
        let state = State {
            path: format!("{directory}{separator}"),
            names: Names::default(),
            contents: BTreeMap::new(),
            faults: Faults::default(),
            dice: Dice::new(seed),
            millis: 1_700_000_000_000,
            rooms: None,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// From now on files can keep room ahead of their ends.
    pub fn let_room_be_kept(&self) {
        self.lock().rooms.get_or_insert_default();
    }

    /// From now on `fault` happens.
    pub fn inject(&self, fault: Fault) {
        let mut state = self.lock();
        let used = state.used();
        state.faults.inject(fault, used);
    }

    /// From now on `fault` does not happen any more, whatever its numbers were.
    pub fn lift(&self, fault: Fault) {
        self.lock().faults.lift(fault);
    }

    /// From now on nothing goes wrong any more.
    pub fn heal(&self) {
        self.lock().faults = Faults::default();
    }

    /// Loses what was not synced, as far as the seed says. Open files keep working on what is left
    /// of them, but the process that had them is meant to be dead.
    pub fn power_cut(&self) {
        self.lock().power_cut();
    }

    /// Memory is wanted for something else: what failed syncs did not write can no longer be read.
    pub fn drop_page_cache(&self) {
        let mut state = self.lock();
        state.contents.values_mut().for_each(Content::drop_cache);
    }

    /// The whole content of a file.
    #[must_use]
    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.lock();
        let inode = state.names.find(name)?;
        state.contents.get(&inode).map(|it| it.bytes().to_vec())
    }

    /// Replaces a file's content, synced; creates the file if there is none.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut state = self.lock();
        let inode = state.names.put(name);
        state.contents.insert(inode, Content::synced(bytes));
    }

    /// Inverts the bits of `mask` in one byte of a file, as rot does.
    ///
    /// # Panics
    /// If there is no such file or byte.
    pub fn flip(&self, name: &str, offset: usize, mask: u8) {
        let mut state = self.lock();
        let inode = state.names.find(name);
        let inode = inode.unwrap_or_else(|| panic!("there is no file '{name}'"));
        state.content(inode).flip(offset, mask);
    }

    /// The files, and how many bytes of each the disk has for sure: what can rot.
    #[must_use]
    pub fn stored(&self) -> Vec<(String, usize)> {
        let state = self.lock();
        let len = |inode: u64| state.contents.get(&inode).map_or(0, Content::stored_len);
        let files = state.names.iter();
        files
            .map(|(name, inode)| (name.to_owned(), len(inode)))
            .collect()
    }

    /// An independent copy of the directory as it is, without faults.
    #[must_use]
    pub fn fork(&self, seed: u64) -> Self {
        let copy = Self::new(seed);
        let state = self.lock();
        for (name, inode) in state.names.iter() {
            copy.put(name, state.contents[&inode].bytes());
        }
        drop(state);
        copy
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn file(&self, inode: u64) -> MemFile {
        MemFile {
            state: Arc::clone(&self.state),
            inode,
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // A test that panicked while it held the lock has already failed.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn content(&mut self, inode: u64) -> &mut Content {
        self.contents.entry(inode).or_default()
    }

    fn used(&self) -> u64 {
        self.names
            .iter()
            .map(|(_, inode)| self.used_by(inode))
            .sum()
    }

    fn used_by(&self, inode: u64) -> u64 {
        let len = self.contents.get(&inode).map_or(0, |it| it.bytes().len());
        let room = self.rooms.as_ref().and_then(|it| it.get(&inode).copied());
        room.unwrap_or(0).max(len as u64)
    }

    fn power_cut(&mut self) {
        self.names.tear(&mut self.dice);
        let names = &self.names;
        self.contents.retain(|inode, _| names.links(*inode));
        for content in self.contents.values_mut() {
            content.tear(&mut self.dice);
        }
    }

    /// How much of a write of so many bytes is done, and whether the process dies of it.
    fn admit(&mut self, inode: u64, offset: usize, wanted: usize) -> io::Result<(usize, bool)> {
        let (wanted, is_dying) = self.faults.write(offset, wanted, &mut self.dice)?;
        let Some(capacity) = self.faults.capacity() else {
            return Ok((wanted, is_dying));
        };
        let room = capacity.saturating_sub(self.used());
        let grows = ((offset + wanted) as u64).saturating_sub(self.used_by(inode));
        let lacking = grows.saturating_sub(room) as usize;
        let fitting = wanted.saturating_sub(lacking);
        if lacking > 0 && fitting == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok((fitting, is_dying))
    }
}

impl Disk for MemDisk {
    type File = MemFile;

    fn list(&self) -> io::Result<Vec<String>> {
        let state = self.lock();
        Ok(state
            .names
            .iter()
            .map(|(name, _)| name.to_owned())
            .collect())
    }

    fn create(&self, name: &str) -> io::Result<MemFile> {
        let mut state = self.lock();
        state.faults.call()?;
        if state.names.find(name).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = state.names.create(name);
        state.contents.insert(inode, Content::default());
        drop(state);
        Ok(self.file(inode))
    }

    fn open(&self, name: &str, _access: Access) -> io::Result<MemFile> {
        let inode = self.lock().names.find(name);
        inode
            .map(|inode| self.file(inode))
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.faults.call()?;
        state.names.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.faults.call()?;
        state.names.remove(name)
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.faults.call()?;
        if !state.faults.sync_works() {
            return Err(io::Error::other("injected failure of a directory sync"));
        }
        state.names.sync();
        Ok(())
    }

    fn space(&self) -> io::Result<Space> {
        let state = self.lock();
        state.faults.space(state.used())
    }

    fn unix_millis(&self) -> UnixMillis {
        let mut state = self.lock();
        state.millis += 1;
        UnixMillis(state.millis)
    }

    fn describe(&self, name: &str) -> String {
        format!("{}{name}", self.lock().path)
    }
}

impl DiskFile for MemFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = lock(&self.state);
        let content = state.contents.get(&self.inode);
        let bytes = content.map_or(&[][..], Content::bytes);
        let start = usize::try_from(offset).map_or(bytes.len(), |at| at.min(bytes.len()));
        let count = buffer.len().min(bytes.len() - start);
        buffer[..count].copy_from_slice(&bytes[start..start + count]);
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = lock(&self.state);
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let (count, is_dying) = state.admit(self.inode, offset, bytes.len())?;
        state.content(self.inode).write(offset, &bytes[..count]);
        if is_dying {
            return Err(fault::dead());
        }
        Ok(count)
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.faults.call()?;
        let works = state.faults.sync_works();
        let content = state.content(self.inode);
        if !works {
            content.fail_sync();
            return Err(io::Error::other("injected failure of a sync"));
        }
        content.sync();
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.faults.call()?;
        if state.faults.refuses_set_len() {
            return Err(io::Error::other("injected failure of a cut"));
        }
        if let Some(rooms) = &mut state.rooms {
            rooms.remove(&self.inode);
        }
        let len = usize::try_from(len).map_err(io::Error::other)?;
        state.content(self.inode).set_len(len);
        Ok(())
    }

    fn keep_room(&self, len: u64) -> io::Result<()> {
        let mut state = lock(&self.state);
        let grows = len.saturating_sub(state.used_by(self.inode));
        let used = state.used();
        let capacity = state.faults.capacity();
        let rooms = state.rooms.as_mut().ok_or(io::ErrorKind::Unsupported)?;
        if capacity.is_some_and(|capacity| used + grows > capacity) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let room = rooms.entry(self.inode).or_default();
        *room = len.max(*room);
        Ok(())
    }

    fn byte_len(&self) -> io::Result<u64> {
        let state = lock(&self.state);
        let content = state.contents.get(&self.inode);
        Ok(content.map_or(0, |it| it.bytes().len() as u64))
    }
}

#[cfg(test)]
#[path = "mem_disk_test.rs"]
mod mem_disk_test;
