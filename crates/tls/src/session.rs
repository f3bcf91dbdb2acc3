//! One TLS connection without its socket.
//!
//! In:  bytes that came by the socket, plain bytes to send. Out: plain bytes that came, bytes for the socket.
//!
//! Invariants:
//! - Plain bytes that came are all passed on at once; nothing of them stays here.
//! - Before the handshake is over nothing is passed on, and no more than [`HANDSHAKE_BYTES`] are taken.
//! - At most [`OUTPUT_BYTES`] and a record of what is to be sent wait here for a socket that takes nothing.

use rustls::{Connection, Error, ServerConfig, ServerConnection};
use std::io::{self, BufRead as _, Write};
use std::sync::Arc;

/// Bytes that wait for the socket until no more are taken.
const OUTPUT_BYTES: usize = 64 << 10;

/// Bytes that a handshake may take, with what comes in one piece with its end: chains of certificates have some kilobytes.
const HANDSHAKE_BYTES: usize = 128 << 10;

/// See the module.
#[derive(Debug)]
pub struct Session {
    connection: Connection,
    /// Of [`HANDSHAKE_BYTES`].
    handshake_left: usize,
    /// The other end has said that it will send no more.
    has_ended: bool,
}

impl Session {
    /// Goes on with a connection that was begun elsewhere.
    #[must_use]
    pub fn new(mut connection: Connection) -> Self {
        connection.set_buffer_limit(Some(OUTPUT_BYTES));
        Self {
            connection,
            handshake_left: HANDSHAKE_BYTES,
            has_ended: false,
        }
    }

    /// The end that is asked, of a new connection.
    ///
    /// # Errors
    /// The library refuses the configuration.
    pub fn accept(config: Arc<ServerConfig>) -> Result<Self, Error> {
        Ok(Self::new(ServerConnection::new(config)?.into()))
    }

    /// Whether nothing may be sent yet.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Whether the other end has said that it will send no more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Takes what came by the socket, and appends what it says to `plain`.
    ///
    /// # Errors
    /// It is not what may come: the connection is to be closed, when what [`Self::send_to`] has was sent.
    pub fn receive(&mut self, mut bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), Error> {
        self.take_plain(plain);
        if self.is_handshaking() {
            let left = self.handshake_left.checked_sub(bytes.len());
            self.handshake_left =
                left.ok_or_else(|| Error::General("its handshake is too long".to_owned()))?;
        }
        while !bytes.is_empty() && !self.has_ended {
            // It takes some kilobytes at a time, and no more before what it has was taken off.
            let taken = self.connection.read_tls(&mut bytes);
            taken.map_err(|error| Error::General(error.to_string()))?;
            let state = self.connection.process_new_packets()?;
            self.take_plain(plain);
            self.has_ended = state.peer_has_closed();
        }
        Ok(())
    }

    fn take_plain(&mut self, plain: &mut Vec<u8>) {
        let mut reader = self.connection.reader();
        // An error means that there is none, or the end.
        while let Ok(chunk) = reader.fill_buf()
            && !chunk.is_empty()
        {
            plain.extend_from_slice(chunk);
            let taken = chunk.len();
            reader.consume(taken);
        }
    }

    /// Takes plain bytes to send, as many as there is room for; how many.
    ///
    /// # Panics
    /// Before the handshake is over (a caller bug): they would wait here.
    pub fn encrypt(&mut self, plain: &[u8]) -> usize {
        assert!(
            !self.is_handshaking(),
            "nothing is sent before the handshake"
        );
        // It fails in no way but by taking none.
        self.connection.writer().write(plain).unwrap_or(0)
    }

    /// Gives the socket what there is for it; whether it took all.
    ///
    /// # Errors
    /// Of the socket.
    pub fn send_to(&mut self, socket: &mut impl Write) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Says that no more will be sent.
    pub fn end(&mut self) {
        self.connection.send_close_notify();
    }
}

#[cfg(test)]
#[path = "session_test.rs"]
mod session_test;
