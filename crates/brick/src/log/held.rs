//! Records of replicated partitions, from when they are put into a batch until they commit or are cut.
//!
//! The replicator knows each by its partition and op ([`Pending`] finds it by those); the bytes stay in their batch. A
//! record that was prepared here is handed over when the own log has it, so that a refused batch is taken back before
//! anybody else could have heard of it; one that came from a peer is known from the start.

use super::{Batch, Building, Class, Commits, KeyRef, KeyRefHasher, Log, Newest, Prepared, Writer};
use crate::append::BatchId;
use brickyard_types::record::{self, Header, Kind, Record};
use brickyard_types::{Instant, Op, PartitionHasher, PartitionId, Position};
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

/// Names such a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HeldId(u32);

/// A partition's records that the replicator knows of, with their ops, which are consecutive.
pub(crate) type Pending = VecDeque<(Op, HeldId)>;

/// The same of all partitions.
pub(super) type AllPending = HashMap<PartitionId, Pending, BuildHasherDefault<PartitionHasher>>;

/// Where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    partition: PartitionId,
    pub(super) batch: BatchId,
    at: u32,
    len: u32,
    /// Its operations in the batch's list.
    first: u32,
    count: u32,
    is_logged: bool,
    fsync: bool,
}

impl Held {
    pub(super) const fn class(&self) -> Class {
        if self.is_logged {
            Class::Replicated
        } else {
            Class::Unlogged
        }
    }
}

/// A record's operations, the bytes that they point into, and where the batch is in the log.
pub(crate) struct Operations<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) operations: &'a [Prepared],
    pub(crate) position: Position,
}

impl Log {
    /// Takes note of the record whose operations were pushed last, if it is replicated. What has a log is
    /// handed over with its batch; what has none is returned.
    #[inline]
    pub(super) fn hold(
        &mut self,
        commits: Commits,
        at: usize,
        len: usize,
        count: u32,
    ) -> Option<HeldId> {
        let Commits::Voted { is_logged, .. } = commits else {
            return None;
        };
        let id = self.insert(commits, at, len, count)?;
        if is_logged {
            self.building.fresh.push(id);
            None
        } else {
            Some(id)
        }
    }

    fn insert(&mut self, commits: Commits, at: usize, len: usize, count: u32) -> Option<HeldId> {
        let Commits::Voted {
            partition,
            is_logged,
            fsync,
        } = commits
        else {
            return None;
        };
        let end = self.building.lists.of(commits.class()).len() as u32;
        let id = self.held.insert(Held {
            partition,
            batch: self.building.id,
            at: at as u32,
            len: len as u32,
            first: end - count,
            count,
            is_logged,
            fsync,
        });
        self.building.held.add(partition);
        self.held_bytes += len;
        self.building.sync |= fsync && is_logged;
        Some(HeldId(id as u32))
    }

    /// Puts a record into the batch that the replicator knows of already: a peer's, or one of its own.
    /// `operations` have offsets relative to the record.
    pub(crate) fn hold_known(
        &mut self,
        raw: &[u8],
        operations: impl Iterator<Item = Prepared>,
        commits: Commits,
    ) -> HeldId {
        let class = commits.class();
        let buffer = self.building.buffer_mut(class);
        let at = buffer.len();
        buffer.extend_from_slice(raw);
        self.building.only_frees = false;
        let mut count = 0;
        for mut prepared in operations {
            prepared.record_at += at as u32;
            prepared.key_at += at as u32;
            prepared.value_at += at as u32;
            if prepared.kind == Kind::Clear {
                self.push_keyless(prepared.key, prepared.kind, prepared.op, at, class);
            } else {
                self.push(prepared, class, Writer::MANY);
            }
            count += 1;
        }
        self.insert(commits, at, raw.len(), count)
            .expect("only replicated records are held")
    }

    /// What is in the batch that is being built stands in the log already, where recovery has read it: it is
    /// not appended again. (Twice in the log it would look as if a part of it had been cut.)
    pub(crate) fn put_back(&mut self, position: Position, now: Instant) {
        let next = Building::new(BatchId(self.building.id.0 + 1));
        let built = std::mem::replace(&mut self.building, next);
        self.in_flight.push_back(Batch {
            id: built.id,
            bytes: Arc::new(built.bytes),
            unlogged: built.unlogged,
            lists: built.lists,
            fresh: built.fresh,
            held: built.held,
            made_at: now,
            is_given_up: false,
            is_answered: true,
            position,
            counted: 0,
        });
    }

    /// Puts a copied record into the batch: it is committed elsewhere and applied when it is in the log here.
    /// `operations` have offsets relative to the record as it came, `len` bytes long.
    pub(crate) fn append_copy(
        &mut self,
        header: &Header,
        record: &Record<'_>,
        len: usize,
        operations: impl Iterator<Item = Prepared>,
    ) {
        let at = self.building.bytes.len();
        let copied = record::encode_with(
            &mut self.building.bytes,
            header,
            record.outcome,
            record.key,
            &[record.value],
        );
        // The copy leaves out what only a record under way needs, which stands before the key.
        let shift = (at + copied) as i64 - len as i64;
        let moved = |offset: u32| (i64::from(offset) + shift) as u32;
        self.building.only_frees = false;
        for mut prepared in operations {
            prepared.record_at = at as u32;
            if prepared.kind == Kind::Clear {
                self.push_keyless(prepared.key, prepared.kind, prepared.op, at, Class::Log);
                continue;
            }
            prepared.key_at = moved(prepared.key_at);
            prepared.value_at = moved(prepared.value_at);
            self.push(prepared, Class::Log, Writer::MANY);
        }
    }

    /// Has the batch that is being built synced as soon as it is written; false if it is empty.
    pub(crate) fn sync_building(&mut self) -> bool {
        let has_bytes = !self.building.bytes.is_empty();
        self.building.sync |= has_bytes;
        has_bytes
    }

    /// Whether anything goes to the log with the batch that is being built.
    pub(crate) fn has_bytes(&self) -> bool {
        !self.building.bytes.is_empty()
    }

    /// Records that were prepared here and are in the log now, in order: the replicator is to hear of them.
    pub(crate) fn take_fresh(&mut self, id: BatchId) -> Vec<(PartitionId, HeldId)> {
        let index = self.index(id);
        let Some(batch) = index.and_then(|index| self.in_flight.get_mut(index)) else {
            return Vec::new();
        };
        let fresh = std::mem::take(&mut batch.fresh);
        fresh
            .into_iter()
            .map(|id| (self.held[id.0 as usize].partition, id))
            .collect()
    }

    /// The replicator knows of the record: it comes after those that it knows of.
    #[inline]
    pub(crate) fn add_pending(&mut self, partition: PartitionId, op: Op, id: HeldId) {
        let pending = self.pending.entry(partition).or_default();
        let follows = pending.back().is_none_or(|(last, _)| last.next() == op);
        assert!(follows, "{partition} op {op}: {pending:?}");
        pending.push_back((op, id));
    }

    /// The partition's records that the replicator knows of, to be given back with [`Self::put_pending`].
    pub(crate) fn take_pending(&mut self, partition: PartitionId) -> Pending {
        let pending = self.pending.get_mut(&partition);
        pending.map(std::mem::take).unwrap_or_default()
    }

    /// Those that are left of them.
    pub(crate) fn put_pending(&mut self, partition: PartitionId, pending: Pending) {
        self.pending.insert(partition, pending);
    }

    /// Nothing of the partition is pending, nor will be.
    pub(crate) fn drop_pending(&mut self, partition: PartitionId) {
        let gone = self.pending.remove(&partition);
        assert!(
            gone.is_none_or(|it| it.is_empty()),
            "{partition} has pending records"
        );
    }

    /// `count` of the partition's records, from op `first` on.
    pub(crate) fn pending_from(
        &self,
        partition: PartitionId,
        first: Op,
        count: usize,
    ) -> impl Iterator<Item = HeldId> + '_ {
        let pending = self.pending.get(&partition);
        let front = pending.and_then(|it| it.front()).map_or(first, |it| it.0);
        assert!(front <= first, "{partition} op {first} has committed");
        let from = (first.0 - front.0) as usize;
        let len = pending.map_or(0, VecDeque::len);
        assert!(from + count <= len, "{count} from {from} on of {len}");
        let pending = pending
            .into_iter()
            .flat_map(move |it| it.range(from..from + count));
        pending.map(|(_, id)| *id)
    }

    /// The keys of the partition's pending records up to this op.
    pub(crate) fn keys_upto(
        &self,
        partition: PartitionId,
        upto: Op,
    ) -> impl Iterator<Item = KeyRef> {
        let pending = self.pending.get(&partition).into_iter().flatten();
        let until = pending.take_while(move |(op, _)| *op <= upto);
        let operations = until.flat_map(|(_, id)| self.operations_of(&self.held[id.0 as usize]));
        operations.filter(|it| it.has_key()).map(|it| it.key)
    }

    /// The record of this op.
    pub(crate) fn pending_at(&self, partition: PartitionId, op: Op) -> HeldId {
        let mut found = self.pending_from(partition, op, 1);
        found.next().expect("as many as were asked for")
    }

    /// The record's bytes.
    pub(crate) fn held_bytes(&self, id: HeldId) -> &[u8] {
        let held = &self.held[id.0 as usize];
        let bytes = self.batch(held.batch, held.class()).map(|(bytes, _)| bytes);
        let range = held.at as usize..(held.at + held.len) as usize;
        bytes.and_then(|bytes| bytes.get(range)).unwrap_or_default()
    }

    /// Which batch has the record.
    pub(crate) fn held_batch(&self, id: HeldId) -> BatchId {
        self.held[id.0 as usize].batch
    }

    pub(super) fn operations_of(&self, held: &Held) -> &[Prepared] {
        let list = self.batch(held.batch, held.class()).map(|(_, list)| list);
        let range = held.first as usize..(held.first + held.count) as usize;
        list.and_then(|list| list.get(range)).unwrap_or_default()
    }

    /// What the record does.
    pub(crate) fn operations(&self, id: HeldId) -> Operations<'_> {
        let held = &self.held[id.0 as usize];
        let batch = self
            .index(held.batch)
            .and_then(|index| self.in_flight.get(index));
        Operations {
            bytes: self
                .batch(held.batch, held.class())
                .map(|(bytes, _)| bytes)
                .unwrap_or_default(),
            operations: self.operations_of(held),
            position: match batch {
                Some(batch) if held.is_logged => batch.position,
                _ => Position::NONE,
            },
        }
    }

    pub(super) fn held_partition(&self, id: HeldId) -> PartitionId {
        self.held[id.0 as usize].partition
    }

    /// The record has committed and was applied.
    pub(crate) fn release(&mut self, id: HeldId) {
        let held = self.held.remove(id.0 as usize);
        for at in held.first..held.first + held.count {
            let list = self.batch(held.batch, held.class()).map(|(_, list)| list);
            let prepared = list.and_then(|list| list.get(at as usize));
            if let Some(prepared) = prepared
                && prepared.has_key()
            {
                let key = prepared.key;
                self.forget_one(key);
            }
        }
        self.held_bytes -= held.len as usize;
        self.let_go(held.batch, held.partition);
    }

    fn let_go(&mut self, id: BatchId, partition: PartitionId) {
        self.frontier.settled += 1;
        if id == self.building.id {
            self.building.held.take(partition);
            return;
        }
        let Some(index) = self.index(id) else {
            return;
        };
        if let Some(batch) = self.in_flight.get_mut(index)
            && batch.held.take(partition)
        {
            self.drop_done(index);
        }
    }

    /// The records will never commit here: returns their operations.
    pub(crate) fn undo(&mut self, ids: &[HeldId]) -> Vec<Prepared> {
        let mut all = Vec::new();
        for id in ids {
            let held = self.held.remove(id.0 as usize);
            all.extend_from_slice(self.operations_of(&held));
            self.held_bytes -= held.len as usize;
            self.let_go(held.batch, held.partition);
        }
        for prepared in all.iter().filter(|it| it.has_key()) {
            self.forget_one(prepared.key);
        }
        self.find_newest(&all);
        all
    }

    /// What was the newest operation on these keys is gone: the one before it is now.
    fn find_newest(&mut self, gone: &[Prepared]) {
        let mut left: HashMap<KeyRef, Option<(Op, Newest)>, BuildHasherDefault<KeyRefHasher>> =
            HashMap::default();
        let keys = gone.iter().filter(|it| it.has_key());
        left.extend(
            keys.filter(|it| self.newest.contains_key(&it.key))
                .map(|it| (it.key, None)),
        );
        if left.is_empty() {
            return;
        }
        for (_, held) in &self.held {
            for (prepared, index) in self.operations_of(held).iter().zip(held.first..) {
                if !prepared.has_key() {
                    continue;
                }
                if let (Some(best), Some(newest)) =
                    (left.get_mut(&prepared.key), self.newest.get(&prepared.key))
                    && best.is_none_or(|(op, best)| (op, best.batch) <= (prepared.op, held.batch))
                {
                    let newest = Newest {
                        batch: held.batch,
                        index,
                        class: held.class(),
                        ..*newest
                    };
                    *best = Some((prepared.op, newest));
                }
            }
        }
        for (key, best) in left {
            if let (Some((_, best)), Some(entry)) = (best, self.newest.get_mut(&key)) {
                *entry = best;
            }
        }
    }

    /// The log refused the record's batch, and the replicator wants it there: into the batch being built.
    pub(crate) fn append_again(&mut self, id: HeldId) -> BatchId {
        let held = self.held[id.0 as usize];
        if held.batch == self.building.id || !held.is_logged {
            return held.batch;
        }
        let raw = self.held_bytes(id).to_vec();
        let operations = self.operations_of(&held).to_vec();
        let at = self.building.bytes.len() as u32;
        let first = self.building.lists.replicated.len() as u32;
        self.building.bytes.extend_from_slice(&raw);
        for mut prepared in operations {
            prepared.record_at = prepared.record_at - held.at + at;
            prepared.key_at = prepared.key_at - held.at + at;
            prepared.value_at = prepared.value_at - held.at + at;
            let index = self.building.lists.replicated.len() as u32;
            self.building.lists.replicated.push(prepared);
            if let Some(newest) = self.newest.get_mut(&prepared.key) {
                newest.batch = self.building.id;
                newest.index = index;
                newest.class = Class::Replicated;
            }
        }
        self.building.held.add(held.partition);
        self.building.sync |= held.fsync;
        self.building.only_frees = false;
        self.held[id.0 as usize] = Held {
            batch: self.building.id,
            at,
            first,
            ..held
        };
        self.let_go(held.batch, held.partition);
        self.building.id
    }
}
