//! A walk over the tables, some records a tick, by which the largest keys are found, and fields of hashes whose time is over;
//! and the rates of hot keys decay.
//!
//! In:  ticks. Out: what `key_stats` keeps; hashes written anew without what is over of them, or named to `prune`; parts of hashes that
//! are no more; intents that somebody should resolve.
//!
//! A field that nobody asks for goes when the walk comes by, so it takes memory for some time longer: a million keys are
//! passed in less than two minutes. Of hashes whose values are on disk alone fields go when somebody reads them.
//!
//! Invariant: what a tick costs is bounded, whatever the tables hold.

use crate::core::Core;
use crate::expire;
use crate::key_stats::KeyStats;
use crate::tables::{Orphaned, TableState, is_orphan};
use crate::view::View;
use brickyard_command::Keyspace;
use brickyard_command::hash::{Head, first_expiry};
use brickyard_table::{Found, KeyHash, ValueRef};
use brickyard_types::part::PartName;
use brickyard_types::{UnixMillis, ValueType};
use std::time::Duration;

/// Records that are looked at between two ticks, of all tables together: some ten thousand a second.
const RECORDS_PER_TICK: usize = 1_024;

/// Hashes that are written anew between two ticks, of one table; the next round comes by the others.
const HASHES_PER_TICK: usize = 64;

/// Parts of nothing that are found between two ticks, in one table.
const ORPHANS_PER_TICK: usize = 256;

/// Keys that the walk has found something about.
#[derive(Debug, Default)]
struct Due {
    /// Fields of them are over.
    hashes: Vec<Vec<u8>>,
    /// The same of hashes in parts.
    in_parts: Vec<Vec<u8>>,
    /// They have intents of transactions, which nobody may be resolving.
    locked: Vec<Vec<u8>>,
    /// Records that are parts of nothing.
    orphans: Vec<Vec<u8>>,
}

/// `elapsed` after the last tick. `turn`: the table that was looked at last.
pub(crate) fn on_tick(core: &mut Core, turn: &mut usize, elapsed: Duration) {
    let mut left = RECORDS_PER_TICK;
    let tables = core.tables.len();
    let mut due = Due::default();
    let now = core.unix;
    for _ in 0..tables {
        *turn = (*turn + 1) % tables;
        if let Some(state) = core.table_mut(*turn) {
            state.key_stats.hot.decay(elapsed);
            left -= walk(state, left, now, &mut due);
        }
        assert!(
            due.hashes.len() <= HASHES_PER_TICK,
            "{} hashes are to be written anew in one tick",
            due.hashes.len()
        );
        for key in due.hashes.drain(..) {
            expire_fields(core, *turn, &key);
        }
        if let Some(state) = core.table_mut(*turn) {
            for name in due.orphans.drain(..) {
                forget_part(state, &name);
            }
            due.in_parts
                .drain(..)
                .for_each(|key| state.room.due.note(key));
        }
        if let Some(state) = core.tables.get(*turn) {
            let met = &mut core.requests.distributed.met;
            let locked = due.locked.drain(..);
            locked.for_each(|key| met.note(state.id, &key, core.now));
        }
    }
}

/// Goes on by about so many records at most; how many they were. `due`: keys of which fields are over at `now`, or with intents.
fn walk(state: &mut TableState, records_max: usize, now: UnixMillis, due: &mut Due) -> usize {
    let TableState {
        table,
        partitions,
        key_stats,
        ..
    } = state;
    // Whatever is written changes one of them, or nothing that matters here.
    let holds = table.memory_live().wrapping_add(table.memory_used());
    let extent = (partitions.len(), holds);
    let KeyStats {
        big, field_expiry, ..
    } = key_stats;
    if field_expiry.is_some_and(|at| at < now) && big.wake() {
        *field_expiry = None;
    }
    if table.intents() > 0 {
        // What it finds now are those that stay.
        big.wake();
    }
    big.walk(extent, records_max, |leaf, from, left, visit| {
        let partition = partitions.get(leaf)?.as_ref();
        let partition = partition.filter(|it| it.is_primary())?;
        table.scan(partition.local, from, left, |key, found| {
            if let Some(part) = PartName::decode(key) {
                let has_room = due.orphans.len() < ORPHANS_PER_TICK;
                if has_room && is_orphan(table, partition.local, &part) {
                    due.orphans.push(key.to_vec());
                }
                return;
            }
            visit(key, key.len() + value_bytes(&found));
            if found.value_type == ValueType::Intent {
                due.locked.push(key.to_vec());
            }
            let (first, is_in_parts) = match found.value {
                ValueRef::Hot(value) if found.value_type == ValueType::Hash => {
                    (first_expiry(value), Head::read(value).is_some())
                }
                _ => (None, false),
            };
            let found_due = match is_in_parts {
                true => &mut due.in_parts,
                false => &mut due.hashes,
            };
            match first {
                Some(at) if at < now && found_due.len() < HASHES_PER_TICK => {
                    found_due.push(key.to_vec());
                }
                Some(at) => *field_expiry = Some(field_expiry.map_or(at, |it| it.min(at))),
                None => {}
            }
        })
    })
}

/// Bytes of a key's value, in all its parts.
fn value_bytes(found: &Found<'_>) -> usize {
    match found.value {
        ValueRef::Hot(value) if found.value_type == ValueType::Hash => {
            Head::read(value).map_or(value.len(), |head| head.whole_len())
        }
        value => value.len(),
    }
}

/// A part is of nothing, so it is to go.
fn forget_part(state: &mut TableState, name: &[u8]) {
    let Some(part) = PartName::decode(name) else {
        return;
    };
    // As if the value had ended of which it is the last part that is left.
    let head = Head {
        fields: 0,
        value: part.value,
        parts: part.number.saturating_add(1),
        bytes: 0,
        times: None,
    };
    state.room.orphans.push(Orphaned {
        key: part.key.to_vec(),
        head,
        next: part.number,
    });
}

/// Removes the fields of a hash whose time is over, where this brick may write (rule `only the primary expires keys`).
fn expire_fields(core: &mut Core, table: usize, key: &[u8]) {
    let Some(location) = expire::writable(core, table, key) else {
        return;
    };
    let mut view = View::new(core, table, expire::CONTEXT, (key, location), &[]);
    // Who reads it notes what is over, and the end of the request removes that. It was in memory just now.
    if view.read_any(key).is_ok() {
        view.finish();
    } else {
        view.abandon();
    }
}

/// The largest keys of a table that this brick leads, and the bytes of key and value.
pub(crate) fn biggest(state: &TableState) -> Vec<(Vec<u8>, u64)> {
    state.key_stats.big.present(|key| {
        let location = state.map.locate(key);
        let partition = state.partitions.get(location.leaf as usize)?.as_ref();
        let partition = partition.filter(|it| it.is_primary())?;
        let hash = KeyHash(location.key_hash);
        let found = state.table.peek(partition.local, hash, key)?;
        Some(key.len() + value_bytes(&found))
    })
}
