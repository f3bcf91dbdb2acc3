//! The content of a file in memory: what a reader sees, what the disk has, and what a sync has to write.

use super::fault::Dice;
use crate::disk::SECTOR_BYTES;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Content {
    /// What a reader sees.
    bytes: Vec<u8>,
    /// What is sure to survive a power cut.
    stored: Vec<u8>,
    /// Changes since the last sync, in order. A failed sync drops the writes among them: then they can be
    /// read, and no later sync stores them.
    pending: Vec<Change>,
    /// A failed sync dropped something that can still be read.
    has_dropped: bool,
}

#[derive(Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

impl Content {
    pub(super) fn synced(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
            stored: bytes.to_vec(),
            ..Self::default()
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes that are there and that the disk has, maybe with an older value.
    pub(super) fn stored_len(&self) -> usize {
        self.stored.len().min(self.bytes.len())
    }

    pub(super) fn flip(&mut self, offset: usize, mask: u8) {
        self.bytes[offset] ^= mask;
        if let Some(byte) = self.stored.get_mut(offset) {
            *byte ^= mask;
        }
    }

    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        write(&mut self.bytes, offset, bytes);
        let bytes = bytes.to_vec();
        self.pending.push(Change::Write { offset, bytes });
    }

    pub(super) fn set_len(&mut self, len: usize) {
        self.bytes.resize(len, 0);
        self.pending.push(Change::SetLen(len));
    }

    pub(super) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            change.apply(&mut self.stored);
        }
        self.stored.resize(self.bytes.len(), 0);
    }

    /// A sync fails: the kernel forgets that what it was to write is to be written.
    pub(super) fn fail_sync(&mut self) {
        let count = self.pending.len();
        let is_cut = |change: &Change| matches!(change, Change::SetLen(_));
        self.pending.retain(is_cut);
        self.has_dropped |= self.pending.len() < count;
    }

    /// What can be read is what the disk has, and what the kernel knows to be unwritten.
    pub(super) fn drop_cache(&mut self) {
        if !std::mem::take(&mut self.has_dropped) {
            return;
        }
        let len = self.bytes.len();
        self.bytes.clone_from(&self.stored);
        for change in &self.pending {
            change.apply(&mut self.bytes);
        }
        self.bytes.resize(len, 0);
    }

    /// Keeps what is stored, and of the changes since then what the dice say.
    pub(super) fn tear(&mut self, dice: &mut Dice) {
        self.has_dropped = false;
        let lens = [self.stored.len(), self.bytes.len()];
        if self.pending.is_empty() && lens[0] == lens[1] {
            self.bytes.clone_from(&self.stored);
            return;
        }
        let changes = std::mem::take(&mut self.pending);
        // Mostly all or nothing, sometimes a mixture.
        let odds = [0, 1, 2, 3, 4, 4][dice.up_to(5)];
        let is_kept = |dice: &mut Dice| dice.up_to(3) < odds;
        // A sector is as it was at some time: now, when it was stored, or between.
        let mut reached: BTreeMap<usize, usize> = BTreeMap::new();
        for (at, change) in changes.iter().enumerate() {
            match change {
                Change::Write { offset, bytes } => {
                    for (offset, piece) in sectors(*offset, bytes) {
                        let reached =
                            reached.entry(offset / SECTOR_BYTES).or_insert_with(|| {
                                match (is_kept(dice), dice.up_to(3)) {
                                    (true, _) => changes.len(),
                                    (false, 0) => dice.up_to(changes.len()),
                                    (false, _) => 0,
                                }
                            });
                        if at < *reached {
                            write(&mut self.stored, offset, piece);
                        }
                    }
                }
                Change::SetLen(_) if is_kept(dice) => change.apply(&mut self.stored),
                Change::SetLen(_) => {}
            }
        }
        // The length may be the old one, the new one, or any between.
        let shortest = lens[0].min(lens[1]);
        let longest = lens[0].max(lens[1]).max(self.stored.len());
        let len = match dice.up_to(2) {
            2 => shortest + dice.up_to(longest - shortest),
            old_or_new => lens[old_or_new],
        };
        self.stored.resize(len, 0);
        self.bytes.clone_from(&self.stored);
    }
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => write(to, *offset, bytes),
            Self::SetLen(len) => to.resize(*len, 0),
        }
    }
}

fn write(to: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if to.len() < end {
        to.resize(end, 0);
    }
    to[offset..end].copy_from_slice(bytes);
}

/// A write in pieces of which none is in two sectors, and where each begins.
fn sectors(mut offset: usize, mut bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    std::iter::from_fn(move || {
        let room = SECTOR_BYTES - offset % SECTOR_BYTES;
        let (piece, rest) = bytes.split_at(room.min(bytes.len()));
        let begin = offset;
        (offset, bytes) = (offset + piece.len(), rest);
        (!piece.is_empty()).then_some((begin, piece))
    })
}
