//! What clients are told, and what it says of what they asked for.

use super::{Asked, Expected};
use crate::reply::Reply;
use crate::world::World;
use brickyard_history::{Action, Outcome};
use brickyard_wire::{Fate, fate, is_not_executed};

/// How a brick begins that does not know the table.
const NO_TABLE: &[u8] = b"ERR the table of this connection";

impl World {
    pub(super) fn answer(&mut self, at: usize, asked: &Asked, reply: &Reply) {
        if asked.expected != Expected::Greeting {
            self.tell(|| format!("client {at} is told {reply}"));
        }
        match &asked.expected {
            Expected::Greeting => self.answer_greeting(at, reply),
            Expected::Clock => self.answer_clock(at, reply),
            Expected::Step => {}
            Expected::One(index) => self.answer_one(*index, reply),
            Expected::Several {
                operations,
                is_pair,
            } => self.answer_several(operations, *is_pair, reply),
            Expected::Scan => self.answer_scan(at, reply),
            Expected::Export(partition) => {
                self.answer_export(at, *partition, asked.since, reply);
            }
            Expected::Call => return self.answer_call(at, reply),
        }
        if let Reply::Error(line) = reply
            && line.starts_with(b"MOVED")
        {
            self.leave(at);
        }
    }

    pub(super) fn answer_one(&mut self, index: usize, reply: &Reply) {
        let action = &self.clients.history[index].action;
        let outcome = outcome(action, reply);
        self.clients.served += u64::from(!matches!(reply, Reply::Error(_)));
        self.conclude(index, outcome);
    }

    /// An operation has come to its end for whoever asked.
    pub(super) fn conclude(&mut self, index: usize, outcome: Outcome) {
        let now = self.now;
        let operation = &mut self.clients.history[index];
        operation.returned = now;
        operation.outcome = outcome;
        if operation.outcome == Outcome::Unknown {
            self.clients.note_unknown(index);
        }
    }

    fn answer_several(&mut self, operations: &[usize], is_pair: bool, reply: &Reply) {
        match reply {
            Reply::List(items) if items.len() == operations.len() => {
                for (index, item) in operations.iter().zip(items) {
                    self.answer_one(*index, item);
                }
                if is_pair && items.windows(2).any(|pair| pair[0] != pair[1]) {
                    self.object(format!(
                        "a transaction is seen in part: what is always written together is read as {reply}"
                    ));
                }
            }
            // MSET has one answer for all.
            Reply::Simple(_) | Reply::Error(_)
                if !(is_pair && matches!(reply, Reply::Simple(_))) =>
            {
                for index in operations {
                    self.answer_one(*index, reply);
                }
            }
            other => self.object(format!("{other} is no answer to several commands")),
        }
    }

    fn answer_greeting(&mut self, at: usize, reply: &Reply) {
        let table = self.clients.all[at].table;
        if !self.clients.all[at].is_in_table {
            let is_there = match reply {
                Reply::Error(line) => line.windows(6).any(|it| it == b"exists"),
                _ => true,
            };
            self.tell(|| format!("client {at} is told {reply}"));
            self.clients.made[table] |= is_there;
            return self.leave(at);
        }
        if let Reply::Error(_) = reply {
            self.tell(|| format!("client {at} is told {reply}"));
            self.leave(at);
        }
    }
}

/// What a reply says of an operation.
pub(super) fn outcome(action: &Action, reply: &Reply) -> Outcome {
    match (action, reply) {
        (_, Reply::Error(line)) => match fate(line) {
            Fate::NotExecuted | Fate::Damaged => Outcome::Refused,
            Fate::Unknown => Outcome::Unknown,
            // Of a brick that has not heard of it: nothing is said of the value.
            Fate::Refused if line.starts_with(NO_TABLE) || is_not_executed(line) => {
                Outcome::Refused
            }
            Fate::Refused if matches!(action, Action::Increment(_)) => Outcome::WrongValue,
            Fate::Refused => Outcome::Refused,
        },
        (Action::Get, Reply::Bulk(value)) => Outcome::Value(Some(value.clone().into())),
        (Action::Get, Reply::Nil) => Outcome::Value(None),
        (Action::Set(_), Reply::Simple(_)) => Outcome::Done,
        (Action::CompareAndSet { .. }, Reply::Simple(_)) => Outcome::Did(true),
        (Action::CompareAndSet { .. }, Reply::Nil) => Outcome::Did(false),
        (Action::Delete, Reply::Number(count)) => Outcome::Did(*count > 0),
        (_, Reply::Number(number)) => Outcome::Number(*number),
        // Nothing explains it: the judge will say so.
        _ => Outcome::WrongValue,
    }
}
