//! Who asks, what they ask, and what they were told.
//!
//! In:  bytes of nodes. Out: bytes for them, and a history that can be judged.
//!
//! A client speaks RESP at a node port or a brick's own, has one request under way or a few, gives up after a
//! while, and goes to another node when its connection is gone. What it does not know the outcome of is noted as
//! unknown. Some do as the client library does: they send again what has failed.
//!
//! ```text
//!  request ─▶ bytes   answer ◀─ replies   library: attempts of one call   scan: whole tables, step by step
//!  export: whole partitions at one moment
//! ```

mod answer;
mod export;
mod library;
mod request;
mod scan;

use crate::clock::{MILLISECOND, Nanos, SECOND};
use crate::loop_io::Socket;
use crate::network::{ConnectionId, End, Place, Use};
use crate::plan::Plan;
use crate::random::Random;
use crate::reply::read_reply;
use crate::shape::Shape;
use crate::world::{What, World};
use brickyard_brick::Port;
use brickyard_history::{Action, Bytes, Operation};
use brickyard_types::PartitionId;
use library::Library;
pub(crate) use request::command;
pub(crate) use scan::Scan;
use std::collections::{BTreeMap, VecDeque};

/// A client gives up on a request after so long.
const PATIENCE: Nanos = 9 * SECOND;

/// Keys of each kind in a table.
const KEYS: u64 = 4;

/// What a key is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Set, deleted, appended to, compared.
    Text,
    /// Counted.
    Number,
    /// Set for a while.
    Passing,
    /// Set, and never deleted: every scan has to return it.
    Steady,
    /// Two keys of a slot that are always set together.
    Left,
    Right,
}

/// What comes as an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expected {
    /// To what a connection begins with.
    Greeting,
    /// To `REQUEST NOW`.
    Clock,
    /// To what is queued: the answer that counts comes later.
    Step,
    /// To one operation of the history.
    One(usize),
    /// To several; those of a pair are seen together or not at all.
    Several {
        operations: Vec<usize>,
        is_pair: bool,
    },
    /// To a step of the client's scan.
    Scan,
    /// To the export of a partition.
    Export(PartitionId),
    /// To an attempt of the library's call.
    Call,
}

/// A request whose answer has not come.
#[derive(Clone, Debug)]
struct Asked {
    expected: Expected,
    since: Nanos,
}

impl Asked {
    fn operations(&self) -> &[usize] {
        match &self.expected {
            Expected::One(operation) => std::slice::from_ref(operation),
            Expected::Several { operations, .. } => operations,
            _ => &[],
        }
    }
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
    /// It does as the client library does.
    library: Option<Library>,
    /// The scan that it is about.
    scan: Option<Scan>,
    is_due: bool,
}

impl Client {
    fn is_library(&self) -> bool {
        self.library.is_some()
    }

    /// It waits for something, be it the time to send it again.
    fn is_busy(&self) -> bool {
        !self.asked.is_empty() || self.library.as_ref().is_some_and(Library::is_busy)
    }

    /// How many requests it has under way at most.
    fn depth(&self) -> usize {
        if self.is_library() { 1 } else { 2 }
    }
}

/// See the module.
pub(crate) struct Clients {
    all: Vec<Client>,
    pub(crate) history: Vec<Operation>,
    tables: Vec<String>,
    /// Appends of unknown outcome by key.
    appends: BTreeMap<Bytes, u32>,
    values: u64,
    pause: Nanos,
    /// Values that are set for a while, and for how many milliseconds.
    pub(crate) passing: BTreeMap<Bytes, u64>,
    /// Those that came to their end.
    pub(crate) scans: Vec<Scan>,
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
            let is_library = random.one_in(3);
            Client {
                table: at as usize % shape.tables.len(),
                is_reader: port == Port::Brick && !is_library && random.one_in(2),
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
                library: is_library.then(|| Library::new(u64::from(at) + 1)),
                scan: None,
                is_due: true,
            }
        });
        Self {
            all: all.collect(),
            history: Vec::new(),
            tables: shape.tables.iter().map(|it| it.name.clone()).collect(),
            appends: BTreeMap::new(),
            values: 0,
            pause: length / u64::from(plan.operations.max(1)),
            passing: BTreeMap::new(),
            scans: Vec::new(),
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
            .all(|it| it.left == 0 && !it.is_busy() && it.sweep.is_none())
    }

    /// Whether clients know that all tables are there.
    pub(crate) fn are_tables_made(&self) -> bool {
        self.made.iter().all(|it| *it)
    }

    /// Everybody reads everything, each at another node.
    pub(crate) fn sweep(&mut self) {
        for client in &mut self.all {
            client.sweep = Some(0);
            client.left = 0;
        }
    }

    /// The outcome of an operation will not be known.
    fn note_unknown(&mut self, index: usize) {
        let operation = &self.history[index];
        if let Action::Append(_) = operation.action {
            *self.appends.entry(operation.key.clone()).or_insert(0) += 1;
        }
    }

    /// Whether a client sends again what has failed.
    pub(crate) fn tries_again(&self, at: usize) -> bool {
        self.all.get(at).is_some_and(Client::is_library)
    }

    /// The table of a client.
    pub(crate) fn table(&self, table: usize) -> &str {
        &self.tables[table]
    }
}

/// Keys that are set and never deleted, of a table.
pub(crate) fn steady_keys(table: &str) -> impl Iterator<Item = Bytes> + '_ {
    (0..KEYS).map(|number| key(table, Kind::Steady, number))
}

fn key(table: &str, kind: Kind, number: u64) -> Bytes {
    let text = match kind {
        Kind::Text => format!("{table}:t{number}"),
        Kind::Number => format!("{table}:n{number}"),
        Kind::Passing => format!("{table}:p{number}"),
        Kind::Steady => format!("{table}:s{number}"),
        Kind::Left => format!("{{{table}:x{number}}}left"),
        Kind::Right => format!("{{{table}:x{number}}}right"),
    };
    text.into_bytes().into()
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
        self.go_on_calling(at);
        let client = &self.clients.all[at];
        let has_work = client.left > 0 || client.sweep.is_some();
        let is_calling = client.library.as_ref().is_some_and(Library::is_busy);
        if client.connection.is_none() {
            if has_work || is_calling {
                self.client_connects(at);
            }
        } else if has_work
            && !is_calling
            && client.asked.len() < client.depth()
            && self.is_ready(at)
        {
            self.ask(at);
        } else if self.is_calm && !has_work && !client.is_busy() {
            return;
        }
        self.client_soon(at);
    }

    fn client_soon(&mut self, at: usize) {
        let client = &self.clients.all[at];
        let is_calling = client.library.as_ref().is_some_and(Library::is_busy);
        let pause = if client.sweep.is_some() {
            10 * MILLISECOND
        } else if is_calling {
            self.clients.pause.min(20 * MILLISECOND)
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
        let told = client.library.as_mut().and_then(Library::take_redirect);
        let drawn = (client.random.index(nodes), client.random.index(bricks));
        let (node, brick, port) = told.unwrap_or((drawn.0, drawn.1, client.port));
        (client.node, client.brick) = (node, brick);
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
        let id = self.network.connect(ends, Use::Client { brick });
        let socket = Socket {
            connection: id,
            end: 1,
        };
        self.give(node, brick, |outside| {
            outside.accepted.push_back((port, socket));
        });
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
        let mut expected = vec![Expected::Greeting];
        if client.is_reader && !must_make {
            expected.push(Expected::Greeting);
        }
        if client.is_library() && !must_make {
            hello.extend(command(&[b"REQUEST", b"NOW"]));
            expected.push(Expected::Clock);
        }
        for expected in expected {
            client.asked.push_back(Asked {
                expected,
                since: self.now,
            });
        }
        if !hello.is_empty() {
            self.send_bytes(id, 0, hello);
        }
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
        self.wake_sender(Socket {
            connection: id,
            end: 1,
        });
        let client = &self.clients.all[at];
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
            for index in asked.operations() {
                self.clients.note_unknown(*index);
            }
        }
        self.lose_call(at);
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
