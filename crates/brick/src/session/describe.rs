//! `TABLE DESCRIBE`: what a table is, and what all bricks together hold of it.
//!
//! In:  the name of a table. Out: a map, whose last entries add up what those bricks have that hold a copy of it.
//!
//! Invariants:
//! - It is answered whatever has failed: a brick that does not answer within a second is counted, and not waited for.
//! - A key is counted where its primary is, memory wherever there is a copy.
//!
//! Not here: how the parts are added up (`gather`), what may change a table (`tables`).

use super::lookup::table_named;
use super::next::{Command, Next, Outcome, Subrequests};
use super::whole::ask;
use crate::accepted::ConnectionId;
use crate::clients::Clients;
use crate::core::Core;
use crate::gather::{Gather, Join};
use crate::output::CommitDependency;
use crate::refusal::dropped_table;
use crate::request::Token;
use crate::tables::TableState;
use brickyard_metadata::Layout;
use brickyard_routing::{Hasher, Member};
use brickyard_wire::Reply;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long others have time.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// Entries of the map, [`crate::gather::DESCRIBED_SUMS`] included.
const ENTRIES: usize = 22;

/// See the module.
pub(super) fn describe_table(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
    command: Command,
    name: &str,
) -> Outcome {
    let state = table_named(core, name)?;
    let table = core.tables.index_named(name).ok_or_else(dropped_table)?;
    let protocol = clients[id].session.protocol;
    let render = |write: &dyn Fn(&mut Reply<'_>)| {
        let mut bytes = Vec::new();
        write(&mut Reply::new(&mut bytes, protocol));
        bytes
    };
    let mut others = holders(state);
    let is_holder = others.remove(&core.member());
    let others: Vec<Member> = others.into_iter().collect();
    let own = render(&|reply| share(is_holder.then_some(state), reply));
    let head = render(&|reply| head(core, state, reply));
    // Behind what they answer stand the own share, and what the figures come behind.
    let (own_at, head_at) = (others.len() as u32, others.len() as u32 + 1);
    let mut gather = Gather::new(Join::Description, protocol, others.len() + 2);
    let mut is_whole = gather
        .on_part(own_at, own, CommitDependency::NONE)
        .is_some();
    if others.is_empty() {
        assert!(!is_whole, "the head is missing");
        let token = clients.open_gather(id, gather);
        return Ok(Next::Part(
            Token {
                part: head_at,
                ..token
            },
            head,
        ));
    }
    is_whole |= gather
        .on_part(head_at, head, CommitDependency::NONE)
        .is_some();
    assert!(!is_whole, "{} bricks are yet to answer", others.len());
    let asked = Subrequests::of(command, table, protocol, core.now + PATIENCE);
    Ok(ask(clients, id, gather, asked, others))
}

/// The bricks that have copies of a table.
pub(super) fn holders(state: &TableState) -> BTreeSet<Member> {
    let groups = state.map.groups().iter();
    let members = groups.flat_map(|group| group.members());
    members.map(|replica| replica.member).collect()
}

/// What this brick has of a table: keys, and bytes of memory.
pub(super) fn share(state: Option<&TableState>, reply: &mut Reply<'_>) {
    reply.integer(state.map_or(0, TableState::keys) as i64);
    reply.integer(state.map_or(0, |it| it.table.memory_used()) as i64);
}

/// All but the figures that come behind it.
fn head(core: &Core, state: &TableState, reply: &mut Reply<'_>) {
    let (attributes, layout) = (&state.attributes, &state.layout);
    let table = core.tables.catalog().table_by_id(state.id);
    let sizing = match table.is_some_and(|it| it.is_sized_by_bricks) {
        true => "auto",
        false => "fixed",
    };
    let copies = match layout.copies_max {
        Some(_) => "auto",
        None => "fixed",
    };
    let leaves = state.map.partitions().leaves();
    let extra = leaves
        .iter()
        .map(|leaf| u64::from(core.tables.catalog().extra(leaf.partition)));
    let extra: u64 = extra.sum();
    let hasher = state.map.hasher().hasher();
    let bounds = match &hasher {
        Hasher::Ordered(bounds) => bounds.as_ref(),
        _ => None,
    };
    reply.map(ENTRIES + bounds.map_or(0, |_| 2));
    let mut text = |field: &str, value: &str| {
        reply.bulk(field.as_bytes());
        reply.bulk(value.as_bytes());
    };
    text("name", &state.name);
    text("medium", attributes.medium.word());
    text("durability", attributes.durability.word());
    text("evict", attributes.evict.word());
    text("state", state.availability.status.word());
    text("sizing", sizing);
    text("copies", copies);
    text("placement", &layout.placement.to_string());
    text("nodes", &named(layout));
    text("partition_bytes", &own_bytes(layout));
    text("leases", attributes.leases.word());
    text("hash", hasher.function().word());
    if let Some(bounds) = bounds {
        text("from", bounds.from());
        text("to", bounds.to());
    }
    let mut number = |field: &str, value: u64| {
        reply.bulk(field.as_bytes());
        reply.integer(value as i64);
    };
    number("id", state.id.0.into());
    number("replicas", attributes.replicas.into());
    number("min_in_sync", attributes.min_in_sync.into());
    number("partitions", leaves.len() as u64);
    number("extra_copies", extra);
    number("maxmemory", attributes.maxmemory.unwrap_or(0));
    number("history", attributes.history);
}

/// The nodes that a table names, as `TABLE ALTER` takes them.
fn named(layout: &Layout) -> String {
    let nodes: Vec<String> = layout.nodes.iter().map(ToString::to_string).collect();
    match nodes.is_empty() {
        true => "all".to_owned(),
        false => nodes.join(","),
    }
}

/// How large a partition may be, as `TABLE ALTER` takes it.
fn own_bytes(layout: &Layout) -> String {
    let bytes = layout.partition_bytes;
    bytes.map_or_else(|| "default".to_owned(), |bytes| bytes.to_string())
}

#[cfg(test)]
#[path = "describe_test.rs"]
mod describe_test;
