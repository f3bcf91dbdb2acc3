//! What is going to happen: the entries of the agenda.

use crate::log_work::Worker;
use crate::network::ConnectionId;
use brickyard_node::Target;
use brickyard_routing::Replica;

/// An attempt to connect; its number keeps what comes of it from being taken for what comes of a later one.
#[derive(Clone, Debug)]
pub(crate) enum Attempt {
    Control {
        target: Target,
        number: u64,
    },
    Stream {
        own: Replica,
        peer: Replica,
        /// What the stream is called.
        number: u64,
    },
}

/// What was answered, and the connection if it may stay.
pub(crate) type Answered = Option<(Option<ConnectionId>, Vec<u8>)>;

/// Something that is going to happen.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// A brick's loop turns.
    Turn(usize, u64, usize),
    /// A worker of a brick's log is done.
    Worked(usize, u64, usize, Worker),
    /// The log of a brick may have to be synced.
    SyncDue(usize, u64, usize),
    /// The control log is written.
    Stored(usize, u64),
    /// The member's clock ticks.
    Tick(usize, u64),
    /// A brick has come on: the member looks.
    Look(usize, u64),
    /// The bricks read their logs.
    Recover(usize, u64),
    /// Bytes of that end are at the other one.
    Deliver(ConnectionId, usize),
    /// That end hears that the connection is gone.
    Close(ConnectionId, usize),
    /// A node makes a connection of the control plane: an attempt of that number.
    Dial(usize, u64, Target, u64),
    /// Somebody says hello.
    Hello {
        from: usize,
        life: u64,
        to: usize,
        attempt: Attempt,
        frame: Vec<u8>,
    },
    /// What was said to that.
    Answered(usize, u64, Attempt, Answered),
    /// A node is started.
    Start(usize),
    /// A fault of the plan.
    Fault(usize),
    /// A fault goes on: kind, dice, stage.
    Again(&'static str, u64, u32),
    /// A client does something.
    Client(usize),
    /// An operator does something.
    Operate,
    /// The operator says again what it said last of everything.
    Affirm,
    /// Nothing goes wrong from now on.
    Calm,
    /// A node that was told to stop does, whatever it still has.
    Stop(usize),
    /// Is everything as it should be?
    Watch,
}
