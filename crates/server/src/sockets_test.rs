//! Edges over real loopback sockets: nothing is forgotten, nothing is read twice.

use super::*;
use mio::{Events, Poll};
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::time::Duration;

struct Pair {
    poll: Poll,
    sockets: Sockets,
    client: std::net::TcpStream,
}

impl Pair {
    fn new() -> Self {
        let poll = Poll::new().expect("a poll");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = std::net::TcpStream::connect(listener.local_addr().expect("bound"));
        let (server, _) = listener.accept().expect("a connection");
        server.set_nonblocking(true).expect("non-blocking");
        let mut sockets = Sockets::default();
        sockets
            .insert(poll.registry(), 0, TcpStream::from_std(server), None)
            .expect("registered");
        Self {
            poll,
            sockets,
            client: client.expect("connected"),
        }
    }

    /// Waits for edges until one says that the socket is readable.
    fn wait_readable(&mut self) {
        let mut events = Events::with_capacity(8);
        while !self.sockets.has_readable() {
            self.poll
                .poll(&mut events, Some(Duration::from_secs(10)))
                .expect("polled");
            assert!(!events.is_empty(), "no edge came");
            for event in &events {
                if event.is_readable() {
                    self.sockets.on_readable(0, event.is_read_closed());
                }
            }
        }
    }

    fn receive(&mut self, input: &mut Vec<u8>) -> ReceiveOutcome {
        let mut ready = Vec::new();
        self.sockets.take_readable(&mut ready, |id| id);
        assert_eq!(ready, [0]);
        self.sockets.receive(0, input)
    }
}

#[test]
fn short_read_drains_and_end_is_seen_behind_it() {
    let mut pair = Pair::new();
    pair.client.write_all(b"PING\r\n").expect("written");
    pair.client.shutdown(Shutdown::Write).expect("shut down");
    let mut input = Vec::new();
    let mut ended = false;
    while !ended {
        pair.wait_readable();
        ended = matches!(pair.receive(&mut input), ReceiveOutcome::End);
    }
    assert_eq!(input, b"PING\r\n");
}

#[test]
fn full_read_stays_listed_without_another_edge() {
    let mut pair = Pair::new();
    let sent = vec![7_u8; 3 * RECEIVE_BYTES_MIN];
    let mut client = pair.client.try_clone().expect("cloned");
    let writer = std::thread::spawn(move || client.write_all(&sent));
    let mut input = Vec::with_capacity(RECEIVE_BYTES_MIN);
    while input.len() < 3 * RECEIVE_BYTES_MIN {
        pair.wait_readable();
        assert!(matches!(pair.receive(&mut input), ReceiveOutcome::Bytes));
    }
    writer.join().expect("the writer ends").expect("written");
    assert_eq!(input.len(), 3 * RECEIVE_BYTES_MIN);
}

#[test]
fn blocked_send_waits_for_its_edge() {
    let mut pair = Pair::new();
    let bytes = vec![1_u8; 1 << 20];
    let mut total = 0;
    loop {
        match pair.sockets.send(0, &bytes) {
            Sent::Bytes(sent) => total += sent,
            Sent::Blocked => break,
            Sent::Broken(error) => panic!("broken: {error}"),
        }
    }
    let mut client = pair.client.try_clone().expect("cloned");
    let reader = std::thread::spawn(move || {
        let mut sink = vec![0; total];
        client.read_exact(&mut sink)
    });
    let mut events = Events::with_capacity(8);
    let mut is_unblocked = false;
    while !is_unblocked {
        pair.poll
            .poll(&mut events, Some(Duration::from_secs(10)))
            .expect("polled");
        for event in &events {
            pair.sockets.on_edge(0, event);
        }
        is_unblocked = pair.sockets.poll_writable() == Some(0);
    }
    reader.join().expect("the reader ends").expect("read");
    assert!(matches!(pair.sockets.send(0, b"x"), Sent::Bytes(1)));
}

#[test]
fn removed_socket_is_left_alone() {
    let mut pair = Pair::new();
    pair.sockets.remove(pair.poll.registry(), 0);
    pair.sockets.on_readable(0, false);
    assert!(!pair.sockets.has_readable());
    assert!(matches!(pair.sockets.send(0, b"x"), Sent::Blocked));
    let received = pair.sockets.receive(0, &mut Vec::new());
    assert!(matches!(received, ReceiveOutcome::Nothing));
}

#[test]
fn what_a_turn_left_comes_first_and_once() {
    let poll = Poll::new().expect("a poll");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let mut sockets = Sockets::default();
    for id in 0..3 {
        let client = TcpStream::connect(address).expect("connected");
        sockets
            .insert(poll.registry(), id, client, None)
            .expect("registered");
        sockets.on_readable(id, false);
    }
    let mut ready = Vec::new();
    sockets.take_readable(&mut ready, |id| id);
    assert_eq!(ready, [0, 1, 2]);
    sockets.on_readable(0, false);
    sockets.on_readable(2, false);
    sockets.remove(poll.registry(), 1);
    sockets.put_back([1].into_iter());
    assert_eq!(
        sockets.readable,
        [0, 2],
        "one that is gone does not come back"
    );
    ready.clear();
    sockets.take_readable(&mut ready, |id| id);
    sockets.on_readable(0, false);
    sockets.put_back([2, 0].into_iter());
    assert_eq!(sockets.readable, [2, 0]);
}

/// Sockets 0 to `count` - 1, and their clients.
fn connected(count: u32) -> (Poll, Sockets, Vec<std::net::TcpStream>) {
    let poll = Poll::new().expect("a poll");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let mut sockets = Sockets::default();
    let clients = (0..count).map(|id| {
        let client = std::net::TcpStream::connect(address).expect("connected");
        let (server, _) = listener.accept().expect("a connection");
        server.set_nonblocking(true).expect("non-blocking");
        let inserted = sockets.insert(poll.registry(), id, TcpStream::from_std(server), None);
        inserted.expect("registered");
        client
    });
    let clients = clients.collect();
    (poll, sockets, clients)
}

/// What a batch has to tell apart: the sockets' outcomes and inputs, and which are to be received from again.
fn batch_of_all_kinds(ring: Option<&mut Ring>) -> (Vec<String>, Vec<Vec<u8>>, Vec<u32>) {
    let (poll, mut sockets, clients) = connected(6);
    (&clients[0]).write_all(b"PING\r\n").expect("written");
    (&clients[1]).write_all(&[3; 100]).expect("written");
    clients[2].shutdown(Shutdown::Write).expect("shut down");
    (&clients[4]).write_all(b"gone").expect("written");
    sockets.remove(poll.registry(), 4);
    let mut batch: Vec<Receive<u32>> = (0..6)
        .map(|id| Receive {
            id,
            input: Vec::new(),
            outcome: ReceiveOutcome::Nothing,
        })
        .collect();
    // What has come fills the room that there is.
    sockets.get(1).expect("open").appetite = 64;
    batch[1].input = Vec::with_capacity(64);
    sockets.receive_batch(ring, &mut batch, |id| id);
    let outcomes = batch.iter().map(|it| format!("{:?}", it.outcome));
    let outcomes = outcomes.collect();
    let inputs = batch.into_iter().map(|it| it.input).collect();
    let mut left = Vec::new();
    sockets.take_readable(&mut left, |id| id);
    (outcomes, inputs, left)
}

#[test]
fn a_batch_is_received_as_its_sockets_are_one_by_one() {
    let alone = batch_of_all_kinds(None);
    let outcomes = ["Bytes", "Bytes", "End", "Nothing", "Nothing", "Nothing"];
    assert_eq!(alone.0, outcomes);
    assert_eq!(alone.1[0], b"PING\r\n");
    assert_eq!(alone.1[1].len(), 64);
    assert_eq!(alone.2, [1], "its receive was full: there may be more");
    match Ring::new() {
        Ok(mut ring) => assert_eq!(batch_of_all_kinds(Some(&mut ring)), alone),
        Err(error) => println!("not tried through a ring: {error}"),
    }
}

/// What came of two batches of sends: to clients that read, to one that does not, and to one that is gone.
fn sends_of_all_kinds(mut ring: Option<&mut Ring>) -> Vec<String> {
    let (poll, mut sockets, clients) = connected(5);
    sockets.remove(poll.registry(), 3);
    let long = vec![1_u8; 64 << 20];
    let bytes = |id: u32| if id == 1 { &long[..] } else { &b"+OK\r\n"[..] };
    let mut told = Vec::new();
    for _ in 0..2 {
        let mut sent = Vec::new();
        let ids: &[u32] = &[0, 1, 2, 3, 4];
        sockets.send_batch(ring.as_deref_mut(), (ids, |id| id), bytes, &mut sent);
        told.extend(sent.iter().map(|it| match it {
            Sent::Bytes(count) if *count < (1 << 10) => format!("{count}"),
            Sent::Bytes(_) => "some".to_owned(),
            other => format!("{other:?}"),
        }));
    }
    drop(sockets);
    for id in [0, 2, 4] {
        let mut heard = Vec::new();
        (&clients[id]).read_to_end(&mut heard).expect("heard");
        assert_eq!(heard, b"+OK\r\n+OK\r\n", "each once, and in order");
    }
    told
}

#[test]
fn a_batch_is_sent_as_its_sockets_are_one_by_one() {
    let alone = sends_of_all_kinds(None);
    let first = ["5", "some", "5", "Blocked", "5"];
    // The second time it is known that the long one is blocked.
    let second = ["5", "Blocked", "5", "Blocked", "5"];
    assert_eq!(alone, [first, second].concat());
    match Ring::new() {
        Ok(mut ring) => assert_eq!(sends_of_all_kinds(Some(&mut ring)), alone),
        Err(error) => println!("not tried through a ring: {error}"),
    }
}
