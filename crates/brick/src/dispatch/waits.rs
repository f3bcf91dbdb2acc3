//! Requests that wait for a view or a lease, or that cannot even wait.

use crate::core::Core;
use crate::refusal::error_line;
use crate::request::{Origin, Request, SessionOrder, Token};
use crate::requests::Backoff;
use brickyard_command::ErrorReply;
use brickyard_types::Instant;
use std::time::Duration;

/// How long a request leaves a brick alone that has refused it.
const BACKOFF: Duration = Duration::from_millis(10);

impl Core {
    /// When a request that begins now is given up.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        self.now + self.shared.limits.request_deadline
    }

    /// A client's request, with what waits for its reply.
    pub(crate) fn own(&self, token: Token) -> Origin {
        Origin {
            member: self.member(),
            token,
        }
    }

    /// The order of a request; `None`: it is about a whole table.
    fn order_of(&self, request: &Request) -> Option<SessionOrder> {
        let key = request.work.first_key()?;
        let index = self.tables.index_of(request.table)?;
        Some(SessionOrder {
            member: request.origin.member,
            connection: request.origin.token.connection,
            table: request.table,
            slot: self.locate(index, key)?.slot,
        })
    }

    pub(crate) fn set_order(&self, request: &mut Request) {
        if request.order.is_none() {
            request.order = self.order_of(request);
        }
    }
}

/// A request waits until something changes; or, where too many wait, it is given back with what its client is told.
pub(crate) fn await_view(
    core: &mut Core,
    mut request: Request,
    backoff: Option<Backoff>,
) -> Option<(Request, Vec<u8>)> {
    core.set_order(&mut request);
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
