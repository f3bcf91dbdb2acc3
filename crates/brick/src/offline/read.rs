//! Reading a table back from the log: chunk by chunk, while everything else goes on.
//!
//! In:  the segments that may have records of it. Out: the table in memory, its partitions known to the replicator, as after
//!      a start.
//!
//! Invariants:
//! - The log is synced first: what is read counts as synced from here on, as it does at a start.
//! - Nothing of the table is joined before all is read and deletions that were remembered for older records are gone.

use crate::brick::Brick;
use crate::core::Core;
use crate::effect::Effect;
use crate::log_chunk::LogChunk;
use crate::log_reader::LogReader;
use crate::log_record::LogRecord;
use crate::recovery::Fold;
use crate::tables::Shelf;
use brickyard_table::LocalPartition;
use brickyard_types::{Position, TableId};
use std::sync::Arc;

/// The checkpoint after which the log may be read.
pub(crate) const READ_TOKEN: u64 = u64::MAX - 2;

/// Bytes of the log that are read at a time.
const CHUNK_BYTES: u32 = 128 << 10;

/// Keys whose partitions are looked through for deletions in one turn.
const PURGED_KEYS: usize = 16_384;

/// Records that unreadable bytes of a chunk can have held at most: their ops are not given out again.
const RECORDS_MAX: u64 = 1 << 32;

/// How far a table is that is being read.
#[derive(Debug)]
enum Stage {
    /// What of it was on its way to the log is synced first: it counts as such from here on.
    Syncing,
    Walking(Fold),
    /// All is read: deletions that were remembered for older records go, from this partition on.
    Purging(u32),
}

/// The log, as far as it has anything of a table.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) table: TableId,
    stage: Stage,
    reader: LogReader,
}

impl Walk {
    /// Whether deletions are looked through, turn by turn.
    pub(super) fn is_purging(&self) -> bool {
        matches!(self.stage, Stage::Purging(_))
    }
}

impl Brick {
    /// A turn's worth of bringing tables back.
    pub(crate) fn tend_returns(&mut self) {
        self.core.purge_on();
        self.core.begin_next_return();
    }

    /// A chunk of the log; whether it was asked for here.
    pub(crate) fn on_return_chunk(&mut self, chunk: &LogChunk<'_>) -> bool {
        let segment = chunk.segment;
        let (offline, mut ground) = self.core.offline_and_ground();
        let Some(walk) = &mut offline.walk else {
            return false;
        };
        let Stage::Walking(fold) = &mut walk.stage else {
            return false;
        };
        if !walk.reader.accept(chunk) {
            return false;
        }
        let mut rest = chunk.records();
        while let Some((position, record)) = rest.take_of(|header| header.table == walk.table) {
            fold.on_record(&mut ground, &LogRecord::Whole { record, position });
        }
        if chunk.is_damaged || !rest.is_empty() {
            // Nobody knows whose the records were.
            let end = Position {
                segment,
                offset: u32::MAX,
            };
            let all = ground.partitions_of(walk.table);
            fold.on_damage(&mut ground, (end, RECORDS_MAX), &all);
            self.core.segments.mark_damaged(segment);
        }
        self.core.walk_return();
        true
    }

    /// The log is synced, or could not be.
    pub(crate) fn on_read_synced(&mut self, is_well: bool) {
        let walk = self.core.moves.offline.walk.as_mut();
        let Some(walk) = walk.filter(|walk| matches!(walk.stage, Stage::Syncing)) else {
            return;
        };
        if !is_well {
            self.core.effects.push_back(Effect::Checkpoint(READ_TOKEN));
            return;
        }
        let table = walk.table;
        walk.stage = Stage::Walking(Fold::new(Some(table)));
        self.core.place_read(table);
        self.core.walk_return();
    }
}

impl Core {
    /// Has a table read again, as soon as no other one is.
    pub(crate) fn begin_return(&mut self, table: TableId) {
        if !self.moves.offline.waiting.contains(&table) {
            self.moves.offline.waiting.push_back(table);
        }
    }

    fn begin_next_return(&mut self) {
        if self.moves.offline.walk.is_some() || self.moves.offline.is_unsettled() {
            return;
        }
        let Some(table) = self.moves.offline.waiting.pop_front() else {
            return;
        };
        let index = self.tables.index_of(table);
        let Some(state) = index.and_then(|index| self.table_mut(index)) else {
            return;
        };
        if state.availability.shelf != Shelf::Away {
            return;
        }
        state.availability.shelf = Shelf::Reading;
        let segments = self.moves.offline.segments.get(&table);
        self.moves.offline.walk = Some(Walk {
            table,
            stage: Stage::Syncing,
            reader: LogReader::over(segments.into_iter().flatten().copied()),
        });
        self.hand_over_building();
        self.effects.push_back(Effect::Checkpoint(READ_TOKEN));
    }

    /// Makes room for the records that come.
    fn place_read(&mut self, table: TableId) {
        let Some(index) = self.tables.index_of(table) else {
            return;
        };
        let Some(map) = self.table(index).map(|state| Arc::clone(&state.map)) else {
            return;
        };
        let leaves = map.partitions().leaves().iter().zip(map.groups());
        for (leaf, (place, group)) in leaves.enumerate() {
            if self.is_named(group) {
                self.take_in(index, leaf, place.partition, group);
            }
        }
    }

    /// Asks for the next chunk, or goes on to what comes after the last one.
    fn walk_return(&mut self) {
        let Some(walk) = &mut self.moves.offline.walk else {
            return;
        };
        match walk.reader.ask() {
            Some(at) => self.read_log(at, CHUNK_BYTES),
            None => {
                let read = std::mem::replace(&mut walk.stage, Stage::Purging(0));
                if let Stage::Walking(fold) = read {
                    // Tails stand in the log already, in batches of their own.
                    self.hand_over_building();
                    self.build_all(fold);
                }
            }
        }
    }

    fn purge_on(&mut self) {
        let Some(walk) = &self.moves.offline.walk else {
            return;
        };
        let (table, &Stage::Purging(from)) = (walk.table, &walk.stage) else {
            return;
        };
        let Some(index) = self.tables.index_of(table) else {
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
            if let Some(walk) = &mut self.moves.offline.walk {
                walk.stage = Stage::Purging(at);
            }
            return;
        }
        state.availability.shelf = Shelf::Held;
        self.moves.offline.walk = None;
        self.moves.offline.segments.remove(&table);
        self.keep_segments();
        self.adopt_groups(index);
        self.end_adoption(self.tables.catalog().version().0);
        self.moves.offline.told = None;
        self.tell_returns();
    }
}
