//! Draws figure 9 anew: throughput over time of partitions with three replicas through kill, recovery and rejoin. Writes
//! `docs/figure-9.svg` and the section of it in `docs/benchmarks.md`.
//!
//! `cargo run --release -p brickyard-e2e --example figure9 [RECORDS THAT THE KILLED REPLICA MISSES]`

use brickyard_e2e::figure9::rejoin;
use brickyard_torture::{Mark, Sample, plot};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

const BEGIN: &str = "<!-- figure9:begin -->";
const END: &str = "<!-- figure9:end -->";

/// A point of the curves, in nanoseconds.
const PIECE: u64 = 100_000_000;

/// How long nothing happens before, between and after.
const CALM: Duration = Duration::from_secs(5);

fn main() {
    let missed = std::env::args()
        .nth(1)
        .map_or(200_000, |word| word.parse().expect("a number of records"));
    let rejoined = rejoin(missed, CALM);
    let writes = rejoined.writes;
    let report = rejoined.report.checked();
    let samples = report.recording.samples(PIECE);
    let [killed, started, whole] = rejoined.marks.map(|it| it.as_secs_f64());
    let marks = [
        (killed, "killed"),
        (started, "started again"),
        (whole, "caught up, in sync"),
    ]
    .map(|(at, text)| Mark {
        at,
        text: text.to_owned(),
    });
    let svg = plot(
        "A table with three replicas: a node is killed, comes back and catches up",
        &samples,
        &marks,
    );
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::write(docs.join("figure-9.svg"), svg).expect("docs can be written to");

    let last = samples.last().map_or(whole, |it| it.at);
    let mut table = String::from("| phase | seconds | writes/s | reads/s |\n|---|---|---|---|\n");
    for (name, from, to) in [
        ("three replicas", 0.0, killed),
        ("one is away", killed, started),
        ("it recovers and catches up", started, whole),
        ("three replicas again", whole, last),
    ] {
        let (reads, written) = rates(&samples, from, to);
        // Writing to a string does not fail.
        let _ = writeln!(
            table,
            "| {name} | {:.1} | {written:.0} | {reads:.0} |",
            to - from
        );
    }
    let section = format!(
        "{BEGIN}\n## Kill, recovery and rejoin (figure 9)\n\
         Four partitions with three replicas each, durability `log`, three nodes on one machine; six clients that write and two that read\n\
         through the client library, a thousand operations a second each at most. A node is killed, misses {missed}\n\
         records besides, and is started again. Writes go on while it catches up: at least {} in each half second.\n\
         The longest wait of a write was {:.0} ms, of a read {:.0} ms (the kill). `cargo run --release -p brickyard-e2e\n\
         --example figure9` draws it anew.\n\n\
         ![throughput over time](figure-9.svg)\n\n{table}{END}\n",
        writes.iter().min().copied().unwrap_or_default(),
        report.write_wait.as_secs_f64() * 1e3,
        report.read_wait.as_secs_f64() * 1e3,
    );
    let path = docs.join("benchmarks.md");
    let text = std::fs::read_to_string(&path).expect("docs/benchmarks.md");
    let text = match (text.find(BEGIN), text.find(END)) {
        (Some(begin), Some(end)) => {
            let rest = text[end + END.len()..].trim_start_matches('\n');
            format!("{}{section}{rest}", &text[..begin])
        }
        _ => format!("{}\n\n{section}", text.trim_end()),
    };
    std::fs::write(path, text).expect("docs can be written to");
    println!("{table}");
}

/// Reads and writes a second, on average over a time.
fn rates(samples: &[Sample], from: f64, to: f64) -> (f64, f64) {
    let within: Vec<&Sample> = samples
        .iter()
        .filter(|it| (from..to).contains(&it.at))
        .collect();
    let count = within.len().max(1) as f64;
    let sum = |of: fn(&Sample) -> f64| within.iter().map(|it| of(it)).sum::<f64>() / count;
    (sum(|it| it.reads), sum(|it| it.writes))
}
