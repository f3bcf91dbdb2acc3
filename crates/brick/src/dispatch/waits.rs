//! Requests that wait for a view or a lease, or that cannot even wait.

use crate::core::Core;
use crate::refusal::error_line;
use crate::request::{Request, SessionOrder, Work};
use crate::requests::Backoff;
use crate::tables::Tables;
use brickyard_command::ErrorReply;
use brickyard_routing::slot;
use std::time::Duration;

/// How long a request leaves a brick alone that has refused it.
const BACKOFF: Duration = Duration::from_millis(10);

/// The order of a request; `None`: it is about a whole table.
fn order_of(tables: &Tables, request: &Request) -> Option<SessionOrder> {
    if matches!(request.work, Work::Part(_)) {
        // What waits for an intent must not hold up what resolves it.
        return None;
    }
    let key = request.work.first_key()?;
    let index = tables.index_of(request.table);
    let location = index.and_then(|index| tables.locate(index, key));
    Some(SessionOrder {
        member: request.origin.member,
        connection: request.origin.token.connection,
        table: request.table,
        // Of a table that is not known here yet nothing runs, so any slot will do that is the same for the same key.
        slot: location.map_or_else(|| slot(key), |location| location.slot),
    })
}

pub(crate) fn set_order(tables: &Tables, request: &mut Request) {
    if request.order.is_none() {
        request.order = order_of(tables, request);
    }
}

/// A request waits until something changes; or, where too many wait, it is given back with what its client is told.
pub(crate) fn await_view(
    core: &mut Core,
    mut request: Request,
    backoff: Option<Backoff>,
) -> Option<(Request, Vec<u8>)> {
    set_order(&core.tables, &mut request);
    if core.requests.has_view_for(&request) {
        core.requests.await_view(request, backoff);
        return None;
    }
    let (_, bytes) = core.requests.bytes();
    let line = busy(core, bytes, "requests waiting for a view or a lease");
    Some((request, line))
}

/// As [`await_view`], for a request of this brick's client that another brick has just refused.
pub(crate) fn await_view_again(
    core: &mut Core,
    mut request: Request,
) -> Option<(Request, Vec<u8>)> {
    request.attempts += 1;
    let backoff = Backoff {
        until: core.now + BACKOFF,
        catalog: core.tables.catalog().version(),
    };
    await_view(core, request, Some(backoff))
}

/// What the client of a request is told for which there is no room.
#[cold]
pub(crate) fn busy(core: &Core, bytes: usize, what: &str) -> Vec<u8> {
    core.stats().errors.busy.add(1);
    error_line(&ErrorReply::new(format!(
        "BUSY brick {} has {bytes} bytes of {what}; the command was not executed, try again later",
        core.id
    )))
}
