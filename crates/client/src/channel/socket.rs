//! A socket to a server, in the clear or under TLS.
//!
//! In:  an address. Out: bytes both ways, without waiting but for readiness.
//!
//! Invariants:
//! - Under TLS nothing is passed on before the server's certificate was accepted.
//! - Nothing that has come stays here: a read passes all of it on, since for what is left no readiness would be told.

use crate::connection::{Connection, Request};
use brickyard_tls::{Dialer, Session, explain};
use std::{
    io::{self, Write},
    time::Instant,
};
use tokio::{
    io::{Interest, Ready},
    net::TcpStream,
};

/// Room for what comes encrypted, in one read.
const READ_BYTES: usize = 64 * 1024;

/// See the module.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    tls: Option<Box<Tls>>,
}

#[derive(Debug)]
struct Tls {
    session: Session,
    encrypted: Vec<u8>,
    plain: Vec<u8>,
}

/// Writes what the socket takes.
struct Trying<'a>(&'a TcpStream);

impl Write for Trying<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket {
    /// Connects, and under TLS makes the handshake.
    pub(super) async fn connect(address: &str, tls: Option<&Dialer>) -> io::Result<Self> {
        let stream = brickyard_tcp::connect(address).await?;
        let Some(dialer) = tls else {
            return Ok(Self { stream, tls: None });
        };
        let connection = dialer.connection(address).map_err(io::Error::other)?;
        let mut tls = Tls {
            session: Session::new(connection.into()),
            encrypted: vec![0; READ_BYTES],
            plain: Vec::new(),
        };
        while tls.session.is_handshaking() {
            let interest = if tls.session.send_to(&mut Trying(&stream))? {
                Interest::READABLE
            } else {
                Interest::READABLE | Interest::WRITABLE
            };
            if stream.ready(interest).await?.is_readable() {
                tls.receive(&stream)?;
            }
        }
        // The end of the handshake may still have to leave; the first write or flush does it.
        let tls = Some(Box::new(tls));
        Ok(Self { stream, tls })
    }

    /// Waits until one of these can be done.
    pub(super) async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.stream.ready(interest).await
    }

    /// Writes what can be written of the connection's output; whether that was all.
    pub(super) fn write<R: Request>(&mut self, connection: &mut Connection<R>) -> io::Result<bool> {
        loop {
            let output = connection.poll_output(Instant::now());
            if output.is_empty() {
                return self.flush();
            }
            match self.try_write(output) {
                Ok(count) => connection.on_written(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.stream.try_write(bytes);
        };
        if !tls.session.send_to(&mut Trying(&self.stream))? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // An empty session takes some of it. What it has taken counts as written: it goes out before anything else.
        Ok(tls.session.encrypt(bytes))
    }

    /// Whether nothing waits for the socket.
    fn flush(&mut self) -> io::Result<bool> {
        match &mut self.tls {
            None => Ok(true),
            Some(tls) => tls.session.send_to(&mut Trying(&self.stream)),
        }
    }

    /// Reads once. What was read is in the connection also if this fails.
    pub(super) fn read<R: Request>(&mut self, connection: &mut Connection<R>) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            let count = received(self.stream.try_read(connection.input_space()))?;
            if count > 0 {
                connection.on_received(count, Instant::now());
            }
            return Ok(());
        };
        let outcome = tls.receive(&self.stream);
        let mut plain = tls.plain.as_slice();
        while !plain.is_empty() {
            let space = connection.input_space();
            let count = space.len().min(plain.len());
            space[..count].copy_from_slice(&plain[..count]);
            plain = &plain[count..];
            connection.on_received(count, Instant::now());
        }
        tls.plain.clear();
        outcome
    }
}

impl Tls {
    /// Reads once, and decrypts what came.
    fn receive(&mut self, stream: &TcpStream) -> io::Result<()> {
        let count = received(stream.try_read(&mut self.encrypted))?;
        let bytes = self.encrypted.get(..count).unwrap_or_default();
        let taken = self.session.receive(bytes, &mut self.plain);
        // Answers of the protocol itself, or why it breaks off; the next write has what the socket does not take now.
        drop(self.session.send_to(&mut Trying(stream)));
        taken.map_err(|error| io::Error::other(explain(&error)))?;
        if self.session.has_ended() {
            return Err(closed());
        }
        Ok(())
    }
}

/// How many bytes a read has brought; that there are none now is no error.
fn received(read: io::Result<usize>) -> io::Result<usize> {
    match read {
        Ok(0) => Err(closed()),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ) =>
        {
            Ok(0)
        }
        read => read,
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed it")
}
