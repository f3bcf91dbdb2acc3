//! Transactions that run only if a watched key has not changed.
//!
//! In:  a client that is connected. Out: WATCH and a look; some time later MULTI, a write and EXEC.

use super::outcome::{answer_one, conclude};
use super::send::{note, send_command};
use super::state::{Expected, Watch, Watched, key};
use crate::habits::Kind;
use crate::reply::Reply;
use crate::world::World;
use brickyard_history::{Action, Outcome};

/// A client watches a key, and looks at it.
pub(super) fn ask_to_watch(world: &mut World, at: usize) -> bool {
    let keys = world.clients.habits.keys;
    let client = &mut world.clients.all[at];
    let number = client.random.below(keys);
    let key = key(&world.clients.tables[client.table], Kind::Text, number);
    client.pursuits.watch = Some(Watch {
        key: key.clone(),
        since: None,
        seen: None,
    });
    send_command(world, at, &[b"WATCH", &key], Expected::Watch);
    let operation = note(world, at, key.clone(), Action::Get);
    send_command(world, at, &[b"GET", &key], Expected::Looked(operation));
    true
}

/// A client that has seen what it watches writes it, if nobody has.
pub(super) fn go_on_watching(world: &mut World, at: usize) -> bool {
    let client = &mut world.clients.all[at];
    let watch = client.pursuits.watch.as_ref();
    let has_seen = watch.is_some_and(|it| it.since.is_some() && it.seen.is_some());
    if !has_seen || client.random.one_in(2) {
        return false;
    }
    let Some(Watch {
        key,
        since: Some(since),
        seen: Some(expected),
    }) = client.pursuits.watch.take()
    else {
        return false;
    };
    let value = world.clients.value();
    send_command(world, at, &[b"MULTI"], Expected::Step);
    send_command(world, at, &[b"SET", &key, &value], Expected::Step);
    let action = Action::CompareAndSet { expected, value };
    let operation = note(world, at, key, action);
    world.clients.watched.push(Watched {
        operation,
        since,
        until: world.now(),
    });
    send_command(world, at, &[b"EXEC"], Expected::Watched(operation));
    true
}

pub(super) fn answer_watch(world: &mut World, at: usize, reply: &Reply) {
    let now = world.now();
    if let Reply::Error(_) = reply {
        return world.leave(at);
    }
    if let Some(watch) = &mut world.clients.all[at].pursuits.watch {
        watch.since = Some(now);
    }
}

pub(super) fn answer_look(world: &mut World, at: usize, operation: usize, reply: &Reply) {
    answer_one(world, operation, reply);
    let Some(watch) = &mut world.clients.all[at].pursuits.watch else {
        return;
    };
    match &world.clients.history[operation].outcome {
        Outcome::Value(value) => watch.seen = Some(value.clone()),
        _ => world.leave(at),
    }
}

pub(super) fn answer_watched(world: &mut World, operation: usize, reply: &Reply) {
    match reply {
        Reply::List(items) if items.len() == 1 => {
            world.count("watched transactions that ran");
            answer_one(world, operation, &items[0]);
        }
        Reply::Nil => {
            world.count("watched transactions that did not run");
            conclude(world, operation, Outcome::Refused);
        }
        other => answer_one(world, operation, other),
    }
}
