//! A table of a million records under load while nodes join, leave, are replaced and get other weights: what moved, how
//! long it took, and what clients noticed. Prints the table of `docs/benchmarks.md`.
//!
//! `cargo run --release -p brickyard-e2e --example elastic [RECORDS]`

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::figure9::fill;
use brickyard_e2e::moves::{held, number, ours};
use brickyard_torture::{Kind, Load, LoadOptions, Recording};
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

const PARTITIONS: i64 = 1024;

/// Keys of the load: a few in each partition, so that each move has somebody who waits for it.
const KEYS: usize = 4096;

/// How long nothing happens before and between.
const CALM: Duration = Duration::from_secs(5);

/// A change, when it began and ended, and what it moved.
struct Step {
    name: &'static str,
    from: u64,
    to: u64,
    /// Copies that are where they were not, as the plan had it or as the maps show.
    moved: i64,
    /// The fewest that had to move.
    least: i64,
    /// How far the node that is furthest off its weight is off, in hundredths: by the records that it holds, and by those
    /// that it is primary of.
    off: (f64, f64),
}

/// Nothing is handed over any more if nothing was for so long.
const STEADY: Duration = Duration::from_secs(3);

type Held = BTreeMap<usize, (i64, i64)>;

/// Copies that are at a node now and were not.
fn gained(before: &Held, after: &Held) -> i64 {
    let of = |held: &Held, at: &usize| held.get(at).map_or(0, |it| it.0);
    after
        .keys()
        .map(|at| (of(after, at) - of(before, at)).max(0))
        .sum()
}

/// Copies that a change is planned to move, asked for while moves are paused.
fn planned(cluster: &Cluster) -> i64 {
    let moves = ours(cluster, 0, &["rebalance", "--dry-run", "--json"]);
    let rows = moves.split('{');
    let copies =
        rows.filter(|it| it.contains("\"table\": \"t\"") && it.contains("\"kind\": \"copy\""));
    copies.count() as i64
}

/// What nodes hold once hand-overs have evened out who leads.
fn settled(cluster: &Cluster) -> Held {
    let mut last = held(cluster, 0, PARTITIONS);
    loop {
        sleep(STEADY);
        let now = held(cluster, 0, PARTITIONS);
        if now == last {
            return now;
        }
        last = now;
    }
}

/// All replicas are equal. Returns the records that each node holds, and those that it is primary of.
fn assert_equal(cluster: &Cluster) -> Held {
    let text = ours(cluster, 0, &["table", "digest", "t"]);
    let last = text.lines().last().unwrap_or_default();
    assert!(
        last.contains(&format!("{PARTITIONS} equal, 0 behind, 0 differ")),
        "{last}"
    );
    println!("{last}");
    let mut records = Held::new();
    // `  127.0.0.1:7001 primary op 12 keys 977 digest ...`
    for line in text.lines().filter(|line| line.starts_with("  ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let port = words[0].rsplit(':').next().and_then(|it| it.parse().ok());
        let port: u16 = port.unwrap_or_else(|| panic!("{line}"));
        let keys: i64 = words[5].parse().unwrap_or_else(|_| panic!("{line}"));
        let at = (0..cluster.len()).find(|at| {
            let begin = cluster.port(*at);
            (begin..begin + 2).contains(&port)
        });
        let (all, led) = records
            .entry(at.expect("a node of this cluster"))
            .or_default();
        *all += keys;
        *led += if words[1] == "primary" { keys } else { 0 };
    }
    records
}

/// How far the node furthest off its weight is off, in hundredths of what it should have.
fn furthest_off(records: &Held, weights: &[i64], of: impl Fn(&(i64, i64)) -> i64) -> f64 {
    let total: i64 = records.values().map(&of).sum();
    let all: i64 = records.keys().map(|at| weights[*at]).sum();
    let off = |(at, it): (&usize, &(i64, i64))| {
        let wanted = total as f64 * weights[*at] as f64 / all as f64;
        (of(it) as f64 / wanted - 1.0).abs() * 100.0
    };
    records.iter().map(off).fold(0.0, f64::max)
}

fn main() {
    let records: usize = std::env::args()
        .nth(1)
        .map_or(1_000_000, |word| word.parse().expect("a number of records"));
    let mut cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "2"]);
    cluster.wait_until_whole("t", 2);
    fill(&cluster, records);
    let keys: Vec<String> = (0..KEYS).map(|at| format!("key{at}")).collect();
    let options = LoadOptions::new(cluster.seeds(), "t", keys);
    let load = Load::start(options).unwrap_or_else(|error| panic!("{error}"));
    sleep(CALM);
    let calm = (0, load.now());
    let mut steps = Vec::new();
    let mut step = |cluster: &mut Cluster,
                    name: &'static str,
                    weights: &[i64],
                    change: &mut dyn FnMut(&mut Cluster) -> Option<i64>| {
        let before = held(cluster, 0, PARTITIONS);
        let from = load.now();
        let planned = change(cluster);
        let to = load.now();
        let after = settled(cluster);
        let least = gained(&before, &after);
        let records = assert_equal(cluster);
        println!("{name}: {after:?}");
        steps.push(Step {
            name,
            from,
            to,
            moved: planned.unwrap_or(least),
            least,
            off: (
                furthest_off(&records, weights, |it| it.0),
                furthest_off(&records, weights, |it| it.1),
            ),
        });
        sleep(CALM);
    };
    step(
        &mut cluster,
        "join of a fourth node",
        &[1; 4],
        &mut |cluster| {
            ours(cluster, 0, &["rebalance", "pause"]);
            cluster.add();
            cluster.wait_until_formed();
            let planned = planned(cluster);
            ours(cluster, 0, &["rebalance"]);
            Some(planned)
        },
    );
    step(
        &mut cluster,
        "weights 1:1:2:4",
        &[1, 1, 2, 4],
        &mut |cluster| {
            ours(cluster, 0, &["rebalance", "pause"]);
            for (at, weight) in [(2, "2"), (3, "4")] {
                let node = number(cluster, at);
                ours(cluster, 0, &["node", "weight", &node, weight, "--no-wait"]);
            }
            let planned = planned(cluster);
            ours(cluster, 0, &["rebalance"]);
            Some(planned)
        },
    );
    step(&mut cluster, "weights 1:1:1:1", &[1; 4], &mut |cluster| {
        for at in [2, 3] {
            let node = number(cluster, at);
            ours(cluster, 0, &["node", "weight", &node, "1", "--no-wait"]);
        }
        ours(cluster, 0, &["rebalance"]);
        None
    });
    step(&mut cluster, "drain of a node", &[1; 4], &mut |cluster| {
        let node = number(cluster, 1);
        ours(cluster, 0, &["node", "drain", &node]);
        None
    });
    let gone = number(&cluster, 1);
    ours(&cluster, 0, &["node", "remove", &gone]);
    cluster.wait_until_gone(1);
    let new = cluster.add_with(&["--weight", "0"]);
    cluster.wait_until_formed();
    step(
        &mut cluster,
        "replacement of a node",
        &[1; 5],
        &mut |cluster| {
            let (old, new) = (number(cluster, 2), number(cluster, new));
            ours(cluster, 0, &["node", "replace", &old, &new]);
            None
        },
    );
    let recording = load.stop();
    show(calm, &steps, &recording);
    let checked = recording.check().unwrap_or_else(|error| panic!("{error}"));
    println!(
        "{} operations, {} of unknown outcome, linearizable",
        checked.operations, checked.unknown
    );
}

fn show(calm: (u64, u64), steps: &[Step], recording: &Recording) {
    println!(
        "| change | copies moved | least | seconds | longest write | longest read | writes/s | reads/s | off weight |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
    let row = |name: &str, moved: &str, least: &str, from: u64, to: u64, off: &str| {
        let millis = |nanos: u64| nanos as f64 / 1e6;
        let seconds = (to - from) as f64 / 1e9;
        let rate = |kind: Kind| {
            let done = recording.waits.iter();
            let done = done.filter(|it| it.kind == kind && (from..to).contains(&it.returned));
            done.count() as f64 / seconds
        };
        println!(
            "| {name} | {moved} | {least} | {seconds:.1} | {:.0} ms | {:.0} ms | {:.0} | {:.0} | {off} |",
            millis(recording.longest(Kind::Write, from, to)),
            millis(recording.longest(Kind::Read, from, to)),
            rate(Kind::Write),
            rate(Kind::Read),
        );
    };
    row("nothing", "", "", calm.0, calm.1, "");
    for it in steps {
        let (moved, least) = (it.moved.to_string(), it.least.to_string());
        let off = format!("{:.2} %, {:.2} %", it.off.0, it.off.1);
        row(it.name, &moved, &least, it.from, it.to, &off);
    }
}
