//! The `redis` crate by itself, as its first page has it; docs/programs.md lists what came of it.

use crate::programs::{hold_against_page, programs_cluster, turn};
use crate::programs_page::{Row, WORKS};
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use redis::cluster::{ClusterClient, ClusterConnection};
use redis::{Connection, TypedCommands};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A program that panics has failed, and its test with it.
type Program = (&'static str, &'static str, fn(&Cluster));

const PROGRAMS: [Program; 4] = [
    (
        "redis-rs",
        "strings and hashes, a pipeline, an atomic one, keys anywhere",
        plain,
    ),
    (
        "redis-rs",
        "transaction(): WATCH and try again, keys anywhere; a script",
        transaction,
    ),
    ("redis-rs", "pub/sub: a channel and a pattern", channels),
    (
        "redis-rs, cluster",
        "single keys, MGET over slots, a pipeline over slots, DBSIZE of all masters",
        cluster,
    ),
];

#[test]
fn programs_of_rust_do_what_the_page_says() {
    let _turn = turn();
    let cluster = programs_cluster();
    let seen = PROGRAMS.map(|(client, does, run)| {
        wait_for(does, || attempt(&cluster, run));
        Row::new(client, does, WORKS)
    });
    hold_against_page("Rust", &seen);
}

/// Runs it over an empty table; none if it is to be repeated: a partition changed hands meanwhile, which a busy machine does to a cluster.
fn attempt(cluster: &Cluster, run: fn(&Cluster)) -> Option<()> {
    let emptied = cluster.client(0).call(&["FLUSHALL"]);
    if !emptied.is_ok() {
        assert!(is_to_be_repeated(&emptied.text()), "{emptied:?}");
        return None;
    }
    let Err(failure) = catch_unwind(AssertUnwindSafe(|| run(cluster))) else {
        return Some(());
    };
    let text = failure.downcast_ref::<String>();
    if !text.is_some_and(|it| is_to_be_repeated(it)) {
        resume_unwind(failure);
    }
    None
}

fn is_to_be_repeated(text: &str) -> bool {
    text.contains("try again") || text.contains("UNKNOWNRESULT")
}

fn connect(cluster: &Cluster) -> Connection {
    let client = redis::Client::open(format!("redis://{}/", cluster.seeds()[0])).unwrap();
    client.get_connection().unwrap()
}

fn plain(cluster: &Cluster) {
    let mut connection = connect(cluster);
    connection.set_ex("a", 1, 100).unwrap();
    assert_eq!(connection.incr("a", 4).unwrap(), 5);
    assert_eq!(connection.get("nothing").unwrap(), None);
    connection
        .hset_multiple("h", &[("name", "ann"), ("age", "41")])
        .unwrap();
    assert_eq!(
        connection.hget("h", "name").unwrap().as_deref(),
        Some("ann")
    );
    let mut pipeline = redis::pipe();
    for number in 0..1000 {
        pipeline.incr(format!("k{}", number % 10), 1);
    }
    let counts: Vec<i64> = pipeline.query(&mut connection).unwrap();
    assert_eq!(counts.last(), Some(&100));
    let replies: (i64, i64) = redis::pipe()
        .atomic()
        .set("b", 1)
        .ignore()
        .incr("c", 1)
        .hset("h", "town", "Ulm")
        .query(&mut connection)
        .unwrap();
    assert_eq!(replies, (1, 1));
}

fn transaction(cluster: &Cluster) {
    let (mut connection, mut other) = (connect(cluster), connect(cluster));
    connection.mset(&[("left", 100), ("right", 100)]).unwrap();
    let mut tries = 0;
    let sums: (i64, i64) = redis::transaction(&mut connection, &["left", "right"], |it, pipe| {
        tries += 1;
        let (left, right) = (it.get_int("left")?, it.get_int("right")?);
        if tries == 1 {
            other.incr("left", 1)?;
        }
        pipe.set("left", left.unwrap_or(0) - 10).ignore();
        pipe.set("right", right.unwrap_or(0) + 10).ignore();
        pipe.get("left").get("right").query(it)
    })
    .unwrap();
    assert_eq!((tries, sums), (2, (91, 110)));
    let moved: i64 = redis::cmd("EVAL")
        .arg("redis.call('DECRBY', KEYS[1], ARGV[1]) return redis.call('INCRBY', KEYS[2], ARGV[1])")
        .arg(2)
        .arg(&["left", "right", "1"])
        .query(&mut connection)
        .unwrap();
    assert_eq!(moved, 111);
}

fn channels(cluster: &Cluster) {
    let (mut listener, mut writer) = (connect(cluster), connect(cluster));
    let mut heard = listener.as_pubsub();
    heard.subscribe("news").unwrap();
    heard.psubscribe("n*").unwrap();
    assert_eq!(writer.publish("news", "x").unwrap(), 2);
    for _ in 0..2 {
        let message = heard.get_message().unwrap();
        assert_eq!(message.get_channel_name(), "news");
        assert_eq!(message.get_payload::<String>().unwrap(), "x");
    }
}

fn cluster(cluster: &Cluster) {
    let seeds =
        (0..cluster.len()).map(|at| format!("redis://127.0.0.1:{}/", cluster.brick_port(at)));
    let client = ClusterClient::new(seeds.collect::<Vec<_>>()).unwrap();
    let mut connection: ClusterConnection = client.get_connection().unwrap();
    let mut pipeline = redis::cluster::cluster_pipe();
    let keys: Vec<String> = (0..100).map(|number| format!("k{number}")).collect();
    for (number, key) in keys.iter().enumerate() {
        pipeline.set(key, number).ignore();
    }
    let () = pipeline.query(&mut connection).unwrap();
    let values: Vec<i64> = redis::cmd("MGET")
        .arg(&keys)
        .query(&mut connection)
        .unwrap();
    assert_eq!(values, (0..100).collect::<Vec<i64>>());
    assert_eq!(connection.incr("k7", 1).unwrap(), 8);
    let size: i64 = redis::cmd("DBSIZE").query(&mut connection).unwrap();
    assert_eq!(size, 100);
}
