//! Scans of whole tables, a few keys at a time, at whatever node the client is just then.

use super::send::send_command;
use super::state::{Expected, Scan};
use crate::reply::Reply;
use crate::world::World;
use brickyard_history::Bytes;
use std::collections::BTreeSet;

/// The next step of the client's scan, or the first of one; false while a step is under way, whose answer says where the
/// next one begins.
pub(super) fn ask_scan(world: &mut World, at: usize) -> bool {
    let now = world.now();
    let client = &mut world.clients.all[at];
    let mut asked = client.asked.iter();
    if asked.any(|it| matches!(it.expected, Expected::Scan)) {
        return false;
    }
    let table = client.table;
    let scan = client.pursuits.scan.get_or_insert_with(|| Scan {
        table,
        began: now,
        cursor: b"0".as_slice().into(),
        seen: BTreeSet::new(),
    });
    let cursor = scan.cursor.clone();
    world.tell(|| format!("client {at} scans on from {}", cursor.escape_ascii()));
    send_command(
        world,
        at,
        &[b"SCAN", &cursor, b"COUNT", b"4"],
        Expected::Scan,
    );
    true
}

pub(super) fn answer_scan(world: &mut World, at: usize, reply: &Reply) {
    let Some(scan) = &mut world.clients.all[at].pursuits.scan else {
        return;
    };
    // An error: the same step again, some time.
    let Reply::List(parts) = reply else { return };
    let [Reply::Bulk(cursor), Reply::List(keys)] = &parts[..] else {
        return world.object(format!("{reply} is no answer to SCAN"));
    };
    let keys = keys.iter().filter_map(|it| match it {
        Reply::Bulk(key) => Some(Bytes::from(&key[..])),
        _ => None,
    });
    scan.seen.extend(keys);
    scan.cursor = cursor[..].into();
    world.clients.served += 1;
    if cursor == b"0"
        && let Some(scan) = world.clients.all[at].pursuits.scan.take()
    {
        world.count("scans");
        world.clients.scans.push(scan);
    } else {
        // It goes on as long as there is something to ask for.
        world.clients.all[at].left += 1;
    }
}
