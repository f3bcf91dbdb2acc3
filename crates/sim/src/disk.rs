//! Directories in memory that lose what was not synced, rot, fill up and fail.
//!
//! In:  a seed, and what goes wrong. Out: `store`'s [`Disk`], the same every time.
//!
//! A power cut keeps what was synced; of the rest what the seed says: all, nothing, or some sectors. A failed
//! sync dooms what it should have written: it can be read until the machine stops or memory is wanted, however
//! many syncs succeed afterwards (Rebello et al., ATC 2020).
//!
//! Not here: how long anything takes (`log_work`).

use crate::random::Random;
use brickyard_store::{Access, Disk, DiskFile, Space};
use brickyard_types::UnixMillis;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What survives a power cut as a whole or not at all.
const SECTOR_BYTES: usize = 512;

/// Room on a disk that is not full.
const TOTAL_BYTES: u64 = 1 << 40;

/// One directory. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct SimDisk {
    state: Arc<Mutex<State>>,
}

/// An open file.
#[derive(Debug)]
pub(crate) struct SimFile {
    state: Arc<Mutex<State>>,
    inode: u64,
}

#[derive(Debug)]
struct State {
    name: String,
    names: BTreeMap<String, u64>,
    inodes: BTreeMap<u64, Inode>,
    inode_next: u64,
    /// Changes of names since the last sync of the directory, in order.
    unsynced: Vec<NameChange>,
    synced: BTreeMap<String, u64>,
    used: u64,
    capacity: Option<u64>,
    /// Syncs fail.
    is_failing: bool,
    /// The process that uses it is being killed: so many more calls are carried out.
    calls_left: Option<u64>,
    random: Random,
    millis: u64,
}

#[derive(Debug, Default)]
struct Inode {
    bytes: Vec<u8>,
    /// What is sure to survive a power cut is what `undo` leads back to.
    synced_len: usize,
    /// What synced bytes were before each change since the last sync, in order.
    undo: Vec<Undo>,
    /// Stretches that a failed sync lost: gone when the page cache is.
    doomed: Vec<(usize, usize)>,
}

#[derive(Debug)]
enum Undo {
    Overwritten(usize, Vec<u8>),
    Cut(Vec<u8>),
}

#[derive(Clone, Debug)]
enum NameChange {
    Set(String, u64),
    Remove(String),
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // One thread has it; a panic in it ends the run.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimDisk {
    pub(crate) fn new(name: String, seed: u64) -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                name,
                names: BTreeMap::new(),
                inodes: BTreeMap::new(),
                inode_next: 0,
                unsynced: Vec::new(),
                synced: BTreeMap::new(),
                used: 0,
                capacity: None,
                is_failing: false,
                calls_left: None,
                random: Random::new(seed),
                millis: 1_700_000_000_000,
            })),
        }
    }

    /// No more than so many bytes than there are now fit.
    pub(crate) fn fill(&self, room: Option<u64>) {
        let mut state = lock(&self.state);
        state.capacity = room.map(|room| state.used + room);
    }

    /// From now on syncs fail, or succeed again.
    pub(crate) fn fail(&self, is_failing: bool) {
        lock(&self.state).is_failing = is_failing;
    }

    /// The process dies after so many more calls that change something.
    pub(crate) fn die(&self, calls: u64) {
        lock(&self.state).calls_left = Some(calls);
    }

    /// Another process uses it.
    pub(crate) fn revive(&self) {
        let mut state = lock(&self.state);
        state.calls_left = None;
        // Memory may have been wanted for something else.
        if state.random.one_in(2) {
            state.forget_doomed();
        }
    }

    /// What was not synced is lost, as far as the seed says.
    pub(crate) fn cut_power(&self) {
        let mut state = lock(&self.state);
        state.forget_doomed();
        state.cut_power();
    }

    /// One bit of what was synced turns over; where, if there was any.
    pub(crate) fn rot(&self, dice: u64) -> Option<(String, usize)> {
        let mut state = lock(&self.state);
        let candidates: Vec<(String, u64)> = state
            .names
            .iter()
            .filter(|(name, inode)| {
                name.ends_with(".seg")
                    && state.inodes.get(inode).is_some_and(|it| it.synced_len > 0)
            })
            .map(|(name, inode)| (name.clone(), *inode))
            .collect();
        let mut random = Random::new(dice);
        let (name, inode) = candidates.get(random.index(candidates.len()))?.clone();
        let inode = state.inodes.get_mut(&inode)?;
        let offset = random.index(inode.synced_len.min(inode.bytes.len()));
        *inode.bytes.get_mut(offset)? ^= 1 << random.below(8);
        Some((name, offset))
    }

    fn file(&self, inode: u64) -> SimFile {
        SimFile {
            state: Arc::clone(&self.state),
            inode,
        }
    }
}

fn dead() -> io::Error {
    io::Error::other("the process is dead")
}

impl State {
    /// Counts a call that changes something; an error if the process is dead by now.
    fn call(&mut self) -> io::Result<()> {
        match &mut self.calls_left {
            Some(0) => Err(dead()),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn forget_doomed(&mut self) {
        for inode in self.inodes.values_mut() {
            for (start, end) in std::mem::take(&mut inode.doomed) {
                let end = end.min(inode.bytes.len());
                if let Some(lost) = inode.bytes.get_mut(start..end) {
                    lost.fill(0);
                }
            }
        }
    }

    fn cut_power(&mut self) {
        // Changes of names reach the disk in order, up to some point.
        let changes = std::mem::take(&mut self.unsynced);
        let kept = self.random.below(changes.len() as u64 + 1) as usize;
        let mut names = std::mem::take(&mut self.synced);
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
        self.synced.clone_from(&names);
        self.names = names;
        let linked: Vec<u64> = self.names.values().copied().collect();
        self.inodes.retain(|inode, _| linked.contains(inode));
        for inode in self.inodes.values_mut() {
            inode.tear(&mut self.random);
        }
        self.used = self.inodes.values().map(|it| it.bytes.len() as u64).sum();
    }
}

impl Inode {
    /// What is written anew after a failed sync is to be written out again.
    fn redeem(&mut self, start: usize, end: usize) {
        if self.doomed.is_empty() {
            return;
        }
        let doomed = std::mem::take(&mut self.doomed).into_iter();
        let left = doomed.flat_map(|it| [(it.0, it.1.min(start)), (it.0.max(end), it.1)]);
        self.doomed = left.filter(|(start, end)| start < end).collect();
    }

    /// Of what was not synced all, nothing, or some sectors stay.
    fn tear(&mut self, random: &mut Random) {
        let odds = [0, 1, 2, 3, 4, 4][random.index(6)];
        let is_kept = |random: &mut Random| random.below(4) < odds;
        for undo in std::mem::take(&mut self.undo).into_iter().rev() {
            if is_kept(random) {
                continue;
            }
            match undo {
                Undo::Overwritten(offset, old) => {
                    let end = offset + old.len();
                    if self.bytes.len() < end {
                        self.bytes.resize(end, 0);
                    }
                    self.bytes[offset..end].copy_from_slice(&old);
                }
                Undo::Cut(tail) => {
                    self.bytes.truncate(self.synced_len);
                    self.bytes.extend_from_slice(&tail);
                    self.synced_len = self.bytes.len();
                }
            }
        }
        let (synced, len) = (self.synced_len.min(self.bytes.len()), self.bytes.len());
        let kept_len = match random.below(3) {
            0 => synced,
            1 => len,
            _ => synced + random.index(len - synced + 1),
        };
        self.bytes.truncate(kept_len);
        let mut start = synced;
        while start < kept_len {
            let end = ((start / SECTOR_BYTES + 1) * SECTOR_BYTES).min(kept_len);
            if !is_kept(random) {
                self.bytes[start..end].fill(0);
            }
            start = end;
        }
        self.synced_len = self.bytes.len();
    }
}

impl Disk for SimDisk {
    type File = SimFile;

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(lock(&self.state).names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<SimFile> {
        let mut state = lock(&self.state);
        state.call()?;
        if state.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.inode_next += 1;
        let inode = state.inode_next;
        state.inodes.insert(inode, Inode::default());
        state.names.insert(name.to_owned(), inode);
        state.unsynced.push(NameChange::Set(name.to_owned(), inode));
        drop(state);
        Ok(self.file(inode))
    }

    fn open(&self, name: &str, _access: Access) -> io::Result<SimFile> {
        let inode = lock(&self.state).names.get(name).copied();
        inode
            .map(|inode| self.file(inode))
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.call()?;
        let inode = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        if let Some(replaced) = state.names.insert(to.to_owned(), inode) {
            let freed = state.inodes.get(&replaced).map_or(0, |it| it.bytes.len());
            state.used -= freed as u64;
        }
        // One change, as in a journal: a power cut keeps both halves of a rename or neither.
        state.unsynced.push(NameChange::Set(to.to_owned(), inode));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.call()?;
        let inode = state.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        let freed = state.inodes.get(&inode).map_or(0, |it| it.bytes.len());
        state.used -= freed as u64;
        state.unsynced.push(NameChange::Remove(name.to_owned()));
        Ok(())
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.call()?;
        if state.is_failing {
            return Err(io::Error::other("a sync of the directory failed"));
        }
        state.unsynced.clear();
        state.synced = state.names.clone();
        Ok(())
    }

    fn space(&self) -> io::Result<Space> {
        let state = lock(&self.state);
        let total = state.capacity.unwrap_or(TOTAL_BYTES);
        Ok(Space {
            free: total.saturating_sub(state.used),
            total: TOTAL_BYTES,
        })
    }

    fn unix_millis(&self) -> UnixMillis {
        let mut state = lock(&self.state);
        state.millis += 1;
        UnixMillis(state.millis)
    }

    fn describe(&self, name: &str) -> String {
        format!("{}/{name}", lock(&self.state).name)
    }
}

impl DiskFile for SimFile {
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
        let was_dead = state.calls_left == Some(0);
        let is_dying = state.calls_left == Some(1);
        state.call()?;
        let mut count = bytes.len();
        if is_dying && !was_dead {
            // The last write of a process may get anywhere.
            count = state.random.below(count as u64 + 1) as usize;
        }
        let (used, capacity) = (state.used, state.capacity.unwrap_or(TOTAL_BYTES));
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
        let before = inode.bytes.len();
        if before < start + count {
            inode.bytes.resize(start + count, 0);
        }
        if start < inode.synced_len {
            let end = (start + count).min(inode.synced_len);
            let old = inode.bytes[start..end].to_vec();
            inode.undo.push(Undo::Overwritten(start, old));
        }
        inode.bytes[start..start + count].copy_from_slice(&bytes[..count]);
        inode.redeem(start, start + count);
        let grown = (inode.bytes.len() - before) as u64;
        state.used += grown;
        if is_dying {
            return Err(dead());
        }
        Ok(count)
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.call()?;
        let is_failing = state.is_failing;
        let inode = state.inodes.entry(self.inode).or_default();
        if is_failing {
            let (start, end) = (inode.synced_len, inode.bytes.len());
            if start < end {
                inode.doomed.push((start, end));
            }
            return Err(io::Error::other("a sync failed"));
        }
        inode.synced_len = inode.bytes.len();
        inode.undo.clear();
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.call()?;
        let len = usize::try_from(len).map_err(io::Error::other)?;
        let inode = state.inodes.entry(self.inode).or_default();
        let before = inode.bytes.len();
        if len < inode.synced_len {
            let tail = inode.bytes[len..inode.synced_len.min(before)].to_vec();
            inode.undo.push(Undo::Cut(tail));
            inode.synced_len = len;
        }
        inode.bytes.resize(len, 0);
        state.used = state.used + len as u64 - before as u64;
        Ok(())
    }

    fn byte_len(&self) -> io::Result<u64> {
        let state = lock(&self.state);
        let inode = state.inodes.get(&self.inode);
        Ok(inode.map_or(0, |inode| inode.bytes.len() as u64))
    }
}
