//! Hashes over several nodes: counted once through kills, and read at copies past a field's time.

use brickyard_client::{Client, Error, Options};
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const HASHES: usize = 4;
const FIELDS: usize = 4;

/// Rule `requests are executed once`, for fields of hashes.
#[test]
fn increments_of_fields_through_kills_are_executed_once() {
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "3", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 3);
    let seeds: Vec<String> = (0..3)
        .map(|at| format!("127.0.0.1:{}", cluster.port(at)))
        .collect();
    let cluster = Mutex::new(cluster);
    let counts: Vec<[AtomicU64; 2]> = (0..HASHES * FIELDS).map(|_| Default::default()).collect();
    let is_over = AtomicBool::new(false);
    let total = || -> u64 {
        let acknowledged = counts.iter();
        acknowledged.map(|it| it[0].load(Ordering::SeqCst)).sum()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let more = |count: u64| {
                let begin = total();
                wait_for("increments", || (total() >= begin + count).then_some(()));
            };
            for at in 0..3 {
                more(300);
                cluster.lock().unwrap().kill(at);
                more(300);
                let mut cluster = cluster.lock().unwrap();
                cluster.launch(at);
                cluster.wait_until_formed();
                cluster.wait_until_whole("t", 3);
            }
            is_over.store(true, Ordering::SeqCst);
        });
        runtime.block_on(async {
            let options = Options {
                deadline: Duration::from_secs(20),
                ..Options::new(seeds.clone())
            };
            let table = Client::connect(options).await.unwrap().table("t");
            let client = |begin: usize| {
                let (table, counts, is_over) = (&table, &counts, &is_over);
                async move {
                    let mut at = begin;
                    while !is_over.load(Ordering::SeqCst) {
                        at = (at + 1) % (HASHES * FIELDS);
                        let (key, field) =
                            (format!("h{}", at / FIELDS), format!("f{}", at % FIELDS));
                        match table.command(&["HINCRBY", &key, &field, "1"]).await {
                            Ok(_) => &counts[at][0],
                            Err(Error::UnknownOutcome { .. }) => &counts[at][1],
                            // Known not to be executed.
                            Err(_) => continue,
                        }
                        .fetch_add(1, Ordering::SeqCst);
                    }
                }
            };
            let all: Vec<_> = (0..8).map(|at| client(at * 2)).collect();
            futures_join(all).await;
        });
    });
    let cluster = cluster.into_inner().unwrap();
    for at in 0..3 {
        let mut reader = cluster.table(at, "t").unwrap();
        for (number, [least, unknown]) in counts.iter().enumerate() {
            let line = format!("HGET h{} f{}", number / FIELDS, number % FIELDS);
            let value: u64 = reader.line(&line).text().parse().unwrap();
            let least = least.load(Ordering::SeqCst);
            let most = least + unknown.load(Ordering::SeqCst);
            assert!(
                (least..=most).contains(&value),
                "{line}: {value} of {least} to {most}"
            );
        }
    }
}

/// Drives all of them on this task.
async fn futures_join(all: Vec<impl Future<Output = ()>>) {
    let mut all: Vec<_> = all.into_iter().map(Box::pin).collect();
    std::future::poll_fn(|context| {
        all.retain_mut(|it| it.as_mut().poll(context).is_pending());
        match all.is_empty() {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
}

/// Whoever has seen that a field is gone does not see it again at another node.
#[test]
fn a_field_that_one_node_says_is_gone_is_gone_at_all() {
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "3", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 3);
    let mut clients: Vec<_> = (0..3).map(|at| cluster.table(at, "t").unwrap()).collect();
    for client in &mut clients {
        client.must(&["READONLY"]);
    }
    for round in 0..30 {
        let key = format!("h{round}");
        clients[0].must(&["HMSET", &key, "a", "1", "b", "2"]);
        let set = clients[0].line(&format!("HPEXPIRE {key} 20 FIELDS 1 a"));
        assert_eq!(set.to_string(), "[:1]");
        let mut is_gone = false;
        wait_for("the field's end at all nodes", || {
            let mut gone = 0;
            for client in &mut clients {
                let there = client.line(&format!("HEXISTS {key} a")).as_integer() == Some(1);
                assert!(!(there && is_gone), "{key} came back");
                is_gone |= !there;
                gone += usize::from(!there);
            }
            (gone == 3).then_some(())
        });
        for client in &mut clients {
            assert_eq!(client.line(&format!("HLEN {key}")).as_integer(), Some(1));
        }
    }
}
