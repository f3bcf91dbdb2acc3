//! Clients that follow what changes of their table: by WATCHKEYS, through whatever node or brick they are connected to.
//!
//! In:  positions and changes. Out: what each key was told to hold, one value after the other, in stretches without a gap.
//!
//! Not here: whether that is what has happened (`check::followed`).

use super::send::send_command;
use super::state::{Expected, FIELD, Stretch, Told, key};
use crate::clock::Nanos;
use crate::habits::KINDS;
use crate::reply::Reply;
use crate::world::World;
use brickyard_history::Bytes;
use brickyard_rdb::RdbValue;
use brickyard_routing::slot;

/// How the answer begins to who is too far behind.
const COMPACTED: &[u8] = b"COMPACTED";

pub(super) fn ask_to_follow(world: &mut World, at: usize) {
    let is_calm = world.cluster.ground.stage.is_calm;
    let client = &mut world.clients.all[at];
    let Some(follower) = &client.pursuits.follower else {
        return;
    };
    let position = follower.position.clone();
    let count = client.random.one_of(&[1_u64, 3, 1_000]).to_string();
    let block = client.random.between(1, 400).to_string();
    let from = position.as_deref().unwrap_or(b"NOW");
    let mut words: Vec<&[u8]> = vec![b"WATCHKEYS", b"ALL", b"FROM", from];
    words.extend([b"COUNT", count.as_bytes()]);
    // Who waits is kept from errors, and does not learn whether there was nothing to be told.
    let waits = !is_calm && client.random.one_in(2);
    if waits {
        words.extend([b"BLOCK", block.as_bytes()]);
    }
    world.tell(|| {
        let from = from.escape_ascii();
        format!("client {at} follows from {from}, {count} at a time, waiting: {waits}")
    });
    send_command(world, at, &words, Expected::Changes { waits });
}

pub(super) fn answer_changes(
    world: &mut World,
    at: usize,
    (asked_at, waits): (Nanos, bool),
    reply: &Reply,
) {
    let now = world.now();
    if let Reply::Error(line) = reply {
        if line.starts_with(b"ERR the position") {
            return world.object(format!("client {at} goes on from where it was: {reply}"));
        }
        // Any other one: the same again, some time.
        if line.starts_with(COMPACTED) {
            world.count("followers that fell behind");
            if let Some(follower) = &mut world.clients.all[at].pursuits.follower {
                follower.position = None;
            }
        }
        return;
    }
    let Some((position, changes)) = read_answer(reply) else {
        return world.object(format!("{reply} is no answer to WATCHKEYS"));
    };
    let keys = world.clients.habits.keys;
    let table = world.clients.tables[world.clients.all[at].table].clone();
    let mut told = Vec::new();
    for change in changes {
        if !read_change(change, &table, keys, &mut told) {
            return world.object(format!("{change} is no change"));
        }
    }
    for _ in &told {
        world.count("changes told");
    }
    world.clients.served += 1;
    let Some(follower) = &mut world.clients.all[at].pursuits.follower else {
        return;
    };
    if changes.is_empty() && !waits {
        follower.level_at = Some(asked_at);
    }
    match follower.position.replace(position.into()) {
        None => follower.stretches.push(Stretch { since: now, told }),
        Some(_) => {
            if let Some(stretch) = follower.stretches.last_mut() {
                stretch.told.append(&mut told);
            }
        }
    }
}

fn read_answer(reply: &Reply) -> Option<(&[u8], &[Reply])> {
    let Reply::List(parts) = reply else {
        return None;
    };
    match &parts[..] {
        [Reply::Bulk(position), Reply::List(changes)] => Some((position, changes)),
        _ => None,
    }
}

/// What a change says of keys; whether it can be read.
fn read_change(change: &Reply, table: &str, keys: u64, told: &mut Vec<Told>) -> bool {
    let Reply::List(words) = change else {
        return false;
    };
    let mut tell = |key: &[u8], value: Option<&[u8]>| {
        told.push(Told {
            key: key.into(),
            value: value.map(Bytes::from),
        });
    };
    match &words[..] {
        [Reply::Bulk(event), Reply::Bulk(key)] if event == b"del" => tell(key, None),
        [Reply::Bulk(event), Reply::Bulk(key), Reply::Bulk(value), _] if event == b"set" => {
            tell(key, Some(value));
        }
        [
            Reply::Bulk(event),
            Reply::Bulk(key),
            Reply::Bulk(payload),
            _,
        ] if event == b"restore" => {
            let Ok(RdbValue::Hash(fields)) = brickyard_rdb::restore(payload) else {
                return false;
            };
            let field = fields.iter().find(|it| it.name == FIELD);
            tell(key, field.map(|it| &it.value[..]));
        }
        // Partitions here are never as small as a slot.
        [
            Reply::Bulk(event),
            Reply::Number(first),
            Reply::Number(last),
            _,
        ] if event == b"clear" => {
            let numbers = KINDS
                .iter()
                .flat_map(|kind| (0..keys).map(move |it| (*kind, it)));
            for (kind, number) in numbers {
                let key = key(table, kind, number);
                if (*first..=*last).contains(&i64::from(slot(&key).0)) {
                    tell(&key, None);
                }
            }
        }
        _ => return false,
    }
    true
}
