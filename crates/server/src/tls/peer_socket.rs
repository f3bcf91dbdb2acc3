//! A socket to another node, in the clear or under TLS.
//!
//! In:  a connected socket. Out: plain bytes both ways; when a brick's loop goes on with it, the socket and its session.
//!
//! Invariant: under TLS nothing is read from the other end before its certificate was accepted.

use brickyard_tls::{NodeSide, Session, explain, rustls};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

/// See the module.
#[derive(Debug)]
pub(crate) enum PeerSocket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A socket that a brick's loop goes on with.
#[derive(Debug)]
pub(crate) struct LoopSocket {
    pub(crate) socket: std::net::TcpStream,
    /// Its TLS; plain bytes that it has taken already may be in it.
    pub(crate) session: Option<Box<Session>>,
}

impl PeerSocket {
    /// The end that was dialed.
    pub(crate) async fn accepted(socket: TcpStream, tls: Option<&NodeSide>) -> io::Result<Self> {
        let Some(tls) = tls else {
            return Ok(Self::Plain(socket));
        };
        let accepted = TlsAcceptor::from(tls.accept.clone()).accept(socket).await;
        Ok(Self::Tls(Box::new(accepted.map_err(refused)?.into())))
    }

    /// The end that dials.
    pub(crate) async fn dialed(socket: TcpStream, tls: Option<&NodeSide>) -> io::Result<Self> {
        let Some(tls) = tls else {
            return Ok(Self::Plain(socket));
        };
        let connector = TlsConnector::from(tls.dial.clone());
        let dialed = connector.connect(NodeSide::name(), socket).await;
        Ok(Self::Tls(Box::new(dialed.map_err(refused)?.into())))
    }

    /// For a brick's loop.
    pub(crate) fn into_loop(self) -> io::Result<LoopSocket> {
        match self {
            Self::Plain(socket) => Ok(LoopSocket {
                socket: socket.into_std()?,
                session: None,
            }),
            Self::Tls(stream) => {
                let (socket, connection) = match *stream {
                    TlsStream::Client(stream) => {
                        let (socket, connection) = stream.into_inner();
                        (socket, rustls::Connection::from(connection))
                    }
                    TlsStream::Server(stream) => {
                        let (socket, connection) = stream.into_inner();
                        (socket, connection.into())
                    }
                };
                Ok(LoopSocket {
                    socket: socket.into_std()?,
                    session: Some(Box::new(Session::new(connection))),
                })
            }
        }
    }
}

/// Why TLS with another node came to nothing, or ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NoTls(String);

/// TLS's own errors in words; those of the socket as they are.
fn refused(error: io::Error) -> io::Error {
    let known = error
        .get_ref()
        .and_then(|it| it.downcast_ref::<rustls::Error>());
    match known.map(explain) {
        Some(words) => io::Error::new(error.kind(), NoTls(words)),
        None => error,
    }
}

impl AsyncRead for PeerSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        };
        // The dialed end refuses a certificate when the dialing one has taken the handshake for done.
        polled.map_err(refused)
    }
}

impl AsyncWrite for PeerSocket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
