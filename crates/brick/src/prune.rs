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
use crate::request::UNBOUNDED;
use crate::view::{RequestContext, View};

/// Parts of each table that are looked at between two ticks.
const PARTS_PER_TICK: u32 = 512;

/// Parts that one operation is about.
const PARTS_A_STEP: u32 = 128;

/// A tick's worth of all tables.
pub(crate) fn on_tick(core: &mut Core) {
    for table in 0..core.tables.len() {
        let mut left = PARTS_PER_TICK;
        while left > 0 {
            let Some(state) = core.table_mut(table) else {
                break;
            };
            let Some(key) = state.room.due.pop_front() else {
                break;
            };
            left -= PARTS_A_STEP;
            if step(core, table, &key)
                && let Some(state) = core.table_mut(table)
            {
                state.room.note_due(key);
            }
        }
    }
}

/// Prunes some parts of one hash; whether there is more to do.
fn step(core: &mut Core, table: usize, key: &[u8]) -> bool {
    // Where it may not write now, the walk comes by again.
    let Some(location) = expire::writable(core, table, key) else {
        return false;
    };
    let context = RequestContext {
        writes_many: true,
        values_max: UNBOUNDED,
        ..expire::CONTEXT
    };
    let mut view = View::new(core, table, context, (key, location), &[]);
    let Ok(has_more) = view.prune(key, PARTS_A_STEP) else {
        view.abandon();
        return false;
    };
    view.finish();
    has_more
}

#[cfg(test)]
#[path = "prune_test.rs"]
mod prune_test;
