//! Fields of hashes in parts go when their time is over, some parts at a time.
//!
//! In:  ticks; hashes that the walk has found some in. Out: their parts written anew, as one operation a step.
//!
//! Readers do not see such fields, and remove those that they meet. What nobody reads goes here, so that it takes memory for some time
//! longer and not for ever.
//!
//! Invariants:
//! - Only the primary removes (rule `only the primary expires keys`), and only what is in memory.
//! - Work is bounded a tick.

use crate::core::Core;
use crate::expire;
use crate::orphans::led;
use crate::request::UNBOUNDED;
use crate::view::{RequestContext, View};

/// Hashes of each table that are pruned between two ticks.
const HASHES_PER_TICK: usize = 4;

/// Parts that one operation is about.
const PARTS_A_STEP: u32 = 128;

/// A tick's worth of all tables.
pub(crate) fn on_tick(core: &mut Core) {
    for table in 0..core.tables.len() {
        let Some(state) = core.table_mut(table) else {
            continue;
        };
        for key in state.room.due.take(HASHES_PER_TICK) {
            // One operation of a key at a time: what it leaves is for the next tick.
            let has_more = step(core, table, &key);
            if has_more && let Some(state) = core.table_mut(table) {
                state.room.due.note(key);
            }
        }
    }
}

/// Prunes some parts of one hash; whether there is more to do.
fn step(core: &mut Core, table: usize, key: &[u8]) -> bool {
    let Some(location) = expire::writable(core, table, key) else {
        // Somebody is writing it, or another brick is to by now.
        return led(core, table, key).is_some();
    };
    let context = RequestContext {
        writes_many: true,
        values_max: UNBOUNDED,
        ..expire::CONTEXT
    };
    let mut view = View::new(core, table, context, (key, location), &[]);
    let Ok(has_more) = view.prune(key, PARTS_A_STEP) else {
        // Some of it is on disk alone.
        view.abandon();
        return false;
    };
    view.finish();
    has_more
}

#[cfg(test)]
#[path = "prune_test.rs"]
mod prune_test;
