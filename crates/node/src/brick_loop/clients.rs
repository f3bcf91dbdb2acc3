//! Clients of a loop: they connect, send, are answered and go.
//!
//! One receive and one send a client and turn.

use super::{BrickLoop, Phase};
use crate::io::{Io, Ports, ReceiveOutcome, Sent, Sockets};
use brickyard_brick::{ConnectionId, Port};

/// Bytes that one turn receives from clients, a socket's more or less. What a turn handles should still be in the
/// processor's cache when it is executed, appended and answered, however much is waiting in the sockets.
const TURN_BYTES: usize = 512 << 10;

const TOO_LARGE: &[u8] = b"-ERR Protocol error: request is larger than request_bytes_max\r\n";

impl BrickLoop {
    pub(super) fn take_connections<I: Io>(&mut self, io: &mut I) {
        io.accept();
        while let Some((port, connection)) = io.poll_accepted() {
            self.take_connection(io, port, connection);
        }
    }

    fn take_connection<I: Io>(
        &mut self,
        io: &mut I,
        port: Port,
        connection: <I as Ports>::Connection,
    ) {
        match self.brick.accept(io.describe(port, &connection)) {
            Ok(id) => {
                if let Err(error) = io.insert(id, connection) {
                    tracing::warn!(connection = id.0, %error, "a connection cannot be polled");
                    self.brick.on_error(id);
                }
            }
            Err(refusal) => io.refuse(connection, &refusal),
        }
    }

    pub(super) fn receive(&mut self, io: &mut impl Io) {
        // A full queue to a neighbour, or the end: take no more work than there is.
        if self.phase != Phase::Serving || io.is_backed_up() {
            return;
        }
        let mut readable = std::mem::take(&mut self.readable_clients);
        io.take_readable(&mut readable);
        let mut ids = readable.drain(..);
        let mut received = 0;
        while received < TURN_BYTES
            && let Some(id) = ids.next()
        {
            // It stays latched, and comes back by poll_resumed().
            if self.brick.wants_input(id) {
                received += self.receive_from(io, id);
            }
        }
        // Their turn comes first next time.
        io.put_back(ids.as_slice());
        drop(ids);
        self.readable_clients = readable;
    }

    /// Receives once; how many bytes.
    fn receive_from(&mut self, io: &mut impl Io, id: ConnectionId) -> usize {
        let input = self.brick.input(id);
        let before = input.len();
        let outcome = io.receive(id, input);
        let after = input.len();
        assert!(after >= before, "a receive appends to what was there");
        match outcome {
            ReceiveOutcome::Bytes if after > self.request_bytes_max => self.refuse_request(io, id),
            ReceiveOutcome::Bytes => self.brick.on_received(id),
            ReceiveOutcome::Nothing => {}
            ReceiveOutcome::End => self.brick.on_end_of_stream(id),
            ReceiveOutcome::Broken(error) => {
                tracing::debug!(connection = id.0, %error, "receive failed");
                self.brick.on_error(id);
            }
        }
        after - before
    }

    fn refuse_request(&mut self, io: &mut impl Io, id: ConnectionId) {
        tracing::warn!(
            connection = id.0,
            request_bytes_max = self.request_bytes_max,
            "a request is too large: its connection is closed"
        );
        // Best effort: what counts is that the connection is closed.
        drop(io.send(id, TOO_LARGE));
        self.brick.on_error(id);
    }

    pub(super) fn send(&mut self, io: &mut impl Io) {
        self.send_streams(io);
        while let Some(id) = self.brick.poll_output() {
            self.send_to(io, id);
        }
        while let Some(id) = Sockets::<ConnectionId>::poll_writable(io) {
            self.send_to(io, id);
        }
    }

    fn send_to(&mut self, io: &mut impl Io, id: ConnectionId) {
        let output = self.brick.output(id);
        if output.is_empty() {
            return;
        }
        match io.send(id, output) {
            Sent::Bytes(sent) => {
                assert!(sent <= output.len(), "no more is sent than there was");
                self.brick.on_sent(id, sent);
            }
            Sent::Blocked => {}
            Sent::Broken(error) => {
                tracing::debug!(connection = id.0, %error, "send failed");
                self.brick.on_error(id);
            }
        }
    }

    pub(super) fn close(&mut self, io: &mut impl Io) {
        while let Some(id) = self.brick.poll_resumed() {
            io.on_resumed(id);
        }
        while let Some(id) = self.brick.poll_closed() {
            Sockets::<ConnectionId>::close(io, id);
        }
    }
}
