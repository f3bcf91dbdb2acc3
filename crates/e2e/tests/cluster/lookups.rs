//! Clients that do not hold the whole map, at a real cluster: they find every key, within their bounds, while partitions are split, moved and
//! lose nodes; and what they all saw is one table.

use brickyard_client::{Client, Graph, LookupStrategy, Lookups, Options, Pending, Table};
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::moves::ours;
use brickyard_e2e::resize::split_all;
use brickyard_e2e::trial::{Keys, Report, Setup, try_failure, wait_for_writes};
use std::future::Future;

fn by(strategy: LookupStrategy, graph: Graph, is_aggregated: bool) -> Lookups {
    Lookups {
        strategy,
        graph,
        is_aggregated,
        ..Lookups::default()
    }
}

/// All ways to look up.
fn all() -> impl Iterator<Item = Lookups> {
    let graphs = LookupStrategy::ALL
        .into_iter()
        .flat_map(|strategy| Graph::ALL.map(|graph| (strategy, graph)));
    graphs.flat_map(|(strategy, graph)| [false, true].map(|it| by(strategy, graph, it)))
}

fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future)
}

async fn table(cluster: &Cluster, lookups: Lookups) -> Table {
    let options = Options {
        lookups,
        ..Options::new(cluster.seeds())
    };
    Client::connect(options).await.unwrap().table("t")
}

/// Reads keys, and compares them with their numbers.
async fn read_all(table: &Table, keys: usize) {
    for begin in (0..keys).step_by(200) {
        let names = (begin..keys.min(begin + 200)).map(|at| format!("key{at}"));
        let reads: Vec<Pending<_>> = names.map(|name| table.get(name)).collect();
        for (read, at) in reads.into_iter().zip(begin..) {
            assert_eq!(read.await, Ok(Some(at.to_string().into_bytes())), "key{at}");
        }
    }
}

async fn write_all(table: &Table, keys: usize) {
    for begin in (0..keys).step_by(200) {
        let pairs = (begin..keys.min(begin + 200)).map(|at| (format!("key{at}"), at.to_string()));
        let writes: Vec<Pending<()>> = pairs.map(|(key, value)| table.set(key, value)).collect();
        for write in writes {
            write.await.unwrap();
        }
    }
}

/// The sum of a count that every node shows.
fn info(cluster: &Cluster, name: &str) -> u64 {
    let counts = cluster.running().into_iter().map(|at| {
        let text = cluster.client(at).call(&["INFO", "stats"]).text();
        let line = text
            .lines()
            .find_map(|it| it.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap().trim().parse::<u64>().unwrap()
    });
    counts.sum()
}

#[test]
fn every_way_to_look_up_finds_the_same() {
    const KEYS: usize = 400;
    let cluster = Cluster::start(&[0, 1, 2], 2, &[]);
    cluster.create_table("t", &["PARTITIONS", "256", "REPLICAS", "2"]);
    cluster.wait_until_whole("t", 2);
    block_on(async {
        write_all(&table(&cluster, Lookups::default()).await, KEYS).await;
        for lookups in all() {
            let answered = info(&cluster, "lookups_answered");
            let table = table(&cluster, lookups).await;
            read_all(&table, KEYS).await;
            let counts = table.lookup_counts();
            println!("{lookups:?}: {counts:?}");
            assert_eq!((counts.failed, counts.misses), (0, 0), "{lookups:?}");
            let looked_up = counts.near + counts.random;
            let now = info(&cluster, "lookups_answered");
            assert_eq!(now - answered, looked_up, "{lookups:?}: {counts:?}");
            match lookups.strategy {
                LookupStrategy::Direct => assert_eq!(looked_up, 0),
                // The first calls may be made before the map is there.
                LookupStrategy::DirectCachedRandom => assert!(counts.direct > 0, "{counts:?}"),
                LookupStrategy::CachedRandom => {
                    assert!(counts.leaves > 128, "{counts:?}");
                    // All is remembered.
                    read_all(&table, KEYS).await;
                    let again = table.lookup_counts();
                    assert_eq!(again.near + again.random, looked_up, "{again:?}");
                    assert_eq!(again.cached, counts.cached + KEYS as u64, "{again:?}");
                }
                LookupStrategy::Random => assert_eq!(looked_up, KEYS as u64, "{counts:?}"),
            }
            let is_short = lookups.is_aggregated && lookups.strategy == LookupStrategy::Random;
            assert!(
                !is_short || counts.hops <= 2 * looked_up,
                "{lookups:?}: {counts:?}"
            );
        }
    });
    assert!(info(&cluster, "lookups_forwarded") > 0 && info(&cluster, "lookup_hops") > 0);
}

#[test]
fn a_client_of_thousands_of_partitions_knows_no_more_than_it_may() {
    const KEYS: usize = 12_000;
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["PARTITIONS", "4096", "REPLICAS", "1"]);
    cluster.wait_until_whole("t", 1);
    let small = Lookups {
        map_bytes_max: 16 << 10,
        ..by(LookupStrategy::CachedRandom, Graph::Chord, true)
    };
    let quarter = Lookups {
        cached_share_max: 0.25,
        ..by(LookupStrategy::CachedRandom, Graph::Bruijn, true)
    };
    block_on(async {
        write_all(&table(&cluster, small).await, KEYS).await;
        for lookups in [small, quarter] {
            let table = table(&cluster, lookups).await;
            for _ in 0..2 {
                read_all(&table, KEYS).await;
                let counts = table.lookup_counts();
                println!("{counts:?}");
                assert!(counts.map_bytes <= lookups.map_bytes_max, "{counts:?}");
                let most = 4096.0 * lookups.cached_share_max;
                assert!((50..=most as usize).contains(&counts.leaves), "{counts:?}");
            }
            let counts = table.lookup_counts();
            assert!(counts.cached > 0 && counts.near > 1_000, "{counts:?}");
            assert_eq!(counts.failed, 0, "{counts:?}");
        }
    });
}

/// Splits, a kill of who leads the first key, a node more, and its share of the partitions.
fn try_all(name: &'static str, lookups: Lookups) -> Option<Report> {
    let setup = Setup {
        attributes: &["PARTITIONS", "8"],
        lookups: Some(lookups),
        ..Setup::new(name)
    };
    let report = try_failure(setup, Keys::Any, |cluster, load, holders| {
        split_all(cluster);
        wait_for_writes(load);
        cluster.kill(holders[0]);
        wait_for_writes(load);
        cluster.launch(holders[0]);
        cluster.wait_until_formed();
        cluster.wait_until_whole("t", 2);
        cluster.add();
        cluster.wait_until_formed();
        ours(cluster, 0, &["rebalance"]);
        wait_for_writes(load);
    });
    report.map(|it| {
        println!("{:?}", it.recording.lookups);
        it.checked()
    })
}

#[test]
fn clients_that_remember_few_partitions_see_one_table_while_these_change() {
    let lookups = Lookups {
        map_bytes_max: 700,
        ..by(LookupStrategy::CachedRandom, Graph::Chord, true)
    };
    let Some(report) = try_all(
        "splits, a kill and moves, with few partitions remembered",
        lookups,
    ) else {
        return;
    };
    let counts = report.recording.lookups[0];
    assert!(counts.near > 100, "{counts:?}");
    assert!(counts.map_bytes <= 700 && counts.leaves <= 3, "{counts:?}");
}

#[test]
fn clients_that_ask_for_the_way_each_time_see_one_table_while_it_changes() {
    let lookups = by(LookupStrategy::Random, Graph::Bruijn, false);
    let Some(report) = try_all(
        "splits, a kill and moves, with the way asked for each time",
        lookups,
    ) else {
        return;
    };
    let counts = report.recording.lookups[0];
    assert!(counts.random > 1_000 && counts.hops > 1_000, "{counts:?}");
}

#[test]
fn clients_that_go_by_the_map_as_long_as_it_is_right_see_one_table_while_it_changes() {
    let lookups = by(LookupStrategy::DirectCachedRandom, Graph::Bruijn, true);
    let Some(report) = try_all("splits, a kill and moves, with all methods", lookups) else {
        return;
    };
    let counts = report.recording.lookups[0];
    assert!(counts.direct > 1_000, "{counts:?}");
}
