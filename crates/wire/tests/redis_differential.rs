//! Goal: our request decoder accepts, refuses and answers what redis-server does.
//!
//! Method: streams of half-broken requests are sent to a live redis-server of version 7.0, and
//! decoded here with its bounds. For each request that we find we know how its answer starts; the
//! server's output has to be exactly these answers, followed by our protocol error if there is one.
//!
//! Ignored by default, since it needs a `redis-server` in the path (or named by `REDIS_SERVER`):
//! `cargo test -p brickyard-wire --test redis_differential -- --ignored`.

use brickyard_wire::{Limits, Protocol, Reply, RequestDecoder, Step};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// Streams that are compared; a few seconds' worth.
const STREAMS: u64 = 20_000;

/// What streams are made of: whole requests, their parts, and what breaks them.
const TOKENS: [&[u8]; 44] = [
    b"*1\r\n$4\r\nPING\r\n",
    b"*2\r\n$4\r\nECHO\r\n$3\r\na\rb\r\n",
    b"*2\r\n$4\r\nECHO\r\n$12\r\n123456789012\r\n",
    b"*2\r\n$4\r\nECHO\r\n",
    b"PING\r\n",
    b"PING\n",
    b"ECHO ",
    b"*1\r\n",
    b"*2\r\n",
    b"*3\r\n",
    b"*0\r\n",
    b"*-1\r\n",
    b"*10\r\n",
    b"*11\r\n",
    b"*2147483648\r\n",
    b"$4\r\n",
    b"$0\r\n\r\n",
    b"$-1\r\n",
    b"$1\r\nx\r\n",
    b"$16385\r\n",
    b"$536870912\r\n",
    b"$536870913\r\n",
    b"PING",
    b"xx",
    b"*",
    b"$",
    b":",
    b"\r\n",
    b"\r",
    b"\n",
    b" ",
    b"\t",
    b"\x0b",
    b"\"",
    b"'",
    b"\"a b\"",
    b"\"\\x41\\n\\q\"",
    b"'a\\'b'",
    b"\\",
    b"0",
    b"1",
    b"-",
    b"\0",
    b"\xff",
];

/// A redis-server of our own, stopped when it goes out of scope.
struct RedisServer {
    process: Child,
    port: u16,
}

impl RedisServer {
    fn start(arguments: &[&str]) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port on the loopback is free");
        let port = free
            .local_addr()
            .expect("a bound socket has an address")
            .port();
        drop(free);
        let program = std::env::var("REDIS_SERVER").unwrap_or_else(|_| "redis-server".to_owned());
        let process = Command::new(&program)
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no"])
            .args(arguments)
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {program}: {error}"));
        let mut server = Self { process, port };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = server.process.try_wait().expect("the process is ours");
            assert!(ended.is_none(), "{program} ended early: {ended:?}");
            std::thread::yield_now();
        }
        server
    }

    /// Everything the server says to `stream` until one of the two sides closes.
    fn answer(&self, stream: &[u8]) -> Vec<u8> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).expect("the server accepts");
        socket
            .write_all(stream)
            .expect("the stream is shorter than a socket's buffer");
        // Without more input the server closes as soon as it has answered what there is.
        let _ = socket.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        // A connection that is closed on a protocol error may be reset behind the answer.
        let _ = socket.read_to_end(&mut answer);
        answer
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What the server may say to one request.
#[derive(Debug)]
enum Expected {
    Exactly(Vec<u8>),
    SomeError,
}

fn expected(stream: &[u8], limits: Limits) -> Vec<Expected> {
    let mut decoder = RequestDecoder::new(limits);
    let mut input = stream.to_vec();
    let mut at = 0;
    let mut answers = Vec::new();
    loop {
        let mut spans = Vec::new();
        match decoder.decode(&input[at..], &mut spans) {
            Ok(Step::Incomplete { .. }) => return answers,
            Ok(Step::Empty { consumed }) => at += consumed,
            Ok(Step::Request { consumed, .. }) => {
                let arguments: Vec<_> = spans.iter().map(|span| span.of(&input[at..])).collect();
                at += consumed;
                answers.push(execute(&arguments, limits.unauthenticated));
            }
            Ok(Step::Quoted { consumed, request }) => {
                input.splice(at..at + consumed, request);
            }
            Err(error) => {
                let mut out = Vec::new();
                Reply::new(&mut out, Protocol::Resp2).protocol_error(&error);
                answers.push(Expected::Exactly(out));
                return answers;
            }
        }
    }
}

fn execute(arguments: &[&[u8]], unauthenticated: bool) -> Expected {
    let mut out = Vec::new();
    let mut reply = Reply::new(&mut out, Protocol::Resp2);
    let name = arguments[0].to_ascii_lowercase();
    match (&name[..], arguments) {
        _ if unauthenticated => return Expected::SomeError,
        (b"ping", [_]) => reply.simple("PONG"),
        (b"ping", [_, text]) | (b"echo", [_, text]) => reply.bulk(text),
        _ => return Expected::SomeError,
    }
    Expected::Exactly(out)
}

/// Whether the server's answer is what was expected.
fn matches(mut answer: &[u8], expected: &[Expected]) -> bool {
    for expected in expected {
        let len = match expected {
            Expected::Exactly(bytes) if answer.starts_with(bytes) => bytes.len(),
            Expected::SomeError if answer.starts_with(b"-") => {
                match answer.windows(2).position(|pair| pair == b"\r\n") {
                    Some(line) => line + 2,
                    None => return false,
                }
            }
            _ => return false,
        };
        answer = &answer[len..];
    }
    answer.is_empty()
}

/// A stream of up to 12 tokens, the same for the same number (xorshift).
fn stream(number: u64) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % bound
    };
    (0..=draw(12))
        .flat_map(|_| TOKENS[draw(TOKENS.len())].to_vec())
        .collect()
}

fn compare(server: &RedisServer, limits: Limits) {
    for number in 0..STREAMS {
        let stream = stream(number);
        let expected = expected(&stream, limits);
        let answer = server.answer(&stream);
        assert!(
            matches(&answer, &expected),
            "stream {number}: {}\nredis-server: {}\nexpected: {expected:?}",
            stream.escape_ascii(),
            answer.escape_ascii()
        );
    }
}

#[test]
#[ignore = "needs redis-server 7.0 in the path"]
fn odd_streams_are_answered_as_redis_answers_them() {
    compare(&RedisServer::start(&[]), Limits::REDIS);
}

#[test]
#[ignore = "needs redis-server 7.0 in the path"]
fn strangers_are_answered_as_redis_answers_them() {
    let limits = Limits {
        unauthenticated: true,
        ..Limits::REDIS
    };
    compare(&RedisServer::start(&["--requirepass", "secret"]), limits);
}
