//! Clients that ask for much and read nothing, and people who are not let in: what a node holds for them is bounded, others are served, and
//! nothing is changed.

use brickyard_e2e::client::{Client, encode};
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::PATIENCE;
use brickyard_e2e::port::free_dev;
use brickyard_e2e::process::run;
use brickyard_e2e::server::program;
use brickyard_e2e::value::Value;

/// Nodes of the cluster that strangers come to, and two whose connections they overhear.
const BESIEGED: u16 = 3;
const OVERHEARD: u16 = 2;

const MIB: u64 = 1 << 20;

/// Bytes of a value; a request for it has 30.
const VALUE_BYTES: usize = 1_000_000;

/// Connections that read nothing, and what each asks for: 20 GB together.
const CONNECTIONS: usize = 20;
const REQUESTS: usize = 1_000;

/// What a node may have more than before: of each connection 1 MiB and a reply or two, buffers of the streams, what the allocator
/// keeps. Without a bound it is gigabytes.
const GROWN_MAX: u64 = 300 * MIB;

/// Replies of other bricks and nodes are not fetched for a client that does not read, whoever has the keys.
#[test]
fn clients_that_read_nothing_hold_little_of_other_nodes_values() {
    let cluster = Cluster::start(&[0, 1, 2], 2, &[]);
    cluster.create_table("big", &["REPLICAS", "1"]);
    let mut filler = cluster.table(0, "big").expect("a table is there");
    let keys: Vec<String> = (0..CONNECTIONS)
        .map(|number| format!("key{number}"))
        .collect();
    for key in &keys {
        filler.must(&["SET", key, &"v".repeat(VALUE_BYTES)]);
    }
    let before: Vec<u64> = (0..3).map(|at| cluster.resident_bytes(at)).collect();
    let readers: Vec<Client> = keys
        .iter()
        .map(|key| {
            let mut client = cluster.table(0, "big").expect("a table is there");
            let mut requests = Vec::new();
            for _ in 0..REQUESTS {
                encode(&mut requests, &["GET", key]);
            }
            client.send_raw(&requests).expect("requests are taken");
            client
        })
        .collect();
    // Each of these comes behind all that the node has received by then.
    let mut other = cluster.table(0, "big").expect("a table is there");
    let mut most = 0;
    for round in 0..2_000 {
        let key = format!("other{}", round % 100);
        other.must(&["SET", &key, "value"]);
        assert_eq!(other.call(&["GET", &key]), Value::Bulk(b"value".to_vec()));
        for (at, before) in before.iter().enumerate() {
            most = most.max(cluster.resident_bytes(at).saturating_sub(*before));
        }
        assert!(most < GROWN_MAX, "a node has {} MiB more", most / MIB);
    }
    println!(
        "{CONNECTIONS} clients that read nothing: at most {} MiB more",
        most / MIB
    );
    // One that begins to read gets all that it asked for, in order.
    let mut reader = readers.into_iter().next().expect("there are some");
    for number in 0..REQUESTS {
        let reply = reader.receive().expect("every request is answered");
        assert!(
            matches!(&reply, Value::Bulk(bytes) if bytes.len() == VALUE_BYTES),
            "reply {number}"
        );
    }
}

/// The hour of `brickyard torture strangers` in some seconds: what each port answers to each kind of stranger, that the tables, users and
/// members are as before, that probes of HTTP are answered, and that the history of the clients beside them is linearizable.
#[test]
fn strangers_are_answered_as_they_may_be_and_change_nothing() {
    let port = free_dev(BESIEGED + OVERHEARD).to_string();
    let nodes = BESIEGED.to_string();
    let words = ["torture", "strangers", "--minutes", "0.01", "--quiet", "1"];
    let mut command = program();
    command.args(words);
    command.args(["--patience", "6", "--connections", "300"]);
    command.args(["--nodes", &nodes, "--port", &port]);
    let finished = run(&mut command, b"", PATIENCE).unwrap_or_else(|error| panic!("{error}"));
    assert!(finished.status.success(), "{}", finished.text());
    assert!(
        finished
            .stdout
            .contains("Every answer was one that it may be"),
        "{}",
        finished.text()
    );
}
