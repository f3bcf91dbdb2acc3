//! Clients of a loop: they connect, send, are answered and go.
//!
//! One receive and one send a client and turn.

use super::{BrickLoop, Phase};
use crate::io::{Io, Ports, Receive, ReceiveOutcome, Sent, Sockets};
use brickyard_brick::{ConnectionId, Port};

/// Bytes that one turn receives from clients, a socket's more or less. What a turn handles should still be in the
/// processor's cache when it is executed, appended and answered, however much is waiting in the sockets.
const TURN_BYTES: usize = 512 << 10;

/// Clients that are received from at a time.
const BATCH_MAX: usize = 64;

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
        let mut mean = self.received_mean;
        while received < TURN_BYTES && !ids.as_slice().is_empty() {
            let batch_max = ((TURN_BYTES - received) / mean).clamp(1, BATCH_MAX);
            let mut batch = std::mem::take(&mut self.receives);
            let mut before = 0;
            while batch.len() < batch_max
                && let Some(id) = ids.next()
            {
                // It stays latched, and comes back by poll_resumed().
                if self.brick.wants_input(id) {
                    let input = std::mem::take(self.brick.input(id));
                    before += input.len();
                    let outcome = ReceiveOutcome::Nothing;
                    batch.push(Receive { id, input, outcome });
                }
            }
            io.receive_batch(&mut batch);
            let after: usize = batch.iter().map(|it| it.input.len()).sum();
            assert!(after >= before, "a receive appends to what was there");
            mean = ((after - before) / batch.len().max(1)).max(1);
            received += after - before;
            for it in batch.drain(..) {
                self.on_received(io, it);
            }
            self.receives = batch;
        }
        self.received_mean = mean;
        // Their turn comes first next time.
        io.put_back(ids.as_slice());
        drop(ids);
        self.readable_clients = readable;
    }

    /// A receive is over.
    fn on_received(&mut self, io: &mut impl Io, receive: Receive<ConnectionId>) {
        let Receive { id, input, outcome } = receive;
        let after = input.len();
        *self.brick.input(id) = input;
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
        let mut ids = std::mem::take(&mut self.sending_clients);
        ids.extend(std::iter::from_fn(|| self.brick.poll_output()));
        self.send_to(io, &mut ids);
        ids.extend(std::iter::from_fn(|| {
            Sockets::<ConnectionId>::poll_writable(io)
        }));
        self.send_to(io, &mut ids);
        self.sending_clients = ids;
    }

    /// Sends once to each of the clients, as far as there is something for them.
    fn send_to(&mut self, io: &mut impl Io, ids: &mut Vec<ConnectionId>) {
        ids.retain(|id| !self.brick.output(*id).is_empty());
        if ids.is_empty() {
            return;
        }
        let mut sent = std::mem::take(&mut self.sent);
        io.send_batch(ids, |id| self.brick.output(id), &mut sent);
        assert_eq!(sent.len(), ids.len(), "each send comes to something");
        for (id, sent) in ids.drain(..).zip(sent.drain(..)) {
            match sent {
                Sent::Bytes(sent) => self.brick.on_sent(id, sent),
                Sent::Blocked => {}
                Sent::Broken(error) => {
                    tracing::debug!(connection = id.0, %error, "send failed");
                    self.brick.on_error(id);
                }
            }
        }
        self.sent = sent;
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
