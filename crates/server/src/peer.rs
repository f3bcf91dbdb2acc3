//! Between nodes: who is at the other end, and messages of the control plane both ways.
//!
//! In:  the port for nodes, addresses of nodes. Out: [`Event`]s: who came, what they said, who is gone;
//! streams of bricks, ready to be handed to their loops.
//!
//! Invariants:
//! - What comes from outside is bounded and checked; nothing of it makes the process panic.
//! - A slow or dead node costs a bounded queue, of which the oldest is dropped.
//!
//! Not here: who may connect, who is where, and what the messages mean (`node`), what is on a brick's stream (`brick`).

pub(crate) mod dial;
pub(crate) mod frame;
pub(crate) mod incoming;
pub(crate) mod outgoing;
pub(crate) mod peers;
mod refusals;
pub(crate) mod send_queue;
mod strangers;

pub(crate) use incoming::Arrived;
pub(crate) use peers::Peers;
pub(crate) use send_queue::SendQueue;

use brickyard_node::peer::{HandshakeRefused, Welcome};
use brickyard_node::{Message, Source, Target};
use tokio::sync::mpsc;

/// A stream whose both ends have said who they are; its socket is non-blocking, without delay.
pub(crate) type Stream = brickyard_node::io::Stream<crate::tls::LoopSocket>;

/// Something that happened on the connections of the control plane.
#[derive(Debug)]
pub(crate) enum Event {
    /// Somebody connected and waits for an answer.
    Arrived(Arrived),
    /// A node that was dialed took us.
    Welcomed(Target, Welcome),
    /// A node that was dialed did not.
    Refused(Target, HandshakeRefused),
    /// A message.
    Received(Source, Message),
    /// A connection that somebody made is gone.
    Left(u64),
    /// A connection that was dialed is gone.
    Lost(Target),
    /// A stream of a brick is ready for its loop.
    Stream(Stream),
    /// A stream that a brick wants could not be had.
    NoStream(brickyard_routing::Replica, brickyard_routing::Replica),
}

/// Where events go; a reader waits while the driver is behind.
pub(crate) type Events = mpsc::Sender<Event>;
