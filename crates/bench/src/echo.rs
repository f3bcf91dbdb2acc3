//! A server that does nothing: the price of the sockets alone.
//!
//! In:  any bytes. Out: `+OK` for every line feed pattern that ends a request, or a fixed value.
//!
//! It looks at a request only to count it, keeps nothing, and answers each with the same bytes. What
//! it costs is what the operating system asks of any server with this many packets, so it is the
//! floor under every other row of a comparison at pipeline 1.
//!
//! Not here: the protocol. The counting works for requests of the load generator in this crate,
//! whose lengths are known beforehand.

use mio::{Events, Interest, Poll, Token, net::TcpListener};
use std::{
    io::{self, Read, Write},
    net::SocketAddr,
};

const LISTENER: Token = Token(usize::MAX);

/// What the server answers, and how it counts.
#[derive(Clone, Debug)]
pub struct Echo {
    /// The length of a request, in bytes: every so many bytes are one request.
    pub request_bytes: usize,
    /// The answer to each.
    pub reply: Vec<u8>,
}

impl Echo {
    /// Serves on `address` until the process ends; `ready` hears the port.
    ///
    /// # Errors
    /// The operating system's, when the address cannot be bound or the event queue fails.
    pub fn serve(&self, address: SocketAddr, ready: impl FnOnce(SocketAddr)) -> io::Result<()> {
        let mut poll = Poll::new()?;
        let mut listener = TcpListener::bind(address)?;
        poll.registry()
            .register(&mut listener, LISTENER, Interest::READABLE)?;
        ready(listener.local_addr()?);
        let mut clients: Vec<Option<Client>> = Vec::new();
        let mut events = Events::with_capacity(1024);
        let mut scratch = vec![0; 64 * 1024];
        loop {
            match poll.poll(&mut events, None) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            for event in &events {
                if event.token() == LISTENER {
                    accept_all(&listener, &poll, &mut clients)?;
                } else if let Some(client) = &mut clients[event.token().0]
                    && client.turn(self, &mut scratch).is_err()
                {
                    clients[event.token().0] = None;
                }
            }
        }
    }
}

fn accept_all(
    listener: &TcpListener,
    poll: &Poll,
    clients: &mut Vec<Option<Client>>,
) -> io::Result<()> {
    loop {
        match listener.accept() {
            Ok((mut stream, _)) => {
                stream.set_nodelay(true)?;
                let token = Token(clients.len());
                let interest = Interest::READABLE | Interest::WRITABLE;
                poll.registry().register(&mut stream, token, interest)?;
                clients.push(Some(Client {
                    stream,
                    partial_bytes: 0,
                    output: Vec::new(),
                }));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

struct Client {
    stream: mio::net::TcpStream,
    /// Bytes of a request that has not come whole.
    partial_bytes: usize,
    output: Vec<u8>,
}

impl Client {
    fn turn(&mut self, echo: &Echo, scratch: &mut [u8]) -> io::Result<()> {
        loop {
            self.flush()?;
            let read = match self.stream.read(scratch) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.partial_bytes += read;
            while self.partial_bytes >= echo.request_bytes {
                self.partial_bytes -= echo.request_bytes;
                self.output.extend_from_slice(&echo.reply);
            }
            if read < scratch.len() {
                return self.flush();
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(sent) => drop(self.output.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
