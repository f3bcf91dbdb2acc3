//! What a brick's loop has outside of itself on a real machine: `mio`'s sockets, rings between threads, clocks.

use super::{BRICK_PORT, FIRST_STREAM, NODE_PORT, WAKER};
use crate::control::{ControlLink, ToControl, ToLoop};
use crate::disk::DiskLink;
use crate::handout::{self, Handout};
use crate::listener::Listener;
use crate::mesh::Endpoint;
use crate::reload::Current;
use crate::ring::Ring;
use crate::sockets::Sockets;
use crate::tls::LoopSocket;
use crate::wake::Waker;
use crate::{clock, fatal};
use brickyard_brick::{Accepted, ConnectionId, Event, Forward, LinkId, Port};
use brickyard_node::disk::{AppendOrder, ReadOrder};
use brickyard_node::io::{self as node, Ask, Io, LoopProgress, Receive, ReceiveOutcome, Sent};
use brickyard_tls::Session;
use brickyard_tls::rustls::ServerConfig;
use brickyard_types::{BrickId, Instant, UnixMillis};
use mio::net::TcpStream;
use mio::{Events, Poll, Token};
use rtrb::Consumer;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// See the module.
#[derive(Debug)]
pub(crate) struct LoopIo {
    pub(super) poll: Poll,
    wakers: Arc<[Waker]>,
    index: usize,
    disk: DiskLink,
    mesh: Endpoint<Vec<Forward>>,
    control: ControlLink,
    ports: ClientPorts,
    clients: Sockets,
    streams: Sockets,
    /// Makes one system call of many, where the system lets it.
    ring: Option<Ring>,
}

/// Where the clients of one loop come from.
#[derive(Debug)]
pub(crate) struct ClientPorts {
    /// The node port; brick 0 has it.
    pub(crate) node: Option<(Listener, Handout)>,
    pub(crate) brick: Option<Listener>,
    /// Connections of the node port that brick 0 handed over.
    pub(crate) handed: Option<Consumer<handout::Accepted>>,
    /// Connections that the process makes to itself.
    pub(crate) inside: Consumer<handout::Accepted>,
    /// What new connections go by, and how many of their handshakes may not be over.
    pub(crate) tls: Current<Arc<ServerConfig>>,
    pub(crate) handshakes_max: usize,
    /// Clients are accepted; until then they wait in the listeners' queues.
    pub(crate) is_open: bool,
    /// A turn's new connections, kept for its memory.
    pub(crate) accepted: Vec<(Port, handout::Accepted)>,
}

/// The ends of a loop's queues to other threads.
#[derive(Debug)]
pub(crate) struct Links {
    pub(crate) disk: DiskLink,
    pub(crate) mesh: Endpoint<Vec<Forward>>,
    pub(crate) control: ControlLink,
}

impl LoopIo {
    /// The surroundings of brick `index`, whose waker is the one of that number.
    pub(crate) fn new(
        index: usize,
        poll: Poll,
        wakers: Arc<[Waker]>,
        links: Links,
        ports: ClientPorts,
        ring: Option<Ring>,
    ) -> Self {
        let Links {
            disk,
            mesh,
            control,
        } = links;
        Self {
            poll,
            wakers,
            index,
            disk,
            mesh,
            control,
            ports,
            clients: Sockets::default(),
            streams: Sockets::from(FIRST_STREAM),
            ring,
        }
    }

    /// Has the ports take part in the poll.
    pub(super) fn register(&mut self) -> io::Result<()> {
        let registry = self.poll.registry();
        if let Some((listener, _)) = &mut self.ports.node {
            listener.register(registry, NODE_PORT)?;
        }
        if let Some(listener) = &mut self.ports.brick {
            listener.register(registry, BRICK_PORT)?;
        }
        Ok(())
    }

    pub(super) fn waker(&self) -> &Waker {
        &self.wakers[self.index]
    }

    /// The sockets' calls are made one by one from here on, if the kernel does not take batches any more.
    fn end_broken_ring(&mut self) {
        if self.ring.as_ref().is_some_and(Ring::is_broken) {
            self.ring = None;
            let brick = self.index;
            tracing::warn!(
                brick,
                "the kernel takes no more batches of calls: io_uring is given up"
            );
        }
    }

    /// Whether another thread has given the loop something.
    pub(super) fn has_messages(&self) -> bool {
        self.mesh.has_incoming()
            || self.disk.has_reports()
            || !self.control.from_control.is_empty()
            || self.ports.has_handed()
    }

    /// Takes note of what has become ready.
    pub(super) fn take_edges(&mut self, events: &Events) {
        for event in events {
            match event.token() {
                WAKER => {}
                NODE_PORT => {
                    if let Some((listener, _)) = &mut self.ports.node {
                        listener.on_readable();
                    }
                }
                BRICK_PORT => {
                    if let Some(listener) = &mut self.ports.brick {
                        listener.on_readable();
                    }
                }
                Token(token @ FIRST_STREAM..) => {
                    self.streams.on_edge((token - FIRST_STREAM) as u32, event);
                }
                Token(token) => self.clients.on_edge(token as u32, event),
            }
        }
        if self.clients.has_handshakes() {
            self.clients.end_late_handshakes(clock::now());
        }
    }
}

impl ClientPorts {
    /// TLS for a connection that was just accepted, if it is to have it.
    fn session(&self) -> io::Result<Option<Box<Session>>> {
        let session = self.tls.now().map(Session::accept).transpose();
        Ok(session.map_err(io::Error::other)?.map(Box::new))
    }

    fn has_handed(&self) -> bool {
        !self.inside.is_empty() || self.handed.as_ref().is_some_and(|it| !it.is_empty())
    }

    fn is_ready(&self) -> bool {
        let is_node_ready = self.node.as_ref().is_some_and(|(port, _)| port.is_ready());
        is_node_ready || self.brick.as_ref().is_some_and(Listener::is_ready)
    }

    fn accept(&mut self) {
        let accepted = &mut self.accepted;
        if let Some((listener, handout)) = self.node.as_mut().filter(|_| self.is_open) {
            listener.accept(|stream, peer| {
                if let Some(ours) = handout.give(from_outside(stream, peer)) {
                    accepted.push((Port::Node, ours));
                }
            });
        }
        if let Some(listener) = self.brick.as_mut().filter(|_| self.is_open) {
            listener.accept(|stream, peer| {
                accepted.push((Port::Brick, from_outside(stream, peer)));
            });
        }
        for handed in self.handed.iter_mut().chain([&mut self.inside]) {
            while let Ok(stream) = handed.pop() {
                accepted.push((Port::Node, stream));
            }
        }
    }
}

fn from_outside(stream: TcpStream, peer: SocketAddr) -> handout::Accepted {
    handout::Accepted {
        stream,
        peer,
        is_inside: false,
    }
}

impl node::Clocks for LoopIo {
    fn now(&self) -> Instant {
        clock::now()
    }

    fn unix(&self) -> UnixMillis {
        clock::unix()
    }

    fn taken(&self) -> Duration {
        clock::taken()
    }
}

impl node::Ports for LoopIo {
    type Connection = handout::Accepted;

    fn accept(&mut self) {
        self.ports.accept();
    }

    fn poll_accepted(&mut self) -> Option<(Port, Self::Connection)> {
        self.ports.accepted.pop()
    }

    fn describe(&self, port: Port, connection: &Self::Connection) -> Accepted {
        let local = connection.stream.local_addr();
        Accepted {
            port,
            peer: connection.peer.to_string(),
            local: local.map_or_else(|_| String::new(), |local| local.to_string()),
        }
    }

    fn insert(&mut self, id: ConnectionId, connection: Self::Connection) -> io::Result<()> {
        let session = match connection.is_inside {
            true => None,
            false => self.ports.session()?,
        };
        let has_session = session.is_some();
        let registry = self.poll.registry();
        self.clients
            .insert(registry, id.0, connection.stream, session)?;
        if has_session {
            let max = self.ports.handshakes_max;
            self.clients.expect_handshake(id.0, clock::now(), max);
        }
        Ok(())
    }

    fn refuse(&mut self, mut connection: Self::Connection, refusal: &[u8]) {
        // Best effort: what counts is that the connection is closed. Under TLS nothing can be said before the handshake.
        if connection.is_inside || self.ports.tls.is_plain() {
            drop(io::Write::write(&mut connection.stream, refusal));
        }
    }

    fn open_ports(&mut self) {
        self.ports.is_open = true;
    }

    fn close_ports(&mut self) {
        self.ports.node = None;
        self.ports.brick = None;
    }

    fn has_connections(&self) -> bool {
        self.ports.is_open && self.ports.is_ready()
    }
}

impl node::Sockets<ConnectionId> for LoopIo {
    fn has_readable(&self) -> bool {
        self.clients.has_readable()
    }

    fn take_readable(&mut self, out: &mut Vec<ConnectionId>) {
        self.clients.take_readable(out, ConnectionId);
    }

    fn put_back(&mut self, ids: &[ConnectionId]) {
        self.clients.put_back(ids.iter().map(|id| id.0));
    }

    fn on_resumed(&mut self, id: ConnectionId) {
        self.clients.on_resumed(id.0);
    }

    fn receive(&mut self, id: ConnectionId, input: &mut Vec<u8>) -> ReceiveOutcome {
        self.clients.receive(id.0, input)
    }

    fn receive_batch(&mut self, batch: &mut [Receive<ConnectionId>]) {
        let ring = self.ring.as_mut();
        self.clients.receive_batch(ring, batch, |id| id.0);
        self.end_broken_ring();
    }

    fn send(&mut self, id: ConnectionId, bytes: &[u8]) -> Sent {
        self.clients.send(id.0, bytes)
    }

    fn send_batch<'a>(
        &mut self,
        ids: &[ConnectionId],
        bytes: impl Fn(ConnectionId) -> &'a [u8],
        sent: &mut Vec<Sent>,
    ) {
        let ring = self.ring.as_mut();
        self.clients.send_batch(ring, (ids, |id| id.0), bytes, sent);
        self.end_broken_ring();
    }

    fn poll_writable(&mut self) -> Option<ConnectionId> {
        self.clients.poll_writable().map(ConnectionId)
    }

    fn contains(&self, id: ConnectionId) -> bool {
        self.clients.contains(id.0)
    }

    fn close(&mut self, id: ConnectionId) {
        self.clients.remove(self.poll.registry(), id.0);
    }
}

impl node::Sockets<LinkId> for LoopIo {
    fn has_readable(&self) -> bool {
        self.streams.has_readable()
    }

    fn take_readable(&mut self, out: &mut Vec<LinkId>) {
        self.streams.take_readable(out, LinkId);
    }

    fn put_back(&mut self, ids: &[LinkId]) {
        self.streams.put_back(ids.iter().map(|id| id.0));
    }

    fn on_resumed(&mut self, id: LinkId) {
        self.streams.on_resumed(id.0);
    }

    fn receive(&mut self, id: LinkId, input: &mut Vec<u8>) -> ReceiveOutcome {
        self.streams.receive(id.0, input)
    }

    fn send(&mut self, id: LinkId, bytes: &[u8]) -> Sent {
        self.streams.send(id.0, bytes)
    }

    fn poll_writable(&mut self) -> Option<LinkId> {
        self.streams.poll_writable().map(LinkId)
    }

    fn contains(&self, id: LinkId) -> bool {
        self.streams.contains(id.0)
    }

    fn close(&mut self, id: LinkId) {
        self.streams.remove(self.poll.registry(), id.0);
    }
}

impl node::Log for LoopIo {
    fn append(&mut self, order: AppendOrder) {
        self.disk.append(order);
    }

    fn has_inline_reports(&self) -> bool {
        self.disk.has_inline_reports()
    }

    fn read(&mut self, order: ReadOrder) {
        self.disk.read(order);
    }

    fn is_log_behind(&self) -> bool {
        self.disk.is_backed_up()
    }

    fn take_reports(&mut self, handle: impl FnMut(Event<'_>)) {
        self.disk.deliver(handle);
    }
}

impl node::Queues for LoopIo {
    type Stream = LoopSocket;

    fn forward(&mut self, to: BrickId, messages: Vec<Forward>) {
        self.mesh.send(to, messages);
    }

    fn is_backed_up(&self) -> bool {
        self.mesh.is_backed_up()
    }

    fn poll_forward(&mut self) -> Option<(BrickId, Vec<Forward>)> {
        self.mesh.poll_incoming()
    }

    fn ask(&mut self, ask: Ask) -> bool {
        let brick = self.index;
        let asked = self.control.to_control.try_send(ToControl { brick, ask });
        asked.is_ok()
    }

    fn poll_message(&mut self) -> Option<ToLoop> {
        self.control.from_control.pop().ok()
    }

    fn insert_stream(&mut self, link: LinkId, stream: Self::Stream) -> io::Result<()> {
        let LoopSocket { socket, session } = stream;
        let socket = TcpStream::from_std(socket);
        let registry = self.poll.registry();
        self.streams.insert(registry, link.0, socket, session)
    }

    fn publish(&mut self, progress: &LoopProgress) {
        self.control.publish(progress);
    }
}

impl Io for LoopIo {
    fn flush(&mut self) {
        self.disk.flush();
        self.mesh.flush();
    }

    fn report(&mut self, what: &str) {
        tracing::warn!(brick = self.index, "{what}");
    }

    fn stop(&mut self, reason: &str) {
        fatal::stop(self.index, reason);
    }
}
