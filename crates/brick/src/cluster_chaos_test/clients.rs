//! Clients that speak bytes, and remember what they asked and were told.

use super::history::{Histories, KEYS, Operation, Step};
use super::requests::{Asked, Named};
use super::world::{DEADLINE, World};
use crate::ConnectionId;
use crate::accepted::{Accepted, Port};
use brickyard_types::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// What a reply will be about.
#[derive(Debug)]
pub(super) enum Expected {
    /// Of no interest.
    Nothing,
    /// The outcome of a request with an id.
    Named(Named),
    /// The operation, in these objects' histories.
    Outcome(Vec<(String, usize)>),
}

#[derive(Debug)]
struct Connection {
    node: usize,
    incarnation: u64,
    id: ConnectionId,
    expected: VecDeque<(Expected, Instant)>,
    received: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Client {
    table: String,
    port: Port,
    is_reader: bool,
    /// It asks for nothing but what is.
    only_reads: bool,
    connection: Option<Connection>,
    asked: Asked,
}

/// Everybody who asks for something.
pub(super) struct Clients {
    clients: Vec<Client>,
    pub(super) histories: Histories,
    tables: Vec<String>,
    /// Of each table.
    pub(super) objects: usize,
    /// How many values there have been: each is another.
    pub(super) values: u32,
    /// Values that expire: when, of which object and key.
    pub(super) expiring: Vec<(u64, String, usize, String)>,
    pub(super) answered: usize,
    /// All is well and whole: nobody is refused.
    is_last: bool,
}

/// Objects of a table, where no scenario has others.
const OBJECTS: usize = 3;

impl Clients {
    pub(super) fn new(count: usize, tables: &[String], world: &mut World) -> Self {
        let clients = (0..count).map(|at| {
            let port = if world.one_in(3) {
                Port::Brick
            } else {
                Port::Node
            };
            Client {
                table: tables[at % tables.len()].clone(),
                port,
                is_reader: world.one_in(4),
                only_reads: false,
                connection: None,
                asked: Asked::default(),
            }
        });
        let mut clients: Vec<Client> = clients.collect();
        if let Some(scenario) = world.scenario {
            for client in &mut clients {
                client.only_reads = world.one_in(scenario.readers_one_in);
                client.is_reader |= client.only_reads;
            }
        }
        Self {
            clients,
            histories: Histories::new(),
            tables: tables.to_vec(),
            objects: world.scenario.map_or(OBJECTS, |it| it.objects),
            values: 0,
            expiring: Vec::new(),
            answered: 0,
            is_last: false,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.clients.len()
    }

    pub(super) fn asked(&mut self, at: usize) -> &mut Asked {
        &mut self.clients[at].asked
    }

    pub(super) fn table(&self, at: usize) -> &str {
        &self.clients[at].table
    }

    pub(super) fn only_reads(&self, at: usize) -> bool {
        self.clients[at].only_reads
    }

    /// A client expects a reply more.
    pub(super) fn expect(&mut self, at: usize, expected: Expected, world: &World) {
        if let Some(connection) = &mut self.clients[at].connection {
            connection.expected.push_back((expected, world.now));
        }
    }

    pub(super) fn is_connected(&self, at: usize) -> bool {
        self.clients[at].connection.is_some()
    }

    /// Whether a client has no room for another request.
    pub(super) fn is_waiting(&self, at: usize) -> bool {
        let connection = self.clients[at].connection.as_ref();
        connection.is_some_and(|it| it.expected.len() >= 2)
    }

    /// A client without a connection gets one, somewhere.
    pub(super) fn meet(&mut self, at: usize, world: &mut World) {
        self.drop_dead(at, world);
        if !self.is_connected(at) {
            let node = world.below(world.nodes.len());
            self.connect(at, node, world);
        }
    }

    fn connect(&mut self, at: usize, node: usize, world: &mut World) {
        let client = &mut self.clients[at];
        let Some(brick) = world.nodes[node].brick.as_mut() else {
            return;
        };
        let accepted = Accepted {
            port: client.port,
            peer: "127.0.0.1:5000".to_owned(),
            local: "127.0.0.1:6379".to_owned(),
        };
        let id = brick.accept(accepted).unwrap();
        let mut first = format!("TABLE USE {}\r\n", client.table);
        if client.is_reader {
            first += "READONLY\r\n";
        }
        brick.input(id).extend_from_slice(first.as_bytes());
        brick.on_received(id);
        let mut expected = VecDeque::from([(Expected::Nothing, world.now)]);
        if client.is_reader {
            expected.push_back((Expected::Nothing, world.now));
        }
        client.connection = Some(Connection {
            node,
            incarnation: world.nodes[node].incarnation.0,
            id,
            expected,
            received: Vec::new(),
        });
    }

    /// Every client asks for something now and then.
    pub(super) fn ask(&mut self, world: &mut World) {
        for at in 0..self.clients.len() {
            self.drop_dead(at, world);
            if world.one_in(20) && !world.is_calm {
                self.leave(at, world);
            }
            self.meet(at, world);
            let is_free = self.is_connected(at) && !self.is_waiting(at);
            if is_free && world.one_in(world.mood.asks) {
                self.ask_one(at, world);
            }
        }
        self.ask_again(world);
    }

    fn drop_dead(&mut self, at: usize, world: &World) {
        let is_dead = self.clients[at].connection.as_ref().is_some_and(|it| {
            !world.is_up(it.node) || world.nodes[it.node].incarnation.0 != it.incarnation
        });
        if is_dead {
            let connection = self.clients[at].connection.take();
            self.forget(at, connection);
        }
    }

    /// The connection is gone: what was asked with an id may be asked again.
    fn forget(&mut self, at: usize, connection: Option<Connection>) {
        for (expected, _) in connection.into_iter().flat_map(|it| it.expected) {
            if let Expected::Named(named) = expected {
                self.clients[at].asked.leave_open(named);
            }
        }
    }

    fn leave(&mut self, at: usize, world: &mut World) {
        if let Some(connection) = self.clients[at].connection.take()
            && let Some(brick) = world.nodes[connection.node].brick.as_mut()
        {
            brick.on_error(connection.id);
            while brick.poll_closed().is_some() {}
            self.forget(at, Some(connection));
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one call of a test's own")]
    pub(super) fn send(
        &mut self,
        at: usize,
        text: &str,
        objects: Vec<String>,
        steps: Vec<Step>,
        after: Option<usize>,
        is_transaction: bool,
        world: &mut World,
    ) {
        let ids = objects.into_iter().map(|object| {
            let id = self.note(&object, steps.clone(), after, is_transaction);
            (object, id)
        });
        let ids = ids.collect();
        self.put(at, text, Expected::Outcome(ids), world);
    }

    /// Notes that something was asked of an object; which of its operations that is.
    pub(super) fn note(
        &mut self,
        object: &str,
        steps: Vec<Step>,
        after: Option<usize>,
        is_transaction: bool,
    ) -> usize {
        let operation = Operation {
            steps,
            is_transaction,
            after,
            reply: None,
            is_refused: false,
            told: "nothing".to_owned(),
        };
        let history = self.histories.entry(object.to_owned()).or_default();
        history.send(operation)
    }

    /// The outcome of an operation is known.
    pub(super) fn resolve(&mut self, object: &str, operation: usize, text: &str) {
        let history = self.histories.entry(object.to_owned()).or_default();
        history.answer(operation, text);
    }

    /// Sends a line.
    pub(super) fn put(&mut self, at: usize, text: &str, expected: Expected, world: &mut World) {
        let Some(connection) = &mut self.clients[at].connection else {
            return;
        };
        let story = text.replace("\r\n", "; ");
        let node = connection.node;
        connection.expected.push_back((expected, world.now));
        if let Some(brick) = world.nodes[node].brick.as_mut() {
            let input = brick.input(connection.id);
            input.extend_from_slice(text.as_bytes());
            input.extend_from_slice(b"\r\n");
            brick.on_received(connection.id);
        }
        let port = self.clients[at].port;
        world.tell(format!("client {at} at node {node} ({port:?}): {story}"));
    }

    fn expire(&mut self, world: &World) {
        let now = world.unix.0;
        let due: Vec<_> = self.expiring.extract_if(.., |it| it.0 <= now).collect();
        for (_, object, key, value) in due {
            let operation = Operation {
                steps: vec![Step::Expire(key, value)],
                is_transaction: false,
                after: None,
                reply: None,
                is_refused: false,
                told: "nothing".to_owned(),
            };
            self.histories.entry(object).or_default().send(operation);
        }
    }

    /// Takes what has come; whoever waits for too long is told.
    pub(super) fn hear(&mut self, world: &mut World) {
        self.expire(world);
        for at in 0..self.clients.len() {
            self.drop_dead(at, world);
            let mut named_replies = Vec::new();
            let client = &mut self.clients[at];
            let Some(connection) = &mut client.connection else {
                continue;
            };
            let node = &mut world.nodes[connection.node];
            let pause = node.pause;
            if let Some(brick) = node.brick.as_mut() {
                let bytes = brick.output(connection.id).to_vec();
                brick.on_sent(connection.id, bytes.len());
                connection.received.extend_from_slice(&bytes);
            }
            while let Some(len) = reply_len(&connection.received) {
                let bytes: Vec<u8> = connection.received.drain(..len).collect();
                let text = String::from_utf8_lossy(&bytes).replace("\r\n", " ");
                let text = text.trim_end();
                let (expected, _) = connection.expected.pop_front().unwrap();
                if matches!(expected, Expected::Nothing) {
                    continue;
                }
                self.answered += usize::from(!text.starts_with('-'));
                world.tell(format!("client {at} is told {text}"));
                assert!(
                    !self.is_last || !text.starts_with('-'),
                    "all is well, and client {at} is told {text}"
                );
                let ids = match expected {
                    Expected::Nothing => continue,
                    Expected::Named(named) => {
                        named_replies.push((named, text.to_owned()));
                        continue;
                    }
                    Expected::Outcome(ids) => ids,
                };
                // At a brick's own port a whole table is what that brick has of it.
                let is_whole = client.port == Port::Node && !text.starts_with('-');
                let may_be_partly = ids.len() > 1 && !is_whole;
                for (object, id) in ids {
                    // Of a command on all partitions some may have been emptied.
                    let told = if may_be_partly {
                        "-UNKNOWNRESULT"
                    } else {
                        text
                    };
                    self.histories.entry(object).or_default().answer(id, told);
                }
            }
            let late = connection.expected.front().filter(|(_, since)| {
                pause == 0 && world.now - *since > DEADLINE + Duration::from_millis(700)
            });
            assert!(
                late.is_none(),
                "client {at} waits for {late:?} at node {}",
                connection.node
            );
            if connection.received.starts_with(b"-MOVED") {
                self.clients[at].connection = None;
            }
            for (named, text) in named_replies {
                self.hear_named(at, named, &text);
                if text.starts_with("-MOVED") {
                    self.leave(at, world);
                }
            }
        }
    }

    /// What the partition had is lost, and that is allowed.
    pub(super) fn lose(
        &mut self,
        world: &World,
        partition: brickyard_types::PartitionId,
        is_sure: bool,
    ) {
        let names = self.tables.clone();
        for name in names {
            let Some(table) = world.control.catalog.tables().find(|it| it.name == name) else {
                continue;
            };
            for object in (0..self.objects).map(|it| format!("{{{name}:{it}}}")) {
                if table.map.locate(format!("{object}0").as_bytes()).partition != partition {
                    continue;
                }
                let history = self.histories.entry(object).or_default();
                history.is_void |= !is_sure;
                history.send(Operation {
                    steps: vec![Step::Clear],
                    is_transaction: false,
                    after: None,
                    reply: None,
                    is_refused: false,
                    told: "the partition was lost".to_owned(),
                });
            }
        }
    }

    /// Asks for everything there is, at the end.
    pub(super) fn ask_all(&mut self, world: &mut World) {
        self.is_last = true;
        for at in 0..self.clients.len() {
            self.leave(at, world);
            self.clients[at].port = Port::Node;
            let node = at % world.nodes.len();
            self.connect(at, node, world);
            let table = self.clients[at].table.clone();
            for object in (0..self.objects).map(|it| format!("{{{table}:{it}}}")) {
                for key in 0..KEYS {
                    let step = Step::Get(key);
                    let text = render(&object, &step);
                    self.send(
                        at,
                        &text,
                        vec![object.clone()],
                        vec![step],
                        None,
                        false,
                        world,
                    );
                }
            }
        }
    }

    pub(super) fn are_done(&self) -> bool {
        self.clients.iter().all(|client| {
            let is_told = client.connection.as_ref();
            is_told.is_none_or(|it| it.expected.is_empty()) && client.asked.is_empty()
        })
    }
}

pub(super) fn render(object: &str, step: &Step) -> String {
    match step {
        Step::Get(key) => format!("GET {object}{key}"),
        Step::Set(key, value) => format!("SET {object}{key} {value}"),
        Step::Setnx(key, value) => format!("SETNX {object}{key} {value}"),
        Step::Getdel(key) => format!("GETDEL {object}{key}"),
        Step::Append(key, value) => format!("APPEND {object}{key} {value}"),
        Step::Incr(key) => format!("INCR {object}{key}"),
        Step::Del(key) => format!("DEL {object}{key}"),
        Step::Expire(..) | Step::Clear => unreachable!("nobody sends that"),
    }
}

/// Length of the first reply if it is whole.
fn reply_len(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")? + 2;
    let number = || {
        let text = std::str::from_utf8(&bytes[1..end - 2]).ok()?;
        text.parse::<i64>().ok()
    };
    match bytes.first()? {
        b'$' => {
            let len = number()?;
            let whole = if len < 0 { end } else { end + len as usize + 2 };
            (bytes.len() >= whole).then_some(whole)
        }
        b'*' => {
            let mut at = end;
            for _ in 0..number()?.max(0) {
                at += reply_len(&bytes[at..])?;
            }
            Some(at)
        }
        _ => Some(end),
    }
}
