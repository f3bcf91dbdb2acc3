//! Clients that are broken, hostile or merely slow: the server answers the others as before.

use brickyard_e2e::client::{Client, encode};
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::random::Random;
use brickyard_e2e::server::{Server, Setup};
use brickyard_e2e::skip::number_from_environment;
use brickyard_e2e::value::Value;
use std::io::Write;
use std::time::Duration;

const MIB: u64 = 1 << 20;

fn assert_alive(server: &mut Server) {
    assert_eq!(
        server.process().exit_status(),
        None,
        "the server ended:\n{}",
        server.log()
    );
    let mut client = server.connect();
    client.must(&["SET", "alive", "yes"]);
    assert_eq!(client.call(&["GET", "alive"]).text(), "yes");
    let log = server.log();
    assert!(!log.contains("panicked"), "something panicked:\n{log}");
}

/// Garbage, and garbage that begins like a request, on hundreds of connections to every port.
#[test]
fn garbage_never_stops_the_server() {
    let mut server = Setup::brickyard(2).start();
    let rounds = number_from_environment("BRICKYARD_E2E_GARBAGE", 600);
    for seed in 0..rounds {
        let mut random = Random::new(seed);
        let port = [server.port(), server.brick_port(0), server.brick_port(1)][random.below(3)];
        let mut client = Client::connect(port);
        let mut bytes = Vec::new();
        for _ in 0..=random.below(5) {
            let len = random.below(200);
            match random.below(6) {
                0 => bytes.extend(random.bytes(len)),
                1 => bytes.extend_from_slice(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000000\r\n"),
                2 => bytes.extend_from_slice(b"*1000000\r\n"),
                3 => bytes
                    .extend_from_slice(format!("*{}\r\n${}\r\n", random.bits(), len).as_bytes()),
                4 => {
                    // A real command name with arguments that nobody expected.
                    let names = [
                        "SET", "BITFIELD", "GETRANGE", "SETRANGE", "SCAN", "CLIENT", "CLUSTER",
                        "TABLE", "CONFIG", "COMMAND", "MULTI", "EXEC", "WATCH", "HELLO", "EXPIRE",
                        "BITOP", "LCS", "SETBIT", "BITPOS", "OBJECT", "MEMORY", "INFO", "RENAME",
                        "COPY", "MSETNX", "SLOWLOG", "LATENCY", "WAIT",
                    ];
                    let mut request = vec![names[random.below(names.len())].as_bytes().to_vec()];
                    for _ in 0..random.below(6) {
                        let number = random.bits().cast_signed() >> random.below(64);
                        let len = random.below(20);
                        request.push(match random.below(3) {
                            0 => random.bytes(len),
                            _ => number.to_string().into_bytes(),
                        });
                    }
                    encode(&mut bytes, &request);
                }
                _ => bytes.extend_from_slice(b"PING\r\n"),
            }
        }
        // Refused halfway is fine; the reply is not looked at.
        drop(client.send_raw(&bytes));
        if random.once_in(3) {
            drop(client.end_of_requests());
            client
                .receive_to_end()
                .expect("an ended connection is closed");
        }
        if seed % 100 == 99 {
            assert_alive(&mut server);
        }
    }
    assert_alive(&mut server);
}

/// Announced sizes are not believed: memory grows with what arrives, not with what is promised.
#[test]
fn promises_of_huge_requests_cost_no_memory() {
    let mut server = Setup::brickyard(1).start();
    let before = server.process().resident_bytes();
    let mut clients: Vec<Client> = (0..200).map(|_| server.connect()).collect();
    for (index, client) in clients.iter_mut().enumerate() {
        let promise: &[u8] = match index % 3 {
            0 => b"*2\r\n$4\r\nECHO\r\n$60000000\r\nabc",
            1 => b"*1000000\r\n$4\r\nMGET\r\n",
            _ => b"*1048576\r\n$1\r\n",
        };
        client.send_raw(promise).expect("a promise is accepted");
    }
    assert_alive(&mut server);
    let grown = server.process().resident_bytes().saturating_sub(before);
    assert!(grown < 100 * MIB, "200 promises cost {} MiB", grown / MIB);
}

/// One byte now and then on many connections, as slow-loris does.
#[test]
fn slow_senders_hold_up_nobody() {
    let mut server = Setup::brickyard(1).start();
    let request = b"*3\r\n$3\r\nSET\r\n$4\r\nslow\r\n$5\r\nvalue\r\n";
    let mut clients: Vec<Client> = (0..100).map(|_| server.connect()).collect();
    for byte in request {
        for client in &mut clients {
            client.send_raw(&[*byte]).expect("a slow sender is served");
        }
        assert_eq!(server.connect().line("PING").text(), "PONG");
    }
    for client in &mut clients {
        assert!(client.receive().expect("the request is whole now").is_ok());
    }
    assert_alive(&mut server);
}

/// A client that asks and never reads gets no more than its share of memory.
#[test]
fn clients_that_never_read_cost_bounded_memory() {
    const VALUE_BYTES: usize = 512 << 10;
    let limits = [
        "--value-bytes-max",
        "1MiB",
        "--output-bytes-max",
        "4MiB",
        "--request-bytes-max",
        "4MiB",
    ];
    let mut server = Setup::brickyard(1).arguments(&limits).start();
    let mut client = server.connect();
    assert!(
        client
            .call(&[&b"SET"[..], b"large", &vec![b'x'; VALUE_BYTES]])
            .is_ok()
    );
    let before = server.process().resident_bytes();
    let mut request = Vec::new();
    for _ in 0..100 {
        encode(&mut request, &["GET", "large"]);
    }
    let mut deaf: Vec<Client> = (0..20).map(|_| server.connect()).collect();
    for client in &deaf {
        client
            .stream()
            .set_nonblocking(true)
            .expect("a socket can be non-blocking");
    }
    // 20 clients ask for 50 MiB each, ten times over, as far as the server takes their requests.
    for _ in 0..10 {
        for client in &mut deaf {
            drop(client.stream().write(&request));
        }
        assert_eq!(client.line("PING").text(), "PONG", "others are served");
    }
    let grown = server.process().resident_bytes().saturating_sub(before);
    assert!(grown < 300 * MIB, "deaf clients cost {} MiB", grown / MIB);
    drop(deaf);
    assert_alive(&mut server);
}

/// A slow reader gets everything that it asked for, whole and in order.
#[test]
fn slow_readers_get_everything() {
    let server = Setup::brickyard(2).start();
    let mut client = server.connect();
    let value = vec![b'v'; 100_000];
    assert!(client.call(&[&b"SET"[..], b"large", &value]).is_ok());
    let reader = server.connect();
    let mut request = Vec::new();
    for number in 0..1_000 {
        encode(&mut request, &["ECHO", &number.to_string()]);
        encode(&mut request, &["GET", "large"]);
    }
    let mut sender = reader.stream().try_clone().expect("a socket can be shared");
    let thread = std::thread::spawn(move || sender.write_all(&request));
    let mut reader = reader;
    for number in 0..1_000 {
        assert_eq!(
            reader.receive().expect("an echo").text(),
            number.to_string()
        );
        assert_eq!(
            reader.receive().expect("a value").as_bytes(),
            Some(&value[..])
        );
    }
    thread
        .join()
        .expect("the sender ends")
        .expect("everything was taken");
}

#[test]
fn connections_past_maxclients_are_told_and_closed() {
    const MOST: usize = 20;
    let server = Setup::brickyard(2)
        .arguments(&["--maxclients", "20"])
        .start();
    // The connections with which readiness was probed may not have been noticed as closed yet.
    let mut kept = Vec::new();
    let refusal = wait_for("a refusal", || {
        let mut client = server.connect();
        match client.try_call(&["PING"]) {
            Ok(reply) if reply.is_error() => Some(reply),
            Ok(_) => {
                kept.push(client);
                None
            }
            Err(_) => None,
        }
    });
    assert!(
        refusal.is_error_with("ERR max number of clients reached"),
        "{refusal}"
    );
    assert!(kept.len() <= MOST, "{} connections were kept", kept.len());
    assert!(
        kept.len() + 2 >= MOST,
        "only {} connections were kept",
        kept.len()
    );
    for client in &mut kept {
        assert_eq!(
            client.line("PING").text(),
            "PONG",
            "earlier connections are served"
        );
    }
    kept.truncate(MOST / 2);
    wait_for("room for new connections", || {
        server
            .connect()
            .try_call(&["PING"])
            .is_ok_and(|reply| !reply.is_error())
            .then_some(())
    });
}

#[test]
fn connections_that_come_and_go_leave_nothing_behind() {
    let mut server = Setup::brickyard(2).start();
    for round in 0..2_000_u32 {
        let mut client = server.connect();
        match round % 4 {
            // Gone without a word, in the middle of a frame, with a request under way, politely.
            0 => {}
            1 => drop(client.send_raw(b"*3\r\n$3\r\nSET\r\n$1")),
            2 => drop(client.send_raw(b"SET gone 1\r\nGET gone\r\n")),
            _ => client.must(&["QUIT"]),
        }
    }
    let mut client = server.connect();
    wait_for("the server to notice that they are gone", || {
        let clients = client.line("CLIENT LIST").text();
        (clients.lines().filter(|line| !line.is_empty()).count() <= 3).then_some(())
    });
    assert_alive(&mut server);
}

#[test]
fn idle_connections_are_closed_when_asked_for() {
    let server = Setup::brickyard(1)
        .arguments(&["--idle-timeout", "1s"])
        .start();
    let mut client = server.connect();
    assert_eq!(client.line("PING").text(), "PONG");
    assert_eq!(
        client
            .receive_to_end()
            .expect("an idle connection is closed"),
        b""
    );
}

#[test]
fn keys_and_values_past_their_bounds_are_refused_and_the_connection_goes_on() {
    let limits = [
        "--value-bytes-max",
        "100KiB",
        "--output-bytes-max",
        "4MiB",
        "--request-bytes-max",
        "4MiB",
    ];
    let mut server = Setup::brickyard(2).arguments(&limits).start();
    let mut client = server.connect();
    let longest = vec![b'k'; 65_535];
    assert!(client.call(&[&b"SET"[..], &longest, b"v"]).is_ok());
    assert_eq!(client.call(&[&b"GET"[..], &longest]).text(), "v");
    assert!(
        client.call(&[&b"GET"[..], &vec![b'k'; 100_000]]).is_null(),
        "there is no such key"
    );
    for len in [65_536, 100_000] {
        let key = vec![b'k'; len];
        for request in [
            vec![&b"SET"[..], &key, b"v"],
            vec![b"APPEND", &key, b"v"],
            vec![b"MSET", b"a", b"1", &key, b"2"],
        ] {
            let reply = client.call(&request);
            assert!(
                reply.is_error_with("ERR"),
                "a key of {len} bytes was answered with {reply}"
            );
            assert!(reply.text().contains("key"), "{reply}");
        }
    }
    assert_eq!(
        client.call(&["EXISTS", "a"]),
        Value::Integer(0),
        "half of an MSET was done"
    );
    let value = vec![b'v'; 100 * 1024];
    assert!(client.call(&[&b"SET"[..], b"full", &value]).is_ok());
    for request in [
        vec![&b"APPEND"[..], b"full", b"x"],
        vec![b"SETRANGE", b"full", b"102400", b"x"],
        vec![b"SETBIT", b"full", b"819200", b"1"],
    ] {
        let reply = client.call(&request);
        assert!(
            reply.is_error_with("ERR"),
            "an oversized value was answered with {reply}"
        );
    }
    assert_eq!(client.call(&["STRLEN", "full"]), Value::Integer(100 * 1024));
    // One that is too long in itself is refused before it has arrived, which ends the connection.
    client
        .send_raw(b"*3\r\n$3\r\nSET\r\n$4\r\nover\r\n$102401\r\n")
        .expect("sent");
    let answer = client.receive_to_end().expect("the connection is closed");
    assert!(
        answer.starts_with(b"-ERR Protocol error: invalid bulk length"),
        "{}",
        answer.escape_ascii()
    );
    assert_eq!(
        server.connect().call(&["EXISTS", "over"]),
        Value::Integer(0)
    );
    assert_alive(&mut server);
}

#[test]
fn oversized_requests_are_refused_and_the_connection_closed() {
    let limits = [
        "--value-bytes-max",
        "1MiB",
        "--output-bytes-max",
        "2MiB",
        "--request-bytes-max",
        "2MiB",
    ];
    let mut server = Setup::brickyard(1).arguments(&limits).start();
    let mut client = server.connect();
    client
        .stream()
        .set_write_timeout(Some(Duration::from_secs(20)))
        .expect("a time-out");
    let mut request = b"*100\r\n$4\r\nMGET\r\n".to_vec();
    for _ in 0..99 {
        request.extend_from_slice(b"$60000\r\n");
        request.resize(request.len() + 60_000, b'k');
        request.extend_from_slice(b"\r\n");
    }
    // It may be closed before everything is sent.
    drop(client.send_raw(&request));
    let answer = client.receive_to_end().expect("the connection is closed");
    let text = String::from_utf8_lossy(&answer);
    // A reset may swallow the reply; if it came it must be in words.
    assert!(text.is_empty() || text.starts_with("-ERR"), "{text}");
    assert_alive(&mut server);
}
