//! Tables whose keys are placed by another function than the slot: linearizable while partitions come and go, whole at every port,
//! copied with what they are, and split where keys are many.

use brickyard_client::{Client as Library, Options, Pending};
use brickyard_e2e::client::Client as Wire;
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::resize::{merge_all, partitions, split_all};
use brickyard_e2e::server::brickyard;
use brickyard_e2e::trial::{Keys, Setup, try_failure, wait_for_writes};
use brickyard_e2e::value::Value;
use std::collections::BTreeSet;

/// What a table is made with, and what it is shown as.
const FUNCTIONS: [&[&str]; 4] = [
    &["HASH", "keyed"],
    &["HASH", "key64"],
    &["HASH", "ordered"],
    &["HASH", "ordered", "FROM", "user:000", "TO", "user:999"],
];

/// Splits, merges and a kill of all nodes, under a load whose history is checked.
fn try_moves(name: &'static str, attributes: &'static [&'static str]) {
    let setup = Setup {
        attributes,
        ..Setup::new(name)
    };
    let report = try_failure(setup, Keys::Any, |cluster, load, _| {
        split_all(cluster);
        wait_for_writes(load);
        merge_all(cluster);
        wait_for_writes(load);
        cluster.wait_until_whole("t", 2);
        for at in 0..3 {
            cluster.kill(at);
        }
        for at in 0..3 {
            cluster.launch(at);
        }
    });
    report.map(|report| report.checked());
}

#[test]
fn a_table_with_a_keyed_hash_is_split_merged_and_killed_while_clients_write() {
    try_moves("keyed", &["PARTITIONS", "8", "HASH", "keyed"]);
}

#[test]
fn a_table_in_the_order_of_its_keys_is_split_merged_and_killed_while_clients_write() {
    try_moves("ordered", &["PARTITIONS", "8", "HASH", "ordered"]);
}

fn make(cluster: &Cluster, function: &[&str], more: &[&str]) {
    let mut client = cluster.client(0);
    client.must(&[&["TABLE", "CREATE", "t", "REPLICAS", "2"], function, more].concat());
    cluster.wait_until_whole("t", 2);
}

fn drop_it(cluster: &Cluster) {
    cluster
        .client(0)
        .must(&["TABLE", "DROP", "t", "CONFIRM", "t"]);
}

/// Every key through every brick's port, and the whole table by all of them and by a node port.
#[test]
fn every_brick_takes_every_key_and_all_of_them_together_have_the_table() {
    let cluster = Cluster::start(&[0, 1, 2], 2, &[]);
    let ports: Vec<u16> = (0..3)
        .flat_map(|at| [cluster.brick_port(at), cluster.brick_port(at) + 1])
        .collect();
    for function in FUNCTIONS {
        make(&cluster, function, &[]);
        let mut bricks: Vec<_> = ports
            .iter()
            .map(|port| {
                let mut client = Wire::connect(*port);
                client.must(&["TABLE", "USE", "t"]);
                client
            })
            .collect();
        for number in 0..300 {
            let (key, value) = (format!("user:{number:03}"), number.to_string());
            let by = number % bricks.len();
            bricks[by].must(&["SET", &key, &value]);
            let by = (number + 1) % bricks.len();
            assert_eq!(
                bricks[by].call(&["GET", &key]).text(),
                value,
                "{function:?}"
            );
        }
        let names: Vec<String> = (0..300).map(|it| format!("user:{it:03}")).collect();
        let mget: Vec<&str> = std::iter::once("MGET")
            .chain(names.iter().map(String::as_str))
            .collect();
        for brick in &mut bricks {
            let values = brick.call(&mget);
            let values = values.items().unwrap();
            assert!(
                values
                    .iter()
                    .enumerate()
                    .all(|(at, it)| it.text() == at.to_string())
            );
        }
        let counted: i64 = bricks
            .iter_mut()
            .map(|brick| brick.line("DBSIZE").as_integer().unwrap())
            .sum();
        assert_eq!(counted, 300, "{function:?}");
        let mut client = cluster.table(1, "t").unwrap();
        assert_eq!(client.line("DBSIZE"), Value::Integer(300));
        assert_eq!(scanned(&mut client), names.iter().cloned().collect());
        // Keys of several partitions change together or not at all, at any port.
        bricks[0].must(&["MULTI"]);
        for name in ["user:000", "user:150", "user:299"] {
            let queued = bricks[0].call(&["INCRBY", name, "1000"]);
            assert_eq!(queued.text(), "QUEUED", "{function:?}");
        }
        let sums = bricks[0].line("EXEC").to_string();
        for sum in ["1000", "1150", "1299"] {
            assert!(sums.contains(sum), "{function:?}: {sums}");
        }
        for brick in &mut bricks {
            brick.must(&["FLUSHDB"]);
        }
        assert_eq!(client.line("DBSIZE"), Value::Integer(0));
        drop_it(&cluster);
    }
}

/// All keys, by SCAN.
fn scanned(client: &mut Wire) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let mut cursor = "0".to_owned();
    loop {
        let page = client.call(&["SCAN", &cursor, "COUNT", "40"]);
        let page = page.items().unwrap();
        let found = page[1].items().unwrap();
        keys.extend(found.iter().map(Value::text));
        cursor = page[0].text();
        if cursor == "0" {
            return keys;
        }
    }
}

#[test]
fn the_client_library_knows_nothing_of_it_and_gets_everything() {
    let cluster = Cluster::start(&[0, 1, 2], 2, &[]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for function in FUNCTIONS {
        make(&cluster, function, &[]);
        runtime.block_on(async {
            let library = Library::connect(Options::new(cluster.seeds()))
                .await
                .unwrap();
            let table = library.table("t");
            // So many that some have a slot in common, and no partition.
            let pairs: Vec<(String, String)> = (0..3000)
                .map(|it| (format!("user:{it:04}"), format!("{it}")))
                .collect();
            let stored = table.mset(pairs.clone()).await.unwrap();
            assert!(stored.iter().all(Result::is_ok), "{function:?}: {stored:?}");
            let keys: Vec<&String> = pairs.iter().map(|(key, _)| key).collect();
            let values = table.mget(keys).await.unwrap();
            for (value, (_, expected)) in values.into_iter().zip(&pairs) {
                assert_eq!(value.unwrap().as_deref(), Some(expected.as_bytes()));
            }
            let added: Vec<Pending<i64>> = (0..10).map(|_| table.incr("{t}n")).collect();
            for (at, sum) in added.into_iter().enumerate() {
                assert!(sum.await.unwrap() > 0, "{at}");
            }
            // Walks over parts have no key together, and all keys.
            let mut seen = BTreeSet::new();
            for slots in [0..4096, 4096..8192, 8192..16_384] {
                let mut scan = table.scan().page(200).slots(slots);
                while let Some(key) = scan.next().await.unwrap() {
                    assert!(seen.insert(key), "{function:?}");
                }
            }
            assert_eq!(seen.len(), 3001, "{function:?}");
            library.close();
        });
        drop_it(&cluster);
    }
}

/// What one table holds, as `brickyard dump` writes it.
fn dumped(cluster: &Cluster, table: &str) -> BTreeSet<String> {
    let from = format!("127.0.0.1:{}", cluster.port(0));
    let dump = brickyard(&["dump", "--from", &from, "--table", table]);
    assert!(dump.status.success(), "{}", dump.text());
    dump.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn backups_and_dumps_have_the_keys_and_the_function() {
    let cluster = Cluster::start(&[0, 1, 2], 2, &[]);
    let address = format!("127.0.0.1:{}", cluster.port(0));
    for function in FUNCTIONS {
        make(&cluster, function, &["PARTITIONS", "16"]);
        let mut client = cluster.table(0, "t").unwrap();
        for number in 0..400 {
            client.must(&["SET", &format!("user:{number:03}"), &number.to_string()]);
        }
        let place = tempfile::tempdir().unwrap();
        let place = place.path().to_str().unwrap();
        let made = brickyard(&[
            "backup", "create", place, "--table", "t", "--from", &address, "--name", "one",
        ]);
        assert!(made.status.success(), "{}", made.text());
        let restored = brickyard(&["backup", "restore", place, "--table", "u", "--to", &address]);
        assert!(restored.status.success(), "{}", restored.text());
        let described = brickyard(&["table", "describe", "u", "--address", &address]).text();
        for words in function.chunks(2) {
            let shown = format!("{}: {}", words[0].to_lowercase(), words[1]);
            assert!(described.contains(&shown), "{shown} in {described}");
        }
        let all = dumped(&cluster, "t");
        assert_eq!(all.len(), 400);
        assert_eq!(dumped(&cluster, "u"), all);
        // And into a table with slots.
        cluster.client(0).must(&["TABLE", "CREATE", "v"]);
        let file = tempfile::NamedTempFile::new().unwrap();
        let text: Vec<&str> = all.iter().map(String::as_str).collect();
        std::fs::write(file.path(), text.join("\n") + "\n").unwrap();
        let path = file.path().to_str().unwrap();
        let loaded = brickyard(&[
            "load", path, "--format", "dump", "--table", "v", "--to", &address,
        ]);
        assert!(loaded.status.success(), "{}", loaded.text());
        let mut client = cluster.table(2, "v").unwrap();
        assert_eq!(client.line("DBSIZE"), Value::Integer(400));
        for table in ["u", "v"] {
            let drop = ["TABLE", "DROP", table, "CONFIRM", table];
            cluster.client(0).must(&drop);
        }
        drop_it(&cluster);
    }
}

/// Keys that fill a small part of the numbers: what they are in is split until its halves are small enough, deeper than slots are.
#[test]
fn partitions_of_uneven_keys_are_split_below_a_slot_until_they_are_small() {
    // One brick a node: a node's port tells of the brick alone that the connection is on.
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    let more = ["PARTITIONS", "8", "PARTITION_BYTES", "64kb"];
    make(&cluster, &["HASH", "ordered"], &more);
    let mut client = cluster.table(0, "t").unwrap();
    let value = "x".repeat(2000);
    // The first four bits of all of them are the same, and ten values of the next four occur: 200 kB behind each.
    let names: BTreeSet<String> = (0..1000).map(|it| format!("{}{it:03}", it % 10)).collect();
    for name in &names {
        client.must(&["SET", name, &value]);
    }
    wait_for("partitions to be split", || {
        (partitions(&cluster).len() >= 8 + 40).then_some(())
    });
    assert_eq!(scanned(&mut client), names);
    for name in &names {
        assert_eq!(client.call(&["GET", name]).text(), value);
    }
    let digest = || {
        let address = format!("127.0.0.1:{}", cluster.port(0));
        brickyard(&["table", "digest", "t", "--address", &address]).text()
    };
    wait_for("all copies to be equal", || {
        let text = digest();
        text.contains(", 0 behind, 0 differ").then_some(())
    });
}
