//! How one command sees and changes one partition: newest state in, prepared operations out.
//!
//! In:  a command's reads and writes ([`Keyspace`]). Out: records in the log's batch, and the
//!      [`CommitDependency`] that the command's reply waits for.
//!
//! Invariants:
//! - A command that may write decides against the newest prepared value, and its answer waits for
//!   that value to commit, whether it wrote or not (rule `answers wait for prepared values`).
//! - A command that only reads is served from committed state, unless its own connection has a
//!   prepared write on the key: then it sees that write, and waits for it (rule `reads follow own writes`).
//! - What it sees of several keys was there at one moment: if one of them is a prepared write, all are (rule
//!   `reads of several keys see one moment`).
//! - What several writes of one command do is one record: all or nothing.
//! - An expired key is gone only once its removal has committed (rules `removals name what they remove` and
//!   `only the primary expires keys`).
//!
//! The files: `due` (fields whose time is over), `keyspace` (the trait), `newest` (what a key holds), `parts` (of hashes), `steps` (of a transaction), `write` (what becomes of writes).

mod due;
mod keyspace;
mod newest;
mod parts;
mod steps;
mod write;

use crate::core::Core;
use crate::distributed::Age;
use crate::executed::kept;
use crate::keyspace_events::Cause;
use crate::log::{KeyRef, Writer};
use crate::output::CommitDependency;
use crate::request::Attempt;
use crate::requests::ColdValue;
use crate::settings::Settings;
use crate::tables::{Partition, TableState};
use crate::trackers::Client;
use crate::transaction::Watch;
use crate::version::Version;
use brickyard_command::{ErrorReply, Failure, Keyspace};
use brickyard_metadata::Level;
use brickyard_routing::Location;
use brickyard_table::KeyHash;
use brickyard_types::{Op, Position, TableId};
use newest::ReadSet;
use write::Named;
pub(crate) use write::note_ops;

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
pub(crate) struct RequestContext {
    pub(crate) writer: Writer,
    /// The command changes nothing, so it may be served from committed state.
    pub(crate) reads_only: bool,
    /// It sees what is prepared all the same, whoever has written it.
    pub(crate) sees_prepared: bool,
    /// The command may write more than once: writes are collected into one record.
    pub(crate) writes_many: bool,
    /// It sees and replaces intents of transactions; any other command waits until they are resolved.
    pub(crate) sees_intents: bool,
    /// How many bytes of values it may read, since its asker has room for no more ([`crate::room`]).
    pub(crate) values_max: usize,
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
    context: RequestContext,
    /// The first key and where it is, so that it is hashed once.
    known: (&'a [u8], Location),
    values: &'a [ColdValue],
    read_set: ReadSet,
    wanted: Vec<ColdWanted>,
    expired: Vec<(Location, Vec<u8>)>,
    /// Keys with intents of transactions that are not resolved.
    locked: Vec<Vec<u8>>,
    has_written: bool,
    /// A key has a prepared operation whose outcome is not known here yet: the command must wait for it.
    is_unsettled: bool,
    /// Copies of a key that it writes are being recalled.
    is_recalling: bool,
    /// It would read more than it may.
    reads_past_room: bool,
    reads: Reads,
    /// What happens to keys is told, and that it is for this.
    tells: Option<Cause>,
}

/// Keys looked up by a command, for the table's statistics, and by whom.
#[derive(Debug, Default)]
struct Reads {
    hits: u64,
    misses: u64,
    /// Bytes of values.
    bytes: usize,
    /// What they were when the command of a transaction began that only reads: what it reads is bounded as if it came alone.
    bounded_from: Option<usize>,
    /// Who may keep what is read, if it asks for that.
    lessee: Option<Client>,
}

/// How a command went.
#[derive(Debug)]
pub(crate) struct Finished {
    /// What its reply waits for.
    pub(crate) dependency: CommitDependency,
    /// Values that it needs first; then nothing was written.
    pub(crate) wanted: Vec<ColdWanted>,
    /// It must wait, or be asked of the primary; then nothing was written.
    pub(crate) redirect: Option<Redirect>,
    /// Bytes of values that it would read, for which its asker has no room; then nothing was written.
    pub(crate) values_needed: Option<usize>,
    /// Of several keys it has seen one as it is prepared, and another as it was before that: it is to run again and
    /// see all that is prepared.
    pub(crate) is_fractured: bool,
}

impl Finished {
    /// It needs nothing, and rests on nothing.
    const EMPTY: Self = Self {
        dependency: CommitDependency::NONE,
        wanted: Vec::new(),
        redirect: None,
        values_needed: None,
        is_fractured: false,
    };

    fn with_redirect(redirect: Redirect) -> Self {
        Self {
            redirect: Some(redirect),
            ..Self::EMPTY
        }
    }
}

/// Why a command cannot be answered here and now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redirect {
    /// A prepared operation on one of its keys may commit or be cut (rules `uncommitted ops are voted for again` and
    /// `reads of several keys see one moment`).
    Wait,
    /// A key has expired, which the primary alone decides (rule `only the primary expires keys`), or it has an intent, which
    /// the primary sees resolved.
    AskPrimary,
}

impl<'a> View<'a> {
    #[inline]
    pub(crate) fn new(
        core: &'a mut Core,
        table: usize,
        context: RequestContext,
        known: (&'a [u8], Location),
        values: &'a [ColdValue],
    ) -> Self {
        core.workshop.staging.clear();
        core.workshop.notices.clear();
        if !core.workshop.whole.is_empty() {
            // It may be large, and is read seldom.
            core.workshop.whole = Vec::new();
        }
        let leaf = known.1.leaf as usize;
        if let Some(state) = core.table_mut(table)
            && let Some(Some(partition)) = state.partitions.get_mut(leaf)
        {
            partition.load_meter.note(known.1.slot.0);
            state.key_stats.hot.note(known.1.key_hash, known.0);
        }
        Self {
            core,
            place: Place { table, leaf },
            context,
            known,
            values,
            read_set: ReadSet::new(),
            wanted: Vec::new(),
            expired: Vec::new(),
            locked: Vec::new(),
            has_written: false,
            is_unsettled: false,
            is_recalling: false,
            reads_past_room: false,
            reads: Reads::default(),
            tells: None,
        }
    }

    /// What happens to keys from now on is for this.
    #[inline]
    pub(crate) fn because(&mut self, cause: impl FnOnce() -> Cause) {
        let settings = &self.core.shared.settings;
        if settings.keyspace_events().tell_anything() {
            self.tells = Some(cause());
        }
    }

    /// This client may keep what is read for it.
    #[inline]
    pub(crate) const fn let_keep(&mut self, lessee: Option<Client>) {
        self.reads.lessee = lessee;
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

    #[inline]
    fn state(&self) -> &TableState {
        self.core
            .table(self.place.table)
            .expect("checked before the command ran")
    }

    #[inline]
    fn partition(&self) -> &Partition {
        self.state().partitions[self.place.leaf]
            .as_ref()
            .expect("checked before the command ran")
    }

    #[inline]
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

    /// Whether all nodes that were heard know what came with `level`.
    pub(crate) fn all_know(&self, level: Level) -> bool {
        self.core.shared.lowest_level.has(level)
    }

    /// The table that this view is of.
    pub(crate) fn table_id(&self) -> TableId {
        self.state().id
    }

    /// Whether a key is of the partition that this view is of, whatever its slot.
    pub(crate) fn is_in_partition(&self, key: &[u8]) -> bool {
        self.locate(key).leaf == self.known.1.leaf
    }

    /// Whether a watched key is what it was.
    pub(crate) fn is_unchanged(&mut self, watch: &Watch) -> Result<bool, ErrorReply> {
        let found = self.version(&watch.key)?;
        Ok(match (watch.version, found) {
            (Version::Unknown, _) => false,
            (Version::Written(op), found) => found == Some(op),
            (Version::Absent(_), Some(_)) => false,
            (Version::Absent(since), None) => {
                // Expired it exists yet: it was made since, or its removal would have been prepared.
                let is_expired = self.expired.iter().any(|(_, name)| *name == watch.key);
                let location = self.locate(&watch.key);
                let partition = self.partition();
                let key = KeyRef {
                    table: self.place.table as u32,
                    partition: partition.local,
                    hash: KeyHash(location.key_hash),
                };
                let view = partition.status.view;
                !is_expired && !self.core.negative_versions.has_changed(&key, since, view)
            }
        })
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

    /// A key has an intent that stands in a transaction's way.
    pub(crate) fn note_met(&mut self, key: &[u8]) {
        let core = &mut *self.core;
        if let Some(state) = core.tables.get(self.place.table) {
            core.requests.distributed.met.note(state.id, key, core.now);
        }
    }

    /// Reserves a key for a transaction of that age; false: an older one has it, and this waits for that.
    pub(crate) fn reserve_key(&mut self, key: &[u8], age: Age) -> bool {
        let (table, now) = (self.table_id(), self.core.now);
        let is_reserved = self
            .core
            .requests
            .distributed
            .reserved
            .reserve(table, key, age, now);
        if !is_reserved {
            self.locked.push(key.to_vec());
        }
        is_reserved
    }

    /// Whether a transaction older than that has reserved the key.
    pub(crate) fn is_kept_from(&self, key: &[u8], age: Age) -> bool {
        let reserved = &self.core.requests.distributed.reserved;
        !reserved.is_empty() && reserved.is_kept_from(self.table_id(), key, age, self.core.now)
    }

    /// The settings that hold for all bricks.
    pub(crate) fn settings(&self) -> &Settings {
        &self.core.shared.settings
    }

    /// Whether a command that only reads has asked for more than its client may leave unread.
    #[cold]
    fn reads_too_much(&self) -> bool {
        let max = Settings::load(&self.settings().output_bytes_max);
        let from = self.reads.bounded_from;
        let from = from.or_else(|| self.context.reads_only.then_some(0));
        from.is_some_and(|from| (self.reads.bytes - from) as u64 > max)
    }

    /// Ends the command: what it staged becomes one record, and what it found expired is removed.
    #[inline(always)]
    pub(crate) fn finish(mut self) -> Finished {
        self.note_locked();
        self.await_leases_of_expired();
        if let Some(redirect) = self.redirect() {
            return Finished::with_redirect(redirect);
        }
        if !self.wanted.is_empty() || self.reads_past_room {
            return Finished {
                values_needed: self.values_needed(),
                wanted: self.wanted,
                ..Finished::EMPTY
            };
        }
        if self.context.reads_only && !self.context.sees_prepared && self.read_set.is_fractured() {
            return Finished {
                is_fractured: true,
                ..Finished::EMPTY
            };
        }
        if self.context.reads_only {
            let stats = &self.state().stats;
            stats.hits.add(self.reads.hits);
            stats.misses.add(self.reads.misses);
        }
        if !self.expired.is_empty() && !self.remove_expired() {
            self.publish_notices();
            return Finished::with_redirect(Redirect::Wait);
        }
        if self.context.writes_many {
            self.write_staged(None);
        }
        self.publish_notices();
        Finished {
            dependency: self.read_set.dependency,
            ..Finished::EMPTY
        }
    }

    /// Ends a request with an id: `reply` is its outcome, an error if it has failed. What it wrote carries both;
    /// if it wrote nothing they are noted all the same: another attempt, after what its client sent next was
    /// executed, must not come to another end.
    pub(crate) fn finish_request(
        mut self,
        request: Attempt,
        reply: &[u8],
        has_failed: bool,
    ) -> Finished {
        self.note_locked();
        self.await_leases_of_expired();
        if has_failed {
            self.core.workshop.staging.clear();
            self.core.workshop.notices.clear();
        }
        let redirect = self.redirect();
        if redirect.is_some() || !self.wanted.is_empty() || self.reads_past_room {
            return Finished {
                values_needed: self.values_needed(),
                wanted: self.wanted,
                redirect,
                ..Finished::EMPTY
            };
        }
        if !self.expired.is_empty() {
            self.remove_expired();
        }
        self.write_staged(Some(Named {
            id: request.id,
            outcome: kept(reply),
        }));
        self.publish_notices();
        Finished {
            dependency: self.read_set.dependency,
            ..Finished::EMPTY
        }
    }

    /// Whoever has met intents waits for them: they are seen resolved, should nobody else do that.
    #[inline]
    fn note_locked(&mut self) {
        if !self.locked.is_empty() {
            let locked = std::mem::take(&mut self.locked);
            locked.iter().for_each(|key| self.note_met(key));
            self.core.requests.distributed.has_waiters = true;
            self.locked = locked;
        }
    }

    fn values_needed(&self) -> Option<usize> {
        self.reads_past_room.then_some(self.reads.bytes)
    }

    #[inline]
    fn redirect(&self) -> Option<Redirect> {
        if self.is_unsettled || self.is_recalling {
            return Some(Redirect::Wait);
        }
        if !self.locked.is_empty() {
            // A copy does not hear when they are resolved.
            return Some(match self.partition().is_primary() {
                true => Redirect::Wait,
                false => Redirect::AskPrimary,
            });
        }
        if self.expired.is_empty() {
            return None;
        }
        let partition = self.partition();
        if !partition.is_primary() {
            return Some(Redirect::AskPrimary);
        }
        // Rule `only the primary expires keys`: a removal that cannot be prepared now is not pretended; the command
        // waits, and is refused in time.
        let may_write = partition.status.accepts_writes && !self.core.is_adopting();
        (!may_write).then_some(Redirect::Wait)
    }

    /// Ends a command that failed: nothing that it staged happens. What it was decided against
    /// must still commit before the error is told.
    pub(crate) fn abandon(mut self) -> Finished {
        self.note_locked();
        self.await_leases_of_expired();
        self.core.workshop.staging.clear();
        self.core.workshop.notices.clear();
        let mut redirect = self.redirect();
        if redirect.is_none() && !self.expired.is_empty() && self.wanted.is_empty() {
            redirect = (!self.remove_expired()).then_some(Redirect::Wait);
            if redirect.is_none() && self.context.writes_many {
                // Nothing of the command, but what goes of hashes in parts.
                self.write_staged(None);
            }
        }
        self.publish_notices();
        Finished {
            dependency: self.read_set.dependency,
            values_needed: self.values_needed(),
            wanted: self.wanted,
            redirect,
            is_fractured: false,
        }
    }
}

/// The version of a key that does not exist now.
pub(crate) fn watch_absent(core: &mut Core, table: usize, name: &[u8]) -> Version {
    let Some(location) = core.locate(table, name) else {
        return Version::Unknown;
    };
    let state = core.table(table);
    let Some(Some(partition)) = state.and_then(|it| it.partitions.get(location.leaf as usize))
    else {
        return Version::Unknown;
    };
    let (view, local) = (partition.status.view, partition.local);
    let key = KeyRef {
        table: table as u32,
        partition: local,
        hash: KeyHash(location.key_hash),
    };
    Version::Absent(core.negative_versions.watch(key, name, view, core.now))
}

fn error(line: String) -> Failure {
    Failure::Error(ErrorReply::new(line))
}
