//! Keys whose time has come, and tables that are past their memory bound.
//!
//! In:  ticks. Out: removals, prepared like any other write (rule `removals name what they remove`); values of `disk`
//!      tables left to the log alone.
//!
//! Work is bounded a turn, and while there is more of it turns follow one another: a million keys
//! that expire at once are removed between the clients' batches instead of stalling them. Reads
//! treat such keys as gone from the first moment.

use crate::core::Core;
use crate::log::{KeyRef, Writer};
use crate::output::Meets;
use crate::view::{RequestContext, View};
use brickyard_table::KeyHash;
use brickyard_types::{Eviction, Medium, Op, UnixMillis};

/// Removals a table and turn.
const REMOVALS_MAX: usize = 256;

/// Records that the eviction hand passes a table and turn.
const EVICT_STEPS_MAX: usize = 2_048;

/// Records that it passes at a time.
const EVICT_STEP: usize = 64;

/// A key that is to go.
struct Leaving {
    key: Vec<u8>,
    op: Op,
}

/// Removes keys whose time has come, a turn's worth of each table's; whether there are more.
pub(crate) fn expire_due(core: &mut Core) -> bool {
    let mut has_more = false;
    // A key lives through the millisecond that it expires at.
    let now = UnixMillis(core.unix.0.saturating_sub(1));
    for table in 0..core.tables.len() {
        let mut leaving = Vec::new();
        if let Some(state) = core.table_mut(table) {
            has_more |= state.table.due(now, REMOVALS_MAX, |expired| {
                leaving.push(Leaving {
                    key: expired.key.to_vec(),
                    op: expired.op,
                });
            });
        }
        let removed = remove_all(core, table, &leaving);
        if let Some(state) = core.table(table) {
            state.stats.expired.add(removed);
        }
    }
    has_more
}

/// Makes room in tables that are past their bound, a turn's worth of each; whether to go on at once.
pub(crate) fn evict_all(core: &mut Core) -> bool {
    let mut is_crowded = false;
    for table in 0..core.tables.len() {
        is_crowded |= evict(core, table);
    }
    is_crowded
}

/// Makes room in a table that is past its bound: a `disk` table forgets values that were not
/// used lately, a `ram` table with `EVICT lru` removes keys. Whether to go on at once.
fn evict(core: &mut Core, table: usize) -> bool {
    let frontier = core.log.frontier();
    let Some(state) = core.table_mut(table) else {
        return false;
    };
    let evicts = state.attributes.medium == Medium::Disk || state.attributes.evict == Eviction::Lru;
    // Removals free their memory only when they commit: until then more would be too many.
    if !evicts || !state.is_over_memory() || !frontier.meets(state.room.evicting) {
        return false;
    }
    let mut leaving = Vec::new();
    let mut used = state.memory_counted();
    let mut freed_sum = 0;
    let mut steps = 0;
    while used > state.room.bytes_max && steps < EVICT_STEPS_MAX {
        let freed = state.table.evict_step(EVICT_STEP, |victim| {
            leaving.push(Leaving {
                key: victim.key.to_vec(),
                op: victim.op,
            });
        });
        steps += EVICT_STEP;
        freed_sum += freed;
        used = used.saturating_sub(freed as u64);
    }
    assert!(
        steps <= EVICT_STEPS_MAX + EVICT_STEP,
        "{steps} records were passed in one turn"
    );
    let removed = remove_all(core, table, &leaving);
    let barrier = core.log.barrier();
    let Some(state) = core.table_mut(table) else {
        return false;
    };
    state.stats.evicted.add(removed);
    if removed > 0 {
        state.room.evicting = barrier;
    }
    // Keys of which others are the primary stay until those remove them: looking again would be in vain.
    let is_progress = removed > 0 || state.attributes.medium == Medium::Disk && freed_sum > 0;
    is_progress && state.is_over_memory() && frontier.meets(state.room.evicting)
}

/// Prepares the removal of keys that still have the op named; how many.
fn remove_all(core: &mut Core, table: usize, leaving: &[Leaving]) -> u64 {
    let mut removed = 0;
    for Leaving { key, op } in leaving {
        let Some(state) = core.table(table) else {
            break;
        };
        let location = state.map.locate(key);
        let Some(Some(partition)) = state.partitions.get(location.leaf as usize) else {
            continue;
        };
        // Only the primary decides that a key is gone (rule `only the primary expires keys`).
        let may_write = partition.is_primary() && partition.status.accepts_writes;
        if !may_write || !core.replicas.is_leased || core.is_adopting() {
            continue;
        }
        let key_ref = KeyRef {
            table: table as u32,
            partition: partition.local,
            hash: KeyHash(location.key_hash),
        };
        let is_written = core.log.pending(key_ref, partition.id, key).is_some();
        if is_written {
            // It is being written: what it holds then is for the next look.
            continue;
        }
        let context = RequestContext {
            writer: Writer::MANY,
            reads_only: false,
            sees_prepared: false,
            writes_many: false,
        };
        let mut view = View::new(core, table, context, (key, location), &[]);
        if view.remove_exactly(key, location, *op) {
            removed += 1;
        }
        view.finish();
    }
    assert!(
        removed <= leaving.len() as u64,
        "{removed} keys of {} were removed",
        leaving.len()
    );
    removed
}
