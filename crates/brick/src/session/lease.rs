//! LEASE: what clients give back. (LEASE GET is about a key: `keyed`.)

use super::next::{Next, Outcome};
use crate::accepted::ConnectionId;
use crate::clients::Clients;
use crate::core::Core;
use brickyard_command::{Args, CommandId, ErrorReply, Spec, help, parse_integer};

/// Answers LEASE HELP and LEASE RETURN.
pub(super) fn lease(
    core: &mut Core,
    clients: &mut Clients,
    id: ConnectionId,
    spec: &'static Spec,
    args: Args<'_>,
) -> Outcome {
    if spec.id != CommandId::LeaseReturn {
        clients.reply(id, |reply| help("lease", reply));
        return Ok(Next::Done);
    }
    let number = parse_integer(args.at(2)).and_then(|it| u64::try_from(it).ok());
    let number = number.ok_or(ErrorReply::NOT_AN_INTEGER)?;
    let client = (id, clients[id].client);
    if core.holders.leases.give_back(client, number) {
        core.replicas.wake();
    }
    clients.reply(id, |reply| reply.ok());
    Ok(Next::Done)
}

#[cfg(test)]
#[path = "lease_test.rs"]
mod lease_test;
