//! Sockets of one loop, its clients' or its streams': one receive and one send a turn each, edge-triggered.
//!
//! In:  readiness from the poll, spare room of a connection's input, bytes of its output.
//! Out: how much went through, or why not.
//!
//! Several sockets' calls are one system call where there is a [`Ring`].
//!
//! Invariants:
//! - Each socket is registered once, for both directions, with edges; interest never changes, so a
//!   turn makes no `epoll_ctl` call.
//! - A socket that may still have bytes is latched as readable: an edge is never forgotten.
//! - Whether a socket has TLS is asked once a call; one that has takes its own way (`secure`) and none of it is in a ring's batch.
//! - A turn goes on with a few handshakes only (each takes as long as hundreds of requests), and one that takes too long is ended,
//!   or the oldest where too many are not over.

mod secure;

use crate::ring::{CALLS_MAX, Ring};
use brickyard_node::io::{Receive, ReceiveOutcome, Sent};
use brickyard_tls::Session;
use brickyard_types::Instant;
use mio::event::Event;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd as _;

/// Fewer calls are made one by one: a batch costs about as much as two of them.
const BATCH_MIN: usize = 3;

/// Room that a receive is given at first. One request of an interactive client is far below it.
const RECEIVE_BYTES_MIN: usize = 16 << 10;

/// Room that a receive is given when the client keeps filling what it has. More would only move what waits
/// from the socket into memory that is not in the processor's cache any more when its turn comes.
const RECEIVE_BYTES_MAX: usize = 64 << 10;

/// Room that a receive is given behind so much of a request that it must be a long one.
const RECEIVE_LONG_BYTES: usize = 256 << 10;

#[derive(Debug)]
struct Socket {
    stream: TcpStream,
    /// Its TLS, if it has it.
    session: Option<Box<Session>>,
    /// Until when its handshake may take, as long as it is not over.
    handshake_until: Option<Instant>,
    /// It took longer.
    is_late: bool,
    /// There may be bytes to receive.
    is_readable: bool,
    /// The other side closed: read until the end, since no further edge will come.
    is_ending: bool,
    /// It is in the list of sockets to receive from.
    is_listed: bool,
    /// The last send did not take everything.
    is_blocked: bool,
    /// Room that the next receive is given.
    appetite: usize,
}

impl Socket {
    /// Gives the next receive room.
    fn make_room(&self, input: &mut Vec<u8>) {
        if input.len() >= RECEIVE_BYTES_MAX {
            input.reserve(RECEIVE_LONG_BYTES);
        } else if input.capacity() - input.len() < self.appetite {
            // A client that is always ahead must not double its buffer again and again.
            input.reserve_exact(self.appetite);
        }
    }

    /// A send was given so many bytes.
    fn on_sent(&mut self, len: usize, result: Result<usize, Errno>) -> Sent {
        match result {
            Ok(sent) => {
                self.is_blocked = sent < len;
                Sent::Bytes(sent)
            }
            Err(Errno::AGAIN) => {
                self.is_blocked = true;
                Sent::Blocked
            }
            Err(error) => Sent::Broken(error.into()),
        }
    }
}

/// The sockets of one loop, by connection.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    /// What the first one is called in the poll.
    first_token: usize,
    sockets: Vec<Option<Socket>>,
    /// Connections to receive from in the next turn.
    readable: Vec<u32>,
    /// Connections whose sends were blocked and can go on.
    writable: Vec<u32>,
    /// What came by a socket under TLS, until it is decrypted in the same call.
    encrypted: Vec<u8>,
    /// Handshakes in the order in which they began, some of which are over; and how many are not.
    handshakes: VecDeque<(Instant, u32)>,
    unfinished: usize,
    /// Further handshakes that this turn goes on with.
    handshakes_left: usize,
}

impl Sockets {
    /// Sockets that are called by numbers from that one on in the poll.
    pub(crate) fn from(first_token: usize) -> Self {
        Self {
            first_token,
            ..Self::default()
        }
    }

    /// Whether there is a connection of that number.
    pub(crate) fn contains(&self, id: u32) -> bool {
        self.sockets.get(id as usize).is_some_and(Option::is_some)
    }

    /// Takes over an accepted stream as connection `id`.
    pub(crate) fn insert(
        &mut self,
        registry: &Registry,
        id: u32,
        mut stream: TcpStream,
        session: Option<Box<Session>>,
    ) -> io::Result<()> {
        let token = Token(self.first_token + id as usize);
        registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        let index = id as usize;
        if self.sockets.len() <= index {
            self.sockets.resize_with(index + 1, || None);
        }
        // What its session has taken already makes no edge.
        let is_readable = session.is_some();
        self.sockets[index] = Some(Socket {
            stream,
            session,
            handshake_until: None,
            is_late: false,
            is_readable,
            is_ending: false,
            is_listed: false,
            is_blocked: false,
            appetite: RECEIVE_BYTES_MIN,
        });
        if is_readable {
            self.list(id);
        }
        Ok(())
    }

    /// Closes a connection's socket.
    pub(crate) fn remove(&mut self, registry: &Registry, id: u32) {
        if let Some(mut socket) = self.sockets.get_mut(id as usize).and_then(Option::take) {
            self.unfinished -= usize::from(socket.handshake_until.is_some());
            socket.end_session();
            // Closing the descriptor removes it from the poll too; this only keeps mio's books.
            drop(registry.deregister(&mut socket.stream));
        }
    }

    /// Takes note of an edge.
    pub(crate) fn on_edge(&mut self, id: u32, event: &Event) {
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            self.on_readable(id, event.is_read_closed() || event.is_error());
        }
        if event.is_writable() {
            self.on_writable(id);
        }
    }

    fn on_readable(&mut self, id: u32, is_ending: bool) {
        if let Some(socket) = self.get(id) {
            socket.is_readable = true;
            socket.is_ending |= is_ending;
            self.list(id);
        }
    }

    fn on_writable(&mut self, id: u32) {
        let Some(socket) = self.get(id) else { return };
        if std::mem::take(&mut socket.is_blocked) && socket.flush_session() {
            self.writable.push(id);
        }
    }

    /// A connection whose send was blocked and can go on.
    pub(crate) fn poll_writable(&mut self) -> Option<u32> {
        self.writable.pop()
    }

    /// The brick wants input of this connection again.
    pub(crate) fn on_resumed(&mut self, id: u32) {
        if self.get(id).is_some_and(|socket| socket.is_readable) {
            self.list(id);
        }
    }

    /// Whether some socket is known to have bytes: the loop must not sleep.
    pub(crate) fn has_readable(&self) -> bool {
        !self.readable.is_empty()
    }

    /// Moves the connections to receive from now to the end of `out`.
    pub(crate) fn take_readable<Id>(&mut self, out: &mut Vec<Id>, name: impl Fn(u32) -> Id) {
        self.handshakes_left = secure::HANDSHAKES_A_TURN;
        for id in self.readable.drain(..) {
            if let Some(Some(socket)) = self.sockets.get_mut(id as usize) {
                socket.is_listed = false;
            }
            out.push(name(id));
        }
    }

    /// Connections that were taken by [`Self::take_readable`], and are to come first the next time.
    pub(crate) fn put_back(&mut self, ids: impl Iterator<Item = u32>) {
        let sockets = &mut self.sockets;
        let listed = ids.filter(|id| {
            // One may have become readable again meanwhile.
            let socket = sockets.get_mut(*id as usize).and_then(Option::as_mut);
            socket.is_some_and(|socket| !std::mem::replace(&mut socket.is_listed, true))
        });
        self.readable.splice(0..0, listed);
    }

    /// Receives once, appending to `input`.
    pub(crate) fn receive(&mut self, id: u32, input: &mut Vec<u8>) -> ReceiveOutcome {
        let Some(socket) = self.get(id) else {
            return ReceiveOutcome::Nothing;
        };
        if socket.session.is_some() {
            return self.receive_secure(id, input);
        }
        socket.make_room(input);
        let room = input.capacity() - input.len();
        let result = loop {
            let spare = rustix::buffer::spare_capacity(input);
            match rustix::net::recv(&socket.stream, spare, RecvFlags::empty()) {
                Err(Errno::INTR) => {}
                result => break result.map(|(got, _)| got),
            }
        };
        self.on_received(id, room, result)
    }

    /// Receives once from each socket of a batch, as [`Self::receive`] does; `number` says which it is.
    pub(crate) fn receive_batch<Id: Copy>(
        &mut self,
        mut ring: Option<&mut Ring>,
        batch: &mut [Receive<Id>],
        number: impl Fn(Id) -> u32,
    ) {
        for part in batch.chunks_mut(CALLS_MAX) {
            let Some(ring) = usable(&mut ring, part.len()) else {
                for it in part {
                    it.outcome = self.receive(number(it.id), &mut it.input);
                }
                continue;
            };
            for it in &mut *part {
                if let Some(socket) = self.get(number(it.id)).filter(|it| it.session.is_none()) {
                    socket.make_room(&mut it.input);
                }
            }
            let sockets = &self.sockets;
            let open = part.iter_mut().filter_map(|it| {
                let socket = sockets.get(number(it.id) as usize)?.as_ref()?;
                if socket.session.is_some() {
                    return None;
                }
                Some((socket.stream.as_fd(), &mut it.input))
            });
            ring.receive(open);
            let mut results = ring.results();
            for it in part {
                let id = number(it.id);
                if self.get(id).is_some_and(|it| it.session.is_some()) {
                    it.outcome = self.receive_secure(id, &mut it.input);
                    continue;
                }
                it.outcome = match self.contains(id).then(|| results.next()).flatten() {
                    Some(Some(result)) => {
                        let left = it.input.capacity() - it.input.len();
                        self.on_received(id, left + result.unwrap_or(0), result)
                    }
                    // It goes on by itself.
                    Some(None) => self.receive(id, &mut it.input),
                    None => ReceiveOutcome::Nothing,
                };
            }
        }
    }

    /// A receive was given so much room.
    fn on_received(
        &mut self,
        id: u32,
        room: usize,
        result: Result<usize, Errno>,
    ) -> ReceiveOutcome {
        let Some(socket) = self.get(id) else {
            return ReceiveOutcome::Nothing;
        };
        match result {
            Ok(0) => {
                socket.is_readable = false;
                ReceiveOutcome::End
            }
            Ok(got) => {
                // Fewer bytes than there was room for: the socket is drained (epoll(7)), unless
                // the end of the stream stands behind them, for which there is no second edge.
                let is_full = got == room;
                socket.is_readable = is_full || socket.is_ending;
                if is_full {
                    socket.appetite = (socket.appetite * 4).min(RECEIVE_BYTES_MAX);
                } else if got < socket.appetite / 4 {
                    socket.appetite = (socket.appetite / 2).max(RECEIVE_BYTES_MIN);
                }
                if socket.is_readable {
                    self.list(id);
                }
                ReceiveOutcome::Bytes
            }
            Err(Errno::AGAIN) => {
                socket.is_readable = false;
                ReceiveOutcome::Nothing
            }
            Err(error) => {
                socket.is_readable = false;
                ReceiveOutcome::Broken(error.into())
            }
        }
    }

    /// Sends once.
    pub(crate) fn send(&mut self, id: u32, bytes: &[u8]) -> Sent {
        let Some(socket) = self.get(id) else {
            return Sent::Blocked;
        };
        if socket.is_blocked {
            return Sent::Blocked;
        }
        if socket.session.is_some() {
            return socket.send_secure(bytes);
        }
        loop {
            match rustix::net::send(&socket.stream, bytes, SendFlags::NOSIGNAL) {
                Err(Errno::INTR) => {}
                result => return socket.on_sent(bytes.len(), result),
            }
        }
    }

    /// Sends once to each of some sockets, no two of which are the same, as [`Self::send`] does.
    pub(crate) fn send_batch<'a, Id: Copy>(
        &mut self,
        mut ring: Option<&mut Ring>,
        (ids, number): (&[Id], impl Fn(Id) -> u32),
        bytes: impl Fn(Id) -> &'a [u8],
        sent: &mut Vec<Sent>,
    ) {
        for part in ids.chunks(CALLS_MAX) {
            let Some(ring) = usable(&mut ring, part.len()) else {
                sent.extend(part.iter().map(|&id| self.send(number(id), bytes(id))));
                continue;
            };
            let can_send = |socket: &&Socket| !socket.is_blocked && socket.session.is_none();
            let sockets = &self.sockets;
            let open = part.iter().filter_map(|&id| {
                let socket = sockets.get(number(id) as usize)?.as_ref();
                Some((socket.filter(can_send)?.stream.as_fd(), bytes(id)))
            });
            ring.send(open);
            let mut results = ring.results();
            for &id in part {
                if self.get(number(id)).is_some_and(|it| it.session.is_some()) {
                    sent.push(self.send(number(id), bytes(id)));
                    continue;
                }
                let can_send = self
                    .get(number(id))
                    .as_deref()
                    .is_some_and(|it| !it.is_blocked);
                let result = can_send.then(|| results.next()).flatten();
                sent.push(match (result, self.get(number(id))) {
                    (Some(Some(result)), Some(socket)) => socket.on_sent(bytes(id).len(), result),
                    (Some(None), _) => self.send(number(id), bytes(id)),
                    _ => Sent::Blocked,
                });
            }
        }
    }

    fn get(&mut self, id: u32) -> Option<&mut Socket> {
        self.sockets.get_mut(id as usize)?.as_mut()
    }

    fn list(&mut self, id: u32) {
        if let Some(Some(socket)) = self.sockets.get_mut(id as usize)
            && !socket.is_listed
        {
            socket.is_listed = true;
            self.readable.push(id);
        }
    }
}

/// The ring, if there is one and so many calls are worth a batch.
fn usable<'a>(ring: &'a mut Option<&mut Ring>, calls: usize) -> Option<&'a mut Ring> {
    let ring = ring.as_deref_mut()?;
    (calls >= BATCH_MIN && !ring.is_broken()).then_some(ring)
}

#[cfg(test)]
#[path = "sockets_test.rs"]
mod sockets_test;
