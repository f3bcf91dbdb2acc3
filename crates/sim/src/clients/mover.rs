//! Keys that go from one table to the other, and copies of them.
//!
//! In:  a client at a node's port, of a run with two tables. Out: a key that is there once, whichever table it is in; what was told of each
//!      way that it went.
//!
//! A key is made once in a run, and holds the same all the time: so what a command has moved is known, and that a key is in both tables, or in
//! none, is seen at the end (`check/moved.rs`).

use super::outcome::conclude;
use super::send::{note, send_command};
use super::state::{Expected, Made, key};
use crate::habits::Kind;
use crate::reply::Reply;
use crate::world::World;
use brickyard_history::{Action, Bytes, Outcome};
use brickyard_wire::{Fate, fate};
use std::collections::btree_map::Entry;

/// Of so many requests one looks, and one copies.
const OTHERS_ONE_IN: u64 = 4;

/// What a key is called in its table: in the history the tables have other names for it.
pub(super) fn name(key: &[u8]) -> &[u8] {
    let at = key.iter().position(|byte| *byte == b'/');
    at.map_or(key, |at| &key[at + 1..])
}

/// What a key holds from its beginning on.
fn value(number: u64) -> Bytes {
    format!("moved<{number}>").into_bytes().into()
}

/// Makes a key, moves it to the other table, copies it there, or looks whether it is here. `false`: there is no other table yet.
pub(super) fn ask_to_move(world: &mut World, at: usize) -> bool {
    let table = world.clients.all[at].table;
    let other = 1 - table;
    if world.clients.made.get(other) != Some(&true) {
        return false;
    }
    let keys = world.clients.habits.keys;
    let client = &mut world.clients.all[at];
    let number = client.random.below(keys);
    let dice = client.random.below(OTHERS_ONE_IN);
    let [here, there] = [table, other].map(|table| world.clients.tables[table].clone());
    let moved = key(&here, Kind::Moved, number);
    let held = value(number);
    if let Entry::Vacant(unmade) = world.clients.moved.entry(number) {
        unmade.insert(Made::Maybe);
        let operation = note(world, at, moved.clone(), Action::Set(held.clone()));
        let words: [&[u8]; 3] = [b"SET", name(&moved), &held];
        send_command(world, at, &words, Expected::Made(number, operation));
        return true;
    }
    // A table's number is its name.
    let database = there.as_bytes();
    if dice == 0 {
        let operation = note(world, at, moved.clone(), Action::Get);
        send_command(world, at, &[b"GET", name(&moved)], Expected::One(operation));
        return true;
    }
    let copies = dice == 1;
    let (taken, given, kind) = match copies {
        true => (Action::Get, Action::Set(held), Kind::Copied),
        false => {
            let given = Action::CompareAndSet {
                expected: None,
                value: held,
            };
            (Action::Delete, given, Kind::Moved)
        }
    };
    let target = key(&there, kind, number);
    let operations = [
        note(world, at, moved.clone(), taken),
        note(world, at, target.clone(), given),
    ];
    let from = name(&moved);
    let words: Vec<&[u8]> = match copies {
        true => vec![b"COPY", from, name(&target), b"DB", database, b"REPLACE"],
        false => vec![b"MOVE", from, database],
    };
    send_command(world, at, &words, Expected::Moved(operations));
    true
}

/// A key was made, or was not.
pub(super) fn answer_made(world: &mut World, (number, operation): (u64, usize), reply: &Reply) {
    super::outcome::answer_one(world, operation, reply);
    match world.clients.history[operation].outcome {
        Outcome::Done => {
            world.clients.moved.insert(number, Made::Surely);
        }
        // Somebody else makes it.
        Outcome::Refused => {
            world.clients.moved.remove(&number);
        }
        _ => {}
    }
}

/// What a command says of both of its keys.
pub(super) fn answer_moved(world: &mut World, operations: [usize; 2], reply: &Reply) {
    let [taken, given] = operations;
    world.clients.served += u64::from(!matches!(reply, Reply::Error(_)));
    let is_copy = world.clients.history[taken].action == Action::Get;
    let held = match &world.clients.history[given].action {
        Action::Set(value) | Action::CompareAndSet { value, .. } => value.clone(),
        other => unreachable!("a key gets something, and not {other}"),
    };
    let outcomes = match (reply, is_copy) {
        (Reply::Number(1), true) => [Outcome::Value(Some(held)), Outcome::Done],
        (Reply::Number(1), false) => {
            world.count("keys moved");
            [Outcome::Did(true), Outcome::Did(true)]
        }
        (Reply::Number(0), true) => [Outcome::Value(None), Outcome::Refused],
        // The one was not there, or the other was: of neither it is known which.
        (Reply::Number(0), false) => [Outcome::Refused, Outcome::Refused],
        (Reply::Error(line), _) => match fate(line) {
            Fate::Unknown => [Outcome::Unknown, Outcome::Unknown],
            Fate::NotExecuted | Fate::Damaged | Fate::Refused => {
                [Outcome::Refused, Outcome::Refused]
            }
        },
        (other, _) => {
            return world.object(format!("{other} is no answer to MOVE, nor to COPY"));
        }
    };
    for (operation, outcome) in operations.into_iter().zip(outcomes) {
        conclude(world, operation, outcome);
    }
}
