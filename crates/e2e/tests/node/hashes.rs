//! Hashes: after a crash, from disk, past a field's time; and payloads that a real Redis writes and reads.

use brickyard_e2e::client::Client;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::server::{ServerKind, Setup};
use brickyard_e2e::value::Value;
use std::collections::BTreeMap;

/// A pair of short words for each of so many fields.
fn pairs(count: usize) -> Vec<String> {
    (0..count)
        .flat_map(|n| [format!("f{n}"), format!("value {n}")])
        .collect()
}

fn hset(client: &mut Client, key: &str, pairs: &[String]) {
    let words: Vec<&str> = ["HSET", key]
        .into_iter()
        .chain(pairs.iter().map(String::as_str))
        .collect();
    let reply = client.call(&words);
    assert!(reply.as_integer().is_some(), "{reply}");
}

#[test]
fn payloads_go_both_ways_between_redis_and_here() {
    let Some(redis) = Setup::redis(ServerKind::Redis, "payloads of DUMP") else {
        return;
    };
    let (redis, brickyard) = (redis.start(), Setup::brickyard(1).start());
    let (mut theirs, mut ours) = (redis.connect(), brickyard.connect());
    let long = "abc".repeat(10_000);
    for client in [&mut theirs, &mut ours] {
        for (key, value) in [("s1", ""), ("s2", "12"), ("s3", "-70000"), ("s4", &long)] {
            client.must(&["SET", key, value]);
        }
        hset(client, "h1", &pairs(3));
        hset(client, "h2", &pairs(2_000));
        client.must(&[
            "HMSET",
            "h3",
            "n",
            "12345678901",
            "m",
            "-5",
            "",
            "",
            "long",
            &long,
        ]);
    }
    let pairs_of = |client: &mut Client, key: &str| {
        let mut pairs = client.call(&["HGETALL", key]).pairs().expect("pairs");
        pairs.sort();
        pairs
    };
    let carry = |from: &mut Client, to: &mut Client| {
        for key in ["s1", "s2", "s3", "s4", "h1", "h2", "h3"] {
            let Value::Bulk(payload) = from.call(&["DUMP", key]) else {
                panic!("no payload of {key}");
            };
            let copy = format!("copy:{key}");
            to.must(&[
                b"RESTORE",
                copy.as_bytes(),
                b"100000000",
                &payload,
                b"REPLACE",
            ]);
            if key.starts_with('s') {
                assert_eq!(to.call(&["GET", &copy]), from.call(&["GET", key]), "{key}");
            } else {
                assert_eq!(pairs_of(to, &copy), pairs_of(from, key), "{key}");
            }
        }
    };
    carry(&mut theirs, &mut ours);
    carry(&mut ours, &mut theirs);
    // A list of theirs is none of our types, and nothing is written.
    theirs.call(&["RPUSH", "list", "a"]);
    let Value::Bulk(payload) = theirs.call(&["DUMP", "list"]) else {
        panic!("no payload of a list");
    };
    let refused = ours.call(&[b"RESTORE", &b"list"[..], b"0", &payload]);
    assert!(refused.is_error_with("ERR Bad data format"), "{refused}");
    assert_eq!(ours.line("EXISTS list").as_integer(), Some(0));
}

#[test]
fn hashes_are_there_after_a_crash_in_tables_of_either_medium() {
    let mut server = Setup::brickyard(2).start();
    let mut client = server.connect();
    // So little memory that most values are on disk alone.
    client.must(&[
        "TABLE",
        "CREATE",
        "cold",
        "MEDIUM",
        "disk",
        "MAXMEMORY",
        "1mb",
    ]);
    for table in ["default", "cold"] {
        client.must(&["TABLE", "USE", table]);
        for n in 0..400 {
            hset(&mut client, &format!("h{n}"), &pairs(1 + n % 40 * 10));
        }
        client.line("HDEL h39 f0 f1");
        client.line("HPEXPIREAT h38 4102444800123 FIELDS 2 f0 f1");
        client.line("PEXPIREAT h38 4102444800999");
        client.must(&["SET", "h37", "a string now"]);
    }
    server.kill();
    server.restart();
    let mut client = server.connect();
    for table in ["default", "cold"] {
        client.must(&["TABLE", "USE", table]);
        for n in (0..400).filter(|n| !(37..40).contains(n)) {
            let fields = 1 + n % 40 * 10;
            let reply = client.line(&format!("HGETALL h{n}"));
            let found = reply.pairs().expect("pairs");
            assert_eq!(found.len(), fields, "h{n} of {table}");
            let last = format!("f{}", fields - 1);
            let (_, value) = found
                .iter()
                .find(|it| it.0.text() == last)
                .expect("a field");
            assert_eq!(value.text(), format!("value {}", fields - 1));
        }
        assert_eq!(client.line("HLEN h39").as_integer(), Some(389));
        let times = client.line("HPEXPIRETIME h38 FIELDS 3 f0 f1 f2");
        assert_eq!(times.to_string(), "[:4102444800123, :4102444800123, :-1]");
        let at = client.line("PEXPIRETIME h38").as_integer();
        assert_eq!(at, Some(4_102_444_800_999));
        assert_eq!(client.line("TYPE h37").text(), "string");
    }
}

/// A hash of many fields: what a write to one of them costs in the log, and that nothing of it is lost.
#[test]
fn a_field_of_a_large_hash_costs_what_a_field_costs() {
    const FIELDS: usize = 20_000;
    for options in [&[][..], &["MEDIUM", "disk", "MAXMEMORY", "1mb"]] {
        let mut server = Setup::brickyard(1).start();
        let mut client = server.connect();
        let create = ["TABLE", "CREATE", "t", "DURABILITY", "log"];
        client.must(&[&create[..], options].concat());
        client.must(&["TABLE", "USE", "t"]);
        for chunk in pairs(FIELDS).chunks(400) {
            hset(&mut client, "h", chunk);
        }
        let appended = |client: &mut Client| -> u64 {
            let info = client.call(&["INFO", "persistence"]).text();
            let line = info
                .lines()
                .find_map(|it| it.strip_prefix("log_appended_bytes:"));
            line.expect("bytes appended").parse().expect("a number")
        };
        let before = appended(&mut client);
        for n in 0..100 {
            client.call(&["HSET", "h", &format!("f{}", n * 7), "changed"]);
        }
        let each = (appended(&mut client) - before) / 100;
        assert!(each < 4_096, "{each} bytes for one field of {FIELDS}");
        server.kill();
        server.restart();
        let mut client = server.connect();
        client.must(&["TABLE", "USE", "t"]);
        assert_eq!(client.line("HLEN h").as_integer(), Some(FIELDS as i64));
        assert_eq!(client.line("DBSIZE").as_integer(), Some(1));
        let found = client.line("HGETALL h").pairs().expect("pairs").into_iter();
        let found: BTreeMap<String, String> = found.map(|it| (it.0.text(), it.1.text())).collect();
        assert_eq!(found.len(), FIELDS);
        for n in 0..FIELDS {
            let expected = match n % 7 == 0 && n < 700 {
                true => "changed".to_owned(),
                false => format!("value {n}"),
            };
            let field = format!("f{n}");
            assert_eq!(found.get(&field), Some(&expected), "{field}");
        }
        assert_eq!(client.line("DEL h").as_integer(), Some(1));
    }
}

#[test]
fn a_field_whose_time_is_over_is_gone_for_good() {
    let mut server = Setup::brickyard(1).start();
    let mut client = server.connect();
    let long = "x".repeat(10_000);
    client.must(&["HMSET", "h", "a", &long, "b", "2"]);
    client.must(&["HMSET", "all", "a", "1", "b", "2"]);
    let usage = |client: &mut Client| client.line("MEMORY USAGE h").as_integer().expect("bytes");
    let before = usage(&mut client);
    client.line("HPEXPIRE h 30 FIELDS 1 a");
    client.line("HPEXPIRE all 30 FIELDS 1 a");
    client.line("HPEXPIRE all 60 FIELDS 1 b");
    wait_for("the field's time", || {
        (client.line("HEXISTS h a").as_integer() == Some(0)).then_some(())
    });
    assert_eq!(client.line("HGETALL h").to_string(), "[\"b\", \"2\"]");
    // Who read it has had it removed.
    assert!(usage(&mut client) < before - 9_000);
    // The last field takes its key along, which nobody has to look at.
    wait_for("the key's end", || {
        (client.line("DBSIZE").as_integer() == Some(1)).then_some(())
    });
    server.kill();
    server.restart();
    let mut client = server.connect();
    assert_eq!(client.line("KEYS *").to_string(), "[\"h\"]");
    assert_eq!(client.line("HKEYS h").to_string(), "[\"b\"]");
}

#[test]
fn what_a_hash_tells_subscribers_is_what_redis_tells() {
    let Some(redis) = Setup::redis(ServerKind::Redis, "events of hashes") else {
        return;
    };
    let (redis, brickyard) = (redis.start(), Setup::brickyard(1).start());
    let heard = |client: &mut Client, mut listener: Client| -> Vec<String> {
        client.must(&["CONFIG", "SET", "notify-keyspace-events", "Khg"]);
        listener.send(&["PSUBSCRIBE", "*"]).expect("sent");
        listener.receive().expect("subscribed");
        for line in [
            "HSET {t}h a 1 b 2",
            "HSETNX {t}h a 1",
            "HSETNX {t}h c 1",
            "HINCRBY {t}h a 2",
            "HINCRBYFLOAT {t}h a 0.5",
            "HDEL {t}h nosuch",
            "HDEL {t}h a",
            "EXPIRE {t}h 1000",
            "PERSIST {t}h",
            "RENAME {t}h {t}i",
            "COPY {t}i {t}j",
            "HDEL {t}i b c",
            "DEL {t}j",
            "HSET end a 1",
        ] {
            client.line(line);
        }
        let mut events = Vec::new();
        while !events.last().is_some_and(|it: &String| it.contains("end")) {
            let message = listener.receive().expect("a message");
            events.push(message.to_string());
        }
        events
    };
    let theirs = heard(&mut redis.connect(), redis.connect());
    let ours = heard(&mut brickyard.connect(), brickyard.connect());
    assert_eq!(theirs, ours);
}
