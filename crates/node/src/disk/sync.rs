//! Syncs the log, and deletes segments once they are sealed.
//!
//! Not here: when to sync (`server`).

use brickyard_store::{Disk, HintJob, Poisoned, Rolled, Syncer};
use brickyard_types::{Position, SegmentId};
use std::collections::BTreeSet;

/// Segments that are deleted between two looks for something to sync: unlinking large files takes time.
const DELETES_AT_ONCE: usize = 32;

/// See the module.
pub struct Syncing<D: Disk> {
    syncer: Syncer<D>,
    /// Full segments without a footer yet: a full disk may delay it.
    unsealed: BTreeSet<SegmentId>,
    /// Segments to delete, in order, once they are sealed.
    postponed: Vec<SegmentId>,
}

impl<D: Disk> Syncing<D> {
    /// Goes on with a log, of which these segments are full and not sealed.
    #[must_use]
    pub fn new(syncer: Syncer<D>, unsealed: impl IntoIterator<Item = SegmentId>) -> Self {
        Self {
            syncer,
            unsealed: unsealed.into_iter().collect(),
            postponed: Vec::new(),
        }
    }

    /// A segment is full. To be told before any position behind it is to be synced, and before it is to be
    /// deleted.
    pub fn add_rolled(&mut self, rolled: Rolled<D>) {
        self.unsealed.insert(rolled.segment());
        self.syncer.add_rolled(rolled);
    }

    /// Makes everything before `through` durable, and seals what is full; hint files that may be written now.
    ///
    /// # Errors
    /// The log is not to be used any more.
    pub fn sync(&mut self, through: Position) -> Result<Vec<HintJob<D>>, Poisoned> {
        self.syncer.sync(through)?;
        let mut jobs = Vec::new();
        while let Some(job) = self.syncer.take_hint_job() {
            self.unsealed.remove(&job.segment());
            jobs.push(job);
        }
        Ok(jobs)
    }

    /// A segment is to be deleted as soon as that may be.
    pub fn postpone(&mut self, segment: SegmentId) {
        self.postponed.push(segment);
    }

    /// Whether something is to be deleted, now or later.
    #[must_use]
    pub fn has_deletes(&self) -> bool {
        !self.postponed.is_empty()
    }

    /// Deletes a few of the segments that are to go, with one sync; true if there are more.
    ///
    /// # Errors
    /// The log is not to be used any more.
    pub fn delete(&mut self) -> Result<bool, Poisoned> {
        // In order but for those that are not sealed yet: segments are sealed in order, so what is passed
        // over can hold nothing that a segment which goes before it has hidden.
        let mut ready = Vec::new();
        self.postponed.retain(|segment| {
            let is_ready = ready.len() < DELETES_AT_ONCE && !self.unsealed.contains(segment);
            if is_ready {
                ready.push(*segment);
            }
            !is_ready
        });
        self.syncer.delete_segments(&ready)?;
        for segment in &ready {
            tracing::debug!(segment = segment.0, "segment deleted");
        }
        Ok(ready.len() == DELETES_AT_ONCE)
    }
}
