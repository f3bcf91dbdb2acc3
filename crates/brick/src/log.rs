//! The brick's side of its log: the batch that is being built, and the operations that were
//! prepared and are not committed yet.
//!
//! In:  encoded records, each with what it does to its table; the log's progress; the replicator's
//!      decisions. Out: batches to append; prepared operations whose time to commit has come.
//!
//! Invariants:
//! - A batch is appended as a whole or not at all, and batches in order; so when one is refused,
//!   every later one is refused too.
//! - `newest` names, for every key with a prepared operation, the last one; a decision is always
//!   made against that (docs/decisions/0003).
//! - An operation commits when the replicator says so, also where there is one replica; one that was copied has
//!   committed elsewhere, and is applied when the log has it.
//! - What the replicator knows of is not forgotten by a refusal: it is appended again.
//!
//! Reading order: this file (what there is), `log/batch` and `log/prepare` (building a batch), `log/pending`
//! (looking a key up), `log/progress` (appended, synced, refused), `log/held` (records that commit by votes).

mod batch;
mod held;
mod pending;
mod prepare;
mod progress;

pub(crate) use held::{Committing, CommittingOperation, RecordIndex, Uncommitted};
pub(crate) use progress::Committed;

use crate::accepted::ConnectionId;
use crate::append::{Append, BatchId};
use crate::output::{CommitDependency, Frontier, Meets};
use batch::{Batch, Building, Lists, Waiting};
use brickyard_routing::Member;
use brickyard_table::{KeyHash, LocalPartition};
use brickyard_types::record::Kind;
use brickyard_types::{Instant, Op, PartitionId, Position, SegmentId, UnixMillis, ValueType};
use hashbrown::HashMap;
use held::Held;
use std::collections::VecDeque;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Which connection or brick prepared an operation; [`Writer::MANY`] when several have on one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Writer(pub(crate) u64);

impl Writer {
    /// More than one writer, or one that is no connection.
    pub(crate) const MANY: Self = Self(u64::MAX);

    /// Who prepares what a connection of some brick writes.
    pub(crate) fn of(member: Member, connection: ConnectionId) -> Self {
        let node = u64::from(member.node.0) << 44;
        Self(node | u64::from(member.brick.0) << 32 | u64::from(connection.0))
    }
}

/// A key of some table on this brick. The hash is already strong; equal hashes of different keys
/// are told apart by their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KeyRef {
    pub(crate) table: u32,
    pub(crate) partition: LocalPartition,
    pub(crate) hash: KeyHash,
}

/// What one put or delete does when it commits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prepared {
    pub(crate) key: KeyRef,
    pub(crate) kind: Kind,
    pub(crate) op: Op,
    pub(crate) value_type: ValueType,
    pub(crate) expires_at: Option<UnixMillis>,
    /// Start of the record in its batch.
    pub(crate) record_at: u32,
    pub(crate) key_at: u32,
    pub(crate) key_len: u16,
    pub(crate) value_at: u32,
    pub(crate) value_len: u32,
    /// Its partition was dropped meanwhile: it does nothing any more.
    pub(crate) is_void: bool,
}

/// What an operation commits by: the votes of its partition's replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Votes {
    pub(crate) partition: PartitionId,
    /// The table has a log; one of durability `memory` has none.
    pub(crate) is_logged: bool,
    /// They need a sync.
    pub(crate) fsync: bool,
}

/// The list of a batch that an operation is in: by what it commits by, and where its bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// It has committed elsewhere, and is applied when the log has it.
    Copied,
    Logged,
    Unlogged,
}

impl Prepared {
    /// Whether it is about one key: not a clear, nor a request that changed nothing.
    #[inline]
    pub(crate) const fn has_key(&self) -> bool {
        matches!(self.kind, Kind::Put | Kind::Delete)
    }

    /// Whether it makes a key a hash, or keeps a part of one.
    #[inline]
    pub(crate) fn is_hash(&self) -> bool {
        self.kind == Kind::Put && self.value_type == ValueType::Hash
    }

    /// Whether it gives a key an intent of a transaction.
    #[inline]
    pub(crate) fn is_intent(&self) -> bool {
        self.kind == Kind::Put && self.value_type == ValueType::Intent
    }

    /// Bytes of memory that its record will take in the table, or somewhat less.
    #[inline]
    pub(crate) const fn memory(&self) -> usize {
        const RECORD_BYTES: usize = 32;
        match self.kind {
            Kind::Put => RECORD_BYTES + self.key_len as usize + self.value_len as usize,
            _ => 0,
        }
    }
}

impl Votes {
    const fn class(self) -> Class {
        if self.is_logged {
            Class::Logged
        } else {
            Class::Unlogged
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    batch: BatchId,
    /// The batch that replies wait for which rest on it ([`held::Run::origin`]).
    origin: BatchId,
    index: u32,
    class: Class,
    writer: Writer,
    /// Prepared operations on this key that are not committed.
    count: u32,
}

/// What prepared operations come to together.
#[derive(Debug, Default)]
struct PreparedTotals {
    /// By table, the memory that they will take in it.
    bytes: Vec<usize>,
    /// How many of them are intents.
    intents: usize,
    /// How many of them make a key a hash, or keep a part of one.
    hashes: usize,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Log {
    building: Building,
    in_flight: VecDeque<Batch>,
    newest: HashMap<KeyRef, Newest, BuildHasherDefault<KeyRefHasher>>,
    frontier: Frontier,
    pending_bytes: usize,
    /// Bytes of records that have neither committed nor been cut.
    held_bytes: usize,
    /// Of the operations in `newest`.
    prepared: PreparedTotals,
    spare: Vec<Vec<u8>>,
    spare_operations: Vec<Vec<Prepared>>,
    spare_records: Vec<Vec<Held>>,
    spare_held: Vec<Waiting>,
    /// The last batch that was given to the disk.
    ordered: BatchId,
    /// The last batch that was appended.
    written: BatchId,
    /// Counts the refusals; a batch of an older epoch is refused unseen.
    epoch: u64,
    /// Batches up to this one were answered or refused: an answer that comes later is ignored.
    skipped: BatchId,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self {
            building: Building::new(BatchId(1)),
            in_flight: VecDeque::new(),
            newest: HashMap::default(),
            frontier: Frontier::default(),
            pending_bytes: 0,
            held_bytes: 0,
            prepared: PreparedTotals::default(),
            spare: Vec::new(),
            spare_operations: Vec::new(),
            spare_records: Vec::new(),
            spare_held: Vec::new(),
            ordered: BatchId(0),
            written: BatchId(0),
            epoch: 0,
            skipped: BatchId(0),
        }
    }

    /// How far the log has come.
    #[inline]
    pub(crate) fn frontier(&self) -> Frontier {
        self.frontier
    }

    /// Whether an intent is prepared.
    #[inline]
    pub(crate) const fn has_intents(&self) -> bool {
        self.prepared.intents > 0
    }

    /// Whether a hash is prepared.
    #[inline]
    pub(crate) const fn has_hashes(&self) -> bool {
        self.prepared.hashes > 0
    }

    /// The last batch that is in the log. (The frontier also passes batches that were refused.)
    pub(crate) fn written(&self) -> BatchId {
        self.written
    }

    /// The last batch that was given to the disk. (One with nothing for a log is never.)
    pub(crate) fn ordered(&self) -> BatchId {
        self.ordered
    }

    /// Bytes of prepared operations that wait for the disk.
    #[inline]
    pub(crate) fn pending_bytes(&self) -> usize {
        self.pending_bytes + self.building.bytes.len()
    }

    /// Bytes of prepared operations that wait for replicas.
    #[inline]
    pub(crate) fn bytes_held(&self) -> usize {
        self.held_bytes
    }

    /// Bytes of memory that the table will take for what is prepared, as if all of it were new.
    pub(crate) fn prepared_bytes(&self, table: usize) -> usize {
        self.prepared.bytes.get(table).copied().unwrap_or(0)
    }

    /// Whether clients were told that nobody knows of what a partition has in a batch.
    pub(crate) fn is_given_up(&self, partition: PartitionId) -> bool {
        let mut batches = self.in_flight.iter();
        batches.any(|batch| batch.is_given_up && batch.held.has(partition))
    }

    /// Bytes in the batch that is being built.
    #[inline]
    pub(crate) fn building_len(&self) -> usize {
        self.building.bytes.len() + self.building.unlogged.len()
    }

    /// The lowest segment that may hold operations which have not committed.
    pub(crate) fn oldest_pending_segment(&self) -> SegmentId {
        let segments = self.in_flight.iter().map(|batch| batch.position.segment);
        segments
            .filter(|segment| segment.0 > 0)
            .min()
            .unwrap_or(SegmentId(u32::MAX))
    }

    /// Whether the log has everything that was given to it, and has synced what waits for that.
    pub(crate) fn is_idle(&self) -> bool {
        let is_settled = |batch: &Batch| {
            batch.is_answered && batch.lists.copied.is_empty() && batch.counted == 0
        };
        self.building.is_empty() && self.in_flight.iter().all(is_settled)
    }

    /// Whether the replicator has heard of every record of its partitions that was prepared here.
    pub(crate) fn is_handed_over(&self) -> bool {
        let mut batches = self.in_flight.iter().map(|batch| &batch.held);
        self.building.held.unsubmitted.is_empty() && batches.all(|held| held.unsubmitted.is_empty())
    }

    pub(crate) fn lazy_free(&self) -> String {
        let is_empty = self.held_bytes == 0 && self.newest.is_empty() && self.in_flight.len() < 3;
        if is_empty {
            return String::new();
        }
        let (held, newest) = (self.held_bytes, &self.newest);
        format!(
            "held {held} bytes newest {newest:?} batches {}",
            self.in_flight.len()
        )
    }

    /// Whether the disk has answered to all batches up to this one.
    pub(crate) fn has_answers_to(&self, batch: BatchId) -> bool {
        let is_out = batch < self.building.id || self.building_len() == 0;
        let mut earlier = self.in_flight.iter().take_while(|it| it.id <= batch);
        is_out && earlier.all(|it| it.is_answered)
    }

    /// The batch that a record appended now belongs to.
    pub(crate) fn building_id(&self) -> BatchId {
        self.building.id
    }

    /// What a reply waits for that was decided by an operation in the batch being built.
    #[inline]
    pub(crate) fn dependency(&self, votes: Votes) -> CommitDependency {
        let batch = self.building.id;
        CommitDependency {
            appended: if votes.is_logged { batch } else { BatchId(0) },
            ..dependency(batch, votes.partition)
        }
    }

    /// What a reply waits for that rests on anything of a partition that is pending. Its operations
    /// commit in order, so it is enough to wait for the last.
    pub(crate) fn dependency_of(
        &self,
        partition: PartitionId,
        uncommitted: &Uncommitted,
    ) -> CommitDependency {
        let newest = if self.building.held.has_unsubmitted(partition) {
            Some(self.building.id)
        } else {
            let mut batches = self.in_flight.iter().rev();
            let unsubmitted = batches.find(|batch| batch.held.has_unsubmitted(partition));
            let submitted = uncommitted.submitted.back().map(held::Run::origin);
            unsubmitted.map(|batch| batch.id).or(submitted)
        };
        newest.map_or(CommitDependency::NONE, |batch| dependency(batch, partition))
    }

    /// What a reply waits for that needs everything prepared so far to have committed.
    pub(crate) fn barrier(&self) -> CommitDependency {
        let is_held = |batch: &&Batch| !batch.is_given_up && !batch.held.is_empty();
        let last = if self.building.held.is_empty() {
            self.in_flight.iter().rev().find(is_held).map(|it| it.id)
        } else {
            Some(self.building.id)
        };
        last.map_or(CommitDependency::NONE, |batch| {
            dependency(batch, CommitDependency::MANY)
        })
    }

    /// Whether no key has a prepared operation.
    #[inline]
    pub(crate) fn has_no_pending(&self) -> bool {
        self.newest.is_empty()
    }

    /// The batch to append now, if anything was put into it.
    pub(crate) fn take_batch(&mut self, now: Instant) -> Option<Append> {
        if self.building.is_empty() {
            return None;
        }
        let next = Building {
            bytes: self.spare.pop().unwrap_or_default(),
            lists: Lists {
                copied: Vec::new(),
                logged: self.spare_operations.pop().unwrap_or_default(),
                unlogged: Vec::new(),
            },
            records: self.spare_records.pop().unwrap_or_default(),
            held: self.spare_held.pop().unwrap_or_default(),
            ..Building::new(BatchId(self.building.id.0 + 1))
        };
        let built = std::mem::replace(&mut self.building, next);
        let last = self.in_flight.back().map(|batch| batch.id);
        assert!(
            last.is_none_or(|last| last < built.id),
            "batch {:?} is made behind {last:?}",
            built.id
        );
        assert!(
            built.id > self.frontier.appended && built.id > self.skipped,
            "batch {:?} was answered before it was made: {:?}",
            built.id,
            self.frontier
        );
        let bytes = Arc::new(built.bytes);
        let append = (!bytes.is_empty()).then(|| Append {
            id: built.id,
            bytes: Arc::clone(&bytes),
            epoch: self.epoch,
            sync: built.sync,
            frees_space: built.only_frees,
        });
        if append.is_some() {
            self.ordered = built.id;
        }
        self.pending_bytes += bytes.len();
        assert!(
            built.held.unsubmitted.is_empty() || append.is_some(),
            "records of a log are in batch {:?}, which has no bytes",
            built.id
        );
        self.in_flight.push_back(Batch {
            id: built.id,
            counted: bytes.len(),
            waits_for_sync: built.sync,
            bytes,
            unlogged: built.unlogged,
            lists: built.lists,
            records: built.records,
            held: built.held,
            made_at: now,
            is_given_up: false,
            is_answered: append.is_none(),
            position: Position::NONE,
        });
        if append.is_none() {
            self.drop_done(self.in_flight.len() - 1);
        }
        append
    }
}

impl Meets for Log {
    /// As the frontier says; and of one partition exactly: one that waits for a replica does not hold up the
    /// others.
    #[inline]
    fn meets(&self, dependency: CommitDependency) -> bool {
        if self.frontier.meets(dependency) {
            return true;
        }
        dependency.partition != CommitDependency::MANY
            && !self.waits(dependency.batch, dependency.partition)
    }
}

impl Log {
    /// Whether something of a partition in a batch has not committed, so that its clients wait. Operations of
    /// a partition commit in order: then nothing of earlier batches waits either.
    fn waits(&self, batch: BatchId, partition: PartitionId) -> bool {
        if batch == self.building.id {
            return self.building.held.has(partition);
        }
        let batch = self.index(batch).and_then(|at| self.in_flight.get(at));
        batch.is_some_and(|batch| !batch.is_given_up && batch.held.has(partition))
    }
}

#[inline]
fn dependency(batch: BatchId, partition: PartitionId) -> CommitDependency {
    CommitDependency {
        batch,
        partition,
        ..CommitDependency::NONE
    }
}

/// Mixes the small fields into a hash that is already strong.
#[derive(Default)]
pub(crate) struct KeyRefHasher(u64);

impl Hasher for KeyRefHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0.rotate_left(8) ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.0 ^= u64::from(value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 ^= value;
    }
}
