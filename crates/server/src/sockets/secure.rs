//! Sockets with TLS: what they receive is decrypted at once, what they send is encrypted as it goes.
//!
//! Invariants:
//! - A receive takes one socket's call, and leaves nothing in the session that could be passed on.
//! - What is encrypted and not taken by the socket is bounded by the session (`brickyard_tls`); as long as there is some, the socket
//!   is blocked.

use super::{Socket, Sockets};
use brickyard_node::io::{ReceiveOutcome, Sent};
use brickyard_tls::explain;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::io;

impl Socket {
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
        let Some(socket) = self.get(id) else {
            return ReceiveOutcome::Nothing;
        };
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
