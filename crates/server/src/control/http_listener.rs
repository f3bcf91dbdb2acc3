//! HTTP connections, bounded in number and in idle time.
//!
//! The endpoints ask for no password, and every connection takes a descriptor that a client could
//! have had. So there are few, and one that says nothing is closed.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

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
    places: Arc<Semaphore>,
}

impl HttpListener {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Self {
            listener,
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
                    return (
                        HttpStream {
                            stream,
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
#[derive(Debug)]
pub(crate) struct HttpStream {
    stream: TcpStream,
    idle: Pin<Box<Sleep>>,
    /// Its place among [`CONNECTIONS_MAX`].
    _place: OwnedSemaphorePermit,
}

impl AsyncRead for HttpStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
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
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
