//! `brickyard load` and `brickyard dump` against a real server: every format of the samples, bad
//! input, and the way there and back.

use crate::support::{
    BRICKYARD, brickyard, hash_password, start_configured, start_redis, start_server, text,
};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// A file of the repository's samples.
fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../samples")
        .join(name)
}

fn load(address: &str, file: &str, more: &[&str]) -> std::process::Output {
    brickyard(&[&["load", file, "--to", address][..], more].concat())
}

#[test]
fn load_stores_every_sample() {
    let server = start_server();
    for (name, key, count, found, value) in [
        (
            "packages.sample",
            None,
            40,
            "bash",
            "Package: bash\nVersion: 5.2-1\n",
        ),
        ("words.sample", None, 117, "brick", ""),
        (
            "people.csv",
            None,
            10,
            "ann@example.org",
            "{\"email\":\"ann@example.org\",\"name\":",
        ),
        (
            "people.csv",
            Some("name"),
            10,
            "Bob \"the kiln\" Baker",
            "{\"email\":\"bob@example.org\"",
        ),
        (
            "events.jsonl",
            None,
            24,
            "event-0001",
            "{\"id\": \"event-0001\", ",
        ),
    ] {
        let path = sample(name);
        let key = key.map_or_else(Vec::new, |key| vec!["--key", key]);
        let output = load(&server.address, path.to_str().unwrap(), &key);
        assert!(output.status.success(), "{}", text(&output));
        assert!(
            text(&output).contains(&format!("stored {count} records")),
            "{}",
            text(&output)
        );
        let reply = server.call(&["GET", found]);
        let stored = String::from_utf8_lossy(reply.bytes().unwrap()).into_owned();
        assert!(stored.starts_with(value), "{found} is {stored}");
    }
}

#[test]
fn load_counts_bad_lines_and_strict_stops_at_the_first() {
    let server = start_server();
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("mixed.jsonl");
    fs::write(&path, "{\"id\":1}\nnot json\n{\"id\":2}\n{\"name\":3}\n").unwrap();
    let path = path.to_str().unwrap();

    let output = load(&server.address, path, &["--key", "id"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    let shown = text(&output);
    assert!(shown.contains("stored 2 records"), "{shown}");
    assert!(
        shown.contains("bad lines, left out: 2\n  line 2: not JSON"),
        "{shown}"
    );
    assert!(
        shown.contains("  line 4: the object has no field 'id'\n"),
        "{shown}"
    );

    let output = load(&server.address, path, &["--key", "id", "--strict"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(
        text(&output).contains("line 2: not JSON"),
        "{}",
        text(&output)
    );
}

#[test]
fn what_is_dumped_loads_back_with_its_time_to_live() {
    let (source, target) = (start_server(), start_server());
    for number in 0..2500 {
        source.call(&[
            "SET",
            &format!("key:{number}"),
            &format!("value \"{number}\"\n\u{f6}"),
        ]);
    }
    source.call(&["SET", "expiring", "soon", "PX", "100000000"]);
    // A bitmap is the shortest way to bytes that are no UTF-8.
    source.call(&["SETBIT", "binary", "0", "1"]);

    let dumped = brickyard(&["dump", "--from", &source.address]);
    assert!(dumped.status.success(), "{}", text(&dumped));
    assert!(text(&dumped).contains("dumped 2,502 records"));

    // Through standard input, recognised by its first line.
    let mut child = Command::new(BRICKYARD)
        .args(["load", "-", "--to", &target.address])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&dumped.stdout)
        .unwrap();
    let loaded = child.wait_with_output().unwrap();
    assert!(loaded.status.success(), "{}", text(&loaded));
    assert!(text(&loaded).contains("standard input: a dump\nstored 2,502 records"));

    assert_eq!(target.call(&["DBSIZE"]).integer(), Some(2502));
    for key in ["key:0", "key:2499", "expiring", "binary"] {
        assert_eq!(
            source.call(&["GET", key]),
            target.call(&["GET", key]),
            "{key}"
        );
    }
    assert_eq!(target.call(&["GET", "binary"]).bytes(), Some(&b"\x80"[..]));
    assert_eq!(target.call(&["PTTL", "key:0"]).integer(), Some(-1));
    let left = target.call(&["PTTL", "expiring"]).integer().unwrap();
    assert!((1..=100_000_000).contains(&left), "{left}");
}

#[test]
fn dump_filters_keys_and_has_three_formats() {
    let server = start_server();
    for key in ["user:1", "user:2", "other"] {
        server.call(&["SET", key, "a,b"]);
    }
    let dump = |format: &str| {
        let arguments = [
            "dump",
            "--from",
            &server.address,
            "--match",
            "user:*",
            "--format",
            format,
        ];
        let output = brickyard(&arguments);
        assert!(output.status.success(), "{}", text(&output));
        let mut lines: Vec<String> = String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(dump("keys"), ["user:1", "user:2"]);
    assert_eq!(
        dump("csv"),
        ["key,value,ttl_ms", "user:1,\"a,b\",", "user:2,\"a,b\","]
    );
    assert_eq!(dump("jsonl")[0], "{\"key\":\"user:1\",\"value\":\"a,b\"}");
}

#[test]
fn a_missing_file_or_server_is_one_clear_line() {
    let output = brickyard(&["load", "/nonexistent/file.csv", "--to", "127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output).contains("cannot open /nonexistent/file.csv"),
        "{}",
        text(&output)
    );

    let words = sample("words.sample");
    let output = brickyard(&["load", words.to_str().unwrap(), "--to", "127.0.0.1:1"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output);
    assert!(shown.contains("cannot connect to 127.0.0.1:1"), "{shown}");
    assert_eq!(shown.lines().count(), 1, "{shown}");
}

#[test]
fn a_table_that_is_refused_stops_the_load() {
    let server = start_server();
    let words = sample("words.sample");
    let output = load(
        &server.address,
        words.to_str().unwrap(),
        &["--table", "nowhere"],
    );
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(
        text(&output).contains("refused TABLE USE nowhere"),
        "{}",
        text(&output)
    );
    assert_eq!(server.call(&["DBSIZE"]).integer(), Some(0));
}

#[test]
fn the_data_of_a_redis_moves_over() {
    let Some(redis) = start_redis() else { return };
    let server = start_server();
    for number in 0..300 {
        redis.call(&["SET", &format!("key:{number}"), &number.to_string()]);
    }
    redis.call(&["RPUSH", "list", "is no string"]);
    let dumped = brickyard(&["dump", "--from", &redis.address]);
    assert_eq!(dumped.status.code(), Some(3), "{}", text(&dumped));
    assert!(
        text(&dumped).contains("left out 1: WRONGTYPE"),
        "{}",
        text(&dumped)
    );

    let dir = TempDir::new().unwrap();
    let path = dir.path().join("redis.dump");
    fs::write(&path, &dumped.stdout).unwrap();
    let loaded = load(&server.address, path.to_str().unwrap(), &["--strict"]);
    assert!(loaded.status.success(), "{}", text(&loaded));
    assert_eq!(server.call(&["DBSIZE"]).integer(), Some(300));
    assert_eq!(server.call(&["GET", "key:299"]).bytes(), Some(&b"299"[..]));
}

#[test]
fn tables_are_made_filled_and_dropped_from_the_shell() {
    let server = start_server();
    let table = |words: &[&str]| {
        let output = brickyard(&[&["table", "--address", &server.address][..], words].concat());
        (output.status.code(), text(&output))
    };
    assert_eq!(
        table(&["create", "people", "--durability", "fsync"]).0,
        Some(0)
    );
    let people = sample("people.csv");
    let output = load(
        &server.address,
        people.to_str().unwrap(),
        &["--table", "people"],
    );
    assert!(output.status.success(), "{}", text(&output));

    let (_, list) = table(&["list"]);
    assert!(list.lines().any(|line| line.contains("people")), "{list}");
    let (_, described) = table(&["describe", "people"]);
    assert!(described.contains("durability: fsync\n"), "{described}");
    assert_eq!(
        server.call(&["DBSIZE"]).integer(),
        Some(0),
        "the default table is another one"
    );
    let keys = [
        "dump",
        "--from",
        &server.address,
        "--table",
        "people",
        "--format",
        "keys",
    ];
    let dumped = text(&brickyard(&keys));
    assert!(dumped.contains("ann@example.org\n"), "{dumped}");
    assert!(dumped.contains("dumped 10 records"), "{dumped}");

    let (code, shown) = table(&["drop", "people", "--confirm", "people2"]);
    assert_eq!(code, Some(1), "{shown}");
    assert!(
        shown.contains("refused TABLE DROP people CONFIRM people2: "),
        "{shown}"
    );
    assert_eq!(table(&["drop", "people", "--confirm", "people"]).0, Some(0));
    assert!(!table(&["list"]).1.contains("people"));
}

#[test]
fn a_user_signs_in_with_the_password_of_the_environment() {
    let hash = hash_password("brick by brick");
    let config = format!(
        "[[user]]\nname = \"ann\"\npassword_hash = \"{hash}\"\nread = [\"*\"]\nwrite = [\"*\"]\n"
    );
    let server = start_configured(&config);
    let words = sample("words.sample");
    let load_as = |password: &str| {
        Command::new(BRICKYARD)
            .args([
                "load",
                words.to_str().unwrap(),
                "--to",
                &server.address,
                "--user",
                "ann",
            ])
            .env("BRICKYARD_PASSWORD", password)
            .output()
            .unwrap()
    };
    let output = load_as("brick by brick");
    assert!(output.status.success(), "{}", text(&output));
    let output = load_as("wrong");
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output);
    assert!(shown.contains("refused AUTH: WRONGPASS"), "{shown}");
    assert!(
        !shown.contains("wrong "),
        "the password is not repeated: {shown}"
    );
}
