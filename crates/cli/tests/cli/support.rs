//! A server to test the client subcommands against, and the program itself.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use brickyard_bench::{Link, Target};
use brickyard_wire::Value;
use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    net::TcpListener,
    process::{Child, Command, Output, Stdio},
    thread,
};
use tempfile::TempDir;

/// The program under test.
pub(crate) const BRICKYARD: &str = env!("CARGO_BIN_EXE_brickyard");

/// A server that ends with its test.
pub(crate) struct Server {
    child: Child,
    /// Where it listens, HOST:PORT.
    pub(crate) address: String,
    _dir: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Sends one command.
    pub(crate) fn call(&self, arguments: &[&str]) -> Value {
        Link::open(&Target::resp(&self.address))
            .unwrap()
            .call(arguments)
            .unwrap()
    }
}

/// Starts a node of two bricks.
pub(crate) fn start_server() -> Server {
    start_configured("")
}

/// Starts a node of two bricks with more settings, given as a configuration file. It listens on ports
/// of its own choice and says so when it is ready.
pub(crate) fn start_configured(config: &str) -> Server {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("brickyard.toml");
    fs::write(&path, config).unwrap();
    let mut child = Command::new(BRICKYARD)
        .args([
            "server",
            "--bricks",
            "2",
            "--listen",
            "127.0.0.1:0",
            "--http",
            "off",
        ])
        .args(["--log-format", "json", "--config"])
        .arg(&path)
        .arg("--data")
        .arg(dir.path().join("data"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let address = ready_address(&mut log);
    // Somebody has to read the rest, or the server would wait for room in the pipe.
    thread::spawn(move || io::copy(&mut log, &mut io::sink()));
    Server {
        child,
        address,
        _dir: dir,
    }
}

/// Reads the log up to the event that names the node's address.
fn ready_address(log: &mut impl BufRead) -> String {
    let mut heard = String::new();
    for line in log.lines() {
        let line = line.unwrap();
        let event: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        if event["message"] == "READY" {
            return event["node"].as_str().unwrap().to_owned();
        }
        heard += &line;
        heard.push('\n');
    }
    panic!("the server ended before it was ready:\n{heard}");
}

/// Starts the machine's redis-server. Where there is none, the test has nothing to compare with; it
/// says so and is passed over.
pub(crate) fn start_redis() -> Option<Server> {
    let dir = TempDir::new().unwrap();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let child = Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
        .args(["--save", "", "--appendonly", "no", "--dir"])
        .arg(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(child) = child else {
        // Past the test runner's capture, so that the line is seen although the test passes.
        let line = b"skipped: moving from a Redis: there is no redis-server; install it\n";
        drop(io::stderr().write_all(line));
        return None;
    };
    let mut server = Server {
        child,
        address: format!("127.0.0.1:{port}"),
        _dir: dir,
    };
    // It does not say when it is ready, so it is asked until it answers.
    while Link::open(&Target::resp(&server.address)).is_err() {
        assert!(
            server.child.try_wait().unwrap().is_none(),
            "redis-server ended at once"
        );
        thread::yield_now();
    }
    Some(server)
}

/// The hash of a password, as a configuration file holds it.
pub(crate) fn hash_password(password: &str) -> String {
    let mut child = Command::new(BRICKYARD)
        .args(["config", "hash-password"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{password}").unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Runs the program to its end.
pub(crate) fn brickyard(arguments: &[&str]) -> Output {
    Command::new(BRICKYARD)
        .args(arguments)
        .env_remove("BRICKYARD_USER")
        .env_remove("BRICKYARD_PASSWORD")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Standard output and standard error as one text, for messages of assertions too.
pub(crate) fn text(output: &Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text += &String::from_utf8_lossy(&output.stderr);
    text
}
