//! What a command writes: prepared as one record, or applied where there is neither a log nor another replica.

use super::newest::{Newest, newest};
use super::{View, error};
use crate::changes::Outcome;
use crate::core::Core;
use crate::keyspace_events::Cause;
use crate::log::{KeyRef, Prepared, RecordIndex, Votes};
use crate::replica::Replicas;
use crate::staging::Staging;
use crate::tables::TableState;
use brickyard_command::hash::{first_expiry, has_due, without_due};
use brickyard_command::{ErrorReply, Failure, NewValue};
use brickyard_replication::frame::RECORD_BYTES_MAX;
use brickyard_routing::Location;
use brickyard_table::{KeyHash, Put, ValueRef};
use brickyard_types::part::is_part;
use brickyard_types::record::{self, Header, Kind, RequestId};
use brickyard_types::{Op, PartitionId, Position, ValueType, limits};

/// More than what stands before the entries of a record.
const HEADER_ROOM: usize = 256;

pub(super) const NOTHING: NewValue<'static> = NewValue {
    value: &[],
    expires_at: None,
    value_type: ValueType::String,
};

impl View<'_> {
    #[inline]
    pub(super) fn check_put(&self, key: &[u8], value_len: usize) -> Result<(), Failure> {
        if key.len() > limits::KEY_BYTES_MAX {
            return Err(error(format!(
                "ERR key is {} bytes long and the longest allowed is {}; use a shorter key",
                key.len(),
                limits::KEY_BYTES_MAX
            )));
        }
        if value_len > self.core.shared.limits.value_bytes_max {
            return Err(Failure::Error(ErrorReply::TOO_LONG));
        }
        // Few bytes of requests can ask for many of values (SETRANGE, COPY in a transaction).
        // Its record must fit into one message to other replicas, which may come at any time.
        let bytes_max = RECORD_BYTES_MAX;
        let entries = (self.core.workshop.staging.len() + 1) * record::ENTRY_HEADER_BYTES;
        let bytes = self.core.workshop.staging.bytes() + entries + key.len() + value_len;
        if self.context.writes_many && bytes + HEADER_ROOM > bytes_max {
            return Err(error(format!(
                "ERR one command or transaction may write {} MiB at most; split it into smaller ones",
                bytes_max >> 20
            )));
        }
        if !self.state().table.has_room(key.len(), value_len) {
            self.core.stats().errors.memory.add(1);
            return Err(error(format!(
                "OOM table '{}' holds as much on brick {} as its index can address; delete keys or use \
                 more bricks",
                self.state().name,
                self.core.id
            )));
        }
        Ok(())
    }

    /// Prepares one put or delete as a record of its own, or applies it where there is nothing to wait for.
    #[inline]
    pub(super) fn write(&mut self, location: Location, kind: Kind, key: &[u8], put: &NewValue<'_>) {
        self.write_named(location, kind, key, put, None);
    }

    /// The same, for a request with an id.
    #[inline(always)]
    fn write_named(
        &mut self,
        location: Location,
        kind: Kind,
        key: &[u8],
        put: &NewValue<'_>,
        named: Option<Named<'_>>,
    ) {
        assert!(!self.context.reads_only, "a command that only reads writes");
        self.has_written = true;
        self.note_written(key);
        let partition = self.partition_mut();
        let op = partition.op.next();
        partition.op = op;
        let local = partition.local;
        let key_ref = KeyRef {
            table: self.place.table as u32,
            partition: local,
            hash: KeyHash(location.key_hash),
        };
        if kind == Kind::Delete {
            self.core.negative_versions.note_removal(&key_ref);
        }
        let tables = &mut self.core.tables;
        let state = tables
            .get_mut(self.place.table)
            .expect("checked before the command ran");
        let partition = state.partitions[self.place.leaf]
            .as_ref()
            .expect("checked before the command ran");
        let Some(votes) = state.votes(partition) else {
            if state.keeps_changes() {
                let at = (self.place.leaf, partition.id);
                note_ops(&self.core.replicas, state, at, op);
            }
            apply_unlogged(state, (key_ref, self.place.leaf), kind, op, key, put);
            self.note_applied(op);
            return self.note(named, op);
        };
        let header = Header {
            kind,
            flags: put.value_type.flags(),
            table: state.id,
            partition: partition.id,
            view: partition.status.view,
            op,
            expires_at: put.expires_at,
            request: named.map(|it| it.id),
            origin: None,
            committed: Some(partition.committed),
        };
        let outcome = named.and_then(|it| it.outcome);
        let writer = self.context.writer;
        let log = &mut self.core.log;
        let record = log.prepare(key_ref, &header, key, put.value, outcome, (votes, writer));
        self.hold(votes, op, record);
        self.note(named, op);
    }

    /// Removes the key if its record, expired or not, is the one of `op`.
    pub(crate) fn remove_exactly(&mut self, key: &[u8], location: Location, op: Op) -> bool {
        let partition = self.partition_mut();
        // What the log has lost may be newer: a removal would outrank it when it is repaired.
        if partition.gaps.reach(op) {
            return false;
        }
        let (local, is_cleared) = (partition.local, partition.clear.is_some());
        let hash = KeyHash(location.key_hash);
        let found = self.state().table.peek(local, hash, key);
        // What is locked stays, whatever room is wanted.
        let is_it = !is_cleared
            && found.is_some_and(|it| it.op == op && it.value_type != ValueType::Intent);
        if is_it {
            self.note_gone(key);
            self.write(location, Kind::Delete, key, &NOTHING);
            self.tell(Kind::Delete, key, false);
        }
        is_it
    }

    /// The key, or a part of its value, goes by itself: clients that keep copies are told, and nobody waits for that.
    #[inline]
    pub(super) fn note_gone(&mut self, key: &[u8]) {
        if !self.core.holders.is_empty() {
            let table = self.table_id();
            self.core.holders.note_gone(table, key);
        }
    }

    /// A key is written for which copies were recalled.
    #[inline]
    fn note_written(&mut self, key: &[u8]) {
        if !self.core.holders.is_empty() {
            let table = self.table_id();
            self.core.holders.note_written(table, key);
        }
        if !self.core.holders.leases.is_empty() {
            let table = self.table_id();
            self.core.holders.leases.note_written(table, key);
        }
    }

    /// Something happened to a key: it is told, should it come to be.
    #[inline]
    pub(super) fn tell(&mut self, kind: Kind, key: &[u8], expires: bool) {
        if let Some(cause) = self.tells {
            self.note_event((cause, kind, expires), key);
        }
    }

    #[cold]
    fn note_event(&mut self, event: (Cause, Kind, bool), key: &[u8]) {
        let classes = self.core.shared.settings.keyspace_events();
        let Core {
            workshop, tables, ..
        } = &mut *self.core;
        let Some(state) = tables.get(self.place.table) else {
            return;
        };
        // What is staged comes before what is told of it.
        let staged = workshop.staging.len().saturating_sub(1);
        let (notices, about) = (&mut workshop.notices, (classes, state.name.as_str()));
        notices.add(about, event, key, staged);
    }

    /// What was noted has come to be.
    #[inline]
    pub(super) fn publish_notices(&mut self) {
        if self.tells.is_some() {
            self.publish_notices_now();
        }
    }

    #[cold]
    fn publish_notices_now(&mut self) {
        let notices = self.core.workshop.notices.take();
        notices.for_each(|published| self.core.outbox.publish(published));
    }

    /// Removes what the command found expired: keys, and fields of hashes.
    ///
    /// False: a read found expired what is being written anew, so that the key is not known to have been gone
    /// at any moment. It is to be read again when the outcome is there.
    pub(super) fn remove_expired(&mut self) -> bool {
        let only_reads = self.context.reads_only;
        let mut is_gone = true;
        // A removal is a write: it is decided against the newest prepared value, or it would eat a
        // value that was set meanwhile (rule `removals name what they remove`).
        self.context.reads_only = false;
        let unix = self.core.unix;
        let mut parts = Vec::new();
        for (location, key) in std::mem::take(&mut self.expired) {
            let Self {
                core,
                place,
                context,
                values,
                read_set,
                ..
            } = self;
            match newest(core, *place, *context, values, &key, location, read_set) {
                Newest::Expired => {
                    self.note_gone(&key);
                    self.write(location, Kind::Delete, &key, &NOTHING);
                    self.state().stats.expired.add(1);
                    self.because(|| Cause::Expired);
                    self.tell(Kind::Delete, &key, false);
                }
                Newest::None => {}
                Newest::Hot {
                    value,
                    value_type: ValueType::Hash,
                    ..
                } if is_part(&key) => {
                    if has_due(value, unix) {
                        parts.push(key);
                    }
                }
                Newest::Hot {
                    value,
                    expires_at,
                    value_type: ValueType::Hash,
                    ..
                } if has_due(value, unix) => {
                    // Fields of it; those of a value that is no hash stay as they are.
                    if let Ok(Some((rest, expires_at))) = without_due(value, expires_at, unix) {
                        let is_left = first_expiry(&rest).is_some_and(|at| at < unix);
                        assert!(!is_left, "a field is left whose time is over");
                        assert!(rest.len() < value.len(), "nothing of the hash was over");
                        let put = NewValue {
                            value: &[&rest],
                            expires_at,
                            value_type: ValueType::Hash,
                        };
                        self.note_gone(&key);
                        self.write(location, Kind::Put, &key, &put);
                        self.because(|| Cause::Expired);
                        self.tell(Kind::Put, &key, false);
                    }
                }
                _ => is_gone &= !only_reads,
            }
        }
        if !parts.is_empty() {
            is_gone &= self.drop_due_of(&parts) || !only_reads;
        }
        is_gone
    }

    /// Makes one record of what was staged. A request with an id has one even if it changed nothing.
    pub(super) fn write_staged(&mut self, named: Option<Named<'_>>) {
        let mut staging = std::mem::take(&mut self.core.workshop.staging);
        let live = staging.live().count();
        if live == 1 {
            if let Some(staged) = staging.live().next() {
                let value = [staging.value(staged)];
                let put = NewValue {
                    value: &value,
                    expires_at: staged.expires_at,
                    value_type: staged.value_type,
                };
                let (location, key) = (staged.location, staging.key(staged));
                self.write_named(location, staged.kind, key, &put, named);
            }
        } else if live > 1 {
            self.write_batch(&mut staging, named);
        } else if let Some(named) = named {
            self.write_id(named);
        }
        staging.clear();
        self.core.workshop.staging = staging;
    }

    fn write_batch(&mut self, staging: &mut Staging, named: Option<Named<'_>>) {
        assert!(staging.len() > 1, "a batch of {}", staging.len());
        self.has_written = true;
        let partition = self.partition_mut();
        let op = partition.op.next();
        partition.op = op;
        let local = partition.local;
        let tables = &mut self.core.tables;
        let state = tables
            .get_mut(self.place.table)
            .expect("checked before the command ran");
        let partition = state.partitions[self.place.leaf].as_ref();
        let votes = partition.and_then(|partition| state.votes(partition));
        if votes.is_none()
            && state.keeps_changes()
            && let Some(id) = partition.map(|it| it.id)
        {
            note_ops(&self.core.replicas, state, (self.place.leaf, id), op);
        }
        let mut prepared = Vec::with_capacity(staging.len());
        let mut encoded = std::mem::take(&mut staging.encoded);
        if !self.core.holders.is_empty() || !self.core.holders.leases.is_empty() {
            let table = state.id;
            for staged in staging.live() {
                self.core.holders.note_written(table, staging.key(staged));
                self.core
                    .holders
                    .leases
                    .note_written(table, staging.key(staged));
            }
        }
        for staged in staging.live() {
            let key_ref = KeyRef {
                table: self.place.table as u32,
                partition: local,
                hash: KeyHash(staged.location.key_hash),
            };
            if staged.kind == Kind::Delete {
                self.core.negative_versions.note_removal(&key_ref);
            }
            let value = staging.value(staged);
            if votes.is_none() {
                let put = NewValue {
                    value: &[value],
                    expires_at: staged.expires_at,
                    value_type: staged.value_type,
                };
                let at = (key_ref, self.place.leaf);
                apply_unlogged(state, at, staged.kind, op, staging.key(staged), &put);
                continue;
            }
            record::encode_entry(
                &mut encoded,
                &record::BatchEntry {
                    kind: staged.kind,
                    flags: staged.value_type.flags(),
                    key: staging.key(staged),
                    value,
                    expires_at: staged.expires_at,
                },
            );
            let end = encoded.len();
            prepared.push(Prepared {
                key: key_ref,
                kind: staged.kind,
                op,
                value_type: staged.value_type,
                expires_at: staged.expires_at,
                record_at: 0,
                key_at: (end - value.len() - staged.key_len) as u32,
                key_len: staged.key_len as u16,
                value_at: (end - value.len()) as u32,
                value_len: value.len() as u32,
                is_void: false,
            });
        }
        let header = self
            .core
            .header(self.place.table, self.place.leaf, Kind::Batch, op);
        if votes.is_none() {
            self.note_applied(op);
        }
        if let (Some(votes), Some(header)) = (votes, header) {
            let writer = self.context.writer;
            let entries = prepared.into_iter();
            let header = Header {
                request: named.map(|it| it.id),
                ..header
            };
            let outcome = named.and_then(|it| it.outcome);
            let record = self
                .core
                .log
                .prepare_batch(&header, &encoded, outcome, entries, votes, writer);
            self.hold(votes, op, record);
        }
        staging.encoded = encoded;
        self.note(named, op);
    }

    /// Prepares a record that says nothing but that the request was executed.
    fn write_id(&mut self, named: Named<'_>) {
        let table = self.place.table;
        let partition = self.partition_mut();
        let op = partition.op.next();
        partition.op = op;
        let key = KeyRef {
            table: table as u32,
            partition: partition.local,
            hash: KeyHash(0),
        };
        let votes = self.state().votes(self.partition());
        if votes.is_none() {
            self.note_applied(op);
        }
        let header = self.core.header(table, self.place.leaf, Kind::Batch, op);
        if let (Some(votes), Some(header)) = (votes, header) {
            let header = Header {
                request: Some(named.id),
                ..header
            };
            let log = &mut self.core.log;
            let record = log.prepare_id(key, &header, named.outcome, votes);
            self.hold(votes, op, record);
        }
        self.note(Some(named), op);
    }

    #[inline]
    fn note_applied(&mut self, op: Op) {
        self.core
            .note_applied((self.place.table, self.place.leaf), op);
    }

    #[inline]
    fn hold(&mut self, votes: Votes, op: Op, record: RecordIndex) {
        let at = (self.place.table, self.place.leaf);
        let Core {
            tables,
            log,
            replicas,
            ..
        } = self.core;
        replicas.hold((tables, log), at, votes, (op, record));
        self.read_set.dependency = self.read_set.dependency.and(log.dependency(votes));
    }

    #[inline]
    fn note(&mut self, named: Option<Named<'_>>, op: Op) {
        if let Some(named) = named {
            self.note_named(named, op);
        }
    }

    #[cold]
    fn note_named(&mut self, named: Named<'_>, op: Op) {
        let Self { core, place, .. } = self;
        let (at, request) = ((place.table, place.leaf), (named.id, op));
        core.tables
            .note_request_at(at, request, named.outcome, core.unix);
    }
}

/// The id of the request that a write belongs to, and the reply as far as it is kept.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) id: RequestId,
    pub(super) outcome: Option<&'a [u8]>,
}

/// An operation of a partition with neither a log nor another replica commits, in a table that keeps its changes.
#[cold]
pub(crate) fn note_ops(
    replicas: &Replicas,
    state: &mut TableState,
    (leaf, partition): (usize, PartitionId),
    op: Op,
) {
    let view_at = |op| replicas.replicator().view_at(partition, op);
    state.note_ops(leaf, (op, op), view_at);
}

fn apply_unlogged(
    state: &mut TableState,
    (key, leaf): (KeyRef, usize),
    kind: Kind,
    op: Op,
    name: &[u8],
    put: &NewValue<'_>,
) {
    if state.keeps_changes() {
        let outcome = Outcome {
            op,
            kind,
            value_type: put.value_type,
            expires_at: put.expires_at,
            name,
            value: put.value,
        };
        state.note_change(leaf, key, &outcome);
    }
    let KeyRef {
        partition, hash, ..
    } = key;
    if kind == Kind::Put {
        let joined;
        let value = match put.value {
            [whole] => *whole,
            pieces => {
                joined = pieces.concat();
                &joined[..]
            }
        };
        let after = Some((put.value_type, value));
        state.note_end_of_value((partition, hash), name, after);
        let put = Put {
            value: ValueRef::Hot(value),
            expires_at: put.expires_at,
            op,
            position: Position::NONE,
            value_type: put.value_type,
        };
        let applied = state.table.put(partition, hash, name, &put);
        assert!(applied.is_ok(), "admission refuses a put that does not fit");
    } else {
        state.note_end_of_value((partition, hash), name, None);
        state.table.remove(partition, hash, name, op);
    }
    state.stats.writes.add(1);
}
