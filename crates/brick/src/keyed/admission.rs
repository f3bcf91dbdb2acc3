//! What this brick may do with a partition at this moment.

use crate::accepted::ConnectionId;
use crate::core::Core;
use crate::refusal::too_few;
use crate::request::{Request, SessionOrder, Work};
use crate::requests::Place;
use crate::tables::TableState;
use brickyard_command::ErrorReply;
use brickyard_replication::Role;
use brickyard_routing::{Location, Member};

/// Whether a command may run on a partition here and now.
pub(crate) enum Admission {
    Serves,
    /// Not now.
    Waits,
    /// Another brick orders its operations.
    Elsewhere(Member),
    /// Neither now nor soon: too few replicas are in sync for a write, or the table is offline.
    Refused(ErrorReply),
}

/// Whether the request may run here and now.
pub(crate) fn may_run(core: &Core, request: &Request) -> bool {
    matches!(admission_of(core, request), Admission::Serves)
}

/// What this brick may do with what a request is about.
pub(crate) fn admission_of(core: &Core, request: &Request) -> Admission {
    let work = &request.work;
    let table = core.tables.index_of(request.table);
    let at = table.and_then(|table| {
        let location = core.locate(table, work.first_key()?)?;
        Some((location, core.table(table)?))
    });
    at.map_or(Admission::Serves, |(location, state)| {
        // What intents there are the primary alone knows at once, who holds copies, and whether a watched key that did not exist has come and gone.
        let is_of_primary = match work {
            Work::Part(_) => true,
            Work::Transaction(transaction) => !transaction.watches.is_empty(),
            Work::Command(..) | Work::Attempt(..) | Work::Subrequest(..) => false,
        };
        let from_backup = !is_of_primary && !request.is_tracked;
        admission(core, state, location.leaf, work.only_reads(), from_backup)
    })
}

/// What the connection asked of the partition before is on its way elsewhere, or waits: this goes the
/// same way (rule `reads follow own writes`).
pub(super) fn behind_earlier(
    core: &Core,
    admission: Admission,
    id: ConnectionId,
    location: Location,
    state: &TableState,
) -> Admission {
    let order = SessionOrder {
        member: core.member(),
        connection: id,
        table: state.id,
        slot: location.slot,
    };
    let orders = core.requests.orders();
    if orders.holds_up(order) || orders.is_at(order, Place::LocalRead) {
        return Admission::Waits;
    }
    let is_away = orders.is_away(order);
    let goes_away = is_away || matches!(admission, Admission::Elsewhere(_));
    if goes_away && orders.is_at(order, Place::Values) {
        // A read that waits here for its value would see what this writes, or more than this reads.
        return Admission::Waits;
    }
    if !is_away {
        return admission;
    }
    match state.owner(location.leaf) {
        // Requests for other nodes are held until what is before them may not be executed any more (`remote`). Another brick of
        // this node would execute it at once.
        owner if owner.node != core.member().node => Admission::Elsewhere(owner),
        _ => Admission::Waits,
    }
}

/// What this brick may do with a partition at this moment.
#[inline]
pub(crate) fn admission(
    core: &Core,
    state: &TableState,
    leaf: u32,
    reads_only: bool,
    from_backup: bool,
) -> Admission {
    let partition = state.partitions.get(leaf as usize).and_then(Option::as_ref);
    if partition.is_none()
        && let Some(error) = state.refusal()
    {
        return Admission::Refused(error);
    }
    if let Some(partition) = partition
        && partition.is_primary()
    {
        let status = partition.status;
        let may = if reads_only {
            status.serves_reads && !core.moves.pending_splits.hold(state)
        } else {
            status.accepts_writes && !core.is_adopting()
        };
        if may && core.replicas.is_leased {
            return Admission::Serves;
        }
        return too_few(state, leaf, reads_only).map_or(Admission::Waits, Admission::Refused);
    }
    if let Some(partition) = partition
        && reads_only
        && from_backup
        && partition.status.role == Role::Backup
        && partition.status.serves_reads
        && !core.moves.pending_splits.hold(state)
        && core.replicas.is_leased
    {
        return Admission::Serves;
    }
    let owner = state.owner(leaf);
    // When the lease comes back a backup can answer by itself, but not what has gone to a primary that is dead.
    let may_come = || {
        let is_backup = partition.is_some_and(|it| it.status.role == Role::Backup);
        let waits_for_lease = is_backup && reads_only && from_backup && !core.replicas.is_leased;
        waits_for_lease
            && core
                .replicas
                .link_to(core.tables.catalog(), owner)
                .is_none()
    };
    let is_held = || partition.is_some() && core.moves.pending_splits.hold(state);
    if owner == core.member() || may_come() || is_held() {
        Admission::Waits
    } else {
        Admission::Elsewhere(owner)
    }
}
