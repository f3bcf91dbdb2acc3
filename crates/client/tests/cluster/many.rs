//! Calls on several keys, pipelines, scans, and any command.

use crate::{Cluster, fake::Answer, key_of};
use brickyard_client::{Error, Options, Value};

#[tokio::test]
async fn keys_are_split_by_slot_and_joined_in_their_order() {
    let cluster = Cluster::of(3, false).await;
    let options = Options {
        in_flight_max: 16,
        ..cluster.options()
    };
    let table = cluster.table(options).await;
    let pairs: Vec<(String, String)> = (0..200)
        .map(|n| (format!("k{n}"), format!("v{n}")))
        .collect();
    let stored = table.mset(pairs.iter().map(|(k, v)| (k, v))).await.unwrap();
    assert!(stored.len() == 200 && stored.iter().all(Result::is_ok));
    let mut keys: Vec<&str> = pairs.iter().map(|(key, _)| key.as_str()).collect();
    keys.insert(100, "missing");
    let values = table.mget(keys).await.unwrap();
    assert_eq!(values[100], Ok(None));
    assert_eq!(values[7], Ok(Some(b"v7".to_vec())));
    assert_eq!(values[200], Ok(Some(b"v199".to_vec())));
    let were_there = table.del_many(["k1", "missing", "k2"]).await.unwrap();
    assert_eq!(were_there, [Ok(true), Ok(false), Ok(true)]);
    let are_there = table.exists_many(["k1", "k3"]).await.unwrap();
    assert_eq!(are_there, [Ok(false), Ok(true)]);
    assert!(cluster.node.asked("MGET").is_empty());
}

#[tokio::test]
async fn keys_of_one_tag_go_in_one_request() {
    let cluster = Cluster::of(3, false).await;
    let table = cluster.table(cluster.options()).await;
    table.mset([("{t}1", "1"), ("{t}2", "2")]).await.unwrap();
    table.mget(["{t}1", "{t}2", "{t}3"]).await.unwrap();
    assert_eq!(cluster.asked("MSET").iter().sum::<usize>(), 1);
    assert_eq!(cluster.asked("MGET").iter().sum::<usize>(), 1);
}

#[tokio::test]
async fn each_key_has_its_own_result() {
    let cluster = Cluster::of(2, false).await;
    let table = cluster.table(cluster.options()).await;
    cluster.bricks[1].on_request(|words| match words[0].as_str() {
        "MSET" => Answer::Say("-OOM the table is full\r\n".to_owned()),
        _ => Answer::Usual,
    });
    let (here, there) = (key_of(0, 2, 0), key_of(1, 2, 0));
    let stored = table.mset([(here, "a"), (there, "b")]).await.unwrap();
    assert_eq!(stored[0], Ok(()));
    assert_eq!(stored[1].as_ref().unwrap_err().prefix(), Some("OOM"));
}

#[tokio::test]
async fn a_pipeline_has_a_result_for_each_command() {
    let cluster = Cluster::of(2, false).await;
    let table = cluster.table(cluster.options()).await;
    let pipeline = table
        .pipeline()
        .command(&["INCR", "a"])
        .command(&["INCR", "a"]);
    let pipeline = pipeline
        .command(&["NONSENSE"])
        .command(&["MULTI"])
        .command(&["GET", "a"]);
    let replies = pipeline.send().await.unwrap();
    assert_eq!(replies[0], Ok(Value::Integer(1)));
    assert_eq!(replies[1], Ok(Value::Integer(2)));
    assert_eq!(replies[2].as_ref().unwrap_err().prefix(), Some("ERR"));
    assert!(matches!(replies[3], Err(Error::Invalid { .. })));
    assert_eq!(replies[4], Ok(Value::Bulk(b"2".to_vec())));
}

#[tokio::test]
async fn a_scan_walks_the_whole_table_through_a_node_port() {
    let cluster = Cluster::of(2, false).await;
    // A brick's port first: it has only its share, and must not be asked.
    let seeds = vec![
        cluster.bricks[0].address.clone(),
        cluster.node.address.clone(),
    ];
    let table = cluster
        .table(Options {
            seeds,
            ..cluster.options()
        })
        .await;
    let pairs = (0..50).map(|n| (format!("k{n:02}"), "v"));
    table.mset(pairs).await.unwrap();
    let mut scan = table.scan().page(7);
    let mut keys = Vec::new();
    while let Some(key) = scan.next().await.unwrap() {
        keys.push(String::from_utf8(key).unwrap());
    }
    assert_eq!(
        keys,
        (0..50).map(|n| format!("k{n:02}")).collect::<Vec<_>>()
    );
    assert_eq!(table.len().await, Ok(50));
    assert_eq!(cluster.asked("SCAN"), [0, 0]);
}

#[tokio::test]
async fn without_a_node_port_the_whole_table_is_not_guessed_at() {
    let cluster = Cluster::of(2, false).await;
    let seeds = vec![cluster.bricks[0].address.clone()];
    let table = cluster
        .table(Options {
            seeds,
            ..cluster.options()
        })
        .await;
    let error = table.len().await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
    assert_eq!(cluster.asked("DBSIZE"), [0, 0]);
    assert_eq!(
        table.command(&["PING"]).await,
        Ok(Value::Simple(b"PONG".to_vec()))
    );
}
