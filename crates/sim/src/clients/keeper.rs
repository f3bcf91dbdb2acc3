//! Clients that keep what they read under leases: by the client library's own cache (`brickyard_client::cache`).
//!
//! In:  reads of keys; answers; recalls. Out: operations of the history that nobody was asked for; what is given back.
//!
//! Invariant: a value from the cache is an operation of that instant, judged like any other.

use super::library::place_of;
use super::outcome::{answer_one, conclude};
use super::send::{note, send_command};
use super::state::Expected;
use crate::reply::Reply;
use crate::world::World;
use brickyard_client::cache::Asked;
use brickyard_history::{Action, Bytes, Outcome};
use brickyard_types::Instant;
use std::time::Duration;

/// Reads a key, from the cache if it can be.
pub(super) fn read_kept(world: &mut World, at: usize, key: Bytes) {
    let now = Instant(world.now());
    let Some(keeper) = &mut world.clients.all[at].keeper else {
        return;
    };
    let looked = keeper.cache.look(&key, now);
    let operation = note(world, at, key.clone(), Action::Get);
    match looked {
        Ok(value) => {
            world.count("reads from leases");
            world.tell(|| format!("client {at} has that"));
            conclude(world, operation, Outcome::Value(value.map(Bytes::from)));
        }
        Err(asked) => {
            let expected = Expected::Kept(operation, asked);
            send_command(world, at, &[b"LEASE", b"GET", &key], expected);
        }
    }
}

/// A client that keeps what it reads is about to write a key.
pub(super) fn forget(world: &mut World, at: usize, key: &[u8]) {
    let now = Instant(world.now());
    if let Some(keeper) = &mut world.clients.all[at].keeper {
        keeper.cache.forget(key, now);
    }
}

/// A value came, and maybe a lease of it.
pub(super) fn answer_kept(
    world: &mut World,
    at: usize,
    (operation, asked): (usize, Asked),
    reply: &Reply,
) {
    let both = match reply {
        Reply::List(items) => <&[Reply; 2]>::try_from(items.as_slice()).ok(),
        _ => None,
    };
    let Some([value, Reply::Number(lease)]) = both else {
        return answer_one(world, operation, reply);
    };
    answer_one(world, operation, value);
    let (now, key) = (world.now(), world.clients.history[operation].key.clone());
    let lease = Duration::from_millis(u64::try_from(*lease).unwrap_or(0));
    let value = match value {
        Reply::Bulk(value) => Some(value.as_slice()),
        _ => None,
    };
    if let Some(keeper) = &mut world.clients.all[at].keeper {
        keeper.cache.fill(&key, asked, value, lease, Instant(now));
    }
}

/// A client is told something that it has not asked for: to give a lease back.
pub(super) fn answer_recall(world: &mut World, at: usize, words: &[Reply]) {
    let now = world.now();
    let [
        Reply::Bulk(kind),
        Reply::Bulk(_),
        Reply::Bulk(key),
        Reply::Number(number),
    ] = words
    else {
        return world.object(format!("client {at} is told {words:?}"));
    };
    if kind != b"recall" {
        return world.object(format!("client {at} is told of {}", kind.escape_ascii()));
    }
    world.count("recalls of leases");
    world.tell(|| format!("client {at} gives back {}", key.escape_ascii()));
    if let Some(keeper) = &mut world.clients.all[at].keeper {
        keeper.cache.recall(key, Instant(now));
    }
    let number = number.to_string();
    let words: [&[u8]; 3] = [b"LEASE", b"RETURN", number.as_bytes()];
    send_command(world, at, &words, Expected::Returned);
}

/// Another brick leads a key: the client goes there.
pub(super) fn follow(world: &mut World, at: usize, moved: &[u8]) {
    let Some(keeper) = &mut world.clients.all[at].keeper else {
        return;
    };
    let address = std::str::from_utf8(moved).ok();
    let address = address.and_then(|line| line.split(' ').nth(2)?.rsplit_once(':'));
    keeper.redirect =
        address.and_then(|(host, port)| place_of(host.to_owned(), port.parse().ok()?));
}
