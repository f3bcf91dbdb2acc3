//! redis-cli and redis-benchmark, as people run them in a shell.

use crate::kill::{VICTIM, primaries, replicated_cluster};
use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::{PATIENCE, try_wait_for, wait_for};
use brickyard_e2e::process::{Process, run};
use brickyard_e2e::stock;
use std::path::PathBuf;
use std::process::Command;

/// Keys of each part of the test; a process of redis-cli each, and more.
const KEYS: usize = 40;

/// `redis-cli -c`, again at the next address when it fails.
struct Cli {
    path: PathBuf,
    ports: Vec<u16>,
    at: usize,
}

impl Cli {
    fn call(&mut self, arguments: &[&str]) -> String {
        let mut last = String::new();
        let answer = try_wait_for(PATIENCE, || {
            let port = self.ports[self.at % self.ports.len()].to_string();
            let mut command = Command::new(&self.path);
            // -e: an error reply is a failure of the program, too.
            command.args(["-c", "-e", "-h", "127.0.0.1", "-p", &port]);
            let finished = run(command.args(arguments), b"", PATIENCE).unwrap();
            if finished.status.success() {
                return Some(finished.stdout.trim_end().to_owned());
            }
            last = finished.text();
            self.at += 1;
            None
        });
        answer.unwrap_or_else(|| panic!("{arguments:?}: {last}"))
    }

    fn write(&mut self, keys: std::ops::Range<usize>) {
        for number in keys {
            let (key, value) = (format!("s:{number}"), number.to_string());
            assert_eq!(self.call(&["SET", &key, &value]), "OK");
            assert_eq!(self.call(&["GET", &key]), value);
            let counted = self.call(&["INCR", "c"]).parse::<usize>().unwrap();
            assert!(
                counted > number,
                "{counted} after {number} that were acknowledged"
            );
        }
    }
}

#[test]
fn redis_cli_survives_a_node_kill() {
    let Some(path) = stock::redis("redis-cli", "redis-cli") else {
        return;
    };
    let mut cluster = replicated_cluster();
    // Bricks redirect, which is what `-c` is for.
    let ports = (0..3).map(|it| cluster.brick_port(it)).collect();
    let mut cli = Cli { path, ports, at: 0 };
    cli.write(0..KEYS);
    cluster.kill(VICTIM);
    cli.write(KEYS..2 * KEYS);
    cluster.launch(VICTIM);
    cluster.wait_until_formed();
    cluster.wait_until_whole("default", 2);
    cli.write(2 * KEYS..3 * KEYS);
    for number in 0..3 * KEYS {
        let key = format!("s:{number}");
        assert_eq!(cli.call(&["GET", &key]), number.to_string(), "{key}");
        if number % 2 == 0 {
            cli.call(&["DEL", &key]);
            assert_eq!(cli.call(&["EXISTS", &key]), "0", "{key}");
        }
    }
}

fn benchmark(path: &PathBuf, cluster: &Cluster, at: usize, count: &str) -> Command {
    let mut command = Command::new(path);
    command
        .args(["--cluster", "-h", "127.0.0.1"])
        .args(["-p", &cluster.brick_port(at).to_string()])
        .args(["-t", "set,get", "-c", "6", "-r", "1000", "-q", "-n", count]);
    command
}

/// It gives up when a server closes a connection (so it does with Redis); what is asked is that a run begun when the
/// others have taken over finds a cluster without a hole.
#[test]
fn redis_benchmark_runs_again_after_a_node_kill() {
    let Some(path) = stock::redis("redis-benchmark", "redis-benchmark") else {
        return;
    };
    let mut cluster = replicated_cluster();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("output");
    let mut first = Process::start(&mut benchmark(&path, &cluster, 1, "100000000"), &log);
    let mut client = cluster.client(1);
    let under_way = try_wait_for(PATIENCE, || {
        let count = client.try_call(&["DBSIZE"]).ok()?.as_integer()?;
        (count > 0).then_some(())
    });
    assert!(
        under_way.is_some(),
        "nothing was written: {}",
        first.output()
    );
    cluster.kill(VICTIM);
    let dead = i64::from(cluster.brick_port(VICTIM));
    wait_for("others in its place", || {
        let slots = client.try_call(&["CLUSTER", "SLOTS"]).ok()?;
        (!primaries(&slots).contains(&dead)).then_some(())
    });
    let mut command = benchmark(&path, &cluster, 1, "5000");
    let finished = run(&mut command, b"", PATIENCE).unwrap();
    let text = finished.text();
    assert!(finished.status.success(), "{text}");
    assert!(text.contains("SET: ") && text.contains("GET: "), "{text}");
    assert!(!text.to_lowercase().contains("error"), "{text}");
    first.kill();
}
