//! Gives a deleted segment's room back bit by bit, in the background.
//!
//! A file system frees the blocks of a file at once with its last close, and may tell the device of each (`discard`). For
//! a whole segment that takes it up to a tenth of a second, in which the writes of the log wait. So the last one who has
//! the file open cuts it in steps, and lets others go between them.
//!
//! Invariant: the file has no name any more, and nobody reads it. A crash frees the rest.

use crate::disk::{Disk, DiskFile};

/// What one step frees: as long as a step lasts, some milliseconds, a write of the log may wait.
const STEP_BYTES: u64 = 1 << 20;

/// A deleted segment whose room can be given back. To drop it gives all of it back at once.
pub struct FreeJob<D: Disk> {
    file: D::File,
    len: u64,
}

impl<D: Disk> FreeJob<D> {
    pub(crate) fn new(file: D::File) -> Self {
        let len = file.byte_len().unwrap_or_default();
        Self { file, len }
    }

    /// Frees some of it; whether there is more.
    pub fn step(&mut self) -> bool {
        let len = self.len.saturating_sub(STEP_BYTES);
        if self.file.set_len(len).is_err() {
            // The close does what is left.
            return false;
        }
        self.len = len;
        len > 0
    }
}

#[cfg(test)]
mod free_test {
    use super::*;
    use crate::MemDisk;

    #[test]
    fn file_is_cut_step_by_step() {
        let disk = MemDisk::new(1);
        let file = disk.create("a").unwrap();
        file.write_all_at(&[1], 2 * STEP_BYTES).unwrap();
        let mut job = FreeJob::<MemDisk>::new(file);
        let look = || {
            let file = disk.open("a", crate::disk::Access::Read).unwrap();
            file.byte_len().unwrap()
        };
        let mut lens = Vec::new();
        while job.step() {
            lens.push(look());
        }
        assert_eq!(lens, [STEP_BYTES + 1, 1]);
        assert_eq!(look(), 0);
    }

    #[test]
    fn step_that_fails_leaves_the_rest_to_the_close() {
        let disk = MemDisk::new(1);
        let file = disk.create("a").unwrap();
        file.write_all_at(&[1], 2 * STEP_BYTES).unwrap();
        let mut job = FreeJob::<MemDisk>::new(file);
        disk.inject(crate::Fault::SetLenFails);
        assert!(!job.step());
    }
}
