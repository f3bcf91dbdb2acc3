//! The wire itself, byte for byte as Redis does it: what is malformed, when the connection ends.

use brickyard_e2e::client::{Client, encode};
use brickyard_e2e::random::Random;
use brickyard_e2e::server::{Server, ServerKind, Setup};
use brickyard_e2e::skip::number_from_environment;
use brickyard_e2e::value::escaped;

/// Sends `bytes` on a fresh connection and returns all that comes back until it is closed. Where nothing
/// in `bytes` makes the server close it, the client ends its side first.
fn exchange(port: u16, bytes: &[u8], split: usize) -> Vec<u8> {
    let mut client = Client::connect(port);
    let (head, tail) = bytes.split_at(split.min(bytes.len()));
    for piece in [head, tail] {
        // A server that has already said goodbye may refuse the rest.
        if client.send_raw(piece).is_err() {
            break;
        }
    }
    if !bytes.ends_with(b"QUIT\r\n") {
        // Not connected any more is as good as ended.
        drop(client.end_of_requests());
    }
    client
        .receive_to_end()
        .expect("the server closes a connection that the client has ended")
}

/// A reference and a brickyard, on which the same bytes are tried.
struct Twins {
    redis: Server,
    brickyard: Server,
}

impl Twins {
    fn start(what: &str) -> Option<Self> {
        let redis = Setup::redis(ServerKind::Redis, what)?;
        Some(Self {
            redis: redis.start(),
            brickyard: Setup::redis(ServerKind::Redis, "")?.start(),
        })
    }

    fn compare(&self, bytes: &[u8], split: usize) {
        let expected = exchange(self.redis.port(), bytes, split);
        let got = exchange(self.brickyard.port(), bytes, split);
        assert_eq!(
            escaped(&got),
            escaped(&expected),
            "(left: ours, right: Redis) after {} split at {split}",
            escaped(bytes)
        );
    }

    fn flush(&self) {
        for server in [&self.redis, &self.brickyard] {
            server.connect().must(&["FLUSHALL"]);
        }
    }
}

#[test]
fn malformed_frames_are_refused_as_redis_does() {
    let Some(twins) = Twins::start("protocol test") else {
        return;
    };
    let cases: &[&[u8]] = &[
        b"*1\r\n$4\r\nPING\r\n",
        b"*-1\r\n*1\r\n$4\r\nPING\r\n",
        b"*0\r\n*1\r\n$4\r\nPING\r\n",
        b"\r\n\r\nPING\r\n",
        b"PING\n",
        b"  PING   hello  \r\n",
        b"*abc\r\n",
        b"*1048577\r\n",
        b"*99999999999999999999\r\n",
        b"*1\r\nPING\r\n",
        b"*1\r\n:4\r\nPING\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$abc\r\n",
        b"*1\r\n$536870913\r\n",
        b"*1\r\n$99999999999999999999\r\n",
        b"*2\r\n$3\r\nGET\r\n+x\r\n",
        b"*1 \r\n$4\r\nPING\r\n",
        b"*+1\r\n$4\r\nPING\r\n",
        b"*01\r\n$4\r\nPING\r\n",
        b"*1\r\n$ 4\r\nPING\r\n",
        b"*1\r\n$04\r\nPING\r\n",
        b"*1\r\n$0\r\n\r\n",
        b"*2\r\n$4\r\nPING\r\n$0\r\n\r\n",
        b"SET inline 'two words'\r\nGET inline\r\n",
        b"SET inline \"a\\x41\\n\\\"\"\r\nGET inline\r\n",
        b"SET inline 'it\\'s'\r\nGET inline\r\n",
        b"SET inline \"unbalanced\r\n",
        b"SET inline 'unbalanced\r\n",
        b"SET inline \"a\"b\r\n",
        b"SET inline a\"b\"\r\nGET inline\r\n",
        b"ECHO \"\"\r\n",
        b"ECHO ''\r\n",
        b"QUIT\r\nPING\r\n",
        b"*1\r\n$4\r\nQUIT\r\n*1\r\n$4\r\nPING\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"*1\r\n$4\r\nPI",
        b"*2\r\n$4\r\nECHO\r\n$5\r\nhel",
        b"\x00\x01\x02\r\n",
        b"\xff\xfe\r\n",
        b"PING\r\nnonsense here\r\nPING\r\n",
        b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nvX\r\nPING\r\n",
        b"MULTI\r\nSET a 1\r\n*1\r\n$x\r\n",
        b"CLIENT REPLY OFF\r\nPING\r\nSET quiet 1\r\nCLIENT REPLY ON\r\nGET quiet\r\n",
        b"CLIENT REPLY SKIP\r\nSET quiet 2\r\nGET quiet\r\n",
        b"CLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\nPING\r\n",
        b"CLIENT REPLY OFF\r\nnonsense\r\nGET\r\n",
        b"HELLO 3\r\nGET missing\r\nHELLO 2 SETNAME\r\nHELLO 2 AUTH default\r\nHELLO x\r\nHELLO 1\r\n",
    ];
    for case in cases {
        for split in [0, 1, 4, case.len() / 2, case.len() - 1] {
            // Whether the reply before an HTTP header gets out depends on how the bytes arrive, and what
            // HELLO says about the server is its own.
            let is_http = case.windows(4).any(|window| window == b"HTTP");
            if (is_http && split > 0) || case.starts_with(b"HELLO 3") {
                continue;
            }
            twins.compare(case, split);
        }
    }
}

#[test]
fn oversized_inline_requests_are_refused_as_redis_does() {
    let Some(twins) = Twins::start("protocol test of oversized requests") else {
        return;
    };
    let line = |len: usize| {
        let mut line = b"ECHO ".to_vec();
        line.resize(len, b'x');
        line.extend_from_slice(b"\r\nPING\r\n");
        line
    };
    twins.compare(&line(1000), 500);
    twins.compare(&line(60_000), 30_000);
    let mut endless = vec![b'x'; 70_000];
    twins.compare(&endless, 0);
    endless.splice(0..0, *b"*1\r\n$");
    twins.compare(&endless, 0);
    endless.splice(0..5, *b"*");
    twins.compare(&endless, 0);
}

#[test]
fn large_values_come_back_whole() {
    let Some(twins) = Twins::start("protocol test of large values") else {
        return;
    };
    let mut random = Random::new(7);
    for len in [16_383, 16_384, 65_535, 65_536, 1 << 20, (1 << 22) + 1] {
        let value = random.bytes(len);
        let mut bytes = Vec::new();
        encode(&mut bytes, &[&b"SET"[..], b"large", &value]);
        encode(&mut bytes, &["GET", "large"]);
        encode(&mut bytes, &["STRLEN", "large"]);
        encode(&mut bytes, &["GETRANGE", "large", "100", "110"]);
        // Redis drops what it has not sent yet when the client ends; of its own accord it sends everything.
        encode(&mut bytes, &["QUIT"]);
        twins.compare(&bytes, 0);
        twins.compare(&bytes, len / 3);
    }
}

/// Valid pipelines in which a few bytes were changed, lost or repeated.
#[test]
fn mangled_pipelines_are_answered_as_redis_does() {
    let Some(twins) = Twins::start("protocol test of mangled pipelines") else {
        return;
    };
    let count = number_from_environment("BRICKYARD_E2E_SEQUENCES", 1000);
    let first = number_from_environment("BRICKYARD_E2E_SEED", 1);
    for seed in first..first + count {
        let mut random = Random::new(seed);
        let mut bytes = Vec::new();
        for _ in 0..=random.below(6) {
            let value = random.below(1000).to_string();
            match random.below(6) {
                0 => encode(&mut bytes, &["SET", "k", &value]),
                1 => encode(&mut bytes, &["GET", "k"]),
                2 => encode(&mut bytes, &["MGET", "k", "l", "m"]),
                3 => encode(&mut bytes, &["ECHO", &value]),
                4 => bytes.extend_from_slice(format!("SET l '{value}'\r\n").as_bytes()),
                _ => encode(&mut bytes, &["INCRBY", "m", &value]),
            }
        }
        for _ in 0..random.below(4) {
            if bytes.is_empty() {
                bytes.push(b'*');
            }
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, b"\r\n *$-+0a\"'\x00"[random.below(12)]),
                2 => bytes[at] = b"\r\n *$-+0a\"'\xff"[random.below(12)],
                _ => bytes.truncate(at + 1),
            }
        }
        twins.flush();
        let split = random.below(bytes.len() + 1);
        twins.compare(&bytes, split);
    }
}
