//! HTTP connections, bounded in number and in idle time, in the clear or under TLS.
//!
//! The endpoints ask for no password, and every connection takes a descriptor that a client could
//! have had. So there are few, and one that says nothing is closed.

use crate::tls::Current;
use brickyard_tls::rustls::ServerConfig;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};

/// Connections at a time; further ones wait in the backlog. `descriptors` reserves for them.
const CONNECTIONS_MAX: usize = 48;

/// How long a connection may say nothing. Longer than the usual scrape interval.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// How long to wait when a connection cannot be accepted.
const RETRY: Duration = Duration::from_millis(200);

/// See the module.
#[derive(Debug)]
pub(crate) struct HttpListener {
    listener: TcpListener,
    tls: Current<Arc<ServerConfig>>,
    places: Arc<Semaphore>,
}

impl HttpListener {
    pub(crate) fn new(listener: TcpListener, tls: Current<Arc<ServerConfig>>) -> Self {
        Self {
            listener,
            tls,
            places: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
        }
    }
}

impl axum::serve::Listener for HttpListener {
    type Io = HttpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (HttpStream, SocketAddr) {
        loop {
            // The semaphore is never closed, and a full backlog is the answer to too many.
            let Ok(place) = Arc::clone(&self.places).acquire_owned().await else {
                std::future::pending::<()>().await;
                continue;
            };
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    let idle = Box::pin(sleep(IDLE_MAX));
                    let socket = match self.tls.now() {
                        None => HttpSocket::Plain(stream),
                        Some(tls) => {
                            let accept = TlsAcceptor::from(tls).accept(stream);
                            HttpSocket::ShakingHands(Box::new(accept))
                        }
                    };
                    return (
                        HttpStream {
                            socket,
                            idle,
                            _place: place,
                        },
                        peer,
                    );
                }
                Err(error) => {
                    tracing::debug!(%error, "cannot accept an HTTP connection");
                    sleep(RETRY).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that ends when it has been silent for too long.
pub(crate) struct HttpStream {
    socket: HttpSocket,
    idle: Pin<Box<Sleep>>,
    /// Its place among [`CONNECTIONS_MAX`].
    _place: OwnedSemaphorePermit,
}

/// The handshake is made by whoever reads first, as anybody does in HTTP: accepting goes on meanwhile.
enum HttpSocket {
    Plain(TcpStream),
    ShakingHands(Box<Accept<TcpStream>>),
    Tls(Box<TlsStream<TcpStream>>),
}

impl HttpStream {
    fn poll_read_socket(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            match &mut self.socket {
                HttpSocket::Plain(stream) => return Pin::new(stream).poll_read(context, buffer),
                HttpSocket::Tls(stream) => return Pin::new(stream).poll_read(context, buffer),
                HttpSocket::ShakingHands(accept) => {
                    let accepted = ready!(Pin::new(accept).poll(context));
                    self.socket = HttpSocket::Tls(Box::new(accepted?));
                }
            }
        }
    }
}

impl AsyncRead for HttpStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.poll_read_socket(context, buffer) {
            Poll::Pending if self.idle.as_mut().poll(context).is_ready() => {
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            Poll::Pending => Poll::Pending,
            done @ Poll::Ready(_) => {
                self.idle.as_mut().reset(Instant::now() + IDLE_MAX);
                done
            }
        }
    }
}

impl AsyncWrite for HttpStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.socket {
            HttpSocket::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            HttpSocket::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
            HttpSocket::ShakingHands(_) => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            HttpSocket::Plain(stream) => Pin::new(stream).poll_flush(context),
            HttpSocket::Tls(stream) => Pin::new(stream).poll_flush(context),
            HttpSocket::ShakingHands(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            HttpSocket::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            HttpSocket::Tls(stream) => Pin::new(stream).poll_shutdown(context),
            HttpSocket::ShakingHands(_) => Poll::Ready(Ok(())),
        }
    }
}
