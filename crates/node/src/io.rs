//! What a brick's loop needs from outside: one trait for each kind of thing that it uses.
//!
//! In:  readiness, bytes, new connections, messages, reports of the log's workers, the time. Out: bytes, orders,
//! messages, what the loop has come to.
//!
//! The server carries this out with `mio`, threads and clocks, the simulator with virtual ones. Nothing here waits: a call
//! that finds nothing says so.
//!
//! Invariants:
//! - A socket is reported as readable until a receive has found nothing more in it.
//! - A send that did not take everything is followed, sooner or later, by [`Sockets::poll_writable`].
//! - What one brick gives another, the log's workers or the control thread arrives there in that order.

use crate::disk::{AppendOrder, ReadOrder};
use crate::host::ToBrick;
use brickyard_brick::{
    Accepted, ConnectionId, ControlRequest, Direction, Event, Forward, LinkId, Port,
};
use brickyard_routing::Replica;
use brickyard_types::{BrickId, Instant, UnixMillis};
use std::io;
use std::time::Duration;

/// What a receive came to.
#[derive(Debug)]
pub enum ReceiveOutcome {
    /// Some bytes; what is left, if anything, comes with the next turn.
    Bytes,
    /// Nothing now.
    Nothing,
    /// The other end will send no more.
    End,
    /// The connection is broken.
    Broken(io::Error),
}

/// What a send came to.
#[derive(Debug)]
pub enum Sent {
    /// So many bytes went out.
    Bytes(usize),
    /// The other end does not read; the socket becomes writable again.
    Blocked,
    /// The connection is broken.
    Broken(io::Error),
}

/// A socket to receive from, with what takes the bytes.
#[derive(Debug)]
pub struct Receive<Id> {
    /// The socket.
    pub id: Id,
    /// What it sent before, and now.
    pub input: Vec<u8>,
    /// What the receive came to.
    pub outcome: ReceiveOutcome,
}

/// The clocks, read as often as the loop wants to know.
pub trait Clocks {
    /// The clock that leases go by: it never goes back and counts suspended time.
    fn now(&self) -> Instant;

    /// The wall clock.
    fn unix(&self) -> UnixMillis;

    /// How much time of a core the loop has taken since it began.
    fn taken(&self) -> Duration;
}

/// The loop's sockets of one kind: clients' ([`ConnectionId`]), or those of streams to other nodes ([`LinkId`]).
pub trait Sockets<Id> {
    /// Whether some socket is known to have bytes: the loop must not sleep.
    fn has_readable(&self) -> bool;

    /// Moves the sockets to receive from now to the end of `out`.
    fn take_readable(&mut self, out: &mut Vec<Id>);

    /// Sockets that were taken by [`Self::take_readable`], and are to come first the next time.
    fn put_back(&mut self, ids: &[Id]);

    /// The brick wants input of this socket again.
    fn on_resumed(&mut self, id: Id);

    /// Receives once, appending to `input`.
    fn receive(&mut self, id: Id, input: &mut Vec<u8>) -> ReceiveOutcome;

    /// Receives once from each socket of a batch.
    fn receive_batch(&mut self, batch: &mut [Receive<Id>])
    where
        Id: Copy,
    {
        for it in batch {
            it.outcome = self.receive(it.id, &mut it.input);
        }
    }

    /// Sends once.
    fn send(&mut self, id: Id, bytes: &[u8]) -> Sent;

    /// Sends once to each of some sockets, no two of which are the same: `bytes` says what, and what became of it goes to
    /// the end of `sent` in their order.
    fn send_batch<'a>(&mut self, ids: &[Id], bytes: impl Fn(Id) -> &'a [u8], sent: &mut Vec<Sent>)
    where
        Id: Copy,
    {
        for &id in ids {
            sent.push(self.send(id, bytes(id)));
        }
    }

    /// A socket on which the rest of what was to be sent can go out.
    fn poll_writable(&mut self) -> Option<Id>;

    /// Whether there is a socket of that name.
    fn contains(&self, id: Id) -> bool;

    /// Closes a socket.
    fn close(&mut self, id: Id);
}

/// Where clients connect.
pub trait Ports {
    /// A connection that no brick has taken yet.
    type Connection;

    /// Takes new connections, as many as a turn may.
    fn accept(&mut self);

    /// A new connection, and what it came through.
    fn poll_accepted(&mut self) -> Option<(Port, Self::Connection)>;

    /// A connection's names.
    fn describe(&self, port: Port, connection: &Self::Connection) -> Accepted;

    /// The brick has taken the connection under that name.
    ///
    /// # Errors
    /// Nothing can be received from it.
    fn insert(&mut self, id: ConnectionId, connection: Self::Connection) -> io::Result<()>;

    /// The brick does not take the connection, and says why; it is closed.
    fn refuse(&mut self, connection: Self::Connection, refusal: &[u8]);

    /// Clients are accepted from now on.
    fn open_ports(&mut self);

    /// Clients are refused from now on.
    fn close_ports(&mut self);

    /// Whether there may be connections to accept: the loop must not sleep.
    fn has_connections(&self) -> bool;
}

/// The workers of the brick's log.
pub trait Log {
    /// Gives an order to the worker that appends, or carries it out here and now.
    fn append(&mut self, order: AppendOrder);

    /// Whether an order was carried out here, and its report has not been taken.
    fn has_inline_reports(&self) -> bool;

    /// Gives an order to the worker that reads.
    fn read(&mut self, order: ReadOrder);

    /// Whether an order waits for room in its queue.
    fn is_log_behind(&self) -> bool;

    /// Passes on what the workers report, in order.
    fn take_reports(&mut self, handle: impl FnMut(Event<'_>));
}

/// The other loops of the node, and its control thread.
pub trait Queues {
    /// A socket that was connected elsewhere, for a stream of this brick.
    type Stream;

    /// Gives requests to another brick of the node.
    fn forward(&mut self, to: BrickId, messages: Vec<Forward>);

    /// Whether something waits because another brick's queue is full.
    fn is_backed_up(&self) -> bool;

    /// What another brick sent.
    fn poll_forward(&mut self) -> Option<(BrickId, Vec<Forward>)>;

    /// Asks the control thread; false: it is too busy, and has not heard of it.
    fn ask(&mut self, ask: Ask) -> bool;

    /// What the control thread says.
    fn poll_message(&mut self) -> Option<ToLoop<Self::Stream>>;

    /// Receives from and sends to the stream's socket under that name from now on.
    ///
    /// # Errors
    /// Nothing can be received from it.
    fn insert_stream(&mut self, link: LinkId, stream: Self::Stream) -> io::Result<()>;

    /// Lets the control thread see what the loop has come to.
    fn publish(&mut self, progress: &LoopProgress);
}

/// Everything that is not the loop's own.
pub trait Io: Clocks + Ports + Sockets<ConnectionId> + Sockets<LinkId> + Log + Queues {
    /// Passes on what was given to the log's workers and to other bricks, and wakes those who sleep.
    fn flush(&mut self);

    /// Tells the operator something.
    fn report(&mut self, what: &str);

    /// Ends the process: what is on the disk is not known. Where that takes a moment, nothing is heard of it meanwhile.
    fn stop(&mut self, reason: &str);
}

/// What the control thread tells a loop.
#[derive(Debug)]
pub enum ToLoop<S> {
    /// Something that the brick hears as it is.
    Brick(ToBrick),
    /// A stream between this brick and another node's.
    Peer(Stream<S>),
    /// Accept clients.
    Open,
    /// Take no more work; say when what there is is done.
    Drain,
    /// End.
    Exit,
}

/// A stream whose both ends have said who they are.
#[derive(Debug)]
pub struct Stream<S> {
    /// The brick here.
    pub own: Replica,
    /// The brick there.
    pub peer: Replica,
    /// Who dialed.
    pub direction: Direction,
    /// Drawn by the one that dialed.
    pub connection: u64,
    /// Its socket; nothing beyond the answer was read from it.
    pub socket: S,
}

/// What a loop asks the control thread.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time, taken apart at once; a change has room for a table with bounds"
)]
pub enum Ask {
    /// A request of the brick, with its token.
    Request(u64, ControlRequest),
    /// A stream to a brick of another node.
    Dial(Replica),
}

/// What a loop has come to at the end of a turn, when its replies have left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopProgress {
    /// The version of the catalog that it works by.
    pub catalog: u64,
    /// Every removal up to this version of the catalog was acted on (rule `grants count for adopted maps`).
    pub stopped: u64,
    /// So far, and the log synced since (rule `a primary accepts its view`).
    pub accepted: u64,
    /// After [`ToLoop::Drain`]: nothing is in flight any more.
    pub is_drained: bool,
}
