//! What this brick may do with a partition at this moment.

use crate::brick::Brick;
use crate::connection::ConnectionId;
use crate::core::{Core, TableState};
use crate::forward::Work;
use crate::remote::only_reads;
use crate::stall::Lane;
use brickyard_command::ErrorReply;
use brickyard_replication::Role;
use brickyard_routing::{Location, Member};

/// Whether a command may run on a partition here and now.
pub(super) enum Standing {
    Serves,
    /// Not now.
    Waits,
    /// Another brick orders its operations.
    Elsewhere(Member),
    /// Neither now nor soon: too few replicas are in sync for a write, or the table is offline.
    Refused(ErrorReply),
}

impl Brick {
    /// Whether the work may run here and now.
    pub(crate) fn may_run(&self, work: &Work, table: usize) -> bool {
        matches!(
            self.standing_of(work, table, work.first_key()),
            Standing::Serves
        )
    }

    pub(super) fn standing_of(&self, work: &Work, table: usize, key: Option<&[u8]>) -> Standing {
        let location = key.and_then(|key| self.core.locate(table, key));
        match (location, self.core.table(table)) {
            (Some(location), Some(state)) => {
                let reads_only = only_reads(work);
                standing(&self.core, state, location.leaf, reads_only, true)
            }
            _ => Standing::Serves,
        }
    }

    /// What the connection asked of the partition before is on its way elsewhere, or waits: this goes the
    /// same way (PROTOCOL rule 26).
    pub(super) fn behind_earlier(
        &self,
        standing: Standing,
        id: ConnectionId,
        location: Location,
        state: &TableState,
    ) -> Standing {
        let lane = Lane {
            member: self.core.member(),
            connection: id,
            table: state.id,
            slot: location.slot,
        };
        if self.stalls.lanes.is_busy(lane) || self.remotes.near.is_busy(lane) {
            return Standing::Waits;
        }
        let has_asked = self.has_asked(lane);
        let goes_away = has_asked || matches!(standing, Standing::Elsewhere(_));
        if goes_away && self.has_parked(lane) {
            // A read that waits here for its value would see what this writes, or more than this reads.
            return Standing::Waits;
        }
        if !has_asked {
            return standing;
        }
        match state.owner(location.leaf) {
            owner if owner != self.core.member() => Standing::Elsewhere(owner),
            _ => Standing::Waits,
        }
    }

    /// Whether something of the lane waits here for values.
    pub(crate) fn has_parked(&self, lane: Lane) -> bool {
        self.core.cold.has_of(lane)
    }

    /// Whether something of the lane is with another brick, or about to go there.
    pub(crate) fn has_asked(&self, lane: Lane) -> bool {
        self.remotes.lanes.is_busy(lane) || self.remotes.near.is_busy(lane)
    }
}

/// What this brick may do with a partition at this moment.
#[inline]
pub(super) fn standing(
    core: &Core,
    state: &TableState,
    leaf: u32,
    reads_only: bool,
    from_backup: bool,
) -> Standing {
    let partition = state.partitions.get(leaf as usize).and_then(Option::as_ref);
    if partition.is_none()
        && let Some(error) = state.refusal()
    {
        return Standing::Refused(error);
    }
    if let Some(partition) = partition
        && partition.is_primary()
    {
        let status = partition.status;
        let may = if reads_only {
            status.serves_reads && !core.partings.hold(state)
        } else {
            status.accepts_writes && !core.is_adopting()
        };
        if may && core.replicas.is_leased {
            return Standing::Serves;
        }
        return too_few(state, leaf, reads_only).map_or(Standing::Waits, Standing::Refused);
    }
    if let Some(partition) = partition
        && reads_only
        && from_backup
        && partition.status.role == Role::Backup
        && partition.status.serves_reads
        && !core.partings.hold(state)
        && core.replicas.is_leased
    {
        return Standing::Serves;
    }
    let owner = state.owner(leaf);
    // When the lease comes back a backup can answer by itself, but not what has gone to a primary that is dead.
    let may_come = || {
        let is_backup = partition.is_some_and(|it| it.status.role == Role::Backup);
        let waits_for_lease = is_backup && reads_only && from_backup && !core.replicas.is_leased;
        waits_for_lease && core.link_to(owner).is_none()
    };
    let is_held = || partition.is_some() && core.partings.hold(state);
    if owner == core.member() || may_come() || is_held() {
        Standing::Waits
    } else {
        Standing::Elsewhere(owner)
    }
}

/// Why a write is refused where fewer replicas are in sync than the table asks for.
#[cold]
pub(crate) fn too_few(state: &TableState, leaf: u32, reads_only: bool) -> Option<ErrorReply> {
    let group = state.map.groups().get(leaf as usize)?;
    let (have, want) = (
        group.in_sync().count(),
        usize::from(state.attributes.min_in_sync),
    );
    (!reads_only && have < want).then(|| {
        ErrorReply::new(format!(
            "NOREPLICAS {have} of the replicas of this key are in sync and table '{}' wants {want} for a write; \
             the write was not executed",
            state.name
        ))
    })
}
