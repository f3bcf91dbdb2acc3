//! What a brick's loop has outside of itself, in the simulator.
//!
//! In:  bytes of the virtual network, reports of the log's workers, what other bricks and the member say, the clocks'
//! readings. Out: [`Act`]s, in order.
//!
//! A turn reads the network and notes what it does to the world; the world does that afterwards, one by one, and the process may
//! die between any two. Nothing in a turn depends on what it has done to the world in the same turn, but for batches that it
//! writes into its log itself: those are in the file at once, even if it dies before what it noted earlier.

use crate::log_work::LogWork;
use crate::network::{ConnectionId, Network, WINDOW_BYTES};
use brickyard_brick::{self as brick, Accepted, Event, Forward, LinkId, Port};
use brickyard_node::disk::{AppendOrder, ReadOrder};
use brickyard_node::io::{
    Ask, Clocks, Io, Log, LoopProgress, Ports, Queues, ReceiveOutcome, Sent, Sockets, ToLoop,
};
use brickyard_types::{BrickId, Instant, UnixMillis};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::time::Duration;

/// One receive takes so many bytes, or a few more.
const RECEIVE_BYTES: usize = 64 << 10;

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Socket {
    pub(crate) connection: ConnectionId,
    pub(crate) end: usize,
}

/// What a loop does to the world.
#[derive(Debug)]
pub(crate) enum Act {
    Append(AppendOrder),
    Read(ReadOrder),
    /// The workers and the other bricks may begin.
    Flush,
    Forward(BrickId, Vec<Forward>),
    Ask(Ask),
    Send(Socket, Vec<u8>),
    /// Something was read: there is room for more.
    Freed(Socket),
    Close(Socket),
    Publish(LoopProgress),
    Report(String),
    Stop(String),
}

/// The sockets of one kind, under the names that the brick has for them.
#[derive(Debug)]
pub(crate) struct Open<Id> {
    sockets: BTreeMap<Id, Socket>,
    /// Those whose last send did not take everything.
    blocked: BTreeSet<Id>,
    writable: Vec<Id>,
}

/// What is around one loop from turn to turn.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    clients: Open<brick::ConnectionId>,
    streams: Open<LinkId>,
    /// Sockets with something to read; some may not be the brick's yet.
    readable: BTreeSet<Socket>,
    /// Sockets whose other end is gone, and what had arrived before that.
    ended: BTreeMap<Socket, VecDeque<Vec<u8>>>,
    pub(crate) accepted: VecDeque<(Port, Socket)>,
    pub(crate) forwards: VecDeque<(BrickId, Vec<Forward>)>,
    pub(crate) messages: VecDeque<ToLoop<Socket>>,
    pub(crate) acts: VecDeque<Act>,
    is_open: bool,
}

/// See the module.
pub(crate) struct LoopIo<'a> {
    /// When the turn began, if it was held up since.
    pub(crate) began: Cell<Option<Instant>>,
    pub(crate) now: Instant,
    pub(crate) unix: UnixMillis,
    pub(crate) taken: Duration,
    pub(crate) network: &'a mut Network,
    pub(crate) log: &'a mut LogWork,
    /// Whoever writes would wait.
    pub(crate) disk_is_stuck: bool,
    pub(crate) outside: &'a mut Outside,
    /// What peers sent, from the first frame that the brick has not taken on; if anybody looks.
    pub(crate) seen: Option<Vec<Vec<u8>>>,
}

impl<Id> Default for Open<Id> {
    fn default() -> Self {
        Self {
            sockets: BTreeMap::new(),
            blocked: BTreeSet::new(),
            writable: Vec::new(),
        }
    }
}

impl<Id: Copy + Ord> Open<Id> {
    /// There is room again on a socket; whether a send waited for that.
    fn unblock(&mut self, socket: Socket) -> bool {
        let found = self.sockets.iter().find(|(_, it)| **it == socket);
        let blocked = found
            .map(|(id, _)| *id)
            .filter(|id| self.blocked.remove(id));
        self.writable.extend(blocked);
        blocked.is_some()
    }
}

impl Outside {
    /// There are bytes for the socket.
    pub(crate) fn on_arrived(&mut self, socket: Socket) {
        self.readable.insert(socket);
    }

    /// The socket's other end is gone; so much had arrived before that and was not read.
    pub(crate) fn on_ended(&mut self, socket: Socket, rest: VecDeque<Vec<u8>>) {
        self.ended.entry(socket).or_insert(rest);
        self.readable.insert(socket);
    }

    /// There is room again on a socket; whether a send waited for that.
    pub(crate) fn unblock(&mut self, socket: Socket) -> bool {
        self.clients.unblock(socket) || self.streams.unblock(socket)
    }

    /// Whether the turn has ordered an append that the log has not heard of.
    fn orders_append(&self) -> bool {
        let mut acts = self.acts.iter();
        acts.any(|act| matches!(act, Act::Append(_)))
    }

    /// How many messages wait for the next turn.
    pub(crate) fn waiting(&self) -> usize {
        self.accepted.len() + self.forwards.len() + self.messages.len()
    }
}

/// Names of one kind of sockets.
trait Name: Copy + Ord {
    const IS_PEER: bool;

    fn open(outside: &Outside) -> &Open<Self>;

    fn open_mut(outside: &mut Outside) -> &mut Open<Self>;
}

impl Name for brick::ConnectionId {
    const IS_PEER: bool = false;

    fn open(outside: &Outside) -> &Open<Self> {
        &outside.clients
    }

    fn open_mut(outside: &mut Outside) -> &mut Open<Self> {
        &mut outside.clients
    }
}

impl Name for LinkId {
    const IS_PEER: bool = true;

    fn open(outside: &Outside) -> &Open<Self> {
        &outside.streams
    }

    fn open_mut(outside: &mut Outside) -> &mut Open<Self> {
        &mut outside.streams
    }
}

impl LoopIo<'_> {
    fn insert_as<Id: Name>(&mut self, id: Id, socket: Socket) {
        let former = Id::open_mut(self.outside).sockets.insert(id, socket);
        assert!(former.is_none(), "a name is given to one socket at a time");
        let found = self.network.get(socket.connection);
        let is_there = found.is_some_and(|it| it.is_open[socket.end]);
        if !is_there {
            self.outside.on_ended(socket, VecDeque::new());
        }
    }

    /// What had arrived before the other end was gone, then the end.
    fn receive_last(&mut self, socket: Socket, input: &mut Vec<u8>) -> Option<ReceiveOutcome> {
        let rest = self.outside.ended.get_mut(&socket)?;
        if rest.is_empty() {
            return Some(ReceiveOutcome::End);
        }
        for bytes in rest.drain(..) {
            input.extend_from_slice(&bytes);
        }
        self.outside.readable.insert(socket);
        Some(ReceiveOutcome::Bytes)
    }

    fn receive_some(&mut self, socket: Socket, input: &mut Vec<u8>) -> ReceiveOutcome {
        let Some(connection) = self.network.get_mut(socket.connection) else {
            return ReceiveOutcome::Nothing;
        };
        let flow = &mut connection.flows[1 - socket.end];
        let mut received = 0;
        while received < RECEIVE_BYTES
            && let Some(bytes) = flow.arrived.pop_front()
        {
            received += bytes.len();
            input.extend_from_slice(&bytes);
        }
        flow.bytes -= received;
        if !flow.arrived.is_empty() {
            self.outside.readable.insert(socket);
        }
        if received == 0 {
            return ReceiveOutcome::Nothing;
        }
        self.outside.acts.push_back(Act::Freed(socket));
        ReceiveOutcome::Bytes
    }
}

impl Clocks for LoopIo<'_> {
    fn now(&self) -> Instant {
        self.began.take().unwrap_or(self.now)
    }

    fn unix(&self) -> UnixMillis {
        self.unix
    }

    fn taken(&self) -> Duration {
        self.taken
    }
}

impl<Id: Name> Sockets<Id> for LoopIo<'_> {
    fn has_readable(&self) -> bool {
        let mut sockets = Id::open(self.outside).sockets.values();
        sockets.any(|socket| self.outside.readable.contains(socket))
    }

    fn take_readable(&mut self, out: &mut Vec<Id>) {
        let outside = &*self.outside;
        let named = Id::open(outside).sockets.iter();
        let readable = named.filter(|(_, socket)| outside.readable.contains(*socket));
        let readable: Vec<(Id, Socket)> = readable.map(|(id, socket)| (*id, *socket)).collect();
        for (id, socket) in readable {
            self.outside.readable.remove(&socket);
            out.push(id);
        }
    }

    fn put_back(&mut self, ids: &[Id]) {
        for id in ids {
            if let Some(socket) = Id::open(self.outside).sockets.get(id).copied() {
                self.outside.readable.insert(socket);
            }
        }
    }

    fn on_resumed(&mut self, id: Id) {
        let Some(socket) = Id::open(self.outside).sockets.get(&id).copied() else {
            return;
        };
        let connection = self.network.get(socket.connection);
        let has_arrived = connection.is_some_and(|it| !it.flows[1 - socket.end].arrived.is_empty());
        if has_arrived || self.outside.ended.contains_key(&socket) {
            self.outside.readable.insert(socket);
        }
    }

    fn receive(&mut self, id: Id, input: &mut Vec<u8>) -> ReceiveOutcome {
        let Some(socket) = Id::open(self.outside).sockets.get(&id).copied() else {
            return ReceiveOutcome::Nothing;
        };
        let received = self
            .receive_last(socket, input)
            .unwrap_or_else(|| self.receive_some(socket, input));
        if Id::IS_PEER
            && let Some(seen) = &mut self.seen
        {
            seen.push(input.clone());
        }
        received
    }

    fn send(&mut self, id: Id, bytes: &[u8]) -> Sent {
        let open = Id::open_mut(self.outside);
        let Some(socket) = open.sockets.get(&id).copied() else {
            return Sent::Blocked;
        };
        if open.blocked.contains(&id) {
            return Sent::Blocked;
        }
        let Some(connection) = self.network.get_mut(socket.connection) else {
            // Nobody hears it.
            return Sent::Bytes(bytes.len());
        };
        let flow = &mut connection.flows[socket.end];
        let room = WINDOW_BYTES.saturating_sub(flow.bytes + flow.reserved);
        let sent = &bytes[..bytes.len().min(room)];
        if sent.len() < bytes.len() {
            open.blocked.insert(id);
        }
        if sent.is_empty() {
            return Sent::Blocked;
        }
        // So that no other send of the turn gets the same room.
        flow.reserved += sent.len();
        let act = Act::Send(socket, sent.to_vec());
        self.outside.acts.push_back(act);
        Sent::Bytes(sent.len())
    }

    fn poll_writable(&mut self) -> Option<Id> {
        Id::open_mut(self.outside).writable.pop()
    }

    fn contains(&self, id: Id) -> bool {
        Id::open(self.outside).sockets.contains_key(&id)
    }

    fn close(&mut self, id: Id) {
        let open = Id::open_mut(self.outside);
        open.blocked.remove(&id);
        if let Some(socket) = open.sockets.remove(&id) {
            self.outside.readable.remove(&socket);
            self.outside.ended.remove(&socket);
            self.outside.acts.push_back(Act::Close(socket));
        }
    }
}

impl Ports for LoopIo<'_> {
    type Connection = Socket;

    fn accept(&mut self) {}

    fn poll_accepted(&mut self) -> Option<(Port, Socket)> {
        if self.outside.is_open {
            self.outside.accepted.pop_front()
        } else {
            None
        }
    }

    fn describe(&self, port: Port, _: &Socket) -> Accepted {
        Accepted {
            port,
            peer: "client:1".to_owned(),
            local: "node:6379".to_owned(),
        }
    }

    fn insert(&mut self, id: brick::ConnectionId, socket: Socket) -> io::Result<()> {
        self.insert_as(id, socket);
        Ok(())
    }

    fn refuse(&mut self, socket: Socket, _refusal: &[u8]) {
        self.outside.readable.remove(&socket);
        self.outside.ended.remove(&socket);
        self.outside.acts.push_back(Act::Close(socket));
    }

    fn open_ports(&mut self) {
        self.outside.is_open = true;
    }

    fn close_ports(&mut self) {
        self.outside.is_open = false;
        while let Some((_, socket)) = self.outside.accepted.pop_front() {
            self.outside.acts.push_back(Act::Close(socket));
        }
    }

    fn has_connections(&self) -> bool {
        self.outside.is_open && !self.outside.accepted.is_empty()
    }
}

impl Log for LoopIo<'_> {
    fn append(&mut self, order: AppendOrder) {
        if let AppendOrder::Batch(batch) = &order
            && !self.disk_is_stuck
            && !self.outside.orders_append()
            && self.log.append_inline(batch, self.now)
        {
            return;
        }
        self.outside.acts.push_back(Act::Append(order));
    }

    fn has_inline_reports(&self) -> bool {
        self.log.has_inline_reports()
    }

    fn read(&mut self, order: ReadOrder) {
        self.outside.acts.push_back(Act::Read(order));
    }

    fn is_log_behind(&self) -> bool {
        false
    }

    fn take_reports(&mut self, handle: impl FnMut(Event<'_>)) {
        self.log.take_reports(handle);
    }
}

impl Queues for LoopIo<'_> {
    type Stream = Socket;

    fn forward(&mut self, to: BrickId, messages: Vec<Forward>) {
        self.outside.acts.push_back(Act::Forward(to, messages));
    }

    fn is_backed_up(&self) -> bool {
        false
    }

    fn poll_forward(&mut self) -> Option<(BrickId, Vec<Forward>)> {
        self.outside.forwards.pop_front()
    }

    fn ask(&mut self, ask: Ask) -> bool {
        self.outside.acts.push_back(Act::Ask(ask));
        true
    }

    fn poll_message(&mut self) -> Option<ToLoop<Socket>> {
        self.outside.messages.pop_front()
    }

    fn insert_stream(&mut self, link: LinkId, socket: Socket) -> io::Result<()> {
        self.insert_as(link, socket);
        Ok(())
    }

    fn publish(&mut self, progress: &LoopProgress) {
        self.outside.acts.push_back(Act::Publish(*progress));
    }
}

impl Io for LoopIo<'_> {
    fn flush(&mut self) {
        self.outside.acts.push_back(Act::Flush);
    }

    fn report(&mut self, what: &str) {
        self.outside.acts.push_back(Act::Report(what.to_owned()));
    }

    fn stop(&mut self, reason: &str) {
        self.outside.acts.push_back(Act::Stop(reason.to_owned()));
    }
}
