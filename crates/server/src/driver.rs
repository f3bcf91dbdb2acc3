//! A brick's loop: the brick is a state machine, this gives it the world.
//!
//! In:  sockets' edges, reports of the disk threads, other bricks' messages, the control thread.
//! Out: bytes to clients, orders to the disk threads, messages to other bricks.
//!
//! One turn: poll; receive once from every readable socket; pass events on; run the brick over all of
//! it as one batch; carry out its effects; send once to every client that has replies.
//!
//! Invariants:
//! - Nothing here waits but the poll, and the poll does not while there is something to do.
//! - A turn allocates nothing of its own: lists are kept and cleared.
//! - Effects are carried out to the last before the next event is handled, so that the brick's
//!   batches are stamped with what it knew (`disk`).
//!
//! Not here: what requests do (`brick`), accepting (`listener`), queues (`mesh`, `disk`, `control`).

use crate::clock;
use crate::control::{Ask, ControlLink, ToControl, ToLoop};
use crate::disk::DiskLink;
use crate::fatal;
use crate::handout::{self, Handout};
use crate::listener::Listener;
use crate::mesh::Endpoint;
use crate::peer::loop_side::{FIRST_TOKEN, Streams};
use crate::sockets::{Received, Sent, Sockets};
use crate::wake::Waker;
use brickyard_brick::{Accepted, Brick, ConnectionId, ControlReply, Effect, Event, Forward, Port};
use brickyard_routing::Seat;
use brickyard_types::Instant;
use mio::{Events, Poll, Token};
use rtrb::Consumer;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Names the waker in the poll. Connections have the numbers from 0.
pub(crate) const WAKER: Token = Token(usize::MAX);
const NODE_PORT: Token = Token(usize::MAX - 1);
const BRICK_PORT: Token = Token(usize::MAX - 2);

/// Edges taken in one poll; further ones come with the next.
const EVENTS_MAX: usize = 1024;

/// The brick hears of the time at least this often.
const TICK: Duration = Duration::from_millis(100);

/// Batches of requests that one turn executes at most, so that events and replies do not wait for
/// all that many clients have sent.
const RUNS_MAX: usize = 16;

/// Bytes that one turn receives from clients, a socket's more or less. What a turn handles should still be in the
/// processor's cache when it is executed, appended and answered, however much is waiting in the sockets.
const TURN_BYTES: usize = 512 << 10;

/// How soon a full queue is looked at again: nobody says when it has room.
const RETRY: Duration = Duration::from_millis(1);

/// Everything one loop is made of.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) brick: Brick,
    pub(crate) poll: Poll,
    pub(crate) wakers: Arc<[Waker]>,
    pub(crate) index: usize,
    pub(crate) disk: DiskLink,
    pub(crate) mesh: Endpoint<Vec<Forward>>,
    pub(crate) control: ControlLink,
    /// The node port; brick 0 has it.
    pub(crate) node_port: Option<(Listener, Handout)>,
    pub(crate) brick_port: Option<Listener>,
    /// Connections of the node port that brick 0 handed over.
    pub(crate) handed: Option<Consumer<handout::Accepted>>,
    /// Input of one connection past which it is closed: a request may not be longer.
    pub(crate) request_bytes_max: usize,
}

/// Where a loop is on its way to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Serving,
    /// Takes no more work.
    Draining,
    Ended,
}

/// A running loop.
#[derive(Debug)]
struct Loop {
    driver: Driver,
    sockets: Sockets,
    /// Streams to and from bricks of other nodes.
    streams: Streams,
    phase: Phase,
    /// Clients are accepted; until then they wait in the listeners' queues.
    is_open: bool,
    ticked: Instant,
    /// The brick cannot go on.
    stop_reason: Option<String>,
    // Lists of one turn, kept for their memory.
    readable: Vec<u32>,
    writable: Vec<u32>,
    accepted: Vec<(Port, handout::Accepted)>,
}

impl Driver {
    /// Serves until the control thread says [`ToLoop::Exit`].
    ///
    /// # Errors
    /// The operating system refused to poll; without that a loop is nothing.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let registry = self.poll.registry();
        if let Some((listener, _)) = &mut self.node_port {
            listener.register(registry, NODE_PORT)?;
        }
        if let Some(listener) = &mut self.brick_port {
            listener.register(registry, BRICK_PORT)?;
        }
        let mut events = Events::with_capacity(EVENTS_MAX);
        let mut this = Loop {
            driver: self,
            sockets: Sockets::default(),
            streams: Streams::default(),
            phase: Phase::Serving,
            is_open: false,
            ticked: Instant(0),
            stop_reason: None,
            readable: Vec::new(),
            writable: Vec::new(),
            accepted: Vec::new(),
        };
        while this.phase != Phase::Ended {
            this.turn(&mut events)?;
        }
        Ok(())
    }
}

impl Loop {
    fn turn(&mut self, events: &mut Events) -> io::Result<()> {
        self.wait(events)?;
        self.begin();
        self.take_edges(events);
        self.take_connections();
        self.receive();
        self.take_messages();
        self.receive_streams();
        self.run_brick();
        self.carry_out();
        self.send();
        if let Some(reason) = &self.stop_reason {
            // Only now: the clients were just told what is known of their writes.
            fatal::stop(self.driver.index, reason);
        }
        self.close();
        self.end();
        Ok(())
    }

    /// Executes what was received, in as many batches as a turn may have: one append and one send
    /// for all of them.
    fn run_brick(&mut self) {
        let brick = &mut self.driver.brick;
        let mut started = clock::now();
        for _ in 0..RUNS_MAX {
            // PROTOCOL rule 22: the lease is looked at after the batch's last byte was read.
            brick.begin_batch(started);
            brick.run();
            let ended = clock::now();
            brick.on_ran(ended - started);
            started = ended;
            if !brick.has_work() {
                break;
            }
        }
    }

    /// Polls, without waiting if there is something to do already.
    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let waker = &self.driver.wakers[self.driver.index];
        let mut timeout = self.timeout();
        if !timeout.is_zero() {
            waker.fall_asleep();
            // Only after that: a message pushed before is seen here, a later one wakes.
            if self.has_messages() {
                timeout = Duration::ZERO;
            }
        }
        let polled = self.driver.poll.poll(events, Some(timeout));
        self.driver.wakers[self.driver.index].wake_up();
        match polled {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            polled => polled,
        }
    }

    fn timeout(&self) -> Duration {
        let driver = &self.driver;
        let is_backed_up = driver.mesh.is_backed_up();
        let can_receive = self.phase == Phase::Serving && !is_backed_up;
        let accepts = driver
            .node_port
            .as_ref()
            .is_some_and(|(port, _)| port.is_ready())
            || driver.brick_port.as_ref().is_some_and(Listener::is_ready);
        if driver.brick.has_work()
            || (can_receive && self.sockets.has_readable())
            || self.streams.has_readable()
            || (accepts && self.is_open)
        {
            return Duration::ZERO;
        }
        if is_backed_up || driver.disk.is_backed_up() {
            return RETRY;
        }
        match driver.brick.next_deadline() {
            Some(deadline) => (deadline - clock::now()).min(TICK),
            None => TICK,
        }
    }

    fn has_messages(&self) -> bool {
        let driver = &self.driver;
        driver.mesh.has_incoming()
            || driver.disk.has_reports()
            || !driver.control.from_control.is_empty()
            || driver
                .handed
                .as_ref()
                .is_some_and(|handed| !handed.is_empty())
    }

    fn begin(&mut self) {
        let now = clock::now();
        self.driver.brick.begin_turn(now, clock::unix());
        if now - self.ticked >= TICK {
            self.ticked = now;
            self.driver.brick.note_taken(clock::taken());
            self.driver.brick.handle(Event::Tick);
        }
    }

    fn take_edges(&mut self, events: &Events) {
        for event in events {
            match event.token() {
                WAKER => {}
                NODE_PORT => {
                    if let Some((listener, _)) = &mut self.driver.node_port {
                        listener.on_readable();
                    }
                }
                BRICK_PORT => {
                    if let Some(listener) = &mut self.driver.brick_port {
                        listener.on_readable();
                    }
                }
                token @ Token(FIRST_TOKEN..) => self.streams.on_edge(token, event),
                Token(id) => {
                    let id = id as u32;
                    if event.is_readable() || event.is_read_closed() || event.is_error() {
                        let is_ending = event.is_read_closed() || event.is_error();
                        self.sockets.on_readable(id, is_ending);
                    }
                    if event.is_writable() && self.sockets.on_writable(id) {
                        self.writable.push(id);
                    }
                }
            }
        }
    }

    fn take_connections(&mut self) {
        let Driver {
            node_port,
            brick_port,
            handed,
            ..
        } = &mut self.driver;
        let accepted = &mut self.accepted;
        if let Some((listener, handout)) = node_port.as_mut().filter(|_| self.is_open) {
            listener.accept(|stream, peer| {
                if let Some(ours) = handout.give((stream, peer)) {
                    accepted.push((Port::Node, ours));
                }
            });
        }
        if let Some(listener) = brick_port.as_mut().filter(|_| self.is_open) {
            listener.accept(|stream, peer| accepted.push((Port::Brick, (stream, peer))));
        }
        if let Some(handed) = handed {
            while let Ok(stream) = handed.pop() {
                accepted.push((Port::Node, stream));
            }
        }
        while let Some((port, accepted)) = self.accepted.pop() {
            self.take_connection(port, accepted);
        }
    }

    fn take_connection(&mut self, port: Port, (mut stream, peer): handout::Accepted) {
        let local = stream
            .local_addr()
            .map_or_else(|_| String::new(), |local| local.to_string());
        let accepted = Accepted {
            port,
            peer: peer.to_string(),
            local,
        };
        match self.driver.brick.accept(accepted) {
            Ok(id) => {
                let registry = self.driver.poll.registry();
                if let Err(error) = self.sockets.insert(registry, id.0, stream) {
                    tracing::warn!(%error, %peer, "a connection cannot be polled");
                    self.driver.brick.on_error(id);
                }
            }
            // Best effort: what counts is that the connection is closed.
            Err(refusal) => drop(io::Write::write(&mut stream, &refusal)),
        }
    }

    fn receive(&mut self) {
        // A full queue to a neighbour, or the end: take no more work than there is.
        if self.phase != Phase::Serving || self.driver.mesh.is_backed_up() {
            return;
        }
        let mut readable = std::mem::take(&mut self.readable);
        self.sockets.take_readable(&mut readable);
        let mut ids = readable.drain(..);
        let mut received = 0;
        while received < TURN_BYTES
            && let Some(id) = ids.next().map(ConnectionId)
        {
            let brick = &mut self.driver.brick;
            // It stays latched, and comes back by poll_resumed().
            if !brick.wants_input(id) {
                continue;
            }
            let input = brick.input(id);
            let before = input.len();
            let outcome = self.sockets.receive(id.0, input);
            received += input.len() - before;
            match outcome {
                Received::Bytes if input.len() > self.driver.request_bytes_max => {
                    self.refuse_request(id);
                }
                Received::Bytes => brick.on_received(id),
                Received::Nothing => {}
                Received::End => brick.on_end_of_stream(id),
                Received::Broken(error) => {
                    tracing::debug!(connection = id.0, %error, "receive failed");
                    brick.on_error(id);
                }
            }
        }
        // Their turn comes first next time.
        self.sockets.put_back(ids.as_slice());
        drop(ids);
        self.readable = readable;
    }

    /// What peers sent: votes and records of work that is half done go ahead of new work, so that they are
    /// taken whatever else waits, and until the end.
    fn receive_streams(&mut self) {
        let Driver { brick, poll, .. } = &mut self.driver;
        self.streams.receive(poll.registry(), brick);
    }

    fn refuse_request(&mut self, id: ConnectionId) {
        const REFUSAL: &[u8] = b"-ERR Protocol error: request is larger than request_bytes_max\r\n";
        tracing::warn!(
            connection = id.0,
            request_bytes_max = self.driver.request_bytes_max,
            "a request is too large: its connection is closed"
        );
        self.sockets.send(id.0, REFUSAL);
        self.driver.brick.on_error(id);
    }

    fn take_messages(&mut self) {
        let Driver { brick, disk, .. } = &mut self.driver;
        let mut has_moves = false;
        disk.deliver(|event| {
            has_moves |= matches!(event, Event::SegmentChunk { .. });
            brick.handle(event);
        });
        if has_moves {
            // What the cleaner moves gets a batch of its own: a full disk takes that one, and would
            // refuse it together with clients' writes.
            self.carry_out();
        }
        let Driver {
            brick,
            mesh,
            control,
            node_port,
            brick_port,
            poll,
            ..
        } = &mut self.driver;
        while let Some((from, messages)) = mesh.poll_incoming() {
            brick.handle(Event::Forward(from, messages));
        }
        while let Ok(message) = control.from_control.pop() {
            match message {
                ToLoop::Brick(message) => brick.handle(message.into_event()),
                ToLoop::Peer(stream) => self.streams.open(poll.registry(), brick, stream),
                ToLoop::Open => self.is_open = true,
                ToLoop::Drain if self.phase == Phase::Serving => {
                    self.phase = Phase::Draining;
                    brick.begin_shutdown();
                    // Closed, so that clients are refused at once and try elsewhere.
                    *node_port = None;
                    *brick_port = None;
                }
                ToLoop::Drain => {}
                ToLoop::Exit => self.phase = Phase::Ended,
            }
        }
    }

    fn carry_out(&mut self) {
        while let Some(effect) = self.driver.brick.poll_effect() {
            match effect {
                Effect::Append(append) => self.driver.disk.append(append),
                Effect::Read(read) => self.driver.disk.read(read),
                Effect::Forward(to, messages) => self.driver.mesh.send(to, messages),
                Effect::Control(token, request) => self.ask_control(token, request),
                Effect::Dial(peer) => self.dial(peer),
                Effect::ClosePeer(link, reason) => {
                    let Driver { brick, poll, .. } = &mut self.driver;
                    self.streams.close(poll.registry(), brick, link, &reason);
                }
                Effect::Report(what) => tracing::warn!(brick = self.driver.index, "{what}"),
                Effect::ReadSegment {
                    segment,
                    from,
                    bytes_max,
                } => {
                    self.driver.disk.read_segment(segment, from, bytes_max);
                }
                Effect::DeleteSegment(segment) => self.driver.disk.delete_segment(segment),
                Effect::Checkpoint(token) => self.driver.disk.checkpoint(token),
                Effect::Stop(reason) => self.stop_reason = Some(reason),
            }
        }
        self.driver.disk.flush();
        self.driver.mesh.flush();
    }

    fn ask_control(&mut self, token: u64, request: brickyard_brick::ControlRequest) {
        let asked = ToControl {
            brick: self.driver.index,
            ask: Ask::Request(token, request),
        };
        if self.driver.control.to_control.try_send(asked).is_err() {
            let busy = "BUSY the node is busy with other such requests; try again".to_owned();
            self.driver
                .brick
                .handle(Event::Control(token, ControlReply::Failed(busy)));
        }
    }

    /// A full queue loses it: the brick says it again.
    fn dial(&mut self, peer: Seat) {
        let asked = ToControl {
            brick: self.driver.index,
            ask: Ask::Dial(peer),
        };
        drop(self.driver.control.to_control.try_send(asked));
    }

    fn send(&mut self) {
        let Driver { brick, poll, .. } = &mut self.driver;
        self.streams.send(poll.registry(), brick);
        while let Some(id) = self.driver.brick.poll_output() {
            self.send_to(id);
        }
        while let Some(id) = self.writable.pop() {
            self.send_to(ConnectionId(id));
        }
    }

    fn send_to(&mut self, id: ConnectionId) {
        let brick = &mut self.driver.brick;
        let output = brick.output(id);
        if output.is_empty() {
            return;
        }
        match self.sockets.send(id.0, output) {
            Sent::Bytes(sent) => brick.on_sent(id, sent),
            Sent::Blocked => {}
            Sent::Broken(error) => {
                tracing::debug!(connection = id.0, %error, "send failed");
                brick.on_error(id);
            }
        }
    }

    fn close(&mut self) {
        while self.driver.brick.poll_paused().is_some() {
            // The receive asks wants_input() each time.
        }
        while let Some(id) = self.driver.brick.poll_resumed() {
            self.sockets.on_resumed(id.0);
        }
        while let Some(id) = self.driver.brick.poll_closed() {
            self.sockets.remove(self.driver.poll.registry(), id.0);
        }
    }

    fn end(&mut self) {
        let Driver {
            brick,
            mesh,
            control,
            ..
        } = &self.driver;
        control.publish_catalog(brick.catalog_version());
        let (stopped, accepted) = brick.acknowledged();
        control.publish_acknowledged(stopped, accepted);
        let is_drained = self.phase == Phase::Draining
            && brick.is_drained()
            && !brick.has_work()
            && !mesh.is_backed_up();
        if is_drained {
            control.publish_drained();
        }
    }
}
