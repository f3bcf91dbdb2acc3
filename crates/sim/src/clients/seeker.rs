//! Clients that do not hold the map: they ask bricks for the way to a partition, hop by hop, and remember few partitions, as the client
//! library does with `C,R` (`brickyard_routing::graph`, the library's own `LeafCache`).
//!
//! In:  the library's call, before it is sent; answers. Out: questions; where the client goes next.
//!
//! Invariant: whoever is asked answers what can be, and the way gets shorter by the client's own count or is given up; then the call goes to
//! where the client is, which is as good as anywhere.

use super::library::place_of;
use super::send::send_command;
use super::state::Expected;
use super::way::{Brick, Seeker, Stage};
use crate::reply::Reply;
use crate::world::World;
use brickyard_brick::Port;
use brickyard_routing::graph::HOPS_MAX;
use brickyard_routing::{Prefix, RoutingHash, slot};
use brickyard_types::limits::PARTITION_DEPTH_MAX;

/// Whether the call must wait, since its way is not known: it is asked for, or the client goes to where it was told to.
pub(super) fn seek(world: &mut World, at: usize) -> bool {
    let Some((target, seeker)) = call_of(world, at) else {
        return false;
    };
    if seeker.stage == Stage::There {
        seeker.stage = Stage::Begin;
        return false;
    }
    if seeker.stage == Stage::Begin {
        let graph = seeker.graph;
        let found = seeker.cache.find(target).map(|(_, brick)| *brick);
        // By one table at a time it would have to be the table of that very partition.
        let near = seeker.cache.nearest(graph, target);
        let near = near.filter(|_| !seeker.is_plain);
        let near = near.map(|(leaf, brick)| (graph.distance(leaf, target), *brick));
        if let Some(brick) = found {
            seeker.stage = Stage::There;
            world.count("partitions remembered");
            return go(world, at, brick) || seek(world, at);
        }
        let distance = near.map_or(u64::MAX, |(distance, _)| distance);
        seeker.stage = Stage::OnTheWay {
            distance,
            partition: None,
            hops: 0,
        };
        if let Some((_, brick)) = near {
            return go(world, at, brick);
        }
    }
    ask_the_way(world, at);
    true
}

/// The call was refused or lost: what was known of its partition is not any more, but for where a brick sent it.
pub(super) fn doubt(world: &mut World, at: usize, operation: usize, is_told: bool) {
    let target = target_of(world, operation);
    let library = world.clients.all[at].library.as_mut();
    if let Some(seeker) = library.and_then(|it| it.seeker.as_mut()) {
        seeker.cache.drop_at(target);
        seeker.stage = match is_told {
            true => Stage::There,
            false => Stage::Begin,
        };
    }
}

fn ask_the_way(world: &mut World, at: usize) {
    let Some((target, seeker)) = call_of(world, at) else {
        return;
    };
    let Stage::OnTheWay {
        partition, hops, ..
    } = seeker.stage
    else {
        return;
    };
    let graph = seeker.graph.name();
    let (target, hops) = (format!("{:016x}", target.0), hops.to_string());
    let by = partition.map_or_else(|| "ANY".to_owned(), |it| it.to_string());
    let mut words: Vec<&[u8]> = vec![b"CLUSTER", b"LOOKUP", target.as_bytes()];
    words.extend([b"GRAPH".as_slice(), graph.as_bytes()]);
    words.extend([b"HOPS".as_slice(), hops.as_bytes()]);
    if seeker.is_plain {
        words.extend([b"BY".as_slice(), by.as_bytes()]);
    }
    let operation = seeker.operation;
    world.count("questions for the way");
    send_command(world, at, &words, Expected::Way(operation));
}

/// A brick has told of a partition on the way.
pub(super) fn answer_way(world: &mut World, at: usize, operation: usize, reply: &Reply) {
    let Some((target, seeker)) = call_of(world, at).filter(|(_, it)| it.operation == operation)
    else {
        return;
    };
    let Stage::OnTheWay { distance, hops, .. } = seeker.stage else {
        return;
    };
    if let Reply::Error(_) = reply {
        // Nothing is held there, or nobody is known to hold it: anybody knows better what to do with the call.
        seeker.stage = Stage::There;
        return;
    }
    let Some(told) = Told::read(reply) else {
        return world.object(format!("{reply} is no way"));
    };
    if told.is_answer != told.leaf.contains(target) {
        return world.object(format!("{reply} is not what it says of {:016x}", target.0));
    }
    let way = seeker.graph.distance(told.leaf, target);
    if told.is_answer {
        seeker.cache.learn(told.leaf, told.brick, 0);
        seeker.stage = Stage::There;
        world.count("lookups");
    } else if way < distance && hops < HOPS_MAX {
        seeker.stage = Stage::OnTheWay {
            distance: way,
            partition: Some(told.partition),
            hops: hops + 1,
        };
        world.count("hops");
    } else {
        // Its map is older than that of whoever sent the client there.
        seeker.stage = Stage::There;
        world.count("ways that lead nowhere");
        return;
    }
    go(world, at, told.brick);
}

/// The client goes there, and asks or calls when it is there; whether it has to.
fn go(world: &mut World, at: usize, (node, brick): Brick) -> bool {
    let client = &mut world.clients.all[at];
    let is_there = (client.place.node, client.place.brick) == (node, brick);
    if is_there && client.connection.is_some() {
        return false;
    }
    if let Some(library) = &mut client.library {
        library.redirect = Some((node, brick, Port::Brick));
    }
    world.leave(at);
    true
}

fn call_of(world: &mut World, at: usize) -> Option<(RoutingHash, &mut Seeker)> {
    let library = world.clients.all[at].library.as_ref()?;
    let operation = library.call.as_ref()?.operation;
    let target = target_of(world, operation);
    let seeker = world.clients.all[at].library.as_mut()?.seeker.as_mut()?;
    // The one before may have come to its end on the way.
    if std::mem::replace(&mut seeker.operation, operation) != operation {
        seeker.stage = Stage::Begin;
    }
    Some((target, seeker))
}

fn target_of(world: &World, operation: usize) -> RoutingHash {
    let key = &world.clients.history[operation].key;
    RoutingHash(u64::from(slot(key).0) << 50)
}

/// What a brick told.
struct Told {
    is_answer: bool,
    partition: i64,
    leaf: Prefix,
    /// Who leads it, or follows if nobody does.
    brick: Brick,
}

impl Told {
    fn read(reply: &Reply) -> Option<Self> {
        let Reply::List(words) = reply else {
            return None;
        };
        let [
            Reply::Bulk(kind),
            Reply::Number(_),
            Reply::Number(partition),
            Reply::Bulk(first),
            Reply::Number(depth),
            Reply::List(members),
        ] = words.as_slice()
        else {
            return None;
        };
        let first = u64::from_str_radix(std::str::from_utf8(first).ok()?, 16).ok()?;
        let depth = u8::try_from(*depth).ok()?;
        let is_leaf = depth <= PARTITION_DEPTH_MAX;
        let leaf = is_leaf.then(|| Prefix::of(RoutingHash(first), depth))?;
        let Reply::List(member) = members.first()? else {
            return None;
        };
        let [Reply::Bulk(host), Reply::Number(port), Reply::Number(_)] = member.as_slice() else {
            return None;
        };
        let host = String::from_utf8(host.clone()).ok()?;
        let (node, brick, _) = place_of(host, u16::try_from(*port).ok()?)?;
        (leaf.first().0 == first).then_some(Self {
            is_answer: kind == b"leaf",
            partition: *partition,
            leaf,
            brick: (node, brick),
        })
    }
}
