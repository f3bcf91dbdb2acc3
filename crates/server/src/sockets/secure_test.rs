//! Clients' sockets under TLS: handshakes in the loop, few a turn and in time; then requests and replies.

use super::*;
use brickyard_tls::rustls::{ServerConfig, StreamOwned};
use brickyard_tls::{
    Authority, CertificateRequest, CertificateRole, Dialer, DialerFiles, IdentityFiles, Session,
    client_port,
};
use mio::{Events, Poll};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant as StdInstant};

const START: Instant = Instant(1_000_000_000);

/// A node's configuration, and a client that believes it.
fn both() -> (Arc<ServerConfig>, Dialer) {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    let validity = Duration::from_secs(86_400);
    let (authority, issued) = Authority::new("ours", validity).expect("an authority");
    std::fs::write(at("ca.crt"), issued.certificate).expect("written");
    let request = CertificateRequest {
        name: "n",
        role: CertificateRole::Node,
        hosts: &[],
        validity,
    };
    let issued = authority.issue(&request).expect("issued");
    std::fs::write(at("n.crt"), issued.certificate).expect("written");
    std::fs::write(at("n.key"), issued.key).expect("written");
    let files = IdentityFiles {
        certificate: at("n.crt"),
        key: at("n.key"),
    };
    let dialer = Dialer::read(DialerFiles {
        authority: at("ca.crt"),
        identity: None,
    });
    let config = client_port(&files, None).expect("a configuration");
    (config, dialer.expect("a client"))
}

/// Sockets with clients, which have connected and not said anything.
struct Clients {
    poll: Poll,
    sockets: Sockets,
    streams: Vec<TcpStream>,
    listener: TcpListener,
    config: Arc<ServerConfig>,
    /// Of handshakes that are not over.
    max: usize,
}

impl Clients {
    fn new(count: u32, config: &Arc<ServerConfig>) -> Self {
        Self::at_most(usize::MAX, count, config)
    }

    fn at_most(max: usize, count: u32, config: &Arc<ServerConfig>) -> Self {
        let mut clients = Self {
            poll: Poll::new().expect("a poll"),
            sockets: Sockets::default(),
            streams: Vec::new(),
            listener: TcpListener::bind("127.0.0.1:0").expect("a port"),
            config: Arc::clone(config),
            max,
        };
        (0..count).for_each(|id| clients.connect(id));
        clients
    }

    fn connect(&mut self, id: u32) {
        let at = self.listener.local_addr().expect("bound");
        self.streams
            .push(TcpStream::connect(at).expect("connected"));
        let (server, _) = self.listener.accept().expect("a connection");
        server.set_nonblocking(true).expect("non-blocking");
        let session = Session::accept(Arc::clone(&self.config)).expect("a session");
        let session = Some(Box::new(session));
        let server = mio::net::TcpStream::from_std(server);
        self.sockets
            .insert(self.poll.registry(), id, server, session)
            .expect("registered");
        self.sockets.expect_handshake(id, START, self.max);
    }

    /// One turn: each socket that is ready is received from; what came of each.
    fn turn(&mut self, now: Instant) -> Vec<(u32, Vec<u8>, ReceiveOutcome)> {
        let wait = Duration::from_millis(if self.sockets.has_readable() { 0 } else { 10 });
        let mut events = Events::with_capacity(64);
        self.poll.poll(&mut events, Some(wait)).expect("polled");
        for event in &events {
            self.sockets.on_edge(event.token().0 as u32, event);
        }
        self.sockets.end_late_handshakes(now);
        let mut ready = Vec::new();
        self.sockets.take_readable(&mut ready, |id| id);
        let received = ready.into_iter().map(|id| {
            let mut input = Vec::new();
            let outcome = self.sockets.receive(id, &mut input);
            (id, input, outcome)
        });
        received.collect()
    }

    /// Turns until somebody has said something.
    fn turn_until_asked(&mut self) {
        let end = StdInstant::now() + Duration::from_secs(60);
        loop {
            assert!(StdInstant::now() < end, "nobody says anything");
            let mut received = self.turn(START).into_iter();
            if received.any(|(_, input, _)| input == b"ask") {
                return;
            }
        }
    }

    /// Those that a turn finds broken.
    fn ended(&mut self) -> Vec<u32> {
        let turn = self.turn(START).into_iter();
        let broken = turn.filter(|(_, _, outcome)| matches!(outcome, ReceiveOutcome::Broken(_)));
        broken.map(|(id, ..)| id).collect()
    }

    fn shaking_hands(&self) -> usize {
        let sockets = self.sockets.sockets.iter().flatten();
        sockets.filter(|it| it.is_handshaking()).count()
    }
}

/// A client that says something of three bytes and waits for as many.
fn talk(dialer: &Dialer, stream: TcpStream) -> JoinHandle<[u8; 3]> {
    let connection = dialer.connection("localhost:6379").expect("a client");
    std::thread::spawn(move || {
        let mut stream = StreamOwned::new(connection, stream);
        stream.write_all(b"ask").expect("sent");
        let mut reply = [0; 3];
        stream.read_exact(&mut reply).expect("a reply");
        reply
    })
}

#[test]
fn handshakes_are_made_a_few_a_turn_and_all_are_served() {
    let (config, dialer) = both();
    let count = 3 * HANDSHAKES_A_TURN;
    let mut clients = Clients::new(count as u32, &config);
    let talks = std::mem::take(&mut clients.streams).into_iter();
    let talks: Vec<_> = talks.map(|stream| talk(&dialer, stream)).collect();
    let mut asked = 0;
    let end = StdInstant::now() + Duration::from_secs(60);
    while asked < count {
        assert!(StdInstant::now() < end, "{asked} of {count} were heard");
        let before = clients.shaking_hands();
        for (id, input, outcome) in clients.turn(START) {
            match outcome {
                ReceiveOutcome::Bytes => {
                    assert_eq!(input, b"ask", "nothing is passed on but what was said");
                    asked += 1;
                    let sent = clients.sockets.send(id, b"yes");
                    assert!(matches!(sent, Sent::Bytes(3)), "{sent:?}");
                }
                // One that has its reply goes.
                ReceiveOutcome::Nothing | ReceiveOutcome::End => assert_eq!(input, b""),
                other => panic!("{other:?}"),
            }
        }
        assert!(before - clients.shaking_hands() <= HANDSHAKES_A_TURN);
    }
    for talk in talks {
        assert_eq!(talk.join().expect("it ends"), *b"yes");
    }
}

#[test]
fn a_handshake_that_takes_too_long_is_ended_and_one_that_is_over_is_not() {
    let (config, dialer) = both();
    let mut clients = Clients::new(2, &config);
    // The second says nothing at all.
    let first = talk(&dialer, clients.streams.remove(0));
    clients.turn_until_asked();
    let before = START + (HANDSHAKE_MAX - Duration::from_nanos(1));
    let in_time = clients.turn(before);
    assert!(in_time.iter().all(|(id, ..)| *id == 0), "{in_time:?}");
    let late = clients.turn(START + HANDSHAKE_MAX);
    let [(1, _, ReceiveOutcome::Broken(error))] = late.as_slice() else {
        panic!("{late:?}");
    };
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(matches!(clients.sockets.send(0, b"yes"), Sent::Bytes(3)));
    assert_eq!(first.join().expect("it ends"), *b"yes");
}

#[test]
fn of_too_many_handshakes_that_are_not_over_the_oldest_ends() {
    let (config, dialer) = both();
    let mut clients = Clients::at_most(2, 2, &config);
    let first = talk(&dialer, clients.streams.remove(0));
    clients.turn_until_asked();
    // One is over, and takes no place any more.
    clients.connect(2);
    assert!(clients.ended().is_empty(), "there is room for two");
    clients.connect(3);
    assert_eq!(clients.ended(), [1]);
    clients.sockets.remove(clients.poll.registry(), 1);
    assert_eq!(clients.sockets.unfinished, 2);
    assert!(clients.ended().is_empty());
    assert!(matches!(clients.sockets.send(0, b"yes"), Sent::Bytes(3)));
    assert_eq!(first.join().expect("it ends"), *b"yes");
}

#[test]
fn what_is_sent_before_the_handshake_is_over_waits_for_it() {
    let (config, dialer) = both();
    let mut clients = Clients::new(1, &config);
    assert!(matches!(clients.sockets.send(0, b"yes"), Sent::Blocked));
    let talk = talk(&dialer, clients.streams.remove(0));
    clients.turn_until_asked();
    assert_eq!(clients.sockets.poll_writable(), Some(0), "it can go on");
    assert!(matches!(clients.sockets.send(0, b"yes"), Sent::Bytes(3)));
    assert_eq!(talk.join().expect("it ends"), *b"yes");
}
