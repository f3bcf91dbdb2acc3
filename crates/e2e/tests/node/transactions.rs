//! Commands and transactions with keys of several slots, at the node port of several bricks: all of it happens at one moment, or nothing.

use brickyard_e2e::bank::{self, ACCOUNTS, OPENING, Outcome, Transfer, Way};
use brickyard_e2e::client::{Client, encode};
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::differential::generate::slot_of;
use brickyard_e2e::random::Random;
use brickyard_e2e::server::{Server, ServerKind, Setup};
use brickyard_e2e::value::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const BRICKS: u16 = 3;

/// Requests, the words of each between blanks, and their replies.
type Story = &'static [(&'static str, &'static str)];

/// The story holds of a real Redis, if there is one, and of every kind of table here.
fn hold(story: Story) {
    let tell = |who: &str, client: &mut Client| {
        for (line, expected) in story {
            let reply = client.line(line).to_string();
            assert_eq!(reply, *expected, "{line}, asked of {who}");
        }
    };
    if let Some(redis) = Setup::redis(ServerKind::Redis, "transactions as Redis has them") {
        tell("redis", &mut redis.start().connect());
    }
    let server = Setup::brickyard(BRICKS).start();
    make_tables(&server);
    for table in TABLES {
        tell(table, &mut connect(&server, table));
    }
}

/// A table of every medium and durability.
const TABLES: [&str; 4] = ["default", "volatile", "careful", "cold"];

fn make_tables(server: &Server) {
    let mut admin = server.connect();
    for create in [
        "TABLE CREATE volatile DURABILITY memory",
        "TABLE CREATE careful DURABILITY fsync",
        "TABLE CREATE cold MEDIUM disk MAXMEMORY 1mb",
    ] {
        let reply = admin.line(create);
        assert!(reply.is_ok(), "{create} was answered with {reply}");
    }
}

fn connect(server: &Server, table: &str) -> Client {
    let mut client = server.connect();
    client.must(&["TABLE", "USE", table]);
    client
}

#[test]
fn the_keys_of_these_tests_are_of_several_slots() {
    let keys = ["a", "b", "c", "d", "e", "f", "g", "x", "y", "z"];
    let slots: BTreeSet<u16> = keys.iter().map(|key| slot_of(key.as_bytes())).collect();
    assert_eq!(slots.len(), keys.len());
    let accounts: BTreeSet<u16> = (0..ACCOUNTS)
        .map(|it| slot_of(bank::account(it).as_bytes()))
        .collect();
    assert_eq!(accounts.len(), ACCOUNTS);
}

#[test]
fn commands_over_several_slots_answer_as_redis_does() {
    hold(&[
        ("MSETNX a 1 b 2", ":1"),
        ("MSETNX b 3 c 4", ":0"),
        ("EXISTS c", ":0"),
        ("MGET a b c", r#"["1", "2", $-1]"#),
        ("RENAME a c", "+OK"),
        ("MGET a b c", r#"[$-1, "2", "1"]"#),
        ("RENAME nosuch a", "-ERR no such key"),
        ("RENAMENX nosuch a", "-ERR no such key"),
        ("RENAMENX c b", ":0"),
        ("RENAMENX c d", ":1"),
        ("COPY d e", ":1"),
        ("COPY d b", ":0"),
        ("COPY d b REPLACE", ":1"),
        ("COPY nosuch a", ":0"),
        ("COPY nosuch b REPLACE", ":0"),
        ("MGET a b c d e", r#"[$-1, "1", $-1, "1", "1"]"#),
        ("PEXPIREAT d 4102444800123", ":1"),
        ("RENAME d e", "+OK"),
        ("COPY e f", ":1"),
        ("PEXPIRETIME e", ":4102444800123"),
        ("PEXPIRETIME f", ":4102444800123"),
        ("RENAME b f", "+OK"),
        ("PEXPIRETIME f", ":-1"),
        ("DEL a b c d e f", ":2"),
        // Hashes go the same ways, and a string takes the place of one.
        ("HSET a f 1 g 2", ":2"),
        ("COPY a b", ":1"),
        ("RENAME a c", "+OK"),
        ("HGETALL b", r#"["f", "1", "g", "2"]"#),
        ("HGETALL c", r#"["f", "1", "g", "2"]"#),
        ("SET a text", "+OK"),
        ("RENAME a b", "+OK"),
        ("TYPE b", "+string"),
        ("COPY c b REPLACE", ":1"),
        ("TYPE b", "+hash"),
        ("DEL b c", ":2"),
        ("SET x abc", "+OK"),
        ("SET y abd", "+OK"),
        ("BITOP AND z x y", ":3"),
        ("GET z", r#""ab`""#),
        ("BITOP OR z x y", ":3"),
        ("GET z", r#""abg""#),
        ("BITOP XOR z x y", ":3"),
        ("GET z", r#""\x00\x00\x07""#),
        ("BITOP NOT z x", ":3"),
        ("BITOP AND z a b", ":0"),
        ("EXISTS z", ":0"),
        ("HSET a f 1", ":1"),
        (
            "BITOP OR z x a",
            "-WRONGTYPE Operation against a key holding the wrong kind of value",
        ),
        ("LCS x y", r#""ab""#),
        ("DBSIZE", ":3"),
    ]);
}

#[test]
fn an_error_of_one_command_keeps_the_others() {
    hold(&[
        ("MULTI", "+OK"),
        ("SET a text", "+QUEUED"),
        ("INCR a", "+QUEUED"),
        ("SET b 2", "+QUEUED"),
        ("HSET b f v", "+QUEUED"),
        ("RENAME nosuch a", "+QUEUED"),
        ("INCR c", "+QUEUED"),
        (
            "EXEC",
            "[+OK, -ERR value is not an integer or out of range, +OK, \
             -WRONGTYPE Operation against a key holding the wrong kind of value, -ERR no such key, :1]",
        ),
        ("MGET a b c", r#"["text", "2", "1"]"#),
        // What is wrong when it is queued keeps all of it from being done.
        ("MULTI", "+OK"),
        ("SET a other", "+QUEUED"),
        (
            "INCR",
            r"-ERR wrong number of arguments for \'incr\' command",
        ),
        ("SET b other", "+QUEUED"),
        (
            "EXEC",
            "-EXECABORT Transaction discarded because of previous errors.",
        ),
        ("MULTI", "+OK"),
        ("SET a other", "+QUEUED"),
        ("SET b other", "+QUEUED"),
        ("DISCARD", "+OK"),
        ("MGET a b c", r#"["text", "2", "1"]"#),
    ]);
}

#[test]
fn a_transactions_commands_see_what_those_before_them_did() {
    hold(&[
        ("MSET a 1 b 2", "+OK"),
        ("MULTI", "+OK"),
        ("RENAME a c", "+QUEUED"),
        ("EXISTS a c", "+QUEUED"),
        ("INCRBY c 10", "+QUEUED"),
        ("COPY c d", "+QUEUED"),
        ("MSETNX d 1 e 1", "+QUEUED"),
        ("MSETNX e 5 f 6", "+QUEUED"),
        ("MSET a 7 b 8", "+QUEUED"),
        ("DEL b nosuch e", "+QUEUED"),
        ("MGET a b c d e f", "+QUEUED"),
        ("PING", "+QUEUED"),
        ("HSET b f v", "+QUEUED"),
        ("TYPE b", "+QUEUED"),
        (
            "EXEC",
            r#"[+OK, :1, :11, :1, :0, :1, +OK, :2, ["7", $-1, "11", "11", $-1, "6"], +PONG, :1, +hash]"#,
        ),
        ("MGET a b c d e f", r#"["7", $-1, "11", "11", $-1, "6"]"#),
        ("HGETALL b", r#"["f", "v"]"#),
        ("DBSIZE", ":5"),
    ]);
}

#[test]
fn transactions_that_only_read_answer_as_redis_does() {
    hold(&[
        ("MSET a 1 b 2", "+OK"),
        ("HSET c f v", ":1"),
        ("MULTI", "+OK"),
        ("GET a", "+QUEUED"),
        ("GET b", "+QUEUED"),
        ("HGET c f", "+QUEUED"),
        ("GET d", "+QUEUED"),
        ("MGET a d b", "+QUEUED"),
        ("EXISTS a b c d", "+QUEUED"),
        ("STRLEN c", "+QUEUED"),
        (
            "EXEC",
            r#"["1", "2", "v", $-1, ["1", $-1, "2"], :3, -WRONGTYPE Operation against a key holding the wrong kind of value]"#,
        ),
        ("WATCH a b", "+OK"),
        ("MULTI", "+OK"),
        ("GET a", "+QUEUED"),
        ("GET b", "+QUEUED"),
        ("EXEC", r#"["1", "2"]"#),
        ("WATCH a b", "+OK"),
        ("SET b 3", "+OK"),
        ("MULTI", "+OK"),
        ("GET a", "+QUEUED"),
        ("GET b", "+QUEUED"),
        ("EXEC", "*-1"),
    ]);
}

#[test]
fn scripts_have_keys_of_several_slots() {
    let tell = |who: &str, client: &mut Client| {
        client.must(&["MSET", "a", "1", "b", "2"]);
        let mut script = |text: &str, keys: &[&str], expected: &str| {
            let count = keys.len().to_string();
            let request = [&["EVAL", text, &count], keys].concat();
            let reply = client.call(&request).to_string();
            assert_eq!(reply, expected, "{text} of {who}");
        };
        script(
            "return {redis.call('incr', KEYS[1]), redis.call('incr', KEYS[2])}",
            &["a", "b"],
            "[:2, :3]",
        );
        script(
            "local v = redis.call('mget', KEYS[1], KEYS[2]) redis.call('mset', KEYS[1], v[2], KEYS[2], v[1]) return v",
            &["a", "b"],
            r#"["2", "3"]"#,
        );
        script(
            "redis.call('rename', KEYS[1], KEYS[3]) return redis.call('mget', unpack(KEYS))",
            &["a", "b", "c"],
            r#"[$-1, "2", "3"]"#,
        );
        // What it decides by is in one slot, and what it does in others.
        script(
            "if redis.call('get', KEYS[1]) == '2' then redis.call('set', KEYS[2], 'x') redis.call('hset', KEYS[3], 'f', 'v') \
             return redis.call('hgetall', KEYS[3]) end",
            &["b", "d", "e"],
            r#"["f", "v"]"#,
        );
        script(
            "return {redis.pcall('incr', KEYS[1]).err, redis.call('exists', unpack(KEYS))}",
            &["d", "e", "nosuch"],
            r#"["ERR value is not an integer or out of range", :2]"#,
        );
        let found = client.line("MGET a b c d").to_string();
        assert_eq!(found, r#"[$-1, "2", "3", "x"]"#, "of {who}");
        let text = "return redis.call('mget', KEYS[1], KEYS[2])";
        let reply = client.call(&["EVAL_RO", text, "2", "b", "c"]).to_string();
        assert_eq!(reply, r#"["2", "3"]"#, "of {who}");
        let sha = client.call(&["SCRIPT", "LOAD", text]).text();
        for name in ["EVALSHA", "EVALSHA_RO"] {
            let reply = client.call(&[name, &sha, "2", "b", "d"]).to_string();
            assert_eq!(reply, r#"["2", "x"]"#, "of {who}");
        }
        // Beside other commands of a transaction.
        client.must(&["MULTI"]);
        client.line("SET a 10");
        client.call(&["EVAL", text, "2", "a", "b"]);
        client.line("DEL b c d e");
        let reply = client.line("EXEC").to_string();
        assert_eq!(reply, r#"[+OK, ["10", "2"], :4]"#, "of {who}");
    };
    if let Some(redis) = Setup::redis(ServerKind::Redis, "scripts of several slots") {
        tell("redis", &mut redis.start().connect());
    }
    let server = Setup::brickyard(BRICKS).start();
    make_tables(&server);
    for table in TABLES {
        tell(table, &mut connect(&server, table));
    }
}

/// What another client may do to watched keys `a`, `b` and `c`, and whether `EXEC` then has nothing to do. A transaction that reads a watched
/// key and writes another may count as a change of it (docs/decisions/0077-transactions-over-partitions.md).
const CHANGES: &[(&str, bool)] = &[
    ("PING", false),
    ("GET b", false),
    ("SET d 1", false),
    ("RENAME d e", false),
    ("SET a 1", true),
    ("SET c 1", true),
    ("DEL b", true),
    ("DEL nosuch", false),
    ("DEL b; HSET b f v", true),
    ("MSETNX c 1 e 1", true),
    ("MSETNX c 1 d 1", false),
    ("RENAME a d", true),
    ("RENAMENX a b", false),
    ("RENAME f c", true),
    ("COPY a b REPLACE", true),
    ("BITOP OR c a d", true),
    ("MULTI; SET d 1; INCR b; EXEC", true),
    ("MULTI; SET d 1; SET e 1; EXEC", false),
    ("MULTI; INCR b; SET d 1; DISCARD", false),
    ("PEXPIREAT a 4102444800123", true),
    ("FLUSHDB", true),
];

#[test]
fn watched_keys_of_several_slots_are_as_they_were_or_nothing_happens() {
    let mut wrong = Vec::new();
    let mut tell = |who: &str, client: &mut Client, other: &mut Client| {
        for (change, is_changed) in CHANGES {
            client.line("DEL a b c d e f g x y");
            client.must(&["MSET", "a", "1", "b", "2", "f", "3", "d", "4"]);
            client.must(&["WATCH", "a", "b", "c"]);
            for line in change.split("; ") {
                other.line(line);
            }
            client.must(&["MULTI"]);
            client.line("SET x 1");
            client.line("INCR y");
            let reply = client.line("EXEC").to_string();
            let expected = ["[+OK, :1]", "*-1"];
            assert!(expected.contains(&reply.as_str()), "{change}: {reply}");
            let is_null = reply == expected[1];
            let found = client.line("EXISTS x y").as_integer();
            let expected = [2, 0][usize::from(is_null)];
            assert_eq!(found, Some(expected), "{change}, of {who}: {reply}");
            if is_null != *is_changed {
                wrong.push(format!("{change}, of {who}: {reply}"));
            }
        }
        // Who has said that it does not matter, and who has done it itself.
        client.must(&["WATCH", "a", "b"]);
        other.line("SET b 5");
        client.must(&["UNWATCH"]);
        client.must(&["MULTI"]);
        client.line("SET a 6");
        client.line("SET b 7");
        assert_eq!(client.line("EXEC").to_string(), "[+OK, +OK]", "of {who}");
        client.must(&["WATCH", "a", "b"]);
        client.line("SET b 8");
        client.must(&["MULTI"]);
        client.line("SET a 9");
        client.line("SET b 9");
        assert_eq!(client.line("EXEC").to_string(), "*-1", "of {who}");
        // The transaction itself is in a slot of which nothing is watched.
        client.must(&["WATCH", "a", "b"]);
        other.line("SET a 10");
        client.must(&["MULTI"]);
        client.line("SET x 9");
        assert_eq!(client.line("EXEC").to_string(), "*-1", "of {who}");
        let found = client.line("MGET a b x").to_string();
        assert_eq!(found, r#"["10", "8", $-1]"#, "of {who}");
    };
    if let Some(redis) = Setup::redis(ServerKind::Redis, "WATCH over several slots") {
        let redis = redis.start();
        tell("redis", &mut redis.connect(), &mut redis.connect());
    }
    let server = Setup::brickyard(BRICKS).start();
    make_tables(&server);
    for table in TABLES {
        let mut clients = [connect(&server, table), connect(&server, table)];
        let [client, other] = &mut clients;
        tell(table, client, other);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Nobody else is there, so what is watched stays as it is; also if a transaction of the same keys has only just been answered.
#[test]
fn who_is_alone_watches_in_vain_never() {
    let tell = |who: &str, client: &mut Client| {
        let mut wrong = BTreeMap::new();
        for before in [
            "PING",
            "MULTI; SET a 1; SET b 1; SET c 1; EXEC",
            "MULTI; GET c; SET a 1; INCR b; EXEC",
            "MSET a 1 b 2; RENAME a c",
            "SET a 1; COPY a b REPLACE",
        ] {
            for _ in 0..50 {
                let mut request = Vec::new();
                let lines = before.split("; ");
                let lines = lines.chain(["WATCH a b c", "MULTI", "SET x 1", "INCR y", "EXEC"]);
                for line in lines.clone() {
                    encode(&mut request, &line.split(' ').collect::<Vec<_>>());
                }
                client.send_raw(&request).expect("the requests are taken");
                let replies = lines.map(|_| client.receive().expect("a reply"));
                let last = replies.last().expect("a reply of EXEC");
                if last.items().is_none() {
                    *wrong.entry(before).or_insert(0) += 1;
                }
            }
        }
        assert!(wrong.is_empty(), "not executed of 50, by {who}: {wrong:#?}");
    };
    if let Some(redis) = Setup::redis(ServerKind::Redis, "WATCH of a lone client") {
        tell("redis", &mut redis.start().connect());
    }
    let server = Setup::brickyard(BRICKS).start();
    make_tables(&server);
    for table in TABLES {
        tell(table, &mut connect(&server, table));
    }
}

#[test]
fn transactions_in_a_pipeline_keep_their_place() {
    let server = Setup::brickyard(BRICKS).start();
    let mut random = Random::new(5);
    let mut client = server.connect();
    let mut model: BTreeMap<String, i64> = BTreeMap::new();
    for _ in 0..20 {
        let mut request = Vec::new();
        let mut expected = Vec::new();
        for number in 0..60 {
            let [x, y] = [0, 1].map(|side| format!("k{}", random.below(10) * 2 + side));
            let mut ask = |words: &[&str], reply: &str| {
                encode(&mut request, words);
                expected.push(reply.to_owned());
            };
            let shown = |value: Option<&i64>| {
                value.map_or_else(|| "$-1".to_owned(), |it| format!("\"{it}\""))
            };
            match random.below(4) {
                0 => {
                    ask(&["SET", &x, &number.to_string()], "+OK");
                    model.insert(x.clone(), number);
                    for words in [
                        &["MULTI"][..],
                        &["INCR", &x],
                        &["INCR", &y],
                        &["EXEC"],
                        &["GET", &x],
                        &["GET", &y],
                    ] {
                        let reply = match words {
                            ["MULTI"] => "+OK".to_owned(),
                            ["INCR", _] => "+QUEUED".to_owned(),
                            ["EXEC"] => {
                                let mut next = |key: &String| {
                                    let value = model.entry(key.clone()).or_insert(0);
                                    *value += 1;
                                    *value
                                };
                                format!("[:{}, :{}]", next(&x), next(&y))
                            }
                            [_, key] => shown(model.get(*key)),
                            _ => unreachable!("all are listed"),
                        };
                        ask(words, &reply);
                    }
                }
                1 => {
                    let is_free = !model.contains_key(&x) && !model.contains_key(&y);
                    ask(
                        &["MSETNX", &x, "1", &y, "2"],
                        [":0", ":1"][usize::from(is_free)],
                    );
                    if is_free {
                        model.extend([(x.clone(), 1), (y.clone(), 2)]);
                    }
                }
                2 => {
                    let reply = match model.remove(&x) {
                        Some(value) => {
                            model.insert(y.clone(), value);
                            "+OK"
                        }
                        None => "-ERR no such key",
                    };
                    ask(&["RENAME", &x, &y], reply);
                }
                _ => {
                    let script = "redis.call('del', KEYS[1]) return redis.call('get', KEYS[2])";
                    model.remove(&x);
                    ask(&["EVAL", script, "2", &x, &y], &shown(model.get(&y)));
                }
            }
            let reply = format!("[{}, {}]", shown(model.get(&x)), shown(model.get(&y)));
            ask(&["MGET", &x, &y], &reply);
        }
        client.send_raw(&request).expect("the pipeline is taken");
        for (number, expected) in expected.iter().enumerate() {
            let reply = client.receive().expect("a reply").to_string();
            assert_eq!(reply, *expected, "reply {number}");
        }
    }
}

/// Money goes to and fro by four clients, and a fifth one counts it meanwhile.
fn run_bank(server: &Server, table: &str, transfers: u64, counts: u64) {
    let mut admin = connect(server, table);
    bank::open(&mut admin);
    let next = AtomicU64::new(0);
    let made = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (next, made) = (&next, &made);
            scope.spawn(move || {
                let mut client = connect(server, table);
                let mut random = Random::new(writer);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= transfers {
                        break;
                    }
                    let transfer = Transfer::random(number, &mut random);
                    let way = Way::ALL[random.below(Way::ALL.len())];
                    let outcome = transfer.send(&mut client, way);
                    // Nothing is in the way of a transaction here but other ones, which is seen by watching alone.
                    let is_expected = match way {
                        Way::Watched => outcome != Outcome::Unknown,
                        Way::Queued | Way::Scripted => outcome == Outcome::Done,
                    };
                    assert!(is_expected, "{transfer:?} {way:?} was {outcome:?}");
                    made.lock()
                        .expect("no writer failed")
                        .push((transfer, outcome));
                }
            });
        }
        let mut client = connect(server, table);
        for count in 0..counts {
            let balances = bank::try_balances(&mut client).expect("the server is there");
            let balances = balances.unwrap_or_else(|error| panic!("count {count}: {error}"));
            let sum: i64 = balances.iter().sum();
            assert_eq!(
                sum,
                OPENING * ACCOUNTS as i64,
                "count {count}: {balances:?}"
            );
        }
    });
    let made = made.into_inner().expect("no writer failed");
    assert_eq!(made.len() as u64, transfers);
    let done = made.iter().filter(|it| it.1 == Outcome::Done).count();
    println!("{table}: {done} of {transfers} transfers were made");
    bank::audit(&mut admin, &made);
    // Beside accounts there are the two marks of each transfer, and nothing else.
    let keys = admin.line("DBSIZE").as_integer();
    assert_eq!(keys, Some((ACCOUNTS + 2 * done) as i64));
}

#[test]
fn money_is_neither_made_nor_lost_while_it_goes_to_and_fro() {
    let server = Setup::brickyard(BRICKS).start();
    run_bank(&server, "default", 800, 200);
}

#[test]
fn money_is_neither_made_nor_lost_in_tables_of_any_medium_and_durability() {
    let server = Setup::brickyard(BRICKS).start();
    make_tables(&server);
    for table in ["volatile", "careful", "cold"] {
        run_bank(&server, table, 200, 40);
    }
}

/// Reads of the log alone so far.
fn cold_reads(client: &mut Client) -> u64 {
    let info = client.line("INFO").text();
    let reads = info.lines().find_map(|it| it.strip_prefix("cold_reads:"));
    let reads = reads.unwrap_or_else(|| panic!("no cold reads in {info}"));
    reads.trim().parse().expect("a number")
}

#[test]
fn values_that_are_on_disk_alone_take_part() {
    const KEYS: usize = 600;
    let server = Setup::brickyard(BRICKS).start();
    make_tables(&server);
    let mut client = connect(&server, "cold");
    let value = |number: usize| format!("{number}:{}", "v".repeat(10_000));
    for number in 0..KEYS {
        client.must(&["SET", &format!("k{number}"), &value(number)]);
    }
    let before = cold_reads(&mut client);
    for number in (0..KEYS).step_by(6) {
        let key = |more: usize| format!("k{}", number + more);
        client.must(&["MULTI"]);
        client.call(&["GETRANGE", &key(0), "0", "9"]);
        client.call(&["RENAME", &key(0), &key(1)]);
        client.call(&["COPY", &key(1), &key(0)]);
        client.call(&["APPEND", &key(2), "!"]);
        client.call(&["STRLEN", &key(3)]);
        let reply = client.line("EXEC").to_string();
        let (start, len) = (&value(number)[..10], value(number + 2).len() + 1);
        let unchanged = value(number + 3).len();
        let expected = format!("[\"{start}\", +OK, :1, :{len}, :{unchanged}]");
        assert_eq!(reply, expected, "k{number}");
        let script = "local v = redis.call('mget', KEYS[1], KEYS[2]) redis.call('mset', KEYS[1], v[2], KEYS[2], v[1]) return #v";
        let reply = client.call(&["EVAL", script, "2", &key(4), &key(5)]);
        assert_eq!(reply.as_integer(), Some(2), "k{number}");
    }
    assert!(cold_reads(&mut client) > before + 100, "no value was cold");
    for number in (0..KEYS).step_by(6) {
        let swapped = [5, 4].map(|more| value(number + more));
        let expected = [
            value(number),
            value(number),
            value(number + 2) + "!",
            value(number + 3),
        ];
        for (more, expected) in expected.iter().chain(&swapped).enumerate() {
            let reply = client.call(&["GET", &format!("k{}", number + more)]);
            assert_eq!(reply.text(), *expected, "k{}", number + more);
        }
    }
    assert_eq!(client.line("DBSIZE").as_integer(), Some(KEYS as i64));
}

/// Each has keys in another order than the others: none waits for ever.
#[test]
fn crossed_transactions_all_come_to_an_end() {
    const ROUNDS: i64 = 150;
    const ORDERS: [[&str; 3]; 4] = [
        ["a", "b", "c"],
        ["c", "b", "a"],
        ["b", "c", "a"],
        ["a", "c", "b"],
    ];
    let server = Setup::brickyard(BRICKS).start();
    std::thread::scope(|scope| {
        for order in ORDERS {
            let server = &server;
            scope.spawn(move || {
                let mut client = server.connect();
                for round in 0..ROUNDS {
                    client.must(&["MULTI"]);
                    for key in order {
                        client.call(&["INCR", key]);
                    }
                    let reply = client.call(&["EXEC"]);
                    let counts = reply.items().unwrap_or_default();
                    // They have been written together only.
                    let is_even = counts.len() == 3 && counts.iter().all(|it| *it == counts[0]);
                    assert!(is_even, "round {round}: {reply}");
                }
            });
        }
    });
    let mut client = server.connect();
    let sum = (ORDERS.len() as i64 * ROUNDS).to_string();
    for key in ["a", "b", "c"] {
        assert_eq!(client.call(&["GET", key]).text(), sum);
    }
}

/// One key goes round under several names: it is under one of them at any moment.
#[test]
fn a_key_that_is_renamed_to_and_fro_is_there_once() {
    const NAMES: [&str; 3] = ["a", "b", "c"];
    let server = Setup::brickyard(BRICKS).start();
    let mut client = server.connect();
    client.must(&["SET", "a", "here"]);
    std::thread::scope(|scope| {
        for at in 0..NAMES.len() {
            let server = &server;
            scope.spawn(move || {
                let mut client = server.connect();
                for round in 0..200 {
                    let reply = client.call(&["RENAME", NAMES[at], NAMES[(at + 1) % 3]]);
                    let is_known = reply.is_ok() || reply.is_error_with("ERR no such key");
                    assert!(is_known, "round {round}: {reply}");
                }
            });
        }
        for round in 0..200 {
            client.must(&["MULTI"]);
            client.line("MGET a b c");
            client.line("EXISTS a b c");
            let reply = client.line("EXEC");
            let [names, count] = reply.items().unwrap_or_default() else {
                panic!("round {round}: {reply}");
            };
            assert_eq!(count.as_integer(), Some(1), "round {round}: {reply}");
            let names = names.items().unwrap_or_default().iter();
            let there = names.filter(|it| !it.is_null()).count();
            assert_eq!(there, 1, "round {round}: {reply}");
        }
    });
    assert_eq!(client.line("DBSIZE").as_integer(), Some(1));
}

/// Who of several clients makes a pair of keys first has made both.
#[test]
fn of_several_who_want_the_same_keys_one_gets_them() {
    const ROUNDS: usize = 60;
    let server = Setup::brickyard(BRICKS).start();
    let won: Vec<BTreeSet<usize>> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|who: usize| {
                let server = &server;
                scope.spawn(move || {
                    let mut client = server.connect();
                    let mut won = BTreeSet::new();
                    for round in 0..ROUNDS {
                        let mut keys = [0, 1, 2].map(|at| format!("{at}:of:{round}"));
                        keys.rotate_left(who % 3);
                        let (value, [a, b, c]) = (who.to_string(), &keys);
                        let reply = client.call(&["MSETNX", a, &value, b, &value, c, &value]);
                        if reply.as_integer().expect("a number") == 1 {
                            won.insert(round);
                        }
                    }
                    won
                })
            })
            .collect();
        let clients = clients.into_iter();
        clients
            .map(|it| it.join().expect("a client failed"))
            .collect()
    });
    let mut client = server.connect();
    for round in 0..ROUNDS {
        let winners = won.iter().enumerate();
        let winners = winners.filter(|(_, rounds)| rounds.contains(&round));
        let winners: Vec<usize> = winners.map(|(who, _)| who).collect();
        assert_eq!(winners.len(), 1, "round {round}: {winners:?}");
        let reply = client.line(&format!("MGET 0:of:{round} 1:of:{round} 2:of:{round}"));
        let who = winners[0];
        let expected = format!("[\"{who}\", \"{who}\", \"{who}\"]");
        assert_eq!(reply.to_string(), expected, "round {round}");
    }
}

#[test]
fn a_bricks_port_takes_keys_of_one_slot_as_before() {
    let server = Setup::brickyard(BRICKS).start();
    server
        .connect()
        .must(&["MSET", "a", "1", "b", "2", "c", "3"]);
    for brick in 0..BRICKS {
        let mut client = server.connect_brick(brick);
        for request in [
            "MSETNX a 1 b 2",
            "RENAME a b",
            "RENAMENX a b",
            "COPY a b",
            "BITOP AND a b c",
            "LCS a b",
            "MGET a b",
            "WATCH a b",
            "EVAL return{} 2 a b",
        ] {
            let reply = client.line(request);
            let is_refused =
                reply.is_error_with("CROSSSLOT Keys in request don't hash to the same slot");
            assert!(is_refused, "{request}: {reply}");
        }
        // Two keys of this brick, which are of two slots.
        let own: Vec<String> = (0..1_000)
            .map(|number| format!("k{number}"))
            .filter(|key| !client.call(&["GET", key]).is_error())
            .take(2)
            .collect();
        let [one, other] = &own[..] else {
            panic!("brick {brick} has no keys");
        };
        client.must(&["MULTI"]);
        assert_eq!(client.call(&["SET", one, "v"]).text(), "QUEUED");
        assert_eq!(client.call(&["SET", other, "v"]).text(), "QUEUED");
        let reply = client.line("EXEC");
        assert!(reply.is_error_with("CROSSSLOT"), "{reply}");
        assert_eq!(client.call(&["EXISTS", one]).as_integer(), Some(0));
    }
    let found = server.connect().line("MGET a b c").to_string();
    assert_eq!(found, r#"["1", "2", "3"]"#);
}

#[test]
fn what_transactions_tell_subscribers_is_what_redis_tells() {
    let Some(redis) = Setup::redis(ServerKind::Redis, "events of transactions") else {
        return;
    };
    let (redis, brickyard) = (redis.start(), Setup::brickyard(BRICKS).start());
    let heard = |client: &mut Client, mut listener: Client| -> Vec<String> {
        client.must(&["CONFIG", "SET", "notify-keyspace-events", "KEg$h"]);
        listener.send(&["PSUBSCRIBE", "*"]).expect("sent");
        listener.receive().expect("subscribed");
        for line in [
            "MSETNX a 1 b 2",
            "MSETNX a 1 c 2",
            "RENAME a c",
            "RENAME nosuch c",
            "RENAMENX c a",
            "COPY a d",
            "BITOP OR e a b",
            "BITOP OR e nosuch none",
            "MULTI",
            "SET x 1",
            "INCR y",
            "HSET z f v",
            "HSET x f v",
            "EXPIRE y 1000",
            "RENAME z c",
            "DEL x nosuch",
            "EXEC",
            "WATCH a b",
            "SET a 5",
            "MULTI",
            "SET a 6",
            "SET b 7",
            "EXEC",
        ] {
            client.line(line);
        }
        let script = "redis.call('incr', KEYS[1]) redis.call('incr', KEYS[2])";
        client.call(&["EVAL", script, "2", "a", "b"]);
        // Events of several bricks come in no promised order, so all that is there is waited for by what has no more to follow.
        let mut events = BTreeMap::new();
        let mut note = |event: String| *events.entry(event).or_insert(0) += 1;
        let mut rounds = 0;
        wait_for("silence after the events", || {
            rounds += 1;
            let mark = format!("mark {rounds}");
            client.call(&["PUBLISH", "marks", &mark]);
            let mut others = 0;
            loop {
                let message = listener.receive().expect("a message").to_string();
                if message.contains(&mark) {
                    break;
                }
                others += 1;
                note(message);
            }
            (others == 0).then_some(())
        });
        events
            .into_iter()
            .map(|(event, times)| format!("{times} times {event}"))
            .collect()
    };
    let theirs = heard(&mut redis.connect(), redis.connect());
    let ours = heard(&mut brickyard.connect(), brickyard.connect());
    assert!(theirs.len() > 20, "{theirs:?}");
    assert_eq!(theirs, ours);
}

/// All keys of a table, as each brick exports its partitions.
fn exported(server: &Server, table: &str) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for brick in 0..BRICKS {
        let mut client = server.connect_brick(brick);
        let led = client.call(&["TABLE", "EXPORT", table]);
        for partition in led.items().expect("a list of partitions") {
            let number = partition.as_integer().expect("a number").to_string();
            let mut request = vec!["TABLE", "EXPORT", table, &number];
            loop {
                // While transactions are being committed in it a partition has no moment to export.
                let reply = wait_for("an export", || {
                    let reply = client.call(&request);
                    (!reply.is_error_with("CLUSTERDOWN")).then_some(reply)
                });
                let Some([has_more, _, _, _, rows]) = reply.items() else {
                    panic!("partition {number}: {reply}");
                };
                for row in rows.items().expect("rows") {
                    // A fifth says that it is no string, but the payload of a hash.
                    let key = match row.items() {
                        Some([key, _, _, Value::Bulk(_)]) => key,
                        Some([key, _, _, Value::Bulk(_), Value::Integer(1)]) => key,
                        _ => panic!("partition {number}: {row}"),
                    };
                    assert!(keys.insert(key.text()), "{key} is there twice");
                }
                if has_more.as_integer() == Some(0) {
                    break;
                }
                request = vec!["TABLE", "EXPORT", table, &number, "NEXT"];
            }
        }
    }
    keys
}

fn scanned(client: &mut Client) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let mut cursor = "0".to_owned();
    loop {
        let reply = client.call(&["SCAN", &cursor]);
        let Some([next, some]) = reply.items() else {
            panic!("{reply}");
        };
        keys.extend(some.items().expect("a list").iter().map(Value::text));
        cursor = next.text();
        if cursor == "0" {
            return keys;
        }
    }
}

/// Does this and that with some keys, all at once, and much of it in vain.
fn make_a_mess(server: &Server, table: &str, count: usize) {
    std::thread::scope(|scope| {
        for who in 0..4 {
            scope.spawn(move || {
                let mut client = connect(server, table);
                let mut random = Random::new(who);
                for _ in 0..count {
                    let keys = [0; 3].map(|_| format!("k{}", random.below(12)));
                    let [a, b, c] = &keys;
                    match random.below(8) {
                        0 => drop(client.call(&["MSETNX", a, "1", b, "2"])),
                        1 => drop(client.call(&["RENAME", a, b])),
                        2 => drop(client.call(&["COPY", a, b, "REPLACE"])),
                        3 => drop(client.call(&["BITOP", "OR", a, b, c])),
                        4 => drop(client.call(&["DEL", a, b])),
                        5 => {
                            client.must(&["WATCH", a, b]);
                            client.must(&["MULTI"]);
                            client.call(&["HSET", c, "f", "v"]);
                            client.call(&["APPEND", a, "x"]);
                            client.call(&["EXEC"]);
                        }
                        6 => {
                            let script = "redis.call('set', KEYS[1], 'x') redis.call('del', KEYS[2]) return redis.call('incr', KEYS[3])";
                            client.call(&["EVAL", script, "3", a, b, c]);
                        }
                        _ => {
                            client.must(&["MULTI"]);
                            client.call(&["DEL", a]);
                            client.call(&["INCR", b]);
                            client.call(&["SET", c, "1"]);
                            client.call(&["EXEC"]);
                        }
                    }
                }
            });
        }
    });
}

#[test]
fn transactions_leave_nothing_but_what_they_wrote() {
    let server = Setup::brickyard(BRICKS).start();
    make_tables(&server);
    for table in TABLES {
        make_a_mess(&server, table, 60);
        let mut client = connect(&server, table);
        let mut there = BTreeSet::new();
        for number in 0..12 {
            let key = format!("k{number}");
            let kind = client.call(&["TYPE", &key]).text();
            match kind.as_str() {
                "none" => continue,
                "string" => drop(client.call(&["GET", &key]).as_bytes().expect("a value")),
                "hash" => assert_eq!(client.call(&["HGET", &key, "f"]).text(), "v"),
                other => panic!("{key} of {table} is a {other}"),
            }
            there.insert(key);
        }
        assert_eq!(exported(&server, table), there, "exported of {table}");
        assert_eq!(scanned(&mut client), there, "scanned of {table}");
        let listed = client.line("KEYS *");
        let listed: BTreeSet<String> = listed
            .items()
            .expect("keys")
            .iter()
            .map(Value::text)
            .collect();
        assert_eq!(listed, there, "listed of {table}");
        let size = client.line("DBSIZE").as_integer();
        assert_eq!(size, Some(there.len() as i64), "{table}");
        client.must(&["FLUSHDB"]);
        assert_eq!(client.line("DBSIZE").as_integer(), Some(0), "{table}");
        assert_eq!(exported(&server, table), BTreeSet::new(), "of {table}");
    }
}

/// Each is sent with what counts and lists behind it, so that nothing has time to be tidied up in between.
#[test]
fn what_was_done_is_counted_at_once() {
    let server = Setup::brickyard(BRICKS).start();
    make_tables(&server);
    let deeds: [(&str, &str, &[&str]); 7] = [
        ("SET c 3", "MSETNX a 1 b 2", &["a", "b", "c"]),
        ("SET a 1", "RENAME a b", &["b"]),
        ("SET a 1", "COPY a b", &["a", "b"]),
        // What is there again although it has gone.
        ("SET a 1", "RENAME a b; SET a 2", &["a", "b"]),
        ("MSET a 1 b 2 c 3 d 4", "MULTI; DEL a b c; EXEC", &["d"]),
        ("PING", "MULTI; MGET a b c; SET d 1; EXEC", &["d"]),
        ("PING", "MULTI; COPY nosuch b; SET d 1; EXEC", &["d"]),
    ];
    let mut wrong = BTreeSet::new();
    for table in TABLES {
        let mut client = connect(&server, table);
        for (first, deed, there) in deeds {
            // Of several rounds, since it depends on who is faster.
            for tag in ["", "1", "22", "333", "x", "yz"] {
                let named = |line: &str| -> Vec<String> {
                    let key = |word: &str| format!("{word}{tag}");
                    let is_key =
                        |word: &str| word.len() == 1 && word.chars().all(char::is_lowercase);
                    let words = line.split(' ');
                    words
                        .map(|it| if is_key(it) { key(it) } else { it.to_owned() })
                        .collect()
                };
                client.must(&["FLUSHDB"]);
                client.call(&named(first));
                let mut request = Vec::new();
                let lines = deed.split("; ").chain(["DBSIZE", "KEYS *"]);
                lines
                    .clone()
                    .for_each(|line| encode(&mut request, &named(line)));
                client.send_raw(&request).expect("the requests are taken");
                let replies = lines.map(|_| client.receive().expect("a reply"));
                let replies: Vec<Value> = replies.collect();
                let [.., size, keys] = &replies[..] else {
                    unreachable!("two are asked for behind all others");
                };
                let mut keys: Vec<String> = keys
                    .items()
                    .expect("keys")
                    .iter()
                    .map(Value::text)
                    .collect();
                keys.sort();
                let expected: Vec<String> = there.iter().map(|it| format!("{it}{tag}")).collect();
                if size.as_integer() != Some(expected.len() as i64) {
                    wrong.insert(format!(
                        "{table}: {deed}: DBSIZE counts other than {} keys",
                        expected.len()
                    ));
                }
                if keys != expected {
                    wrong.insert(format!("{table}: {deed}: KEYS lists other than {there:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What is counted and listed while transactions are under way has nothing half made.
#[test]
fn nothing_half_made_is_seen_from_outside() {
    let server = Setup::brickyard(BRICKS).start();
    let mut client = server.connect();
    for key in ["a", "b", "c", "kept"] {
        client.must(&["SET", key, "v"]);
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = server.connect();
            let mut rounds = 0;
            while !is_over.load(Ordering::Relaxed) && rounds < 100_000 {
                // Refused, since one of them is there: the others never are.
                let reply = client.line("MSETNX x 1 y 1 z 1 kept 1");
                assert_eq!(reply.as_integer(), Some(0));
                let reply = client.line("COPY kept a REPLACE");
                assert_eq!(reply.as_integer(), Some(1));
                rounds += 1;
            }
        });
        let expected: BTreeSet<String> = ["a", "b", "c", "kept"].map(String::from).into();
        let look = |client: &mut Client| {
            for _ in 0..100 {
                assert_eq!(client.line("DBSIZE").as_integer(), Some(4));
                assert_eq!(client.line("EXISTS x y z").as_integer(), Some(0));
                assert_eq!(client.line("TYPE a").text(), "string");
                assert_eq!(client.line("OBJECT ENCODING a").text(), "embstr");
                assert_eq!(scanned(client), expected);
            }
            for _ in 0..5 {
                assert_eq!(exported(&server, "default"), expected);
            }
        };
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| look(&mut client)));
        is_over.store(true, Ordering::Relaxed);
        looked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

#[test]
fn what_was_answered_is_whole_after_a_crash() {
    let mut server = Setup::brickyard(BRICKS).start();
    make_tables(&server);
    for table in ["default", "careful", "cold"] {
        bank::open(&mut connect(&server, table));
        let mut made: Vec<(Transfer, Outcome)> = Vec::new();
        for crash in 0..2 {
            let done = AtomicU64::new(0);
            let next = AtomicU64::new(made.len() as u64);
            let some = Mutex::new(Vec::new());
            let port = server.port();
            std::thread::scope(|scope| {
                for writer in 0..4 {
                    let (done, next, some) = (&done, &next, &some);
                    scope.spawn(move || {
                        let mut client = Client::connect(port);
                        client.must(&["TABLE", "USE", table]);
                        let mut random = Random::new(crash * 4 + writer);
                        let mut outcome = Outcome::Done;
                        // It ends with its connection.
                        while outcome != Outcome::Unknown {
                            let number = next.fetch_add(1, Ordering::Relaxed);
                            let transfer = Transfer::random(number, &mut random);
                            let way = Way::ALL[random.below(Way::ALL.len())];
                            outcome = transfer.send(&mut client, way);
                            some.lock()
                                .expect("no writer failed")
                                .push((transfer, outcome));
                            let count = u64::from(outcome == Outcome::Done);
                            done.fetch_add(count, Ordering::Relaxed);
                        }
                    });
                }
                wait_for("some transfers", || {
                    (done.load(Ordering::Relaxed) >= 80).then_some(())
                });
                server.kill();
            });
            made.extend(some.into_inner().expect("no writer failed"));
            server.restart();
            let mut client = connect(&server, table);
            bank::audit(&mut client, &made);
            // None stays locked.
            for number in 0..ACCOUNTS {
                let reply = client.call(&["INCRBY", &bank::account(number), "0"]);
                assert!(reply.as_integer().is_some(), "{table}: {reply}");
            }
        }
        let unknown = made.iter().filter(|it| it.1 == Outcome::Unknown).count();
        println!(
            "{table}: {} transfers, {unknown} of them unanswered",
            made.len()
        );
    }
}
