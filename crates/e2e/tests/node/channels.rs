//! Channels: the same requests to a real Redis and to us.

use brickyard_e2e::client::Client;
use brickyard_e2e::server::{Server, ServerKind, Setup};

/// Requests of three clients, one after the other, and how many answers and messages each then has.
const STORY: &[(usize, &[&str], [usize; 3])] = &[
    (0, &["SUBSCRIBE", "news", "sport"], [2, 0, 0]),
    (1, &["PSUBSCRIBE", "n*", "?port"], [0, 2, 0]),
    (0, &["SUBSCRIBE", "news"], [1, 0, 0]),
    (2, &["PUBLISH", "news", "hello"], [1, 1, 1]),
    (2, &["PUBLISH", "sport", "\r\n$-1"], [1, 1, 1]),
    (2, &["PUBLISH", "none", ""], [0, 1, 1]),
    (2, &["PUBLISH", "other", "x"], [0, 0, 1]),
    (2, &["PUBLISH", "news"], [0, 0, 1]),
    (2, &["PUBSUB", "CHANNELS", "s*"], [0, 0, 1]),
    (2, &["PUBSUB", "CHANNELS", "s*", "x"], [0, 0, 1]),
    (2, &["PUBSUB", "NUMSUB"], [0, 0, 1]),
    (2, &["PUBSUB", "NUMSUB", "news", "none"], [0, 0, 1]),
    (2, &["PUBSUB", "NUMPAT"], [0, 0, 1]),
    (2, &["PUBSUB", "NUMPAT", "x"], [0, 0, 1]),
    (2, &["PUBSUB", "NOSUCH"], [0, 0, 1]),
    (2, &["PUBSUB"], [0, 0, 1]),
    (0, &["UNSUBSCRIBE", "none"], [1, 0, 0]),
    (0, &["PING"], [1, 0, 0]),
    (0, &["PING", "x"], [1, 0, 0]),
    (0, &["UNSUBSCRIBE", "news"], [1, 0, 0]),
    (2, &["PUBLISH", "news", "again"], [0, 1, 1]),
    (0, &["UNSUBSCRIBE"], [1, 0, 0]),
    (0, &["UNSUBSCRIBE"], [1, 0, 0]),
    (0, &["PUNSUBSCRIBE"], [1, 0, 0]),
    (0, &["SUNSUBSCRIBE"], [1, 0, 0]),
    (0, &["GET", "none"], [1, 0, 0]),
    (1, &["PUNSUBSCRIBE", "n*"], [0, 1, 0]),
    (2, &["PUBLISH", "news", "again"], [0, 0, 1]),
    (0, &["SSUBSCRIBE", "shard"], [1, 0, 0]),
    (0, &["SUBSCRIBE", "shard"], [1, 0, 0]),
    (2, &["SPUBLISH", "shard", "1"], [1, 0, 1]),
    (2, &["PUBLISH", "shard", "2"], [1, 0, 1]),
    (2, &["PUBSUB", "SHARDCHANNELS"], [0, 0, 1]),
    (2, &["PUBSUB", "SHARDNUMSUB", "shard", "x"], [0, 0, 1]),
    (0, &["SUNSUBSCRIBE", "shard"], [1, 0, 0]),
    (2, &["SPUBLISH", "shard", "1"], [0, 0, 1]),
    (2, &["MULTI"], [0, 0, 1]),
    (2, &["SET", "k", "v"], [0, 0, 1]),
    (2, &["PUBLISH", "shard", "3"], [0, 0, 1]),
    (2, &["EXEC"], [1, 0, 1]),
    (
        2,
        &[
            "EVAL",
            "return redis.call('publish', ARGV[1], 'lua')",
            "0",
            "shard",
        ],
        [1, 0, 1],
    ),
    (
        2,
        &[
            "EVAL",
            "redis.call('set', KEYS[1], 1) return redis.call('publish', ARGV[1], 'lua')",
            "1",
            "k",
            "shard",
        ],
        [1, 0, 1],
    ),
    (
        2,
        &[
            "EVAL_RO",
            "return redis.pcall('publish', ARGV[1], 'lua').err",
            "0",
            "shard",
        ],
        [0, 0, 1],
    ),
    (0, &["RESET"], [1, 0, 0]),
    (2, &["PUBLISH", "shard", "4"], [0, 0, 1]),
    (
        2,
        &["COMMAND", "GETKEYS", "SPUBLISH", "shard", "4"],
        [0, 0, 1],
    ),
];

fn clients(server: &Server, protocol: &str) -> [Client; 3] {
    [(); 3].map(|()| {
        let mut client = server.connect();
        client.call(&["HELLO", protocol]);
        client
    })
}

#[test]
fn channels_answer_as_redis_s_do() {
    let Some(redis) = Setup::redis(ServerKind::Redis, "comparison of channels") else {
        return;
    };
    let (redis, ours) = (redis.start(), Setup::brickyard(3).start());
    for protocol in ["2", "3"] {
        let mut theirs = clients(&redis, protocol);
        let mut ours = clients(&ours, protocol);
        for (who, request, counts) in STORY {
            theirs[*who].send(request).unwrap();
            ours[*who].send(request).unwrap();
            for (at, count) in counts.iter().enumerate() {
                for _ in 0..*count {
                    let reference = theirs[at].receive().unwrap();
                    let reply = ours[at].receive().unwrap();
                    assert_eq!(
                        reference.to_string(),
                        reply.to_string(),
                        "client {at} after {request:?} in RESP{protocol}"
                    );
                }
            }
        }
        // Nothing came that Redis did not send.
        for client in &mut ours {
            client.send(&["RESET"]).unwrap();
            assert_eq!(client.receive().unwrap().to_string(), "+RESET");
        }
    }
}

/// Requests, and how many messages to `__key*__:*` Redis sends for each.
const EVENTS: &[(&str, usize)] = &[
    ("SET {t}k v", 2),
    ("SET {t}k v EX 100", 4),
    ("SET {t}k 1 KEEPTTL", 2),
    ("SET {t}k 1 XX GET", 2),
    ("SET {t}k 1 NX", 0),
    ("INCR {t}k", 2),
    ("DECRBY {t}k 5", 2),
    ("INCRBYFLOAT {t}k 1.5", 2),
    ("APPEND {t}k x", 2),
    ("SETRANGE {t}k 1 y", 2),
    ("SETBIT {t}k 100 1", 2),
    ("BITFIELD {t}k SET u8 200 65", 2),
    ("GETSET {t}k v", 2),
    ("SETEX {t}k 100 v", 4),
    ("PSETEX {t}k 100000 v", 4),
    ("SETNX {t}k v", 0),
    ("SETNX {t}l v", 2),
    ("MSET {t}a 1 {t}b 2", 4),
    ("MSETNX {t}a 1 {t}c 2", 0),
    ("GETEX {t}k EX 50", 2),
    ("GETEX {t}k PERSIST", 2),
    ("GETEX {t}k", 0),
    ("EXPIRE {t}k 100", 2),
    ("PERSIST {t}k", 2),
    ("PERSIST {t}k", 0),
    ("PEXPIREAT {t}k 1", 2),
    ("EXPIRE {t}none 1", 0),
    ("RENAME {t}l {t}k", 4),
    ("COPY {t}k {t}l", 2),
    ("BITOP OR {t}dest {t}k {t}l", 2),
    ("GETDEL {t}l", 2),
    ("DEL {t}a {t}none {t}b", 4),
    ("UNLINK {t}k", 2),
    ("GET {t}none", 0),
    ("LPUSHX {t}none 1", 0),
    ("SET {t}p v PX 1", 6),
];

#[test]
fn events_of_keys_are_told_as_redis_tells_them() {
    let Some(redis) = Setup::redis(ServerKind::Redis, "comparison of keyspace events") else {
        return;
    };
    let (redis, ours) = (redis.start(), Setup::brickyard(1).start());
    for classes in ["KEA", "K$", "Eg"] {
        let mut told = Vec::new();
        for server in [&redis, &ours] {
            let mut client = server.connect();
            client.must(&["FLUSHALL"]);
            client.must(&["CONFIG", "SET", "notify-keyspace-events", classes]);
            let shown = client.call(&["CONFIG", "GET", "notify-keyspace-events"]);
            let mut subscriber = server.connect();
            subscriber.call(&["PSUBSCRIBE", "__key*__:*"]);
            let mut heard = vec![shown.to_string()];
            for (request, count) in EVENTS {
                client.line(request);
                if classes == "KEA" {
                    for _ in 0..*count {
                        let message = subscriber.receive();
                        let message = message.unwrap_or_else(|error| panic!("{request}: {error}"));
                        heard.push(format!("{request}: {message}"));
                    }
                }
            }
            // Whatever else came, and then this.
            client.must(&["CONFIG", "SET", "notify-keyspace-events", ""]);
            client.call(&["SET", "k", "v"]);
            client.call(&["PUBLISH", "__keyend__:", "end"]);
            while !heard.last().is_some_and(|it| it.contains("__keyend__")) {
                heard.push(subscriber.receive().expect("the end").to_string());
            }
            told.push(heard);
        }
        for (theirs, ours) in told[0].iter().zip(&told[1]) {
            assert_eq!(theirs, ours, "{classes}");
        }
        assert_eq!(told[0].len(), told[1].len(), "{classes}");
    }
}

/// What only a client of RESP2 is refused.
#[test]
fn a_client_that_subscribes_is_refused_as_redis_refuses_it() {
    let Some(redis) = Setup::redis(ServerKind::Redis, "comparison of refusals to subscribers")
    else {
        return;
    };
    let (redis, ours) = (redis.start(), Setup::brickyard(1).start());
    let (mut theirs, mut ours) = (redis.connect(), ours.connect());
    for request in [
        &["SUBSCRIBE", "a"][..],
        &["GET", "k"],
        &["CLIENT", "LIST"],
        &["PUBLISH", "a", "1"],
        &["NOSUCH"],
        &["MULTI"],
    ] {
        assert_eq!(
            theirs.call(request).to_string(),
            ours.call(request).to_string(),
            "{request:?}"
        );
    }
}
