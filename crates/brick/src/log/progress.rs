//! What the log has done with its batches: appended, synced, refused.

use super::held::Committing;
use super::{Batch, Building, Log, Prepared};
use crate::append::BatchId;
use brickyard_table::LocalPartition;
use brickyard_types::{Instant, PartitionId, Position};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Operations ready to be applied, with the bytes that they point into.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) bytes: Arc<Vec<u8>>,
    pub(crate) position: Position,
    pub(crate) operations: Vec<Prepared>,
}

/// What a refusal of the log has undone.
#[derive(Debug)]
pub(crate) struct Refused {
    /// Operations that will never be.
    pub(crate) operations: Vec<Prepared>,
    /// The partitions of some of them.
    pub(crate) partitions: BTreeSet<PartitionId>,
}

impl Log {
    /// The batch is in the log; returns its operations that are applied by that.
    pub(crate) fn on_appended(&mut self, id: BatchId, position: Position) -> Option<Committed> {
        if id <= self.skipped {
            return None;
        }
        assert!(
            id > self.frontier.appended,
            "batch {} was appended twice",
            id.0
        );
        assert!(
            id < self.building.id,
            "batch {} was appended before it was made",
            id.0
        );
        assert!(
            position.segment.0 > 0,
            "batch {} was appended nowhere",
            id.0
        );
        let index = self.index(id)?;
        let batch = self.in_flight.get_mut(index)?;
        assert!(
            batch.id == id && !batch.is_answered,
            "batch {} was answered before: {batch:?}",
            id.0
        );
        batch.position = position;
        batch.is_answered = true;
        self.frontier.appended = id;
        self.written = id;
        if !batch.waits_for_sync {
            let counted = std::mem::take(&mut batch.counted);
            uncount(&mut self.pending_bytes, counted);
        }
        let operations = std::mem::take(&mut batch.lists.copied);
        let committed = Committed {
            bytes: Arc::clone(&batch.bytes),
            position,
            operations,
        };
        self.forget(&committed.operations);
        self.drop_done(index);
        Some(committed)
    }

    /// The operations of what commits, if that is all that a batch in flight has ever had: they are in order as they are, and
    /// nobody has to be asked which. Then comes [`Self::release_whole`].
    pub(crate) fn take_whole(&mut self, committing: &[Committing]) -> Option<Committed> {
        let id = committing.first()?.run.batch;
        let index = self.index(id)?;
        let batch = &mut self.in_flight[index];
        let is_all = |it: &Committing| it.is_all && it.run.batch == id && it.run.origin() == id;
        let records: u32 = committing.iter().map(|it| it.run.len()).sum();
        if !committing.iter().all(is_all)
            || records as usize != batch.records.len()
            || !batch.lists.unlogged.is_empty()
        {
            return None;
        }
        assert_eq!(
            committing.len(),
            batch.held.count(),
            "runs of all {records} records of batch {id:?}"
        );
        Some(Committed {
            bytes: Arc::clone(&batch.bytes),
            position: batch.position,
            operations: std::mem::take(&mut batch.lists.logged),
        })
    }

    /// All that the batch of these runs has has committed, and was applied.
    pub(crate) fn release_whole(&mut self, committing: &[Committing], committed: Committed) {
        self.forget(&committed.operations);
        let index = committing.first().and_then(|it| self.index(it.run.batch));
        let index = index.expect("a batch stays while something of it waits");
        let batch = &mut self.in_flight[index];
        let bytes: usize = batch.records.iter().map(|held| held.len as usize).sum();
        batch.records.clear();
        batch.held.clear();
        batch.lists.logged = committed.operations;
        batch.lists.logged.clear();
        self.held_bytes -= bytes;
        self.frontier.settled += 1;
        // Or its buffer would not be the batch's alone, and not be kept.
        drop(committed.bytes);
        self.drop_done(index);
    }

    /// Everything up to this batch is synced.
    pub(crate) fn on_synced(&mut self, upto: BatchId) {
        assert!(
            upto < self.building.id,
            "batch {} was synced before it was made",
            upto.0
        );
        let upto = upto.min(self.frontier.appended);
        self.frontier.synced = self.frontier.synced.max(upto);
        for index in (0..self.in_flight.len()).rev() {
            let batch = &mut self.in_flight[index];
            if batch.id <= upto && batch.counted > 0 {
                assert!(
                    batch.is_answered,
                    "batch {} was synced before it was appended",
                    batch.id.0
                );
                let counted = std::mem::take(&mut batch.counted);
                uncount(&mut self.pending_bytes, counted);
                self.drop_done(index);
            }
        }
    }

    /// The log refused this batch: it, every later one and the one being built are forgotten, since the
    /// later ones may have been decided against it. Records that the replicator knows of stay: they are
    /// appended again when it says so.
    pub(crate) fn on_refused(&mut self, id: BatchId) -> Refused {
        assert!(
            id <= self.building.id,
            "batch {} was refused before it was made",
            id.0
        );
        let next = Building::new(BatchId(self.building.id.0 + 1));
        let built = std::mem::replace(&mut self.building, next);
        // Replies that waited for these batches are errors by now; what is decided from here on
        // waits for later ones.
        self.frontier.appended = built.id;
        self.skipped = built.id;
        self.epoch += 1;
        self.in_flight.push_back(Batch {
            id: built.id,
            counted: 0,
            waits_for_sync: false,
            bytes: Arc::new(built.bytes),
            unlogged: built.unlogged,
            lists: built.lists,
            records: built.records,
            held: built.held,
            made_at: Instant(0),
            is_given_up: false,
            is_answered: true,
            position: Position::NONE,
        });
        let mut operations = Vec::new();
        let mut unsubmitted = Vec::new();
        for batch in self.in_flight.iter_mut().filter(|batch| batch.id >= id) {
            let counted = std::mem::take(&mut batch.counted);
            uncount(&mut self.pending_bytes, counted);
            batch.is_answered = true;
            operations.append(&mut batch.lists.copied);
            unsubmitted.append(&mut batch.held.unsubmitted);
        }
        self.forget(&operations);
        let partitions = unsubmitted.iter().map(|(partition, _)| *partition);
        let partitions = partitions.collect();
        let gone = unsubmitted.into_iter();
        operations.extend(
            self.undo(gone.map(|(partition, run)| Committing::unsubmitted(partition, run))),
        );
        for index in (0..self.in_flight.len()).rev() {
            self.drop_done(index);
        }
        self.advance_committed();
        Refused {
            operations,
            partitions,
        }
    }

    /// A partition is gone from a table, and its number may be given to another: what is on its way to the
    /// log, and is applied by that alone, does nothing any more.
    pub(crate) fn disown(&mut self, table: u32, partition: LocalPartition) {
        let batches = self.in_flight.iter_mut().map(|batch| &mut batch.lists);
        for lists in batches.chain([&mut self.building.lists]) {
            for prepared in &mut lists.copied {
                prepared.is_void |=
                    prepared.key.table == table && prepared.key.partition == partition;
            }
        }
    }

    /// Whether something of a partition is on its way to the log that is applied by that alone.
    pub(crate) fn concerns(&self, table: u32, partition: LocalPartition) -> bool {
        let batches = self.in_flight.iter().map(|batch| &batch.lists);
        let mut waiting = batches
            .chain([&self.building.lists])
            .flat_map(|lists| &lists.copied);
        waiting.any(|it| it.key.table == table && it.key.partition == partition)
    }

    pub(super) fn forget(&mut self, operations: &[Prepared]) {
        for prepared in operations.iter().filter(|prepared| prepared.has_key()) {
            self.forget_one(prepared);
        }
    }

    /// The operation is not prepared any more.
    #[inline]
    pub(crate) fn forget_one(&mut self, prepared: &Prepared) {
        let key = prepared.key;
        self.prepared.bytes[key.table as usize] -= prepared.memory();
        assert!(
            !prepared.is_intent() || self.prepared.intents > 0,
            "an intent of {key:?} was not counted"
        );
        self.prepared.intents -= usize::from(prepared.is_intent());
        assert!(
            !prepared.is_hash() || self.prepared.hashes > 0,
            "a hash at {key:?} was not counted"
        );
        self.prepared.hashes -= usize::from(prepared.is_hash());
        if let hashbrown::hash_map::Entry::Occupied(mut entry) = self.newest.entry(key) {
            let count = &mut entry.get_mut().count;
            assert!(*count > 0, "{key:?} has no prepared operation");
            *count -= 1;
            if entry.get().count == 0 {
                entry.remove();
            }
        }
    }

    /// Lets go of a batch if nothing waits for it, also behind one for which something does: a partition
    /// whose replicas are away for hours must not keep all that came later.
    pub(super) fn drop_done(&mut self, index: usize) {
        if self.in_flight.get(index).is_some_and(Batch::is_done)
            && let Some(batch) = self.in_flight.remove(index)
        {
            self.reuse(batch);
        }
        self.advance_committed();
    }

    /// Keeps the memory of a batch that is done for the next ones.
    fn reuse(&mut self, batch: Batch) {
        const SPARE_BYTES_MAX: usize = 4 << 20;
        keep(&mut self.spare_records, batch.records);
        keep(&mut self.spare_operations, batch.lists.logged);
        if self.spare_held.len() < SPARES_MAX {
            self.spare_held.push(batch.held);
        }
        if let Ok(bytes) = Arc::try_unwrap(batch.bytes)
            && bytes.capacity() <= SPARE_BYTES_MAX
        {
            keep(&mut self.spare, bytes);
        }
    }

    /// Finds out which commit dependencies are met.
    pub(super) fn advance_committed(&mut self) {
        let waits = |batch: &&Batch| !batch.held.is_empty() && !batch.is_given_up;
        let first = self.in_flight.iter().find(waits);
        let first = first.map_or(self.building.id, |batch| batch.id);
        self.frontier.committed = BatchId(first.0 - 1);
    }

    /// Gives up on operations of batches made before `before`, whose clients have waited too long: returns
    /// which partitions' in which batches. The operations may commit yet.
    pub(crate) fn give_up(&mut self, before: Instant) -> Vec<(PartitionId, BatchId)> {
        let mut given_up = Vec::new();
        for batch in &mut self.in_flight {
            if !batch.held.is_empty() && !batch.is_given_up && batch.made_at <= before {
                batch.is_given_up = true;
                given_up.extend(batch.held.partitions().map(|it| (it, batch.id)));
            }
        }
        if !given_up.is_empty() {
            self.frontier.settled += 1;
            self.advance_committed();
        }
        given_up
    }
}

/// Buffers of one kind that are kept.
const SPARES_MAX: usize = 3;

/// Keeps an empty buffer, if it is one of few.
fn keep<T>(spare: &mut Vec<Vec<T>>, mut buffer: Vec<T>) {
    if buffer.capacity() > 0 && spare.len() < SPARES_MAX {
        buffer.clear();
        spare.push(buffer);
    }
}

/// So many bytes do not wait for the disk any more.
fn uncount(pending: &mut usize, bytes: usize) {
    assert!(
        *pending >= bytes,
        "{bytes} bytes of a batch, and {pending} of all, wait for the disk"
    );
    *pending -= bytes;
}
