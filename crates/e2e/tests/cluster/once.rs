//! Increments through kills with our own client library: each is executed once (rule `requests are executed once`).

use brickyard_client::{Client, Error, Options, Table};
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const COUNTERS: usize = 16;

/// What became of the increments of all clients.
#[derive(Default)]
struct Tally {
    acknowledged: [AtomicU64; COUNTERS],
    unknown: [AtomicU64; COUNTERS],
    is_over: AtomicBool,
}

impl Tally {
    fn count(&self) -> u64 {
        let counts = self.acknowledged.iter();
        counts.map(|it| it.load(Ordering::SeqCst)).sum()
    }

    async fn increment(&self, table: &Table, mut at: usize) {
        while !self.is_over.load(Ordering::SeqCst) {
            at = (at + 1) % COUNTERS;
            match table.incr(format!("counter{at}")).await {
                Ok(_) => &self.acknowledged[at],
                Err(Error::UnknownOutcome { .. }) => &self.unknown[at],
                // Known not to be executed.
                Err(_) => continue,
            }
            .fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Rule `requests are executed once`.
#[test]
fn increments_through_kills_are_executed_once() {
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "3", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 3);
    let seeds: Vec<String> = (0..3)
        .map(|at| format!("127.0.0.1:{}", cluster.port(at)))
        .collect();
    let cluster = Mutex::new(cluster);
    let tally = Arc::new(Tally::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    std::thread::scope(|scope| {
        let (cluster, watched) = (&cluster, &tally);
        scope.spawn(move || {
            let more = |count: u64| {
                let begin = watched.count();
                wait_for("increments", || {
                    (watched.count() >= begin + count).then_some(())
                });
            };
            for at in 0..3 {
                more(500);
                cluster.lock().unwrap().kill(at);
                more(500);
                let mut cluster = cluster.lock().unwrap();
                cluster.launch(at);
                cluster.wait_until_formed();
                cluster.wait_until_whole("t", 3);
            }
            watched.is_over.store(true, Ordering::SeqCst);
        });
        runtime.block_on(async {
            let options = Options {
                // Longer than any fail-over takes.
                deadline: Duration::from_secs(20),
                ..Options::new(seeds.clone())
            };
            let table = Client::connect(options).await.unwrap().table("t");
            let clients: Vec<_> = (0..8)
                .map(|at| {
                    let (tally, table) = (Arc::clone(&tally), table.clone());
                    tokio::spawn(async move { tally.increment(&table, at * 2).await })
                })
                .collect();
            for client in clients {
                client.await.unwrap();
            }
        });
    });
    let cluster = cluster.into_inner().unwrap();
    let mut reader = cluster.table(0, "t").unwrap();
    let mut unknown = 0;
    for at in 0..COUNTERS {
        let name = format!("counter{at}");
        let reply = reader.try_call(&["GET", &name]).unwrap();
        let value: u64 = reply.text().parse().unwrap();
        let least = tally.acknowledged[at].load(Ordering::SeqCst);
        let most = least + tally.unknown[at].load(Ordering::SeqCst);
        unknown += most - least;
        assert!(
            (least..=most).contains(&value),
            "{name}: {value} of {least} to {most}"
        );
    }
    println!("{} increments, {unknown} unknown", tally.count());
}
