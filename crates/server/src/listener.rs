//! Accepts connections, also when the process has no file descriptor left.
//!
//! In:  edges of a listening socket. Out: streams, non-blocking, without delay.
//!
//! Invariant: the backlog is emptied by every edge (or the listener stays latched), so that an
//! edge-triggered poll never leaves a client waiting.

use mio::net::{TcpListener, TcpStream};
use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Connections that are accepted in one turn: a storm of them must not hold up those that are there.
const ACCEPTS_A_TURN: usize = 64;

/// Connections that the kernel completes while the loop is busy; it caps this at its own bound.
const BACKLOG: i32 = 4096;

/// What a client is told when there is no descriptor for it.
const NO_DESCRIPTOR: &[u8] = b"-ERR max number of clients reached\r\n";

/// One listening socket.
#[derive(Debug)]
pub(crate) struct Listener {
    listener: TcpListener,
    keepalive: Option<TcpKeepalive>,
    /// There may be more connections in the backlog.
    is_ready: bool,
    /// A descriptor to give up when there is no other: with it a connection can at least be
    /// accepted and refused, instead of being left in the backlog to wake the loop for ever.
    spare: Option<File>,
}

/// An address that is taken and not yet listened at: clients are refused until the node is ready,
/// and a second server on the same port is told at once, not after reading its log.
#[derive(Debug)]
pub(crate) struct Reserved(Socket);

impl Reserved {
    /// Takes `address`.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        // A restart must not wait for connections of the process before to time out.
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        Ok(Self(socket))
    }

    /// The address, with the port that the system chose if none was given.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        let address = self.0.local_addr()?;
        address
            .as_socket()
            .ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    /// Starts to listen.
    pub(crate) fn listen(self) -> io::Result<std::net::TcpListener> {
        self.0.set_nonblocking(true)?;
        brickyard_tcp::endure_loss(&self.0);
        self.0.listen(BACKLOG)?;
        Ok(self.0.into())
    }
}

impl Listener {
    /// Listens at a reserved address; accepted connections get keepalive probes after that time.
    pub(crate) fn new(reserved: Reserved, keepalive: Duration) -> io::Result<Self> {
        let listener = TcpListener::from_std(reserved.listen()?);
        let keepalive = (!keepalive.is_zero()).then(|| TcpKeepalive::new().with_time(keepalive));
        Ok(Self {
            listener,
            keepalive,
            is_ready: true,
            spare: spare(),
        })
    }

    /// Takes part in `registry`'s poll as `token`.
    pub(crate) fn register(
        &mut self,
        registry: &mio::Registry,
        token: mio::Token,
    ) -> io::Result<()> {
        registry.register(&mut self.listener, token, mio::Interest::READABLE)
    }

    /// Takes note of an edge.
    pub(crate) fn on_readable(&mut self) {
        self.is_ready = true;
    }

    /// Whether the loop must not sleep.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Accepts what is there, up to a bound, passing each stream to `take`.
    pub(crate) fn accept(&mut self, mut take: impl FnMut(TcpStream, SocketAddr)) {
        for _ in 0..ACCEPTS_A_TURN {
            if !self.is_ready {
                return;
            }
            match self.listener.accept() {
                Ok((stream, peer)) => {
                    self.prepare(&stream);
                    take(stream, peer);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.is_ready = false,
                Err(error) if is_out_of_descriptors(&error) => self.refuse(&error),
                Err(error) if is_about_one_connection(&error) => {}
                Err(error) => {
                    tracing::error!(%error, "cannot accept connections");
                    self.is_ready = false;
                }
            }
        }
    }

    fn prepare(&self, stream: &TcpStream) {
        // Neither is vital: a client that is gone already fails both.
        drop(stream.set_nodelay(true));
        if let Some(keepalive) = &self.keepalive {
            drop(SockRef::from(stream).set_tcp_keepalive(keepalive));
        }
    }

    fn refuse(&mut self, error: &io::Error) {
        tracing::warn!(%error, "refusing a connection: raise LimitNOFILE or lower maxclients");
        if self.spare.take().is_none() {
            // Not even the spare one could be had again. Wait for the next connection's edge.
            self.is_ready = false;
        } else if let Ok((mut stream, _)) = self.listener.accept() {
            drop(io::Write::write(&mut stream, NO_DESCRIPTOR));
        }
        self.spare = spare();
    }
}

fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errno = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        .iter()
        .any(|known| errno == Some(known.raw_os_error()))
}

/// Errors of the connection that was to be accepted, not of the listener (accept(2)).
fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown
    )
}
