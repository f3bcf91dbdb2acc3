//! Three nodes from identical command lines, a million records of real input with two replicas, and whether all replicas
//! hold the same.
//!
//! `cargo run --release -p brickyard-e2e --example million [RECORDS]`
//!
//! The input is the package lists of this machine's apt, each round with keys of its own; where there are none, paragraphs
//! of the same form are made up.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::process::Process;
use brickyard_e2e::server::{brickyard, program};
use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

/// Made-up packages of a round.
const MADE_UP: usize = 60_000;

/// The package lists as text, decompressed by apt's own helper.
fn package_lists() -> String {
    // Each paragraph has its name behind a line end, the first one too.
    let mut text = String::from("\n");
    let lists = std::fs::read_dir("/var/lib/apt/lists")
        .into_iter()
        .flatten();
    for entry in lists.flatten() {
        if !entry.file_name().to_string_lossy().contains("_Packages") {
            continue;
        }
        let mut cat = Command::new("/usr/lib/apt/apt-helper");
        if let Ok(output) = cat.arg("cat-file").arg(entry.path()).output() {
            text += &String::from_utf8_lossy(&output.stdout);
        }
    }
    if text.len() < 2 {
        println!("no package lists here; made-up ones");
        for number in 0..MADE_UP {
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "Package: package-{number}\nVersion: 1.{number}\nDescription: {}\n",
                "made up ".repeat(60)
            );
        }
    }
    text
}

fn main() {
    let wanted: i64 = std::env::args()
        .nth(1)
        .map_or(1_000_000, |word| word.parse().expect("a number of records"));
    let input = package_lists();
    let cluster = Cluster::start(&[2, 0, 1], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "2"]);
    cluster.wait_until_whole("t", 2);
    let mut client = cluster.table(0, "t").expect("the table");
    let mut count = || client.call(&["DBSIZE"]).as_integer().expect("DBSIZE");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("packages");
    let mut loading = Duration::ZERO;
    let mut bytes = 0;
    for round in 0.. {
        if count() >= wanted {
            break;
        }
        let text = input.replace("\nPackage: ", &format!("\nPackage: {round}/"));
        std::fs::write(&file, &text).expect("the temporary folder has room");
        let mut command = program();
        command
            .arg("load")
            .arg(&file)
            .args(["--format", "control", "--table", "t"])
            .args(["--to", &cluster.seeds().join(",")]);
        let begin = Instant::now();
        let mut load = Process::start(&mut command, &folder.path().join("output"));
        let status = load.wait();
        loading += begin.elapsed();
        bytes += text.len();
        // 3: some paragraphs had no name.
        assert!(matches!(status.code(), Some(0 | 3)), "{}", load.output());
        println!("{} records after {loading:.1?}", count());
    }
    let records = count();
    let seconds = loading.as_secs_f64();
    println!(
        "{records} records, {} MB, two replicas: {:.0} records/s, {:.1} MB/s",
        bytes / 1_000_000,
        records as f64 / seconds,
        bytes as f64 / 1e6 / seconds
    );
    let address = format!("127.0.0.1:{}", cluster.port(1));
    let patience = ["--patience", "60", "--address", &address];
    let finished = brickyard(&[&["table", "digest", "t"][..], &patience].concat());
    print!("{}", finished.text());
    assert!(finished.status.success(), "replicas do not agree");
}
