//! A table is backed up while it is written, and restored into a cluster of another size.

use brickyard_e2e::client::Client;
use brickyard_e2e::client::encode;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::server::brickyard;
use brickyard_e2e::value::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

const RECORDS: usize = 4000;
const BATCH: usize = 500;

/// Sets `count` keys of a kind, all in one pipeline after another.
fn fill(cluster: &Cluster, kind: &str, count: usize, value: &str) {
    let mut client = cluster.table(0, "t").unwrap();
    for base in (0..count).step_by(BATCH) {
        let mut input = Vec::new();
        for number in base..base + BATCH {
            let (key, value) = (format!("{kind}{number}"), format!("{value} {number}"));
            encode(&mut input, &["SET", &key, &value, "EX", "100000"]);
        }
        client.send_raw(&input).unwrap();
        for _ in 0..BATCH {
            let reply = client.receive().unwrap();
            assert!(!matches!(reply, Value::Error(_)), "{reply}");
        }
    }
}

/// Fields of a hash that is many records.
const FIELDS: usize = 2_000;

fn fill_large(client: &mut Client, number: usize) {
    let key = format!("large{number}");
    for base in (0..FIELDS).step_by(100) {
        let mut words = vec!["HSET".to_owned(), key.clone()];
        for field in base..base + 100 {
            words.extend([format!("f{field}"), format!("value {field}")]);
        }
        let reply = client.call(&words);
        assert!(reply.as_integer().is_some(), "{reply}");
    }
}

/// Runs `brickyard backup` and returns what it said.
fn backup(words: &[&str]) -> String {
    let finished = brickyard(&[&["backup"], words].concat());
    assert!(finished.status.success(), "{}", finished.text());
    finished.stdout
}

fn digest(said: &str) -> &str {
    said.rsplit_once("digest ").expect(said).1.trim()
}

#[test]
fn a_backup_under_writes_is_restored_into_another_cluster() {
    let cluster = Cluster::start(&[2, 0, 1], 2, &[]);
    let from = format!("127.0.0.1:{}", cluster.port(1));
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 2);
    fill(&cluster, "k", RECORDS, "first");
    let mut client = cluster.table(0, "t").unwrap();
    for number in 0..20 {
        client.must(&["HMSET", &format!("h{number}"), "a", "1", "b", "2"]);
        client.line(&format!("HPEXPIREAT h{number} 4102444800123 FIELDS 1 b"));
    }
    client.line("PEXPIREAT h0 4102444800999");
    for number in 0..4 {
        fill_large(&mut client, number);
    }
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().to_str().unwrap();

    // Keys of another kind are written all the time; those that were there before must all be in it.
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                fill(&cluster, "busy", BATCH, "always");
                // What it holds is what it held.
                fill_large(&mut cluster.table(0, "t").unwrap(), 1);
            }
        });
        let said = backup(&[
            "create", place, "--table", "t", "--from", &from, "--name", "one",
        ]);
        is_over.store(true, Ordering::Relaxed);
        assert!(
            said.contains("of 16 partitions, all with their values"),
            "{said}"
        );
    });
    let one = backup(&["verify", place, "--name", "one"]);

    // The next one has only what changed.
    fill(&cluster, "k", BATCH, "second");
    let mut client = cluster.table(0, "t").unwrap();
    for number in BATCH..BATCH + 100 {
        client.call(&["DEL", &format!("k{number}")]);
    }
    let said = backup(&[
        "create", place, "--table", "t", "--from", &from, "--name", "two",
    ]);
    assert!(said.contains("new since backup one"), "{said}");
    let bytes = |name: &str| -> u64 {
        let parts = fs::read_dir(dir.path().join("parts").join(name)).unwrap();
        parts.map(|it| it.unwrap().metadata().unwrap().len()).sum()
    };
    assert!(
        bytes("two") < bytes("one"),
        "{} and {}",
        bytes("two"),
        bytes("one")
    );
    let two = backup(&["verify", place]);
    assert_ne!(digest(&one), digest(&two));
    assert_eq!(backup(&["list", place]).lines().count(), 2);

    // One node of one brick, a table of other partitions.
    let other = Cluster::start(&[0], 1, &[]);
    let to = format!("127.0.0.1:{}", other.port(0));
    other.create_table("copy", &["PARTITIONS", "64"]);
    let restore = ["restore", place, "--to", &to, "--table", "copy"];
    backup(&restore);
    let mut restored = other.table(0, "copy").unwrap();
    let value = |number: usize, client: &mut Client| {
        client.call(&["GET", &format!("k{number}")]).to_string()
    };
    assert!(value(0, &mut restored).contains("second 0"));
    let field = restored.line("HGET h19 b");
    assert_eq!(field.text(), "2");
    for number in 0..4 {
        let len = restored.line(&format!("HLEN large{number}")).as_integer();
        assert_eq!(len, Some(FIELDS as i64), "large{number}");
        for field in [0, 777, FIELDS - 1] {
            let value = restored.line(&format!("HGET large{number} f{field}"));
            assert_eq!(value.text(), format!("value {field}"));
        }
    }
    let times = restored.line("HPEXPIRETIME h19 FIELDS 2 a b").to_string();
    assert_eq!(times, "[:-1, :4102444800123]");
    let at = restored.line("PEXPIRETIME h0").as_integer();
    assert_eq!(at, Some(4_102_444_800_999));
    assert_eq!(restored.line("PEXPIRETIME h1").as_integer(), Some(-1));
    assert!(value(BATCH + 200, &mut restored).contains("first"));
    let gone = restored.call(&["EXISTS", &format!("k{BATCH}")]);
    assert_eq!(gone, Value::Integer(0));

    // Equal, to the times to live.
    let again = tempfile::tempdir().unwrap();
    let again = again.path().to_str().unwrap();
    backup(&["create", again, "--table", "copy", "--from", &to]);
    assert_eq!(digest(&backup(&["verify", again])), digest(&two));

    // A table that is not there is made as the old one was.
    backup(&["restore", place, "--to", &from, "--table", "anew"]);
    cluster.wait_until_whole("anew", 2);
    let third = tempfile::tempdir().unwrap();
    let third = third.path().to_str().unwrap();
    backup(&["create", third, "--table", "anew", "--from", &from]);
    assert_eq!(digest(&backup(&["verify", third])), digest(&two));

    // What is there is not written over by accident.
    let refused = brickyard(&[&["backup"][..], &restore].concat());
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.text().contains("--merge"), "{}", refused.text());
    // Damage is found without restoring.
    let part = fs::read_dir(dir.path().join("parts/one")).unwrap();
    let part = part
        .map(|it| it.unwrap().path())
        .max_by_key(|it| it.metadata().unwrap().len());
    let part = part.unwrap();
    let mut whole = fs::read(&part).unwrap();
    let middle = whole.len() / 2;
    whole[middle] ^= 1;
    fs::write(&part, whole).unwrap();
    let refused = brickyard(&["backup", "verify", place]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        refused.text().contains("damaged at offset"),
        "{}",
        refused.text()
    );
}
