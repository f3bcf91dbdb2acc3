//! The brick's side of its log: the batch that is being built, and the operations that were
//! prepared and are not committed yet.
//!
//! In:  encoded records, each with what it does to its table; the log's progress.
//! Out: batches to append; prepared operations whose time to commit has come.
//!
//! Invariants:
//! - A batch is appended as a whole or not at all, and batches in order; so when one is refused,
//!   every later one is refused too.
//! - `newest` names, for every key with a prepared operation, the last one; a decision is always
//!   made against that (docs/decisions/0003).
//! - An operation of a `log` table commits when its batch is appended, one of an `fsync` table
//!   when its batch is synced.

use crate::effect::{Append, BatchId};
use crate::output::{Frontier, Gate};
use brickyard_table::{KeyHash, LocalPartition};
use brickyard_types::record::{self, Header, Kind};
use brickyard_types::{Op, Position, SegmentId, UnixMillis};
use hashbrown::HashMap;
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
    /// Length of the whole record, for the log's accounts; 0 for all but the first entry of a batch.
    pub(crate) key_at: u32,
    pub(crate) key_len: u16,
    pub(crate) value_at: u32,
    pub(crate) value_len: u32,
}

#[derive(Debug)]
struct Batch {
    id: BatchId,
    bytes: Arc<Vec<u8>>,
    log: Vec<Prepared>,
    fsync: Vec<Prepared>,
    position: Position,
    /// Bytes of it that count as pending: those of an `fsync` table wait for the disk until they
    /// are synced.
    counted: usize,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    batch: BatchId,
    index: u32,
    fsync: bool,
    writer: Writer,
    /// Prepared operations on this key that are not committed.
    count: u32,
}

/// A prepared operation and its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending<'a> {
    pub(crate) prepared: &'a Prepared,
    pub(crate) value: &'a [u8],
    /// What a reply that was decided against it waits for.
    pub(crate) gate: Gate,
    pub(crate) writer: Writer,
}

/// Operations ready to be applied, with the bytes that they point into.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) bytes: Arc<Vec<u8>>,
    pub(crate) position: Position,
    pub(crate) operations: Vec<Prepared>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Log {
    building: Vec<u8>,
    building_id: BatchId,
    building_log: Vec<Prepared>,
    building_fsync: Vec<Prepared>,
    building_sync: bool,
    building_only_frees: bool,
    in_flight: VecDeque<Batch>,
    newest: HashMap<KeyRef, Newest, BuildHasherDefault<KeyRefHasher>>,
    frontier: Frontier,
    pending_bytes: usize,
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
            building: Vec::new(),
            building_id: BatchId(1),
            building_log: Vec::new(),
            building_fsync: Vec::new(),
            building_sync: false,
            building_only_frees: true,
            in_flight: VecDeque::new(),
            newest: HashMap::default(),
            frontier: Frontier::default(),
            pending_bytes: 0,
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
        self.pending_bytes + self.building.len()
    }

    /// Bytes in the batch that is being built.
    #[inline]
    pub(crate) fn building_len(&self) -> usize {
        self.building.len()
    }

    /// The lowest segment that may hold operations which have not committed.
    pub(crate) fn oldest_pending_segment(&self) -> SegmentId {
        let segments = self.in_flight.iter().map(|batch| batch.position.segment);
        segments
            .filter(|segment| segment.0 > 0)
            .min()
            .unwrap_or(SegmentId(u32::MAX))
    }

    /// Whether every batch has been answered.
    pub(crate) fn is_idle(&self) -> bool {
        self.building.is_empty() && self.in_flight.is_empty()
    }

    /// The batch that a record appended now belongs to.
    pub(crate) fn building_id(&self) -> BatchId {
        self.building_id
    }

    /// What a reply waits for that was decided by an operation in the batch being built.
    #[inline]
    pub(crate) fn gate(&self, fsync: bool) -> Gate {
        gate(self.building_id, fsync)
    }

    /// Appends a record that changes no key (a clear, a horizon, one that the cleaner moves);
    /// returns its offset in the batch.
    pub(crate) fn append_bare(&mut self, header: &Header, key: &[u8], value: &[&[u8]]) -> u32 {
        let at = self.building.len() as u32;
        record::encode(&mut self.building, header, key, value);
        at
    }

    /// Prepares a put or delete of one key as a record of its own.
    #[inline]
    pub(crate) fn prepare(
        &mut self,
        key: KeyRef,
        header: &Header,
        name: &[u8],
        value: &[&[u8]],
        fsync: bool,
        writer: Writer,
    ) {
        let record_at = self.building.len();
        let len = record::encode(&mut self.building, header, name, value);
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
        };
        if header.kind != Kind::Delete {
            self.building_only_frees = false;
        }
        self.push(prepared, fsync, writer);
    }

    /// Prepares several puts and deletes of one partition as one record.
    ///
    /// `entries` are in the order of `value`'s entries, with offsets relative to `value`.
    pub(crate) fn prepare_batch(
        &mut self,
        header: &Header,
        value: &[u8],
        entries: impl Iterator<Item = Prepared>,
        fsync: bool,
        writer: Writer,
    ) {
        let record_at = self.building.len();
        let len = record::encode(&mut self.building, header, b"", &[value]);
        let base = (record_at + len - value.len()) as u32;
        self.building_only_frees = false;
        for mut prepared in entries {
            prepared.record_at = record_at as u32;
            prepared.key_at += base;
            prepared.value_at += base;
            self.push(prepared, fsync, writer);
        }
    }

    /// Prepares the clear of a partition.
    pub(crate) fn prepare_clear(&mut self, key: KeyRef, header: &Header, fsync: bool) {
        let record_at = self.append_bare(header, b"", &[]);
        let clear = Prepared {
            key,
            kind: Kind::Clear,
            op: header.op,
            raw: false,
            expires_at: None,
            record_at,
            key_at: record_at,
            key_len: 0,
            value_at: record_at,
            value_len: 0,
        };
        // Not in `newest`: it is about no key, and commands see it through their partition.
        let list = if fsync {
            &mut self.building_fsync
        } else {
            &mut self.building_log
        };
        list.push(clear);
        self.building_sync |= fsync;
    }

    #[inline]
    fn push(&mut self, prepared: Prepared, fsync: bool, writer: Writer) {
        let list = if fsync {
            &mut self.building_fsync
        } else {
            &mut self.building_log
        };
        let index = list.len() as u32;
        list.push(prepared);
        self.building_sync |= fsync;
        let newest = self.newest.entry(prepared.key).or_insert(Newest {
            batch: self.building_id,
            index,
            fsync,
            writer,
            count: 0,
        });
        newest.batch = self.building_id;
        newest.index = index;
        newest.fsync = fsync;
        newest.count += 1;
        if newest.writer != writer {
            newest.writer = Writer::MANY;
        }
    }

    /// The newest clear of a partition that has not committed, with what a reply waits for that was
    /// decided against it.
    pub(crate) fn pending_clear(
        &self,
        table: u32,
        partition: LocalPartition,
    ) -> Option<(Op, Gate)> {
        let in_flight = self.in_flight.iter().rev();
        in_flight
            .flat_map(|batch| {
                let of = |list: &'_ [Prepared], fsync| {
                    let clear = list.iter().rev().find(|it| {
                        it.kind == Kind::Clear
                            && it.key.table == table
                            && it.key.partition == partition
                    });
                    clear.map(|clear| (clear.op, gate(batch.id, fsync)))
                };
                [of(&batch.log, false), of(&batch.fsync, true)]
            })
            .flatten()
            .max_by_key(|(op, _)| *op)
    }

    /// What a reply waits for that needs everything prepared so far to have committed.
    pub(crate) fn barrier(&self) -> Gate {
        let mut gate = Gate::OPEN;
        for batch in &self.in_flight {
            gate.appended = batch.id;
            if !batch.fsync.is_empty() {
                gate.synced = batch.id;
            }
        }
        if !self.building.is_empty() {
            gate.appended = self.building_id;
            if !self.building_fsync.is_empty() {
                gate.synced = self.building_id;
            }
        }
        gate
    }

    /// Whether no key has a prepared operation.
    #[inline]
    pub(crate) fn has_no_pending(&self) -> bool {
        self.newest.is_empty()
    }

    /// The newest prepared operation on the key, if there is one.
    #[inline]
    pub(crate) fn pending(&self, key: KeyRef, name: &[u8]) -> Option<Pending<'_>> {
        if self.newest.is_empty() {
            return None;
        }
        let newest = self.newest.get(&key)?;
        let found = self.find(newest, name);
        // Two keys with one 64-bit hash are prepared at once: rare enough for a walk.
        found.or_else(|| self.walk(key, name))
    }

    fn find(&self, newest: &Newest, name: &[u8]) -> Option<Pending<'_>> {
        let (bytes, list) = self.batch(newest.batch, newest.fsync)?;
        let prepared = list.get(newest.index as usize)?;
        pending_in(
            bytes,
            prepared,
            name,
            gate(newest.batch, newest.fsync),
            newest.writer,
        )
    }

    fn batch(&self, id: BatchId, fsync: bool) -> Option<(&[u8], &[Prepared])> {
        if id == self.building_id {
            let list = if fsync {
                &self.building_fsync
            } else {
                &self.building_log
            };
            return Some((&self.building, list));
        }
        let batch = self.in_flight.get(self.index(id)?)?;
        Some((&batch.bytes, if fsync { &batch.fsync } else { &batch.log }))
    }

    /// Batches in flight are few and sorted; their numbers have gaps only after a refusal.
    fn index(&self, id: BatchId) -> Option<usize> {
        let first = self.in_flight.front()?.id;
        let guess = usize::try_from(id.0.checked_sub(first.0)?).ok()?;
        match self.in_flight.get(guess) {
            Some(batch) if batch.id == id => Some(guess),
            _ => self
                .in_flight
                .binary_search_by_key(&id, |batch| batch.id)
                .ok(),
        }
    }

    fn walk(&self, key: KeyRef, name: &[u8]) -> Option<Pending<'_>> {
        let building = [
            (
                self.building_id,
                &self.building[..],
                &self.building_log,
                false,
            ),
            (
                self.building_id,
                &self.building[..],
                &self.building_fsync,
                true,
            ),
        ];
        let in_flight = self.in_flight.iter().rev().flat_map(|batch| {
            [
                (batch.id, &batch.bytes[..], &batch.log, false),
                (batch.id, &batch.bytes[..], &batch.fsync, true),
            ]
        });
        building
            .into_iter()
            .chain(in_flight)
            .find_map(|(id, bytes, list, fsync)| {
                list.iter()
                    .rev()
                    .filter(|prepared| prepared.key == key)
                    .find_map(|prepared| {
                        pending_in(bytes, prepared, name, gate(id, fsync), Writer::MANY)
                    })
            })
    }

    /// The batch to append now, if anything was put into it.
    pub(crate) fn take_batch(&mut self) -> Option<Append> {
        if self.building.is_empty() {
            return None;
        }
        let spare = self.spare.pop().unwrap_or_default();
        let bytes = Arc::new(std::mem::replace(&mut self.building, spare));
        let spare_log = self.spare_operations.pop().unwrap_or_default();
        let spare_fsync = self.spare_operations.pop().unwrap_or_default();
        self.pending_bytes += bytes.len();
        let append = Append {
            id: self.building_id,
            bytes: Arc::clone(&bytes),
            epoch: self.epoch,
            sync: std::mem::take(&mut self.building_sync),
            frees_space: std::mem::replace(&mut self.building_only_frees, true),
        };
        self.in_flight.push_back(Batch {
            id: self.building_id,
            counted: bytes.len(),
            bytes,
            log: std::mem::replace(&mut self.building_log, spare_log),
            fsync: std::mem::replace(&mut self.building_fsync, spare_fsync),
            position: Position::NONE,
        });
        self.building_id = BatchId(self.building_id.0 + 1);
        Some(append)
    }

    /// The batch is in the log; returns its operations that commit by that.
    pub(crate) fn on_appended(&mut self, id: BatchId, position: Position) -> Option<Committed> {
        if id <= self.skipped {
            return None;
        }
        assert!(
            id > self.frontier.appended,
            "batch {} was appended twice",
            id.0
        );
        let index = self.index(id)?;
        let batch = self.in_flight.get_mut(index)?;
        batch.position = position;
        self.frontier.appended = id;
        self.written = id;
        if batch.fsync.is_empty() {
            self.pending_bytes -= std::mem::take(&mut batch.counted);
        }
        let operations = std::mem::take(&mut batch.log);
        let committed = Committed {
            bytes: Arc::clone(&batch.bytes),
            position,
            operations,
        };
        self.forget(&committed.operations);
        self.drop_done();
        // A batch that is done behind one that waits for its sync must not keep its memory.
        if let Some(done) = self
            .index(id)
            .and_then(|index| self.in_flight.get_mut(index))
            .filter(|batch| batch.fsync.is_empty())
        {
            done.bytes = Arc::default();
        }
        Some(committed)
    }

    /// Everything up to this batch is synced; returns the operations that commit by that.
    pub(crate) fn on_synced(&mut self, upto: BatchId) -> Vec<Committed> {
        let mut committed = Vec::new();
        for batch in &mut self.in_flight {
            if batch.id > upto || batch.id > self.frontier.appended {
                break;
            }
            if !batch.fsync.is_empty() {
                self.pending_bytes -= std::mem::take(&mut batch.counted);
                committed.push(Committed {
                    bytes: Arc::clone(&batch.bytes),
                    position: batch.position,
                    operations: std::mem::take(&mut batch.fsync),
                });
            }
        }
        self.frontier.synced = self.frontier.synced.max(upto.min(self.frontier.appended));
        for batch in &committed {
            self.forget(&batch.operations);
        }
        self.drop_done();
        committed
    }

    /// The log refused this batch: it, every later one and the one being built are forgotten,
    /// since the later ones may have been decided against it. Returns the forgotten operations.
    pub(crate) fn on_refused(&mut self, id: BatchId) -> Vec<Prepared> {
        let mut refused = Vec::new();
        for batch in &mut self.in_flight {
            if batch.id >= id {
                self.pending_bytes -= std::mem::take(&mut batch.counted);
                batch.bytes = Arc::new(Vec::new());
                refused.append(&mut batch.log);
                refused.append(&mut batch.fsync);
            }
        }
        self.building.clear();
        refused.append(&mut self.building_log);
        refused.append(&mut self.building_fsync);
        self.building_sync = false;
        self.building_only_frees = true;
        // Replies that waited for these batches are errors by now; what is decided from here on
        // waits for later ones.
        self.frontier.appended = self.building_id;
        self.building_id = BatchId(self.building_id.0 + 1);
        self.in_flight.retain(|batch| batch.id < id);
        self.skipped = self.frontier.appended;
        self.epoch += 1;
        self.forget(&refused);
        refused
    }

    fn forget(&mut self, operations: &[Prepared]) {
        for prepared in operations
            .iter()
            .filter(|prepared| prepared.kind != Kind::Clear)
        {
            if let hashbrown::hash_map::Entry::Occupied(mut entry) = self.newest.entry(prepared.key)
            {
                entry.get_mut().count -= 1;
                if entry.get().count == 0 {
                    entry.remove();
                }
            }
        }
    }

    /// Gives back the memory of a batch whose operations were applied.
    pub(crate) fn recycle(&mut self, committed: Committed) {
        const SPARE_BYTES_MAX: usize = 4 << 20;
        let Committed {
            bytes,
            mut operations,
            ..
        } = committed;
        if self.spare_operations.len() < 4 {
            operations.clear();
            self.spare_operations.push(operations);
        }
        if self.spare.len() < 2
            && let Ok(mut bytes) = Arc::try_unwrap(bytes)
            && bytes.capacity() <= SPARE_BYTES_MAX
        {
            bytes.clear();
            self.spare.push(bytes);
        }
    }

    fn drop_done(&mut self) {
        while let Some(batch) = self.in_flight.front()
            && batch.id <= self.frontier.appended
            && batch.log.is_empty()
            && batch.fsync.is_empty()
        {
            self.in_flight.pop_front();
        }
    }
}

#[inline]
fn gate(batch: BatchId, fsync: bool) -> Gate {
    Gate {
        appended: batch,
        synced: if fsync { batch } else { BatchId(0) },
    }
}

fn pending_in<'a>(
    bytes: &'a [u8],
    prepared: &'a Prepared,
    name: &[u8],
    gate: Gate,
    writer: Writer,
) -> Option<Pending<'a>> {
    let key_at = prepared.key_at as usize;
    let key = bytes.get(key_at..key_at + usize::from(prepared.key_len))?;
    if key != name {
        return None;
    }
    let value_at = prepared.value_at as usize;
    let value = bytes.get(value_at..value_at + prepared.value_len as usize)?;
    Some(Pending {
        prepared,
        value,
        gate,
        writer,
    })
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
