//! Memory bounds of tables: whether a write still fits, and how room is made for it.
//!
//! In:  writes to come, turns and ticks. Out: whether a write is taken; removals of keys that were not used lately (medium
//!      `ram` with `EVICT lru`), values left to the log alone (medium `disk`).
//!
//! What counts is what the table will hold when all that is prepared has been applied: live records, indexes and timers, the
//! values on their way, less what removals on their way will free. Compaction keeps dead space within what the bound leaves
//! beside that (docs/decisions/0050).
//!
//! Room is made before the write that needs it is prepared, so that the removals are applied before it; and between batches
//! for what replicas were sent. Either is bounded: who has to remove more does so with the next ones.

use crate::core::Core;
use crate::expire::{Leaving, remove};
use crate::keyspace_events::Cause;
use crate::log::Log;
use crate::output::Meets;
use crate::tables::{TableState, evicts};
use brickyard_types::Medium;

/// Records that the eviction hand passes at a time.
const STEP: usize = 8;

/// Records that it passes for one write. Those that were used lately stay once, so that it may have to pass all before it finds
/// one that goes: the writes meanwhile, of a 64th of the table's bytes, have room in the reserve.
const RECORDS_PER_WRITE: usize = 64;

/// Records that it passes for a table between two batches.
const RECORDS_PER_BATCH: usize = 2_048;

/// Bytes that the table will hold when all that is prepared has been applied.
fn expected(state: &TableState, log: &Log, table: usize) -> usize {
    let more = log.prepared_bytes(table);
    (state.table.memory_live() + more).saturating_sub(state.room.leaving_bytes())
}

/// Whether a write of so many bytes is taken: it fits, or room was made for it. A `disk` table takes every one: its bound is
/// that of the values it keeps beside the log's.
pub(crate) fn admits(core: &mut Core, table: usize, bytes: usize) -> bool {
    let Some(state) = core.table(table).filter(|it| it.table.has_memory_max()) else {
        return true;
    };
    let attributes = &state.attributes;
    if !evicts(attributes) {
        return expected(state, &core.log, table) + bytes <= state.table.memory_live_max();
    }
    let is_disk = attributes.medium == Medium::Disk;
    make_room(core, table, bytes, RECORDS_PER_WRITE);
    let Some(state) = core.table(table) else {
        return true;
    };
    // It goes on into the reserve before it refuses: what was used lately leaves when the hand comes again.
    let most = state.table.memory_live_max() + state.table.memory_reserve() / 2;
    is_disk || expected(state, &core.log, table) + bytes <= most
}

/// Makes room in tables that are past their bound, a batch's worth of each; whether to go on at once.
pub(crate) fn make_room_everywhere(core: &mut Core) -> bool {
    let mut is_crowded = false;
    for table in 0..core.tables.len() {
        let state = core.table(table);
        let may_evict = state.is_some_and(|it| it.table.has_memory_max() && evicts(&it.attributes));
        is_crowded |= may_evict && make_room(core, table, 0, RECORDS_PER_BATCH);
    }
    is_crowded
}

/// Passes records until so many bytes more have room, or as many as may be passed; whether there is more to do, and something
/// was done. A `disk` table forgets values that were not used lately, a `ram` table removes keys.
fn make_room(core: &mut Core, table: usize, bytes: usize, records_max: usize) -> bool {
    let mut passed = 0;
    let mut freed_any = false;
    loop {
        let Core { tables, log, .. } = core;
        let Some(state) = tables.get_mut(table) else {
            return false;
        };
        state.room.look_through(log);
        if expected(state, log, table) + bytes <= state.table.memory_live_max() {
            return false;
        }
        if passed >= records_max {
            return freed_any;
        }
        let is_disk = state.attributes.medium == Medium::Disk;
        let mut victims = Vec::new();
        let freed = state.table.evict_step(STEP, |victim| {
            let leaving = Leaving {
                key: victim.key.to_vec(),
                op: victim.op,
            };
            victims.push((leaving, victim.bytes));
        });
        passed += STEP;
        freed_any |= is_disk && freed > 0;
        for (leaving, bytes) in victims {
            // Keys of which others are the primary stay until those remove them.
            let Some(dependency) = remove(core, table, &leaving, Cause::Evicted) else {
                continue;
            };
            freed_any = true;
            let Core { tables, log, .. } = core;
            if let Some(state) = tables.get_mut(table) {
                state.stats.evicted.add(1);
                if !log.meets(dependency) {
                    state.room.add(dependency, bytes);
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "memory_test.rs"]
mod memory_test;
