//! An operator's `CLIENT PAUSE` and `MONITOR`, with clients at several bricks of a real node.

use brickyard_e2e::client::Client;
use brickyard_e2e::server::{ServerKind, Setup};

#[test]
fn writes_wait_for_the_end_of_a_pause_wherever_their_clients_are() {
    let server = Setup::brickyard(2).start();
    let mut operator = server.connect();
    let mut writers = [
        server.connect_brick(0),
        server.connect_brick(1),
        server.connect(),
    ];
    operator.must(&["CLIENT", "PAUSE", "600000", "WRITE"]);
    // More than a connection's input takes: the rest stays in its socket.
    let value = "x".repeat(1_000);
    for (at, writer) in writers.iter_mut().enumerate() {
        let key = key_of(&mut operator, at);
        for _ in 0..150 {
            writer.send(&["APPEND", &key, &value]).unwrap();
        }
    }
    let mut other = server.connect();
    for _ in 0..20 {
        for at in 0..3 {
            let key = key_of(&mut other, at);
            assert!(
                other.call(&["GET", &key]).is_null(),
                "{key} was written in a pause"
            );
        }
    }
    server.connect_brick(1).must(&["CLIENT", "UNPAUSE"]);
    for writer in &mut writers {
        let mut length = 0;
        for _ in 0..150 {
            length += 1_000;
            assert_eq!(writer.receive().unwrap().as_integer(), Some(length));
        }
    }
    // Of itself it ends too.
    operator.must(&["CLIENT", "PAUSE", "1", "ALL"]);
    operator.must(&["SET", "k", "v"]);
}

/// A key that is the brick's; any for the node port.
fn key_of(client: &mut Client, at: usize) -> String {
    if at == 2 {
        return "any".to_owned();
    }
    let slots = client.call(&["CLUSTER", "SLOTS"]);
    let _ranges = slots.items().map_or(0, <[_]>::len);
    let keys = (0..).map(|number| format!("{at}:{number}"));
    let mut of_brick = keys.filter(|key| {
        let slot = client.call(&["CLUSTER", "KEYSLOT", key]).as_integer();
        slot.is_some_and(|slot| usize::from(slot >= 8_192) == at)
    });
    of_brick.next().expect("each brick has keys")
}

/// The same commands to both: what watchers see must be the same, but for time and address.
#[test]
fn monitor_shows_what_redis_s_shows() {
    let Some(redis) = Setup::redis(ServerKind::Redis, "comparison of MONITOR") else {
        return;
    };
    let (redis, ours) = (redis.start(), Setup::brickyard(2).start());
    let requests: &[&[&str]] = &[
        &["SET", "k", "a\u{0}b\"\\\r\n\t\u{7}\u{8}\u{e4}"],
        &["get", "k"],
        &["AUTH", "wrong"],
        &["auth", "ann", "wrong"],
        &["HELLO", "3", "AUTH", "default", "wrong"],
        &["MULTI"],
        &["INCR", "n"],
        &["EXEC"],
        &["CONFIG", "GET", "maxmemory"],
        &["CLIENT", "LIST"],
        &["CLIENT", "SETNAME", "me"],
        &["nosuch", "x"],
        &["GET"],
        &["EVAL", "return 1", "0"],
        &["FCALL", "nosuch", "0"],
        &["SELECT", "3"],
        &["OBJECT", "ENCODING", "n"],
        &["PING", "last"],
    ];
    let [theirs, ours] = [redis.connect(), ours.connect()]
        .map(|mut watcher| {
            watcher.must(&["MONITOR"]);
            watcher
        })
        .into_iter()
        .zip([redis.connect(), ours.connect()])
        .map(|(mut watcher, mut client)| {
            for request in requests {
                client.call(request);
            }
            let mut shown = Vec::new();
            loop {
                let line = watcher.receive().unwrap().text();
                let (head, command) = line.split_once("] ").expect("a line of MONITOR");
                let database = head.split_once('[').map_or("", |(_, rest)| rest);
                // Redis shows a command when it has run: where SELECT has led.
                let is_select = command.starts_with("\"SELECT\"");
                let database = database.split(' ').next().filter(|_| !is_select);
                let database = database.unwrap_or_default();
                shown.push(format!("{database} {command}"));
                if command.contains("last") {
                    return shown;
                }
            }
        })
        .collect::<Vec<_>>()
        .try_into()
        .expect("two of them");
    assert_eq!(theirs, ours);
}
