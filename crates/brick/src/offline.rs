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
//!   in the log, or no client was told of it.
//! - What comes back is what the log shows, by the code that reads it at a start (rules `a restart cuts nothing`,
//!   `log summaries begin at a baseline` and `forced recovery begins a generation`): nothing is cut, and nothing is
//!   claimed from memory.
//! - Each turn does a bounded part of that.
//!
//! Not here: reading the log again (`offline/read`), who leads such a partition then (`control`), records one by one
//! (`recovery`).

mod read;

pub(crate) use read::READ_TOKEN;

use crate::effect::{ControlRequest, Effect};
use crate::outside::Outside;
use crate::replica::Replication;
use crate::segments::Segments;
use crate::tables::{TableState, Tables, Unloaded};
use brickyard_command::ErrorReply;
use brickyard_metadata::CatalogVersion;
use brickyard_replication::Replicator;
use brickyard_table::LazyFree;
use brickyard_types::{Instant, PartitionId, SegmentId, TableId};
use read::Walk;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// The checkpoint after which a table's records are safe in the log.
pub(crate) const SHELVED_TOKEN: u64 = u64::MAX - 1;

/// How often the control plane is told what was found, until it has chosen.
const REPEAT: Duration = Duration::from_millis(500);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Offline {
    /// The segments that may have records of tables which are not in memory.
    segments: BTreeMap<TableId, BTreeSet<SegmentId>>,
    /// Tables that wait to be read; one at a time.
    waiting: VecDeque<TableId>,
    walk: Option<Walk>,
    /// Memory that is freed once what it had is synced.
    unsynced: Vec<LazyFree>,
    /// Tables of which records may be on their way to the log, into segments that are not noted; by the checkpoints that were
    /// asked for.
    unsettled: VecDeque<TableId>,
    /// Tables that were taken out of memory by the catalog that is being adopted.
    fresh: Vec<usize>,
    told: Option<Instant>,
}

impl Offline {
    /// Whether a table is being read whose deletions are looked through, turn by turn.
    pub(crate) fn has_work(&self) -> bool {
        self.walk.as_ref().is_some_and(Walk::is_purging)
    }

    /// Whether segments may get records that have to stay.
    pub(crate) fn is_unsettled(&self) -> bool {
        !self.unsettled.is_empty()
    }

    /// The tables that were taken out of memory since this was asked last: whatever knows them by their place in memory has to
    /// let go of them.
    pub(crate) fn take_shelved(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.fresh)
    }

    /// Takes a table out of memory. What of it was pending is in the log, or no client was told of it.
    pub(crate) fn shelve(
        &mut self,
        replication: &mut Replication<'_>,
        outside: &mut Outside<'_>,
        index: usize,
    ) {
        let Some(state) = replication.tables.get_mut(index) else {
            return;
        };
        let id = state.id;
        assert!(
            state.availability.unloaded != Unloaded::Away,
            "table {id} is taken out of memory twice"
        );
        state.availability.unloaded = Unloaded::Away;
        let held: Vec<PartitionId> = state.partitions.iter().flatten().map(|it| it.id).collect();
        for partition in held {
            replication.forget(partition);
        }
        let Some(state) = replication.tables.get_mut(index) else {
            return;
        };
        let count = state.map.groups().len();
        let held = std::mem::replace(&mut state.partitions, (0..count).map(|_| None).collect());
        let fresh = state.fresh_storage();
        let former = std::mem::replace(&mut state.table, fresh);
        state.learning.clear();
        state.room.clear();
        for mut partition in held.into_iter().flatten() {
            replication.log.disown(index as u32, partition.local);
            replication.tables.drop_requests(&mut partition);
        }
        replication.tables.forget_parent_clears_of(id);
        self.end_return_of(id);
        self.unsynced.push(former.into_lazy_free());
        self.segments.entry(id).or_default();
        self.note_all_segments(id, replication.segments);
        self.fresh.push(index);
        self.unsettled.push_back(id);
        outside.hand_over_building(replication.log);
        outside.effects.push_back(Effect::Checkpoint(SHELVED_TOKEN));
        replication.replicas.wake();
    }

    /// What was on its way when a table went is synced: its memory may go.
    pub(crate) fn on_shelved(&mut self, replication: &mut Replication<'_>) {
        let table = self.unsettled.pop_front();
        let table = table.expect("each checkpoint is of a table that went");
        // Those that have come to be since may have the last of its records.
        self.note_all_segments(table, replication.segments);
        let unsynced = std::mem::take(&mut self.unsynced);
        replication.tables.leave_behind(unsynced);
    }

    /// What is being read of a table counts for nothing.
    pub(crate) fn end_return_of(&mut self, table: TableId) {
        self.waiting.retain(|it| *it != table);
        self.walk.take_if(|it| it.table == table);
    }

    /// A table is dropped: its records are as dead as any.
    pub(crate) fn forget(&mut self, table: TableId, segments: &mut Segments) {
        self.end_return_of(table);
        self.segments.remove(&table);
        self.keep_segments(segments);
    }

    /// At a start: a record of a table that stays in the log.
    pub(crate) fn note_away(&mut self, table: TableId, segment: SegmentId) {
        let segments = self.segments.entry(table).or_default();
        segments.insert(segment);
    }

    /// Any segment may have records of a table that is not in memory.
    fn note_all_segments(&mut self, table: TableId, segments: &mut Segments) {
        if let Some(noted) = self.segments.get_mut(&table) {
            noted.extend(segments.ids().chain([segments.active()]));
        }
        self.keep_segments(segments);
    }

    /// The cleaner keeps away from what tables have in the log alone.
    pub(crate) fn keep_segments(&self, segments: &mut Segments) {
        segments.shelved = self.segments.values().flatten().copied().collect();
    }

    /// Tells the control plane what tables hold here that come back.
    pub(crate) fn tell_returns(
        &mut self,
        tables: &Tables,
        replicator: &Replicator,
        outside: &mut Outside<'_>,
    ) {
        let is_early = self.told.is_some_and(|told| outside.now - told < REPEAT);
        if is_early {
            return;
        }
        self.told = Some(outside.now);
        for state in tables.iter() {
            let since = state.return_since();
            if since == CatalogVersion(0)
                || state.availability.unloaded != Unloaded::Held
                || state.availability.returned != since
            {
                continue;
            }
            let all = state.partitions.iter().flatten();
            let suspended = all.filter(|it| state.is_suspended(it.id));
            let summaries: Vec<_> = suspended
                .filter_map(|it| Some((it.id, replicator.summary_of(it.id)?)))
                .collect();
            if !summaries.is_empty() {
                outside.tell_control(ControlRequest::Returned {
                    table: state.id,
                    since,
                    summaries,
                });
            }
        }
    }
}

impl TableState {
    /// Why nothing of the table can be had.
    pub(crate) fn refusal(&self) -> Option<ErrorReply> {
        self.is_offline().then(|| offline(&self.name))
    }
}

/// What clients of a table are told that is offline.
#[cold]
pub(crate) fn offline(name: &str) -> ErrorReply {
    ErrorReply::new(format!(
        "OFFLINE table '{name}' is offline, and nothing was executed; TABLE ONLINE {name} brings it back"
    ))
}

#[cfg(test)]
#[path = "offline_test.rs"]
mod offline_test;
