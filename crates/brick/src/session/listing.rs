//! The keys that a brick has, as lists: KEYS, RANDOMKEY, keys of a slot. (SCAN is in `scan`.)
//!
//! Invariant: only the brick that is primary for a key lists it.

use crate::core::Core;
use crate::gather::REPLY_TOO_LONG;
use crate::output::CommitDependency;
use crate::settings::Settings;
use brickyard_command::glob;
use brickyard_routing::TableMap;
use brickyard_table::{Found, ScanPosition};
use brickyard_types::part::is_part;
use brickyard_types::{Slot, UnixMillis, ValueType};
use brickyard_wire::Reply;

/// Bytes of a key in a list, besides its own, about.
pub(super) const BULK_BYTES: usize = 16;

pub(super) fn is_there(found: &Found<'_>, now: UnixMillis) -> bool {
    match found.value_type {
        // One with an expiry is to hold nothing.
        ValueType::Intent => found.expires_at.is_none(),
        _ => found.expires_at.is_none_or(|at| at >= now),
    }
}

/// Calls `visit` with each key of a table on this brick.
fn each_key(
    core: &Core,
    table: usize,
    leaves: impl Iterator<Item = usize>,
    mut visit: impl FnMut(&TableMap, &[u8]),
) {
    let Some(state) = core.table(table) else {
        return;
    };
    for leaf in leaves {
        let Some(Some(partition)) = state.partitions.get(leaf) else {
            continue;
        };
        let serves = partition.is_primary() || partition.status.serves_reads;
        if partition.clear.is_some() || !serves {
            continue;
        }
        state.table.scan(
            partition.local,
            ScanPosition::START,
            usize::MAX,
            |key, found| {
                if !is_part(key) && is_there(&found, core.unix) {
                    visit(&state.map, key);
                }
            },
        );
    }
}

pub(super) fn keys(core: &Core, table: usize, pattern: &[u8], reply: &mut Reply<'_>) {
    let Some(state) = core.table(table) else {
        return reply.array(0);
    };
    let bytes_max = Settings::load(&core.shared.settings.output_bytes_max);
    let mut found: Vec<Vec<u8>> = Vec::new();
    let mut bytes = 0;
    each_key(core, table, state.leaves(), |_, key| {
        if bytes <= bytes_max && glob::matches(pattern, key, false) {
            bytes += (key.len() + BULK_BYTES) as u64;
            found.push(key.to_vec());
        }
    });
    if bytes > bytes_max {
        return reply.error_bytes(REPLY_TOO_LONG.as_bytes());
    }
    reply.array(found.len());
    for key in found {
        reply.bulk(&key);
    }
}

pub(super) fn random_key(core: &mut Core, table: usize, reply: &mut Reply<'_>) -> CommitDependency {
    const TRIES: usize = 100;
    for _ in 0..TRIES {
        let draw = core.random.next();
        let Some(state) = core.table(table) else {
            break;
        };
        let Some((_, key, found)) = state.table.random(draw) else {
            break;
        };
        // Of others' partitions this brick does not know what is there now.
        let leaf = state.map.locate(key).leaf as usize;
        let own = state.partitions.get(leaf).and_then(Option::as_ref);
        let is_own = own.is_some_and(|it| it.is_primary() && it.clear.is_none());
        if is_own && is_there(&found, core.unix) {
            reply.bulk(key);
            return CommitDependency::NONE;
        }
    }
    reply.null();
    CommitDependency::NONE
}

/// The keys of a slot on this brick, at most `max` of them; and how many there are.
pub(super) fn keys_in_slot(
    core: &Core,
    table: usize,
    slot: Slot,
    max: usize,
) -> (Vec<Vec<u8>>, usize) {
    let mut found = Vec::new();
    let mut count = 0;
    let Some(state) = core.table(table) else {
        return (found, 0);
    };
    let leaves = state.map.partitions().leaves().iter().enumerate();
    let leaves = leaves
        .filter(|(_, leaf)| leaf.prefix.slots().contains(slot))
        .map(|(at, _)| at);
    each_key(core, table, leaves, |map, key| {
        if map.hasher().slot(key) == slot {
            count += 1;
            if found.len() < max {
                found.push(key.to_vec());
            }
        }
    });
    (found, count)
}
