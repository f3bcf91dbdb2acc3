//! Whether a request's client is stalled, for want of room for a reply.
//!
//! In:  a request. Out: whether it is set aside. Not here: why, and the invariants ([`crate::room`]); the way back (`dispatch`).

use crate::clients::Clients;
use crate::core::Core;
use crate::request::Request;

/// Whether nothing of the request's client is executed here, or passed on, until there is room.
pub(super) fn is_stalled(core: &Core, clients: &Clients, request: &Request) -> bool {
    if request.origin.member == core.member() {
        let connection = clients.named(request.origin.token);
        connection.is_some_and(|it| !it.returned.is_empty())
    } else {
        core.requests
            .stalls
            .has(request.origin.member, request.client)
    }
}
