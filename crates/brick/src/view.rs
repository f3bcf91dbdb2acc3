//! How one command sees and changes one partition: newest state in, prepared operations out.
//!
//! In:  a command's reads and writes ([`Keyspace`]). Out: records in the log's batch, and the
//!      [`Gate`] that the command's reply waits for.
//!
//! Invariants:
//! - A command that may write decides against the newest prepared value, and its answer waits for
//!   that value to commit, whether it wrote or not (PROTOCOL rule 16).
//! - A command that only reads is served from committed state, unless its own connection has a
//!   prepared write on the key: then it sees that write, and waits for it (rule 26).
//! - What several writes of one command do is one record: all or nothing.
//! - An expired key is gone only once its removal has committed (rules 18 and 34).

use crate::core::{Core, Partition, TableState};
use crate::gather::REPLY_TOO_LONG;
use crate::log::{KeyRef, Prepared, Writer};
use crate::output::Gate;
use crate::settings::Settings;
use crate::staging::{STAGED_BYTES_MAX, Staging};
use brickyard_command::{Entry, ErrorReply, Failure, Keyspace, Probe, Put as CommandPut};
use brickyard_replication::frame::RECORD_BYTES_MAX;
use brickyard_routing::Location;
use brickyard_table::{KeyHash, Put, Value};
use brickyard_types::record::{self, Header, Kind, flag};
use brickyard_types::{Eviction, Medium, Op, PartitionId, Position, UnixMillis, limits};

/// A value of a `disk` table that was read back for a parked command.
#[derive(Debug, Clone)]
pub(crate) struct ColdValue {
    pub(crate) key: KeyRef,
    pub(crate) op: Op,
    pub(crate) value: Vec<u8>,
}

impl ColdValue {
    /// Values are lent to a command in this order.
    pub(crate) fn order(&self) -> (Op, KeyHash) {
        (self.op, self.key.hash)
    }
}

/// A value that must be read back before the command can run.
#[derive(Debug, Clone)]
pub(crate) struct ColdWanted {
    pub(crate) place: Place,
    pub(crate) hash: KeyHash,
    pub(crate) name: Vec<u8>,
    pub(crate) op: Op,
    pub(crate) position: Position,
    pub(crate) value_len: u32,
}

/// Who is asking, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker {
    pub(crate) writer: Writer,
    /// The command changes nothing, so it may be served from committed state.
    pub(crate) reads_only: bool,
    /// The command may write more than once: writes are collected into one record.
    pub(crate) writes_many: bool,
}

/// Which partition a command works on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) table: usize,
    pub(crate) leaf: usize,
}

/// See the module.
pub(crate) struct View<'a> {
    core: &'a mut Core,
    place: Place,
    asker: Asker,
    /// The first key and where it is, so that it is hashed once.
    known: (&'a [u8], Location),
    values: &'a [ColdValue],
    gate: Gate,
    wanted: Vec<ColdWanted>,
    expired: Vec<(Location, Vec<u8>)>,
    has_written: bool,
    /// A key has a prepared operation whose outcome is not known here yet: the command must wait for it.
    is_unsettled: bool,
    reads: Reads,
}

/// More than what stands before the entries of a record.
const HEADER_ROOM: usize = 256;

/// Bytes of values that any command may read; past that the settings are asked.
const READ_BYTES_FREE: usize = 1 << 20;

/// Keys looked up by a command, for the table's statistics.
#[derive(Debug, Default)]
struct Reads {
    hits: u64,
    misses: u64,
    /// Bytes of values.
    bytes: usize,
}

/// How a command went.
#[derive(Debug)]
pub(crate) struct Finished {
    /// What its reply waits for.
    pub(crate) gate: Gate,
    /// Values that it needs first; then nothing was written.
    pub(crate) wanted: Vec<ColdWanted>,
    /// It must wait, or be asked of the primary; then nothing was written.
    pub(crate) detour: Option<Detour>,
}

/// Why a command cannot be answered here and now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detour {
    /// A prepared operation on one of its keys may commit or be cut (PROTOCOL rules 5 and 33).
    Wait,
    /// A key has expired, which the primary alone decides (PROTOCOL rule 34).
    AskPrimary,
}

/// What a key holds, before its value is looked at.
enum Newest<'a> {
    None,
    Hot {
        value: &'a [u8],
        expires_at: Option<UnixMillis>,
        op: Op,
        raw: bool,
    },
    Cold {
        op: Op,
        expires_at: Option<UnixMillis>,
        raw: bool,
        len: u32,
        position: Position,
    },
    Expired,
    /// It has a prepared operation whose outcome is not known.
    Unsettled,
    /// What the key holds may be among what the log has lost.
    Damaged {
        partition: PartitionId,
        table: &'a str,
    },
}

impl<'a> View<'a> {
    pub(crate) fn new(
        core: &'a mut Core,
        table: usize,
        asker: Asker,
        known: (&'a [u8], Location),
        values: &'a [ColdValue],
    ) -> Self {
        core.staging.clear();
        Self {
            core,
            place: Place {
                table,
                leaf: known.1.leaf as usize,
            },
            asker,
            known,
            values,
            gate: Gate::OPEN,
            wanted: Vec::new(),
            expired: Vec::new(),
            has_written: false,
            is_unsettled: false,
            reads: Reads::default(),
        }
    }

    #[inline]
    fn locate(&self, key: &[u8]) -> Location {
        if std::ptr::eq(key, self.known.0) {
            return self.known.1;
        }
        self.core
            .locate(self.place.table, key)
            .unwrap_or(self.known.1)
    }

    fn state(&self) -> &TableState {
        self.core
            .table(self.place.table)
            .expect("checked before the command ran")
    }

    fn partition(&self) -> &Partition {
        self.state().partitions[self.place.leaf]
            .as_ref()
            .expect("checked before the command ran")
    }

    fn partition_mut(&mut self) -> &mut Partition {
        let leaf = self.place.leaf;
        let state = self
            .core
            .table_mut(self.place.table)
            .expect("checked before the command ran");
        state.partitions[leaf]
            .as_mut()
            .expect("checked before the command ran")
    }

    fn check_put(&self, key: &[u8], value_len: usize) -> Result<(), Failure> {
        if key.len() > limits::KEY_BYTES_MAX {
            return Err(error(format!(
                "ERR key is {} bytes long and the longest allowed is {}; use a shorter key",
                key.len(),
                limits::KEY_BYTES_MAX
            )));
        }
        if value_len > self.core.shared.value_bytes_max {
            return Err(Failure::Error(ErrorReply::TOO_LONG));
        }
        // Few bytes of requests can ask for many of values (SETRANGE, COPY in a transaction).
        // Where there are replicas its record must fit into one message to them.
        let bytes_max = if self.partition().is_replicated {
            STAGED_BYTES_MAX.min(RECORD_BYTES_MAX)
        } else {
            STAGED_BYTES_MAX
        };
        let entries = (self.core.staging.len() + 1) * record::ENTRY_HEADER_BYTES;
        let bytes = self.core.staging.bytes() + entries + key.len() + value_len;
        if self.asker.writes_many && bytes + HEADER_ROOM > bytes_max {
            return Err(error(format!(
                "ERR one command or transaction may write {} MiB at most; split it into smaller ones",
                bytes_max >> 20
            )));
        }
        if !self.state().table.has_room(key.len(), value_len) {
            self.core.stats().refused_memory.add(1);
            return Err(error(format!(
                "OOM table '{}' holds as much on brick {} as its index can address; delete keys or use \
                 more bricks",
                self.state().name,
                self.core.id
            )));
        }
        Ok(())
    }

    /// Prepares one put or delete as a record of its own, or applies it where there is no log.
    fn write(&mut self, location: Location, kind: Kind, key: &[u8], put: &CommandPut<'_>) {
        self.has_written = true;
        let partition = self.partition_mut();
        let op = partition.op.next();
        partition.op = op;
        let local = partition.local;
        let key_ref = KeyRef {
            table: self.place.table as u32,
            partition: local,
            hash: KeyHash(location.key_hash),
        };
        let state = self.core.tables[self.place.table]
            .as_mut()
            .expect("checked before the command ran");
        let partition = state.partitions[self.place.leaf]
            .as_ref()
            .expect("checked before the command ran");
        let Some(commits) = state.commits(partition) else {
            apply_unlogged(state, key_ref, kind, op, key, put);
            return;
        };
        let header = Header {
            kind,
            flags: if put.raw { flag::RAW } else { 0 },
            table: state.id,
            partition: partition.id,
            view: partition.view,
            op,
            expires_at: put.expires_at,
            request: None,
            origin: None,
            committed: partition.is_replicated.then_some(partition.committed),
        };
        let id = partition.id;
        let held =
            self.core
                .log
                .prepare(key_ref, &header, key, put.value, commits, self.asker.writer);
        self.core.hand_over(id, held);
        self.gate = self.gate.and(self.core.log.gate(commits));
    }

    /// Removes the key if its record, expired or not, is the one of `op`.
    pub(crate) fn remove_exactly(&mut self, key: &[u8], location: Location, op: Op) -> bool {
        let partition = self.partition_mut();
        // What the log has lost may be newer: a removal would outrank it when it is repaired.
        if op <= partition.damaged {
            return false;
        }
        let (local, is_cleared) = (partition.local, partition.clear.is_some());
        let hash = KeyHash(location.key_hash);
        let found = self.state().table.peek(local, hash, key);
        let is_it = !is_cleared && found.is_some_and(|found| found.op == op);
        if is_it {
            self.write(location, Kind::Delete, key, &NOTHING);
        }
        is_it
    }

    /// The op that wrote the key, for `WATCH`; `None` if it does not exist.
    pub(crate) fn version(&mut self, key: &[u8]) -> Result<Option<Op>, ErrorReply> {
        match self.probe(key) {
            Ok(probe) => Ok(probe.map(|probe| probe.op)),
            Err(Failure::Error(error)) => Err(error),
            Err(Failure::Suspend) => Err(ErrorReply::constant(
                "TRYAGAIN the outcome of a write to this key is not known yet; nothing was executed",
            )),
        }
    }

    /// The settings that hold for all bricks.
    pub(crate) fn settings(&self) -> &Settings {
        &self.core.shared.settings
    }

    /// Whether a command that only reads has asked for more than its client may leave unread.
    #[cold]
    fn reads_too_much(&self) -> bool {
        let max = Settings::load(&self.settings().output_bytes_max);
        self.asker.reads_only && self.reads.bytes as u64 > max
    }

    /// How much has been staged, for [`Self::take_back`].
    pub(crate) fn staged(&self) -> usize {
        self.core.staging.len()
    }

    /// Takes back what a command of a transaction staged before it failed.
    pub(crate) fn take_back(&mut self, staged: usize) {
        self.core.staging.truncate(staged);
    }

    /// Ends the command: what it staged becomes one record, and what it found expired is removed.
    pub(crate) fn finish(mut self) -> Finished {
        if let Some(detour) = self.detour() {
            return Finished {
                gate: Gate::OPEN,
                wanted: Vec::new(),
                detour: Some(detour),
            };
        }
        if !self.wanted.is_empty() {
            return Finished {
                gate: Gate::OPEN,
                wanted: self.wanted,
                detour: None,
            };
        }
        if self.asker.reads_only {
            let stats = &self.state().stats;
            stats.hits.add(self.reads.hits);
            stats.misses.add(self.reads.misses);
        }
        if !self.expired.is_empty() {
            self.remove_expired();
        }
        if self.asker.writes_many {
            self.write_staged();
        }
        Finished {
            gate: self.gate,
            wanted: Vec::new(),
            detour: None,
        }
    }

    #[inline]
    fn detour(&self) -> Option<Detour> {
        if self.is_unsettled {
            return Some(Detour::Wait);
        }
        if self.expired.is_empty() {
            return None;
        }
        let partition = self.partition();
        if !partition.is_primary() {
            return Some(Detour::AskPrimary);
        }
        // PROTOCOL rule 34: a removal that cannot be prepared now is not pretended; the command waits, and is
        // refused in time.
        let may_write = partition.status.accepts_writes && !self.core.is_adopting();
        (!may_write).then_some(Detour::Wait)
    }

    /// Ends a command that failed: nothing that it staged happens. What it was decided against
    /// must still commit before the error is told.
    pub(crate) fn abandon(mut self) -> Finished {
        self.core.staging.clear();
        let detour = self.detour();
        if detour.is_none() && !self.expired.is_empty() && self.wanted.is_empty() {
            self.remove_expired();
        }
        Finished {
            gate: self.gate,
            wanted: self.wanted,
            detour,
        }
    }

    fn remove_expired(&mut self) {
        // A removal is a write: it is decided against the newest prepared value, or it would eat a
        // value that was set meanwhile (PROTOCOL rule 18).
        self.asker.reads_only = false;
        for (location, key) in std::mem::take(&mut self.expired) {
            let Self {
                core,
                place,
                asker,
                values,
                gate,
                ..
            } = self;
            let is_still_there = matches!(
                newest(core, *place, *asker, values, &key, location, gate),
                Newest::Expired
            );
            if is_still_there {
                self.write(location, Kind::Delete, &key, &NOTHING);
                self.state().stats.expired.add(1);
            }
        }
    }

    fn write_staged(&mut self) {
        let mut staging = std::mem::take(&mut self.core.staging);
        let live = staging.live().count();
        if live == 1 {
            if let Some(staged) = staging.live().next() {
                let value = [staging.value(staged)];
                let put = CommandPut {
                    value: &value,
                    expires_at: staged.expires_at,
                    raw: staged.raw,
                };
                self.write(staged.location, staged.kind, staging.key(staged), &put);
            }
        } else if live > 1 {
            self.write_batch(&mut staging);
        }
        staging.clear();
        self.core.staging = staging;
    }

    fn write_batch(&mut self, staging: &mut Staging) {
        self.has_written = true;
        let partition = self.partition_mut();
        let op = partition.op.next();
        partition.op = op;
        let local = partition.local;
        let state = self.core.tables[self.place.table]
            .as_mut()
            .expect("checked before the command ran");
        let partition = state.partitions[self.place.leaf].as_ref();
        let commits = partition.and_then(|partition| state.commits(partition));
        let mut prepared = Vec::with_capacity(staging.len());
        let mut encoded = std::mem::take(&mut staging.encoded);
        for staged in staging.live() {
            let key_ref = KeyRef {
                table: self.place.table as u32,
                partition: local,
                hash: KeyHash(staged.location.key_hash),
            };
            let value = staging.value(staged);
            if commits.is_none() {
                let put = CommandPut {
                    value: &[value],
                    expires_at: staged.expires_at,
                    raw: staged.raw,
                };
                apply_unlogged(state, key_ref, staged.kind, op, staging.key(staged), &put);
                continue;
            }
            record::encode_entry(
                &mut encoded,
                &record::Entry {
                    kind: staged.kind,
                    flags: if staged.raw { flag::RAW } else { 0 },
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
                raw: staged.raw,
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
        if let (Some(commits), Some(header)) = (commits, header) {
            let writer = self.asker.writer;
            let entries = prepared.into_iter();
            let held = self
                .core
                .log
                .prepare_batch(&header, &encoded, entries, commits, writer);
            self.core.hand_over(header.partition, held);
            self.gate = self.gate.and(self.core.log.gate(commits));
        }
        staging.encoded = encoded;
    }
}

/// What the key holds for this command; notes in `gate` what the reply must wait for.
#[inline]
fn newest<'c>(
    core: &'c mut Core,
    place: Place,
    asker: Asker,
    values: &'c [ColdValue],
    key: &[u8],
    location: Location,
    gate: &mut Gate,
) -> Newest<'c> {
    let Core {
        tables,
        log,
        staging,
        unix,
        ..
    } = core;
    let unix = *unix;
    let state = tables[place.table]
        .as_mut()
        .expect("checked before the command ran");
    let partition = state.partitions[place.leaf]
        .as_ref()
        .expect("checked before the command ran");
    let hash = KeyHash(location.key_hash);
    if asker.writes_many
        && let Some(staged) = staging.find(location.key_hash, key)
    {
        return match staged.kind {
            Kind::Put if !is_due(staged.expires_at, unix) => Newest::Hot {
                value: staging.value(staged),
                expires_at: staged.expires_at,
                op: partition.op.next(),
                raw: staged.raw,
            },
            _ => Newest::None,
        };
    }
    if !log.has_no_pending() || partition.clear.is_some() {
        let key_ref = KeyRef {
            table: place.table as u32,
            partition: partition.local,
            hash,
        };
        let pending = log.pending(key_ref, partition.id, key).filter(|pending| {
            if asker.reads_only && partition.is_unsettled(pending.prepared.op) {
                return true;
            }
            let is_foreign = pending.writer != asker.writer && pending.writer != Writer::MANY;
            let is_cleared = partition
                .clear
                .is_some_and(|clear| clear.op > pending.prepared.op);
            !(is_cleared || asker.reads_only && is_foreign)
        });
        if let Some(pending) = pending {
            let is_unsettled = asker.reads_only && partition.is_unsettled(pending.prepared.op);
            if is_unsettled || pending.is_given_up {
                return Newest::Unsettled;
            }
            *gate = gate.and(pending.gate);
            let prepared = pending.prepared;
            return match prepared.kind {
                Kind::Put if is_due(prepared.expires_at, unix) => Newest::Expired,
                Kind::Put => Newest::Hot {
                    value: pending.value,
                    expires_at: prepared.expires_at,
                    op: prepared.op,
                    raw: prepared.raw,
                },
                _ => Newest::None,
            };
        }
        if let Some(clear) = partition.clear {
            let is_unsettled = asker.reads_only && partition.is_unsettled(clear.op);
            if is_unsettled || log.has_given_up(clear.gate.replicated) {
                return Newest::Unsettled;
            }
            *gate = gate.and(clear.gate);
            return Newest::None;
        }
    }
    let Some(found) = state.table.get(partition.local, hash, key) else {
        return if partition.damaged == Op(0) {
            Newest::None
        } else {
            Newest::Damaged {
                partition: partition.id,
                table: &state.name,
            }
        };
    };
    if found.op <= partition.damaged {
        return Newest::Damaged {
            partition: partition.id,
            table: &state.name,
        };
    }
    if is_due(found.expires_at, unix) {
        return Newest::Expired;
    }
    let (expires_at, op, raw) = (found.expires_at, found.op, found.is_raw);
    match found.value {
        Value::Hot(value) => Newest::Hot {
            value,
            expires_at,
            op,
            raw,
        },
        Value::Cold { len } => match values.binary_search_by_key(&(op, hash), ColdValue::order) {
            Ok(at) => Newest::Hot {
                value: &values[at].value,
                expires_at,
                op,
                raw,
            },
            Err(_) => Newest::Cold {
                op,
                expires_at,
                raw,
                len: len as u32,
                position: found.position,
            },
        },
    }
}

#[cold]
fn damaged(partition: PartitionId, table: &str) -> Failure {
    error(format!(
        "DAMAGED partition {partition} of table '{table}' may have lost a write to this key, since its \
         log is damaged (INFO persistence says where). SET the key anew, or stop the node and run \
         \"brickyard inspect\""
    ))
}

fn error(line: String) -> Failure {
    Failure::Error(ErrorReply::new(line))
}

fn note_expired(expired: &mut Vec<(Location, Vec<u8>)>, location: Location, key: &[u8]) {
    // One that is named twice is removed once: the second removal finds the first.
    if expired.last().is_none_or(|(_, name)| name != key) {
        expired.push((location, key.to_vec()));
    }
}

const NOTHING: CommandPut<'static> = CommandPut {
    value: &[],
    expires_at: None,
    raw: false,
};

#[inline]
fn is_due(expires_at: Option<UnixMillis>, now: UnixMillis) -> bool {
    expires_at.is_some_and(|at| at < now)
}

fn apply_unlogged(
    state: &mut TableState,
    key: KeyRef,
    kind: Kind,
    op: Op,
    name: &[u8],
    put: &CommandPut<'_>,
) {
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
        let put = Put {
            value: Value::Hot(value),
            expires_at: put.expires_at,
            op,
            position: Position::NONE,
            is_raw: put.raw,
        };
        let applied = state.table.put(partition, hash, name, &put);
        assert!(applied.is_ok(), "admission refuses a put that does not fit");
    } else {
        state.table.remove(partition, hash, name, op);
    }
    state.stats.writes.add(1);
}

impl Keyspace for View<'_> {
    #[inline]
    fn now(&self) -> UnixMillis {
        self.core.unix
    }

    #[inline]
    fn value_bytes_max(&self) -> usize {
        self.core.shared.value_bytes_max
    }

    #[inline]
    fn read(&mut self, key: &[u8]) -> Result<Option<Entry<'_>>, Failure> {
        if self.reads.bytes > READ_BYTES_FREE && self.reads_too_much() {
            return Err(Failure::Error(REPLY_TOO_LONG));
        }
        let location = self.locate(key);
        let Self {
            core,
            place,
            asker,
            values,
            gate,
            wanted,
            expired,
            is_unsettled,
            reads,
            ..
        } = self;
        match newest(core, *place, *asker, values, key, location, gate) {
            Newest::Hot {
                value,
                expires_at,
                op,
                raw,
            } => {
                reads.hits += 1;
                reads.bytes += value.len();
                Ok(Some(Entry {
                    value,
                    expires_at,
                    op,
                    raw,
                }))
            }
            Newest::None => {
                reads.misses += 1;
                Ok(None)
            }
            Newest::Expired => {
                reads.misses += 1;
                note_expired(expired, location, key);
                Ok(None)
            }
            Newest::Unsettled => {
                *is_unsettled = true;
                Err(Failure::Suspend)
            }
            Newest::Damaged { partition, table } => Err(damaged(partition, table)),
            Newest::Cold {
                op, len, position, ..
            } => {
                reads.bytes += len as usize;
                wanted.push(ColdWanted {
                    place: *place,
                    hash: KeyHash(location.key_hash),
                    name: key.to_vec(),
                    op,
                    position,
                    value_len: len,
                });
                Err(Failure::Suspend)
            }
        }
    }

    #[inline]
    fn probe(&mut self, key: &[u8]) -> Result<Option<Probe>, Failure> {
        let location = self.locate(key);
        let Self {
            core,
            place,
            asker,
            values,
            gate,
            expired,
            is_unsettled,
            reads,
            ..
        } = self;
        match newest(core, *place, *asker, values, key, location, gate) {
            Newest::None => {
                reads.misses += 1;
                Ok(None)
            }
            Newest::Expired => {
                reads.misses += 1;
                note_expired(expired, location, key);
                Ok(None)
            }
            Newest::Unsettled => {
                *is_unsettled = true;
                Err(Failure::Suspend)
            }
            Newest::Damaged { partition, table } => Err(damaged(partition, table)),
            Newest::Hot {
                value,
                expires_at,
                op,
                raw,
            } => {
                reads.hits += 1;
                Ok(Some(Probe {
                    value_len: value.len(),
                    expires_at,
                    op,
                    raw,
                }))
            }
            Newest::Cold {
                op,
                expires_at,
                raw,
                len,
                ..
            } => {
                reads.hits += 1;
                Ok(Some(Probe {
                    value_len: len as usize,
                    expires_at,
                    op,
                    raw,
                }))
            }
        }
    }

    fn put(&mut self, key: &[u8], put: CommandPut<'_>) -> Result<(), Failure> {
        let location = self.locate(key);
        self.check_put(key, put.value.iter().map(|piece| piece.len()).sum())?;
        if self.asker.writes_many {
            self.core.staging.push(location, Kind::Put, key, &put);
        } else {
            assert!(
                !self.has_written,
                "a command that writes more than once must say so"
            );
            self.write(location, Kind::Put, key, &put);
        }
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool, Failure> {
        if self.probe(key)?.is_none() {
            return Ok(false);
        }
        let location = self.locate(key);
        if self.asker.writes_many {
            self.core
                .staging
                .push(location, Kind::Delete, key, &NOTHING);
        } else {
            self.write(location, Kind::Delete, key, &NOTHING);
        }
        Ok(true)
    }

    fn database(&self) -> Option<u16> {
        match self.state().name.as_str() {
            "default" => Some(0),
            name => name.parse().ok().filter(|number| (1..16).contains(number)),
        }
    }

    fn memory_bytes(&mut self, key: &[u8]) -> Result<Option<usize>, Failure> {
        let Some(probe) = self.probe(key)? else {
            return Ok(None);
        };
        let location = self.locate(key);
        let local = self.partition_mut().local;
        let bytes = self
            .state()
            .table
            .record_memory(local, KeyHash(location.key_hash), key);
        // A value that has not committed has no record yet.
        Ok(Some(bytes.unwrap_or(key.len() + probe.value_len)))
    }
}

/// Whether a write must be refused because the table is at its memory bound; makes room first
/// where the table says so.
pub(crate) fn is_out_of_memory(state: &TableState) -> bool {
    state.is_over_memory()
        && state.attributes.medium == Medium::Ram
        && state.attributes.evict == Eviction::None
}

/// A clear of a partition that has not committed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PendingClear {
    pub(crate) op: Op,
    pub(crate) gate: Gate,
}
