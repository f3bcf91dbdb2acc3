//! Commands on the wire, and operations in the history.

use super::state::{Asked, Expected};
use crate::world::World;
use brickyard_history::{Action, Bytes, Operation, Outcome};

/// A command's words, as they are put on the wire.
pub(crate) fn command(words: &[&[u8]]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// Notes an operation in the history; its outcome is unknown until it is known.
pub(super) fn note(world: &mut World, at: usize, key: Bytes, action: Action) -> usize {
    let now = world.now();
    let client = &world.clients.all[at];
    let (node, brick, port) = (client.place.node, client.place.brick, client.port);
    let way = if client.is_reader { ", reading" } else { "" };
    let table = world.clients.tables[client.table].clone();
    let partition = partition_of(world, &table, &key);
    world.tell(|| {
        let key = key.escape_ascii();
        format!("client {at} at node {node}/{brick} ({port:?}{way}): {key} ({partition}) {action}")
    });
    world.clients.history.push(Operation {
        key,
        client: at as u32,
        action,
        called: now,
        returned: now,
        outcome: Outcome::Unknown,
    });
    world.clients.history.len() - 1
}

/// Which partition has a key; for the story.
fn partition_of(world: &World, table: &str, key: &[u8]) -> String {
    let catalog = world
        .cluster
        .checkers
        .latest
        .as_ref()
        .filter(|_| world.cluster.ground.notes.is_told());
    let table = catalog.and_then(|it| it.table(table));
    table.map_or_else(String::new, |it| it.map.locate(key).partition.to_string())
}

pub(super) fn send_command(world: &mut World, at: usize, words: &[&[u8]], expected: Expected) {
    let now = world.now();
    let client = &mut world.clients.all[at];
    client.asked.push_back(Asked {
        expected,
        since: now,
    });
    if let Some(id) = client.connection {
        world.cluster.send_bytes(id, 0, command(words));
    }
}
