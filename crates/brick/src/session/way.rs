//! CLUSTER LOOKUP: the way to a partition, for who does not hold the map.
//!
//! In:  a routing hash. Out: the partition that has it, if this port's bricks hold that or their routing tables name it; else
//! the one that is nearest of those that they name. Without a hash: at which bricks a lookup may begin, and how much each leads.
//!
//! Invariant: what is answered stands in the routing tables of partitions that are held here, although this brick knows the whole
//! map; so a client that begins anywhere meets what it would meet if no brick did. A brick's port answers for that brick, the
//! node's port for all of its bricks.
//!
//! Not here: the graphs (`brickyard_routing::graph`), going from brick to brick (`client/src/seek.rs`).

use crate::accepted::{ConnectionId, Port};
use crate::clients::Clients;
use crate::core::Core;
use crate::refusal::dropped_table;
use brickyard_command::ErrorReply;
use brickyard_command::request::{LookupArgs, LookupBy};
use brickyard_metadata::{Address, Catalog};
use brickyard_routing::graph::{Graph, HOPS_MAX, NextHop, RoutingTables};
use brickyard_routing::{MapVersion, Member, RoutingHash, TableMap};
use brickyard_wire::Reply;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tells at which bricks a lookup in the connection's table may begin.
pub(super) fn starts(
    core: &Core,
    clients: &mut Clients,
    id: ConnectionId,
) -> Result<(), ErrorReply> {
    let table = clients[id].session.table;
    let map = &core.table(table).ok_or_else(dropped_table)?.map;
    let mut led: BTreeMap<Member, i64> = BTreeMap::new();
    for group in map.groups() {
        *led.entry(group.primary.member).or_default() += 1;
    }
    let catalog = core.tables.catalog();
    let starts = led.iter();
    let starts = starts.filter_map(|(member, led)| Some((catalog.address(*member)?, *led)));
    let starts: Vec<(Address<'_>, i64)> = starts.collect();
    clients.reply(id, |reply| {
        reply.array(2);
        reply.integer(map.version().0.cast_signed());
        reply.array(starts.len());
        for (address, led) in starts {
            reply.array(4);
            place(reply, &address);
            reply.integer(led);
        }
    });
    Ok(())
}

/// Tells the way to a routing hash of the connection's table.
pub(super) fn look_up(
    core: &mut Core,
    clients: &mut Clients,
    id: ConnectionId,
    request: &LookupArgs<'_>,
) -> Result<(), ErrorReply> {
    let (table, port) = (clients[id].session.table, clients[id].accepted.port);
    let graph = match request.graph {
        Some(name) => String::from_utf8_lossy(name).parse(),
        None => Ok(Graph::default()),
    };
    let graph = graph.map_err(|why| ErrorReply::new(format!("ERR {why}")))?;
    let map = Arc::clone(&core.table(table).ok_or_else(dropped_table)?.map);
    let target = RoutingHash(request.hash);
    let tables = tables(core, table, &map, port)?;
    let by = match request.by {
        Some(LookupBy::Partition(partition)) => map.partitions().index_of(partition),
        Some(LookupBy::Any) => tables.some(request.hash),
        None => None,
    };
    let next = tables.next_hop(graph, map.partitions(), target, by);
    let next = next.ok_or(NOTHING_HELD)?;
    let (at, hops) = match next {
        NextHop::Here(leaf) => (leaf, 0),
        NextHop::There(leaf) => (leaf, 1),
    };
    let members = members(core.tables.catalog(), &map, at)?;
    let leaf = map.partitions().leaves()[at];
    let is_answer = leaf.prefix.contains(target);
    assert!(
        hops == 1 || is_answer,
        "leaf {at} is held here for {target:?}, and is {}",
        leaf.prefix
    );
    clients.reply(id, |reply| {
        reply.array(6);
        reply.bulk(if is_answer { b"leaf" } else { b"next" });
        reply.integer(map.version().0.cast_signed());
        reply.integer(leaf.partition.0.into());
        reply.bulk(format!("{:016x}", leaf.prefix.first().0).as_bytes());
        reply.integer(leaf.prefix.depth().into());
        reply.array(members.len());
        for address in &members {
            reply.array(3);
            place(reply, address);
        }
    });
    let stats = &core.stats().lookups;
    if is_answer {
        stats.answered.add(1);
        // How many there were before is what the client says.
        stats.hops.add(request.hops.min(HOPS_MAX.into()) + hops);
    } else {
        stats.forwarded.add(1);
    }
    Ok(())
}

const NOTHING_HELD: ErrorReply = ErrorReply::constant(
    "ERR nothing of the table is held here, so there are no routing tables; ask a brick that CLUSTER LOOKUP names",
);

/// The routing tables that this port answers by.
fn tables<'a>(
    core: &'a mut Core,
    table: usize,
    map: &TableMap,
    port: Port,
) -> Result<&'a RoutingTables, ErrorReply> {
    let own = core.member();
    let drawn = &mut core.table_mut(table).ok_or_else(dropped_table)?.drawn;
    Ok(match port {
        Port::Brick => current(&mut drawn.of_brick, map, |it| it == own),
        Port::Node => current(&mut drawn.of_node, map, |it| it.node == own.node),
    })
}

/// What was made for this version of the map, or is made now.
fn current<'a>(
    drawn: &'a mut Option<(MapVersion, RoutingTables)>,
    map: &TableMap,
    is_own: impl Fn(Member) -> bool,
) -> &'a RoutingTables {
    let made = drawn
        .take()
        .filter(|(version, _)| *version == map.version());
    let made = made.unwrap_or_else(|| (map.version(), RoutingTables::of(map, is_own)));
    let (version, tables) = drawn.insert(made);
    assert_eq!(*version, map.version(), "indices are of one map");
    tables
}

/// Where those are that have all of a leaf, the primary first.
fn members<'a>(
    catalog: &'a Catalog,
    map: &TableMap,
    leaf: usize,
) -> Result<Vec<Address<'a>>, ErrorReply> {
    let in_sync = map.groups()[leaf].in_sync();
    let members: Vec<Address<'_>> = in_sync
        .filter_map(|it| catalog.address(it.member))
        .collect();
    if members.is_empty() {
        return Err(ErrorReply::constant(
            "CLUSTERDOWN nobody is in the cluster who holds the next partition; ask again",
        ));
    }
    Ok(members)
}

fn place(reply: &mut Reply<'_>, address: &Address<'_>) {
    reply.bulk(address.host.as_bytes());
    reply.integer(address.port.into());
    reply.integer(address.node_port.into());
}

#[cfg(test)]
#[path = "way_test.rs"]
mod way_test;
