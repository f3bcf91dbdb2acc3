//! How much room the disk has for a log, and who may have it.
//!
//! In:  the disk's free space, looked at now and then. Out: whether a batch may be written.
//!
//! Invariant: what only stores something never takes the reserve, from which deletes and the cleaner
//! live when the disk is full.
//!
//! Not here: what happens to a batch that the disk refuses after all (`append.rs`).

use crate::config::{LogConfig, SEGMENT_BYTES_MAX};
use crate::disk::{Disk, Space};
use crate::error::AppendError;
use crate::segment::footer::TRAILER_BYTES;
use crate::segment::header::SEGMENT_HEADER_BYTES;
use brickyard_types::record::HEADER_BYTES;
use std::io;

/// What a batch is for; decides whether it may use the reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It stores something. Refused while only the reserve is left.
    Store,
    /// It gives back space in the end: deletes, horizons, records that the cleaner moves.
    Reclaim,
}

/// Smallest size that a segment shrinks to on a small file system.
const SEGMENT_BYTES_FLOOR: u64 = 1 << 20;

/// Bytes appended between two looks at the free space, while there is plenty.
const SPACE_CHECK_BYTES: u64 = 4 << 20;

/// Whether the error says that there is no room, rather than that the disk is ill.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

/// A thirty-second of the file system, so that a nearly full one still has segments to clean.
pub(crate) fn effective_segment_bytes(config: &LogConfig, space: Space) -> u64 {
    let configured = u64::from(config.segment_bytes.min(SEGMENT_BYTES_MAX));
    let smallest = configured.min(SEGMENT_BYTES_FLOOR);
    let fitting = (space.total / 32).clamp(smallest, configured);
    assert!(
        fitting <= u64::from(SEGMENT_BYTES_MAX),
        "a segment of {fitting} bytes"
    );
    fitting.max((SEGMENT_HEADER_BYTES + HEADER_BYTES + TRAILER_BYTES) as u64)
}

/// Keeps the reserve free without asking the operating system at every append.
pub(crate) struct SpaceGuard {
    pub(crate) reserve: u64,
    /// Bytes that may be appended before the free space is checked again.
    pub(crate) budget: u64,
}

impl SpaceGuard {
    pub(crate) fn new(config: &LogConfig, space: Space) -> Self {
        Self {
            reserve: config.reserve_bytes.min(space.total / 16),
            budget: 0,
        }
    }

    #[inline]
    pub(crate) fn admit<D: Disk>(
        &mut self,
        disk: &D,
        bytes: u64,
        purpose: Purpose,
    ) -> Result<(), AppendError> {
        assert!(bytes > 0, "room is asked for something");
        if bytes <= self.budget {
            self.budget -= bytes;
            return Ok(());
        }
        self.check_free(disk, bytes, purpose)
    }

    #[cold]
    fn check_free<D: Disk>(
        &mut self,
        disk: &D,
        bytes: u64,
        purpose: Purpose,
    ) -> Result<(), AppendError> {
        self.budget = 0;
        // If the operating system does not know, the write itself will find out.
        let Ok(Space { free, .. }) = disk.space() else {
            return Ok(());
        };
        let spare = free.saturating_sub(self.reserve);
        if spare < bytes {
            return match purpose {
                Purpose::Store => Err(AppendError::DiskFull {
                    needed: bytes,
                    free,
                    reserve: self.reserve,
                }),
                Purpose::Reclaim => Ok(()),
            };
        }
        // Others use the disk too: never spend more than a quarter of what is spare unseen.
        self.budget = ((spare - bytes) / 4).min(SPACE_CHECK_BYTES);
        assert!(
            self.budget <= spare - bytes,
            "{} of {spare} spare bytes",
            self.budget
        );
        Ok(())
    }

    #[cold]
    pub(crate) fn full<D: Disk>(&mut self, disk: &D, needed: u64) -> AppendError {
        self.budget = 0;
        AppendError::DiskFull {
            needed,
            free: disk.space().map_or(0, |space| space.free),
            reserve: self.reserve,
        }
    }
}

#[cfg(test)]
#[path = "space_test.rs"]
mod space_test;
