//! The program's own tools against its own server: load, dump, bench.

use brickyard_e2e::server::{Server, ServerKind, Setup, brickyard};
use brickyard_e2e::skip;
use std::fs;
use std::path::{Path, PathBuf};

fn address(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port())
}

fn sample(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("a workspace");
    root.join("samples").join(name)
}

/// The machine's largest package index: what `apt-get update` leaves behind.
fn package_index() -> Option<PathBuf> {
    let lists = fs::read_dir("/var/lib/apt/lists").ok()?;
    let is_index = |path: &PathBuf| path.to_string_lossy().contains("_Packages");
    lists
        .flatten()
        .map(|entry| entry.path())
        .filter(is_index)
        .max_by_key(|path| {
            fs::metadata(path)
                .map(|metadata| metadata.len())
                .unwrap_or(0)
        })
}

#[test]
fn a_package_index_is_loaded_and_survives_a_crash() {
    let index = package_index().unwrap_or_else(|| {
        skip::announce(
            "the machine's package index",
            "none here; apt-get update makes one, the sample is used",
        );
        sample("packages.sample")
    });
    let mut server = Setup::brickyard(2).start();
    let path = index.to_str().expect("a plain path");
    let loaded = brickyard(&["load", path, "--to", &address(&server)]);
    assert!(loaded.status.success(), "{}", loaded.text());
    let mut client = server.connect();
    let count = client.line("DBSIZE").as_integer().expect("a number");
    let least = if path.ends_with("packages.sample") {
        40
    } else {
        100
    };
    assert!(
        count >= least,
        "{count} records of {path}: {}",
        loaded.text()
    );
    let record = client.line("GET bash").text();
    server.kill();
    server.restart();
    let mut client = server.connect();
    assert_eq!(client.line("DBSIZE").as_integer(), Some(count));
    assert_eq!(client.line("GET bash").text(), record);
    if path.ends_with("packages.sample") {
        assert!(record.starts_with("Package: bash\n"), "{record}");
    }
}

#[test]
fn what_is_dumped_can_be_loaded_into_another_table() {
    let server = Setup::brickyard(3).start();
    let mut client = server.connect();
    for number in 0..500 {
        client.must(&["SET", &format!("k{number}"), &format!("value {number}")]);
    }
    client.must(&["SET", "short-lived", "v", "EX", "1000"]);
    assert!(
        client
            .call(&[&b"SET"[..], b"bytes\x00\xff", b"\r\n\x01\xfe"])
            .is_ok()
    );
    client.must(&["TABLE", "CREATE", "copy", "MEDIUM", "disk"]);
    let address = address(&server);
    let dumped = brickyard(&["dump", "--from", &address]);
    assert!(dumped.status.success(), "{}", dumped.text());
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(file.path(), &dumped.stdout).expect("the file can be written");
    let path = file.path().to_str().expect("a plain path");
    let loaded = brickyard(&[
        "load", path, "--to", &address, "--table", "copy", "--format", "dump",
    ]);
    assert!(loaded.status.success(), "{}", loaded.text());
    client.must(&["TABLE", "USE", "copy"]);
    assert_eq!(client.line("DBSIZE").as_integer(), Some(502));
    assert_eq!(client.line("GET k77").text(), "value 77");
    assert_eq!(
        client.call(&[b"GET", &b"bytes\x00\xff"[..]]).as_bytes(),
        Some(&b"\r\n\x01\xfe"[..])
    );
    let left = client
        .line("TTL short-lived")
        .as_integer()
        .expect("a number");
    assert!(
        (900..=1000).contains(&left),
        "{left} seconds are left of 1000"
    );
}

#[test]
fn a_redis_loads_what_is_dumped_as_a_snapshot() {
    let Some(redis) = Setup::redis(ServerKind::Redis, "a snapshot that a Redis loads") else {
        return;
    };
    let server = Setup::brickyard(3).start();
    let mut client = server.connect();
    for number in 0..300 {
        client.must(&["SET", &format!("k{number}"), &format!("value {number}")]);
    }
    client.must(&["SET", "short-lived", "v", "EX", "1000"]);
    client.call(&[&b"SET"[..], b"bytes\x00\xff", b"\r\n\x01\xfe"]);
    for field in 0..1_000 {
        client.call(&["HSET", "large", &format!("f{field}"), &format!("v{field}")]);
    }
    let dumped = brickyard(&["dump", "--from", &address(&server), "--format", "rdb"]);
    assert!(dumped.status.success(), "{}", dumped.text());
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("dump.rdb"), &dumped.stdout_bytes)
        .expect("the file can be written");
    let redis = redis.folder(folder.path()).start();
    let mut client = redis.connect();
    assert_eq!(client.line("DBSIZE").as_integer(), Some(303));
    assert_eq!(client.line("GET k77").text(), "value 77");
    let bytes = client.call(&[b"GET", &b"bytes\x00\xff"[..]]);
    assert_eq!(bytes.as_bytes(), Some(&b"\r\n\x01\xfe"[..]));
    assert_eq!(client.line("HLEN large").as_integer(), Some(1_000));
    assert_eq!(client.line("HGET large f999").text(), "v999");
    let left = client.line("TTL short-lived").as_integer();
    assert!((900..=1_000).contains(&left.expect("a number")), "{left:?}");
}

#[test]
fn bench_measures_without_errors() {
    let server = Setup::brickyard(2).start();
    let address = address(&server);
    let common = [
        "bench",
        "--address",
        &address,
        "--count",
        "20000",
        "--keys",
        "1000",
        "--warm-up",
        "0",
        "--json",
    ];
    for more in [
        &["--clients", "8", "--pipeline", "50"][..],
        &["--clients", "10"],
    ] {
        let finished = brickyard(&[&common, more].concat());
        assert!(finished.status.success(), "{}", finished.text());
        assert!(
            finished.stdout.trim_start().starts_with('{'),
            "{}",
            finished.text()
        );
    }
}

/// Fields with text that is their own key, twenty a key, in an order of their own; the last one stays.
#[test]
fn a_file_is_loaded_in_order_within_little_memory() {
    const KEYS: usize = 4_000;
    let server = Setup::brickyard(2).start();
    let address = address(&server);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("records.jsonl");
    let padding = "x".repeat(300);
    let line = |at: usize| {
        let number = at * 7_919 % KEYS;
        format!("{{\"id\":\"k{number}\",\"at\":{at},\"p\":\"{padding}\"}}\n")
    };
    let text: String = (0..3 * KEYS).map(line).collect();
    fs::write(&file, &text).expect("the file can be written");
    let (path, temp) = (file.to_str().expect("a plain path"), dir.path());
    let temp = temp.to_str().expect("a plain path");
    let mut client = server.connect();
    for (table, hash) in [("slots", "slot"), ("runs", "ordered")] {
        client.must(&["TABLE", "CREATE", table, "HASH", hash]);
        let loaded = brickyard(&[
            "load", path, "--sorted", "--memory", "1MB", "--temp", temp, "--table", table, "--to",
            &address, "--key", "id",
        ]);
        assert!(loaded.status.success(), "{}", loaded.text());
        let stored = format!("stored {} records", "12,000");
        assert!(loaded.stdout.contains(&stored), "{}", loaded.stdout);
        let left = fs::read_dir(temp).expect("the directory is there").count();
        assert_eq!(left, 1, "the file that was loaded, and none for sorting");
        client.must(&["TABLE", "USE", table]);
        assert_eq!(client.line("DBSIZE").as_integer(), i64::try_from(KEYS).ok());
        for at in (2 * KEYS..3 * KEYS).step_by(97) {
            let key = format!("k{}", at * 7_919 % KEYS);
            let value = client.call(&["GET", &key]).text();
            assert_eq!(value + "\n", line(at), "{key} has the last line of its own");
        }
    }
    client.must(&["TABLE", "CREATE", "secret", "HASH", "keyed"]);
    let refused = brickyard(&[
        "load", path, "--sorted", "--table", "secret", "--to", &address, "--key", "id",
    ]);
    assert!(!refused.status.success());
    let text = refused.text();
    assert!(text.contains("the table's HASH is keyed"), "{text}");
}
