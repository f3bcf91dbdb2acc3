//! A batch of records and what is prepared in it: while it is built, and on its way to the log.

use super::held::{Held, Run};
use super::{Class, Prepared};
use crate::append::BatchId;
use brickyard_types::{Instant, PartitionHasher, PartitionId, Position};
use hashbrown::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

/// Prepared operations of one batch.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) copied: Vec<Prepared>,
    pub(super) logged: Vec<Prepared>,
    pub(super) unlogged: Vec<Prepared>,
}

impl Lists {
    pub(super) fn of(&self, class: Class) -> &Vec<Prepared> {
        match class {
            Class::Copied => &self.copied,
            Class::Logged => &self.logged,
            Class::Unlogged => &self.unlogged,
        }
    }

    pub(super) fn of_mut(&mut self, class: Class) -> &mut Vec<Prepared> {
        match class {
            Class::Copied => &mut self.copied,
            Class::Logged => &mut self.logged,
            Class::Unlogged => &mut self.unlogged,
        }
    }
}

/// The batch that records are put into.
#[derive(Debug)]
pub(super) struct Building {
    pub(super) id: BatchId,
    pub(super) bytes: Vec<u8>,
    /// Records of tables without a log: kept until they commit.
    pub(super) unlogged: Vec<u8>,
    pub(super) lists: Lists,
    /// Records that commit by votes.
    pub(super) records: Vec<Held>,
    pub(super) held: Waiting,
    pub(super) sync: bool,
    pub(super) only_frees: bool,
}

impl Building {
    pub(super) fn new(id: BatchId) -> Self {
        Self {
            id,
            bytes: Vec::new(),
            unlogged: Vec::new(),
            lists: Lists::default(),
            records: Vec::new(),
            held: Waiting::default(),
            sync: false,
            only_frees: true,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.unlogged.is_empty()
    }

    pub(super) fn buffer_mut(&mut self, class: Class) -> &mut Vec<u8> {
        match class {
            Class::Unlogged => &mut self.unlogged,
            _ => &mut self.bytes,
        }
    }
}

/// Runs of a batch that have neither committed nor been cut.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Those that are submitted to the replicator when they are in the log.
    pub(super) unsubmitted: Vec<(PartitionId, Run)>,
    /// How many of which partitions the replicator knows of.
    submitted: HashMap<PartitionId, u32, BuildHasherDefault<PartitionHasher>>,
    /// How many there are.
    count: u32,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) const fn count(&self) -> usize {
        self.count as usize
    }

    /// All of them are over.
    pub(super) fn clear(&mut self) {
        self.unsubmitted.clear();
        self.submitted.clear();
        self.count = 0;
    }

    /// Whether any is of this partition.
    pub(super) fn has(&self, partition: PartitionId) -> bool {
        self.submitted.contains_key(&partition) || self.has_unsubmitted(partition)
    }

    pub(super) fn has_unsubmitted(&self, partition: PartitionId) -> bool {
        self.unsubmitted.iter().any(|(of, _)| *of == partition)
    }

    /// A run of the partition that the replicator has not heard of: its place among those.
    #[inline]
    pub(super) fn begin(&mut self, partition: PartitionId, run: Run) -> u32 {
        self.count += 1;
        self.unsubmitted.push((partition, run));
        self.unsubmitted.len() as u32 - 1
    }

    /// The replicator hears of a run that it had not heard of.
    pub(super) fn submit(&mut self, partition: PartitionId) {
        *self.submitted.entry(partition).or_insert(0) += 1;
    }

    /// One that the replicator knows of from the start.
    pub(super) fn add(&mut self, partition: PartitionId) {
        self.count += 1;
        self.submit(partition);
    }

    /// A run is over. Whether nothing is left.
    pub(super) fn end(&mut self, partition: PartitionId, is_submitted: bool) -> bool {
        assert!(self.count > 0, "{partition:?} waits for nothing");
        self.count -= 1;
        if is_submitted && let Some(count) = self.submitted.get_mut(&partition) {
            assert!(*count > 0, "{partition:?} waits for nothing");
            *count -= 1;
            if *count == 0 {
                self.submitted.remove(&partition);
            }
        }
        self.count == 0
    }

    /// The partitions of all; one may come twice.
    pub(super) fn partitions(&self) -> impl Iterator<Item = PartitionId> {
        let unsubmitted = self.unsubmitted.iter().map(|(partition, _)| *partition);
        unsubmitted.chain(self.submitted.keys().copied())
    }
}

/// A batch that is on its way to the log, or whose operations have not all committed.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) id: BatchId,
    pub(super) bytes: Arc<Vec<u8>>,
    pub(super) unlogged: Vec<u8>,
    pub(super) lists: Lists,
    pub(super) records: Vec<Held>,
    pub(super) held: Waiting,
    /// Since when its clients wait, but for those who had waited before (`deadlines`).
    pub(super) made_at: Instant,
    /// Its clients were told that nobody knows: nobody waits for its replicated operations any more.
    pub(super) is_given_up: bool,
    /// The log has answered: its bytes are there, or never will be.
    pub(super) is_answered: bool,
    pub(super) position: Position,
    /// Bytes of it that count as pending: where something waits for a sync, until it is synced.
    pub(super) counted: usize,
    pub(super) waits_for_sync: bool,
}

impl Batch {
    /// Whether nothing of it waits for anything.
    pub(super) fn is_done(&self) -> bool {
        self.is_answered
            && self.held.is_empty()
            && self.lists.copied.is_empty()
            && self.counted == 0
    }
}
