//! Who asks, what they ask, and what they were told.
//!
//! In:  bytes of nodes. Out: bytes for them, and a history that can be judged.
//!
//! A client speaks RESP at a node port or a brick's own, has one request under way or a few, gives up after a
//! while, and goes to another node when its connection is gone. What it does not know the outcome of is noted as
//! unknown.

use crate::clock::{MILLISECOND, Nanos, SECOND, SKEW_MS};
use crate::network::{ConnectionId, End, Place, Use};
use crate::plan::Plan;
use crate::process::Inbound;
use crate::random::Random;
use crate::reply::{Reply, read_reply};
use crate::shape::Shape;
use crate::world::{What, World};
use brickyard_brick::Port;
use brickyard_history::{Action, Bytes, Operation, Outcome};
use brickyard_wire::{Fate, fate};
use std::collections::VecDeque;

/// A client gives up on a request after so long.
const PATIENCE: Nanos = 9 * SECOND;

/// Keys of each kind in a table.
const KEYS: u64 = 4;

/// Appends of unknown outcome on one key past which nobody appends to it: each may be anywhere.
const APPENDS_UNKNOWN_MAX: u32 = 3;

/// What a key is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Set, deleted, appended to, compared.
    Text,
    /// Counted.
    Number,
    /// Set for a while.
    Passing,
}

/// A request whose answer has not come.
#[derive(Clone, Debug)]
struct Asked {
    /// Its operation in the history; none: of no interest.
    operation: Option<usize>,
    since: Nanos,
}

struct Client {
    table: usize,
    port: Port,
    is_reader: bool,
    node: usize,
    brick: usize,
    connection: Option<ConnectionId>,
    asked: VecDeque<Asked>,
    received: Vec<u8>,
    /// Operations that it still asks for.
    left: u32,
    random: Random,
    /// Its connection is about its table, and not about making it.
    is_in_table: bool,
    /// It only reads what there is, key by key, at the end.
    sweep: Option<u64>,
    is_due: bool,
}

/// See the module.
pub(crate) struct Clients {
    all: Vec<Client>,
    pub(crate) history: Vec<Operation>,
    tables: Vec<String>,
    /// Appends of unknown outcome by key.
    appends: std::collections::BTreeMap<Bytes, u32>,
    values: u64,
    pause: Nanos,
    /// Values that are set for a while, and for how many milliseconds.
    pub(crate) passing: std::collections::BTreeMap<Bytes, u64>,
    pub(crate) served: u64,
    /// Which tables are there.
    made: Vec<bool>,
}

impl Clients {
    pub(crate) fn new(seed: u64, shape: &Shape, plan: &Plan) -> Self {
        let last = plan.faults.iter().map(|it| it.at).max().unwrap_or(0);
        let length = last + 3 * SECOND;
        let all = (0..plan.clients).map(|at| {
            let mut random = Random::of(seed, 1_000 + u64::from(at));
            let port = if random.one_in(3) {
                Port::Brick
            } else {
                Port::Node
            };
            Client {
                table: at as usize % shape.tables.len(),
                is_reader: port == Port::Brick && random.one_in(2),
                port,
                node: 0,
                brick: 0,
                connection: None,
                asked: VecDeque::new(),
                received: Vec::new(),
                left: plan.operations,
                random,
                is_in_table: false,
                sweep: None,
                is_due: true,
            }
        });
        Self {
            all: all.collect(),
            history: Vec::new(),
            tables: shape.tables.iter().map(|it| it.name.clone()).collect(),
            appends: std::collections::BTreeMap::new(),
            values: 0,
            pause: length / u64::from(plan.operations.max(1)),
            passing: std::collections::BTreeMap::new(),
            served: 0,
            made: vec![false; shape.tables.len()],
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether nobody asks for anything any more, nor waits.
    pub(crate) fn are_done(&self) -> bool {
        self.all
            .iter()
            .all(|it| it.left == 0 && it.asked.is_empty() && it.sweep.is_none())
    }

    /// Everybody reads everything, each at another node.
    pub(crate) fn sweep(&mut self) {
        for client in &mut self.all {
            client.sweep = Some(0);
            client.left = 0;
        }
    }

    fn value(&mut self) -> Bytes {
        self.values += 1;
        format!("<{}>", self.values).into_bytes().into()
    }
}

fn key(table: &str, kind: Kind, number: u64) -> Bytes {
    let letter = match kind {
        Kind::Text => 't',
        Kind::Number => 'n',
        Kind::Passing => 'p',
    };
    format!("{table}:{letter}{number}").into_bytes().into()
}

/// What is put on the wire for a command.
fn command(words: &[&[u8]]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
    out
}

impl World {
    /// A client does the next thing.
    pub(crate) fn client(&mut self, at: usize) {
        let now = self.now;
        self.clients.all[at].is_due = false;
        let client = &self.clients.all[at];
        let is_late = client
            .asked
            .front()
            .is_some_and(|it| now - it.since > PATIENCE);
        if is_late {
            self.give_up(at);
        }
        let client = &self.clients.all[at];
        let has_work = client.left > 0 || client.sweep.is_some();
        if client.connection.is_none() {
            if has_work {
                self.client_connects(at);
            }
        } else if has_work && client.asked.len() < 2 && self.is_ready(at) {
            self.ask(at);
        } else if self.is_calm && !has_work && client.asked.is_empty() {
            return;
        }
        self.client_soon(at);
    }

    fn client_soon(&mut self, at: usize) {
        let pause = if self.clients.all[at].sweep.is_some() {
            10 * MILLISECOND
        } else {
            self.clients.pause
        };
        let client = &mut self.clients.all[at];
        if std::mem::replace(&mut client.is_due, true) {
            return;
        }
        let delay = pause / 4 + client.random.below(pause * 3 / 2 + 1);
        self.after(delay, What::Client(at));
    }

    /// The table must be there before it is used.
    fn is_ready(&self, at: usize) -> bool {
        self.clients.all[at].is_in_table
    }

    fn client_connects(&mut self, at: usize) {
        let nodes = self.machines.len();
        let bricks = self.shape.bricks as usize;
        let client = &mut self.clients.all[at];
        client.node = client.random.index(nodes);
        client.brick = client.random.index(bricks);
        let (node, brick, port) = (client.node, client.brick, client.port);
        let Some(process) = &self.machines[node].process else {
            return;
        };
        if process.bricks.is_empty() || self.machines[node].paused_until > self.now {
            return;
        }
        let ends = [
            End {
                place: Place::Client(at),
                life: 0,
            },
            End {
                place: Place::Node(node),
                life: process.life,
            },
        ];
        let id = self.network.connect(ends, Use::Client { brick, id: None });
        self.give(node, brick, Inbound::Accept(id, port));
        let client = &mut self.clients.all[at];
        client.is_in_table = self.clients.made[client.table];
        client.connection = Some(id);
        client.received.clear();
        client.asked.clear();
        let mut hello = Vec::new();
        let table = self.clients.tables[client.table].clone();
        let must_make = !self.clients.made[client.table];
        if must_make {
            let shape = &self.shape.tables[client.table];
            let attributes = &shape.attributes;
            let text = format!(
                "TABLE CREATE {table} REPLICAS {} MEDIUM {} DURABILITY {} PARTITIONS {}",
                attributes.replicas, attributes.medium, attributes.durability, shape.partitions
            );
            let text = match attributes.maxmemory {
                Some(bytes) => format!("{text} MAXMEMORY {bytes}"),
                None => text,
            };
            let words: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
            hello.extend(command(&words));
        } else {
            hello.extend(command(&[b"TABLE", b"USE", table.as_bytes()]));
            if client.is_reader {
                hello.extend(command(&[b"READONLY"]));
            }
        }
        let count = 1 + usize::from(client.is_reader && !must_make);
        for _ in 0..count {
            client.asked.push_back(Asked {
                operation: None,
                since: self.now,
            });
        }
        if !hello.is_empty() {
            self.send_bytes(id, 0, hello);
        }
    }

    fn ask(&mut self, at: usize) {
        let table = self.clients.all[at].table;
        let name = self.clients.tables[table].clone();
        let client = &mut self.clients.all[at];
        let (kind, number, is_read) = match client.sweep {
            Some(next) if next >= 3 * KEYS => {
                client.sweep = None;
                return;
            }
            Some(next) => {
                client.sweep = Some(next + 1);
                let kinds = [Kind::Text, Kind::Number, Kind::Passing];
                (kinds[(next / KEYS) as usize], next % KEYS, true)
            }
            None => {
                client.left -= 1;
                let kind = match client.random.below(8) {
                    0 => Kind::Passing,
                    1..3 => Kind::Number,
                    _ => Kind::Text,
                };
                let is_read = client.is_reader || client.random.one_in(3);
                (kind, client.random.below(KEYS), is_read)
            }
        };
        let key = key(&name, kind, number);
        let dice = client.random.below(12);
        let lives = 100 + client.random.below(2_000);
        let (action, bytes) = if is_read {
            (Action::Get, command(&[b"GET", &key]))
        } else {
            self.write(&key, kind, dice, lives)
        };
        let now = self.now;
        let operation = self.clients.history.len();
        let client = &self.clients.all[at];
        let (node, brick, port) = (client.node, client.brick, client.port);
        let way = if client.is_reader { ", reading" } else { "" };
        let partition = self.partition_of(&name, &key);
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
        let client = &mut self.clients.all[at];
        client.asked.push_back(Asked {
            operation: Some(operation),
            since: now,
        });
        if let Some(id) = client.connection {
            self.send_bytes(id, 0, bytes);
        }
    }

    /// Which partition has a key; for the story.
    fn partition_of(&self, table: &str, key: &[u8]) -> String {
        let catalog = self.judges.latest.as_ref().filter(|_| self.story.is_some());
        let table = catalog.and_then(|it| it.table(table));
        table.map_or_else(String::new, |it| it.map.locate(key).partition.to_string())
    }

    fn write(&mut self, key: &Bytes, kind: Kind, dice: u64, lives: u64) -> (Action, Vec<u8>) {
        if dice == 0 {
            return (Action::Delete, command(&[b"DEL", key]));
        }
        match kind {
            Kind::Number => (Action::Increment(1), command(&[b"INCR", key])),
            Kind::Passing => {
                let value = self.clients.value();
                let text = lives.to_string();
                let bytes = command(&[b"SET", key, &value, b"PX", text.as_bytes()]);
                self.note_passing(key, &value, lives);
                (Action::Set(value), bytes)
            }
            Kind::Text => {
                let value = self.clients.value();
                let unknown = self.clients.appends.get(key).copied().unwrap_or(0);
                match dice {
                    1..3 if unknown < APPENDS_UNKNOWN_MAX => {
                        let bytes = command(&[b"APPEND", key, &value]);
                        (Action::Append(value), bytes)
                    }
                    3..5 => {
                        let seen = self.last_seen(key);
                        let bytes = match &seen {
                            Some(seen) => command(&[b"SET", key, &value, b"IFEQ", seen]),
                            None => command(&[b"SET", key, &value, b"NX"]),
                        };
                        let action = Action::CompareAndSet {
                            expected: seen,
                            value,
                        };
                        (action, bytes)
                    }
                    _ => {
                        let bytes = command(&[b"SET", key, &value]);
                        (Action::Set(value), bytes)
                    }
                }
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

    /// A client has something to read.
    pub(crate) fn client_reads(&mut self, at: usize, id: ConnectionId) {
        let Some(connection) = self.network.get_mut(id) else {
            return;
        };
        let flow = &mut connection.flows[1];
        let client = &mut self.clients.all[at];
        for bytes in flow.arrived.drain(..) {
            flow.bytes -= bytes.len();
            client.received.extend_from_slice(&bytes);
        }
        if client.connection != Some(id) {
            return;
        }
        let mut used = 0;
        while let Some((reply, len)) = read_reply(&self.clients.all[at].received[used..]) {
            used += len;
            let Some(asked) = self.clients.all[at].asked.pop_front() else {
                return self.object(format!(
                    "client {at} is told {reply:?} without having asked"
                ));
            };
            self.answer(at, &asked, &reply);
            if self.clients.all[at].connection != Some(id) {
                return;
            }
        }
        self.clients.all[at].received.drain(..used);
    }

    fn answer(&mut self, at: usize, asked: &Asked, reply: &Reply) {
        let Some(index) = asked.operation else {
            return self.answer_greeting(at, reply);
        };
        let now = self.now;
        self.tell(|| format!("client {at} is told {reply}"));
        let operation = &mut self.clients.history[index];
        operation.returned = now;
        operation.outcome = outcome(&operation.action, reply);
        self.clients.served += u64::from(!matches!(reply, Reply::Error(_)));
        if let (Action::Append(_), Outcome::Unknown) = (&operation.action, &operation.outcome) {
            let key = operation.key.clone();
            *self.clients.appends.entry(key).or_insert(0) += 1;
        }
        if let Reply::Error(line) = reply
            && line.starts_with(b"MOVED")
        {
            self.leave(at);
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

    /// The client goes; what it asked for has an outcome that it does not know.
    fn leave(&mut self, at: usize) {
        self.forget_asked(at);
        if let Some(id) = self.clients.all[at].connection.take() {
            self.close_end(id, 0);
        }
        self.clients.all[at].received.clear();
    }

    fn forget_asked(&mut self, at: usize) {
        for asked in std::mem::take(&mut self.clients.all[at].asked) {
            if let Some(index) = asked.operation {
                let operation = &self.clients.history[index];
                if let Action::Append(_) = operation.action {
                    let key = operation.key.clone();
                    *self.clients.appends.entry(key).or_insert(0) += 1;
                }
            }
        }
    }

    fn give_up(&mut self, at: usize) {
        self.tell(|| format!("client {at} gives up"));
        self.count("gave up");
        if self.is_calm && self.now - self.calm_at > 2 * PATIENCE {
            self.object(format!(
                "client {at} has had no answer for {} s, long after the last fault",
                PATIENCE / SECOND
            ));
        }
        self.leave(at);
    }

    /// A client's connection is gone.
    pub(crate) fn client_closed(&mut self, at: usize, id: ConnectionId) {
        if self.clients.all[at].connection == Some(id) {
            self.clients.all[at].connection = None;
            self.forget_asked(at);
            self.clients.all[at].received.clear();
        }
        self.client_soon(at);
    }
}

/// What a reply says of an operation.
fn outcome(action: &Action, reply: &Reply) -> Outcome {
    match (action, reply) {
        (_, Reply::Error(line)) => match fate(line) {
            Fate::NotExecuted | Fate::Damaged => Outcome::Refused,
            Fate::Unknown => Outcome::Unknown,
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
