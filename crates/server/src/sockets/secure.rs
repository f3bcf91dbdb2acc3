//! Sockets with TLS: what they receive is decrypted at once, what they send is encrypted as it goes.
//!
//! A client's handshake is made here too, in the loop that goes on with it.
//!
//! Invariants:
//! - A receive takes one socket's call, and leaves nothing in the session that could be passed on.
//! - What is encrypted and not taken by the socket is bounded by the session (`brickyard_tls`); as long as there is some, the socket
//!   is blocked.
//! - Before its handshake is over a socket passes nothing on; it has [`HANDSHAKE_MAX`] for it.

use super::{Socket, Sockets};
use brickyard_node::io::{ReceiveOutcome, Sent};
use brickyard_tls::explain;
use brickyard_types::Instant;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::io;
use std::time::Duration;

/// Steps of handshakes that a turn makes: each takes some tenths of a millisecond, while which nobody is served.
pub(super) const HANDSHAKES_A_TURN: usize = 8;

/// How long a client's handshake may take.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

impl Socket {
    fn is_handshaking(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.is_handshaking())
    }

    /// Sends what waits in the session, if it has one; whether all is gone.
    pub(super) fn flush_session(&mut self) -> bool {
        let Some(session) = &mut self.session else {
            return true;
        };
        match session.send_to(&mut self.stream) {
            Ok(is_empty) => {
                self.is_blocked = !is_empty;
                is_empty
            }
            // The next send or receive tells.
            Err(_) => true,
        }
    }

    /// As [`Sockets::send`].
    pub(super) fn send_secure(&mut self, bytes: &[u8]) -> Sent {
        let Some(session) = &mut self.session else {
            return Sent::Blocked;
        };
        if session.is_handshaking() {
            // The end of the handshake makes it writable.
            return Sent::Blocked;
        }
        let mut sent = 0;
        loop {
            match session.send_to(&mut self.stream) {
                Err(error) => return Sent::Broken(error),
                Ok(false) => {
                    self.is_blocked = true;
                    break;
                }
                Ok(true) if sent == bytes.len() => break,
                Ok(true) => sent += session.encrypt(&bytes[sent..]),
            }
        }
        match sent {
            0 if !bytes.is_empty() => Sent::Blocked,
            sent => Sent::Bytes(sent),
        }
    }

    /// Tells the other end that this is the end; best effort.
    pub(super) fn end_session(&mut self) {
        if let Some(session) = &mut self.session {
            session.end();
            drop(session.send_to(&mut self.stream));
        }
    }
}

impl Sockets {
    /// A client's socket begins with a handshake. If more than `max` are not over, the one that began first is ended: who comes
    /// and says nothing has a place that others need, until it is the oldest.
    pub(crate) fn expect_handshake(&mut self, id: u32, now: Instant, max: usize) {
        let until = now + HANDSHAKE_MAX;
        let Some(socket) = self.get(id) else {
            return;
        };
        socket.handshake_until = Some(until);
        self.handshakes.push_back((until, id));
        self.unfinished += 1;
        while self.unfinished > max
            && let Some((until, oldest)) = self.handshakes.pop_front()
        {
            if self.end_handshake(oldest, until) {
                break;
            }
        }
    }

    /// Whether somebody has begun a handshake a short time ago.
    pub(crate) fn has_handshakes(&self) -> bool {
        !self.handshakes.is_empty()
    }

    /// Has the handshakes that take too long end; a receive tells it of each.
    pub(crate) fn end_late_handshakes(&mut self, now: Instant) {
        while let Some(&(until, id)) = self.handshakes.front().filter(|(until, _)| *until <= now) {
            self.handshakes.pop_front();
            self.end_handshake(id, until);
        }
    }

    /// Has a handshake end that was to be over by then; whether it was not.
    fn end_handshake(&mut self, id: u32, until: Instant) -> bool {
        // By that number there may be another connection meanwhile.
        let socket = self.get(id);
        let Some(socket) = socket.filter(|it| it.handshake_until == Some(until)) else {
            return false;
        };
        socket.is_late = true;
        self.on_readable(id, true);
        true
    }

    /// As [`Sockets::receive`], by a socket that has a session.
    pub(super) fn receive_secure(&mut self, id: u32, input: &mut Vec<u8>) -> ReceiveOutcome {
        let mut encrypted = std::mem::take(&mut self.encrypted);
        encrypted.clear();
        let outcome = self.receive_into(id, &mut encrypted, input);
        self.encrypted = encrypted;
        outcome
    }

    fn receive_into(
        &mut self,
        id: u32,
        encrypted: &mut Vec<u8>,
        input: &mut Vec<u8>,
    ) -> ReceiveOutcome {
        let is_handshaking = self.get(id).is_some_and(|it| it.is_handshaking());
        if is_handshaking {
            if self.handshakes_left == 0 {
                self.list(id);
                return ReceiveOutcome::Nothing;
            }
            self.handshakes_left -= 1;
        }
        let Some(socket) = self.get(id) else {
            return ReceiveOutcome::Nothing;
        };
        if socket.is_late {
            socket.is_readable = false;
            let why = format!(
                "its handshake was not over within {HANDSHAKE_MAX:?}, or others needed its place"
            );
            return ReceiveOutcome::Broken(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        socket.make_room(encrypted);
        let room = encrypted.capacity();
        let result = loop {
            let spare = rustix::buffer::spare_capacity(encrypted);
            match rustix::net::recv(&socket.stream, spare, RecvFlags::empty()) {
                Err(Errno::INTR) => {}
                result => break result.map(|(got, _)| got),
            }
        };
        let before = input.len();
        let Some(session) = &mut socket.session else {
            return ReceiveOutcome::Nothing;
        };
        let received = session.receive(encrypted, input);
        let has_ended = session.has_ended();
        // Answers of the protocol itself, or why it breaks off.
        socket.flush_session();
        if let Err(error) = received {
            return ReceiveOutcome::Broken(io::Error::other(explain(&error)));
        }
        if is_handshaking && !socket.is_handshaking() {
            let is_blocked = socket.is_blocked;
            self.unfinished -= usize::from(socket.handshake_until.take().is_some());
            if !is_blocked {
                // What could not be sent before can be now.
                self.writable.push(id);
            }
        }
        let outcome = self.on_received(id, room, result);
        let is_more = input.len() > before;
        match outcome {
            ReceiveOutcome::Bytes | ReceiveOutcome::Nothing if is_more => {
                if has_ended {
                    // The end is told by the next receive: it comes after these bytes.
                    self.on_readable(id, true);
                }
                ReceiveOutcome::Bytes
            }
            ReceiveOutcome::Bytes | ReceiveOutcome::Nothing if has_ended => ReceiveOutcome::End,
            ReceiveOutcome::Bytes => ReceiveOutcome::Nothing,
            // What stands before the end counts; the end comes again.
            ReceiveOutcome::End if is_more => {
                self.on_readable(id, true);
                ReceiveOutcome::Bytes
            }
            outcome => outcome,
        }
    }
}

#[cfg(test)]
#[path = "secure_test.rs"]
mod secure_test;
