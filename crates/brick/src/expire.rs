//! Keys whose time has come.
//!
//! In:  ticks. Out: removals, prepared like any other write (rule `removals name what they remove`).
//!
//! Work is bounded a turn, and while there is more of it turns follow one another: a million keys
//! that expire at once are removed between the clients' batches instead of stalling them. Reads
//! treat such keys as gone from the first moment.

use crate::core::Core;
use crate::keyspace_events::Cause;
use crate::lease_gate;
use crate::log::{KeyRef, Writer};
use crate::output::CommitDependency;
use crate::request::UNBOUNDED;
use crate::view::{RequestContext, View};
use brickyard_routing::Location;
use brickyard_table::KeyHash;
use brickyard_types::{Op, UnixMillis};

/// Removals a table and turn.
const REMOVALS_MAX: usize = 256;

/// A key that is to go.
pub(crate) struct Leaving {
    pub(crate) key: Vec<u8>,
    pub(crate) op: Op,
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
        let removed = leaving
            .iter()
            .filter(|it| remove(core, table, it, Cause::Expired).is_some());
        let removed = removed.count() as u64;
        if let Some(state) = core.table(table) {
            state.stats.expired.add(removed);
        }
    }
    has_more
}

/// How the brick itself writes a key.
pub(crate) const CONTEXT: RequestContext = RequestContext {
    writer: Writer::MANY,
    reads_only: false,
    sees_prepared: false,
    writes_many: false,
    sees_intents: false,
    values_max: UNBOUNDED,
};

/// Where a key is that this brick may write by itself now; `None`: it may not, or somebody else is writing it.
pub(crate) fn writable(core: &mut Core, table: usize, key: &[u8]) -> Option<Location> {
    let state = core.table(table)?;
    let location = state.map.locate(key);
    let partition = state.partitions.get(location.leaf as usize)?.as_ref()?;
    // Only the primary decides that a key is gone (rule `only the primary expires keys`).
    let may_write = partition.is_primary() && partition.status.accepts_writes;
    if !may_write || !core.replicas.is_leased || core.is_adopting() {
        return None;
    }
    let key_ref = KeyRef {
        table: table as u32,
        partition: partition.local,
        hash: KeyHash(location.key_hash),
    };
    // What is being written holds something else then, which is for the next look.
    let is_pending = core.log.pending(key_ref, partition.id, key).is_some();
    let at = (table, location.leaf as usize);
    // What has a lease is for the next look, too.
    (!is_pending && lease_gate::may_write(core, (at, key))).then_some(location)
}

/// Prepares the removal of a key that still has the op named: what it commits by. `None`: it stays.
pub(crate) fn remove(
    core: &mut Core,
    table: usize,
    leaving: &Leaving,
    cause: Cause,
) -> Option<CommitDependency> {
    let Leaving { key, op } = leaving;
    let location = writable(core, table, key)?;
    let mut view = View::new(core, table, CONTEXT, (key, location), &[]);
    view.because(|| cause);
    let is_removed = view.remove_exactly(key, location, *op);
    let finished = view.finish();
    is_removed.then_some(finished.dependency)
}
