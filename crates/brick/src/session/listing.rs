//! The keys that a brick has, as lists: KEYS, SCAN, RANDOMKEY, keys of a slot.
//!
//! Invariant: only the brick that is primary for a key lists it.

use crate::core::Core;
use crate::gather::REPLY_TOO_LONG;
use crate::output::CommitDependency;
use crate::settings::Settings;
use brickyard_command::request::ScanArgs;
use brickyard_command::{Args, glob};
use brickyard_routing::{Cursor, TableMap};
use brickyard_table::{Found, ScanPosition};
use brickyard_types::{Slot, UnixMillis};
use brickyard_wire::Reply;

/// Bytes of a key in a list, besides its own, about.
const BULK_BYTES: usize = 16;

/// Keys that a scan visits between two looks at how many bytes it has found.
const SCAN_STEP: usize = 256;

/// Bytes of keys after which a scan ends, whatever its COUNT is: it is but a hint, and the loop has
/// others to serve.
const SCAN_BYTES_MAX: usize = 4 << 20;

fn is_there(found: &Found<'_>, now: UnixMillis) -> bool {
    found.expires_at.is_none_or(|at| at >= now)
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
                if is_there(&found, core.unix) {
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

pub(super) fn scan(core: &Core, table: usize, args: Args<'_>, reply: &mut Reply<'_>) {
    let (Ok(scan), Some(state)) = (ScanArgs::parse(args), core.table(table)) else {
        return reply.error("ERR the scan cannot go on; begin again at 0");
    };
    let partitions = state.map.partitions();
    let mut cursor = Some(Cursor::decode(scan.cursor));
    let mut found: Vec<Vec<u8>> = Vec::new();
    let mut seen = 0;
    let count = usize::try_from(scan.count).unwrap_or(usize::MAX);
    let mut bytes = 0;
    while let Some(at) = cursor
        && seen < count
        && bytes < SCAN_BYTES_MAX
    {
        let point = partitions.resume(at);
        let own = state.partitions.get(point.leaf).and_then(Option::as_ref);
        let Some(partition) = own.filter(|partition| partition.is_primary()) else {
            if seen == 0 && !state.leaves().any(|leaf| leaf > point.leaf) {
                // A brick port scans its own partitions alone.
                cursor = None;
                break;
            }
            if seen > 0 {
                // The rest is another brick's: the next call goes on there.
                break;
            }
            cursor = partitions.advance(point.leaf, None);
            continue;
        };
        let from = ScanPosition(point.progress);
        let next = state.table.scan(
            partition.local,
            from,
            (count - seen).min(SCAN_STEP),
            |key, it| {
                seen += 1;
                let is_wanted = is_there(&it, core.unix)
                    && partition.clear.is_none()
                    && scan.wants(key)
                    && scan.wants_strings();
                if is_wanted {
                    bytes += key.len() + BULK_BYTES;
                    found.push(key.to_vec());
                }
            },
        );
        assert!(
            found.len() <= seen,
            "{} keys of {seen} that were looked at",
            found.len()
        );
        // Empty partitions cost a step too, or a sparse table would be scanned in one call.
        seen += 1;
        cursor = partitions.advance(point.leaf, next.map(|position| position.0));
    }
    reply.array(2);
    reply.bulk(cursor.map_or(0, Cursor::encode).to_string().as_bytes());
    reply.array(found.len());
    for key in found {
        reply.bulk(&key);
    }
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
