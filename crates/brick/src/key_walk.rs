//! A walk over the tables, some records a tick, by which the largest keys are found; and the rates of hot keys decay.
//!
//! In:  ticks. Out: nothing but what `key_stats` keeps.
//!
//! Invariant: what a tick costs is bounded, whatever the tables hold.

use crate::core::Core;
use crate::tables::TableState;
use brickyard_table::KeyHash;
use std::time::Duration;

/// Records that are looked at between two ticks, of all tables together: some ten thousand a second.
const RECORDS_PER_TICK: usize = 1_024;

/// `elapsed` after the last tick. `turn`: the table that was looked at last.
pub(crate) fn on_tick(core: &mut Core, turn: &mut usize, elapsed: Duration) {
    let mut left = RECORDS_PER_TICK;
    let tables = core.tables.len();
    for _ in 0..tables {
        *turn = (*turn + 1) % tables;
        if let Some(state) = core.table_mut(*turn) {
            state.key_stats.hot.decay(elapsed);
            left -= walk(state, left);
        }
    }
}

/// Goes on by about so many records at most; how many they were.
fn walk(state: &mut TableState, records_max: usize) -> usize {
    let TableState {
        table,
        partitions,
        key_stats,
        ..
    } = state;
    // Whatever is written changes one of them, or nothing that matters here.
    let holds = table.memory_live().wrapping_add(table.memory_used());
    let extent = (partitions.len(), holds);
    key_stats
        .big
        .walk(extent, records_max, |leaf, from, left, visit| {
            let partition = partitions.get(leaf)?.as_ref();
            let partition = partition.filter(|it| it.is_primary())?;
            table.scan(partition.local, from, left, |key, found| {
                visit(key, key.len() + found.value.len());
            })
        })
}

/// The largest keys of a table that this brick leads, and the bytes of key and value.
pub(crate) fn biggest(state: &TableState) -> Vec<(Vec<u8>, u64)> {
    state.key_stats.big.present(|key| {
        let location = state.map.locate(key);
        let partition = state.partitions.get(location.leaf as usize)?.as_ref();
        let partition = partition.filter(|it| it.is_primary())?;
        let hash = KeyHash(location.key_hash);
        let found = state.table.peek(partition.local, hash, key)?;
        Some(key.len() + found.value.len())
    })
}
