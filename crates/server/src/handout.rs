//! Hands connections to the bricks' loops: the node port's in turn, and those that the process makes to itself.
//!
//! In:  streams that brick 0's loop accepted, callers inside the process. Out: the same streams in the loops they belong to.
//!
//! Invariant: a connection from inside is a client's in everything but that it has no TLS: it never leaves the process.

use crate::wake::Waker;
use mio::net::TcpStream;
use rtrb::{Consumer, Producer, PushError, RingBuffer};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

/// Streams that may wait for a loop. More than one turn's accepts: a loop takes all in each turn.
const WAITING_MAX: usize = 128;

/// An accepted stream.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) stream: TcpStream,
    /// Who is at its other end, or for whom the process made it.
    pub(crate) peer: SocketAddr,
    /// Its other end is in this process.
    pub(crate) is_inside: bool,
}

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

/// Where the process itself becomes a client of its bricks.
#[derive(Debug)]
pub(crate) struct Doors {
    /// By brick.
    rings: Mutex<Vec<Producer<Accepted>>>,
    wakers: Arc<[Waker]>,
}

/// The doors, and the taking end of each brick.
pub(crate) fn doors(wakers: &Arc<[Waker]>) -> (Doors, Vec<Consumer<Accepted>>) {
    let rings = wakers.iter().map(|_| RingBuffer::new(WAITING_MAX));
    let (rings, taking) = rings.unzip();
    let doors = Doors {
        rings: Mutex::new(rings),
        wakers: Arc::clone(wakers),
    };
    (doors, taking)
}

impl Doors {
    /// A connection to a brick, as one of its node port has it, on behalf of `peer`.
    ///
    /// A pair of sockets, so no port is open for it that somebody else could reach.
    ///
    /// # Errors
    /// There is no such brick, its loop is far behind, or the system has no descriptor.
    pub(crate) fn enter(&self, brick: usize, peer: SocketAddr) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        theirs.set_nonblocking(true)?;
        let theirs = std::net::TcpStream::from(OwnedFd::from(theirs));
        let accepted = Accepted {
            stream: TcpStream::from_std(theirs),
            peer,
            is_inside: true,
        };
        let mut rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        let ring = rings.get_mut(brick).ok_or(io::ErrorKind::NotFound)?;
        ring.push(accepted)
            .map_err(|PushError::Full(_)| io::ErrorKind::WouldBlock)?;
        if let Some(waker) = self.wakers.get(brick) {
            waker.wake();
        }
        Ok(ours)
    }
}
