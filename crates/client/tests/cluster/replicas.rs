//! Reads from replicas.

use crate::{Cluster, fake::Answer, key_of};
use brickyard_client::{Lard, Options, ReadPolicy};
use std::time::Duration;

fn spread(cluster: &Cluster, lard: Lard) -> Options {
    Options {
        reads: ReadPolicy::Replicas(lard),
        ..cluster.hasty_options()
    }
}

#[tokio::test]
async fn each_keys_reads_go_to_one_replica_and_writes_to_the_primary() {
    let cluster = Cluster::of(3, true).await;
    cluster.move_all_to(&[0, 1, 2]);
    let table = cluster.table(spread(&cluster, Lard::default())).await;
    for number in 0..60 {
        let key = key_of(0, 1, number);
        table.set(&key, "v").await.unwrap();
        for _ in 0..3 {
            assert_eq!(table.get(&key).await.unwrap().as_deref(), Some(&b"v"[..]));
        }
    }
    assert_eq!(cluster.asked("SET"), [60, 0, 0]);
    // The primary has a connection for writes and another for reads; a third is for reads that wait, as one may on a machine that is busy.
    let connected = cluster.asked("READONLY");
    assert!(
        [[2, 1, 1], [3, 1, 1]].contains(&connected[..].try_into().unwrap()),
        "{connected:?}"
    );
    assert!(cluster.node.asked("READONLY").is_empty());
    let reads = cluster.asked("GET");
    assert!(
        reads.iter().all(|count| *count >= 30 && count % 3 == 0),
        "{reads:?}"
    );
}

#[tokio::test]
async fn the_nearest_replica_answers_reads_until_it_is_down() {
    let mut cluster = Cluster::of(3, true).await;
    cluster.move_all_to(&[0, 1, 2]);
    let near = |hosts: Vec<String>| Options {
        reads: ReadPolicy::Nearest {
            hosts,
            lard: Lard::default(),
        },
        ..cluster.hasty_options()
    };
    let beside_the_last = near(vec![cluster.bricks[2].address.clone()]);
    let table = cluster.table(beside_the_last).await;
    let elsewhere = cluster.table(near(vec!["10.0.0.1".to_owned()])).await;
    for number in 0..20 {
        table.set(key_of(0, 1, number), "v").await.unwrap();
        table.get(key_of(0, 1, number)).await.unwrap();
    }
    assert_eq!(cluster.asked("SET"), [20, 0, 0]);
    assert_eq!(cluster.asked("GET"), [0, 0, 20]);
    for number in 0..60 {
        elsewhere.get(key_of(0, 1, number)).await.unwrap();
    }
    let reads = cluster.asked("GET");
    assert!(
        reads.iter().all(|count| *count > 0),
        "where none is near all answer: {reads:?}"
    );
    cluster.bricks[2].stop().await;
    for number in 0..20 {
        let read = table.get(key_of(0, 1, number)).await;
        assert_eq!(read.unwrap().as_deref(), Some(&b"v"[..]));
    }
}

#[tokio::test]
async fn with_primary_reads_backups_are_left_alone() {
    let cluster = Cluster::of(3, true).await;
    cluster.move_all_to(&[0, 1, 2]);
    let table = cluster.table(cluster.options()).await;
    for number in 0..20 {
        table.get(key_of(0, 1, number)).await.unwrap();
    }
    assert_eq!(cluster.asked("GET"), [20, 0, 0]);
    assert_eq!(cluster.asked("READONLY"), [0, 0, 0]);
}

#[tokio::test]
async fn an_overloaded_replica_is_left_until_it_has_capacity_again() {
    let cluster = Cluster::of(2, true).await;
    cluster.move_all_to(&[0, 1]);
    let table = cluster
        .table(spread(&cluster, Lard { low: 2, high: 4 }))
        .await;
    table.get("k").await.unwrap();
    let preferred = cluster
        .asked("GET")
        .iter()
        .position(|count| *count == 1)
        .unwrap();
    cluster.bricks[preferred].on_request(|words| match words[0].as_str() {
        "GET" => Answer::Nothing,
        _ => Answer::Usual,
    });
    let stuck: Vec<_> = (0..5)
        .map(|_| table.with_deadline(Duration::from_millis(200)).get("k"))
        .collect();
    table.get("k").await.unwrap();
    assert_eq!(
        cluster.asked("GET")[1 - preferred],
        1,
        "the fifth was one too many"
    );
    cluster.bricks[preferred].on_request(|_| Answer::Usual);
    for call in stuck {
        // Asked of the other one once it was clear that no answer comes.
        call.await.unwrap();
    }
}

#[tokio::test]
async fn a_replica_that_is_down_loses_its_reads_to_the_others() {
    let mut cluster = Cluster::of(3, true).await;
    cluster.move_all_to(&[0, 1, 2]);
    let table = cluster.table(spread(&cluster, Lard::default())).await;
    for number in 0..30 {
        table.set(key_of(0, 1, number), "v").await.unwrap();
        table.get(key_of(0, 1, number)).await.unwrap();
    }
    cluster.bricks[2].stop().await;
    for number in 0..30 {
        let read = table.get(key_of(0, 1, number)).await;
        assert_eq!(read.unwrap().as_deref(), Some(&b"v"[..]));
    }
}

#[tokio::test]
async fn a_read_that_waits_does_not_hold_up_others_for_long() {
    let mut cluster = Cluster::of(2, true).await;
    cluster.move_all_to(&[0, 1]);
    let options = Options {
        hedge_after: Duration::from_millis(20),
        silence_limit: Duration::from_secs(15),
        reads: ReadPolicy::Replicas(Lard::default()),
        ..cluster.options()
    };
    let table = cluster.table(options).await;
    table.set("k", "v").await.unwrap();
    table.set("doubtful", "v").await.unwrap();
    // Nobody but the backup lives, and of one key it does not know the outcome of a write.
    cluster.bricks[0].stop().await;
    for port in [&cluster.bricks[1], &cluster.node] {
        port.on_request(|words| match words.get(1).map(String::as_str) {
            Some("doubtful") => Answer::Nothing,
            _ => Answer::Usual,
        });
    }
    let doubtful = table.get("doubtful");
    for _ in 0..50 {
        // On that connection it would have to wait for longer than this.
        let read = table.with_deadline(Duration::from_secs(10)).get("k").await;
        assert_eq!(read.unwrap().as_deref(), Some(&b"v"[..]));
    }
    drop(doubtful);
}

#[tokio::test]
async fn a_read_does_not_wait_for_a_connection_that_does_not_come_about() {
    let cluster = Cluster::of(2, true).await;
    cluster.move_all_to(&[0, 1]);
    let options = Options {
        connect_timeout: Duration::from_secs(15),
        ..spread(&cluster, Lard::default())
    };
    let table = cluster.table(options).await;
    // It takes connections and says nothing, as a process does that was stopped.
    cluster.bricks[0].on_request(|_| Answer::Nothing);
    for number in 0..30 {
        let key = key_of(0, 1, number);
        let read = table.with_deadline(Duration::from_secs(10)).get(&key).await;
        assert_eq!(read.unwrap(), None, "{key}");
    }
    assert!(cluster.bricks[1].asked("GET").len() >= 30);
}

#[tokio::test]
async fn a_write_is_passed_on_where_reads_have_found_the_primary_silent() {
    let cluster = Cluster::of(2, true).await;
    cluster.move_all_to(&[0, 1]);
    let options = Options {
        hedge_after: Duration::from_millis(20),
        silence_limit: Duration::from_secs(15),
        reads: ReadPolicy::Replicas(Lard::default()),
        ..cluster.options()
    };
    let table = cluster.table(options).await;
    for number in 0..30 {
        table.set(key_of(0, 1, number), "v").await.unwrap();
    }
    cluster.bricks[0].on_request(|_| Answer::Nothing);
    // Reads find another replica, and that the primary does not answer.
    for number in 0..30 {
        let read = table.get(key_of(0, 1, number)).await;
        assert_eq!(read.unwrap().as_deref(), Some(&b"v"[..]));
    }
    // A node port knows who is primary when there is another.
    let table = table.with_deadline(Duration::from_secs(10));
    table.set("k", "v").await.unwrap();
    assert_eq!(cluster.node.asked("SET").len(), 1);
}

#[tokio::test]
async fn a_read_that_a_backup_owes_is_asked_of_the_primary_next_also_while_a_write_waits_there() {
    let cluster = Cluster::of(3, true).await;
    cluster.move_all_to(&[0, 1, 2]);
    // No backup knows the outcome of what it holds, and a write at the primary waits for one of them.
    let stuck = |name: &'static str| {
        move |words: &[String]| match words[0] == name {
            true => Answer::Nothing,
            false => Answer::Usual,
        }
    };
    cluster.bricks[0].on_request(stuck("SET"));
    cluster.bricks[1].on_request(stuck("GET"));
    cluster.bricks[2].on_request(stuck("GET"));
    cluster.node.on_request(stuck("SET"));
    for number in 0..16 {
        // Each knows nothing of what another has found silent.
        let table = cluster.table(spread(&cluster, Lard::default())).await;
        let key = key_of(0, 1, number);
        let written = cluster.asked("SET")[0];
        let write = table.with_deadline(Duration::from_secs(20)).set(&key, "v");
        let write = tokio::spawn(write);
        while cluster.asked("SET")[0] == written {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let before = cluster.asked("GET");
        assert_eq!(table.get(&key).await.unwrap(), None, "{key}");
        let now = cluster.asked("GET");
        let backups = now[1] + now[2] - before[1] - before[2];
        assert!(backups <= 1, "{key}: {before:?} {now:?}");
        write.abort();
    }
}
