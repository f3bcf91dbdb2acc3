//! Real clients against the real program: redis-cli, redis-benchmark, redis-py, the `redis` crate.

use brickyard_e2e::deadline::PATIENCE;
use brickyard_e2e::process::{Finished, run};
use brickyard_e2e::server::{Server, Setup};
use brickyard_e2e::stock::{self, Language};
use redis::TypedCommands;
use std::process::Command;

const BRICKS: u16 = 3;

/// A program of Redis's, or one line that says that it is missing.
fn tool(name: &str) -> Option<Command> {
    stock::redis(name, name).map(Command::new)
}

/// Runs redis-cli with these arguments after `-p port`.
fn redis_cli(port: u16, arguments: &[&str], input: &str) -> Option<Finished> {
    let mut command = tool("redis-cli")?;
    command
        .args(["-h", "127.0.0.1", "-p", &port.to_string()])
        .args(arguments);
    Some(run(&mut command, input.as_bytes(), PATIENCE).expect("redis-cli ends"))
}

#[test]
fn redis_cli_works_on_the_node_port() {
    let server = Setup::brickyard(BRICKS).start();
    let port = server.port();
    let Some(finished) = redis_cli(port, &["SET", "greeting", "hello world"], "") else {
        return;
    };
    assert_eq!(finished.stdout, "OK\n", "{}", finished.text());
    let cli = |arguments: &[&str], input: &str| {
        let finished = redis_cli(port, arguments, input).expect("it was there a moment ago");
        assert!(
            finished.status.success(),
            "{arguments:?}: {}",
            finished.text()
        );
        finished.stdout
    };
    assert_eq!(cli(&["GET", "greeting"], ""), "hello world\n");
    assert_eq!(cli(&["-3", "GET", "greeting"], ""), "hello world\n");
    assert_eq!(cli(&["-n", "3", "GET", "greeting"], ""), "\n");
    assert_eq!(cli(&["-x", "SET", "from stdin"], "some text"), "OK\n");
    assert_eq!(
        cli(&[], "SET a 1\nINCR a\nGET a\nnonsense\n")
            .lines()
            .nth(2),
        Some("2")
    );
    assert!(cli(&["INFO", "server"], "").contains("redis_version:"));
    for number in 0..50 {
        cli(&["SET", &format!("k{number}"), "v"], "");
        if number >= 4 {
            break;
        }
    }
    let mut keys: Vec<String> = cli(&["--scan"], "").lines().map(str::to_owned).collect();
    keys.sort();
    assert_eq!(
        keys,
        ["a", "from stdin", "greeting", "k0", "k1", "k2", "k3", "k4"]
    );
    let mut keys: Vec<String> = cli(&["--scan", "--pattern", "k*"], "")
        .lines()
        .map(str::to_owned)
        .collect();
    keys.sort();
    assert_eq!(keys, ["k0", "k1", "k2", "k3", "k4"]);
    assert!(cli(&["--bigkeys"], "").contains("8 keys"), "--bigkeys");
    assert!(cli(&["--memkeys"], "").contains("8 keys"), "--memkeys");
    let piped: String = (0..10_000)
        .map(|number| format!("SET piped:{number} {number}\r\n"))
        .collect();
    let report = cli(&["--pipe"], &piped);
    assert!(report.contains("errors: 0, replies: 10000"), "{report}");
    assert_eq!(cli(&["GET", "piped:9999"], ""), "9999\n");
}

#[test]
fn redis_cli_works_on_brick_ports() {
    let server = Setup::brickyard(BRICKS).start();
    let port = server.brick_port(0);
    let script: String = (0..30)
        .map(|number| format!("SET k{number} {number}\n"))
        .collect();
    let Some(finished) = redis_cli(port, &["-c"], &script) else {
        return;
    };
    assert_eq!(
        finished.stdout.lines().filter(|line| *line == "OK").count(),
        30,
        "{}",
        finished.text()
    );
    let cluster = |command: &str| {
        let address = format!("127.0.0.1:{port}");
        let arguments = ["--cluster", command, address.as_str()];
        let mut cli = tool("redis-cli").expect("it was there a moment ago");
        run(cli.args(arguments), b"", PATIENCE).expect("redis-cli ends")
    };
    let info = cluster("info");
    assert!(
        info.status.success() && info.stdout.contains("30 keys in 3 masters"),
        "{}",
        info.text()
    );
    let check = cluster("check");
    assert!(check.status.success(), "{}", check.text());
    assert!(
        check.stdout.contains("All 16384 slots covered"),
        "{}",
        check.text()
    );
}

#[test]
fn redis_benchmark_runs_on_both_kinds_of_port() {
    let server = Setup::brickyard(BRICKS).start();
    let node = server.port().to_string();
    let brick = server.brick_port(0).to_string();
    let common = ["-n", "5000", "-c", "20", "-r", "1000", "-q"];
    let tests = ["-t", "ping_inline,ping_mbulk,set,get,incr,mset"];
    for arguments in [
        [&["-p", &node][..], &tests].concat(),
        [&["-p", &node, "-P", "50"][..], &tests].concat(),
        [&["-p", &brick, "--cluster"][..], &["-t", "set,get"]].concat(),
    ] {
        let Some(mut command) = tool("redis-benchmark") else {
            return;
        };
        let finished = run(command.args(common).args(&arguments), b"", PATIENCE)
            .expect("redis-benchmark ends");
        let text = finished.text();
        assert!(finished.status.success(), "{arguments:?}: {text}");
        assert!(
            text.contains("SET: ") && text.contains("GET: "),
            "{arguments:?}: {text}"
        );
        assert!(
            !text.to_lowercase().contains("error"),
            "{arguments:?}: {text}"
        );
    }
}

fn run_script(server: &Server, script: &str) {
    let Some(mut command) = stock::python() else {
        return;
    };
    command
        .arg(Language::Python.sources().join(script))
        .arg(server.port().to_string());
    command.arg(server.brick_port(0).to_string());
    let finished = run(&mut command, b"", PATIENCE).expect("the script ends");
    assert!(finished.status.success(), "{script}: {}", finished.text());
}

#[test]
fn redis_py_works_on_the_node_port() {
    run_script(&Setup::brickyard(BRICKS).start(), "plain.py");
}

#[test]
fn redis_py_cluster_works_from_either_port() {
    run_script(&Setup::brickyard(BRICKS).start(), "cluster.py");
}

#[test]
fn redis_crate_works_on_the_node_port() {
    let server = Setup::brickyard(BRICKS).start();
    for protocol in ["resp2", "resp3"] {
        let url = format!("redis://127.0.0.1:{}/?protocol={protocol}", server.port());
        let client = redis::Client::open(url).expect("a client");
        let mut connection = client.get_connection().expect("a connection");
        connection.flushall().expect("FLUSHALL");
        connection.set("k", "v").expect("SET");
        assert_eq!(connection.get("k").expect("GET").as_deref(), Some("v"));
        assert_eq!(connection.get("nosuch").expect("GET"), None);
        assert_eq!(connection.incr("n", 5).expect("INCRBY"), 5);
        connection
            .mset(&[("a", "1"), ("b", "2"), ("c", "3")])
            .expect("MSET");
        let values: Vec<String> = redis::cmd("MGET")
            .arg(&["a", "b", "c"])
            .query(&mut connection)
            .expect("MGET");
        assert_eq!(values, ["1", "2", "3"]);
        let mut pipeline = redis::pipe();
        for number in 0..1_000 {
            pipeline.set(format!("p{number}"), number).ignore();
        }
        let _: () = pipeline.query(&mut connection).expect("a pipeline");
        let replies: (i64, String) = redis::pipe()
            .atomic()
            .incr("{t}n", 1)
            .set("{t}k", "v")
            .ignore()
            .get("{t}k")
            .query(&mut connection)
            .expect("a transaction");
        assert_eq!(replies, (1, "v".to_owned()));
        let keys: Vec<String> = redis::cmd("SCAN")
            .cursor_arg(0)
            .clone()
            .iter(&mut connection)
            .expect("SCAN")
            .flatten()
            .collect();
        assert_eq!(keys.len(), 1_007, "k n a b c {{t}}n {{t}}k and p0 to p999");
    }
}

#[test]
fn redis_crate_cluster_client_works_from_either_port() {
    let server = Setup::brickyard(BRICKS).start();
    for port in [server.port(), server.brick_port(1)] {
        let nodes = vec![format!("redis://127.0.0.1:{port}/")];
        let client = redis::cluster::ClusterClient::new(nodes).expect("a client");
        let mut connection = client.get_connection().expect("a connection");
        for number in 0..300 {
            connection.set(format!("k{number}"), number).expect("SET");
        }
        for number in 0..300 {
            let value = connection.get(format!("k{number}")).expect("GET");
            assert_eq!(value, Some(number.to_string()));
        }
        let values: Vec<i64> = redis::cmd("MGET")
            .arg(&["k1", "k2", "k3"])
            .query(&mut connection)
            .expect("MGET");
        assert_eq!(values, [1, 2, 3]);
        let size: i64 = redis::cmd("DBSIZE").query(&mut connection).expect("DBSIZE");
        assert_eq!(size, 300);
    }
}
