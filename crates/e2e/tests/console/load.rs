//! What clients do meanwhile: orders that are read and written.

use brickyard_e2e::client::Client;
use brickyard_e2e::cluster::Cluster;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

const ORDERS: usize = 3000;

/// Clients that go on whatever fails.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<()>>,
}

impl Load {
    pub(crate) fn start(cluster: &Cluster) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seeds = cluster.seeds();
        let workers = seeds.into_iter().enumerate().map(|(number, seed)| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    if work(&seed, number, &stop).is_err() {
                        sleep(Duration::from_millis(100));
                    }
                }
            })
        });
        let workers = workers.collect();
        Self { stop, workers }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for worker in self.workers.drain(..) {
            let ended = worker.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

/// Reads and writes, some keys far more than others, and now and then what is an error.
fn work(seed: &str, number: usize, stop: &AtomicBool) -> std::io::Result<()> {
    let (host, port) = seed
        .rsplit_once(':')
        .ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut client = Client::try_connect_to(host, port.parse().map_err(std::io::Error::other)?)?;
    client.try_call(&["TABLE", "USE", "orders"])?;
    for round in number.. {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        for step in 0..20 {
            let at = if step % 5 == 0 {
                step
            } else {
                (round * 7919 + step * 104_729) % ORDERS
            };
            let key = order(at);
            match step % 4 {
                0 => client.send(&["SETRANGE", &key, "0", "{\"id\""])?,
                _ => client.send(&["GET", &key])?,
            }
        }
        for _ in 0..20 {
            client.receive()?;
        }
        if round % 40 == 0 {
            client.try_call(&["INCR", &order(round % ORDERS)])?;
        }
        sleep(Duration::from_millis(8 + (round as u64 / 50) % 12));
    }
    Ok(())
}

pub(crate) fn order(at: usize) -> String {
    format!("order:{at:05}")
}

/// Puts orders there, and what a browser may find hard to show.
pub(crate) fn fill(cluster: &Cluster) {
    let mut client = cluster.table(0, "orders").expect("the table");
    let padding = "x".repeat(700);
    for at in 0..ORDERS {
        let value = format!(
            "{{\"id\": {at}, \"customer\": \"ann\", \"lines\": [{{\"item\": \"brick\", \"count\": {}}}], \"note\": \"{padding}\"}}",
            at % 90
        );
        client.must(&["SET", &order(at), &value]);
    }
    client.must(&[
        "SET",
        "<img src=x onerror=alert(1)>",
        "<script>alert(1)</script>",
    ]);
    client.must(&[&b"SET"[..], b"raw:\xff\x00", b"\x00\x01\xfe"]);
    client.must(&["SET", "greeting", "hello", "EX", "86400"]);
    client.must(&[
        "HMSET", "basket:7", "item", "brick", "count", "12", "<b>", "<i>x</i>",
    ]);
    for size in [40_000, 90_000, 400_000] {
        client.must(&["SET", &format!("report:{size}"), &"r".repeat(size)]);
    }
}
