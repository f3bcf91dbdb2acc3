//! Hands the node port's connections out to the bricks, in turn.
//!
//! In:  streams that brick 0's loop accepted. Out: the same streams in the loops they belong to.

use crate::wake::Waker;
use mio::net::TcpStream;
use rtrb::{Consumer, Producer, PushError, RingBuffer};
use std::net::SocketAddr;
use std::sync::Arc;

/// Streams that may wait for a loop. More than one turn's accepts: a loop takes all in each turn.
const WAITING_MAX: usize = 128;

/// An accepted stream and who is at its other end.
pub(crate) type Accepted = (TcpStream, SocketAddr);

/// The giving end, in brick 0's loop.
#[derive(Debug)]
pub(crate) struct Handout {
    /// By brick; brick 0 has none: it keeps its share.
    rings: Vec<Producer<Accepted>>,
    wakers: Arc<[Waker]>,
    next: usize,
}

/// The giving end, and the taking end of each brick but brick 0.
pub(crate) fn new(wakers: &Arc<[Waker]>) -> (Handout, Vec<Consumer<Accepted>>) {
    let (rings, taking) = (1..wakers.len())
        .map(|_| RingBuffer::new(WAITING_MAX))
        .unzip();
    (
        Handout {
            rings,
            wakers: Arc::clone(wakers),
            next: 0,
        },
        taking,
    )
}

impl Handout {
    /// Gives the stream to the brick whose turn it is; returns it if that is brick 0, or if every
    /// other one is far behind.
    pub(crate) fn give(&mut self, accepted: Accepted) -> Option<Accepted> {
        let bricks = self.rings.len() + 1;
        let mut accepted = accepted;
        for _ in 0..bricks {
            let brick = self.next;
            self.next = (self.next + 1) % bricks;
            let Some(ring) = brick
                .checked_sub(1)
                .and_then(|index| self.rings.get_mut(index))
            else {
                return Some(accepted);
            };
            match ring.push(accepted) {
                Ok(()) => {
                    if let Some(waker) = self.wakers.get(brick) {
                        waker.wake();
                    }
                    return None;
                }
                Err(PushError::Full(refused)) => accepted = refused,
            }
        }
        Some(accepted)
    }
}
