//! What clients are told, and what it says of what they asked for.

use super::export::answer_export;
use super::follower::answer_changes;
use super::keeper::{answer_kept, follow};
use super::library::{answer_again, answer_call, answer_clock};
use super::mover::{answer_made, answer_moved};
use super::outcome::answer_one;
use super::scan::answer_scan;
use super::seeker::answer_way;
use super::state::{Asked, Expected};
use super::watch::{answer_look, answer_watch, answer_watched};
use crate::reply::Reply;
use crate::world::World;

pub(super) fn answer(world: &mut World, at: usize, asked: &Asked, reply: &Reply) {
    if asked.expected != Expected::Greeting {
        world.tell(|| format!("client {at} is told {reply}"));
    }
    match &asked.expected {
        Expected::Greeting => answer_greeting(world, at, reply),
        Expected::Clock => answer_clock(world, at, reply),
        Expected::Step => {}
        Expected::Watch => answer_watch(world, at, reply),
        Expected::Looked(operation) => answer_look(world, at, *operation, reply),
        Expected::Watched(operation) => answer_watched(world, *operation, reply),
        Expected::One(index) => answer_one(world, *index, reply),
        Expected::Several {
            operations,
            is_pair,
        } => answer_several(world, operations, *is_pair, reply),
        Expected::Made(number, operation) => answer_made(world, (*number, *operation), reply),
        Expected::Moved(operations) => answer_moved(world, *operations, reply),
        Expected::Scan => answer_scan(world, at, reply),
        Expected::Export(partition) => {
            answer_export(world, at, *partition, asked.since, reply);
        }
        Expected::Kept(operation, asked) => {
            answer_kept(world, at, (*operation, *asked), reply);
        }
        Expected::Returned => {}
        Expected::Changes { waits } => answer_changes(world, at, (asked.since, *waits), reply),
        Expected::Call => return answer_call(world, at, reply),
        Expected::Way(operation) => return answer_way(world, at, *operation, reply),
        Expected::Again(before) => answer_again(world, at, before, reply),
    }
    if let Reply::Error(line) = reply
        && line.starts_with(b"MOVED")
    {
        follow(world, at, line);
        world.leave(at);
    }
}

fn answer_several(world: &mut World, operations: &[usize], is_pair: bool, reply: &Reply) {
    match reply {
        Reply::List(items) if items.len() == operations.len() => {
            for (index, item) in operations.iter().zip(items) {
                answer_one(world, *index, item);
            }
            if is_pair && items.windows(2).any(|pair| pair[0] != pair[1]) {
                world.object(format!(
                    "a transaction is seen in part: what is always written together is read as {reply}"
                ));
            }
        }
        // MSET has one answer for all.
        Reply::Simple(_) | Reply::Error(_) if !(is_pair && matches!(reply, Reply::Simple(_))) => {
            for index in operations {
                answer_one(world, *index, reply);
            }
        }
        other => world.object(format!("{other} is no answer to several commands")),
    }
}

fn answer_greeting(world: &mut World, at: usize, reply: &Reply) {
    let table = world.clients.all[at].table;
    if !world.clients.all[at].is_in_table {
        let is_there = match reply {
            Reply::Error(line) => line.windows(6).any(|it| it == b"exists"),
            _ => true,
        };
        world.tell(|| format!("client {at} is told {reply}"));
        world.clients.made[table] |= is_there;
        return world.leave(at);
    }
    if let Reply::Error(_) = reply {
        world.tell(|| format!("client {at} is told {reply}"));
        world.leave(at);
    }
}
