//! Hits of the caches of three copies, when each key's reads go to one of them, beside a copy drawn at random and the primary alone.
//!
//! `cargo run --release -p brickyard-e2e --example nearest_cache`
//!
//! Three nodes with all copies of a table on disk, each with memory for a part of it. The same reads, of keys drawn evenly, by turns: by
//! locality (`ReadPolicy::Replicas`), at random, and from primaries. What is not in memory is counted by the nodes (`cold_reads`).
//!
//! Source: Gribble et al., "Scalable, Distributed Data Structures for Internet Service Construction" (OSDI 2000), section 4.2, after Pai et
//! al., "Locality-Aware Request Distribution in Cluster-based Network Servers" (ASPLOS 1998).

use brickyard_client::{Client, Error, Lard, Options, ReadPolicy, Table};
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::random::Random;

const TABLE: &str = "pages";
const KEYS: usize = 30_000;
const VALUE_BYTES: usize = 1_000;
const READS: u64 = 60_000;
const ROUNDS: usize = 3;
const NODES: usize = 3;

/// Memory of a node for what its copies hold, of which three together hold about nine tenths.
const NODE_BYTES: &str = "10mb";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    let options = ["MEDIUM", "disk", "REPLICAS", "3", "MAXMEMORY", NODE_BYTES];
    cluster.create_table(TABLE, &options);
    cluster.wait_until_whole(TABLE, NODES);
    let seeds = cluster.seeds();
    let by_policy = async |reads: ReadPolicy| -> Result<Table, Error> {
        let options = Options {
            reads,
            ..Options::new(seeds.clone())
        };
        Ok(Client::connect(options).await?.table(TABLE))
    };
    let primary = by_policy(ReadPolicy::Primary).await?;
    fill(&primary).await?;
    let lard = by_policy(ReadPolicy::Replicas(Lard::default())).await?;
    let mut copies = Vec::new();
    for at in 0..NODES {
        let hosts = vec![format!("127.0.0.1:{}", cluster.brick_port(at))];
        copies.push(
            by_policy(ReadPolicy::Nearest {
                hosts,
                lard: Lard::default(),
            })
            .await?,
        );
    }
    println!("| Copy that is read | hits | of the three nodes, cold reads |");
    println!("|---|---|---|");
    let ways: [(&str, &[Table]); 3] = [
        ("by the key (`ReadPolicy::Replicas`)", &[lard]),
        ("at random", &copies),
        ("the primary", &[primary]),
    ];
    for (name, tables) in ways {
        let mut hits = Vec::new();
        let mut cold = [0; NODES];
        // The first round fills the caches as this way of reading has them.
        for round in 0..=ROUNDS {
            let before = cold_reads(&cluster);
            read(tables, round as u64).await?;
            let after = cold_reads(&cluster);
            cold = std::array::from_fn(|at| after[at] - before[at]);
            if round > 0 {
                hits.push(1.0 - cold.iter().sum::<u64>() as f64 / READS as f64);
            }
        }
        hits.sort_by(f64::total_cmp);
        let shares = hits.iter().map(|hits| format!("{:.1} %", hits * 100.0));
        let shares: Vec<String> = shares.collect();
        println!("| {name} | {} | {cold:?} |", shares.join(" · "));
    }
    Ok(())
}

fn key(number: usize) -> String {
    format!("page:{number}")
}

async fn fill(table: &Table) -> Result<(), Error> {
    for from in (0..KEYS).step_by(1_000) {
        let writes: Vec<_> = (from..from + 1_000)
            .map(|it| table.set(key(it), [b'v'; VALUE_BYTES]))
            .collect();
        for write in writes {
            write.await?;
        }
    }
    Ok(())
}

/// Reads keys drawn evenly, each from one of the tables drawn at random.
async fn read(tables: &[Table], round: u64) -> Result<(), Error> {
    let mut random = Random::new(7 + round);
    for _ in 0..READS / 100 {
        let reads: Vec<_> = (0..100)
            .map(|_| {
                let table = &tables[random.below(tables.len())];
                table.get(key(random.below(KEYS)))
            })
            .collect();
        for read in reads {
            assert!(read.await?.is_some(), "every key is there");
        }
    }
    Ok(())
}

/// Values that each node has read from its log so far.
fn cold_reads(cluster: &Cluster) -> [u64; NODES] {
    std::array::from_fn(|at| {
        let info = cluster.client(at).call(&["INFO", "stats"]);
        let text = info.text();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("cold_reads:"));
        line.and_then(|it| it.trim().parse().ok()).unwrap_or(0)
    })
}
