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
//! - An operation of a `log` table commits when its batch is appended, one of an `fsync` table
//!   when its batch is synced, one of a replicated partition when the replicator says so.
//! - What the replicator knows of is not forgotten by a refusal: it is appended again.
//!
//! Reading order: this file (what there is, and building a batch), `log/pending` (looking a key
//! up), `log/progress` (appended, synced, refused), `log/held` (records of replicated partitions).

mod held;
mod pending;
mod progress;

pub(crate) use held::HeldId;
pub(crate) use progress::Committed;

use crate::effect::{Append, BatchId};
use crate::output::{Frontier, Gate, Opens};
use crate::replica::PartitionHasher;
use brickyard_table::{KeyHash, LocalPartition};
use brickyard_types::record::{self, Header, Kind};
use brickyard_types::sabotage::{self, Bug};
use brickyard_types::{Instant, Op, PartitionId, Position, SegmentId, UnixMillis};
use hashbrown::HashMap;
use held::Held;
use slab::Slab;
use std::collections::VecDeque;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Which connection or brick prepared an operation; [`Writer::MANY`] when several have on one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Writer(pub(crate) u64);

impl Writer {
    /// More than one writer, or one that is no connection.
    pub(crate) const MANY: Self = Self(u64::MAX);
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
    pub(crate) raw: bool,
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

/// What makes an operation commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commits {
    /// Its batch is in the log.
    Appended,
    /// Its batch is synced.
    Synced,
    /// The partition's replicas have voted for it.
    Voted {
        /// The partition.
        partition: PartitionId,
        /// The table has a log; one of durability `memory` has none.
        is_logged: bool,
        /// Votes need a sync.
        fsync: bool,
    },
}

/// The list of a batch that an operation is in: by what makes it commit, and where its bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Log,
    Fsync,
    Replicated,
    Unlogged,
}

impl Prepared {
    /// Whether it is about one key: not a clear, nor a request that changed nothing.
    #[inline]
    pub(crate) const fn has_key(&self) -> bool {
        matches!(self.kind, Kind::Put | Kind::Delete)
    }
}

impl Commits {
    const fn class(self) -> Class {
        match self {
            Self::Appended => Class::Log,
            Self::Synced => Class::Fsync,
            Self::Voted {
                is_logged: true, ..
            } => Class::Replicated,
            Self::Voted { .. } => Class::Unlogged,
        }
    }
}

/// Prepared operations of one batch.
#[derive(Debug, Default)]
struct Lists {
    log: Vec<Prepared>,
    fsync: Vec<Prepared>,
    replicated: Vec<Prepared>,
    unlogged: Vec<Prepared>,
}

impl Lists {
    fn of(&self, class: Class) -> &Vec<Prepared> {
        match class {
            Class::Log => &self.log,
            Class::Fsync => &self.fsync,
            Class::Replicated => &self.replicated,
            Class::Unlogged => &self.unlogged,
        }
    }

    fn of_mut(&mut self, class: Class) -> &mut Vec<Prepared> {
        match class {
            Class::Log => &mut self.log,
            Class::Fsync => &mut self.fsync,
            Class::Replicated => &mut self.replicated,
            Class::Unlogged => &mut self.unlogged,
        }
    }
}

/// The batch that records are put into.
#[derive(Debug)]
struct Building {
    id: BatchId,
    bytes: Vec<u8>,
    /// Records of replicated tables without a log: kept until they commit.
    unlogged: Vec<u8>,
    lists: Lists,
    /// Records of replicated partitions that the replicator hears of when they are in the log.
    fresh: Vec<HeldId>,
    /// Records of replicated partitions that have neither committed nor been cut.
    held: Waiting,
    sync: bool,
    only_frees: bool,
}

impl Building {
    fn new(id: BatchId) -> Self {
        Self {
            id,
            bytes: Vec::new(),
            unlogged: Vec::new(),
            lists: Lists::default(),
            fresh: Vec::new(),
            held: Waiting::default(),
            sync: false,
            only_frees: true,
        }
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.unlogged.is_empty()
    }
}

/// How many records of which partitions have neither committed nor been cut.
#[derive(Debug, Default)]
struct Waiting(HashMap<PartitionId, u32, BuildHasherDefault<PartitionHasher>>);

impl Waiting {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn has(&self, partition: PartitionId) -> bool {
        self.0.contains_key(&partition)
    }

    fn add(&mut self, partition: PartitionId) {
        *self.0.entry(partition).or_insert(0) += 1;
    }

    /// Whether nothing is left.
    fn take(&mut self, partition: PartitionId) -> bool {
        if let Some(count) = self.0.get_mut(&partition) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&partition);
            }
        }
        self.0.is_empty()
    }

    fn partitions(&self) -> impl Iterator<Item = PartitionId> {
        self.0.keys().copied()
    }
}

/// A batch that is on its way to the log, or whose operations have not all committed.
#[derive(Debug)]
struct Batch {
    id: BatchId,
    bytes: Arc<Vec<u8>>,
    unlogged: Vec<u8>,
    lists: Lists,
    fresh: Vec<HeldId>,
    held: Waiting,
    made_at: Instant,
    /// Its clients were told that nobody knows: nobody waits for its replicated operations any more.
    is_given_up: bool,
    /// The log has answered: its bytes are there, or never will be.
    is_answered: bool,
    position: Position,
    /// Bytes of it that count as pending: those of an `fsync` table wait for the disk until they
    /// are synced.
    counted: usize,
}

impl Batch {
    /// Whether nothing of it waits for anything.
    fn is_done(&self) -> bool {
        self.is_answered
            && self.held.is_empty()
            && self.lists.log.is_empty()
            && self.lists.fsync.is_empty()
    }
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    batch: BatchId,
    index: u32,
    class: Class,
    writer: Writer,
    /// Prepared operations on this key that are not committed.
    count: u32,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Log {
    building: Building,
    in_flight: VecDeque<Batch>,
    newest: HashMap<KeyRef, Newest, BuildHasherDefault<KeyRefHasher>>,
    held: Slab<Held>,
    frontier: Frontier,
    pending_bytes: usize,
    /// Bytes of records of replicated partitions that have neither committed nor been cut.
    held_bytes: usize,
    spare: Vec<Vec<u8>>,
    spare_operations: Vec<Vec<Prepared>>,
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
            held: Slab::new(),
            frontier: Frontier::default(),
            pending_bytes: 0,
            held_bytes: 0,
            spare: Vec::new(),
            spare_operations: Vec::new(),
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

    /// The last batch that is in the log. (The frontier also passes batches that were refused.)
    pub(crate) fn written(&self) -> BatchId {
        self.written
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
        if sabotage::is(Bug::PendingCleaned) {
            return SegmentId(u32::MAX);
        }
        let segments = self.in_flight.iter().map(|batch| batch.position.segment);
        segments
            .filter(|segment| segment.0 > 0)
            .min()
            .unwrap_or(SegmentId(u32::MAX))
    }

    /// Whether the log has answered for everything that was given to it.
    pub(crate) fn is_idle(&self) -> bool {
        let is_settled = |batch: &Batch| {
            batch.is_answered && batch.lists.log.is_empty() && batch.lists.fsync.is_empty()
        };
        self.building.is_empty() && self.in_flight.iter().all(is_settled)
    }

    /// Whether the replicator has heard of every record of its partitions that was prepared here.
    pub(crate) fn is_handed_over(&self) -> bool {
        self.building.fresh.is_empty() && self.in_flight.iter().all(|it| it.fresh.is_empty())
    }

    pub(crate) fn leftovers(&self) -> String {
        let is_empty = self.held.is_empty() && self.newest.is_empty() && self.in_flight.len() < 3;
        if is_empty {
            return String::new();
        }
        let (held, newest) = (&self.held, &self.newest);
        format!(
            "held {held:?} newest {newest:?} batches {}",
            self.in_flight.len()
        )
    }

    /// The batch that a record appended now belongs to.
    pub(crate) fn building_id(&self) -> BatchId {
        self.building.id
    }

    /// What a reply waits for that was decided by an operation in the batch being built.
    #[inline]
    pub(crate) fn gate(&self, commits: Commits) -> Gate {
        let batch = self.building.id;
        match commits {
            Commits::Appended => gate(batch, Class::Log, Gate::MANY),
            Commits::Synced => gate(batch, Class::Fsync, Gate::MANY),
            Commits::Voted { .. } if sabotage::is(Bug::AnsweredBeforeCommit) => Gate::OPEN,
            Commits::Voted { partition, .. } => gate(batch, Class::Replicated, partition),
        }
    }

    /// What a reply waits for that rests on anything of a replicated partition that is pending. Its operations
    /// commit in order, so it is enough to wait for the last.
    pub(crate) fn gate_of(&self, partition: PartitionId) -> Gate {
        let in_flight = self.in_flight.iter().rev();
        let newest = if self.building.held.has(partition) {
            Some(self.building.id)
        } else {
            let mut waiting = in_flight.filter(|batch| batch.held.has(partition));
            waiting.next().map(|batch| batch.id)
        };
        newest.map_or(Gate::OPEN, |batch| {
            gate(batch, Class::Replicated, partition)
        })
    }

    /// Appends a record that changes no key (a clear, a horizon, one that the cleaner moves);
    /// returns its offset in the batch.
    pub(crate) fn append_bare(&mut self, header: &Header, key: &[u8], value: &[&[u8]]) -> u32 {
        let at = self.building.bytes.len() as u32;
        record::encode(&mut self.building.bytes, header, key, value);
        at
    }

    /// Appends a record that says nothing but that a request was executed.
    pub(crate) fn append_id(&mut self, header: &Header, outcome: Option<&[u8]>) {
        record::encode_with(&mut self.building.bytes, header, outcome, b"", &[]);
    }

    /// Prepares a put or delete of one key as a record of its own. A replicated one without a log is
    /// returned: the replicator is to hear of it at once.
    #[inline]
    pub(crate) fn prepare(
        &mut self,
        key: KeyRef,
        header: &Header,
        name: &[u8],
        value: &[&[u8]],
        outcome: Option<&[u8]>,
        (commits, writer): (Commits, Writer),
    ) -> Option<HeldId> {
        let class = commits.class();
        let buffer = self.building.buffer_mut(class);
        let record_at = buffer.len();
        let len = record::encode_with(buffer, header, outcome, name, value);
        let end = record_at + len;
        let value_len: usize = value.iter().map(|piece| piece.len()).sum();
        let prepared = Prepared {
            key,
            kind: header.kind,
            op: header.op,
            raw: header.flags & record::flag::RAW != 0,
            expires_at: header.expires_at,
            record_at: record_at as u32,
            key_at: (end - value_len - name.len()) as u32,
            key_len: name.len() as u16,
            value_at: (end - value_len) as u32,
            value_len: value_len as u32,
            is_void: false,
        };
        if header.kind != Kind::Delete {
            self.building.only_frees = false;
        }
        self.push(prepared, class, writer);
        self.hold(commits, record_at, len, 1)
    }

    /// Prepares several puts and deletes of one partition as one record; as [`Self::prepare`].
    ///
    /// `entries` are in the order of `value`'s entries, with offsets relative to `value`.
    pub(crate) fn prepare_batch(
        &mut self,
        header: &Header,
        value: &[u8],
        outcome: Option<&[u8]>,
        entries: impl Iterator<Item = Prepared>,
        commits: Commits,
        writer: Writer,
    ) -> Option<HeldId> {
        let class = commits.class();
        let buffer = self.building.buffer_mut(class);
        let record_at = buffer.len();
        let len = record::encode_with(buffer, header, outcome, b"", &[value]);
        let base = (record_at + len - value.len()) as u32;
        self.building.only_frees = false;
        let mut count = 0;
        for mut prepared in entries {
            prepared.record_at = record_at as u32;
            prepared.key_at += base;
            prepared.value_at += base;
            self.push(prepared, class, writer);
            count += 1;
        }
        self.hold(commits, record_at, len, count)
    }

    /// Prepares the clear of a partition; as [`Self::prepare`].
    pub(crate) fn prepare_clear(
        &mut self,
        key: KeyRef,
        header: &Header,
        commits: Commits,
    ) -> Option<HeldId> {
        let class = commits.class();
        let buffer = self.building.buffer_mut(class);
        let record_at = buffer.len();
        let len = record::encode(buffer, header, b"", &[]);
        self.push_keyless(key, header.kind, header.op, record_at, class);
        self.hold(commits, record_at, len, 1)
    }

    /// Prepares a record that says nothing but that a request was executed; as [`Self::prepare`]. `key` names
    /// the partition.
    pub(crate) fn prepare_id(
        &mut self,
        key: KeyRef,
        header: &Header,
        outcome: Option<&[u8]>,
        commits: Commits,
    ) -> Option<HeldId> {
        let class = commits.class();
        let buffer = self.building.buffer_mut(class);
        let record_at = buffer.len();
        let len = record::encode_with(buffer, header, outcome, b"", &[]);
        self.push_keyless(key, header.kind, header.op, record_at, class);
        self.hold(commits, record_at, len, 1)
    }

    /// A clear, or a request that changed nothing, is not in `newest`: it is about no key, and commands see it
    /// through their partition.
    fn push_keyless(&mut self, key: KeyRef, kind: Kind, op: Op, record_at: usize, class: Class) {
        let at = record_at as u32;
        self.building.lists.of_mut(class).push(Prepared {
            key,
            kind,
            op,
            raw: false,
            expires_at: None,
            record_at: at,
            key_at: at,
            key_len: 0,
            value_at: at,
            value_len: 0,
            is_void: false,
        });
        self.building.sync |= class == Class::Fsync;
    }

    #[inline]
    fn push(&mut self, prepared: Prepared, class: Class, writer: Writer) {
        let list = self.building.lists.of_mut(class);
        let index = list.len() as u32;
        list.push(prepared);
        self.building.sync |= class == Class::Fsync;
        let batch = self.building.id;
        let newest = self.newest.entry(prepared.key).or_insert(Newest {
            batch,
            index,
            class,
            writer,
            count: 0,
        });
        newest.batch = batch;
        newest.index = index;
        newest.class = class;
        newest.count += 1;
        if newest.writer != writer {
            newest.writer = Writer::MANY;
        }
    }

    /// What a reply waits for that needs everything prepared so far to have committed.
    pub(crate) fn barrier(&self) -> Gate {
        let mut sum = Gate::OPEN;
        let mut add = |id: BatchId, lists: &Lists, has_log: bool, is_held: bool| {
            if has_log {
                sum = sum.and(gate(id, Class::Log, Gate::MANY));
            }
            if !lists.fsync.is_empty() {
                sum = sum.and(gate(id, Class::Fsync, Gate::MANY));
            }
            if is_held {
                sum = sum.and(gate(id, Class::Replicated, Gate::MANY));
            }
        };
        for batch in &self.in_flight {
            let has_log = !batch.is_answered || !batch.lists.fsync.is_empty();
            let is_held = !batch.is_given_up && !batch.held.is_empty();
            add(batch.id, &batch.lists, has_log, is_held);
        }
        let building = &self.building;
        let has_log = !building.bytes.is_empty();
        add(
            building.id,
            &building.lists,
            has_log,
            !building.held.is_empty(),
        );
        sum
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
                log: self.spare_operations.pop().unwrap_or_default(),
                fsync: self.spare_operations.pop().unwrap_or_default(),
                replicated: self.spare_operations.pop().unwrap_or_default(),
                unlogged: Vec::new(),
            },
            ..Building::new(BatchId(self.building.id.0 + 1))
        };
        let built = std::mem::replace(&mut self.building, next);
        let bytes = Arc::new(built.bytes);
        let append = (!bytes.is_empty()).then(|| Append {
            id: built.id,
            bytes: Arc::clone(&bytes),
            epoch: self.epoch,
            sync: built.sync,
            frees_space: built.only_frees,
        });
        self.pending_bytes += bytes.len();
        self.in_flight.push_back(Batch {
            id: built.id,
            counted: bytes.len(),
            bytes,
            unlogged: built.unlogged,
            lists: built.lists,
            fresh: built.fresh,
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

impl Opens for Log {
    /// As the frontier says; and of one partition exactly: one that waits for a replica does not hold up the
    /// others.
    #[inline]
    fn opens(&self, gate: Gate) -> bool {
        if self.frontier.opens(gate) {
            return true;
        }
        let is_written =
            gate.appended <= self.frontier.appended && gate.synced <= self.frontier.synced;
        is_written && gate.partition != Gate::MANY && !self.waits(gate.replicated, gate.partition)
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

impl Building {
    fn buffer_mut(&mut self, class: Class) -> &mut Vec<u8> {
        match class {
            Class::Unlogged => &mut self.unlogged,
            _ => &mut self.bytes,
        }
    }
}

#[inline]
fn gate(batch: BatchId, class: Class, partition: PartitionId) -> Gate {
    match class {
        Class::Log => Gate {
            appended: batch,
            ..Gate::OPEN
        },
        Class::Fsync => Gate {
            appended: batch,
            synced: batch,
            ..Gate::OPEN
        },
        Class::Replicated | Class::Unlogged => Gate {
            replicated: batch,
            partition,
            ..Gate::OPEN
        },
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
