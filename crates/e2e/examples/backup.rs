//! A table of a million records is backed up while it is written, and restored into a cluster of another size: how long it
//! took, what clients noticed, and whether what was restored is what was backed up. Prints the table of
//! `docs/benchmarks.md`.
//!
//! `cargo run --release -p brickyard-e2e --example backup [RECORDS]`

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::figure9::fill;
use brickyard_e2e::server::brickyard;
use brickyard_torture::{Kind, Load, LoadOptions};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Keys of the load: enough that each partition has some.
const KEYS: usize = 4096;

/// How long nothing happens before and between.
const CALM: Duration = Duration::from_secs(5);

/// Runs `brickyard backup` and returns what it said.
fn backup(words: &[&str]) -> String {
    let finished = brickyard(&[&["backup"], words].concat());
    assert!(finished.status.success(), "{}", finished.text());
    finished.stdout
}

/// The digest of a backup, all of it read again: of its contents, whatever the cluster's partitions.
fn digest(place: &str) -> String {
    let said = backup(&["verify", place]);
    let (_, digest) = said.rsplit_once("digest ").expect("a digest");
    digest.trim().to_owned()
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{error}"));
    let entries = entries.map(|it| it.expect("an entry"));
    entries
        .map(|it| match it.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => bytes_below(&it.path()),
            false => it.metadata().map_or(0, |it| it.len()),
        })
        .sum()
}

fn main() {
    let records: usize = std::env::args()
        .nth(1)
        .map_or(1_000_000, |word| word.parse().expect("a number of records"));
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "2"]);
    cluster.wait_until_whole("t", 2);
    fill(&cluster, records);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = folder.path().to_str().expect("a path of text");
    let from = format!("127.0.0.1:{}", cluster.port(0));
    let keys = (0..KEYS).map(|at| format!("key{at}")).collect();
    let load = Load::start(LoadOptions::new(cluster.seeds(), "t", keys))
        .unwrap_or_else(|error| panic!("{error}"));

    let mut steps = Vec::new();
    let mut bytes = 0;
    let create = ["create", place, "--table", "t", "--from", &from];
    for name in ["nothing", "backup", "incremental backup"] {
        let begun = load.now();
        if name == "nothing" {
            sleep(CALM);
        } else {
            println!("{}", backup(&create).trim_end());
        }
        let ended = load.now();
        let all = bytes_below(folder.path());
        steps.push((name, begun, ended, all - bytes));
        bytes = all;
        sleep(CALM);
    }
    let recording = load.stop();
    let wanted = digest(place);

    // Five nodes of one brick instead of three.
    let other = Cluster::start(&[0, 1, 2, 3, 4], 1, &[]);
    let to = format!("127.0.0.1:{}", other.port(0));
    let begun = Instant::now();
    println!("{}", backup(&["restore", place, "--to", &to]).trim_end());
    let restored_in = begun.elapsed();
    let again = tempfile::tempdir().expect("a temporary folder");
    let again = again.path().to_str().expect("a path of text");
    backup(&["create", again, "--table", "t", "--from", &to]);
    let got = digest(again);
    assert_eq!(
        got, wanted,
        "the digests of what was backed up and restored"
    );

    println!(
        "| what | seconds | MB | longest write | longest read | writes/s | reads/s |\n|---|---|---|---|---|---|---|"
    );
    for (name, begun, ended, bytes) in steps {
        let seconds = (ended - begun) as f64 / 1e9;
        let longest = |kind: Kind| recording.longest(kind, begun, ended) as f64 / 1e6;
        let rate = |kind: Kind| {
            let of_kind = recording.waits.iter().filter(|it| it.kind == kind);
            of_kind
                .filter(|it| (begun..ended).contains(&it.returned))
                .count() as f64
                / seconds
        };
        println!(
            "| {name} | {seconds:.1} | {:.1} | {:.0} ms | {:.0} ms | {:.0} | {:.0} |",
            bytes as f64 / 1e6,
            longest(Kind::Write),
            longest(Kind::Read),
            rate(Kind::Write),
            rate(Kind::Read),
        );
    }
    println!(
        "restored into five nodes in {:.1} s; digest of both: {wanted}",
        restored_in.as_secs_f64()
    );
    let checked = recording.check().unwrap_or_else(|error| panic!("{error}"));
    println!(
        "{} operations, {} of unknown outcome, linearizable",
        checked.operations, checked.unknown
    );
}
