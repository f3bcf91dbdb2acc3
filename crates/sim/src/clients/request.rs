//! What clients ask for: a command, some at once, a transaction, a step of a scan.
//!
//! In:  a client that is connected, and its dice. Out: bytes for its node; operations in the history, and what is
//! expected as their answers.

use super::library::Call;
use super::{Asked, Clients, Expected, KEYS, Kind, key};
use crate::clock::{MILLISECOND, SKEW_MS};
use crate::world::World;
use brickyard_brick::Port;
use brickyard_history::{Action, Bytes, Operation, Outcome};

/// Appends of unknown outcome on one key past which nobody appends to it: each may be anywhere.
const APPENDS_UNKNOWN_MAX: u32 = 3;

/// What is read at the end, of each table.
const SWEPT: [Kind; 6] = [
    Kind::Text,
    Kind::Number,
    Kind::Passing,
    Kind::Steady,
    Kind::Left,
    Kind::Right,
];

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

impl World {
    /// A client that is connected asks for the next thing.
    pub(super) fn ask(&mut self, at: usize) {
        let client = &mut self.clients.all[at];
        if let Some(next) = client.sweep {
            let Some(kind) = SWEPT.get((next / KEYS) as usize) else {
                client.sweep = None;
                return;
            };
            client.sweep = Some(next + 1);
            return self.ask_one(at, *kind, next % KEYS, true);
        }
        client.left -= 1;
        // Of one slot at a time, or by a node port: others answer for no key but their own.
        let is_library = client.is_library();
        let takes_many = client.port == Port::Node && !is_library;
        let dice = client.random.below(16);
        match dice {
            0 if takes_many && self.ask_scan(at) => {}
            1 if takes_many => self.ask_many(at, true),
            2 if takes_many => self.ask_many(at, false),
            3 if !is_library => {
                let client = &mut self.clients.all[at];
                let are_reads = client.is_reader || client.random.one_in(2);
                self.ask_pair(at, are_reads);
            }
            4 if !is_library && self.ask_export(at) => {}
            _ => {
                let client = &mut self.clients.all[at];
                let kind = match client.random.below(9) {
                    0 => Kind::Passing,
                    1..3 => Kind::Number,
                    3 => Kind::Steady,
                    _ => Kind::Text,
                };
                let number = client.random.below(KEYS);
                let is_read = client.is_reader || client.random.one_in(3);
                self.ask_one(at, kind, number, is_read);
            }
        }
    }

    fn ask_one(&mut self, at: usize, kind: Kind, number: u64, is_read: bool) {
        let client = &mut self.clients.all[at];
        let key = key(&self.clients.tables[client.table], kind, number);
        let dice = client.random.below(12);
        let lives = 100 + client.random.below(2_000);
        let (action, words) = if is_read {
            (Action::Get, vec![b"GET".as_slice().into(), key.clone()])
        } else {
            self.write(&key, kind, dice, lives)
        };
        let operation = self.note(at, key, action);
        if self.clients.all[at].is_library() {
            let call = Call::new(operation, words, is_read, self.now);
            return self.call(at, call);
        }
        let words: Vec<&[u8]> = words.iter().map(|it| &**it).collect();
        self.send_command(at, &words, Expected::One(operation));
    }

    /// Notes an operation in the history; its outcome is unknown until it is known.
    fn note(&mut self, at: usize, key: Bytes, action: Action) -> usize {
        let now = self.now;
        let client = &self.clients.all[at];
        let (node, brick, port) = (client.node, client.brick, client.port);
        let way = if client.is_reader { ", reading" } else { "" };
        let table = self.clients.tables[client.table].clone();
        let partition = self.partition_of(&table, &key);
        self.tell(|| {
            let key = key.escape_ascii();
            format!(
                "client {at} at node {node}/{brick} ({port:?}{way}): {key} ({partition}) {action}"
            )
        });
        self.clients.history.push(Operation {
            key,
            client: at as u32,
            action,
            called: now,
            returned: now,
            outcome: Outcome::Unknown,
        });
        self.clients.history.len() - 1
    }

    /// Which partition has a key; for the story.
    fn partition_of(&self, table: &str, key: &[u8]) -> String {
        let catalog = self.judges.latest.as_ref().filter(|_| self.story.is_some());
        let table = catalog.and_then(|it| it.table(table));
        table.map_or_else(String::new, |it| it.map.locate(key).partition.to_string())
    }

    pub(super) fn send_command(&mut self, at: usize, words: &[&[u8]], expected: Expected) {
        let now = self.now;
        let client = &mut self.clients.all[at];
        client.asked.push_back(Asked {
            expected,
            since: now,
        });
        if let Some(id) = client.connection {
            self.send_bytes(id, 0, command(words));
        }
    }

    /// Several keys with one command: each by itself, as the node port has it.
    fn ask_many(&mut self, at: usize, are_reads: bool) {
        let count = 2 + self.clients.all[at].random.below(2);
        let mut words: Vec<Bytes> = Vec::new();
        let mut operations = Vec::new();
        let mut keys: Vec<Bytes> = Vec::new();
        words.push(
            if are_reads {
                b"MGET".as_slice()
            } else {
                b"MSET"
            }
            .into(),
        );
        for _ in 0..count {
            let client = &mut self.clients.all[at];
            let number = client.random.below(KEYS);
            let key = key(&self.clients.tables[client.table], Kind::Text, number);
            if keys.contains(&key) {
                continue;
            }
            keys.push(key.clone());
            words.push(key.clone());
            let action = if are_reads {
                Action::Get
            } else {
                let value = self.clients.value();
                words.push(value.clone());
                Action::Set(value)
            };
            operations.push(self.note(at, key, action));
        }
        let words: Vec<&[u8]> = words.iter().map(|it| &**it).collect();
        let is_pair = false;
        self.send_command(
            at,
            &words,
            Expected::Several {
                operations,
                is_pair,
            },
        );
    }

    /// A transaction about two keys of a slot, which always hold the same.
    fn ask_pair(&mut self, at: usize, are_reads: bool) {
        let value = self.clients.value();
        let client = &mut self.clients.all[at];
        let table = self.clients.tables[client.table].clone();
        let number = client.random.below(KEYS);
        self.send_command(at, &[b"MULTI"], Expected::Step);
        let mut operations = Vec::new();
        for kind in [Kind::Left, Kind::Right] {
            let key = key(&table, kind, number);
            let (action, words): (Action, Vec<&[u8]>) = if are_reads {
                (Action::Get, vec![b"GET", &key])
            } else {
                (Action::Set(value.clone()), vec![b"SET", &key, &value])
            };
            self.send_command(at, &words, Expected::Step);
            operations.push(self.note(at, key.clone(), action));
        }
        let expected = Expected::Several {
            operations,
            is_pair: true,
        };
        self.send_command(at, &[b"EXEC"], expected);
    }

    fn write(&mut self, key: &Bytes, kind: Kind, dice: u64, lives: u64) -> (Action, Vec<Bytes>) {
        let words = |words: &[&[u8]]| words.iter().map(|it| Bytes::from(*it)).collect();
        if dice == 0 && kind != Kind::Steady {
            return (Action::Delete, words(&[b"DEL", key]));
        }
        if kind == Kind::Number {
            return (Action::Increment(1), words(&[b"INCR", key]));
        }
        let value = self.clients.value();
        let unknown = self.clients.appends.get(key).copied().unwrap_or(0);
        match (kind, dice) {
            (Kind::Passing, _) => {
                let text = lives.to_string();
                self.note_passing(key, &value, lives);
                let words = words(&[b"SET", key, &value, b"PX", text.as_bytes()]);
                (Action::Set(value), words)
            }
            (Kind::Text, 1..3) if unknown < APPENDS_UNKNOWN_MAX => {
                let words = words(&[b"APPEND", key, &value]);
                (Action::Append(value), words)
            }
            (Kind::Text, 3..5) => {
                let seen = self.last_seen(key);
                let words = match &seen {
                    Some(seen) => words(&[b"SET", key, &value, b"IFEQ", seen]),
                    None => words(&[b"SET", key, &value, b"NX"]),
                };
                let action = Action::CompareAndSet {
                    expected: seen,
                    value,
                };
                (action, words)
            }
            _ => {
                let words = words(&[b"SET", key, &value]);
                (Action::Set(value), words)
            }
        }
    }

    /// What a key held when somebody looked last.
    fn last_seen(&self, key: &Bytes) -> Option<Bytes> {
        let mut history = self.clients.history.iter().rev().take(200);
        history.find_map(|it| match (&it.action, &it.outcome) {
            _ if it.key != *key => None,
            (Action::Get, Outcome::Value(value)) => Some(value.clone()),
            (Action::Set(value), Outcome::Done) => Some(Some(value.clone())),
            _ => None,
        })?
    }

    /// The value goes by itself: some time from when its life may end at the earliest, or is gone already.
    fn note_passing(&mut self, key: &Bytes, value: &Bytes, lives: u64) {
        let earliest = self.now + lives.saturating_sub(SKEW_MS + 1) * MILLISECOND;
        self.clients.history.push(Operation {
            key: key.clone(),
            client: u32::MAX,
            action: Action::Expire(value.clone()),
            called: earliest,
            returned: earliest,
            outcome: Outcome::Unknown,
        });
        self.clients.passing.insert(value.clone(), lives);
    }
}

impl Clients {
    fn value(&mut self) -> Bytes {
        self.values += 1;
        format!("<{}>", self.values).into_bytes().into()
    }
}
