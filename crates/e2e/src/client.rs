//! A raw client: sends exactly the bytes it is told to, returns exactly what came back.

use crate::deadline::PATIENCE;
use crate::value::Value;
use brickyard_tls::Dialer;
use brickyard_tls::rustls::pki_types::CertificateDer;
use brickyard_tls::rustls::{ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};

/// One connection.
#[derive(Debug)]
pub struct Client {
    stream: Stream,
    /// Received and not yet returned, from `consumed` on.
    input: Vec<u8>,
    consumed: usize,
}

/// A socket, in the clear or under TLS.
#[derive(Debug)]
pub enum Stream {
    /// In the clear.
    Plain(TcpStream),
    /// Under TLS.
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    /// Connects to a port of a host, under TLS if there is somebody who dials so.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn connect(host: &str, port: u16, tls: Option<&Dialer>) -> io::Result<Self> {
        let stream = TcpStream::connect((host, port))?;
        stream.set_nodelay(true)?;
        let Some(tls) = tls else {
            return Ok(Self::Plain(stream));
        };
        let connection = tls.connection(host).map_err(io::Error::other)?;
        Ok(Self::Tls(Box::new(StreamOwned::new(connection, stream))))
    }

    /// The certificate that the other end has shown.
    #[must_use]
    pub fn shown(&self) -> Option<CertificateDer<'static>> {
        match self {
            Self::Plain(_) => None,
            Self::Tls(stream) => {
                let shown = stream.conn.peer_certificates()?.first();
                shown.map(|it| it.clone().into_owned())
            }
        }
    }

    /// The socket itself.
    #[must_use]
    pub const fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => &stream.sock,
        }
    }
}

impl Read for Stream {
    /// A read that has a time limit is cut short when the machine or the process was halted: it goes on then.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match self {
                Self::Plain(stream) => stream.read(bytes),
                Self::Tls(stream) => stream.read(bytes),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

impl Client {
    /// Connects to a port of this machine.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn try_connect(port: u16) -> io::Result<Self> {
        Self::try_connect_to("127.0.0.1", port)
    }

    /// Connects to a port of a host.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn try_connect_to(host: &str, port: u16) -> io::Result<Self> {
        Self::try_connect_by(host, port, None)
    }

    /// Connects to a port of a host, under TLS if there is somebody who dials so.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn try_connect_by(host: &str, port: u16, tls: Option<&Dialer>) -> io::Result<Self> {
        let stream = Stream::connect(host, port, tls)?;
        // A hang becomes an error instead of a suite that never ends.
        stream.socket().set_read_timeout(Some(PATIENCE / 3))?;
        stream.socket().set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            input: Vec::new(),
            consumed: 0,
        })
    }

    /// Connects to a port of this machine.
    ///
    /// # Panics
    /// If nobody listens there.
    #[must_use]
    pub fn connect(port: u16) -> Self {
        Self::try_connect(port).unwrap_or_else(|error| panic!("cannot connect to {port}: {error}"))
    }

    /// The certificate that the server has shown, once something was heard of it.
    #[must_use]
    pub fn shown(&self) -> Option<CertificateDer<'static>> {
        self.stream.shown()
    }

    /// The socket, for tests that need more of it.
    #[must_use]
    pub const fn stream(&self) -> &TcpStream {
        self.stream.socket()
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends one request without waiting for its reply.
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn send<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> io::Result<()> {
        let mut request = Vec::new();
        encode(&mut request, arguments);
        self.send_raw(&request)
    }

    /// The next reply.
    ///
    /// # Errors
    /// If the connection ends, nothing comes in time, or what comes is no reply.
    pub fn receive(&mut self) -> io::Result<Value> {
        loop {
            if let Some(value) = self.buffered()? {
                return Ok(value);
            }
            if self.fill()? == 0 {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the server closed the connection",
                ));
            }
        }
    }

    /// The next reply, if it has been received already.
    fn buffered(&mut self) -> io::Result<Option<Value>> {
        let decoded = Value::decode(&self.input[self.consumed..])
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let Some((value, len)) = decoded else {
            return Ok(None);
        };
        self.consumed += len;
        if self.consumed == self.input.len() {
            self.input.clear();
            self.consumed = 0;
        }
        Ok(Some(value))
    }

    /// Receives some more; 0 at the end of the stream.
    fn fill(&mut self) -> io::Result<usize> {
        let mut chunk = [0; 64 * 1024];
        let len = self.stream.read(&mut chunk)?;
        self.input.extend_from_slice(&chunk[..len]);
        Ok(len)
    }

    /// Sends one request and returns its reply.
    ///
    /// # Errors
    /// As [`Client::send`] and [`Client::receive`].
    pub fn try_call<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> io::Result<Value> {
        self.send(arguments)?;
        self.receive()
    }

    /// Sends one request and returns its reply.
    ///
    /// # Panics
    /// If there is none.
    pub fn call<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> Value {
        self.try_call(arguments)
            .unwrap_or_else(|error| panic!("no reply to {}: {error}", shown(arguments)))
    }

    /// Sends one request that must be answered with `+OK`.
    ///
    /// # Panics
    /// If it is answered otherwise.
    pub fn must<A: AsRef<[u8]>>(&mut self, arguments: &[A]) {
        let reply = self.call(arguments);
        assert!(
            reply.is_ok(),
            "{} was answered with {reply}",
            shown(arguments)
        );
    }

    /// Sends the words of `line`, split at blanks, as one request and returns its reply.
    ///
    /// # Panics
    /// If there is none.
    pub fn line(&mut self, line: &str) -> Value {
        self.call(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Tells the server that nothing more will be sent.
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn end_of_requests(&self) -> io::Result<()> {
        self.stream.socket().shutdown(Shutdown::Write)
    }

    /// Everything that the server sends until it closes the connection.
    ///
    /// # Errors
    /// If it does not close it in time. A reset counts as closed.
    pub fn receive_to_end(&mut self) -> io::Result<Vec<u8>> {
        loop {
            match self.fill() {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
                Err(error) => return Err(error),
            }
        }
        let rest = self.input.split_off(self.consumed);
        self.input.clear();
        self.consumed = 0;
        Ok(rest)
    }
}

/// Appends a request in RESP to `out`.
pub fn encode<A: AsRef<[u8]>>(out: &mut Vec<u8>, arguments: &[A]) {
    out.extend_from_slice(format!("*{}\r\n", arguments.len()).as_bytes());
    for argument in arguments {
        let argument = argument.as_ref();
        out.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        out.extend_from_slice(argument);
        out.extend_from_slice(b"\r\n");
    }
}

/// A request as a person would type it.
#[must_use]
pub fn shown<A: AsRef<[u8]>>(arguments: &[A]) -> String {
    let word = |argument: &A| {
        let text = crate::value::escaped(argument.as_ref());
        let plain = !text.is_empty() && !text.contains([' ', '\\', '"', '\'']);
        if plain { text } else { format!("\"{text}\"") }
    };
    arguments.iter().map(word).collect::<Vec<_>>().join(" ")
}
