//! HTTP connections, bounded in number and in idle time, in the clear or under TLS.
//!
//! The endpoints ask for no password, and every connection takes a descriptor that a client could
//! have had. So there are few, and one that asks nothing is closed.
//!
//! Invariant: whoever comes is taken. Where all places are, the connection makes room that was answered longest ago, of those that
//! have had time to ask: people who ask nothing, however many, keep nobody's question from being answered. Who comes while
//! all have just come waits in the kernel's queue.

use crate::reload::Current;
use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use brickyard_tls::rustls::ServerConfig;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};

/// Connections at a time. `descriptors` reserves for them.
pub(crate) const CONNECTIONS_MAX: usize = 256;

/// How long each connection has to shake hands and ask, whoever else comes. Bounds how many are taken: 2,560 a second.
const STAY_MIN: Duration = Duration::from_millis(100);

/// How long a connection may take to ask something, since it came or was answered. Longer than the usual scrape interval.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// How long to wait when a connection cannot be accepted.
const RETRY: Duration = Duration::from_millis(200);

/// See the module.
#[derive(Debug)]
pub(crate) struct HttpListener {
    listener: TcpListener,
    tls: Current<Arc<ServerConfig>>,
    places: Arc<Mutex<Places>>,
}

impl HttpListener {
    pub(crate) fn new(listener: TcpListener, tls: Current<Arc<ServerConfig>>) -> Self {
        Self {
            listener,
            tls,
            places: Arc::default(),
        }
    }

    /// See [`Places::full_until`].
    fn full_until(&self) -> Option<Instant> {
        locked(&self.places).full_until(Instant::now())
    }
}

impl axum::serve::Listener for HttpListener {
    type Io = HttpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (HttpStream, SocketAddr) {
        loop {
            while let Some(at) = self.full_until() {
                sleep_until(at).await;
            }
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
                            place: Place::take(&self.places, Instant::now()),
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

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

impl Connected<IncomingStream<'_, HttpListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, HttpListener>) -> Self {
        Self(*stream.remote_addr())
    }
}

/// Who is there, in the order in which each came or was last answered.
#[derive(Debug, Default)]
struct Places {
    next: u64,
    taken: BTreeMap<u64, Taken>,
}

#[derive(Debug)]
struct Taken {
    /// When its connection came, however often it was answered since: nobody keeps a place by asking.
    since: Instant,
    /// Dropped, it tells the connection to end.
    _connection: oneshot::Sender<()>,
}

impl Places {
    /// Puts one behind all others.
    fn insert(&mut self, taken: Taken) -> u64 {
        let number = self.next;
        self.next += 1;
        self.taken.insert(number, taken);
        number
    }

    /// Until when nobody can be taken, if so: all places are, and each by somebody who has just come.
    fn full_until(&self, now: Instant) -> Option<Instant> {
        if self.taken.len() < CONNECTIONS_MAX {
            return None;
        }
        let first = self.taken.values().map(|it| it.since + STAY_MIN).min();
        first.filter(|at| *at > now)
    }

    /// Lets the one go that was answered longest ago, of those that have had their time; the first one, where none has.
    fn make_room(&mut self, now: Instant) {
        let mut numbers = self.taken.iter();
        let old = numbers.find(|(_, it)| it.since + STAY_MIN <= now);
        let first = old.or_else(|| self.taken.first_key_value());
        if let Some(number) = first.map(|(number, _)| *number) {
            self.taken.remove(&number);
        }
    }
}

/// One connection's place, which it gives back at its end.
#[derive(Debug)]
struct Place {
    places: Arc<Mutex<Places>>,
    number: u64,
    /// Resolves when somebody else needs it.
    is_taken_away: oneshot::Receiver<()>,
}

impl Place {
    fn take(places: &Arc<Mutex<Places>>, now: Instant) -> Self {
        let (connection, is_taken_away) = oneshot::channel();
        let mut all = locked(places);
        if all.taken.len() >= CONNECTIONS_MAX {
            all.make_room(now);
        }
        Self {
            number: all.insert(Taken {
                since: now,
                _connection: connection,
            }),
            places: Arc::clone(places),
            is_taken_away,
        }
    }

    /// Its question was answered: others go before it.
    fn on_answered(&mut self) {
        let mut all = locked(&self.places);
        if let Some(connection) = all.taken.remove(&self.number) {
            self.number = all.insert(connection);
        }
    }

    fn poll_taken_away(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let is_taken_away = Pin::new(&mut self.is_taken_away).poll(context);
        is_taken_away.map(|_| io::ErrorKind::ConnectionAborted.into())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        locked(&self.places).taken.remove(&self.number);
    }
}

fn locked(places: &Mutex<Places>) -> MutexGuard<'_, Places> {
    places.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection that ends when it has asked nothing for too long, or is the one to make room.
pub(crate) struct HttpStream {
    socket: HttpSocket,
    idle: Pin<Box<Sleep>>,
    /// Among [`CONNECTIONS_MAX`].
    place: Place,
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
        if let Poll::Ready(error) = self.place.poll_taken_away(context) {
            return Poll::Ready(Err(error));
        }
        // A question that comes a byte at a time has no more time than others.
        if self.idle.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        self.poll_read_socket(context, buffer)
    }
}

impl AsyncWrite for HttpStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(error) = self.place.poll_taken_away(context) {
            return Poll::Ready(Err(error));
        }
        let written = match &mut self.socket {
            HttpSocket::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            HttpSocket::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
            HttpSocket::ShakingHands(_) => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        };
        if matches!(written, Poll::Ready(Ok(_))) {
            self.idle.as_mut().reset(Instant::now() + IDLE_MAX);
            self.place.on_answered();
        }
        written
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

#[cfg(test)]
mod http_listener_test {
    use super::*;

    fn fill(places: &Arc<Mutex<Places>>, now: Instant) -> Vec<Place> {
        let all = 0..CONNECTIONS_MAX;
        all.map(|_| Place::take(places, now)).collect()
    }

    fn is_taken_away(place: &mut Place) -> bool {
        place.is_taken_away.try_recv() != Err(oneshot::error::TryRecvError::Empty)
    }

    #[test]
    fn whoever_was_answered_longest_ago_makes_room() {
        let (places, start) = (Arc::default(), Instant::now());
        let mut taken: Vec<Place> = fill(&places, start);
        taken[0].on_answered();
        let mut late = Place::take(&places, start + STAY_MIN);
        let gone: Vec<bool> = taken.iter_mut().map(is_taken_away).collect();
        let gone = gone.iter().enumerate().filter(|(_, is_gone)| **is_gone);
        let gone: Vec<usize> = gone.map(|(at, _)| at).collect();
        assert_eq!(gone, [1], "the first one asked something meanwhile");
        assert!(!is_taken_away(&mut late));
    }

    #[test]
    fn everybody_has_time_to_ask_and_no_one_keeps_a_place_by_asking() {
        let (places, start) = (Arc::default(), Instant::now());
        let mut taken: Vec<Place> = fill(&places, start);
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        assert_eq!(locked(&places).full_until(at(99)), Some(at(100)));
        for place in &mut taken {
            place.on_answered();
        }
        assert_eq!(locked(&places).full_until(at(99)), Some(at(100)));
        assert_eq!(locked(&places).full_until(at(100)), None);
        // One that has just come stays, though others were answered later.
        taken.pop();
        let mut fresh = Place::take(&places, at(100));
        for place in &mut taken {
            place.on_answered();
        }
        let _late = Place::take(&places, at(101));
        assert!(!is_taken_away(&mut fresh));
        assert!(is_taken_away(&mut taken[0]));
    }

    #[test]
    fn place_that_was_given_back_is_taken_without_anybody_making_room() {
        let (places, start) = (Arc::default(), Instant::now());
        let mut taken: Vec<Place> = fill(&places, start);
        taken.pop();
        assert_eq!(locked(&places).full_until(start), None);
        let _late = Place::take(&places, start);
        assert!(!taken.iter_mut().any(is_taken_away));
    }
}
