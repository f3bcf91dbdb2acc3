//! Carries out what the replicator says: records into the log, operations into the tables, bytes to peers, news to whoever
//! waits.
//!
//! In:  a [`Ready`], and the frame that it speaks of. Out: what follows from it here.
//!
//! Invariants:
//! - Actions are carried out in their order, all of them before the replicator is asked for more.
//! - The records that are kept as pending (`log/held`) are the replicator's, one for one.
//! - A record that is applied has been checked as a whole; what it says of offsets is within it.

use super::{Engine, Replication};
use crate::append::BatchId;
use crate::log::{KeyRef, Prepared, Votes};
use crate::output::Lost;
use crate::tables::{AHEAD, Gaps, PendingClear, Tables};
use brickyard_replication::{Action, LinkId, LogMark, Ready, Role, Status, Want};
use brickyard_table::{KeyHash, LocalPartition};
use brickyard_types::record::{self, ENTRY_HEADER_BYTES, Header, Kind, Record, flag};
use brickyard_types::{Instant, Op, PartitionId, Position, ValueType};
use std::iter::Chain;
use std::{option, vec};

/// What of a frame could not be taken: the partition, the first op of a stream (`None`: copies), and why.
type Rejected = (PartitionId, Option<Op>, String);

/// Where a partition's record goes, and how it votes, until something is adopted.
#[derive(Clone, Copy, Debug)]
struct Destination {
    table: usize,
    leaf: usize,
    mark: LogMark,
    votes: Votes,
}

/// What a record does: one operation takes no memory of its own.
type Operations = Chain<option::IntoIter<Prepared>, vec::IntoIter<Prepared>>;

impl Replication<'_> {
    /// Does what the replicator says, and what follows from that, until nothing is left.
    pub(super) fn carry_out(&mut self, frame: &[u8]) {
        let mut ready = std::mem::take(&mut self.replicas.engine.ready);
        loop {
            while self.replicas.engine.replicator.take_ready(&mut ready) {
                let rejected = self.carry_out_once(&mut ready, frame);
                let is_batch_empty = !self.log.has_bytes();
                for (partition, op, reason) in rejected {
                    let replicator = &mut self.replicas.engine.replicator;
                    replicator.on_rejected(partition, op, reason, is_batch_empty);
                }
            }
            let Some(link) = self.replicas.engine.outbox.poll_stuck() else {
                break;
            };
            self.replicas.engine.replicator.on_stuck(link);
        }
        self.replicas.engine.ready = ready;
    }

    fn carry_out_once(&mut self, ready: &mut Ready, frame: &[u8]) -> Vec<Rejected> {
        let mut rejected: Vec<Rejected> = Vec::new();
        // Where the last record went: most have the next one of the same partition behind them.
        let mut last: Option<Destination> = None;
        let Ready { actions, bytes } = ready;
        for action in actions.drain(..) {
            if !matches!(action, Action::Commit { .. }) {
                self.apply_committed();
            }
            match action {
                Action::Append { record, mark } => {
                    let header = &record.header;
                    let partition = header.partition;
                    if rejected.iter().any(|(it, ..)| *it == partition) {
                        continue;
                    }
                    let known =
                        last.filter(|to| (to.votes.partition, to.mark) == (partition, mark));
                    let to = known.map_or_else(|| self.destination(partition, mark), Ok);
                    let (it, raw) = (record.record(frame), record.raw(frame));
                    let taken = to.and_then(|to| {
                        last = Some(to);
                        self.keep_record(to, &it, raw)
                    });
                    if let Err(reason) = taken {
                        rejected.push((partition, Some(header.op), reason));
                    }
                }
                Action::AppendOwn {
                    header,
                    value,
                    is_entry,
                    mark,
                } => self.append_own(&header, &bytes[value], is_entry, mark),
                Action::AppendAgain {
                    partition,
                    op,
                    mark,
                } => {
                    let held = self.tables.partition_mut(partition);
                    let held = held.expect("what is pending is of a partition that is here");
                    let batch =
                        self.log
                            .append_again(partition, &mut held.uncommitted.submitted, op);
                    assert_eq!(LogMark(batch.0), mark, "{partition} op {op}");
                }
                Action::Copy { record, mark } => {
                    let partition = record.header.partition;
                    if rejected.iter().any(|(it, ..)| *it == partition) {
                        continue;
                    }
                    let taken = self.take_copy(&record.record(frame), record.raw(frame), mark);
                    if let Err(reason) = taken {
                        rejected.push((partition, None, reason));
                    }
                }
                Action::Clear { partition, at } => self.clear_replica(partition, at),
                Action::Commit { partition, upto } => self.commit(partition, upto),
                Action::Cut { partition, above } => self.cut(partition, above),
                Action::Changed { partition, status } => self.on_status(partition, status),
                Action::Records {
                    link,
                    partition,
                    first,
                    count,
                } => self.send_records(link, partition, first, count),
                Action::Frame { link, frame } => {
                    self.replicas.engine.outbox.frame(link, &bytes[frame]);
                }
                Action::Message { peer, bytes } => {
                    self.replicas.messages.push((peer, frame[bytes].to_vec()));
                }
                Action::Want(request) => {
                    if let Want::Close { link, .. } = request {
                        self.replicas.engine.outbox.shut(link);
                    }
                    self.replicas.engine.requests.push_back(request);
                }
            }
        }
        self.apply_committed();
        rejected
    }

    /// A record that recovery has found or that goes to a part of its partition goes into the batch that is being built: the
    /// mark of that.
    pub(crate) fn take_found(
        &mut self,
        record: &Record<'_>,
        raw: &[u8],
    ) -> Result<LogMark, String> {
        let partition = record.header.partition;
        let (table, _) = self.place_in_tables(partition)?;
        let is_logged = self.tables.get(table).is_some_and(|it| it.is_logged());
        let mark = if is_logged {
            LogMark(self.log.building_id().0)
        } else {
            LogMark::NONE
        };
        let to = self.destination(partition, mark)?;
        self.keep_record(to, record, raw)?;
        Ok(mark)
    }

    /// A record goes into the batch that is being built, and is kept until it votes or is cut.
    fn keep_record(
        &mut self,
        to: Destination,
        record: &Record<'_>,
        raw: &[u8],
    ) -> Result<(), String> {
        let Destination {
            table, leaf, votes, ..
        } = to;
        let Header {
            partition,
            op,
            kind,
            ..
        } = record.header;
        let prepared = self.prepared_of(table, leaf, record, raw)?;
        let held = self.log.hold_known(raw, prepared, votes);
        self.tables.note_record(record, self.unix);
        let dependency = self.log.dependency(votes);
        let state = self.tables.get_mut(table);
        if let Some(it) = state.and_then(|it| it.partitions.get_mut(leaf)?.as_mut()) {
            assert_eq!(it.id, partition, "leaf {leaf} of table {table}");
            self.log
                .add_pending(partition, &mut it.uncommitted.submitted, op, held);
            it.op = it.op.max(op);
            if kind == Kind::Clear {
                // Reads of all its keys wait for the outcome.
                it.clear = Some(PendingClear { op, dependency });
            }
        }
        Ok(())
    }

    /// A control record of the replicator's.
    fn append_own(&mut self, header: &Header, value: &[u8], is_entry: bool, mark: LogMark) {
        let partition = header.partition;
        if !is_entry {
            if mark != LogMark::NONE {
                self.assert_open(mark);
                self.log.append_bare(header, b"", &[value]);
            }
            return;
        }
        let votes = match self.destination(partition, mark) {
            Ok(to) => to.votes,
            Err(reason) => panic!("a view of {partition} begins: {reason}"),
        };
        let mut raw = Vec::new();
        record::encode(&mut raw, header, b"", &[value]);
        let held = self.log.hold_known(&raw, std::iter::empty(), votes);
        if let Some(it) = self.tables.partition_mut(partition) {
            self.log
                .add_pending(partition, &mut it.uncommitted.submitted, header.op, held);
            it.op = it.op.max(header.op);
        }
    }

    fn send_records(&mut self, link: LinkId, partition: PartitionId, first: Op, count: usize) {
        let outbox = &mut self.replicas.engine.outbox;
        if let Some((_, held)) = self.tables.partition(partition) {
            let runs = &held.uncommitted.submitted;
            self.log
                .records(runs, first, count, |records| outbox.records(link, records));
        }
    }

    /// The records up to an op have committed. They are applied together with those of the partitions that come next.
    fn commit(&mut self, partition: PartitionId, upto: Op) {
        let Some(it) = self.tables.partition_mut(partition) else {
            panic!("{partition} votes {upto}, and is not here");
        };
        let committing = &mut self.replicas.engine.committing;
        let last =
            self.log
                .take_committed(partition, &mut it.uncommitted.submitted, upto, committing);
        assert_eq!(last, Some(upto), "{partition} votes what is not held");
        // Below the commit position too: a learner whose copies began anew is brought again what it has.
        assert!(upto <= it.op, "{partition} votes {upto} of {}", it.op);
        it.committed = upto;
        self.replicas.wake();
    }

    /// Applies what has committed.
    pub(super) fn apply_committed(&mut self) {
        let Engine {
            committing,
            operations,
            replicator,
            ..
        } = &mut self.replicas.engine;
        if committing.is_empty() {
            return;
        }
        if self.tables.keep_changes() {
            for it in &*committing {
                let (partition, ops) = it.ops();
                let view_at = |op| replicator.view_at(partition, op);
                self.tables.note_committed(partition, ops, view_at);
            }
        }
        let are_fresh = committing.iter().all(|it| !it.is_submitted());
        if let Some(committed) = self.log.take_whole(committing) {
            self.tables.apply_committed(&committed, are_fresh);
            for prepared in &committed.operations {
                note_cleared(&mut self.replicas.cleared, self.tables, prepared);
            }
            self.log.release_whole(committing, committed);
            committing.clear();
            return;
        }
        self.log.operations_committing(committing, operations);
        for group in operations.chunks(AHEAD) {
            let log = &*self.log;
            self.tables
                .look_ahead(group.iter().map(|it| log.operation(*it).0));
            for operation in group {
                let (prepared, bytes, position) = self.log.operation(*operation);
                self.tables.apply_change(prepared, bytes, position);
                note_cleared(&mut self.replicas.cleared, self.tables, prepared);
                if prepared.has_key() {
                    let prepared = *prepared;
                    self.log.forget_one(&prepared);
                }
            }
        }
        operations.clear();
        self.log.release(committing);
        committing.clear();
    }

    fn cut(&mut self, partition: PartitionId, above: Op) {
        if let Some(it) = self.tables.partition_mut(partition) {
            // Rule `a learner begins with what is pending`: what has committed stays. A learner whose copy came to
            // nothing goes back to what it claims.
            let may_go_back = it.status.role == Role::Learner;
            assert!(
                it.committed <= above || may_go_back,
                "{partition}: cut above {above}, committed {}",
                it.committed
            );
            if it.committed > above {
                it.changes = None;
            }
            it.committed = it.committed.min(above);
        }
        let held = self.tables.partition_mut(partition);
        let gone = held.and_then(|it| {
            self.log
                .cut(partition, &mut it.uncommitted.submitted, above)
        });
        let Some((op, batch)) = gone else {
            panic!("{partition} has nothing above {above} to be cut");
        };
        self.tables.cut(partition, op);
        self.tables.find_clear(self.log, partition);
        self.replicas.lost.push(Lost::Of(partition, batch));
        self.replicas.wake();
    }

    fn take_copy(&mut self, record: &Record<'_>, raw: &[u8], mark: LogMark) -> Result<(), String> {
        let Destination { table, leaf, .. } = self.destination(record.header.partition, mark)?;
        let prepared = self.prepared_of(table, leaf, record, raw)?;
        self.tables.note_record(record, self.unix);
        if mark == LogMark::NONE {
            for prepared in prepared {
                self.tables.apply(&prepared, raw, Position::NONE);
            }
            return Ok(());
        }
        let header = Header {
            flags: record.header.flags | flag::MOVED | flag::COPIED,
            committed: None,
            ..record.header
        };
        self.log.append_copy(&header, record, raw.len(), prepared);
        Ok(())
    }

    fn clear_replica(&mut self, partition: PartitionId, at: Op) {
        let Some((table, leaf)) = self.tables.place_of(partition) else {
            return;
        };
        let Some(state) = self.tables.get_mut(table) else {
            return;
        };
        let Some(mut held) = state.partitions[leaf].take() else {
            return;
        };
        state.table.drop_partition(held.local);
        let is_learner = state.learning.contains(&held.local);
        state.learning.retain(|it| *it != held.local);
        let former = std::mem::replace(&mut held.local, state.table.add_partition());
        if is_learner {
            state.learning.push(held.local);
        }
        // Copies of a catch-up that came to nothing may be on their way to the log.
        self.log.disown(table as u32, former);
        let copied = held.gaps.copied();
        held.gaps = Gaps::below(at);
        held.gaps.note_copied(copied);
        held.clear = None;
        held.changes = None;
        self.tables.drop_requests(&mut held);
        self.tables.note_removed();
        let last = (held.status.view, held.op);
        self.append_drop(table, partition, last);
        if let Some(state) = self.tables.get_mut(table) {
            state.partitions[leaf] = Some(held);
        }
    }

    fn on_status(&mut self, partition: PartitionId, status: Status) {
        let mut lost = false;
        let mut local = None;
        let state = self.tables.partition(partition).map(|(state, _)| state);
        let has_leases = state.is_some_and(|state| state.attributes.leases.may_be_out());
        if let Some(it) = self.tables.partition_mut(partition) {
            let was = std::mem::replace(&mut it.status, status);
            if status.role == Role::Primary && (was.role, was.view) != (status.role, status.view) {
                // What is pending now was prepared in an older view.
                it.lead.inherited = it.op;
                // Who led the view before knows all leases that there are.
                let leads_on = was.role == Role::Primary && status.view.0 == was.view.0 + 1;
                if !leads_on {
                    it.lead.writes_from = (!has_leases).then_some(Instant(0));
                    self.replicas
                        .new_leads
                        .partitions
                        .extend(has_leases.then_some(partition));
                }
            }
            // Nobody will tell this brick's clients what became of their writes (rule
            // `an old primary knows no outcome`), unless it is still in sync: then what is pending commits here, or is cut.
            let has_pending = it.op > it.committed || it.clear.is_some();
            lost = was.role.is_in_sync() && !status.role.is_in_sync() && has_pending;
            local = Some(it.local);
        }
        if lost {
            self.replicas.lost.push(Lost::Of(partition, BatchId(1)));
        }
        if let (Some((table, _)), Some(local)) = (self.tables.place_of(partition), local) {
            self.note_learning(table, local, status.role == Role::Learner);
        }
        self.replicas.wake();
    }
}

impl Replication<'_> {
    fn note_learning(&mut self, table: usize, local: LocalPartition, is_learner: bool) {
        let Some(state) = self.tables.get_mut(table) else {
            return;
        };
        let was_learner = state.learning.contains(&local);
        if is_learner && !was_learner {
            state.learning.push(local);
        } else if was_learner && !is_learner {
            state.learning.retain(|it| *it != local);
            // No older record of its keys can come any more.
            state.table.purge_partition(local);
        }
    }

    /// What a peer's record does here, with offsets into `raw`.
    fn prepared_of(
        &self,
        table: usize,
        leaf: usize,
        record: &Record<'_>,
        raw: &[u8],
    ) -> Result<Operations, String> {
        let state = self.tables.get(table).ok_or("the table is gone")?;
        let partition = state
            .partitions
            .get(leaf)
            .and_then(Option::as_ref)
            .ok_or("the partition is gone")?;
        let header = &record.header;
        let one = |kind: Kind, key: &[u8], key_at: usize, value_at: usize, value_len: usize| {
            // Only what says which requests were executed may come before the first op.
            if header.op == Op(0) {
                return Err(format!("a {kind:?} has op 0, and ops are numbered from 1"));
            }
            if kind == Kind::Put && !state.table.has_room(key.len(), value_len) {
                return Err(format!("table '{}' has no room for it here", state.name));
            }
            Ok(Prepared {
                key: KeyRef {
                    table: table as u32,
                    partition: partition.local,
                    hash: KeyHash(state.map.hasher().key_hash(key)),
                },
                kind,
                op: header.op,
                value_type: ValueType::of_flags(header.flags),
                expires_at: header.expires_at,
                record_at: 0,
                key_at: key_at as u32,
                key_len: key.len() as u16,
                value_at: value_at as u32,
                value_len: value_len as u32,
                is_void: false,
            })
        };
        let value_at = raw.len() - record.value.len();
        match header.kind {
            Kind::Put | Kind::Delete => {
                let key_at = value_at - record.key.len();
                let one = one(
                    header.kind,
                    record.key,
                    key_at,
                    value_at,
                    record.value.len(),
                )?;
                Ok(Some(one).into_iter().chain(Vec::new()))
            }
            Kind::Clear => {
                let one = one(Kind::Clear, b"", 0, 0, 0)?;
                Ok(Some(one).into_iter().chain(Vec::new()))
            }
            Kind::Batch => {
                let mut all = Vec::new();
                let mut at = value_at;
                for entry in record::entries(record.value) {
                    let entry = entry.map_err(|error| error.to_string())?;
                    let key_at = at + ENTRY_HEADER_BYTES;
                    let entry_value_at = key_at + entry.key.len();
                    at = entry_value_at + entry.value.len();
                    let mut prepared = one(
                        entry.kind,
                        entry.key,
                        key_at,
                        entry_value_at,
                        entry.value.len(),
                    )?;
                    prepared.value_type = ValueType::of_flags(entry.flags);
                    prepared.expires_at = entry.expires_at;
                    all.push(prepared);
                }
                Ok(None.into_iter().chain(all))
            }
            Kind::ViewStart => Ok(None.into_iter().chain(Vec::new())),
            kind => Err(format!(
                "a record of kind {kind:?} does not belong into a stream"
            )),
        }
    }

    fn place_in_tables(&self, partition: PartitionId) -> Result<(usize, usize), String> {
        let place = self.tables.place_of(partition);
        place.ok_or_else(|| "the partition is not on this brick".to_owned())
    }

    /// Where a record of the partition goes whose batch has this mark.
    fn destination(&self, partition: PartitionId, mark: LogMark) -> Result<Destination, String> {
        let (table, leaf) = self.place_in_tables(partition)?;
        let state = self.tables.get(table).ok_or("the table is gone")?;
        let held = state.partitions.get(leaf).and_then(Option::as_ref);
        let held = held.ok_or("the partition is gone")?;
        self.assert_open(mark);
        Ok(Destination {
            table,
            leaf,
            mark,
            votes: Votes {
                partition: held.id,
                is_logged: mark != LogMark::NONE,
                fsync: state.is_fsync(),
            },
        })
    }

    /// The replicator knows which batch is open.
    fn assert_open(&self, mark: LogMark) {
        let open = LogMark(self.log.building_id().0);
        assert!(
            mark == open || mark == LogMark::NONE,
            "batch {mark} is closed, {open} is open"
        );
    }
}

/// A clear has committed: replicas must not miss what it has removed.
#[inline]
fn note_cleared(cleared: &mut Vec<(PartitionId, Op)>, tables: &Tables, prepared: &Prepared) {
    if prepared.kind == Kind::Clear
        && let Some(partition) = tables.partition_of(&prepared.key)
    {
        cleared.push((partition, prepared.op));
    }
}
