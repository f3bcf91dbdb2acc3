//! A table of a million records under load while all its partitions are split, and then merged again, and while another table
//! of as many goes offline and comes back: how long it took, and what clients noticed. Prints the table of `docs/benchmarks.md`.
//!
//! `cargo run --release -p brickyard-e2e --example resize [RECORDS]`

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::figure9::{fill, fill_table};
use brickyard_e2e::moves::ours;
use brickyard_e2e::resize::{merge_all, partitions, split_all};
use brickyard_torture::{Kind, Load, LoadOptions, Recording};
use std::thread::sleep;
use std::time::Duration;

const PARTITIONS: &str = "64";

/// Keys of the load: enough that each partition has some.
const KEYS: usize = 4096;

/// How long nothing happens before and between.
const CALM: Duration = Duration::from_secs(5);

/// A change, and when it began and ended.
struct Step {
    name: String,
    from: u64,
    to: u64,
}

fn assert_equal(cluster: &Cluster) {
    let text = ours(cluster, 0, &["table", "digest", "t"]);
    let last = text.lines().last().unwrap_or_default();
    let wanted = format!("{} equal, 0 behind, 0 differ", partitions(cluster).len());
    assert!(last.contains(&wanted), "{last}");
    println!("{last}");
}

/// What the replicas of a table say of each other.
fn digest(cluster: &Cluster, table: &str) -> String {
    let text = ours(cluster, 0, &["table", "digest", table]);
    text.lines().last().unwrap_or_default().to_owned()
}

/// Waits until the other table is described so.
fn wait_until(cluster: &Cluster, field: &str, wanted: &str) {
    wait_for(wanted, || {
        let text = ours(cluster, 0, &["table", "describe", "u"]);
        let mut lines = text.lines().filter(|line| line.contains(field));
        lines.any(|line| line.contains(wanted)).then_some(())
    });
}

fn main() {
    let records: usize = std::env::args()
        .nth(1)
        .map_or(1_000_000, |word| word.parse().expect("a number of records"));
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "3", "PARTITIONS", PARTITIONS]);
    cluster.wait_until_whole("t", 3);
    fill(&cluster, records);
    cluster.create_table("u", &["REPLICAS", "3", "PARTITIONS", PARTITIONS]);
    cluster.wait_until_whole("u", 3);
    fill_table(&cluster, "u", records);
    let keys = (0..KEYS).map(|at| format!("key{at}")).collect();
    let load = Load::start(LoadOptions::new(cluster.seeds(), "t", keys))
        .unwrap_or_else(|error| panic!("{error}"));
    let mut steps = Vec::new();
    let mut step = |name: &str, change: &dyn Fn(&Cluster)| {
        let before = partitions(&cluster).len();
        let from = load.now();
        change(&cluster);
        let to = load.now();
        let after = partitions(&cluster).len();
        let name = if before == after {
            name.to_owned()
        } else {
            format!("{name}, {before} partitions to {after}")
        };
        steps.push(Step { name, from, to });
    };
    step("nothing", &|_| sleep(CALM));
    for (name, change) in [
        ("splits", split_all as fn(&Cluster)),
        ("merges", merge_all as fn(&Cluster)),
    ] {
        step(name, &change);
        cluster.wait_until_whole("t", 3);
        assert_equal(&cluster);
        sleep(CALM);
    }
    step("another table offline", &|cluster| {
        ours(cluster, 0, &["table", "offline", "u"]);
        wait_until(cluster, "state", "offline");
        sleep(CALM);
    });
    step("and online again", &|cluster| {
        ours(cluster, 0, &["table", "online", "u"]);
        wait_until(cluster, "state", "online");
    });
    cluster.wait_until_whole("u", 3);
    println!("{}", digest(&cluster, "u"));
    let recording = load.stop();
    show(&steps, &recording);
    let checked = recording.check().unwrap_or_else(|error| panic!("{error}"));
    println!(
        "{} operations, {} of unknown outcome, linearizable",
        checked.operations, checked.unknown
    );
}

fn show(steps: &[Step], recording: &Recording) {
    println!(
        "| change | seconds | longest write | longest read | writes/s | reads/s |\n|---|---|---|---|---|---|"
    );
    for Step { name, from, to } in steps {
        let seconds = (to - from) as f64 / 1e9;
        let longest = |kind: Kind| recording.longest(kind, *from, *to) as f64 / 1e6;
        let rate = |kind: Kind| {
            let of_kind = recording.waits.iter().filter(|it| it.kind == kind);
            of_kind
                .filter(|it| (*from..*to).contains(&it.returned))
                .count() as f64
                / seconds
        };
        println!(
            "| {name} | {seconds:.1} | {:.0} ms | {:.0} ms | {:.0} | {:.0} |",
            longest(Kind::Write),
            longest(Kind::Read),
            rate(Kind::Write),
            rate(Kind::Read),
        );
    }
}
