//! The replicated partitions of this brick: between the replicator, which knows views and votes, and the
//! tables and the log, which know keys and bytes.
//!
//! In:  the log's progress, frames of peers, groups of the catalog. Out: operations applied when they have
//!      committed; records of peers in the own log; what clients must be told of writes that were cut.
//!
//! Invariants:
//! - The replicator hears of a record that was prepared here when the own log has it (`log/held`).
//! - A record is applied once it has committed, in the order of its partition.
//! - Without a lease nothing is served and nothing commits (PROTOCOL rules 3 and 22).
//!
//! Not here: streams and messages between bricks (`peer`), who waits for what (`stall`).

use crate::core::{Core, apply_one};
use crate::effect::{BatchId, Effect};
use crate::log::{Commits, HeldId, KeyRef, Prepared};
use crate::output::Lost;
use crate::view::PendingClear;
use brickyard_replication::{
    Config, Entry, Host, LinkId, LogMark, Replicator, Request, Role, Status,
};
use brickyard_routing::{Group, Seat};
use brickyard_table::{KeyHash, LocalPartition};
use brickyard_types::record::{self, ENTRY_HEADER_BYTES, Header, Kind, Record, flag};
use brickyard_types::sabotage::{self, Bug};
use brickyard_types::{Incarnation, Instant, Op, PartitionId, Position, TableId, View};
use hashbrown::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::time::Duration;

/// The lease of a node that is alone in its cluster.
const LEASE_FOR_EVER: Instant = Instant(u64::MAX);

/// How long the lease of a node that was alone lasts when another joins: that one gets no vote in the control
/// plane before this node's bricks know of it, so nobody can have decided anything against them meanwhile.
const LEASE_GRACE: Duration = Duration::from_secs(1);

/// The token of a checkpoint that the replicator waits for.
pub(crate) const SYNC_TOKEN: u64 = u64::MAX;

/// What is known of a request that was set aside, or sent on in vain, and is placed anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placing {
    /// When it is given up.
    pub(crate) until: Instant,
    /// How often it was sent on in vain.
    pub(crate) moves: u32,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Replicas {
    /// Taken out while it works, since it calls back.
    replicator: Option<Box<Replicator<HeldId>>>,
    pub(crate) incarnation: Incarnation,
    places: HashMap<PartitionId, (u32, u32), BuildHasherDefault<PartitionHasher>>,
    /// Until when this brick may serve; and a grant that counts once its catalog is adopted.
    pub(crate) lease: Instant,
    granted: Option<(Instant, u64)>,
    pub(crate) is_leased: bool,
    /// It had a lease in this life of the process.
    pub(crate) was_leased: bool,
    /// Since when it has had none, if it had one.
    unleased_since: Option<Instant>,
    /// Writes whose clients are to be told that nobody knows.
    pub(crate) lost: Vec<Lost>,
    /// Something changed that stalled requests may have waited for.
    pub(crate) is_woken: bool,
    /// The request that is being placed anew.
    pub(crate) placing: Option<Placing>,
    /// Partitions that were cleared: to whoever misses that, the difference is not enough.
    cleared: Vec<(PartitionId, Op)>,
    /// Messages of other bricks, as they came.
    pub(crate) messages: Vec<(Seat, Vec<u8>)>,
    /// A checkpoint is under way, which syncs all batches up to this one, for an acceptance.
    syncing: Option<BatchId>,
    /// Another is wanted, since then more was appended.
    sync_wanted: bool,
}

impl Replicas {
    pub(crate) fn new(me: Seat, eviction_timeout: Duration) -> Self {
        let config = Config {
            eviction_timeout,
            ..Config::new(me)
        };
        Self {
            replicator: Some(Box::new(Replicator::new(config))),
            incarnation: me.incarnation,
            places: HashMap::default(),
            lease: Instant(0),
            granted: None,
            is_leased: false,
            was_leased: false,
            unleased_since: None,
            lost: Vec::new(),
            is_woken: false,
            placing: None,
            cleared: Vec::new(),
            messages: Vec::new(),
            syncing: None,
            sync_wanted: false,
        }
    }

    pub(crate) fn place(&mut self, partition: PartitionId, table: usize, leaf: usize) {
        self.places.insert(partition, (table as u32, leaf as u32));
    }

    pub(crate) fn wake(&mut self) {
        self.is_woken = true;
    }

    /// The replicator, for questions.
    pub(crate) fn replicator(&self) -> &Replicator<HeldId> {
        self.replicator
            .as_deref()
            .expect("the replicator asks no questions of itself")
    }

    pub(crate) fn replicator_mut(&mut self) -> &mut Replicator<HeldId> {
        self.replicator
            .as_deref_mut()
            .expect("the replicator asks no questions of itself")
    }

    /// A lease was granted, for those who have adopted that version of the catalog (PROTOCOL rule 3). One until
    /// instant 0 ends whatever was granted before (rule 22).
    pub(crate) fn grant(&mut self, until: Instant, version: u64, adopted: u64) {
        if until == Instant(0) {
            self.lease = until;
            self.granted = None;
        } else if version <= adopted || sabotage::is(Bug::GrantBeforeAdoption) {
            self.lease = self.lease.max(until);
        } else {
            self.granted = Some((until, version));
        }
    }

    /// Whether the lease has been lost for so long that others will have taken over.
    pub(crate) fn is_cut_off(&self, now: Instant, patience: Duration) -> bool {
        self.unleased_since
            .is_some_and(|since| now - since >= patience)
    }

    /// Looks at the lease, before anything is served (PROTOCOL rule 22).
    #[inline]
    pub(crate) fn check_lease(&mut self, now: Instant) {
        let is_leased = now < self.lease || sabotage::is(Bug::ReadsWithoutLease);
        if is_leased != self.is_leased {
            self.is_leased = is_leased;
            self.was_leased |= is_leased;
            self.unleased_since = (!is_leased).then_some(now);
            self.is_woken |= is_leased;
            if let Some(replicator) = self.replicator.as_deref_mut() {
                replicator.lease(is_leased);
            }
        }
    }
}

impl Core {
    /// This brick in this life.
    pub(crate) fn seat(&self) -> Seat {
        Seat {
            member: self.member(),
            incarnation: self.replicas.incarnation,
        }
    }

    /// Lets the replicator work on this brick.
    pub(crate) fn replicate<R>(
        &mut self,
        work: impl FnOnce(&mut Replicator<HeldId>, &mut Self) -> R,
    ) -> R {
        let mut replicator = self
            .replicas
            .replicator
            .take()
            .expect("the replicator does not call itself");
        let result = work(&mut replicator, self);
        self.replicas.replicator = Some(replicator);
        result
    }

    pub(crate) fn adopt_replica(&mut self, table: usize, partition: PartitionId, group: &Group) {
        let Some(state) = self.table(table) else {
            return;
        };
        let (id, durability) = (state.id, state.attributes.durability);
        let min_in_sync = state.attributes.min_in_sync;
        self.doubt_former(partition, group.lineage);
        self.replicate(|replicator, core| {
            replicator.adopt(core, id, partition, durability, min_in_sync, group);
        });
        self.refresh(partition);
    }

    pub(crate) fn forget_replica(&mut self, partition: PartitionId) {
        self.replicate(|replicator, core| replicator.forget(core, partition));
        self.replicas.places.remove(&partition);
    }

    pub(crate) fn end_adoption(&mut self, version: u64) {
        self.replicas.replicator_mut().adopted(version);
        if self.catalog.nodes().count() > 1 && self.replicas.lease == LEASE_FOR_EVER {
            // There is somebody else now: only grants that end count from here on.
            self.replicas.lease = self.now + LEASE_GRACE;
        }
        if let Some((until, wanted)) = self.replicas.granted
            && wanted <= version
        {
            self.replicas.granted = None;
            self.replicas.lease = self.replicas.lease.max(until);
        }
        self.replicas.wake();
    }

    /// The brick's partition of that id.
    fn partition_of(&mut self, id: PartitionId) -> Option<&mut crate::core::Partition> {
        let (table, leaf) = *self.replicas.places.get(&id)?;
        let state = self.tables.get_mut(table as usize)?.as_mut()?;
        state.partitions.get_mut(leaf as usize)?.as_mut()
    }

    /// A partition that goes on in another history has lost something: requests of the former one may have been
    /// executed, and seen, and are not known here (PROTOCOL rules 19, 21 and 36).
    fn doubt_former(&mut self, partition: PartitionId, lineage: u32) {
        let now = self.unix;
        if let Some(it) = self.partition_of(partition)
            && lineage > it.lineage
        {
            it.lineage = lineage;
            it.doubt_requests(now);
        }
    }

    /// Copies what the replicator knows of a partition to where commands look.
    fn refresh(&mut self, id: PartitionId) {
        let replicator = self.replicas.replicator();
        let status = replicator.status(id);
        let (last, committed) = (replicator.last(id).1, replicator.committed(id));
        if let Some(partition) = self.partition_of(id) {
            partition.view = status.view;
            partition.status = status;
            // Nothing is prepared that the replicator has not heard of: the next op follows its last.
            partition.op = last;
            // A full copy ends with a commit position and no commits.
            partition.committed = partition.committed.max(committed);
        }
    }

    /// A record of a replicated partition without a log: the replicator hears of it at once.
    pub(crate) fn hand_over(&mut self, partition: PartitionId, held: Option<HeldId>) {
        if let Some(held) = held {
            self.replicas
                .replicator_mut()
                .prepared(partition, LogMark::NONE, held);
        }
    }

    /// A batch is in the own log: the replicator hears of what was prepared in it.
    pub(crate) fn replicas_appended(&mut self, id: BatchId) {
        let fresh = self.log.take_fresh(id);
        self.replicate(|replicator, core| {
            for (partition, held) in fresh {
                replicator.prepared(partition, LogMark(id.0), held);
            }
            replicator.on_appended(core, LogMark(id.0));
        });
    }

    pub(crate) fn replicas_synced(&mut self, upto: BatchId) {
        self.replicate(|replicator, core| replicator.on_synced(core, LogMark(upto.0)));
    }

    pub(crate) fn replicas_refused(&mut self, from: BatchId) {
        self.replicate(|replicator, core| replicator.on_refused(core, LogMark(from.0)));
    }

    /// The sync that the replicator asked for is done.
    pub(crate) fn on_sync_done(&mut self, is_well: bool) {
        let Some(upto) = self.replicas.syncing.take() else {
            return;
        };
        if is_well || sabotage::is(Bug::FailedSyncIgnored) {
            self.replicas_synced(upto);
        }
        // A sync covers what was appended before it was asked for, and nothing that came later.
        if std::mem::take(&mut self.replicas.sync_wanted) || !is_well {
            self.carry(Request::SyncLog);
        }
    }

    /// Ends a turn: frames are made, wishes become effects.
    pub(crate) fn flush_replicas(&mut self) {
        for (partition, op) in std::mem::take(&mut self.replicas.cleared) {
            self.replicas.replicator_mut().raise_horizon(partition, op);
        }
        self.replicate(|replicator, core| replicator.flush(core));
        while let Some(request) = self.replicas.replicator_mut().poll_request() {
            self.carry(request);
        }
    }

    fn carry(&mut self, request: Request) {
        use crate::effect::ControlRequest;
        let effect = match request {
            Request::Dial(seat) => Effect::Dial(seat),
            Request::SyncLog => {
                // What was appended before is covered by a checkpoint; what is being built syncs itself.
                let upto = BatchId(self.log.building_id().0 - 1);
                if self.log.sync_building() {
                    return;
                }
                if self.replicas.syncing.is_some() {
                    self.replicas.sync_wanted = true;
                    return;
                }
                self.replicas.syncing = Some(upto);
                Effect::Checkpoint(SYNC_TOKEN)
            }
            Request::Promote {
                partition,
                view,
                learner,
            } => Effect::Control(
                0,
                ControlRequest::Promote {
                    partition,
                    view,
                    learner,
                },
            ),
            Request::Evict {
                partition,
                view,
                backup,
            } => Effect::Control(
                0,
                ControlRequest::Evict {
                    partition,
                    view,
                    backup,
                },
            ),
            Request::CatchUp {
                partition,
                learner,
                link,
                after,
            } => return self.catch_ups.begin(partition, learner, link, after),
            Request::StopCatchUp { partition, learner } => {
                return self.catch_ups.stop(partition, learner);
            }
            Request::Close { link, reason } => Effect::ClosePeer(link, reason.to_owned()),
            Request::Report { partition, what } => {
                Effect::Report(format!("partition {partition}: {what}"))
            }
        };
        self.effects.push_back(effect);
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

    pub(crate) fn place_of(&self, id: PartitionId) -> Result<(usize, usize), String> {
        let (table, leaf) = self
            .replicas
            .places
            .get(&id)
            .ok_or("the partition is not on this brick")?;
        Ok((*table as usize, *leaf as usize))
    }

    fn commits_of(&self, table: usize, leaf: usize) -> Result<Commits, String> {
        let state = self.table(table).ok_or("the table is gone")?;
        let partition = state.partitions.get(leaf).and_then(Option::as_ref);
        match partition.and_then(|partition| state.commits(partition)) {
            Some(commits @ Commits::Voted { .. }) => Ok(commits),
            _ => Err("the partition is not replicated here".to_owned()),
        }
    }

    /// Durably notes that the brick holds the partition no more.
    pub(crate) fn append_drop(&mut self, table: usize, partition: &crate::core::Partition) {
        if let Some(state) = self.table(table).filter(|state| state.is_logged()) {
            let last = (partition.view, partition.op);
            self.append_drop_of(state.id, partition.id, last);
        }
    }

    /// The same of a partition that is known from the log alone.
    pub(crate) fn append_drop_of(
        &mut self,
        table: TableId,
        partition: PartitionId,
        (view, op): (View, Op),
    ) {
        let header = Header {
            kind: Kind::Drop,
            flags: 0,
            table,
            partition,
            view,
            op,
            expires_at: None,
            request: None,
            origin: None,
            committed: None,
        };
        self.log.append_bare(&header, b"", &[]);
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
}

/// Partition ids are small and dense.
#[derive(Default, Debug, Clone)]
pub(crate) struct PartitionHasher(u64);

impl Hasher for PartitionHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.0 = u64::from(value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
