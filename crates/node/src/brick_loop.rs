//! A brick's loop: the brick is a state machine, this gives it the world.
//!
//! In:  whatever [`Io`] has: sockets that are ready, reports of the log's workers, other bricks' messages, the control
//! thread's. Out: bytes to clients and peers, orders to the workers, messages to other bricks.
//!
//! One turn: receive once from every readable socket; pass events on; run the brick over all of it as one batch;
//! carry out its effects; hear what became of batches that the loop wrote itself, and carry out what follows; send once to
//! everybody for whom there is something. Whoever calls [`BrickLoop::turn`] waits
//! between two turns until there is something to do, at most for [`BrickLoop::timeout`].
//!
//! Invariants:
//! - Nothing here waits, but for a short write into the page cache (`disk`).
//! - A turn allocates nothing of its own: lists are kept and cleared.
//! - Effects are carried out to the last before the next event is handled, so that the brick's batches are stamped
//!   with what it knew (`disk`).
//!
//! Not here: what requests do (`brick`), polling, threads and queues (`server`), virtual time (`sim`).

mod clients;
mod messages;
mod peers;

use crate::io::{Clocks, Io, LoopProgress, Receive, Sent, Sockets};
use brickyard_brick::{Brick, ConnectionId, Event, LinkId};
use brickyard_types::Instant;
use std::time::Duration;

/// The brick hears of the time at least this often.
const TICK: Duration = Duration::from_millis(100);

/// Batches of requests that one turn executes at most, so that events and replies do not wait for
/// all that many clients have sent.
const RUNS_MAX: usize = 16;

/// How soon a full queue is looked at again: nobody says when it has room.
const RETRY: Duration = Duration::from_millis(1);

/// Where a loop is on its way to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Serving,
    /// Takes no more work.
    Draining,
    Ended,
}

/// See the module.
#[derive(Debug)]
pub struct BrickLoop {
    brick: Brick,
    phase: Phase,
    ticked: Instant,
    /// Input of one connection past which it is closed: a request may not be longer.
    request_bytes_max: usize,
    /// The brick cannot go on.
    stop_reason: Option<String>,
    // Lists of one turn, kept for their memory.
    readable_clients: Vec<ConnectionId>,
    readable_peers: Vec<LinkId>,
    receives: Vec<Receive<ConnectionId>>,
    sending_clients: Vec<ConnectionId>,
    sent: Vec<Sent>,
    /// Bytes that a receive brought lately.
    received_mean: usize,
}

impl BrickLoop {
    /// A loop that has not turned yet, over a brick that has read its log.
    #[must_use]
    pub fn new(brick: Brick, request_bytes_max: usize) -> Self {
        Self {
            brick,
            phase: Phase::Serving,
            ticked: Instant(0),
            request_bytes_max,
            stop_reason: None,
            readable_clients: Vec::new(),
            readable_peers: Vec::new(),
            receives: Vec::new(),
            sending_clients: Vec::new(),
            sent: Vec::new(),
            received_mean: 1,
        }
    }

    /// The brick, for those who look on.
    #[must_use]
    pub fn brick(&self) -> &Brick {
        &self.brick
    }

    /// Whether the control thread has said that this is the end.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Does everything that there is to do, once.
    ///
    /// # Panics
    /// If the loop has ended (a caller bug).
    pub fn turn(&mut self, io: &mut impl Io) {
        assert!(!self.has_ended(), "a loop that has ended turns no more");
        self.begin(io);
        self.take_connections(io);
        self.receive(io);
        self.take_messages(io);
        self.receive_streams(io);
        self.run_brick(io);
        self.carry_out(io);
        self.hear_inline(io);
        self.send(io);
        if let Some(reason) = self.stop_reason.take() {
            // Only now: the clients were just told what is known of their writes.
            self.phase = Phase::Ended;
            return io.stop(&reason);
        }
        self.close(io);
        self.publish(io);
    }

    /// How long may be waited before the next turn if nothing happens meanwhile.
    #[must_use]
    pub fn timeout<I: Io>(&self, io: &I) -> Duration {
        let is_backed_up = io.is_backed_up();
        let can_receive = self.phase == Phase::Serving && !is_backed_up;
        if self.brick.has_work()
            || (can_receive && Sockets::<ConnectionId>::has_readable(io))
            || Sockets::<LinkId>::has_readable(io)
            || io.has_connections()
            || io.has_inline_reports()
        {
            return Duration::ZERO;
        }
        if is_backed_up || io.is_log_behind() {
            return RETRY;
        }
        match self.brick.next_deadline() {
            Some(deadline) => (deadline - io.now()).min(TICK),
            None => TICK,
        }
    }

    fn begin(&mut self, io: &impl Clocks) {
        let now = io.now();
        self.brick.begin_turn(now, io.unix());
        if now - self.ticked >= TICK {
            self.ticked = now;
            self.brick.note_taken(io.taken());
            self.brick.handle(Event::Tick);
        }
    }

    /// Executes what was received, in as many batches as a turn may have: one append and one send
    /// for all of them.
    fn run_brick(&mut self, io: &impl Clocks) {
        let mut started = io.now();
        for _ in 0..RUNS_MAX {
            // Rule `leases count from the request`: the lease is looked at after the batch's last byte was read.
            self.brick.begin_batch(started);
            self.brick.run();
            let ended = io.now();
            self.brick.on_ran(ended - started);
            started = ended;
            if !self.brick.has_work() {
                break;
            }
        }
    }

    fn publish(&self, io: &mut impl Io) {
        let (stopped, accepted) = self.brick.acknowledged();
        let is_drained = self.phase == Phase::Draining
            && self.brick.is_drained()
            && !self.brick.has_work()
            && !io.is_backed_up();
        io.publish(&LoopProgress {
            catalog: self.brick.catalog_version(),
            stopped,
            accepted,
            is_drained,
        });
    }
}
