//! `TABLE HOTKEYS` and `TABLE BIGKEYS`: the keys that stand out, of all bricks together.
//!
//! In:  the name of a table, how many keys are wanted. Out: pairs of a key and its commands a second, or its bytes.
//!
//! Invariant: it is answered whatever has failed: a brick that does not answer within a second has no part in it.
//!
//! Not here: what a brick knows of its keys (`key_stats`), how the parts become one list (`gather`).

use super::describe::{PATIENCE, holders};
use super::lookup::table_named;
use super::next::{Command, Outcome, Subrequests};
use super::whole::ask;
use crate::accepted::ConnectionId;
use crate::clients::Clients;
use crate::core::Core;
use crate::gather::{Gather, Join};
use crate::key_walk;
use crate::refusal::dropped_table;
use crate::tables::TableState;
use brickyard_command::{CommandId, Spec};
use brickyard_wire::Reply;

/// See the module.
pub(super) fn ranked_keys(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    command: Command,
    (name, count): (&str, usize),
) -> Outcome {
    let bricks: Vec<_> = holders(table_named(core, name)?).into_iter().collect();
    let table = core.tables.index_named(name).ok_or_else(dropped_table)?;
    let protocol = clients[id].session.protocol;
    // What is asked of copies counts, too; a key is as large here as there.
    let is_sum = command.0.id == CommandId::TableHotkeys;
    let gather = Gather::new(Join::Ranked { count, is_sum }, protocol, bricks.len());
    let asked = Subrequests::of(command, table, protocol, core.now + PATIENCE);
    Ok(ask(clients, id, gather, asked, bricks))
}

/// What this brick knows of a table's keys: each, and its figure.
pub(super) fn share(state: Option<&TableState>, spec: &Spec, reply: &mut Reply<'_>) {
    let keys = state.map_or_else(Vec::new, |state| match spec.id {
        CommandId::TableHotkeys => state.key_stats.hot.rates(),
        _ => key_walk::biggest(state),
    });
    reply.array(2 * keys.len());
    for (key, figure) in keys {
        reply.bulk(&key);
        reply.integer(figure as i64);
    }
}
