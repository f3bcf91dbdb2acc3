//! Sockets to a server, in the clear or under TLS: one that waits, for what is not measured, and one that does not.
//!
//! In:  an address. Out: bytes both ways.
//!
//! Invariant: under TLS nothing is passed on before the server's certificate was accepted.

use brickyard_tls::rustls::{ClientConnection, StreamOwned};
use brickyard_tls::{Dialer, Session, in_words};
use std::{
    io::{self, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    time::Duration,
};

/// How long an address may take to answer, and a handshake to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Room for what comes encrypted, in one read.
const READ_BYTES: usize = 64 * 1024;

/// A socket that waits.
#[derive(Debug)]
pub(crate) enum LinkSocket {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// A socket that does not wait.
#[derive(Debug)]
pub(crate) struct RunSocket {
    pub(crate) stream: mio::net::TcpStream,
    tls: Option<Box<RunTls>>,
}

#[derive(Debug)]
struct RunTls {
    session: Session,
    encrypted: Vec<u8>,
    /// Bytes that came and were not passed on begin at `start`.
    plain: Vec<u8>,
    start: usize,
    /// The session has something that the socket did not take.
    is_blocked: bool,
}

impl LinkSocket {
    /// Connects, and under TLS makes the handshake.
    pub(crate) fn connect(address: &str, tls: Option<&Dialer>) -> io::Result<Self> {
        let mut stream = connect(address)?;
        stream.set_nodelay(true)?;
        let Some(dialer) = tls else {
            return Ok(Self::Plain(stream));
        };
        let mut connection = dialer.connection(address).map_err(io::Error::other)?;
        stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream).map_err(in_words)?;
        }
        stream.set_read_timeout(None)?;
        Ok(Self::Tls(Box::new(StreamOwned::new(connection, stream))))
    }

    /// Gives every read and write at most `limit`.
    pub(crate) fn set_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => &stream.sock,
        };
        stream.set_read_timeout(limit)?;
        stream.set_write_timeout(limit)
    }
}

impl Read for LinkSocket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(bytes),
            Self::Tls(stream) => stream.read(bytes).map_err(in_words),
        }
    }
}

impl Write for LinkSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes).map_err(in_words),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

impl RunSocket {
    /// Goes on with a socket without waiting.
    pub(crate) fn new(socket: LinkSocket) -> io::Result<Self> {
        let (stream, tls) = match socket {
            LinkSocket::Plain(stream) => (stream, None),
            LinkSocket::Tls(socket) => {
                let StreamOwned { conn, sock } = *socket;
                let tls = RunTls {
                    session: Session::new(conn.into()),
                    encrypted: vec![0; READ_BYTES],
                    plain: Vec::new(),
                    start: 0,
                    is_blocked: false,
                };
                (sock, Some(Box::new(tls)))
            }
        };
        stream.set_nonblocking(true)?;
        let stream = mio::net::TcpStream::from_std(stream);
        Ok(Self { stream, tls })
    }

    /// Whether something that was written waits for the socket.
    pub(crate) fn is_blocked(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_blocked)
    }
}

impl RunTls {
    /// Gives the socket what there is for it; whether it took all.
    fn send(&mut self, stream: &mut mio::net::TcpStream) -> io::Result<bool> {
        self.is_blocked = !self.session.send_to(stream)?;
        Ok(!self.is_blocked)
    }

    /// Passes on what came, as far as there is room.
    fn take(&mut self, bytes: &mut [u8]) -> usize {
        let count = bytes.len().min(self.plain.len() - self.start);
        bytes[..count].copy_from_slice(&self.plain[self.start..self.start + count]);
        self.start += count;
        if self.start == self.plain.len() {
            self.plain.clear();
            self.start = 0;
        }
        count
    }
}

impl Read for RunSocket {
    /// Reads until there is no room, or the socket has nothing more: less than there is room for means that.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.stream.read(bytes);
        };
        let mut taken = 0;
        loop {
            taken += tls.take(&mut bytes[taken..]);
            if taken == bytes.len() {
                return Ok(taken);
            }
            match self.stream.read(&mut tls.encrypted) {
                Ok(0) => return Ok(taken),
                Ok(count) => {
                    let received = tls.session.receive(&tls.encrypted[..count], &mut tls.plain);
                    tls.send(&mut self.stream)?;
                    received.map_err(|error| in_words(io::Error::other(error)))?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && taken > 0 => {
                    return Ok(taken);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Write for RunSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.stream.write(bytes);
        };
        if !tls.send(&mut self.stream)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let taken = tls.session.encrypt(bytes);
        tls.send(&mut self.stream)?;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => self.stream.flush(),
            Some(tls) => tls.send(&mut self.stream).map(|_| ()),
        }
    }
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::InvalidInput, "the name has no address");
    for candidate in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&candidate, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
