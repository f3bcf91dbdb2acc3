//! Streams of bricks in a brick's loop: bytes in, bytes out.
//!
//! In:  streams from the control thread, edges of the poll. Out: bytes for the brick's buffers, bytes of
//! its buffers to the kernel.
//!
//! One receive and one send a stream and turn, as for clients. Nothing is allocated in a turn.
//! Not here: frames (`brick`).

use crate::peer::dial::Stream;
use crate::sockets::{Received, Sent, Sockets};
use brickyard_brick::{Brick, LinkId};
use mio::{Registry, Token};

/// Where the streams' numbers begin among the poll's tokens: above every connection's.
pub(crate) const FIRST_TOKEN: usize = 1 << 40;

/// The streams of one loop.
#[derive(Debug)]
pub(crate) struct Streams {
    sockets: Sockets,
    // Lists of one turn, kept for their memory.
    readable: Vec<u32>,
    writable: Vec<u32>,
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            sockets: Sockets::from(FIRST_TOKEN),
            readable: Vec::new(),
            writable: Vec::new(),
        }
    }
}

impl Streams {
    /// Takes a stream over.
    pub(crate) fn open(&mut self, registry: &Registry, brick: &mut Brick, stream: Stream) {
        let Stream {
            own: _,
            peer,
            direction,
            connection,
            stream,
        } = stream;
        let link = brick.peer_number();
        let stream = mio::net::TcpStream::from_std(stream);
        let is_polled = self.sockets.insert(registry, link.0, stream);
        brick.peer_opened(link, peer, direction, connection);
        if let Err(error) = is_polled {
            tracing::warn!(%error, %peer, "a stream cannot be polled");
            brick.peer_closed(link);
        }
    }

    /// Takes note of an edge.
    pub(crate) fn on_edge(&mut self, token: Token, event: &mio::event::Event) {
        let id = (token.0 - FIRST_TOKEN) as u32;
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            let is_ending = event.is_read_closed() || event.is_error();
            self.sockets.on_readable(id, is_ending);
        }
        if event.is_writable() && self.sockets.on_writable(id) {
            self.writable.push(id);
        }
    }

    /// Whether some stream is known to have bytes: the loop must not sleep.
    pub(crate) fn has_readable(&self) -> bool {
        self.sockets.has_readable()
    }

    /// Receives once from every stream that has something.
    pub(crate) fn receive(&mut self, registry: &Registry, brick: &mut Brick) {
        let mut readable = std::mem::take(&mut self.readable);
        self.sockets.take_readable(&mut readable);
        for id in readable.drain(..) {
            let link = LinkId(id);
            // Closed since its edge.
            if !self.sockets.contains(id) {
                continue;
            }
            match self.sockets.receive(id, brick.peer_input(link)) {
                Received::Bytes => brick.on_peer_received(link),
                Received::Nothing => {}
                Received::End => self.close(registry, brick, link, "its other end closed it"),
                Received::Broken(error) => {
                    self.close(registry, brick, link, &error.to_string());
                }
            }
        }
        self.readable = readable;
    }

    /// Sends once on every stream that has something.
    pub(crate) fn send(&mut self, registry: &Registry, brick: &mut Brick) {
        while let Some(link) = brick.poll_peer_output() {
            self.send_to(registry, brick, link);
        }
        while let Some(id) = self.writable.pop() {
            self.send_to(registry, brick, LinkId(id));
        }
    }

    fn send_to(&mut self, registry: &Registry, brick: &mut Brick, link: LinkId) {
        if !self.sockets.contains(link.0) {
            return;
        }
        let output = brick.peer_output(link);
        if output.is_empty() {
            return;
        }
        match self.sockets.send(link.0, output) {
            Sent::Bytes(sent) => brick.on_peer_sent(link, sent),
            Sent::Blocked => {}
            Sent::Broken(error) => self.close(registry, brick, link, &error.to_string()),
        }
    }

    /// Closes a stream, because the brick wants it or because it is broken.
    pub(crate) fn close(
        &mut self,
        registry: &Registry,
        brick: &mut Brick,
        link: LinkId,
        reason: &str,
    ) {
        tracing::debug!(link = link.0, reason, "a stream between bricks is closed");
        self.sockets.remove(registry, link.0);
        brick.peer_closed(link);
    }
}
