//! A directory in memory that fails on request: for tests and for the simulator.
//!
//! In:  a seed and a list of [`Fault`]s. Out: the same run every time.
//!
//! A power cut keeps what was synced; of the rest it keeps what the seed says, sector by sector and
//! name by name, so that writes that were never synced come back torn, holed, or not at all. What a failed sync
//! should have written it loses, also if a later sync succeeds.
//!
//! Not here: delays (the simulator's own).

use crate::disk::{Access, Disk, DiskFile, Space};
use brickyard_types::UnixMillis;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What survives a power cut as a whole or not at all.
const SECTOR_BYTES: usize = 512;

/// What goes wrong, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Writing fails with "no space" once this many bytes are stored; a write may end half-way.
    Full {
        /// Bytes that all files together may have.
        capacity: u64,
    },
    /// Nobody knows how much room there is, as with a quota: a full disk shows only in the write.
    SpaceUnknown,
    /// The sync (of a file or of the directory) after this many more fails, and so do all later ones.
    SyncFails {
        /// Syncs that still succeed.
        after: u64,
    },
    /// Cutting a file fails.
    SetLenFails,
    /// The call (any that changes something) after this many more fails, and so do all later ones:
    /// the moment at which the process dies. A write may be done half-way.
    Dies {
        /// Calls that still succeed.
        after: u64,
    },
}

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

#[derive(Debug, Default)]
struct State {
    /// What a reader sees.
    names: BTreeMap<String, u64>,
    inodes: BTreeMap<u64, Inode>,
    inode_next: u64,
    /// Changes of names since the last directory sync, in order.
    unsynced_names: Vec<NameChange>,
    synced_names: BTreeMap<String, u64>,
    capacity: Option<u64>,
    syncs_left: Option<u64>,
    calls_left: Option<u64>,
    is_dead: bool,
    set_len_fails: bool,
    space_unknown: bool,
    random: u64,
    millis: u64,
}

#[derive(Debug, Default)]
struct Inode {
    /// What a reader sees.
    bytes: Vec<u8>,
    /// What is sure to survive a power cut.
    synced: Vec<u8>,
    /// Stretches that a failed sync has lost: they can be read, and no later sync writes them.
    doomed: Vec<Range<usize>>,
    /// What was there before a cut that is not synced yet: it may be what the disk has.
    uncut: Option<Vec<u8>>,
}

#[derive(Clone, Debug)]
enum NameChange {
    Set(String, u64),
    Remove(String),
}

impl MemDisk {
    /// An empty directory; `seed` decides what power cuts keep.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let state = State {
            random: seed,
            millis: 1_700_000_000_000,
            ..State::default()
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// From now on `fault` happens.
    pub fn inject(&self, fault: Fault) {
        let mut state = self.lock();
        match fault {
            Fault::Full { capacity } => state.capacity = Some(capacity),
            Fault::SpaceUnknown => state.space_unknown = true,
            Fault::SyncFails { after } => state.syncs_left = Some(after),
            Fault::SetLenFails => state.set_len_fails = true,
            Fault::Dies { after } => state.calls_left = Some(after),
        }
    }

    /// From now on nothing goes wrong any more.
    pub fn heal(&self) {
        let mut state = self.lock();
        state.capacity = None;
        state.syncs_left = None;
        state.calls_left = None;
        state.is_dead = false;
        state.set_len_fails = false;
        state.space_unknown = false;
    }

    /// Loses what was not synced, as far as the seed says. Open files keep working on what is left
    /// of them, but the process that had them is meant to be dead.
    pub fn power_cut(&self) {
        self.lock().power_cut();
    }

    /// The whole content of a file.
    #[must_use]
    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.lock();
        let inode = state.names.get(name)?;
        state.inodes.get(inode).map(|inode| inode.bytes.clone())
    }

    /// Replaces a file's content, synced; creates the file if there is none.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut state = self.lock();
        let inode = match state.names.get(name) {
            Some(inode) => *inode,
            None => state.create(name),
        };
        state.synced_names.insert(name.to_owned(), inode);
        let content = Inode {
            bytes: bytes.to_vec(),
            synced: bytes.to_vec(),
            doomed: Vec::new(),
            uncut: None,
        };
        state.inodes.insert(inode, content);
    }

    /// Inverts the bits of `mask` in one byte of a file, as rot does.
    ///
    /// # Panics
    /// If there is no such file or byte.
    pub fn flip(&self, name: &str, offset: usize, mask: u8) {
        let mut state = self.lock();
        let inode = state.names[name];
        let inode = state.inodes.entry(inode).or_default();
        inode.bytes[offset] ^= mask;
        if let Some(byte) = inode.synced.get_mut(offset) {
            *byte ^= mask;
        }
    }

    /// An independent copy of the directory as it is, without faults.
    #[must_use]
    pub fn fork(&self, seed: u64) -> Self {
        let copy = Self::new(seed);
        let state = self.lock();
        for (name, inode) in &state.names {
            copy.put(name, &state.inodes[inode].bytes);
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

impl Inode {
    /// A sync fails: the kernel forgets that what it was to write is to be written.
    fn doom(&mut self) {
        let pairs = self.bytes.iter().zip(&self.synced);
        let start = pairs.take_while(|(now, synced)| now == synced).count();
        if start < self.bytes.len() {
            self.doomed.push(start..self.bytes.len());
        }
    }

    /// What is written anew is to be written out again.
    fn redeem(&mut self, fresh: Range<usize>) {
        let doomed = std::mem::take(&mut self.doomed).into_iter();
        let left = doomed.flat_map(|it| {
            [
                it.start..it.end.min(fresh.start),
                it.start.max(fresh.end)..it.end,
            ]
        });
        self.doomed = left.filter(|it| !it.is_empty()).collect();
    }

    /// What the disk has once everything is written that the kernel knows to be unwritten.
    fn written(&self) -> Vec<u8> {
        let mut written = self.bytes.clone();
        for at in self.doomed.iter().cloned().flatten() {
            if let Some(byte) = written.get_mut(at) {
                *byte = self.synced.get(at).copied().unwrap_or(0);
            }
        }
        written
    }
}

impl State {
    fn create(&mut self, name: &str) -> u64 {
        self.inode_next += 1;
        let inode = self.inode_next;
        self.inodes.insert(inode, Inode::default());
        self.set_name(name, inode);
        inode
    }

    fn set_name(&mut self, name: &str, inode: u64) {
        self.names.insert(name.to_owned(), inode);
        self.unsynced_names
            .push(NameChange::Set(name.to_owned(), inode));
    }

    fn used(&self) -> u64 {
        let linked = self.names.values();
        linked
            .filter_map(|inode| self.inodes.get(inode))
            .map(|inode| inode.bytes.len() as u64)
            .sum()
    }

    /// Counts a call that changes something; `Err` if the process is dead by now.
    fn call(&mut self) -> io::Result<()> {
        match &mut self.calls_left {
            Some(0) => {
                self.is_dead = true;
                Err(io::Error::other("the process is dead"))
            }
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Counts a sync; `false` if it fails.
    fn sync_works(&mut self) -> bool {
        match &mut self.syncs_left {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }

    /// SplitMix64: enough for a coin.
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn power_cut(&mut self) {
        // Changes of names reach the disk in order, up to some point.
        let changes = std::mem::take(&mut self.unsynced_names);
        let kept = (self.random() % (changes.len() as u64 + 1)) as usize;
        let mut names = std::mem::take(&mut self.synced_names);
        for change in changes.into_iter().take(kept) {
            match change {
                NameChange::Set(name, inode) => {
                    names.retain(|_, linked| *linked != inode);
                    names.insert(name, inode);
                }
                NameChange::Remove(name) => {
                    names.remove(&name);
                }
            }
        }
        self.synced_names.clone_from(&names);
        self.names = names;
        let inodes: Vec<u64> = self.inodes.keys().copied().collect();
        for inode in inodes {
            let Some(mut content) = self.inodes.remove(&inode) else {
                continue;
            };
            self.tear(&mut content);
            self.inodes.insert(inode, content);
        }
    }

    /// Keeps the synced bytes of a file, and of the others whole sectors at random.
    fn tear(&mut self, content: &mut Inode) {
        if !content.doomed.is_empty() {
            content.bytes = content.written();
            content.doomed.clear();
        }
        let uncut = content.uncut.take();
        if content.bytes == content.synced && uncut.is_none() {
            return;
        }
        if let Some(uncut) = uncut
            && self.random().is_multiple_of(2)
        {
            content.bytes = uncut;
        }
        let (new, old) = (&content.bytes, &content.synced);
        // The length may be the old one, the new one, or any between.
        let (short, long) = (new.len().min(old.len()), new.len().max(old.len()));
        let len = match self.random() % 3 {
            0 => old.len(),
            1 => new.len(),
            _ => short + (self.random() % (long - short + 1) as u64) as usize,
        };
        // Mostly all or nothing of what was not synced, sometimes a mixture.
        let odds = [0, 1, 2, 3, 4, 4][(self.random() % 6) as usize];
        let mut kept = vec![0; len];
        for start in (0..len).step_by(SECTOR_BYTES) {
            let end = (start + SECTOR_BYTES).min(len);
            let source = if self.random() % 4 < odds { new } else { old };
            let from = source.get(start..end.min(source.len())).unwrap_or_default();
            kept[start..start + from.len()].copy_from_slice(from);
        }
        content.bytes.clone_from(&kept);
        content.synced = kept;
    }
}

impl Disk for MemDisk {
    type File = MemFile;

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.lock().names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<MemFile> {
        let mut state = self.lock();
        state.call()?;
        if state.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = state.create(name);
        drop(state);
        Ok(self.file(inode))
    }

    fn open(&self, name: &str, _access: Access) -> io::Result<MemFile> {
        let inode = self.lock().names.get(name).copied();
        inode
            .map(|inode| self.file(inode))
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.call()?;
        let inode = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        // One change, as in a journal: a power cut keeps both halves of a rename or neither.
        state.set_name(to, inode);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.call()?;
        state.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        state
            .unsynced_names
            .push(NameChange::Remove(name.to_owned()));
        Ok(())
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.call()?;
        if !state.sync_works() {
            return Err(io::Error::other("injected failure of a directory sync"));
        }
        state.unsynced_names.clear();
        state.synced_names = state.names.clone();
        Ok(())
    }

    fn space(&self) -> io::Result<Space> {
        let state = self.lock();
        if state.space_unknown {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let total = state.capacity.unwrap_or(1 << 40);
        Ok(Space {
            free: total.saturating_sub(state.used()),
            total,
        })
    }

    fn unix_millis(&self) -> UnixMillis {
        let mut state = self.lock();
        state.millis += 1;
        UnixMillis(state.millis)
    }

    fn describe(&self, name: &str) -> String {
        name.to_owned()
    }
}

impl DiskFile for MemFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = lock(&self.state);
        let bytes = state
            .inodes
            .get(&self.inode)
            .map_or(&[][..], |inode| &inode.bytes);
        let start = usize::try_from(offset).map_or(bytes.len(), |at| at.min(bytes.len()));
        let count = buffer.len().min(bytes.len() - start);
        buffer[..count].copy_from_slice(&bytes[start..start + count]);
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = lock(&self.state);
        let was_dead = state.is_dead;
        let is_dying = state.call().is_err();
        let mut count = bytes.len();
        if was_dead {
            count = 0;
        } else if is_dying {
            // The last write of a process may get anywhere.
            count = (state.random() % (count as u64 + 1)) as usize;
        }
        let used = state.used();
        let capacity = state.capacity.unwrap_or(u64::MAX);
        let inode = state.inodes.entry(self.inode).or_default();
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let grows = (start + count).saturating_sub(inode.bytes.len()) as u64;
        let room = capacity.saturating_sub(used);
        if grows > room {
            count -= ((grows - room) as usize).min(count);
            if count == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        if inode.bytes.len() < start + count {
            inode.bytes.resize(start + count, 0);
        }
        inode.bytes[start..start + count].copy_from_slice(&bytes[..count]);
        inode.redeem(start..start + count);
        if is_dying {
            return Err(io::Error::other("the process is dead"));
        }
        Ok(count)
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.call()?;
        let works = state.sync_works();
        let inode = state.inodes.entry(self.inode).or_default();
        if !works {
            inode.doom();
            return Err(io::Error::other("injected failure of a sync"));
        }
        inode.synced = inode.written();
        inode.uncut = None;
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.call()?;
        if state.set_len_fails {
            return Err(io::Error::other("injected failure of a cut"));
        }
        let len = usize::try_from(len).map_err(io::Error::other)?;
        let inode = state.inodes.entry(self.inode).or_default();
        if len < inode.bytes.len() {
            inode.uncut = Some(inode.bytes.clone());
        }
        inode.bytes.resize(len, 0);
        Ok(())
    }

    fn byte_len(&self) -> io::Result<u64> {
        let state = lock(&self.state);
        Ok(state
            .inodes
            .get(&self.inode)
            .map_or(0, |inode| inode.bytes.len() as u64))
    }
}

#[cfg(test)]
#[path = "mem_disk_test.rs"]
mod mem_disk_test;
