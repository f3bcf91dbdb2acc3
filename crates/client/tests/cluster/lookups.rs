//! Finding the brick that holds a key without the whole map.

use crate::{Cluster, fake::Answer, key_of};
use brickyard_client::{Graph, LookupStrategy, Lookups, Options, ReadPolicy};

/// Ranges, each with a brick that leads it.
const BRICKS: usize = 8;

/// A cluster whose bricks tell of the node port.
async fn cluster_of(bricks: usize, is_replicated: bool) -> Cluster {
    let cluster = Cluster::of(bricks, is_replicated).await;
    let port = cluster.node.address.rsplit_once(':').unwrap().1;
    cluster.world.lock().unwrap().node_port = Some(port.parse().unwrap());
    cluster
}

fn options(cluster: &Cluster, lookups: Lookups) -> Options {
    Options {
        lookups,
        ..cluster.options()
    }
}

fn by(strategy: LookupStrategy) -> Lookups {
    Lookups {
        strategy,
        ..Lookups::default()
    }
}

/// Questions for the way that bricks and the node port got, but for where it may begin.
fn questions(cluster: &Cluster) -> usize {
    let ports = cluster.bricks.iter().chain([&cluster.node]);
    let asked = ports.flat_map(|port| port.asked("CLUSTER"));
    asked
        .filter(|words| words[1] == "LOOKUP" && words.len() > 2)
        .count()
}

#[tokio::test]
async fn every_way_to_look_up_leads_to_the_brick_that_holds_the_key() {
    for strategy in LookupStrategy::ALL {
        for graph in Graph::ALL {
            let cluster = cluster_of(BRICKS, false).await;
            let lookups = Lookups {
                graph,
                ..by(strategy)
            };
            let table = cluster.table(options(&cluster, lookups)).await;
            for number in 0..3 {
                for brick in 0..BRICKS {
                    let key = key_of(brick, BRICKS, number);
                    table.set(&key, brick.to_string()).await.unwrap();
                    let value = table.get(&key).await.unwrap();
                    assert_eq!(
                        value,
                        Some(brick.to_string().into_bytes()),
                        "{strategy} {key}"
                    );
                }
            }
            assert_eq!(cluster.asked("SET"), [3; BRICKS], "{strategy}, {graph}");
            let counts = table.lookup_counts();
            assert_eq!(
                (counts.misses, counts.failed),
                (0, 0),
                "{strategy}: {counts:?}"
            );
            assert_eq!(counts.questions, questions(&cluster) as u64);
            match strategy {
                LookupStrategy::Direct => assert_eq!(counts.direct + counts.questions, 0),
                LookupStrategy::DirectCachedRandom => {
                    assert_eq!((counts.direct, counts.questions), (48, 0))
                }
                LookupStrategy::CachedRandom => {
                    // Each partition was looked for once, and all but the first from near.
                    assert_eq!((counts.cached, counts.near, counts.random), (40, 7, 1));
                    assert_eq!(counts.leaves, BRICKS);
                }
                LookupStrategy::Random => {
                    assert_eq!((counts.cached, counts.near, counts.random), (0, 0, 48));
                    assert!(counts.hops >= 24, "{counts:?}");
                    assert_eq!(counts.leaves, 0);
                }
            }
            assert!(counts.map_bytes > 0, "{strategy}: {counts:?}");
        }
    }
}

#[tokio::test]
async fn what_is_remembered_has_a_bound_of_bytes_and_one_of_partitions() {
    for lookups in [
        Lookups {
            map_bytes_max: 900,
            ..by(LookupStrategy::CachedRandom)
        },
        Lookups {
            cached_share_max: 0.25,
            ..by(LookupStrategy::CachedRandom)
        },
    ] {
        let cluster = cluster_of(BRICKS, false).await;
        let table = cluster.table(options(&cluster, lookups)).await;
        for number in 0..40 {
            let brick = number * 5 % BRICKS;
            table.set(key_of(brick, BRICKS, number), "v").await.unwrap();
            let counts = table.lookup_counts();
            assert!(counts.map_bytes <= lookups.map_bytes_max, "{counts:?}");
            assert!(
                lookups.cached_share_max == 1.0 || counts.leaves <= 2,
                "{counts:?}"
            );
        }
        let counts = table.lookup_counts();
        assert!((1..BRICKS).contains(&counts.leaves), "{counts:?}");
        assert!(
            counts.near > 8,
            "what was forgotten is looked for again: {counts:?}"
        );
    }
}

#[tokio::test]
async fn a_partition_that_has_moved_is_forgotten_and_looked_for_again() {
    let cluster = cluster_of(BRICKS, false).await;
    let table = cluster
        .table(options(&cluster, by(LookupStrategy::CachedRandom)))
        .await;
    let key = key_of(3, BRICKS, 0);
    table.set(&key, "a").await.unwrap();
    let before = questions(&cluster);
    {
        // They change places.
        let map = &mut cluster.world.lock().unwrap().map;
        let [_, _, _, third, _, _, sixth, _] = &mut map[..] else {
            panic!("{map:?}");
        };
        std::mem::swap(&mut third.2, &mut sixth.2);
    }
    table.set(&key, "b").await.unwrap();
    let counts = table.lookup_counts();
    assert_eq!((counts.misses, counts.leaves), (1, 0), "{counts:?}");
    assert_eq!(questions(&cluster), before, "the brick said where to go");
    // The next one finds out.
    table.set(&key, "c").await.unwrap();
    table.set(&key, "d").await.unwrap();
    let counts = table.lookup_counts();
    assert_eq!((counts.misses, counts.leaves), (1, 1), "{counts:?}");
    let sets = cluster.asked("SET");
    assert_eq!((sets[3], sets[6]), (2, 3), "{sets:?}");
    assert_eq!(cluster.world.lock().unwrap().writes[&key], 4);
}

#[tokio::test]
async fn bricks_that_send_in_circles_are_not_followed() {
    let cluster = cluster_of(BRICKS, false).await;
    let far = cluster.bricks[1].address.clone();
    let (host, port) = far.rsplit_once(':').unwrap();
    // Half around the ring from the key, whoever is asked.
    let lie = format!(
        "*6\r\n$4\r\nnext\r\n:1\r\n:1\r\n$16\r\n2000000000000000\r\n:3\r\n*1\r\n*3\r\n${}\r\n{host}\r\n:{port}\r\n:1\r\n",
        host.len()
    );
    for lie in [lie.as_str(), "+OK\r\n", "*0\r\n", "-ERR what?\r\n"] {
        for brick in &cluster.bricks {
            let lie = lie.to_owned();
            brick.on_request(move |words| match words {
                [name, what, ..] if name == "CLUSTER" && what == "LOOKUP" => {
                    Answer::Say(lie.clone())
                }
                _ => Answer::Usual,
            });
        }
        let table = cluster
            .table(options(&cluster, by(LookupStrategy::CachedRandom)))
            .await;
        table.set(key_of(0, BRICKS, 0), "v").await.unwrap();
        let counts = table.lookup_counts();
        assert_eq!((counts.failed, counts.leaves), (1, 0), "{lie}: {counts:?}");
        assert!(counts.questions <= 6, "{lie}: {counts:?}");
    }
}

#[tokio::test]
async fn a_brick_on_the_way_that_is_gone_is_passed_by_its_copies() {
    let mut cluster = cluster_of(BRICKS, true).await;
    let lookups = by(LookupStrategy::Random);
    let table = cluster.table(options(&cluster, lookups)).await;
    for brick in 0..BRICKS {
        table.set(key_of(brick, BRICKS, 0), "v").await.unwrap();
    }
    cluster.bricks[2].stop().await;
    for brick in (0..BRICKS).filter(|it| *it != 2) {
        table.set(key_of(brick, BRICKS, 1), "v").await.unwrap();
    }
    // The node port passes on what the brick itself would have served.
    table.set(key_of(2, BRICKS, 1), "v").await.unwrap();
}

#[tokio::test]
async fn calls_for_one_partition_wait_for_one_lookup() {
    let cluster = cluster_of(BRICKS, false).await;
    let table = cluster
        .table(options(&cluster, by(LookupStrategy::CachedRandom)))
        .await;
    let key = key_of(5, BRICKS, 0);
    let writes: Vec<_> = (0..100)
        .map(|number| table.set(&key, number.to_string()))
        .collect();
    for write in writes {
        write.await.unwrap();
    }
    let counts = table.lookup_counts();
    assert_eq!((counts.random, counts.near), (1, 0), "{counts:?}");
    assert_eq!(cluster.asked("SET")[5], 100);
}

#[tokio::test]
async fn a_map_that_has_no_room_is_not_held() {
    let cluster = cluster_of(BRICKS, false).await;
    let small = Lookups {
        map_bytes_max: 10_000,
        ..by(LookupStrategy::DirectCachedRandom)
    };
    let table = cluster.table(options(&cluster, small)).await;
    for number in 0..2 {
        table.set(key_of(1, BRICKS, number), "v").await.unwrap();
    }
    let counts = table.lookup_counts();
    assert_eq!(
        (counts.direct, counts.random, counts.cached),
        (0, 1, 1),
        "{counts:?}"
    );
    assert!(counts.map_bytes <= 10_000);
}

#[tokio::test]
async fn reads_of_what_is_looked_up_go_to_replicas_too() {
    let cluster = cluster_of(4, true).await;
    let options = Options {
        reads: ReadPolicy::Replicas(brickyard_client::Lard::default()),
        ..options(&cluster, by(LookupStrategy::CachedRandom))
    };
    let table = cluster.table(options).await;
    for number in 0..40 {
        table.get(key_of(0, 4, number)).await.unwrap();
    }
    let gets = cluster.asked("GET");
    assert!(gets.iter().all(|it| *it > 0), "{gets:?}");
}
