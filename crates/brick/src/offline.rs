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
//! Not here: reading the log again (`offline/read`), who leads such a partition then (`control`), records one by one
//! (`recovery`).

mod read;

pub(crate) use read::READ_TOKEN;

use crate::brick::Brick;
use crate::core::Core;
use crate::effect::{ControlRequest, Effect};
use crate::output::Gate;
use crate::tables::{Shelf, TableState};
use brickyard_command::ErrorReply;
use brickyard_metadata::CatalogVersion;
use brickyard_replication::Status;
use brickyard_routing::{Group, Seat};
use brickyard_table::{Leftovers, TableData};
use brickyard_types::{Incarnation, Instant, PartitionId, SegmentId, TableId};
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
        self.walk.as_ref().is_some_and(Walk::is_purging)
    }

    /// Whether segments may get records that have to stay.
    pub(crate) fn is_unsettled(&self) -> bool {
        !self.unsettled.is_empty()
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
        let shelved = std::mem::take(&mut self.core.moves.offline.fresh);
        if shelved.is_empty() {
            return;
        }
        self.abandon_cleaning();
        for table in shelved {
            for (token, bytes) in self.exports.end_of(&self.core, table) {
                self.on_part(token, bytes, Gate::OPEN);
            }
        }
    }

    /// What was on its way when a table went is synced: its memory may go.
    pub(crate) fn on_shelved(&mut self) {
        let core = &mut self.core;
        if let Some(table) = core.moves.offline.unsettled.pop_front() {
            // Those that have come to be since may have the last of its records.
            core.note_all_segments(table);
        }
        let unsynced = std::mem::take(&mut core.moves.offline.unsynced);
        core.tables.leave_behind(unsynced);
    }
}

impl Core {
    /// Takes a table out of memory. What of it was pending is in the log, or nobody was told of it.
    pub(crate) fn shelve(&mut self, index: usize) {
        let Some(state) = self.table_mut(index) else {
            return;
        };
        let id = state.id;
        state.availability.shelf = Shelf::Away;
        let count = state.map.groups().len();
        let held = std::mem::replace(&mut state.partitions, (0..count).map(|_| None).collect());
        let config = state.config();
        let former = std::mem::replace(&mut state.table, TableData::new(config));
        state.learning.clear();
        state.room.evicting = Gate::OPEN;
        for mut partition in held.into_iter().flatten() {
            self.log.disown(index as u32, partition.local);
            self.tables.drop_requests(&mut partition);
            self.forget_replica(partition.id);
        }
        self.tables.forget_former_clears_of(id);
        self.end_return_of(id);
        self.moves.offline.unsynced.push(former.into_leftovers());
        self.moves.offline.segments.entry(id).or_default();
        self.note_all_segments(id);
        self.moves.offline.fresh.push(index);
        self.moves.offline.unsettled.push_back(id);
        self.hand_over_building();
        self.effects.push_back(Effect::Checkpoint(SHELVED_TOKEN));
        self.replicas.wake();
    }

    /// What is being read of a table counts for nothing.
    pub(crate) fn end_return_of(&mut self, table: TableId) {
        self.moves.offline.waiting.retain(|it| *it != table);
        self.moves.offline.walk.take_if(|it| it.table == table);
    }

    /// A table is dropped: its records are as dead as any.
    pub(crate) fn forget_offline(&mut self, table: TableId) {
        self.end_return_of(table);
        self.moves.offline.segments.remove(&table);
        self.keep_segments();
    }

    /// At a start: a record of a table that stays in the log.
    pub(crate) fn note_away(&mut self, table: TableId, segment: SegmentId) {
        let segments = self.moves.offline.segments.entry(table).or_default();
        segments.insert(segment);
    }

    /// Any segment may have records of a table that is not in memory.
    fn note_all_segments(&mut self, table: TableId) {
        if let Some(segments) = self.moves.offline.segments.get_mut(&table) {
            segments.extend(self.segments.ids().chain([self.segments.active()]));
        }
        self.keep_segments();
    }

    /// Whether a table is not in memory, or not all of it.
    pub(crate) fn is_away(&self, table: TableId) -> bool {
        let state = self.tables.of(table);
        state.is_some_and(|state| state.availability.shelf != Shelf::Held)
    }

    /// The cleaner keeps away from what tables have in the log alone.
    pub(crate) fn keep_segments(&mut self) {
        self.segments.shelved = self
            .moves
            .offline
            .segments
            .values()
            .flatten()
            .copied()
            .collect();
    }

    /// The batch that is being built goes to the log at once: what comes next is about the log as it is then.
    fn hand_over_building(&mut self) {
        if let Some(append) = self.log.take_batch(self.now) {
            let stats = self.stats();
            stats.log.batches.add(1);
            stats.log.bytes.add(append.bytes.len() as u64);
            self.effects.push_back(Effect::Append(append));
        }
    }

    /// Tells the control plane what tables hold here that come back.
    pub(crate) fn tell_returns(&mut self) {
        let is_early = self
            .moves
            .offline
            .told
            .is_some_and(|told| self.now - told < REPEAT);
        if is_early {
            return;
        }
        self.moves.offline.told = Some(self.now);
        for state in self.tables.iter() {
            let since = state.return_since();
            if since == CatalogVersion(0)
                || state.availability.shelf != Shelf::Held
                || state.availability.returned != since
            {
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
        if self.tables.is_replicated(id) {
            self.adopt_replica(table, id, &of_nobody(group));
        } else if let Some(Some(partition)) = self
            .table_mut(table)
            .and_then(|it| it.partitions.get_mut(leaf))
        {
            partition.status = Status::default();
        }
    }
}

#[cfg(test)]
#[path = "offline_test.rs"]
mod offline_test;
