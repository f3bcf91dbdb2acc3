//! Who asks, what they ask, and what they were told.
//!
//! In:  bytes of nodes. Out: bytes for them, and a history that can be checked.
//!
//! A client speaks RESP at a node port or a brick's own, has one request under way or a few, gives up after a
//! while, and goes to another node when its connection is gone. What it does not know the outcome of is noted as
//! unknown. Some do as the client library does: they send again what has failed.
//!
//! ```text
//!  request ─▶ bytes   answer ◀─ replies   library: attempts of one call   seeker: the way to a partition   scan: whole tables, step by step
//!  keeper: reads from leases   follower: what changes of a table   export: whole partitions at one moment   watch: transactions that a change of a key forbids   state: what they know
//! ```

mod answer;
mod export;
mod follower;
mod keeper;
mod library;
mod mover;
mod outcome;
mod request;
mod scan;
mod seeker;
mod send;
pub(crate) mod state;
mod watch;
pub(crate) mod way;

use crate::check::check_wait;
use crate::clock::{MILLISECOND, SECOND};
use crate::loop_io::Socket;
use crate::network::{ConnectionId, End, Place, Use};
use crate::reply::{Reply, read_reply};
use crate::scenario::SLOT;
use crate::what::What;
use crate::world::World;
use answer::answer;
use follower::ask_to_follow;
use keeper::answer_recall;
use library::{go_on_calling, lose_call};
use request::ask;
pub(crate) use send::command;
use state::{Asked, Expected, Keeper, Library, PATIENCE};

impl World {
    /// A client does the next thing.
    pub(crate) fn client(&mut self, at: usize) {
        let now = self.now();
        self.clients.all[at].is_due = false;
        let client = &self.clients.all[at];
        let is_late = client
            .asked
            .front()
            .is_some_and(|it| now - it.since > PATIENCE);
        if is_late {
            self.give_up(at);
        }
        check_wait(self, at);
        go_on_calling(self, at);
        let client = &self.clients.all[at];
        let follows = client.pursuits.follower.is_some();
        let is_following = client
            .pursuits
            .follower
            .as_ref()
            .is_some_and(|it| !it.rests);
        let has_work = is_following || client.left > 0 || client.sweep.is_some();
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
            match follows {
                true => ask_to_follow(self, at),
                false => ask(self, at),
            }
        } else if self.cluster.ground.stage.is_calm && !has_work && !client.is_busy() {
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
        let now = self.now();
        let nodes = self.cluster.machines.len();
        let bricks = self.cluster.ground.shape.bricks as usize;
        let client = &mut self.clients.all[at];
        let told = client.library.as_mut().and_then(Library::take_redirect);
        let kept = client.keeper.as_mut().and_then(Keeper::take_redirect);
        let told = told.or(kept);
        let drawn = (client.random.index(nodes), client.random.index(bricks));
        let (node, brick, port) = told.unwrap_or((drawn.0, drawn.1, client.port));
        (client.place.node, client.place.brick) = (node, brick);
        let Some(process) = &self.cluster.machines[node].process else {
            return;
        };
        if process.bricks.is_empty() || self.cluster.machines[node].paused_until > self.now() {
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
        let id = self.cluster.network.connect(ends, Use::Client { brick });
        let socket = Socket {
            connection: id,
            end: 1,
        };
        self.cluster.give(node, brick, |outside| {
            outside.accepted.push_back((port, socket));
        });
        let client = &mut self.clients.all[at];
        client.is_in_table = self.clients.made[client.table];
        client.connection = Some(id);
        client.received.bytes.clear();
        client.asked.clear();
        client.pursuits.watch = None;
        let mut hello = Vec::new();
        let table = self.clients.tables[client.table].clone();
        let must_make = !self.clients.made[client.table];
        if must_make {
            let shape = &self.cluster.ground.shape.tables[client.table];
            let attributes = &shape.attributes;
            let text = format!(
                "TABLE CREATE {table} REPLICAS {} MEDIUM {} DURABILITY {} PARTITIONS {}",
                attributes.replicas, attributes.medium, attributes.durability, shape.partitions
            );
            let text = match attributes.maxmemory {
                Some(bytes) => format!("{text} MAXMEMORY {bytes}"),
                None => text,
            };
            let text = match attributes.leases.are_granted() {
                true => format!("{text} LEASES on"),
                false => text,
            };
            let text = match attributes.history {
                0 => text,
                bytes => format!("{text} HISTORY {bytes}"),
            };
            let text = match shape.hash {
                SLOT => text,
                hash => format!("{text} HASH {hash}"),
            };
            let words: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
            hello.extend(command(&words));
        } else {
            if client.keeper.is_some() {
                hello.extend(command(&[b"HELLO", b"3"]));
            }
            hello.extend(command(&[b"TABLE", b"USE", table.as_bytes()]));
            if client.is_reader {
                hello.extend(command(&[b"READONLY"]));
            }
        }
        let mut expected = vec![Expected::Greeting];
        let is_second = client.is_reader || client.keeper.is_some();
        if is_second && !must_make {
            expected.push(Expected::Greeting);
        }
        if client.is_library() && !must_make {
            hello.extend(command(&[b"REQUEST", b"NOW"]));
            expected.push(Expected::Clock);
        }
        for expected in expected {
            client.asked.push_back(Asked {
                expected,
                since: now,
            });
        }
        if !hello.is_empty() {
            self.cluster.send_bytes(id, 0, hello);
        }
    }

    /// A client has something to read.
    pub(crate) fn client_reads(&mut self, at: usize, id: ConnectionId) {
        let Some(connection) = self.cluster.network.get_mut(id) else {
            return;
        };
        let flow = &mut connection.flows[1];
        let client = &mut self.clients.all[at];
        for bytes in flow.arrived.drain(..) {
            flow.bytes -= bytes.len();
            client.received.bytes.extend_from_slice(&bytes);
        }
        self.cluster.wake_sender(Socket {
            connection: id,
            end: 1,
        });
        let client = &self.clients.all[at];
        if client.connection != Some(id) {
            return;
        }
        let mut used = 0;
        while let Some((reply, len)) = read_reply(&self.clients.all[at].received.bytes[used..]) {
            used += len;
            if let Reply::Push(words) = &reply {
                answer_recall(self, at, words);
                continue;
            }
            let Some(asked) = self.clients.all[at].asked.pop_front() else {
                return self.object(format!(
                    "client {at} is told {reply:?} without having asked"
                ));
            };
            self.clients.all[at].received.at = self.now();
            answer(self, at, &asked, &reply);
            if self.clients.all[at].connection != Some(id) {
                return;
            }
        }
        self.clients.all[at].received.bytes.drain(..used);
    }

    /// The client goes; what it asked for has an outcome that it does not know.
    pub(crate) fn leave(&mut self, at: usize) {
        self.forget_asked(at);
        if let Some(id) = self.clients.all[at].connection.take() {
            self.cluster.close_end(id, 0);
        }
        self.clients.all[at].received.bytes.clear();
    }

    fn forget_asked(&mut self, at: usize) {
        for asked in std::mem::take(&mut self.clients.all[at].asked) {
            for index in asked.operations() {
                self.clients.note_unknown(*index);
            }
        }
        lose_call(self, at);
    }

    fn give_up(&mut self, at: usize) {
        self.tell(|| format!("client {at} gives up"));
        self.count("gave up");
        if self.cluster.ground.stage.is_calm
            && self.now() - self.cluster.ground.stage.calm_at > 2 * PATIENCE
        {
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
            self.clients.all[at].received.bytes.clear();
        }
        self.client_soon(at);
    }
}
