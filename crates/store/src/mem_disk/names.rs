//! The names of a directory in memory: as a reader sees them, and as a power cut may leave them.

use super::fault::Dice;
use std::collections::BTreeMap;
use std::io;

#[derive(Debug, Default)]
pub(super) struct Names {
    /// What a reader sees: which file a name is of.
    seen: BTreeMap<String, u64>,
    /// What is sure to survive a power cut.
    synced: BTreeMap<String, u64>,
    /// Changes since the last sync of the directory, in order.
    pending: Vec<Change>,
    inode_last: u64,
}

#[derive(Debug)]
enum Change {
    /// A creation or a rename, which is one change, as in a journal: a power cut keeps both halves or neither.
    Set(String, u64),
    Remove(String),
}

impl Names {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.seen.iter().map(|(name, inode)| (&name[..], *inode))
    }

    pub(super) fn find(&self, name: &str) -> Option<u64> {
        self.seen.get(name).copied()
    }

    /// Whether a file has a name.
    pub(super) fn links(&self, inode: u64) -> bool {
        self.seen.values().any(|it| *it == inode)
    }

    pub(super) fn create(&mut self, name: &str) -> u64 {
        self.inode_last += 1;
        self.set(name, self.inode_last);
        self.inode_last
    }

    fn set(&mut self, name: &str, inode: u64) {
        self.seen.insert(name.to_owned(), inode);
        self.pending.push(Change::Set(name.to_owned(), inode));
    }

    /// The file of that name, which is there for sure.
    pub(super) fn put(&mut self, name: &str) -> u64 {
        let inode = self.find(name).unwrap_or_else(|| self.create(name));
        self.synced.insert(name.to_owned(), inode);
        inode
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let inode = self.seen.remove(from).ok_or(io::ErrorKind::NotFound)?;
        self.set(to, inode);
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str) -> io::Result<()> {
        self.seen.remove(name).ok_or(io::ErrorKind::NotFound)?;
        self.pending.push(Change::Remove(name.to_owned()));
        Ok(())
    }

    pub(super) fn sync(&mut self) {
        self.pending.clear();
        self.synced.clone_from(&self.seen);
    }

    /// Changes reach the disk in order, up to some point.
    pub(super) fn tear(&mut self, dice: &mut Dice) {
        let kept = dice.up_to(self.pending.len());
        let mut names = std::mem::take(&mut self.synced);
        for change in self.pending.drain(..).take(kept) {
            match change {
                Change::Set(name, inode) => {
                    names.retain(|_, linked| *linked != inode);
                    names.insert(name, inode);
                }
                Change::Remove(name) => {
                    names.remove(&name);
                }
            }
        }
        self.synced.clone_from(&names);
        self.seen = names;
    }
}
