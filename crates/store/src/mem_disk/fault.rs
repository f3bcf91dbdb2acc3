//! What fails on a disk in memory, and when.

use crate::disk::{SECTOR_BYTES, Space};
use std::io;

/// Room on a disk that is not full.
const TOTAL_BYTES: u64 = 1 << 40;

/// What goes wrong, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Writing fails with "no space" once this many bytes are stored; a write may end half-way.
    Full {
        /// Bytes that all files together may have.
        capacity: u64,
    },
    /// Others have filled the disk: no more fits than this many bytes more than now.
    Crowded {
        /// Bytes that still fit.
        room: u64,
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
    /// the moment at which the process dies. A write may be done half-way, to the end of some sector.
    Dies {
        /// Calls that still succeed.
        after: u64,
    },
    /// The process has died: no call that changes something succeeds, not even half-way.
    Dead,
}

/// What is injected and not lifted.
#[derive(Debug, Default)]
pub(super) struct Faults {
    capacity: Option<u64>,
    /// The disk is larger, and others have the rest.
    is_crowded: bool,
    is_space_unknown: bool,
    syncs_left: Option<u64>,
    refuses_set_len: bool,
    calls_left: Option<u64>,
    is_dead: bool,
}

impl Faults {
    /// `used`: bytes of all files together.
    pub(super) fn inject(&mut self, fault: Fault, used: u64) {
        match fault {
            Fault::Full { capacity } => {
                self.capacity = Some(capacity);
                self.is_crowded = false;
            }
            Fault::Crowded { room } => {
                self.capacity = Some(used + room);
                self.is_crowded = true;
            }
            Fault::SpaceUnknown => self.is_space_unknown = true,
            Fault::SyncFails { after } => self.syncs_left = Some(after),
            Fault::SetLenFails => self.refuses_set_len = true,
            Fault::Dies { after } => self.calls_left = Some(after),
            Fault::Dead => self.is_dead = true,
        }
    }

    pub(super) fn lift(&mut self, fault: Fault) {
        match fault {
            Fault::Full { .. } | Fault::Crowded { .. } => self.capacity = None,
            Fault::SpaceUnknown => self.is_space_unknown = false,
            Fault::SyncFails { .. } => self.syncs_left = None,
            Fault::SetLenFails => self.refuses_set_len = false,
            Fault::Dies { .. } | Fault::Dead => {
                self.calls_left = None;
                self.is_dead = false;
            }
        }
    }

    pub(super) fn capacity(&self) -> Option<u64> {
        self.capacity
    }

    /// How much room there is once so much is used.
    pub(super) fn space(&self, used: u64) -> io::Result<Space> {
        if self.is_space_unknown {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let capacity = self.capacity.unwrap_or(TOTAL_BYTES);
        Ok(Space {
            free: capacity.saturating_sub(used),
            total: if self.is_crowded {
                TOTAL_BYTES
            } else {
                capacity
            },
        })
    }

    pub(super) fn refuses_set_len(&self) -> bool {
        self.refuses_set_len
    }

    /// Counts a call that changes something; an error if the process is dead by now.
    pub(super) fn call(&mut self) -> io::Result<()> {
        self.is_dead |= !counts_down(&mut self.calls_left);
        if self.is_dead { Err(dead()) } else { Ok(()) }
    }

    /// Counts a write of so many bytes: how many of them are written, and whether the process dies of it.
    pub(super) fn write(
        &mut self,
        offset: usize,
        wanted: usize,
        dice: &mut Dice,
    ) -> io::Result<(usize, bool)> {
        let was_dead = self.is_dead;
        match self.call() {
            Ok(()) => Ok((wanted, false)),
            Err(error) if was_dead => Err(error),
            // The last write of a process may get anywhere.
            Err(_) => {
                let first = offset / SECTOR_BYTES;
                let sectors = (offset + wanted).div_ceil(SECTOR_BYTES) - first;
                let reached = (first + dice.up_to(sectors)) * SECTOR_BYTES;
                Ok((reached.saturating_sub(offset).min(wanted), true))
            }
        }
    }

    /// Counts a sync; `false` if it fails.
    pub(super) fn sync_works(&mut self) -> bool {
        counts_down(&mut self.syncs_left)
    }
}

/// Whether something is left, of which there is one less now.
fn counts_down(left: &mut Option<u64>) -> bool {
    let Some(left) = left else { return true };
    let is_left = *left > 0;
    *left = left.saturating_sub(1);
    is_left
}

pub(super) fn dead() -> io::Error {
    io::Error::other("the process is dead")
}

/// What a power cut keeps and a dying process still writes: SplitMix64 (Steele, Lea & Flood, 2014).
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `most`.
    pub(super) fn up_to(&mut self, most: usize) -> usize {
        (self.next() % (most as u64 + 1)) as usize
    }
}
