//! Whoever follows a table by the program and by the client library, at a real node.

use brickyard_client::{Client as Library, Options, TableChange};
use brickyard_e2e::client::Client;
use brickyard_e2e::server::{Server, Setup, brickyard};
use std::fs;

/// A node whose table `t` keeps its changes, and a client of it.
fn start() -> (Server, Client) {
    let server = Setup::brickyard(2).start();
    let mut client = server.connect();
    client.must(&["TABLE", "CREATE", "t", "PARTITIONS", "8", "HISTORY", "1mb"]);
    client.must(&["TABLE", "USE", "t"]);
    (server, client)
}

#[test]
fn a_table_is_followed_into_lines_and_into_another_table_and_goes_on_where_it_was() {
    let (server, mut client) = start();
    client.must(&["TABLE", "CREATE", "copy"]);
    let mut copy = server.connect();
    copy.must(&["TABLE", "USE", "copy"]);
    let address = format!("127.0.0.1:{}", server.port());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (kept, lines) = (path("position"), path("lines"));
    let watch = |position: &str, more: &[&str]| {
        let first = ["watch", "--table", "t", "--no-wait", "--address", &address];
        let finished = brickyard(&[&first[..], &["--position-file", position], more].concat());
        assert!(finished.status.success(), "{}", finished.text());
        finished.stdout
    };
    let into = ["--into", &address, "--into-table", "copy"];
    assert_eq!(watch(&kept, &into), "");
    let (file, one) = (path("position-of-lines"), path("position-of-one"));
    assert_eq!(watch(&file, &["--to-file", &lines]), "");
    assert_eq!(watch(&one, &["--key", "a"]), "");
    client.must(&["SET", "a", "1"]);
    client.must(&["SET", "short", "x", "PXAT", "4102444800000"]);
    client.must(&["SET", "gone", "x"]);
    client.line("DEL gone");
    client.line("HSET h f v");
    watch(&kept, &into);
    assert_eq!(copy.line("GET a").text(), "1");
    assert_eq!(
        copy.line("PEXPIRETIME short").as_integer(),
        Some(4_102_444_800_000)
    );
    assert_eq!(copy.line("EXISTS gone").as_integer(), Some(0));
    assert_eq!(copy.line("HGET h f").text(), "v");
    watch(&file, &["--to-file", &lines]);
    let written = fs::read_to_string(&lines).expect("the file of changes");
    assert_eq!(written.lines().count(), 5, "{written}");
    assert!(
        written.contains(r#"{"event":"set","key":"a","value":"1"}"#),
        "{written}"
    );
    assert!(
        written.contains(r#"{"event":"del","key":"gone"}"#),
        "{written}"
    );
    client.must(&["SET", "a", "2"]);
    let expected = "{\"event\":\"set\",\"key\":\"a\",\"value\":\"1\"}\n\
                    {\"event\":\"set\",\"key\":\"a\",\"value\":\"2\"}\n";
    assert_eq!(watch(&one, &["--key", "a"]), expected);
    assert_eq!(watch(&one, &["--key", "a"]), "");
    client.must(&["FLUSHDB"]);
    client.must(&["SET", "b", "3"]);
    watch(&kept, &into);
    assert_eq!(copy.line("DBSIZE").as_integer(), Some(1));
    assert_eq!(copy.line("GET b").text(), "3");
}

/// Of another cluster's keys those alone are changed that are followed.
#[test]
fn a_flush_removes_elsewhere_only_what_is_followed() {
    let (server, mut client) = start();
    client.must(&["TABLE", "CREATE", "copy"]);
    let mut copy = server.connect();
    copy.must(&["TABLE", "USE", "copy"]);
    copy.must(&["SET", "invoice:1", "theirs"]);
    let address = format!("127.0.0.1:{}", server.port());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kept = folder.path().join("position").display().to_string();
    let watch = || {
        let from = ["watch", "--table", "t", "--no-wait", "--address", &address];
        let what = ["--prefix", "order:", "--position-file", &kept];
        let into = ["--into", &address, "--into-table", "copy"];
        let finished = brickyard(&[&from[..], &what, &into].concat());
        assert!(finished.status.success(), "{}", finished.text());
    };
    watch();
    client.must(&["SET", "order:1", "x"]);
    client.must(&["SET", "invoice:2", "x"]);
    watch();
    assert_eq!(copy.line("DBSIZE").as_integer(), Some(2));
    client.must(&["FLUSHDB"]);
    watch();
    assert_eq!(copy.line("EXISTS order:1").as_integer(), Some(0));
    assert_eq!(copy.line("GET invoice:1").text(), "theirs");
}

#[test]
fn whoever_is_too_late_is_told_what_to_do() {
    let (server, mut client) = start();
    let address = format!("127.0.0.1:{}", server.port());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kept = folder.path().join("position").display().to_string();
    let arguments = [
        "watch",
        "--table",
        "t",
        "--no-wait",
        "--address",
        &address,
        "--position-file",
        &kept,
    ];
    assert!(brickyard(&arguments).status.success());
    client.must(&["TABLE", "ALTER", "t", "HISTORY", "1kb"]);
    for number in 0..2000 {
        client.must(&["SET", &format!("k{}", number % 50), "x"]);
    }
    let finished = brickyard(&arguments);
    let text = finished.text();
    assert!(!finished.status.success(), "{text}");
    assert!(
        text.contains("COMPACTED") && text.contains("SCAN"),
        "{text}"
    );
}

#[test]
fn the_library_returns_changes_as_they_come_and_goes_on_from_a_position() {
    let (server, _) = start();
    let seed = format!("127.0.0.1:{}", server.port());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let client = Library::connect(Options::new([seed]))
            .await
            .expect("a client");
        let table = client.table("t");
        let mut watch = table.watch().prefix("k");
        watch.begin().await.expect("a position");
        let begun = watch.position().expect("it has begun").to_vec();
        let writer = table.clone();
        let written = tokio::spawn(async move {
            for number in 0..50 {
                writer
                    .set(format!("k{}", number % 3), number.to_string())
                    .await?;
                writer.set("other", "x").await?;
            }
            writer.del("k0").await
        });
        let mut seen = Vec::new();
        while seen.len() < 51 {
            seen.extend(watch.next().await.expect("changes"));
        }
        assert!(written.await.expect("a task").is_ok());
        assert_eq!(seen.len(), 51);
        let of = |key: &str| {
            let changes = seen.iter().filter_map(|change| match change {
                TableChange::Set { key: it, value, .. } if it == key.as_bytes() => Some(
                    String::from_utf8_lossy(value)
                        .parse::<u32>()
                        .expect("a number"),
                ),
                _ => None,
            });
            changes.collect::<Vec<_>>()
        };
        let expected: Vec<u32> = (0..50).filter(|it| it % 3 == 1).collect();
        assert_eq!(of("k1"), expected);
        let gone = TableChange::Delete {
            key: b"k0".to_vec(),
        };
        assert_eq!(seen.iter().filter(|it| **it == gone).count(), 1);
        let mut again = table.watch().prefix("k").from(begun).page(7);
        let mut anew = Vec::new();
        while anew.len() < 51 {
            anew.extend(again.next().await.expect("changes"));
        }
        assert_eq!(anew.len(), 51);
    });
}
