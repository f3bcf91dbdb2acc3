//! What is kept under leases: served without asking, let go of when it is recalled.

use crate::fake::{Answer, Fake};
use crate::{Cluster, key_of};
use brickyard_client::{Options, ReadPolicy, Table};
use std::time::Duration;

fn recall(key: &str, number: u32) -> String {
    format!(
        ">4\r\n$6\r\nrecall\r\n$7\r\ndefault\r\n${}\r\n{key}\r\n:{number}\r\n",
        key.len()
    )
}

/// A table that keeps what it reads.
async fn keeping(cluster: &Cluster) -> Table {
    let options = Options {
        reads: ReadPolicy::Kept { bytes: 1 << 20 },
        ..cluster.options()
    };
    cluster.table(options).await
}

fn leased(brick: &Fake) -> usize {
    let asked = brick.asked("LEASE").into_iter();
    asked.filter(|words| words[1] == "GET").count()
}

async fn returned(brick: &Fake, number: &str) {
    let is_it = |words: &Vec<String>| words[1..] == ["RETURN", number];
    while !brick.asked("LEASE").iter().any(is_it) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn what_has_a_lease_is_served_without_asking_until_it_is_recalled() {
    let cluster = Cluster::of(2, true).await;
    let key = key_of(0, 2, 0);
    let changed = recall(&key, 7);
    cluster.bricks[0].on_request(move |words| match words[0].as_str() {
        // Longer than anybody waits here.
        "LEASE" if words[1] == "GET" => Answer::Say("*2\r\n$3\r\nold\r\n:60000\r\n".to_owned()),
        "LEASE" => Answer::Say("+OK\r\n".to_owned()),
        "SET" => Answer::Say(format!("{changed}+OK\r\n")),
        _ => Answer::Usual,
    });
    let table = keeping(&cluster).await;
    while table.cache_counts().hits < 3 {
        assert_eq!(table.get(&key).await.unwrap().as_deref(), Some(&b"old"[..]));
    }
    let counts = table.cache_counts();
    assert_eq!((counts.entries, counts.recalls), (1, 0));
    assert_eq!(leased(&cluster.bricks[0]) as u64, counts.misses);
    table.set(&key, "new").await.unwrap();
    assert_eq!(table.cache_counts().entries, 0);
    returned(&cluster.bricks[0], "7").await;
    table.get(&key).await.unwrap();
    assert_eq!(leased(&cluster.bricks[0]) as u64, counts.misses + 1);
}

#[tokio::test]
async fn what_was_asked_for_before_a_recall_is_not_kept() {
    let cluster = Cluster::of(1, false).await;
    let key = key_of(0, 1, 0);
    let overtaken = recall(&key, 8);
    cluster.bricks[0].on_request(move |words| match words[0].as_str() {
        "LEASE" if words[1] == "GET" => {
            Answer::Say(format!("{overtaken}*2\r\n$3\r\nold\r\n:60000\r\n"))
        }
        "LEASE" => Answer::Say("+OK\r\n".to_owned()),
        _ => Answer::Usual,
    });
    let table = keeping(&cluster).await;
    for _ in 0..3 {
        assert_eq!(table.get(&key).await.unwrap().as_deref(), Some(&b"old"[..]));
    }
    assert_eq!(table.cache_counts().entries, 0);
    assert_eq!(leased(&cluster.bricks[0]), 3);
    returned(&cluster.bricks[0], "8").await;
}

#[tokio::test]
async fn without_a_cache_nobody_asks_for_leases() {
    let cluster = Cluster::of(1, false).await;
    let table = cluster.table(cluster.options()).await;
    table.get("k").await.unwrap();
    assert_eq!(cluster.asked("GET"), [1]);
    assert_eq!(
        table.cache_counts(),
        brickyard_client::CacheCounts::default()
    );
}
