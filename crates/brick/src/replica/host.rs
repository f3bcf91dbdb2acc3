//! What the replicator does to this brick: records into the log, operations into the tables, news to whoever waits.
//!
//! Invariant: a record that is applied here has been checked as a whole; what it says of offsets is within it.

use crate::core::{Core, apply_one};
use crate::effect::BatchId;
use crate::log::{Commits, HeldId, KeyRef, Prepared};
use crate::output::Lost;
use crate::view::PendingClear;
use brickyard_replication::{Entry, Host, LinkId, LogMark, Role, Status};
use brickyard_routing::Seat;
use brickyard_table::{KeyHash, LocalPartition};
use brickyard_types::record::{self, ENTRY_HEADER_BYTES, Header, Kind, Record, flag};
use brickyard_types::{Op, PartitionId, Position};

impl Host for Core {
    type Payload = HeldId;

    fn append(&mut self, record: &Record<'_>, raw: &[u8]) -> Result<(LogMark, HeldId), String> {
        let (table, leaf) = self.place_of(record.header.partition)?;
        let commits = self.commits_of(table, leaf)?;
        let prepared = self.prepared_of(table, leaf, record, raw)?;
        let held = self.log.hold_known(raw, prepared.into_iter(), commits);
        self.note_record(record, self.log.building_id());
        let op = record.header.op;
        let gate = self.log.gate(commits);
        if let Some(partition) = self.partition_of(record.header.partition) {
            partition.op = partition.op.max(op);
            if record.header.kind == Kind::Clear {
                // Reads of all its keys wait for the outcome.
                partition.clear = Some(PendingClear { op, gate });
            }
        }
        Ok((self.mark(commits), held))
    }

    fn append_own(&mut self, header: &Header, value: &[u8]) -> (LogMark, HeldId) {
        let commits = self
            .place_of(header.partition)
            .and_then(|(table, leaf)| self.commits_of(table, leaf));
        let Ok(commits) = commits else {
            return (LogMark::NONE, HeldId::NONE);
        };
        let mark = self.mark(commits);
        if header.kind != Kind::ViewStart {
            if mark != LogMark::NONE {
                self.log.append_bare(header, b"", &[value]);
            }
            return (mark, HeldId::NONE);
        }
        let mut raw = Vec::new();
        record::encode(&mut raw, header, b"", &[value]);
        let held = self.log.hold_known(&raw, std::iter::empty(), commits);
        if let Some(partition) = self.partition_of(header.partition) {
            partition.op = partition.op.max(header.op);
        }
        (mark, held)
    }

    fn append_again(&mut self, payload: &HeldId) -> LogMark {
        LogMark(self.log.append_again(*payload).0)
    }

    fn bytes<'a>(&'a self, payload: &'a HeldId) -> &'a [u8] {
        self.log.held_bytes(*payload)
    }

    fn commit(&mut self, partition: PartitionId, entries: &mut dyn Iterator<Item = Entry<HeldId>>) {
        let mut committed = None;
        for entry in entries {
            committed = Some(entry.op);
            let Self {
                log,
                tables,
                has_buried,
                replicas,
                ..
            } = self;
            let record = log.operations(entry.payload);
            for prepared in record.operations {
                if prepared.kind == Kind::Clear {
                    replicas.cleared.push((partition, prepared.op));
                }
                apply_one(tables, has_buried, prepared, record.bytes, record.position);
            }
            log.release(entry.payload);
        }
        if let (Some(op), Some(partition)) = (committed, self.partition_of(partition)) {
            partition.committed = op;
        }
        self.replicas.wake();
    }

    fn cut(&mut self, partition: PartitionId, entries: &mut dyn Iterator<Item = Entry<HeldId>>) {
        let mut first: Option<(Op, BatchId)> = None;
        let mut gone = Vec::new();
        for entry in entries {
            let batch = self.log.held_batch(entry.payload);
            gone.push(entry.payload);
            let before = first.map_or(batch, |(_, before)| before.min(batch));
            first = Some((entry.op, before));
        }
        let Some((op, batch)) = first else {
            return;
        };
        self.log.undo(&gone);
        let mut known = self.requests_known;
        if let Some(it) = self.partition_of(partition) {
            it.op = it.op.min(Op(op.0 - 1));
            it.cut_requests(&mut known, op);
        }
        self.requests_known = known;
        self.find_clear(partition);
        self.replicas.lost.push(Lost::Of(partition, batch));
        self.replicas.wake();
    }

    fn copy(
        &mut self,
        partition: PartitionId,
        record: &Record<'_>,
        raw: &[u8],
    ) -> Result<LogMark, String> {
        let (table, leaf) = self.place_of(partition)?;
        let commits = self.commits_of(table, leaf)?;
        let prepared = self.prepared_of(table, leaf, record, raw)?;
        self.note_record(record, self.log.building_id());
        if self.mark(commits) == LogMark::NONE {
            let Self {
                tables, has_buried, ..
            } = self;
            for prepared in &prepared {
                apply_one(tables, has_buried, prepared, raw, Position::NONE);
            }
            return Ok(LogMark::NONE);
        }
        let header = Header {
            flags: record.header.flags | flag::MOVED,
            committed: None,
            ..record.header
        };
        self.log
            .append_copy(&header, record, raw.len(), prepared.into_iter());
        Ok(self.mark(commits))
    }

    fn clear(&mut self, partition: PartitionId, at: Op) {
        let Ok((table, leaf)) = self.place_of(partition) else {
            return;
        };
        let Some(state) = self.table_mut(table) else {
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
        held.horizon = at;
        held.clear = None;
        held.drop_requests(&mut self.requests_known);
        held.damaged = Op(0);
        self.has_buried = true;
        self.append_drop(table, &held);
        if let Some(state) = self.table_mut(table) {
            state.partitions[leaf] = Some(held);
        }
    }

    fn changed(&mut self, partition: PartitionId, status: Status) {
        let mut lost = false;
        let mut local = None;
        if let Some(it) = self.partition_of(partition) {
            let was = std::mem::replace(&mut it.status, status);
            it.view = status.view;
            if status.role == Role::Primary && (was.role, was.view) != (status.role, status.view) {
                // What is pending now was prepared in an older view.
                it.inherited = it.op;
            }
            // Nobody will tell this brick's clients what became of their writes (PROTOCOL rule 25).
            let has_pending = it.op > it.committed || it.clear.is_some();
            lost = was.role == Role::Primary && status.role != Role::Primary && has_pending;
            local = Some(it.local);
        }
        if lost {
            self.replicas.lost.push(Lost::Of(partition, BatchId(1)));
        }
        if let (Ok((table, _)), Some(local)) = (self.place_of(partition), local) {
            self.note_learning(table, local, status.role == Role::Learner);
        }
        self.replicas.wake();
    }

    fn message(&mut self, _link: LinkId, peer: Seat, bytes: &[u8]) {
        self.replicas.messages.push((peer, bytes.to_vec()));
    }
}

impl Core {
    fn note_learning(&mut self, table: usize, local: LocalPartition, is_learner: bool) {
        let Some(state) = self.table_mut(table) else {
            return;
        };
        let was_learner = state.learning.contains(&local);
        if is_learner && !was_learner {
            state.learning.push(local);
        } else if was_learner && !is_learner {
            state.learning.retain(|it| *it != local);
            if state.learning.is_empty() {
                // Nobody is left for whom they could matter.
                state.table.purge_tombstones();
            }
        }
    }

    /// What a peer's record does here, with offsets into `raw`.
    fn prepared_of(
        &self,
        table: usize,
        leaf: usize,
        record: &Record<'_>,
        raw: &[u8],
    ) -> Result<Vec<Prepared>, String> {
        let state = self.table(table).ok_or("the table is gone")?;
        let partition = state
            .partitions
            .get(leaf)
            .and_then(Option::as_ref)
            .ok_or("the partition is gone")?;
        let header = &record.header;
        let one = |kind: Kind, key: &[u8], key_at: usize, value_at: usize, value_len: usize| {
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
                raw: header.flags & flag::RAW != 0,
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
                Ok(vec![one])
            }
            Kind::Clear => Ok(vec![one(Kind::Clear, b"", 0, 0, 0)?]),
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
                    prepared.raw = entry.flags & flag::RAW != 0;
                    prepared.expires_at = entry.expires_at;
                    all.push(prepared);
                }
                Ok(all)
            }
            Kind::ViewStart => Ok(Vec::new()),
            kind => Err(format!(
                "a record of kind {kind:?} does not belong into a stream"
            )),
        }
    }

    fn commits_of(&self, table: usize, leaf: usize) -> Result<Commits, String> {
        let state = self.table(table).ok_or("the table is gone")?;
        let partition = state.partitions.get(leaf).and_then(Option::as_ref);
        match partition.and_then(|partition| state.commits(partition)) {
            Some(commits @ Commits::Voted { .. }) => Ok(commits),
            _ => Err("the partition is not replicated here".to_owned()),
        }
    }

    fn mark(&self, commits: Commits) -> LogMark {
        match commits {
            Commits::Voted {
                is_logged: false, ..
            } => LogMark::NONE,
            _ => LogMark(self.log.building_id().0),
        }
    }
}
