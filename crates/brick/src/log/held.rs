//! Records that commit by votes, from when they are put into a batch until they commit or are cut.
//!
//! What a batch has of one partition is a [`Run`]: ops without a gap, whose records are linked. Runs are what the log
//! submits, commits and cuts, so that the cost of that follows the batches and not the records. The replicator knows each
//! record by its partition and op; the partition keeps its runs ([`Runs`]), the bytes stay in their batch.
//!
//! A record that was prepared here is submitted to the replicator when the own log has it, so that a refused batch is taken
//! back before anybody else could have heard of it; one that came from a peer is known from the start.

use super::{Batch, Building, Class, KeyRef, KeyRefHasher, Log, Newest, Prepared, Votes, Writer};
use crate::append::BatchId;
use brickyard_types::record::{self, Header, Kind, Record};
use brickyard_types::{Instant, Op, PartitionId, Position};
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

/// A record's place among those of the batch that is being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordIndex(u32);

/// Records of one partition with consecutive ops, in one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) batch: BatchId,
    /// The batch that replies wait for which rest on it: the first that it was in, also when the log has refused that and
    /// the run was appended again.
    origin: BatchId,
    /// The op of its first record.
    pub(crate) first: Op,
    count: u32,
    /// Its first and last record among those of the batch.
    head: u32,
    tail: u32,
}

/// Records of a partition that have neither committed nor been cut.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uncommitted {
    /// Those that the replicator knows of, from the commit position + 1 on.
    pub(crate) submitted: Runs,
    /// Those in the batch that is being built that it does not know of.
    pub(crate) unsubmitted: Unsubmitted,
}

/// Consecutive runs.
pub(crate) type Runs = VecDeque<Run>;

/// A partition's records in the batch that is being built that the replicator does not know of: a run of that batch's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unsubmitted {
    batch: BatchId,
    run: u32,
}

/// Records that commit now, from the front of a partition's runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Committing {
    partition: PartitionId,
    pub(super) run: Run,
    /// Nothing of the run is left.
    pub(super) is_all: bool,
    /// The replicator knew of it.
    is_submitted: bool,
}

/// An operation that commits now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommittingOperation {
    /// The place of its batch among those in flight, or [`BUILDING`].
    batch: u32,
    class: Class,
    index: u32,
}

/// The batch that is being built, which is behind all that are in flight.
const BUILDING: u32 = u32::MAX;

/// A record in its batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// The batch that it was in at first ([`Run::origin`]).
    origin: BatchId,
    at: u32,
    pub(super) len: u32,
    /// Its operations in the batch's list.
    first: u32,
    count: u32,
    /// The next one of its run, unless it is the last.
    next: u32,
    is_logged: bool,
    fsync: bool,
    /// It has neither committed nor been cut.
    is_waiting: bool,
}

/// Records of one batch that stand one behind the other.
#[derive(Clone, Copy, Debug)]
struct Piece {
    batch: BatchId,
    class: Class,
    start: u32,
    end: u32,
}

impl Piece {
    /// A longer one is as quick to copy as two.
    const BYTES_MAX: u32 = 64 << 10;

    const fn new(batch: BatchId, held: &Held) -> Self {
        Self {
            batch,
            class: held.class(),
            start: held.at,
            end: held.at + held.len,
        }
    }

    /// Whether the record stands behind it, and is part of it from now on.
    #[inline]
    fn take(&mut self, batch: BatchId, held: &Held) -> bool {
        let is_next = (batch, held.class(), held.at) == (self.batch, self.class, self.end);
        let is_taken = is_next && self.end - self.start + held.len <= Self::BYTES_MAX;
        if is_taken {
            self.end += held.len;
        }
        is_taken
    }
}

impl Held {
    pub(super) const fn class(&self) -> Class {
        if self.is_logged {
            Class::Logged
        } else {
            Class::Unlogged
        }
    }
}

impl Committing {
    /// Whether the replicator has kept it.
    pub(crate) const fn is_submitted(&self) -> bool {
        self.is_submitted
    }

    /// The partition, and its first and last op that commit.
    pub(crate) fn ops(&self) -> (PartitionId, (Op, Op)) {
        (self.partition, (self.run.first, self.run.last()))
    }

    /// A whole run of which the replicator has kept nothing.
    pub(crate) const fn unsubmitted(partition: PartitionId, run: Run) -> Self {
        Self {
            partition,
            run,
            is_all: true,
            is_submitted: false,
        }
    }
}

impl Run {
    /// How many records it has.
    pub(crate) const fn len(&self) -> u32 {
        self.count
    }

    /// The batch that replies wait for which rest on it.
    pub(crate) const fn origin(&self) -> BatchId {
        self.origin
    }

    /// The op of its last record.
    pub(crate) fn last(&self) -> Op {
        Op(self.first.0 + u64::from(self.count) - 1)
    }
}

impl Log {
    /// Takes note of the record whose operations were pushed last.
    #[inline]
    pub(super) fn hold(&mut self, votes: Votes, at: usize, len: usize, count: u32) -> RecordIndex {
        let Votes {
            is_logged, fsync, ..
        } = votes;
        let end = self.building.lists.of(votes.class()).len() as u32;
        let index = self.building.records.len() as u32;
        self.building.records.push(Held {
            origin: self.building.id,
            at: at as u32,
            len: len as u32,
            first: end - count,
            count,
            next: u32::MAX,
            is_logged,
            fsync,
            is_waiting: true,
        });
        self.held_bytes += len;
        self.building.sync |= fsync && is_logged;
        RecordIndex(index)
    }

    /// The record is the next of its partition. It is submitted when the log has the batch.
    #[inline]
    pub(crate) fn add_unsubmitted(
        &mut self,
        partition: PartitionId,
        unsubmitted: &mut Unsubmitted,
        op: Op,
        record: RecordIndex,
    ) {
        let building = &mut self.building;
        if unsubmitted.batch == building.id {
            let (of, run) = &mut building.held.unsubmitted[unsubmitted.run as usize];
            assert_eq!(*of, partition, "a run of another partition");
            return extend(&mut building.records, run, op, record);
        }
        let run = building.run(op, record);
        *unsubmitted = Unsubmitted {
            batch: building.id,
            run: building.held.begin(partition, run),
        };
    }

    /// The replicator knows of the record: it comes after those that it knows of.
    #[inline]
    pub(crate) fn add_pending(
        &mut self,
        partition: PartitionId,
        pending: &mut Runs,
        op: Op,
        record: RecordIndex,
    ) {
        let building = &mut self.building;
        match pending.back_mut() {
            Some(last) if last.batch == building.id => {
                extend(&mut building.records, last, op, record);
            }
            last => {
                let last = last.map(|last| last.last());
                assert!(
                    last.is_none_or(|last| last.next() == op),
                    "{partition} op {op} after {last:?}"
                );
                building.held.add(partition);
                pending.push_back(building.run(op, record));
            }
        }
    }

    /// Puts a record into the batch that the replicator knows of already: a peer's, or one of its own.
    /// `operations` have offsets relative to the record.
    pub(crate) fn hold_known(
        &mut self,
        raw: &[u8],
        operations: impl Iterator<Item = Prepared>,
        votes: Votes,
    ) -> RecordIndex {
        let class = votes.class();
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
        self.hold(votes, at, raw.len(), count)
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
            records: built.records,
            held: built.held,
            made_at: now,
            is_given_up: false,
            is_answered: true,
            position,
            counted: 0,
            waits_for_sync: false,
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
                self.push_keyless(prepared.key, prepared.kind, prepared.op, at, Class::Copied);
                continue;
            }
            prepared.key_at = moved(prepared.key_at);
            prepared.value_at = moved(prepared.value_at);
            self.push(prepared, Class::Copied, Writer::MANY);
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

    /// What was prepared here and is in the log now, one by one: it is submitted to the replicator ([`Self::submit`]), or has
    /// committed ([`Committing::unsubmitted`]). Then comes [`Self::end_submission`].
    #[inline]
    pub(crate) fn unsubmitted(&self, id: BatchId, at: usize) -> Option<(PartitionId, Run)> {
        let batch = self.in_flight.get(self.index(id)?)?;
        batch.held.unsubmitted.get(at).copied()
    }

    /// Nothing of the batch is left to be submitted.
    pub(crate) fn end_submission(&mut self, id: BatchId) {
        if let Some(index) = self.index(id)
            && let Some(batch) = self.in_flight.get_mut(index)
        {
            batch.held.unsubmitted.clear();
        }
    }

    /// The replicator has heard of a run that it had not heard of.
    pub(crate) fn submit(&mut self, partition: PartitionId, run: Run, pending: &mut Runs) {
        let index = self.index(run.batch);
        let batch = index.and_then(|index| self.in_flight.get_mut(index));
        let batch = batch.expect("a batch stays while something of it waits");
        batch.held.submit(partition);
        pending.push_back(run);
    }

    /// Records of a partition's runs, `count` of them from op `first` on: those that stand one behind the other are one piece, up to
    /// a length that is convenient.
    pub(crate) fn records<'a>(
        &'a self,
        pending: &Runs,
        first: Op,
        count: usize,
        mut take: impl FnMut(&'a [u8]),
    ) {
        let front = pending.front().map_or(first, |run| run.first);
        assert!(front <= first, "op {first} has committed");
        let from = pending.partition_point(|run| run.last() < first);
        let before = pending.get(from).map_or(0, |run| first.0 - run.first.0);
        let records = pending.range(from..).flat_map(|run| self.records_of(run));
        let mut piece: Option<Piece> = None;
        for (batch, held) in records.skip(before as usize).take(count) {
            if !piece.as_mut().is_some_and(|it| it.take(batch, held))
                && let Some(whole) = piece.replace(Piece::new(batch, held))
            {
                take(self.bytes_of(whole));
            }
        }
        if let Some(whole) = piece {
            take(self.bytes_of(whole));
        }
    }

    /// A run's records, with their batch.
    fn records_of(&self, run: &Run) -> impl Iterator<Item = (BatchId, &Held)> {
        let records = self.held_in(run.batch);
        let batch = run.batch;
        let first = records.get(run.head as usize);
        let linked = std::iter::successors(first, |held| records.get(held.next as usize));
        linked
            .take(run.count as usize)
            .map(move |held| (batch, held))
    }

    fn held_in(&self, id: BatchId) -> &[Held] {
        if id == self.building.id {
            return &self.building.records;
        }
        let batch = self.index(id).and_then(|at| self.in_flight.get(at));
        batch.map(|batch| &batch.records[..]).unwrap_or_default()
    }

    fn held_in_mut(&mut self, id: BatchId) -> &mut [Held] {
        if id == self.building.id {
            return &mut self.building.records;
        }
        let index = self.index(id);
        let batch = index.and_then(|at| self.in_flight.get_mut(at));
        batch
            .map(|batch| &mut batch.records[..])
            .unwrap_or_default()
    }

    fn bytes_of(&self, piece: Piece) -> &[u8] {
        let bytes = self.batch(piece.batch, piece.class);
        let range = piece.start as usize..piece.end as usize;
        bytes
            .and_then(|(bytes, _)| bytes.get(range))
            .unwrap_or_default()
    }

    fn operations_of(&self, batch: BatchId, held: &Held) -> &[Prepared] {
        let list = self.batch(batch, held.class()).map(|(_, list)| list);
        let range = held.first as usize..(held.first + held.count) as usize;
        list.and_then(|list| list.get(range)).unwrap_or_default()
    }

    /// The batch that replies wait for which rest on an operation of a batch; none if it has committed or was cut.
    pub(super) fn origin_of(
        &self,
        batch: BatchId,
        class: Class,
        prepared: &Prepared,
    ) -> Option<BatchId> {
        let mut waiting = self.held_in(batch).iter().filter(|it| it.is_waiting);
        let record = waiting.find(|held| {
            let mut operations = self.operations_of(batch, held).iter();
            held.class() == class
                && operations.any(|it| it.op == prepared.op && it.key == prepared.key)
        });
        record.map(|held| held.origin)
    }

    /// Takes the records up to an op, which commit, from the front of a partition's runs; the op of the last of them.
    pub(crate) fn take_committed(
        &self,
        partition: PartitionId,
        pending: &mut Runs,
        upto: Op,
        committing: &mut Vec<Committing>,
    ) -> Option<Op> {
        let mut last = None;
        while let Some(front) = pending.front_mut()
            && front.first <= upto
        {
            let is_all = front.last() <= upto;
            let run = if is_all {
                *front
            } else {
                self.split_run(front, upto)
            };
            last = Some(run.last());
            committing.push(Committing {
                partition,
                run,
                is_all,
                is_submitted: true,
            });
            if is_all {
                pending.pop_front();
            }
        }
        last
    }

    /// Takes the records up to an op off a run that goes on behind it.
    fn split_run(&self, run: &mut Run, upto: Op) -> Run {
        assert!(run.first <= upto && upto < run.last(), "{upto} in {run:?}");
        let records = self.held_in(run.batch);
        let count = (upto.0 - run.first.0) as u32 + 1;
        let mut tail = run.head;
        for _ in 1..count {
            tail = records[tail as usize].next;
        }
        let taken = Run {
            count,
            tail,
            ..*run
        };
        *run = Run {
            first: upto.next(),
            count: run.count - count,
            head: records[tail as usize].next,
            ..*run
        };
        taken
    }

    /// The operations of what commits, in order.
    pub(crate) fn operations_committing(
        &self,
        committing: &[Committing],
        out: &mut Vec<CommittingOperation>,
    ) {
        for Committing { run, .. } in committing {
            let batch = self.index(run.batch).map_or(BUILDING, |at| at as u32);
            for (_, held) in self.records_of(run) {
                let class = held.class();
                let operations = held.first..held.first + held.count;
                out.extend(operations.map(|index| CommittingOperation {
                    batch,
                    class,
                    index,
                }));
            }
        }
    }

    /// What an operation that commits does, the bytes that it points into, and where its batch is in the log.
    #[inline]
    pub(crate) fn operation(&self, it: CommittingOperation) -> (&Prepared, &[u8], Position) {
        if let Some(batch) = self.in_flight.get(it.batch as usize) {
            let prepared = &batch.lists.of(it.class)[it.index as usize];
            return match it.class {
                Class::Unlogged => (prepared, &batch.unlogged, Position::NONE),
                _ => (prepared, &batch.bytes, batch.position),
            };
        }
        assert_eq!(it.batch, BUILDING, "a batch that is gone commits");
        assert_eq!(it.class, Class::Unlogged, "what is in no log yet commits");
        let prepared = &self.building.lists.unlogged[it.index as usize];
        (prepared, &self.building.unlogged, Position::NONE)
    }

    /// The records have committed, and their operations were applied and forgotten.
    pub(crate) fn release(&mut self, committed: &[Committing]) {
        for it in committed {
            let mut at = it.run.head as usize;
            let mut bytes = 0;
            let records = self.held_in_mut(it.run.batch);
            for _ in 0..it.run.count {
                let held = &mut records[at];
                assert!(held.is_waiting, "{it:?} has committed");
                held.is_waiting = false;
                bytes += held.len as usize;
                at = held.next as usize;
            }
            self.held_bytes -= bytes;
            self.frontier.settled += 1;
            if it.is_all {
                self.let_go(it.run.batch, it.partition, it.is_submitted);
                if it.run.origin != it.run.batch {
                    self.let_go(it.run.origin, it.partition, true);
                }
            }
        }
    }

    /// A run of the partition in a batch is over.
    fn let_go(&mut self, id: BatchId, partition: PartitionId, is_submitted: bool) {
        if id == self.building.id {
            self.building.held.end(partition, is_submitted);
            return;
        }
        let Some(index) = self.index(id) else {
            return;
        };
        if let Some(batch) = self.in_flight.get_mut(index)
            && batch.held.end(partition, is_submitted)
        {
            self.drop_done(index);
        }
    }

    /// The partition's records above an op will never commit here: the lowest op of them, and the lowest batch that a reply
    /// waits for which rests on one.
    pub(crate) fn cut(
        &mut self,
        partition: PartitionId,
        pending: &mut Runs,
        above: Op,
    ) -> Option<(Op, BatchId)> {
        let mut gone = Vec::new();
        while let Some(back) = pending.back_mut()
            && back.last() > above
        {
            if back.first > above {
                gone.push((*back, true));
                pending.pop_back();
            } else {
                let mut rest = *back;
                *back = self.split_run(&mut rest, above);
                gone.push((rest, false));
            }
        }
        let lowest = gone.last().map(|(run, _)| (run.first, run.origin));
        let gone = gone.into_iter();
        self.undo(gone.map(|(run, is_all)| Committing {
            partition,
            run,
            is_all,
            is_submitted: true,
        }));
        lowest
    }

    /// The records will never commit here: returns their operations.
    pub(super) fn undo(&mut self, gone: impl Iterator<Item = Committing>) -> Vec<Prepared> {
        let mut all = Vec::new();
        for it in gone {
            for (batch, held) in self.records_of(&it.run) {
                all.extend_from_slice(self.operations_of(batch, held));
            }
            self.release(&[it]);
        }
        self.forget(&all);
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
        let batches = self.in_flight.iter().map(|batch| batch.id);
        for batch in batches.chain([self.building.id]) {
            let waiting = self.held_in(batch).iter().filter(|it| it.is_waiting);
            for held in waiting {
                for (prepared, index) in self.operations_of(batch, held).iter().zip(held.first..) {
                    if !prepared.has_key() {
                        continue;
                    }
                    if let (Some(best), Some(newest)) =
                        (left.get_mut(&prepared.key), self.newest.get(&prepared.key))
                        && best.is_none_or(|(op, best)| (op, best.batch) <= (prepared.op, batch))
                    {
                        let newest = Newest {
                            batch,
                            origin: held.origin,
                            index,
                            class: held.class(),
                            ..*newest
                        };
                        *best = Some((prepared.op, newest));
                    }
                }
            }
        }
        for (key, best) in left {
            if let (Some((_, best)), Some(entry)) = (best, self.newest.get_mut(&key)) {
                *entry = best;
            }
        }
    }

    /// The log refused the batch of the record of this op, and the replicator wants it there: into the batch being built.
    /// Those before it are there by now.
    pub(crate) fn append_again(
        &mut self,
        partition: PartitionId,
        pending: &mut Runs,
        op: Op,
    ) -> BatchId {
        let at = pending.partition_point(|run| run.last() < op);
        let run = pending[at];
        assert!(run.first <= op, "{partition} op {op} is not held: {run:?}");
        let held = self.held_in(run.batch)[run.head as usize];
        if run.batch == self.building.id || !held.is_logged {
            return run.batch;
        }
        assert_eq!(run.first, op, "{partition}: ops before {op} are left out");
        let raw = self.bytes_of(Piece::new(run.batch, &held)).to_vec();
        let operations = self.operations_of(run.batch, &held).to_vec();
        let start = self.building.bytes.len() as u32;
        let first = self.building.lists.logged.len() as u32;
        self.building.bytes.extend_from_slice(&raw);
        for mut prepared in operations {
            prepared.record_at = prepared.record_at - held.at + start;
            prepared.key_at = prepared.key_at - held.at + start;
            prepared.value_at = prepared.value_at - held.at + start;
            let index = self.building.lists.logged.len() as u32;
            self.building.lists.logged.push(prepared);
            if let Some(newest) = self.newest.get_mut(&prepared.key) {
                newest.batch = self.building.id;
                newest.index = index;
                newest.class = Class::Logged;
            }
        }
        self.building.sync |= held.fsync;
        self.building.only_frees = false;
        let record = RecordIndex(self.building.records.len() as u32);
        self.building.records.push(Held {
            at: start,
            first,
            next: u32::MAX,
            ..held
        });
        self.held_bytes += held.len as usize;
        let is_all = run.count == 1;
        let moved = if is_all {
            pending.remove(at);
            run
        } else {
            self.split_run(&mut pending[at], op)
        };
        match at.checked_sub(1).and_then(|before| pending.get_mut(before)) {
            Some(before) if (before.batch, before.origin) == (self.building.id, run.origin) => {
                extend(&mut self.building.records, before, op, record);
            }
            _ => {
                let again = Run {
                    origin: run.origin,
                    ..self.building.run(op, record)
                };
                self.building.held.add(partition);
                pending.insert(at, again);
                let origin = self.index(run.origin);
                let origin = origin.and_then(|at| self.in_flight.get_mut(at));
                let origin = origin.expect("a batch stays while something of it waits");
                origin.held.add(partition);
            }
        }
        self.release(&[Committing {
            partition,
            run: moved,
            is_all,
            is_submitted: true,
        }]);
        self.building.id
    }
}

impl Building {
    /// A run of one record.
    fn run(&self, op: Op, record: RecordIndex) -> Run {
        Run {
            batch: self.id,
            origin: self.id,
            first: op,
            count: 1,
            head: record.0,
            tail: record.0,
        }
    }
}

/// The record is the next of the run.
#[inline]
fn extend(records: &mut [Held], run: &mut Run, op: Op, record: RecordIndex) {
    assert_eq!(run.last().next(), op, "{run:?}");
    records[run.tail as usize].next = record.0;
    run.tail = record.0;
    run.count += 1;
}

#[cfg(test)]
#[path = "held_test.rs"]
mod held_test;
