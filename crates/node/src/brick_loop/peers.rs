//! Streams between a loop's brick and bricks of other nodes: bytes in, bytes out.
//!
//! One receive and one send a stream and turn, as for clients.
//! Not here: frames (`brick`), who may connect (`peer`).

use super::BrickLoop;
use crate::io::{Io, Queues, ReceiveOutcome, Sent, Sockets, Stream};
use brickyard_brick::LinkId;

impl BrickLoop {
    /// Takes a stream over.
    pub(super) fn open_stream<I: Io>(&mut self, io: &mut I, stream: Stream<<I as Queues>::Stream>) {
        let link = self.brick.peer_number();
        assert!(
            !Sockets::<LinkId>::contains(io, link),
            "the number of a stream that is open is not given again"
        );
        let inserted = io.insert_stream(link, stream.socket);
        self.brick
            .peer_opened(link, stream.peer, stream.direction, stream.connection);
        if let Err(error) = inserted {
            tracing::warn!(%error, peer = %stream.peer, "a stream cannot be polled");
            self.brick.peer_closed(link);
        }
    }

    /// What peers sent: votes and records of work that is half done go ahead of new work, so that they are
    /// taken whatever else waits, and until the end.
    pub(super) fn receive_streams(&mut self, io: &mut impl Io) {
        let mut readable = std::mem::take(&mut self.readable_peers);
        io.take_readable(&mut readable);
        for link in readable.drain(..) {
            // Closed since it became readable.
            if !io.contains(link) {
                continue;
            }
            match io.receive(link, self.brick.peer_input(link)) {
                ReceiveOutcome::Bytes => self.brick.on_peer_received(link),
                ReceiveOutcome::Nothing => {}
                ReceiveOutcome::End => self.close_stream(io, link, "its other end closed it"),
                ReceiveOutcome::Broken(error) => self.close_stream(io, link, &error.to_string()),
            }
        }
        self.readable_peers = readable;
    }

    /// Sends once on every stream that has something.
    pub(super) fn send_streams(&mut self, io: &mut impl Io) {
        while let Some(link) = self.brick.poll_peer_output() {
            self.send_on(io, link);
        }
        while let Some(link) = Sockets::<LinkId>::poll_writable(io) {
            self.send_on(io, link);
        }
    }

    fn send_on(&mut self, io: &mut impl Io, link: LinkId) {
        if !io.contains(link) {
            return;
        }
        let output = self.brick.peer_output(link);
        if output.is_empty() {
            return;
        }
        match io.send(link, output) {
            Sent::Bytes(sent) => {
                assert!(sent <= output.len(), "no more is sent than there was");
                self.brick.on_peer_sent(link, sent);
            }
            Sent::Blocked => {}
            Sent::Broken(error) => self.close_stream(io, link, &error.to_string()),
        }
    }

    /// Closes a stream, because the brick wants it or because it is broken.
    pub(super) fn close_stream(&mut self, io: &mut impl Io, link: LinkId, reason: &str) {
        tracing::debug!(link = link.0, reason, "a stream between bricks is closed");
        Sockets::<LinkId>::close(io, link);
        self.brick.peer_closed(link);
    }
}
