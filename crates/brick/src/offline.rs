//! Tables that are in the log alone: their memory is freed, and when they come back the log is read again.
//!
//! In:  catalogs in which a table is offline, or comes back; its records, chunk by chunk. Out: the table out of memory, and
//!      back in it; what its partitions hold then, told to the control plane as after a restart.
//!
//! ```text
//! Held ──offline──► Away ──comes back──► Reading: sync ─ walk ─ rebuild ─ purge ──► Held
//!   ▲                 ▲                     │ offline again, or its partitions are others
//!   └── restart ──────┴─────────────────────┘
//! ```
//! Invariants:
//! - No segment that may have a record of such a table is cleaned: what of it is live only the index could tell.
//! - A table goes out of memory when this brick adopts the catalog that says so, and with it whatever was pending: that is
//!   in the log, or nobody was told of it.
//! - What comes back is what the log shows, by the code that reads it at a start (PROTOCOL rules 9, 15, 21): nothing is
//!   cut, and nothing is claimed from memory.
//! - Each turn does a bounded part of that.
//!
//! Not here: who leads such a partition then (`control`), records one by one (`recover`, `rebuild`).

use crate::brick::Brick;
use crate::core::{Core, Partition, TableState};
use crate::effect::{ControlRequest, Effect, Recovered};
use crate::output::Gate;
use crate::segments::Chunk;
use brickyard_command::ErrorReply;
use brickyard_metadata::{CatalogVersion, Standing};
use brickyard_replication::Status;
use brickyard_routing::{Group, Seat};
use brickyard_table::{Leftovers, LocalPartition, Table};
use brickyard_types::sabotage::{self, Bug};
use brickyard_types::{Incarnation, Instant, Op, PartitionId, SegmentId, TableId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The checkpoint after which a table's records are safe in the log.
pub(crate) const SHELVED_TOKEN: u64 = u64::MAX - 1;

/// The checkpoint after which the log may be read.
pub(crate) const READ_TOKEN: u64 = u64::MAX - 2;

/// Bytes of the log that are read at a time.
const CHUNK_BYTES: u32 = 128 << 10;

/// Keys whose partitions are looked through for deletions in one turn.
const PURGED_KEYS: usize = 16_384;

/// How often the control plane is told what was found, until it has chosen.
const REPEAT: Duration = Duration::from_millis(500);

/// Where a table's records are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shelf {
    /// In memory.
    Held,
    /// In the log alone.
    Away,
    /// In the log, and more and more of them in memory; nothing of it is joined yet.
    Reading,
}

/// How far a table is that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// What of it was on its way to the log is synced first: it counts as such from here on.
    Syncing,
    Walking,
    /// All is read: deletions that were remembered for older records go, from this partition on.
    Purging(u32),
}

/// The log, as far as it has anything of a table.
#[derive(Debug)]
struct Walk {
    table: TableId,
    stage: Stage,
    segments: VecDeque<SegmentId>,
    /// The segment at hand, and where to go on in it.
    at: Option<(SegmentId, u32)>,
    is_asked: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Offline {
    /// The segments that may have records of tables which are not in memory.
    segments: BTreeMap<TableId, BTreeSet<SegmentId>>,
    /// Tables that wait to be read; one at a time.
    waiting: VecDeque<TableId>,
    walk: Option<Walk>,
    /// Memory that is freed once what it had is synced.
    unsynced: Vec<Leftovers>,
    /// Tables of which records may be on their way to the log, into segments that are not noted; by the checkpoints that were
    /// asked for.
    unsettled: VecDeque<TableId>,
    /// Tables that were taken out of memory by the catalog that is being adopted.
    pub(crate) fresh: Vec<usize>,
    told: Option<Instant>,
}

impl Offline {
    /// Whether a table is being read whose deletions are looked through, turn by turn.
    pub(crate) fn has_work(&self) -> bool {
        let stage = self.walk.as_ref().map(|walk| walk.stage);
        matches!(stage, Some(Stage::Purging(_)))
    }

    /// Whether segments may get records that have to stay.
    pub(crate) fn is_unsettled(&self) -> bool {
        !self.unsettled.is_empty()
    }

    /// The table whose log is being read; `None` at a start, when all are.
    pub(crate) fn table_read(&self) -> Option<TableId> {
        self.walk.as_ref().map(|walk| walk.table)
    }
}

impl TableState {
    /// Why nothing of the table can be had.
    pub(crate) fn refusal(&self) -> Option<ErrorReply> {
        self.is_offline().then(|| offline(&self.name))
    }

    #[inline]
    pub(crate) const fn is_offline(&self) -> bool {
        matches!(self.standing, Standing::Offline)
    }

    /// Whether nobody may serve the partition in the view in effect.
    pub(crate) fn is_parked(&self, partition: PartitionId) -> bool {
        match &self.standing {
            Standing::Online => false,
            Standing::Offline => true,
            Standing::Returning { parked, .. } => parked.contains_key(&partition),
        }
    }

    /// Which return to service is under way; 0: none.
    pub(crate) const fn return_since(&self) -> CatalogVersion {
        match &self.standing {
            Standing::Returning { since, .. } => *since,
            Standing::Online | Standing::Offline => CatalogVersion(0),
        }
    }
}

/// What clients of a table are told that is offline.
#[cold]
pub(crate) fn offline(name: &str) -> ErrorReply {
    ErrorReply::new(format!(
        "OFFLINE table '{name}' is offline, and nothing was executed; TABLE ONLINE {name} brings it back"
    ))
}

/// A group of a parked partition, as its members are to act by it: nobody is anything in that view, whoever is named
/// (PROTOCOL rule 9). A change of it is obeyed.
fn of_nobody(group: &Group) -> Group {
    Group {
        primary: Seat::default(),
        backups: Vec::new(),
        learners: Vec::new(),
        ..group.clone()
    }
}

impl Brick {
    /// A catalog was adopted: whatever knows tables by their place in memory lets go of those that are not there any more.
    pub(crate) fn leave_shelved(&mut self) {
        let shelved = std::mem::take(&mut self.core.offline.fresh);
        if shelved.is_empty() {
            return;
        }
        if !sabotage::is(Bug::OfflineCleaned) {
            self.abandon_cleaning();
        }
        for table in shelved {
            self.end_exports_of(table);
        }
    }

    /// A turn's worth of bringing tables back.
    pub(crate) fn tend_returns(&mut self) {
        self.core.purge_on();
        self.core.begin_next_return();
    }

    /// A chunk of the log; whether it was asked for here.
    pub(crate) fn on_return_chunk(
        &mut self,
        chunk: &Chunk<'_>,
        from: u32,
        next: Option<u32>,
        damaged: bool,
    ) -> bool {
        let segment = chunk.segment;
        let Some(walk) = &mut self.core.offline.walk else {
            return false;
        };
        if !walk.is_asked || walk.at != Some((segment, from)) {
            return false;
        }
        walk.is_asked = false;
        walk.at = next.map(|next| (segment, next));
        let table = walk.table;
        let mut rest = *chunk;
        while let Some((position, record)) = rest.take() {
            if record.header.table == table {
                self.recover(Recovered::Record { record, position });
            }
        }
        if damaged || !rest.is_empty() {
            self.core.segments.mark_damaged(segment);
            self.core.doubt_all_of(table, segment);
        }
        self.core.walk_return();
        true
    }

    pub(crate) fn on_shelved(&mut self) {
        let core = &mut self.core;
        if let Some(table) = core.offline.unsettled.pop_front() {
            // Those that have come to be since may have the last of its records.
            core.note_all_segments(table);
        }
        core.leftovers.append(&mut core.offline.unsynced);
        core.has_buried |= !core.leftovers.is_empty();
    }

    /// The log is synced, or could not be.
    pub(crate) fn on_read_synced(&mut self, is_well: bool) {
        let walk = self.core.offline.walk.as_mut();
        let Some(walk) = walk.filter(|walk| walk.stage == Stage::Syncing) else {
            return;
        };
        if !is_well {
            self.core.effects.push_back(Effect::Checkpoint(READ_TOKEN));
            return;
        }
        walk.stage = Stage::Walking;
        let table = walk.table;
        self.core.place_read(table);
        self.core.walk_return();
    }
}

impl Core {
    /// Takes a table out of memory. What of it was pending is in the log, or nobody was told of it.
    pub(crate) fn shelve(&mut self, index: usize) {
        let Some(state) = self.table_mut(index) else {
            return;
        };
        let id = state.id;
        state.shelf = Shelf::Away;
        let count = state.map.groups().len();
        let held = std::mem::replace(&mut state.partitions, (0..count).map(|_| None).collect());
        let config = state.config();
        let former = std::mem::replace(&mut state.table, Table::new(config));
        state.learning.clear();
        state.evicting = Gate::OPEN;
        for mut partition in held.into_iter().flatten() {
            self.log.disown(index as u32, partition.local);
            partition.drop_requests(&mut self.requests_known);
            self.forget_replica(partition.id);
            self.torn.remove(&partition.id);
        }
        let catalog = Arc::clone(&self.catalog);
        let is_its = |it: &PartitionId| catalog.former(*it).is_some_and(|it| it.table == id);
        self.former_clears.retain(|former, _| !is_its(former));
        self.end_return_of(id);
        self.offline.unsynced.push(former.into_leftovers());
        self.offline.segments.entry(id).or_default();
        self.note_all_segments(id);
        self.offline.fresh.push(index);
        self.offline.unsettled.push_back(id);
        self.hand_over_building();
        self.effects.push_back(Effect::Checkpoint(SHELVED_TOKEN));
        self.replicas.wake();
    }

    /// What is being read of a table counts for nothing.
    pub(crate) fn end_return_of(&mut self, table: TableId) {
        self.offline.waiting.retain(|it| *it != table);
        if self.offline.walk.take_if(|it| it.table == table).is_some() {
            self.rebuilds.clear();
            self.open_formers.clear();
            self.passed_over.clear();
        }
    }

    /// A table is dropped: its records are as dead as any.
    pub(crate) fn forget_offline(&mut self, table: TableId) {
        self.end_return_of(table);
        self.offline.segments.remove(&table);
        self.keep_segments();
    }

    /// At a start: a record of a table that stays in the log.
    pub(crate) fn note_away(&mut self, table: TableId, segment: SegmentId) {
        let segments = self.offline.segments.entry(table).or_default();
        segments.insert(segment);
    }

    /// Any segment may have records of a table that is not in memory.
    fn note_all_segments(&mut self, table: TableId) {
        if let Some(segments) = self.offline.segments.get_mut(&table) {
            segments.extend(self.segments.ids().chain([self.segments.active()]));
        }
        self.keep_segments();
    }

    /// The cleaner keeps away from what tables have in the log alone.
    pub(crate) fn keep_segments(&mut self) {
        self.segments.shelved = if sabotage::is(Bug::OfflineCleaned) {
            BTreeSet::new()
        } else {
            self.offline.segments.values().flatten().copied().collect()
        };
    }

    /// Has a table read again, as soon as no other one is.
    pub(crate) fn begin_return(&mut self, table: TableId) {
        if !self.offline.waiting.contains(&table) {
            self.offline.waiting.push_back(table);
        }
    }

    fn begin_next_return(&mut self) {
        if self.offline.walk.is_some() || self.offline.is_unsettled() {
            return;
        }
        let Some(table) = self.offline.waiting.pop_front() else {
            return;
        };
        let index = self.table_by_id.get(&table).copied();
        let Some(state) = index.and_then(|index| self.table_mut(index)) else {
            return;
        };
        if state.shelf != Shelf::Away {
            return;
        }
        state.shelf = Shelf::Reading;
        let segments = self.offline.segments.get(&table);
        self.offline.walk = Some(Walk {
            table,
            stage: Stage::Syncing,
            segments: segments.into_iter().flatten().copied().collect(),
            at: None,
            is_asked: false,
        });
        self.hand_over_building();
        self.effects.push_back(Effect::Checkpoint(READ_TOKEN));
    }

    /// The batch that is being built goes to the log at once: what comes next is about the log as it is then.
    fn hand_over_building(&mut self) {
        if let Some(append) = self.log.take_batch(self.now) {
            let stats = self.stats();
            stats.log_batches.add(1);
            stats.log_bytes.add(append.bytes.len() as u64);
            self.effects.push_back(Effect::Append(append));
        }
    }

    /// Makes room for the records that come.
    fn place_read(&mut self, table: TableId) {
        let Some(index) = self.table_by_id.get(&table).copied() else {
            return;
        };
        let Some(map) = self.table(index).map(|state| Arc::clone(&state.map)) else {
            return;
        };
        let leaves = map.partitions().leaves().iter().zip(map.groups());
        for (leaf, (place, group)) in leaves.enumerate() {
            if self.is_named(group) {
                self.take_in(index, leaf, place.partition, group);
                self.torn.remove(&place.partition);
            }
        }
    }

    /// Asks for the next chunk, or goes on to what comes after the last one.
    fn walk_return(&mut self) {
        let Some(walk) = &mut self.offline.walk else {
            return;
        };
        if walk.at.is_none() {
            walk.at = walk.segments.pop_front().map(|segment| (segment, 0));
        }
        match walk.at {
            Some((segment, from)) => {
                walk.is_asked = true;
                self.effects.push_back(Effect::ReadSegment {
                    segment,
                    from,
                    bytes_max: CHUNK_BYTES,
                });
            }
            None => {
                walk.stage = Stage::Purging(0);
                self.rebuild_read();
            }
        }
    }

    /// Something of a segment is unreadable: nobody knows whose it was.
    fn doubt_all_of(&mut self, table: TableId, segment: SegmentId) {
        let index = self.table_by_id.get(&table).copied();
        let Some(state) = index.and_then(|index| self.tables.get_mut(index)?.as_mut()) else {
            return;
        };
        let now = self.unix;
        let end = brickyard_types::Position {
            segment,
            offset: u32::MAX,
        };
        for partition in state.partitions.iter_mut().flatten() {
            if partition.is_replicated {
                // It claims nothing (PROTOCOL rule 15): others have what is missing.
                self.torn.insert(partition.id);
            } else {
                partition.doubt_requests(now);
                let (_, earlier) = partition.unreadable.unwrap_or_default();
                partition.unreadable = Some((end, earlier + RECORDS_MAX));
            }
        }
    }

    /// All is read: what it comes to goes to the replicator.
    fn rebuild_read(&mut self) {
        // Tails stand in the log already, in batches of their own.
        self.hand_over_building();
        self.finish_rebuilds();
        self.apply_former_clears();
        let table = self.offline.table_read();
        let index = table.and_then(|table| self.table_by_id.get(&table).copied());
        if let Some(state) = index.and_then(|index| self.table_mut(index)) {
            for partition in state.partitions.iter_mut().flatten() {
                partition.end_unreadable();
            }
        }
    }

    fn purge_on(&mut self) {
        let Some(walk) = &self.offline.walk else {
            return;
        };
        let (table, Stage::Purging(from)) = (walk.table, walk.stage) else {
            return;
        };
        let Some(index) = self.table_by_id.get(&table).copied() else {
            return;
        };
        let Some(state) = self.table_mut(index) else {
            return;
        };
        let (mut at, mut keys) = (from, 0);
        let slots = state.table.partition_slots();
        while at < slots && keys < PURGED_KEYS {
            keys += state.table.purge_partition(LocalPartition(at));
            at += 1;
        }
        if at < slots {
            if let Some(walk) = &mut self.offline.walk {
                walk.stage = Stage::Purging(at);
            }
            return;
        }
        state.shelf = Shelf::Held;
        self.offline.walk = None;
        self.offline.segments.remove(&table);
        self.keep_segments();
        self.adopt_groups(index);
        self.end_adoption(self.catalog.version().0);
        self.offline.told = None;
        self.tell_returns();
    }

    /// Tells the control plane what tables hold here that come back.
    pub(crate) fn tell_returns(&mut self) {
        let is_early = self
            .offline
            .told
            .is_some_and(|told| self.now - told < REPEAT);
        if is_early {
            return;
        }
        self.offline.told = Some(self.now);
        for state in self.tables.iter().flatten() {
            let since = state.return_since();
            if since == CatalogVersion(0) || state.shelf != Shelf::Held || state.returned != since {
                continue;
            }
            let all = state.partitions.iter().zip(state.map.groups());
            let parked = all
                .filter_map(|(it, group)| Some((it.as_ref()?, group)))
                .filter(|(it, _)| state.is_parked(it.id));
            let claims: Vec<_> = parked
                .filter_map(|(it, group)| {
                    let claim = match it.is_replicated {
                        true => self.replicas.replicator().claim_of(it.id)?,
                        false => it.claim_alone(group),
                    };
                    Some((it.id, claim))
                })
                .collect();
            if !claims.is_empty() {
                let request = ControlRequest::Returned {
                    table: state.id,
                    since,
                    claims,
                };
                self.effects.push_back(Effect::Control(0, request));
            }
        }
    }

    /// A partition that nobody serves in the view in effect.
    pub(crate) fn park(&mut self, table: usize, leaf: usize, id: PartitionId, group: &Group) {
        self.take_in(table, leaf, id, group);
        if self.seat().incarnation == Incarnation(0) {
            // The log is being read.
            return;
        }
        if self.is_replicated(id) {
            self.adopt_replica(table, id, &of_nobody(group));
        } else if let Some(Some(partition)) = self
            .table_mut(table)
            .and_then(|it| it.partitions.get_mut(leaf))
        {
            partition.status = Status::default();
        }
    }
}

/// Records that unreadable bytes of a chunk can have held at most: their ops are not given out again.
const RECORDS_MAX: u64 = 1 << 32;

impl Partition {
    /// As many ops as fit into what is unreadable may have been there; their numbers must not be given out again.
    pub(crate) fn end_unreadable(&mut self) {
        if let Some((_, records)) = self.unreadable.take() {
            self.op = Op(self.op.0 + records);
            self.damaged = self.op;
        }
    }
}

#[cfg(test)]
#[path = "offline_test.rs"]
mod offline_test;
