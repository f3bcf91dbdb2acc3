//! What a reply says of an operation, and the end of that.

use crate::reply::Reply;
use crate::world::World;
use brickyard_history::{Action, Outcome};
use brickyard_wire::{Fate, fate, is_not_executed};

/// How a brick begins that does not know the table.
const NO_TABLE: &[u8] = b"ERR the table of this connection";

pub(super) fn answer_one(world: &mut World, index: usize, reply: &Reply) {
    let action = &world.clients.history[index].action;
    let outcome = outcome(action, reply);
    world.clients.served += u64::from(!matches!(reply, Reply::Error(_)));
    conclude(world, index, outcome);
}

/// An operation has come to its end for whoever asked.
pub(super) fn conclude(world: &mut World, index: usize, outcome: Outcome) {
    let now = world.now();
    let operation = &mut world.clients.history[index];
    operation.returned = now;
    operation.outcome = outcome;
    if operation.outcome == Outcome::Unknown {
        world.clients.note_unknown(index);
    }
}

/// Whether a refusal says nothing of the value.
pub(super) fn says_nothing(line: &[u8]) -> bool {
    line.starts_with(NO_TABLE) || is_not_executed(line)
}

/// What a reply says of an operation.
pub(super) fn outcome(action: &Action, reply: &Reply) -> Outcome {
    match (action, reply) {
        (_, Reply::Error(line)) => match fate(line) {
            Fate::NotExecuted | Fate::Damaged => Outcome::Refused,
            Fate::Unknown => Outcome::Unknown,
            // Of a brick that has not heard of it: nothing is said of the value.
            Fate::Refused if says_nothing(line) => Outcome::Refused,
            Fate::Refused if matches!(action, Action::Increment(_)) => Outcome::WrongValue,
            Fate::Refused => Outcome::Refused,
        },
        (Action::Get, Reply::Bulk(value)) => Outcome::Value(Some(value.clone().into())),
        (Action::Get, Reply::Nil) => Outcome::Value(None),
        (Action::Set(_) | Action::Clear, Reply::Simple(_)) => Outcome::Done,
        // Of a field.
        (Action::Set(_), Reply::Number(1)) => Outcome::Done,
        (Action::CompareAndSet { .. }, Reply::Simple(_)) => Outcome::Did(true),
        (Action::CompareAndSet { .. }, Reply::Nil) => Outcome::Did(false),
        (Action::Delete, Reply::Number(count)) => Outcome::Did(*count > 0),
        (_, Reply::Number(number)) => Outcome::Number(*number),
        // Nothing explains it: the checker will say so.
        _ => Outcome::WrongValue,
    }
}
