//! How long writers wait when a Redis and a Valkey hand over to a cluster of three nodes, and whether anything is missing.
//!
//! In:  `BRICKYARD_E2E_KEYS` (1,000,000), `BRICKYARD_E2E_RATE` (5,000 writes a second). Out: a line for each server, once in one
//!      go and once broken off by `kill -9` in the middle.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::try_wait_for;
use brickyard_e2e::moving::{Origin, Writers};
use brickyard_e2e::process::Process;
use brickyard_e2e::server::{brickyard, program};
use brickyard_e2e::skip::number_from_environment;
use std::path::Path;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(1200);

fn main() {
    for program in ["redis-server", "valkey-server"] {
        for breaks in [false, true] {
            measure(program, breaks);
        }
    }
}

fn measure(server: &str, breaks: bool) {
    let keys = number_from_environment("BRICKYARD_E2E_KEYS", 1_000_000);
    let rate = number_from_environment("BRICKYARD_E2E_RATE", 5000);
    let folder = tempfile::tempdir().expect("a temporary directory");
    let Some(origin) = Origin::start(server, "measurement", folder.path()) else {
        return;
    };
    origin.fill(keys);
    let cluster = Cluster::start(&[0, 1, 2], 1, &[]);
    cluster.create_table("t", &["REPLICAS", "2", "PARTITIONS", "16"]);
    cluster.wait_until_whole("t", 2);
    let mut client = cluster.table(0, "t").expect("the table is there");
    let writers = Writers::start(origin.port, 8, rate);
    let begin = Instant::now();
    if breaks {
        let mut first = import(&origin, &cluster, folder.path(), &[]);
        let is_following = || {
            let text = std::fs::read_to_string(folder.path().join("state")).ok()?;
            text.contains("following").then_some(())
        };
        assert!(
            try_wait_for(PATIENCE, is_following).is_some(),
            "{}",
            first.output()
        );
        first.kill();
    }
    let more = ["--handover-when-caught-up", "--fence"];
    let mut import = import(&origin, &cluster, folder.path(), &more);
    let status = try_wait_for(PATIENCE, || import.exit_status());
    let took = begin.elapsed();
    let output = import.output();
    assert!(status.is_some_and(|it| it.success()), "{output}");
    let told = writers.stop();
    let (missing, example) = told.missing(&mut client);
    println!("{output}");
    println!(
        "{server}{}: {keys} keys and {} acknowledged writes at {} a second in {:.1} s; longest wait of a writer {} ms; {missing} missing {}",
        if breaks {
            ", broken off and resumed"
        } else {
            ""
        },
        told.acknowledged,
        (told.acknowledged as f64 / took.as_secs_f64()) as u64,
        took.as_secs_f64(),
        told.longest.as_millis(),
        example.unwrap_or_default(),
    );
    let url = format!("redis://127.0.0.1:{}", origin.port);
    let target = format!("127.0.0.1:{}", cluster.port(1));
    let verify = brickyard(&["import", &url, "--to", &target, "--table", "t", "--verify"]);
    println!("{}", verify.text());
}

fn import(origin: &Origin, cluster: &Cluster, folder: &Path, more: &[&str]) -> Process {
    let mut command = program();
    command
        .args(["import", &format!("redis://127.0.0.1:{}", origin.port)])
        .args([
            "--to",
            &format!("127.0.0.1:{}", cluster.port(0)),
            "--table",
            "t",
            "--state",
        ])
        .arg(folder.join("state"))
        .args(more);
    Process::start(&mut command, &folder.join("import"))
}
