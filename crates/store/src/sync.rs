//! Makes the log durable, seals full segments and deletes cleaned ones. Used from the sync thread.
//!
//! In:  [`Rolled`] segments and positions. Out: durability; [`HintJob`]s and [`FreeJob`]s for an idle worker.
//!
//! Invariants:
//! - When [`Syncer::sync`] returned `Ok`, everything before the position survives a power cut.
//! - Segments are sealed in order, each after its records were synced: a sealed segment has no torn
//!   tail.
//! - A sync that failed is never tried again.
//!
//! Not here: writing records (`append.rs`).

use crate::append::{Full, Rolled};
use crate::disk::{Access, Disk, DiskFile, note_failed_sync};
use crate::error::Poisoned;
use crate::file_name;
use crate::free::FreeJob;
use crate::hint::HintJob;
use crate::segment::footer;
use crate::shared::Shared;
use crate::space::is_full;
use brickyard_types::{Position, SegmentId};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// See the module.
pub struct Syncer<D: Disk> {
    disk: D,
    shared: Arc<Shared>,
    active: (SegmentId, Arc<D::File>),
    full: VecDeque<Full<D::File>>,
    /// Segments at the front of `full` whose records are synced; only their footers are missing.
    synced_full: usize,
    hints: VecDeque<HintJob<D>>,
    /// Deleted segments whose room is not given back yet.
    deleted: VecDeque<FreeJob<D>>,
    is_directory_synced: bool,
}

impl<D: Disk> Syncer<D> {
    pub(crate) fn new(disk: D, shared: Arc<Shared>, active: (SegmentId, Arc<D::File>)) -> Self {
        Self {
            disk,
            shared,
            active,
            full: VecDeque::new(),
            synced_full: 0,
            hints: VecDeque::new(),
            deleted: VecDeque::new(),
            is_directory_synced: false,
        }
    }

    pub(crate) fn add_full(&mut self, full: Full<D::File>) {
        let last = self.full.back().map(|last| last.id);
        assert!(
            last < Some(full.id) && full.id < self.active.0,
            "segment {} is sealed after {last:?} and before {}",
            full.id,
            self.active.0
        );
        self.full.push_back(full);
    }

    pub(crate) fn add_hint(&mut self, job: HintJob<D>) {
        self.hints.push_back(job);
    }

    /// Takes over a segment that filled up.
    ///
    /// # Panics
    /// If it is not the one after the last (a caller bug: one was lost on the way).
    pub fn add_rolled(&mut self, rolled: Rolled<D>) {
        assert_eq!(
            rolled.full.id, self.active.0,
            "a rolled segment was lost on the way"
        );
        assert!(
            rolled.next.0 > rolled.full.id,
            "segment {} follows segment {}",
            rolled.next.0,
            rolled.full.id
        );
        self.full.push_back(rolled.full);
        self.active = rolled.next;
        self.is_directory_synced = false;
    }

    /// Makes everything before `through` durable, and seals the segments that filled up.
    ///
    /// - Time: one `fdatasync`; after a roll three more and one of the directory.
    ///
    /// # Errors
    /// [`Poisoned`]: nothing is known about what is on the disk; stop the brick.
    ///
    /// # Panics
    /// If `through` is in a segment that was not handed over by [`Self::add_rolled`] (a caller bug).
    pub fn sync(&mut self, through: Position) -> Result<(), Poisoned> {
        self.shared.check()?;
        assert!(
            through.segment <= self.active.0,
            "sync through {through} before segment {} was handed over",
            through.segment
        );
        self.sync_full()?;
        if !self.is_directory_synced {
            let synced = self.disk.sync_dir();
            self.check("sync", "", synced)?;
            self.is_directory_synced = true;
        }
        let synced = self.active.1.sync_data();
        self.check("sync", &file_name::segment(self.active.0), synced)?;
        self.shared.set_synced(through);
        assert!(
            self.synced() >= through,
            "synced through {through}, not {}",
            self.synced()
        );
        assert_eq!(
            self.synced_full,
            self.full.len(),
            "what is before the active segment is synced first"
        );
        self.seal_full()
    }

    /// Everything before this position is durable.
    #[must_use]
    pub fn synced(&self) -> Position {
        self.shared.synced()
    }

    /// A hint file that could be written, oldest first, each once. Best run on a thread that may be
    /// busy for a while; a job that is dropped only makes a restart slower.
    pub fn take_hint_job(&mut self) -> Option<HintJob<D>> {
        self.hints.pop_front()
    }

    /// A deleted segment whose room can be given back, each once. Best run on a thread that may be busy for a while; a job
    /// that is dropped gives it back at once.
    pub fn take_free_job(&mut self) -> Option<FreeJob<D>> {
        self.deleted.pop_front()
    }

    /// Deletes sealed segments and their hint files. They are gone for good when this returns; their room is given back
    /// by [`Self::take_free_job`].
    ///
    /// The caller has moved every live record and synced the copies, and nobody reads the segments any more. The segments go in the order
    /// given, which is that of the caller's decisions: a tombstone in a later one may have been dropped
    /// because an earlier one goes. File systems with a journal keep that order across a power cut.
    ///
    /// - Time: one or two `unlink` a segment and one sync of the directory for all.
    ///
    /// # Errors
    /// [`Poisoned`]: they may still be there after a restart; stop the brick.
    ///
    /// # Panics
    /// If one of them is not sealed yet (a caller bug).
    pub fn delete_segments(&mut self, segments: &[SegmentId]) -> Result<(), Poisoned> {
        self.shared.check()?;
        if segments.is_empty() {
            return Ok(());
        }
        let mut files = Vec::new();
        for &segment in segments {
            let is_open =
                segment == self.active.0 || self.full.iter().any(|full| full.id == segment);
            assert!(!is_open, "segment {segment} is deleted before it is sealed");
            assert!(
                segment < self.active.0 && segment.0 > 0,
                "segment {segment} is deleted, and {} is the active one",
                self.active.0
            );
            self.hints.retain(|job| job.segment() != segment);
            // Without it the room is given back at once.
            let file = (self.disk).open(&file_name::segment(segment), Access::ReadWrite);
            files.extend(file.ok());
            for name in [file_name::hint(segment), file_name::segment(segment)] {
                let removed = match self.disk.remove(&name) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    other => other,
                };
                self.check("delete", &name, removed)?;
            }
        }
        let synced = self.disk.sync_dir();
        self.check("sync", "", synced)?;
        // Not before: a power cut may bring back a name whose removal was not synced, and what it names must be whole.
        self.deleted.extend(files.into_iter().map(FreeJob::new));
        Ok(())
    }

    /// Syncs the records of full segments.
    fn sync_full(&mut self) -> Result<(), Poisoned> {
        while let Some(full) = self.full.get(self.synced_full) {
            let synced = full.file.sync_data();
            let name = file_name::segment(full.id);
            self.check("sync", &name, synced)?;
            self.synced_full += 1;
        }
        Ok(())
    }

    /// Writes the footers of full segments whose records are synced.
    fn seal_full(&mut self) -> Result<(), Poisoned> {
        assert!(
            self.synced_full <= self.full.len(),
            "{} of {} full segments are synced",
            self.synced_full,
            self.full.len()
        );
        while self.synced_full > 0 {
            let Some(full) = self.full.front() else {
                break;
            };
            let name = file_name::segment(full.id);
            let bytes = footer::encode(full.id, full.records_end, full.is_damaged, &full.ranges);
            let offset = u64::from(full.records_end);
            // A footer is found from the end of the file, so nothing may be left of the zeros behind the records.
            let cut = full.file.set_len(offset);
            match cut.and_then(|()| full.file.write_all_at(&bytes, offset)) {
                // A full disk only delays the seal; the next sync tries again. The part that was
                // written is overwritten then, or cut off at the next start.
                Err(error) if is_full(&error) => return Ok(()),
                written => self.check("write to", &name, written)?,
            }
            let synced = full.file.sync_data();
            self.check("sync", &name, synced)?;
            if let Some(full) = self.full.pop_front() {
                self.synced_full -= 1;
                if !full.is_damaged {
                    self.hints.push_back(HintJob::new(
                        self.disk.clone(),
                        full.id,
                        full.records_end,
                        full.ranges,
                    ));
                }
            }
        }
        Ok(())
    }

    fn check(
        &self,
        doing: &'static str,
        name: &str,
        result: io::Result<()>,
    ) -> Result<(), Poisoned> {
        result.map_err(|error| {
            note_failed_sync(&self.disk, file_name::UNSURE);
            self.shared.poison(Poisoned {
                doing,
                file: self.disk.describe(name),
                cause: error.to_string(),
            })
        })
    }
}

#[cfg(test)]
#[path = "sync_test.rs"]
mod sync_test;
