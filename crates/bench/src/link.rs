//! A blocking connection to a server, for what is not measured: handshakes, loading, administration.
//!
//! In:  a [`Target`], requests as arguments or as bytes. Out: replies, as bytes or as values.
//! Not here: retries (the caller knows what is safe to send again).

use crate::{
    Error,
    reply::{Outcome, Protocol, skip},
    socket::LinkSocket,
};
use brickyard_client::Lookups;
use brickyard_tls::Dialer;
use brickyard_wire::{ReplyDecoder, ReplyLimits, ReplyStep, Value, encode_request};
use std::{
    fmt,
    io::{self, Read, Write},
    time::Duration,
};

const READ_BYTES: usize = 64 * 1024;

/// A server, and what every connection to it starts with.
#[derive(Clone)]
pub struct Target {
    /// `host:port`.
    pub address: String,
    /// The language that it speaks.
    pub protocol: Protocol,
    /// User name; a password without one is the default user's.
    pub user: Option<String>,
    /// Password.
    pub password: Option<String>,
    /// The table to work on; `None` leaves the one that the server starts the user in.
    pub table: Option<String>,
    /// More than 1: connections take turns among so many tables, which have this table's name and a number
    /// from 0 behind it.
    pub tables: usize,
    /// What connections go by under TLS; without, they are in the clear.
    pub tls: Option<Dialer>,
    /// How the client library finds who holds a key, where that is what measures.
    pub lookups: Lookups,
    /// After each pipeline of a closed loop, wait until so many replicas have what was written (`WAIT`); 0: do not.
    pub wait_replicas: u32,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("address", &self.address)
            .field("protocol", &self.protocol)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "***"))
            .field("table", &self.table)
            .field("tables", &self.tables)
            .field("tls", &self.tls.is_some())
            .field("lookups", &self.lookups)
            .field("wait_replicas", &self.wait_replicas)
            .finish()
    }
}

impl Target {
    /// A server that speaks RESP and asks for no password.
    #[must_use]
    pub fn resp(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            protocol: Protocol::Resp,
            user: None,
            password: None,
            table: None,
            tables: 1,
            tls: None,
            lookups: Lookups::default(),
            wait_replicas: 0,
        }
    }

    /// What the connection of this number is opened to.
    pub(crate) fn of_connection(&self, number: usize) -> Self {
        let mut target = self.clone();
        if let Some(table) = target.table.as_mut().filter(|_| self.tables > 1) {
            table.push_str(&(number % self.tables).to_string());
        }
        target
    }
}

/// One blocking connection, past its handshake.
#[derive(Debug)]
pub struct Link {
    stream: LinkSocket,
    protocol: Protocol,
    input: Vec<u8>,
    start: usize,
}

impl Link {
    /// Connects, signs in and chooses the table.
    ///
    /// # Errors
    /// - [`Error::Connect`]: nobody answers at the address.
    /// - [`Error::Handshake`]: the server refuses the user, the password or the table.
    pub fn open(target: &Target) -> Result<Self, Error> {
        let stream = LinkSocket::connect(&target.address, target.tls.as_ref());
        let stream = stream.map_err(|source| Error::Connect {
            address: target.address.clone(),
            source,
        })?;
        let mut link = Self {
            stream,
            protocol: target.protocol,
            input: Vec::new(),
            start: 0,
        };
        if target.protocol == Protocol::Resp {
            link.shake_hands(target)?;
        }
        Ok(link)
    }

    fn shake_hands(&mut self, target: &Target) -> Result<(), Error> {
        if let Some(password) = &target.password {
            let user = target.user.as_deref().unwrap_or("default");
            let arguments = [&b"AUTH"[..], user.as_bytes(), password.as_bytes()];
            self.must_accept(target, "AUTH", &arguments)?;
        }
        if let Some(table) = &target.table {
            let arguments = [&b"TABLE"[..], b"USE", table.as_bytes()];
            self.must_accept(target, &format!("TABLE USE {table}"), &arguments)?;
        }
        Ok(())
    }

    fn must_accept(
        &mut self,
        target: &Target,
        request: &str,
        arguments: &[&[u8]],
    ) -> Result<(), Error> {
        let refused = |reply| Error::Handshake {
            address: target.address.clone(),
            request: request.to_owned(),
            reply,
        };
        match self.call(arguments) {
            Ok(Value::Error(text)) => Err(refused(String::from_utf8_lossy(&text).into_owned())),
            Ok(_) => Ok(()),
            Err(Error::Io { source, .. }) => Err(refused(format!("connection closed ({source})"))),
            Err(error) => Err(error),
        }
    }

    /// Sends one RESP request and waits for its reply.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection breaks, [`Error::Reply`] if the bytes are no reply.
    pub fn call<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> Result<Value, Error> {
        let mut request = Vec::new();
        encode_request(&mut request, arguments);
        self.send(&request)?;
        self.receive_value()
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection breaks.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.stream
            .write_all(bytes)
            .map_err(Error::io("cannot send to the server"))
    }

    /// Waits for the next RESP reply and decodes it.
    ///
    /// # Errors
    /// As [`Self::receive`].
    pub fn receive_value(&mut self) -> Result<Value, Error> {
        let (_, reply) = self.receive()?;
        // A decoder of its own for each reply: the bytes are whole, so none has to be continued.
        match ReplyDecoder::new(ReplyLimits::default()).decode(reply) {
            Ok(ReplyStep::Reply { value, .. }) => Ok(value),
            Ok(ReplyStep::Incomplete { .. }) | Err(_) => Err(Error::reply(reply)),
        }
    }

    /// Waits for the next reply; its bytes are valid until the next call.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection breaks, [`Error::Reply`] if the bytes are no reply.
    pub fn receive(&mut self) -> Result<(Outcome, &[u8]), Error> {
        loop {
            if let Some(reply) = skip(self.protocol, &self.input[self.start..])? {
                let begin = self.start;
                self.start += reply.bytes;
                return Ok((reply.outcome, &self.input[begin..self.start]));
            }
            self.read_more()
                .map_err(Error::io("cannot receive from the server"))?;
        }
    }

    fn read_more(&mut self) -> io::Result<()> {
        self.input.drain(..self.start);
        self.start = 0;
        let filled = self.input.len();
        // Growing with what is there keeps a huge reply from being scanned once a packet.
        self.input.resize(filled + READ_BYTES.max(filled), 0);
        let result = self.stream.read(&mut self.input[filled..]);
        self.input.truncate(filled + *result.as_ref().unwrap_or(&0));
        match result {
            Ok(0) => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection",
            )),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Gives every read and write at most `limit`.
    ///
    /// # Errors
    /// [`Error::Io`] if the operating system refuses.
    pub fn set_timeout(&mut self, limit: Option<Duration>) -> Result<(), Error> {
        self.stream
            .set_timeout(limit)
            .map_err(Error::io("cannot set the socket's time limit"))
    }

    /// The socket, for a caller that goes on without blocking.
    pub(crate) fn into_socket(self) -> LinkSocket {
        self.stream
    }
}

/// What comes as it is, for a stream that is no sequence of replies; what was received and not taken comes first.
impl Read for Link {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let waiting = &self.input[self.start..];
        if waiting.is_empty() {
            return self.stream.read(bytes);
        }
        let count = waiting.len().min(bytes.len());
        bytes[..count].copy_from_slice(&waiting[..count]);
        self.start += count;
        Ok(count)
    }
}

#[cfg(test)]
#[path = "link_test.rs"]
mod link_test;
