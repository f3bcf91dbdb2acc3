//! Finding the brick that holds a key.

use crate::{Cluster, fake::Answer, key_of};
use brickyard_client::{Client, Error, Options};
use std::{sync::Arc, time::Duration};

/// A map is asked for with its version.
const QUESTIONS: usize = 2;

#[tokio::test]
async fn calls_go_straight_to_the_owning_brick() {
    let cluster = Cluster::of(2, false).await;
    let table = cluster.table(cluster.options()).await;
    for number in 0..10 {
        table.set(key_of(0, 2, number), "a").await.unwrap();
        table.get(key_of(1, 2, number)).await.unwrap();
    }
    assert_eq!(
        (cluster.asked("SET"), cluster.asked("GET")),
        (vec![10, 0], vec![0, 10])
    );
    assert!(
        cluster.node.asked("GET").is_empty(),
        "the node port was not in the way"
    );
    assert_eq!(
        cluster.bricks[0].opened(),
        1,
        "one connection carries them all"
    );
}

#[tokio::test]
async fn a_bricks_port_is_a_seed_too_and_dead_seeds_do_no_harm() {
    let mut cluster = Cluster::of(2, false).await;
    cluster.node.stop().await;
    let seeds = [
        cluster.node.address.clone(),
        cluster.bricks[1].address.clone(),
    ];
    let table = cluster.table(Options::new(seeds)).await;
    table.set(key_of(0, 2, 0), "a").await.unwrap();
    assert_eq!(cluster.asked("SET"), [1, 0]);
}

#[tokio::test]
async fn node_ports_are_learned_from_the_map() {
    let mut cluster = Cluster::of(2, false).await;
    let seeds = [cluster.bricks[1].address.clone()];
    let table = cluster.table(Options::new(seeds.clone())).await;
    // Two slots: only a node port serves that, and none is known.
    let pairs = [(key_of(0, 2, 0), "a"), (key_of(1, 2, 0), "b")];
    for (key, value) in &pairs {
        table.set(key, *value).await.unwrap();
    }
    let error = table.len().await.unwrap_err();
    assert!(error.to_string().contains("node port"), "{error}");

    let port = cluster.node.address.rsplit_once(':').unwrap().1;
    cluster.world.lock().unwrap().node_port = Some(port.parse().unwrap());
    let table = cluster.table(Options::new(seeds)).await;
    assert_eq!(table.len().await.unwrap(), 2);
    assert_eq!(cluster.node.asked("DBSIZE").len(), 1);
    // It stands in for a brick that is gone, too.
    cluster.bricks[0].stop().await;
    assert_eq!(
        table.get(&pairs[0].0).await.unwrap().as_deref(),
        Some(&b"a"[..])
    );
}

#[tokio::test]
async fn nobody_at_home_is_unreachable() {
    let mut cluster = Cluster::of(1, false).await;
    cluster.node.stop().await;
    let error = Client::connect(cluster.options()).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn user_and_table_are_told_on_every_connection() {
    let cluster = Cluster::of(1, false).await;
    let options = Options {
        user: Some("ann".to_owned()),
        password: Some("pw".to_owned()),
        ..cluster.options()
    };
    let client = Client::connect(options).await.unwrap();
    client.table("orders").set("k", "v").await.unwrap();
    // Before the map is there the node port may serve it: both have been told.
    let ports = [&cluster.node, &cluster.bricks[0]];
    let port = ports
        .into_iter()
        .find(|it| !it.asked("SET").is_empty())
        .unwrap();
    assert_eq!(
        port.asked("HELLO").last().unwrap(),
        &["HELLO", "3", "AUTH", "ann", "pw"]
    );
    assert_eq!(
        port.asked("TABLE").last().unwrap(),
        &["TABLE", "USE", "orders"]
    );
}

#[tokio::test]
async fn a_refused_greeting_refuses_the_calls_and_no_later_ones() {
    let cluster = Cluster::of(1, false).await;
    cluster.node.on_request(|words| match words[0].as_str() {
        "HELLO" => Answer::Say("-WRONGPASS invalid username-password pair\r\n".to_owned()),
        _ => Answer::Usual,
    });
    let error = Client::connect(cluster.options()).await.unwrap_err();
    assert_eq!(error.prefix(), Some("WRONGPASS"));

    let cluster = Cluster::of(1, false).await;
    let refuses = |words: &[String]| match words[0].as_str() {
        "TABLE" => Answer::Say("-ERR there is no table 't'\r\n".to_owned()),
        _ => Answer::Usual,
    };
    cluster.node.on_request(refuses);
    cluster.bricks[0].on_request(refuses);
    let client = Client::connect(cluster.options()).await.unwrap();
    let error = client.table("t").set("k", "v").await.unwrap_err();
    assert!(error.to_string().contains("no table 't'"), "{error}");
    assert!(cluster.world.lock().unwrap().data.is_empty());
    client.home_table().set("k", "v").await.unwrap();
}

#[tokio::test]
async fn moved_repairs_the_entry_and_the_map_is_asked_for_once() {
    let cluster = Cluster::of(2, false).await;
    let table = cluster.table(cluster.options()).await;
    table.get(key_of(0, 2, 0)).await.unwrap();
    cluster.move_all_to(&[1]);
    let calls: Vec<_> = (0..100).map(|n| table.get(key_of(0, 2, n))).collect();
    for call in calls {
        call.await.unwrap();
    }
    // The brick that was named is asked, in a task of its own.
    cluster.bricks[1].wait_for("CLUSTER", QUESTIONS).await;
    let asked =
        || cluster.node.asked("CLUSTER").len() + cluster.asked("CLUSTER").iter().sum::<usize>();
    assert_eq!(
        asked(),
        2 * QUESTIONS,
        "for one to begin with, and one for all that were moved"
    );
    let before = cluster.asked("GET")[0];
    assert!(before <= 101);
    let calls: Vec<_> = (0..100).map(|n| table.get(key_of(0, 2, n))).collect();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(cluster.asked("GET")[0], before, "nobody goes there again");
}

#[tokio::test]
async fn pushed_word_of_a_newer_map_is_followed() {
    let cluster = Cluster::of(2, false).await;
    let table = cluster.table(cluster.options()).await;
    assert_eq!(cluster.node.asked("CLUSTER").len(), QUESTIONS);
    cluster.move_all_to(&[1]);
    cluster.node.on_request(|words| match words[0].as_str() {
        "PING" => Answer::Say(">2\r\n$11\r\ncluster-map\r\n:7\r\n+PONG\r\n".to_owned()),
        _ => Answer::Usual,
    });
    table.command(&["PING"]).await.unwrap();
    // No call has met a wrong brick, and yet it asks.
    cluster.node.wait_for("CLUSTER", 2 * QUESTIONS).await;
}

#[tokio::test]
async fn a_server_without_maps_serves_every_key_itself() {
    let cluster = Cluster::of(0, false).await;
    cluster.node.on_request(|words| match words[0].as_str() {
        "CLUSTER" => Answer::Say("-ERR This instance has cluster support disabled\r\n".to_owned()),
        _ => Answer::Usual,
    });
    let table = cluster.table(cluster.options()).await;
    table.set("k", "v").await.unwrap();
    assert_eq!(table.get("k").await.unwrap().as_deref(), Some(&b"v"[..]));
}

#[tokio::test]
async fn a_dead_primary_is_stood_in_for_by_the_node_port_and_then_by_the_new_one() {
    let mut cluster = Cluster::of(2, true).await;
    let table = cluster.table(cluster.options()).await;
    let key = key_of(0, 2, 0);
    table.set(&key, "a").await.unwrap();
    cluster.bricks[0].stop().await;
    table.set(&key, "b").await.unwrap();
    assert_eq!(cluster.node.asked("SET").len(), 1, "the node port forwards");
    cluster.move_all_to(&[1]);
    while cluster.asked("SET")[1] == 0 {
        table.set(&key, "c").await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn losing_a_seed_is_no_matter_while_another_answers() {
    let mut cluster = Cluster::of(1, false).await;
    let other = crate::fake::Fake::node_port(&cluster.world).await;
    let options = Options {
        seeds: vec![cluster.node.address.clone(), other.address.clone()],
        ..cluster.options()
    };
    let table = cluster.table(options).await;
    table.set("k", "v").await.unwrap();
    cluster.node.stop().await;
    for _ in 0..10 {
        assert_eq!(table.len().await.unwrap(), 1);
    }
    cluster.bricks[0].stop().await;
    assert_eq!(table.get("k").await.unwrap().as_deref(), Some(&b"v"[..]));
}

/// What a port says of the version of its map.
fn info(epoch: u64) -> Answer {
    let text = format!("cluster_state:ok\r\ncluster_current_epoch:{epoch}\r\n");
    Answer::Say(format!("${}\r\n{text}\r\n", text.len()))
}

#[tokio::test]
async fn an_older_map_is_not_taken_for_a_newer() {
    let cluster = Cluster::of(2, true).await;
    cluster.move_all_to(&[1, 0]);
    // One brick is cut off from the others, and has not heard that all moved to the other one.
    let cut_off = cluster.bricks[0].address.clone();
    cluster.bricks[0].on_request(move |words| match words.get(1).map(String::as_str) {
        Some("INFO") => info(9),
        Some("SLOTS") => {
            let (host, port) = cut_off.rsplit_once(':').unwrap();
            Answer::Say(format!(
                "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n${}\r\n{host}\r\n:{port}\r\n$2\r\nid\r\n",
                host.len()
            ))
        }
        _ => Answer::Usual,
    });
    let mut is_refused = true;
    cluster.bricks[1].on_request(move |words| match words.get(1).map(String::as_str) {
        Some("INFO") => info(10),
        // Every other write is refused, and makes the client ask for the map again.
        Some("k") => {
            is_refused = !is_refused;
            if is_refused {
                Answer::Usual
            } else {
                Answer::Say("-CLUSTERDOWN not now\r\n".to_owned())
            }
        }
        _ => Answer::Usual,
    });
    let options = Options {
        seeds: vec![cluster.bricks[1].address.clone()],
        ..cluster.options()
    };
    let table = cluster.table(options).await;
    let maps = |brick: usize| {
        let asked = cluster.bricks[brick].asked("CLUSTER");
        asked.iter().filter(|words| words[1] == "SLOTS").count()
    };
    // Whom the client asks first is left to chance.
    while maps(0) < 3 {
        table.set("k", "v").await.unwrap();
    }
    assert_eq!(cluster.asked("SET")[0], 0, "the older map was believed");
}

const FULL_DISK: &str = "-MISCONF the log of brick 0 cannot be written (disk full)\r\n";

#[tokio::test]
async fn full_disk_is_tried_again_until_another_leads() {
    let cluster = Cluster::of(2, true).await;
    cluster.move_all_to(&[0, 1]);
    let addresses = |order: [usize; 2]| order.map(|at| cluster.bricks[at].address.clone());
    let (world, next) = (Arc::clone(&cluster.world), addresses([1, 0]).to_vec());
    let mut refused = 0;
    cluster.bricks[0].on_request(move |words| {
        if words[0] != "SET" {
            return Answer::Usual;
        }
        refused += 1;
        if refused == 3 {
            world.lock().unwrap().map = vec![(0, 16383, next.clone())];
        }
        Answer::Say(FULL_DISK.to_owned())
    });
    let table = cluster.table(cluster.options()).await;
    table.set("k", "v").await.unwrap();
    assert_eq!(cluster.asked("SET")[1], 1);
}

#[tokio::test]
async fn full_disk_that_stays_full_is_told() {
    let cluster = Cluster::of(1, false).await;
    cluster.bricks[0].on_request(|words| match words[0].as_str() {
        "SET" => Answer::Say(FULL_DISK.to_owned()),
        _ => Answer::Usual,
    });
    let table = cluster.table(cluster.options()).await;
    let error = table.set("k", "v").await.unwrap_err();
    assert!(error.is_not_executed(), "{error}");
    assert!(error.to_string().contains("disk full"), "{error}");
}

#[tokio::test]
async fn who_refuses_is_the_last_to_be_asked_for_the_map() {
    let cluster = Cluster::of(2, true).await;
    cluster.move_all_to(&[0, 1]);
    let mut is_refused = false;
    cluster.bricks[0].on_request(move |words| {
        is_refused ^= words[0] == "SET";
        match words[0].as_str() {
            "SET" if is_refused => Answer::Say("-CLUSTERDOWN not now\r\n".to_owned()),
            _ => Answer::Usual,
        }
    });
    let seeds = cluster.bricks.iter().map(|it| it.address.clone());
    let options = Options {
        seeds: seeds.collect(),
        ..cluster.options()
    };
    let table = cluster.table(options).await;
    let maps = |brick: usize| {
        let asked = cluster.bricks[brick].asked("CLUSTER");
        asked.iter().filter(|words| words[1] == "SLOTS").count()
    };
    let begin = [maps(0), maps(1)];
    while maps(1) < begin[1] + 12 {
        table.set("k", "v").await.unwrap();
    }
    // It is asked beside the other where that takes long to answer.
    assert!(maps(0) <= begin[0] + 2, "{} of 12", maps(0) - begin[0]);
}
