//! A brick's loop on a real machine: between two turns it sleeps in the poll.
//!
//! In:  sockets' edges, wakes of the disk threads, of other bricks and of the control thread. Out: turns of the loop
//! (`node`), which finds all of that in its [`LoopIo`].
//!
//! Invariants:
//! - Nothing here waits but the poll, and the poll does not while there is something to do.
//! - A message that was pushed before the loop sleeps is seen, a later one wakes it (`wake`).
//!
//! Not here: what a turn does (`node`), what requests do (`brick`), accepting (`listener`), queues (`mesh`, `disk`,
//! `control`).

mod io;

pub(crate) use io::{ClientPorts, Links, LoopIo};

use crate::huge_pages::HugePages;
use brickyard_brick::Brick;
use brickyard_node::BrickLoop;
use mio::{Events, Token};
use std::time::Duration;

/// Names the waker in the poll. Clients have the numbers from 0.
pub(crate) const WAKER: Token = Token(usize::MAX);
const NODE_PORT: Token = Token(usize::MAX - 1);
const BRICK_PORT: Token = Token(usize::MAX - 2);

/// Where the streams' numbers begin among the poll's tokens: above every client's.
const FIRST_STREAM: usize = 1 << 40;

/// Edges taken in one poll; further ones come with the next.
const EVENTS_MAX: usize = 1024;

/// Serves until the control thread says that this is the end.
///
/// # Errors
/// The operating system refused to poll; without that a loop is nothing.
pub(crate) fn run(brick: Brick, request_bytes_max: usize, mut io: LoopIo) -> std::io::Result<()> {
    io.register()?;
    let mut events = Events::with_capacity(EVENTS_MAX);
    let mut this = BrickLoop::new(brick, request_bytes_max);
    let mut huge_pages = HugePages::default();
    while !this.has_ended() {
        let timeout = this.timeout(&io);
        wait(&mut io, &mut events, timeout)?;
        io.take_edges(&events);
        this.turn(&mut io);
        huge_pages.on_turn(|| this.brick().table_bytes());
    }
    Ok(())
}

/// Polls, without waiting if there is something to do already.
fn wait(io: &mut LoopIo, events: &mut Events, timeout: Duration) -> std::io::Result<()> {
    let mut timeout = timeout;
    if !timeout.is_zero() {
        io.waker().fall_asleep();
        // Only after that: a message pushed before is seen here, a later one wakes.
        if io.has_messages() {
            timeout = Duration::ZERO;
        }
    }
    let polled = io.poll.poll(events, Some(timeout));
    io.waker().wake_up();
    match polled {
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(()),
        polled => polled,
    }
}
