//! Reading a table back from the log: chunk by chunk, while everything else goes on.
//!
//! In:  the segments that may have records of it. Out: the table in memory, its partitions known to the replicator, as after
//!      a start.
//!
//! Invariants:
//! - The log is synced first: what is read counts as synced from here on, as it does at a start.
//! - Nothing of the table is joined before all is read and deletions that were remembered for older records are gone.

use super::Offline;
use crate::effect::Effect;
use crate::groups::{names, take_in};
use crate::log::Log;
use crate::log_chunk::LogChunk;
use crate::log_reader::LogReader;
use crate::log_record::LogRecord;
use crate::outside::Outside;
use crate::recovery::{Fold, Ground, build_all};
use crate::replica::Replication;
use crate::segments::Segments;
use crate::tables::{Suspicion, Tables, Unloaded};
use brickyard_routing::Member;
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

impl Offline {
    /// Has a table read again, as soon as no other one is.
    pub(crate) fn begin_return(&mut self, table: TableId) {
        if !self.waiting.contains(&table) {
            self.waiting.push_back(table);
        }
    }

    /// Begins with the next table that waits, if nothing is in its way.
    pub(crate) fn begin_next_return(
        &mut self,
        tables: &mut Tables,
        log: &mut Log,
        outside: &mut Outside<'_>,
    ) {
        if self.walk.is_some() || self.is_unsettled() {
            return;
        }
        let Some(table) = self.waiting.pop_front() else {
            return;
        };
        let index = tables.index_of(table);
        let Some(state) = index.and_then(|index| tables.get_mut(index)) else {
            return;
        };
        if state.availability.unloaded != Unloaded::Away {
            return;
        }
        state.availability.unloaded = Unloaded::Reading;
        let segments = self.segments.get(&table);
        self.walk = Some(Walk {
            table,
            stage: Stage::Syncing,
            reader: LogReader::over(segments.into_iter().flatten().copied()),
        });
        outside.hand_over_building(log);
        outside.effects.push_back(Effect::Checkpoint(READ_TOKEN));
    }

    /// A chunk of the log; whether it was asked for here.
    pub(crate) fn on_chunk(
        &mut self,
        replication: &mut Replication<'_>,
        outside: &mut Outside<'_>,
        chunk: &LogChunk<'_>,
    ) -> bool {
        let segment = chunk.segment;
        let Some(walk) = &mut self.walk else {
            return false;
        };
        let Stage::Walking(fold) = &mut walk.stage else {
            return false;
        };
        if !walk.reader.accept(chunk) {
            return false;
        }
        let mut ground = Ground::of(replication, outside);
        let mut rest = chunk.records();
        while let Some((position, record)) = rest.take_of(|header| header.table == walk.table) {
            fold.on_record(&mut ground, &LogRecord::Whole { record, position });
        }
        if chunk.is_damaged {
            // Nobody knows whose the records were.
            let end = Position {
                segment,
                offset: u32::MAX,
            };
            let all = ground.partitions_of(walk.table);
            fold.on_damage(&mut ground, (end, RECORDS_MAX), Suspicion::Certain, &all);
            replication.segments.mark_damaged(segment);
        }
        self.walk_on(replication, outside);
        true
    }

    /// The log is synced, or could not be.
    pub(crate) fn on_synced(
        &mut self,
        replication: &mut Replication<'_>,
        outside: &mut Outside<'_>,
        is_well: bool,
    ) {
        let walk = self.walk.as_mut();
        let Some(walk) = walk.filter(|walk| matches!(walk.stage, Stage::Syncing)) else {
            return;
        };
        if !is_well {
            outside.effects.push_back(Effect::Checkpoint(READ_TOKEN));
            return;
        }
        let table = walk.table;
        walk.stage = Stage::Walking(Fold::new(Some(table)));
        let me = replication.replicas.me().member;
        place_read(replication.tables, table, me);
        self.walk_on(replication, outside);
    }

    /// Asks for the next chunk, or goes on to what comes after the last one.
    fn walk_on(&mut self, replication: &mut Replication<'_>, outside: &mut Outside<'_>) {
        let Some(walk) = &mut self.walk else {
            return;
        };
        let is_read = matches!(walk.stage, Stage::Walking(_));
        assert!(is_read, "{:?} is read after the log's end", walk.table);
        match walk.reader.ask() {
            Some(at) => outside.read_log(at, CHUNK_BYTES),
            None => {
                let read = std::mem::replace(&mut walk.stage, Stage::Purging(0));
                if let Stage::Walking(fold) = read {
                    // Tails stand in the log already, in batches of their own.
                    outside.hand_over_building(replication.log);
                    build_all(replication, outside, fold);
                }
            }
        }
    }

    /// Looks through some of what was read for deletions that were remembered for older records. When all of that is done: the
    /// place of the table, which is in memory from now on and has joined nothing yet.
    pub(crate) fn purge_on(
        &mut self,
        tables: &mut Tables,
        segments: &mut Segments,
    ) -> Option<usize> {
        let walk = self.walk.as_mut()?;
        let Stage::Purging(from) = walk.stage else {
            return None;
        };
        let table = walk.table;
        let index = tables.index_of(table)?;
        let state = tables.get_mut(index)?;
        assert_eq!(
            state.availability.unloaded,
            Unloaded::Reading,
            "table {table} is read"
        );
        let (mut at, mut keys) = (from, 0);
        let slots = state.table.partition_slots();
        while at < slots && keys < PURGED_KEYS {
            keys += state.table.purge_partition(LocalPartition(at));
            at += 1;
        }
        if at < slots {
            walk.stage = Stage::Purging(at);
            return None;
        }
        state.availability.unloaded = Unloaded::Held;
        self.walk = None;
        self.segments.remove(&table);
        self.keep_segments(segments);
        self.told = None;
        Some(index)
    }
}

/// Makes room for the records that come.
fn place_read(tables: &mut Tables, table: TableId, me: Member) {
    let Some(index) = tables.index_of(table) else {
        return;
    };
    let Some(map) = tables.get(index).map(|state| Arc::clone(&state.map)) else {
        return;
    };
    let leaves = map.partitions().leaves().iter().zip(map.groups());
    for (leaf, (place, group)) in leaves.enumerate() {
        if names(group, me) {
            take_in(tables, (index, leaf), place.partition, group);
        }
    }
}
