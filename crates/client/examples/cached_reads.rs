//! What reads of a hot set cost with leases and without: reads a second, and the server's CPU time for each.
//!
//! In:  the address of a node that is alone; how many keys (100), tasks (64) and seconds (5). Out: one line without a cache, one with it, in turn, three times.
//!
//! Of a hundred calls one writes. The table `cached_reads` is made with `LEASES on`.
//! `cargo run --release -p brickyard-client --example cached_reads -- 127.0.0.1:6379`

use brickyard_client::{Client, Error, Options, ReadPolicy, Table};
use rustix::time::{ClockId, clock_gettime};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

const VALUE_BYTES: usize = 150;
const TABLE: &str = "cached_reads";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments
        .next()
        .unwrap_or_else(|| "127.0.0.1:6379".to_owned());
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |it| it.parse());
    let (keys, tasks, seconds) = (number(100)?, number(64)?, number(5)?);
    let admin = Client::connect(Options::new([address.clone()])).await?;
    let made = admin
        .home_table()
        .command(&["TABLE", "CREATE", TABLE, "LEASES", "on"])
        .await;
    if let Err(error) = made {
        println!("{error}; it is used as it is");
    }
    for _ in 0..3 {
        for cache_bytes in [0, 64 << 20] {
            let options = Options {
                reads: match cache_bytes {
                    0 => ReadPolicy::Primary,
                    bytes => ReadPolicy::Kept { bytes },
                },
                ..Options::new([address.clone()])
            };
            let table = Client::connect(options).await?.table(TABLE);
            for key in 0..keys {
                table
                    .set(format!("user:{key}"), [b'x'; VALUE_BYTES])
                    .await?;
            }
            let before = (server_cpu(&table).await?, own_cpu(), Instant::now());
            let (reads, writes) = load(&table, keys, tasks, Duration::from_secs(seconds)).await?;
            let took = before.2.elapsed().as_secs_f64();
            let server = server_cpu(&table).await? - before.0;
            let own = (own_cpu() - before.1).as_secs_f64();
            let kept = table.cache_counts().hits as f64 / reads as f64;
            let each = |cpu: f64| cpu * 1e6 / (reads + writes) as f64;
            println!(
                "cache {:>2} MiB: {:>8.0} reads/s, {:>6.0} writes/s, {:5.1} % from memory; CPU a call: server {:6.2} us, client {:6.2} us",
                cache_bytes >> 20,
                reads as f64 / took,
                writes as f64 / took,
                kept * 100.0,
                each(server),
                each(own),
            );
        }
    }
    Ok(())
}

/// Reads and writes for so long: how many of each.
async fn load(table: &Table, keys: u64, tasks: u64, length: Duration) -> Result<(u64, u64), Error> {
    let counts = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let until = Instant::now() + length;
    let mut running = tokio::task::JoinSet::new();
    for task in 0..tasks {
        let (table, counts) = (table.clone(), Arc::clone(&counts));
        running.spawn(async move {
            let mut dice = task.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut calls = 0_u32;
            while Instant::now() < until {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let key = format!("user:{}", (dice >> 33) % keys);
                let is_write = (dice >> 20) % 100 == 0;
                if is_write {
                    table.set(key, [b'x'; VALUE_BYTES]).await?;
                } else {
                    table.get(key).await?;
                }
                counts[usize::from(is_write)].fetch_add(1, Ordering::Relaxed);
                calls += 1;
                if calls.is_multiple_of(32) {
                    // What is answered from memory gives nobody else a turn.
                    tokio::task::yield_now().await;
                }
            }
            Ok::<(), Error>(())
        });
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap_or(Ok(()))?;
    }
    Ok((
        counts[0].load(Ordering::Relaxed),
        counts[1].load(Ordering::Relaxed),
    ))
}

/// Seconds of CPU time that the node has taken.
async fn server_cpu(table: &Table) -> Result<f64, Error> {
    let told = table.command(&["INFO", "cpu"]).await?;
    let text = String::from_utf8_lossy(told.bytes().unwrap_or_default()).into_owned();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let own = lines.filter(|(name, _)| matches!(*name, "used_cpu_sys" | "used_cpu_user"));
    Ok(own
        .filter_map(|(_, value)| value.trim().parse::<f64>().ok())
        .sum())
}

/// CPU time of this thread, that of the kernel on its behalf included.
fn own_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
