//! Parts of hashes that belong to nothing any more go.
//!
//! In:  ticks; values that ended, parts that the walk came by. Out: removals, prepared like any other write.
//!
//! A key that is deleted, overwritten or expires takes one record with it, however large its hash is. Its parts follow some at a time, so that
//! no turn is long; nobody sees them meanwhile.
//!
//! Invariants:
//! - Only parts of which no record of their key speaks are removed (rule `a head speaks of parts that are there`), by the primary, and not
//!   where a record of the key may be lost.
//! - Work is bounded a tick.

use crate::core::Core;
use crate::expire::CONTEXT;
use crate::log::KeyRef;
use crate::request::UNBOUNDED;
use crate::tables::Orphaned;
use crate::view::{RequestContext, View};
use brickyard_routing::Location;
use brickyard_types::part::PartName;

/// Parts of each table that are removed between two ticks.
const PARTS_PER_TICK: u32 = 512;

/// A tick's worth of all tables.
pub(crate) fn on_tick(core: &mut Core) {
    for table in 0..core.tables.len() {
        let mut left = PARTS_PER_TICK;
        while left > 0
            && let Some(orphaned) = next(core, table)
        {
            left -= remove(core, table, orphaned, left);
        }
    }
}

fn next(core: &mut Core, table: usize) -> Option<Orphaned> {
    let state = core.table_mut(table)?;
    if state.room.orphans.is_empty() {
        return None;
    }
    state.room.orphans.pop()
}

/// Removes so many parts of a value at most; how many were looked at.
fn remove(core: &mut Core, table: usize, mut orphaned: Orphaned, parts_max: u32) -> u32 {
    // Where another brick decides, the walk finds them, should this one come to.
    let Some(location) = led(core, table, &orphaned.key) else {
        return 1;
    };
    let end = orphaned
        .head
        .parts
        .min(orphaned.next.saturating_add(parts_max));
    let parts = orphaned.next..end;
    let names: Vec<Vec<u8>> = parts
        .clone()
        .map(|number| orphaned.head.part(&orphaned.key, number).encode())
        .filter(|name| may_go(core, table, location, name))
        .collect();
    if !names.is_empty() {
        let context = RequestContext {
            writes_many: true,
            values_max: UNBOUNDED,
            ..CONTEXT
        };
        let mut view = View::new(core, table, context, (&orphaned.key, location), &[]);
        for name in &names {
            view.remove_part(name);
        }
        view.finish();
    }
    let looked_at = (parts.end - parts.start).max(1);
    orphaned.next = end;
    if end < orphaned.head.parts
        && let Some(state) = core.table_mut(table)
    {
        state.room.orphans.push(orphaned);
    }
    looked_at
}

/// Where a key is, if this brick decides about it now.
pub(crate) fn led(core: &Core, table: usize, key: &[u8]) -> Option<Location> {
    let state = core.table(table)?;
    let location = state.map.locate(key);
    let partition = state.partitions.get(location.leaf as usize)?.as_ref()?;
    let may_write = partition.is_primary() && partition.status.accepts_writes;
    (may_write && core.replicas.is_leased && !core.is_adopting()).then_some(location)
}

/// Whether a part is there, of no value, and nobody is about to write it.
fn may_go(core: &Core, table: usize, location: Location, name: &[u8]) -> bool {
    let Some(state) = core.table(table) else {
        return false;
    };
    let Some(Some(partition)) = state.partitions.get(location.leaf as usize) else {
        return false;
    };
    let Some(part) = PartName::decode(name) else {
        return false;
    };
    let hash = state.table.hash(name);
    let key = KeyRef {
        table: table as u32,
        partition: partition.local,
        hash,
    };
    state.table.contains(partition.local, hash, name)
        && core.log.pending(key, partition.id, name).is_none()
        && state.is_orphan(partition.local, &part)
}
