//! Damage in the log heals: once nothing that it can have held is missing any more, its segment goes.
//!
//! In:  damage that recovery met, with the partitions that it can have had records of; what these are now. Out: segments that may
//!      be cleaned although they have damage; word of it.
//!
//! A partition that other replicas have claims nothing after damage, and is filled anew by one of them. When it is in sync again its
//! log has all of it, behind a record that ends whatever stood before. What the damage was about is dead then, and the rest of the
//! segment is moved as that of any other.
//!
//! Invariants:
//! - A partition is whole if it is in sync and knows of no gap, or is not here any more. One that has no other replica, and may
//!   lack something, stays as it is: so does the segment, from which its file may be mended.
//! - Damage heals when all partitions are whole that it can have touched; a segment when all its damage has.
//!
//! Not here: filling partitions anew (`replication`, `catch_up`), moving what is live (`clean`).

use crate::core::Core;
use crate::effect::Effect;
use crate::tables::{Tables, Unloaded};
use brickyard_replication::Role;
use brickyard_types::PartitionId;

/// Looks which damage has healed; often enough once a second.
pub(crate) fn heal(core: &mut Core) {
    if core.segments.health.has_healed() {
        return;
    }
    let tables = &core.tables;
    let healed = core
        .segments
        .health
        .heal(|partition| is_whole(tables, partition));
    if healed.is_empty() {
        return;
    }
    for damage in &healed {
        core.effects.push_back(Effect::Report(format!(
            "healed: nothing is missing any more that this can have touched: {}",
            damage.text
        )));
    }
    for segment in healed.iter().map(|damage| damage.segment) {
        if core.segments.health.is_well(segment) {
            core.segments.mark_healed(segment);
        }
    }
    core.stats()
        .log
        .note_healed(healed.into_iter().map(|damage| damage.text));
}

fn is_whole(tables: &Tables, partition: PartitionId) -> bool {
    tables.children(partition).into_iter().all(|child| {
        tables.partition(child).is_none_or(|(state, held)| {
            state.availability.unloaded == Unloaded::Held
                && matches!(held.status.role, Role::Primary | Role::Backup)
                && !held.gaps.is_damaged()
        })
    })
}
