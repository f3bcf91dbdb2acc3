//! Tables: isolated from each other, each with its medium, its durability and its bounds.

use brickyard_e2e::client::{Client, encode};
use brickyard_e2e::random::Random;
use brickyard_e2e::server::{Server, Setup};
use brickyard_e2e::value::Value;

const MIB: u64 = 1 << 20;

fn on_table(server: &Server, name: &str) -> Client {
    let mut client = server.connect();
    client.must(&["TABLE", "USE", name]);
    client
}

/// The names that `TABLE LIST` returns.
fn tables(client: &mut Client) -> Vec<String> {
    let reply = client.line("TABLE LIST");
    let items = reply
        .items()
        .unwrap_or_else(|| panic!("TABLE LIST was answered with {reply}"));
    items
        .iter()
        .map(|item| match item.items() {
            // A list of names, or of rows that start with the name.
            Some(row) => row[0].text(),
            None => item.text(),
        })
        .collect()
}

#[test]
fn tables_do_not_see_each_other() {
    let server = Setup::brickyard(3).start();
    let mut admin = server.connect();
    admin.must(&["TABLE", "CREATE", "one"]);
    admin.must(&["TABLE", "CREATE", "two"]);
    let mut clients = [
        server.connect(),
        on_table(&server, "one"),
        on_table(&server, "two"),
    ];
    for (number, client) in clients.iter_mut().enumerate() {
        for key in 0..100 {
            client.must(&["SET", &format!("k{key}"), &number.to_string()]);
        }
    }
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.line("DBSIZE"), Value::Integer(100));
        assert_eq!(client.line("GET k7").text(), number.to_string());
    }
    clients[1].must(&["FLUSHDB"]);
    assert_eq!(clients[0].line("DBSIZE"), Value::Integer(100));
    assert_eq!(clients[1].line("DBSIZE"), Value::Integer(0));
    assert_eq!(clients[2].line("DBSIZE"), Value::Integer(100));
    clients[0].must(&["FLUSHALL"]);
    assert_eq!(clients[2].line("DBSIZE"), Value::Integer(0));
}

#[test]
fn numbered_databases_are_tables_made_on_first_use() {
    let server = Setup::brickyard(2).start();
    let mut client = server.connect();
    assert_eq!(tables(&mut client), ["default"]);
    client.must(&["SET", "k", "zero"]);
    client.must(&["SELECT", "5"]);
    assert!(client.line("GET k").is_null());
    client.must(&["SET", "k", "five"]);
    client.must(&["SELECT", "0"]);
    assert_eq!(client.line("GET k").text(), "zero");
    let mut names = tables(&mut client);
    names.sort();
    assert_eq!(names, ["5", "default"]);
    assert_eq!(on_table(&server, "5").line("GET k").text(), "five");
    let reply = client.line("SELECT 16");
    assert!(
        reply.is_error_with("ERR DB index is out of range"),
        "{reply}"
    );
    client
        .receive_to_end()
        .expect("a refused SELECT closes the connection");
}

#[test]
fn tables_and_their_contents_survive_a_restart() {
    let mut server = Setup::brickyard(2).start();
    let mut client = server.connect();
    client.must(&[
        "TABLE",
        "CREATE",
        "kept",
        "MEDIUM",
        "disk",
        "DURABILITY",
        "fsync",
        "MAXMEMORY",
        "5mb",
    ]);
    client.must(&["TABLE", "CREATE", "dropped"]);
    client.must(&["TABLE", "CREATE", "forgetful", "DURABILITY", "memory"]);
    for name in ["kept", "dropped", "forgetful"] {
        on_table(&server, name).must(&["SET", "k", name]);
    }
    client.must(&["SELECT", "3"]);
    client.must(&["SET", "k", "three"]);
    client.must(&["TABLE", "DROP", "dropped", "CONFIRM", "dropped"]);
    let before = client.line("TABLE DESCRIBE kept").text();
    assert!(
        before.contains("disk") && before.contains("fsync"),
        "{before}"
    );
    server.kill();
    server.restart();
    let mut client = server.connect();
    let mut names = tables(&mut client);
    names.sort();
    assert_eq!(names, ["3", "default", "forgetful", "kept"]);
    assert_eq!(on_table(&server, "kept").line("GET k").text(), "kept");
    assert_eq!(on_table(&server, "3").line("GET k").text(), "three");
    assert!(
        on_table(&server, "forgetful").line("GET k").is_null(),
        "memory is not kept"
    );
    // A table of the same name is another one.
    client.must(&["TABLE", "CREATE", "dropped"]);
    assert!(
        on_table(&server, "dropped").line("GET k").is_null(),
        "a dropped table came back"
    );
    server.restart();
    assert!(
        on_table(&server, "dropped").line("GET k").is_null(),
        "a dropped table came back"
    );
}

#[test]
fn dropping_asks_for_the_name_twice() {
    let server = Setup::brickyard(2).start();
    let mut client = server.connect();
    client.must(&["TABLE", "CREATE", "precious"]);
    let mut user = on_table(&server, "precious");
    user.must(&["SET", "k", "v"]);
    for wrong in [
        "TABLE DROP precious",
        "TABLE DROP precious CONFIRM",
        "TABLE DROP precious CONFIRM other",
        "TABLE DROP precious precious precious",
        "TABLE DROP default CONFIRM default",
        "TABLE DROP nosuch CONFIRM nosuch",
    ] {
        let reply = client.line(wrong);
        assert!(reply.is_error_with("ERR"), "{wrong}: {reply}");
    }
    assert_eq!(user.line("GET k").text(), "v");
    client.must(&["TABLE", "DROP", "precious", "CONFIRM", "precious"]);
    let reply = user.try_call(&["GET", "k"]);
    assert!(
        !reply.is_ok_and(|reply| reply.text() == "v"),
        "a dropped table is still served"
    );
    let mut late = server.connect();
    assert!(late.line("TABLE USE precious").is_error());
}

#[test]
fn wrong_attributes_are_refused_in_words() {
    let server = Setup::brickyard(1).start();
    let mut client = server.connect();
    for (request, word) in [
        ("TABLE CREATE t MEDIUM floppy", "floppy"),
        ("TABLE CREATE t DURABILITY maybe", "maybe"),
        ("TABLE CREATE t MAXMEMORY lots", "lots"),
        ("TABLE CREATE t COLOUR red", "COLOUR"),
        ("TABLE CREATE t MEDIUM", "MEDIUM"),
        ("TABLE CREATE t REPLICAS 9", "9"),
        ("TABLE CREATE default", "default"),
        ("TABLE DESCRIBE nosuch", "nosuch"),
        ("TABLE ALTER nosuch EVICT lru", "nosuch"),
    ] {
        let reply = client.line(request);
        assert!(reply.is_error_with("ERR"), "{request}: {reply}");
        assert!(
            reply.text().to_lowercase().contains(&word.to_lowercase()),
            "{request}: {reply}"
        );
    }
    let name = "n".repeat(200);
    for name in [name.as_str(), "", "two words", "new\nline"] {
        let reply = client.call(&["TABLE", "CREATE", name]);
        assert!(reply.is_error_with("ERR"), "{name:?}: {reply}");
    }
    assert_eq!(tables(&mut client), ["default"]);
}

#[test]
fn a_full_table_refuses_writes_and_goes_on_reading_and_deleting() {
    let server = Setup::brickyard(2).start();
    let mut client = server.connect();
    client.must(&["TABLE", "CREATE", "small", "MAXMEMORY", "1mb"]);
    client.must(&["SET", "elsewhere", "v"]);
    let mut small = on_table(&server, "small");
    let value = "v".repeat(1_000);
    let full = (0..10_000)
        .find(|number| {
            let reply = small.call(&["SET", &format!("k{number}"), &value]);
            assert!(reply.is_ok() || reply.is_error_with("OOM"), "{reply}");
            reply.is_error()
        })
        .expect("10 MB do not fit into 1 MiB");
    assert!(full > 300, "only {full} values of 1 kB fit into 1 MiB");
    assert_eq!(small.call(&["GET", "k0"]).text(), value);
    // Other tables have their own bounds.
    client.must(&["SET", "elsewhere", "w"]);
    for number in 0..full {
        assert_eq!(
            small.call(&["DEL", &format!("k{number}")]),
            Value::Integer(1)
        );
    }
    small.must(&["SET", "again", &value]);
    // A higher bound takes effect at once.
    client.must(&["TABLE", "ALTER", "small", "MAXMEMORY", "8mb"]);
    for number in 0..2_000 {
        small.must(&["SET", &format!("k{number}"), &value]);
    }
}

#[test]
fn a_cache_evicts_what_was_not_used_lately() {
    let server = Setup::brickyard(2).start();
    let mut client = server.connect();
    client.must(&[
        "TABLE",
        "CREATE",
        "cache",
        "MAXMEMORY",
        "2mb",
        "EVICT",
        "lru",
    ]);
    let mut cache = on_table(&server, "cache");
    let value = "v".repeat(1_000);
    let hot: Vec<String> = (0..20).map(|number| format!("hot{number}")).collect();
    for key in &hot {
        cache.must(&["SET", key, &value]);
    }
    let mut misses = 0;
    for number in 0..10_000 {
        cache.must(&["SET", &format!("k{number}"), &value]);
        // Each hot key is asked for every twenty writes, and written again if it is gone.
        let key = &hot[number % hot.len()];
        if cache.call(&["GET", key]).is_null() {
            cache.must(&["SET", key, &value]);
            misses += usize::from(number >= 5_000);
        }
    }
    let size = cache.line("DBSIZE").as_integer().expect("a number");
    assert!(
        (200..3_000).contains(&size),
        "{size} values of 1 kB in 2 MiB"
    );
    // First in, first out would lose each hot key whenever all others have been written once.
    let by_age = hot.len() * 5_000 / usize::try_from(size).expect("a count");
    assert!(
        misses * 5 <= by_age * 2,
        "hot keys were missed {misses} times in 5,000 reads, and {by_age} times if the oldest went"
    );
    assert!(
        !cache.call(&["GET", "k9999"]).is_null(),
        "the newest key was evicted"
    );
}

#[test]
fn a_disk_table_returns_more_than_its_memory_holds() {
    const KEYS: usize = 6_000;
    const VALUE_BYTES: usize = 10_000;
    let mut server = Setup::brickyard(2).start();
    server.connect().must(&[
        "TABLE",
        "CREATE",
        "cold",
        "MEDIUM",
        "disk",
        "MAXMEMORY",
        "4mb",
    ]);
    let value = |number: usize| Random::new(number as u64).bytes(VALUE_BYTES);
    let key = |number: usize| format!("k{number}");
    let before = server.process().resident_bytes();
    let mut client = on_table(&server, "cold");
    for number in 0..KEYS {
        assert!(
            client
                .call(&[b"SET", key(number).as_bytes(), &value(number)])
                .is_ok()
        );
    }
    let grown = server.process().resident_bytes().saturating_sub(before);
    // 60 MB were written; the bound is 4 MiB, beside it are index, buffers and the log's batches.
    assert!(grown < 40 * MIB, "memory grew by {} MiB", grown / MIB);
    let check = |client: &mut Client, from: usize| {
        for number in (from..KEYS).step_by(7) {
            let reply = client.call(&["GET", &key(number)]);
            assert_eq!(reply.as_bytes(), Some(&value(number)[..]), "k{number}");
        }
        // Pipelined, mixed with writes of the same keys, across bricks.
        let keys: Vec<String> = (0..50).map(|index| key(index * 97 % KEYS)).collect();
        let mut request = vec!["MGET".to_owned()];
        request.extend(keys);
        let reply = client.call(&request);
        for (index, item) in reply.items().expect("a list").iter().enumerate() {
            assert_eq!(item.as_bytes(), Some(&value(index * 97 % KEYS)[..]));
        }
    };
    check(&mut client, 0);
    assert_eq!(
        client.call(&["APPEND", "k1", "tail"]),
        Value::Integer(10_004)
    );
    assert_eq!(client.call(&["GETRANGE", "k1", "-4", "-1"]).text(), "tail");
    server.kill();
    server.restart();
    let mut client = on_table(&server, "cold");
    assert_eq!(client.line("DBSIZE"), Value::Integer(6_000));
    check(&mut client, 2);
    assert_eq!(client.call(&["STRLEN", "k1"]), Value::Integer(10_004));
}

/// Space that overwritten and deleted values took is given back, and nothing live goes with it.
#[test]
fn the_cleaner_gives_space_back() {
    let mut server = Setup::brickyard(1)
        .arguments(&["--segment-bytes", "4MiB"])
        .start();
    let mut client = server.connect();
    let value =
        |round: usize, number: usize| Random::new((round * 1_000 + number) as u64).bytes(2_000);
    const ROUNDS: usize = 120;
    const KEYS: usize = 500;
    for round in 0..ROUNDS {
        let mut requests = Vec::new();
        for number in 0..KEYS {
            let key = format!("k{number}");
            encode(
                &mut requests,
                &[b"SET", key.as_bytes(), &value(round, number)],
            );
        }
        client.send_raw(&requests).expect("the requests are taken");
        for _ in 0..KEYS {
            assert!(client.receive().expect("a reply").is_ok());
        }
    }
    // 120 MB were written, 1 MB is live; a log of less than 64 MiB would not be worth cleaning.
    let data = server.data();
    brickyard_e2e::deadline::wait_for("the cleaner to give space back", || {
        (folder_bytes(&data) < 70 * MIB).then_some(())
    });
    for restart in [false, true] {
        if restart {
            server.kill();
            server.restart();
            client = server.connect();
        }
        assert_eq!(client.line("DBSIZE"), Value::Integer(500));
        for number in 0..KEYS {
            let reply = client.call(&["GET", &format!("k{number}")]);
            assert_eq!(
                reply.as_bytes(),
                Some(&value(ROUNDS - 1, number)[..]),
                "k{number}"
            );
        }
    }
}

fn folder_bytes(folder: &std::path::Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
            Ok(metadata) => metadata.len(),
            // Removed by the cleaner while we look.
            Err(_) => 0,
        })
        .sum()
}

#[test]
fn expired_keys_go_away_unasked_and_stay_away() {
    let mut server = Setup::brickyard(2).start();
    let mut client = server.connect();
    for number in 0..500 {
        client.must(&["SET", &format!("short{number}"), "v", "PX", "50"]);
        client.must(&["SET", &format!("long{number}"), "v", "EX", "1000"]);
    }
    brickyard_e2e::deadline::wait_for("the expired keys to be removed without being read", || {
        (client.line("DBSIZE") == Value::Integer(500)).then_some(())
    });
    server.kill();
    server.restart();
    let mut client = server.connect();
    assert_eq!(client.line("DBSIZE"), Value::Integer(500));
    assert!(client.line("GET short7").is_null());
    let left = client.line("TTL long7").as_integer().expect("a number");
    assert!(
        (900..=1000).contains(&left),
        "{left} seconds are left of 1000"
    );
}
