//! MOVE, and COPY to another database, at the node port of several bricks: as a Redis has them, and by many at once.

use brickyard_e2e::client::Client;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::random::Random;
use brickyard_e2e::server::{Server, ServerKind, Setup};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

const BRICKS: u16 = 3;

/// Databases that keys go between.
const DATABASES: usize = 3;

/// Requests and their replies. They leave the first two databases as they have found them, which is empty.
const STORY: &[(&str, &str)] = &[
    ("SET a 1", "+OK"),
    ("MOVE a 1", ":1"),
    ("EXISTS a", ":0"),
    ("SELECT 1", "+OK"),
    ("GET a", r#""1""#),
    (
        "MOVE a 1",
        "-ERR source and destination objects are the same",
    ),
    ("MOVE a 0", ":1"),
    ("MOVE a 0", ":0"),
    ("SET a 2", "+OK"),
    ("MOVE a 0", ":0"),
    ("GET a", r#""2""#),
    ("COPY a a DB 0", ":0"),
    ("COPY a a DB 0 REPLACE", ":1"),
    ("COPY a b DB 0", ":1"),
    ("COPY nosuch b DB 0 REPLACE", ":0"),
    (
        "COPY a a DB 1",
        "-ERR source and destination objects are the same",
    ),
    ("COPY a c DB 1", ":1"),
    ("GET c", r#""2""#),
    ("COPY a b DB 16", "-ERR DB index is out of range"),
    ("COPY a b DB -1", "-ERR DB index is out of range"),
    ("COPY a b DB", "-ERR syntax error"),
    ("MOVE a 16", "-ERR DB index is out of range"),
    ("MOVE a -1", "-ERR DB index is out of range"),
    ("MOVE a x", "-ERR value is not an integer or out of range"),
    (
        "MOVE a",
        "-ERR wrong number of arguments for \\'move\\' command",
    ),
    ("HSET h f v g w", ":2"),
    ("PEXPIREAT h 4102444800123", ":1"),
    ("MOVE h 0", ":1"),
    ("DEL a c h", ":2"),
    ("SELECT 0", "+OK"),
    ("HGETALL h", r#"["f", "v", "g", "w"]"#),
    ("PEXPIRETIME h", ":4102444800123"),
    ("COPY h i DB 1", ":1"),
    ("SELECT 1", "+OK"),
    ("PEXPIRETIME i", ":4102444800123"),
    ("TYPE i", "+hash"),
    ("DEL i", ":1"),
    ("DBSIZE", ":0"),
    ("SELECT 0", "+OK"),
    ("MGET a b", r#"["2", "2"]"#),
    ("DEL a b h", ":3"),
    // One that nobody has chosen before.
    ("SET k v", "+OK"),
    ("MOVE k 9", ":1"),
    ("SELECT 9", "+OK"),
    ("GETDEL k", r#""v""#),
    ("SELECT 0", "+OK"),
    ("DBSIZE", ":0"),
];

#[test]
fn commands_over_two_databases_answer_as_redis_does() {
    let tell = |who: &str, client: &mut Client| {
        for (line, expected) in STORY {
            let reply = client.line(line).to_string();
            assert_eq!(reply, *expected, "{line}, asked of {who}");
        }
    };
    if let Some(redis) = Setup::redis(ServerKind::Redis, "databases as Redis has them") {
        tell("redis", &mut redis.start().connect());
    }
    let server = Setup::brickyard(BRICKS).start();
    let mut admin = server.connect();
    tell("tables that SELECT makes", &mut admin);
    for kind in [
        "DURABILITY memory",
        "DURABILITY fsync",
        "MEDIUM disk MAXMEMORY 1mb",
    ] {
        for number in ["1", "9"] {
            admin.must(&["TABLE", "DROP", number, "CONFIRM", number]);
            let create = format!("TABLE CREATE {number} {kind}");
            let reply = admin.line(&create);
            assert!(reply.is_ok(), "{create} was answered with {reply}");
        }
        tell(kind, &mut server.connect());
    }
}

fn client(server: &Server, database: usize) -> Client {
    let mut client = server.connect();
    client.must(&["SELECT", &database.to_string()]);
    client
}

/// The databases in which each key is.
fn places(server: &Server, keys: usize) -> BTreeMap<usize, Vec<usize>> {
    let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for database in 0..DATABASES {
        let mut client = client(server, database);
        for key in 0..keys {
            let reply = client.call(&["GET", &format!("k{key}")]);
            if !reply.is_null() {
                assert_eq!(reply.text(), format!("value{key}"), "database {database}");
                places.entry(key).or_default().push(database);
            }
        }
    }
    places
}

/// Few keys and many who want each of them.
#[test]
fn key_that_many_move_is_in_one_place() {
    const KEYS: usize = 12;
    let server = Setup::brickyard(BRICKS).start();
    let mut first = client(&server, 0);
    for key in 0..KEYS {
        first.must(&["SET", &format!("k{key}"), &format!("value{key}")]);
    }
    let moved: usize = std::thread::scope(|scope| {
        let movers: Vec<_> = (0..6)
            .map(|mover| {
                let server = &server;
                scope.spawn(move || {
                    let mut random = Random::new(mover as u64);
                    let mut clients: Vec<Client> =
                        (0..DATABASES).map(|it| client(server, it)).collect();
                    let mut moved = 0;
                    for _ in 0..400 {
                        let from = random.below(DATABASES);
                        let to = (from + 1 + random.below(DATABASES - 1)) % DATABASES;
                        let key = format!("k{}", random.below(KEYS));
                        let client = &mut clients[from];
                        let reply = client.call(&["MOVE", &key, &to.to_string()]);
                        let count = reply.as_integer();
                        assert!(matches!(count, Some(0 | 1)), "{key}: {reply}");
                        if count == Some(1) {
                            moved += 1;
                        }
                    }
                    moved
                })
            })
            .collect();
        movers
            .into_iter()
            .map(|it| it.join().expect("a mover"))
            .sum()
    });
    assert!(moved > 100, "{moved} were moved");
    let places = places(&server, KEYS);
    assert_eq!(places.len(), KEYS, "{places:?}");
    assert!(places.values().all(|it| it.len() == 1), "{places:?}");
}

/// What was answered is there after the process was killed, and a key is there once.
#[test]
fn key_that_was_moved_survives_a_kill() {
    const KEYS: usize = 40;
    let mut server = Setup::brickyard(BRICKS).start();
    let mut first = client(&server, 0);
    for key in 0..KEYS {
        first.must(&["SET", &format!("k{key}"), &format!("value{key}")]);
    }
    for round in 0..4 {
        let (from, to) = (round % DATABASES, (round + 1) % DATABASES);
        let mut mover = client(&server, from);
        for key in 0..KEYS {
            let name = format!("k{key}");
            let reply = mover.call(&["MOVE", &name, &to.to_string()]);
            assert_eq!(reply.as_integer(), Some(1), "{name}: {reply}");
        }
        // The last ones have intents yet.
        server.kill();
        server.restart();
        let places = places(&server, KEYS);
        assert_eq!(places.len(), KEYS, "{places:?}");
        assert!(places.values().all(|it| it[..] == [to]), "{places:?}");
    }
}

/// A key is where it was, or gone to where nobody can look, and free for whoever asks for it.
#[test]
fn key_of_a_table_that_lives_is_neither_lost_nor_locked_where_another_is_dropped() {
    const MOVERS: usize = 4;
    let server = Setup::brickyard(BRICKS).start();
    let is_over = AtomicBool::new(false);
    let counts: Vec<[u32; 3]> = std::thread::scope(|scope| {
        let movers: Vec<_> = (0..MOVERS)
            .map(|mover| {
                let (server, is_over) = (&server, &is_over);
                scope.spawn(move || {
                    let (mut here, mut counts) = (client(server, 0), [0; 3]);
                    let mut number = 0;
                    while !is_over.load(Ordering::SeqCst) {
                        number += 1;
                        let key = format!("k{mover}-{}", number % 7);
                        here.must(&["SET", &key, &number.to_string()]);
                        // It makes the table if that is not there.
                        let reply = here.call(&["MOVE", &key, "5"]);
                        let found = here.call(&["GET", &key]);
                        let is_there = !found.is_null();
                        assert!(!is_there || found.text() == number.to_string(), "{found}");
                        match reply.as_integer() {
                            Some(1) => {
                                assert!(!is_there, "{key} was moved, and is there");
                                counts[0] += 1;
                            }
                            Some(_) => assert!(is_there, "{key} was not moved, and is gone"),
                            None if reply.is_error_with("UNKNOWNRESULT") => counts[1] += 1,
                            None => {
                                assert!(is_there, "{reply}, and {key} is gone");
                                counts[2] += 1;
                            }
                        }
                    }
                    counts
                })
            })
            .collect();
        let mut admin = server.connect();
        for _ in 0..60 {
            let there = || {
                let mut client = server.connect();
                let is_chosen = client.try_call(&["SELECT", "5"]).ok()?.is_ok();
                let count = client.try_call(&["DBSIZE"]).ok()?.as_integer()?;
                (is_chosen && count > 3).then_some(())
            };
            wait_for("keys that were moved", there);
            admin.must(&["TABLE", "DROP", "5", "CONFIRM", "5"]);
        }
        is_over.store(true, Ordering::SeqCst);
        movers
            .into_iter()
            .map(|it| it.join().expect("a mover"))
            .collect()
    });
    println!("moved, unknown, refused: {counts:?}");
    assert!(counts.iter().all(|[moved, ..]| *moved > 0), "{counts:?}");
}

#[test]
fn a_bricks_port_and_a_transaction_refuse_and_do_nothing() {
    let server = Setup::brickyard(BRICKS).start();
    let mut client = client(&server, 0);
    client.must(&["SET", "k", "v"]);
    for brick in 0..BRICKS {
        let mut brick = server.connect_brick(brick);
        let reply = brick.line("MOVE k 1");
        assert!(
            reply.is_error_with("ERR MOVE is not allowed in cluster mode"),
            "{reply}"
        );
        let reply = brick.line("COPY k k DB 1");
        let text = "ERR Copying to another database is not allowed in cluster mode";
        assert!(reply.is_error_with(text), "{reply}");
    }
    for line in ["MOVE k 1", "COPY k k DB 1"] {
        client.must(&["MULTI"]);
        let reply = client.line(line);
        assert!(reply.to_string().contains("outside of MULTI"), "{reply}");
        assert!(client.line("EXEC").is_error_with("EXECABORT"));
    }
    assert_eq!(client.line("GET k").text(), "v");
    let reply = client.line("SWAPDB 0 1");
    assert!(reply.is_error_with("ERR unknown command"), "{reply}");
}
