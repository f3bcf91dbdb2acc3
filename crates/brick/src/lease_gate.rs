//! What leases let a brick do: grant another one, write a key, clear a table.
//!
//! In:  reads and operations where they are about to happen; the time. Out: whether they may, now.
//!
//! Invariants: those of [`crate::leases`]; this is where its rules meet partitions and the clock.
//! - A lease is granted by a primary alone, to a connection of its own brick.
//! - Of a table that never had leases nothing is looked at but that.

use crate::core::Core;
use crate::leases::LEASE;
use crate::settings::Settings;
use crate::tables::Partition;
use crate::trackers::Client;
use brickyard_types::{Instant, UnixMillis};
use std::time::Duration;

/// Where a key is: the table, the leaf, its name.
pub(crate) type Spot<'a> = ((usize, usize), &'a [u8]);

/// For how many milliseconds a client may keep what it reads of the key now, counted from when it asked; 0: not at all. What is kept is gone when the key is.
pub(crate) fn grant(
    core: &mut Core,
    ((table, leaf), key): Spot<'_>,
    client: Client,
    expires_at: Option<UnixMillis>,
) -> u64 {
    let Some(state) = core.table(table) else {
        return 0;
    };
    let partition = state.partitions.get(leaf).and_then(Option::as_ref);
    if !state.attributes.leases.are_granted() || !partition.is_some_and(Partition::is_primary) {
        return 0;
    }
    let id = state.id;
    // Rule `leases end before another writes`: what it asked was here by then. A former primary's leases end with its own lease.
    let heard = core.replicas.new_leads.heard;
    let mut until = (heard + LEASE).min(core.replicas.lease);
    if let Some(expires_at) = expires_at {
        let passed = (heard - core.now).as_millis() as u64 + 1;
        let left = expires_at.0.saturating_sub(core.unix.0 + passed);
        until = until.min(heard + Duration::from_millis(left));
    }
    let granted = (until - heard).as_millis() as u64;
    let keys_max = Settings::load(&core.shared.settings.tracked_keys_max);
    let times = (heard, until);
    if granted == 0
        || !core
            .holders
            .leases
            .grant((id, key), client, times, keys_max)
    {
        return 0;
    }
    assert!(
        until <= core.replicas.lease,
        "a lease of a key until {until:?} outlives the brick's until {:?}",
        core.replicas.lease
    );
    granted
}

/// Whether an operation on the key may be prepared now, as far as leases are concerned. If not, it may be tried again when the brick is woken.
pub(crate) fn may_write(core: &mut Core, ((table, leaf), key): Spot<'_>) -> bool {
    let Some(state) = core.table(table) else {
        return true;
    };
    if !state.attributes.leases.may_be_out() {
        return true;
    }
    let id = state.id;
    // Both, so that leases are given back meanwhile.
    let is_free = core.holders.leases.recall(id, key, core.now);
    has_waited(core, (table, leaf)) && is_free
}

/// Whether a table may be cleared now, as far as this brick leads it.
pub(crate) fn may_clear(core: &mut Core, table: usize) -> bool {
    let Some(state) = core.table(table) else {
        return true;
    };
    if !state.attributes.leases.may_be_out() {
        return true;
    }
    let (id, leaves): (_, Vec<usize>) = (state.id, state.leaves().collect());
    let is_free = core.holders.leases.recall_table(id, core.now);
    let waited = leaves
        .iter()
        .filter(|leaf| has_waited(core, (table, **leaf)));
    waited.count() == leaves.len() && is_free
}

/// Whether leases that a former primary gave have run out.
fn has_waited(core: &mut Core, (table, leaf): (usize, usize)) -> bool {
    let now = core.now;
    let partition = core
        .table(table)
        .and_then(|it| it.partitions.get(leaf)?.as_ref());
    let Some(partition) = partition else {
        return true;
    };
    match partition.lead.writes_from {
        Some(from) => from <= now,
        None => {
            let id = partition.id;
            core.replicas.new_leads.partitions.insert(id);
            false
        }
    }
}

/// Looks at partitions that this brick leads since a moment ago, at a time that was read after all that it has heard: their writes wait from the moment at which
/// each member is known to have left the views before (rule `leases end before another writes`).
pub(crate) fn note_beginnings(core: &mut Core) {
    let Core {
        replicas,
        tables,
        holders,
        ..
    } = core;
    let from: Instant = replicas.new_leads.heard + LEASE;
    replicas.new_leads.partitions.retain(|id| {
        let Some(partition) = tables.partition_mut(*id).filter(|it| it.is_primary()) else {
            return false;
        };
        // The view's first record is among these, and all members vote for it in this view.
        if partition.committed < partition.lead.inherited {
            return true;
        }
        assert!(
            partition.lead.writes_from.is_none_or(|it| it <= from),
            "{id} is written from {:?} on, and from {from:?}",
            partition.lead.writes_from
        );
        partition.lead.writes_from = Some(from);
        holders.leases.wake_at(from);
        false
    });
}
