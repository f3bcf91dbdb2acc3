//! Errors that several commands have, and how they are told.

use crate::accepted::Port;
use crate::core::Core;
use crate::request::Attempt;
use crate::tables::TableState;
use brickyard_command::ErrorReply;
use brickyard_metadata::Level;
use brickyard_routing::{Location, Member};
use brickyard_wire::{Protocol, Reply};

pub(crate) const CHANGING_HANDS: ErrorReply = ErrorReply::constant(
    "CLUSTERDOWN the key's partition is changing hands; the command was not executed, try again",
);

/// A node that is connected would take a hash for damage, or know no such command.
pub(crate) const EARLIER_NODE: ErrorReply = ErrorReply::constant(
    "ERR nothing was written: a node of this cluster runs an earlier version of the program, which knows no hashes; upgrade \
     all nodes first",
);

/// The same of an intent, and of transactions over several slots.
pub(crate) const EARLIER_NODE_SLOTS: ErrorReply = ErrorReply::constant(
    "CROSSSLOT Keys in request don't hash to the same slot, and a node of this cluster runs an earlier version of the program, which \
     knows no transactions over several; upgrade all nodes first",
);

/// The same of transactions over two tables.
pub(crate) const EARLIER_NODE_TABLES: ErrorReply = ErrorReply::constant(
    "ERR nothing was done: a node of this cluster runs an earlier version of the program, which knows no transactions over two tables; \
     upgrade all nodes first",
);

/// The same of leases.
pub(crate) const EARLIER_NODE_LEASES: ErrorReply = ErrorReply::constant(
    "ERR LEASE GET is not known to a node of this cluster, which runs an earlier version of the program; use GET, or upgrade all nodes first",
);

pub(crate) const CROSSSLOT: ErrorReply =
    ErrorReply::constant("CROSSSLOT Keys in request don't hash to the same slot");

/// The connection acts for nobody yet.
pub(crate) const NO_AUTH: ErrorReply = ErrorReply::constant("NOAUTH Authentication required.");

/// The connection works on no table.
pub(crate) fn dropped_table() -> ErrorReply {
    ErrorReply::constant(
        "ERR the table of this connection was dropped, or is not made yet; choose another with TABLE USE or SELECT",
    )
}

/// The same for what may have been asked before: elsewhere the table may be known, and that attempt executed.
pub(crate) fn no_table(attempt: Option<Attempt>) -> ErrorReply {
    if attempt.is_some_and(|attempt| attempt.is_again) {
        return ErrorReply::constant(
            "UNKNOWNRESULT an earlier attempt may have been executed; this one was not: the table was dropped, or is not \
             made yet here",
        );
    }
    dropped_table()
}

/// An error as a client gets it, in either protocol.
pub(crate) fn error_line(error: &ErrorReply) -> Vec<u8> {
    let mut out = Vec::new();
    Reply::new(&mut out, Protocol::Resp2).error_bytes(error.as_bytes());
    out
}
/// What a port is to a table. Where clients cannot know the place of a key every port is as a node's: a brick passes on what is not
/// its own, and keys of several slots are no error.
pub(crate) fn port_of(state: &TableState, port: Port) -> Port {
    match state.map.hasher().hasher().follows_slots() {
        true => port,
        false => Port::Node,
    }
}

/// Where a client has to ask for a key, if that is not here. A client of the node port need not.
///
/// A cluster client knows slots. One that is in parts is the first part's brick's to it, which passes on what is in
/// another part.
pub(crate) fn redirect(
    core: &Core,
    port: Port,
    state: &TableState,
    location: Location,
) -> Option<ErrorReply> {
    let (member, owner) = (core.member(), state.map.owner(location.slot));
    let is_right = port == Port::Node || owner == member || state.owner(location.leaf) == member;
    (!is_right).then(|| moved(core, location, owner))
}

fn moved(core: &Core, location: Location, owner: Member) -> ErrorReply {
    let shared = &core.shared;
    let address = core.tables.catalog().address(owner);
    // Of a brick that is not in the cluster any more this node will know the successor.
    let (host, port) = address.map_or((shared.address.host.as_str(), shared.address.port), |it| {
        (it.host, it.port)
    });
    let moved = brickyard_routing::Moved {
        slot: location.slot,
        host,
        port,
    };
    ErrorReply::new(moved.to_string())
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

/// Whether keys of several slots may be written together: a node that knows no such transactions would take what they leave in its log
/// for damage.
pub(crate) fn may_distribute(core: &Core, port: Port) -> Result<(), ErrorReply> {
    if port != Port::Node {
        return Err(CROSSSLOT);
    }
    match core.shared.lowest_level.has(Level::TRANSACTIONS) {
        true => Ok(()),
        false => Err(EARLIER_NODE_SLOTS),
    }
}
