//! A server to test the client subcommands against, and the program itself.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use brickyard_bench::{Link, Target};
use brickyard_wire::Value;
use std::{
    net::TcpListener,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
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

/// Starts Brickyard, or, while it has no server, the redis-server of the machine. Without either the
/// test has nothing to run against; it says so and is passed over.
pub(crate) fn start_server() -> Option<Server> {
    let server = start_brickyard().or_else(start_redis);
    if server.is_none() {
        eprintln!("skipped: neither Brickyard's server nor redis-server starts on this machine");
    }
    server
}

fn start_brickyard() -> Option<Server> {
    let (port, brick_port) = free_ports();
    let dir = TempDir::new().unwrap();
    let mut command = Command::new(BRICKYARD);
    command
        .args([
            "server",
            "--bricks",
            "2",
            "--http",
            "off",
            "--log-level",
            "error",
        ])
        .args(["--listen", &format!("127.0.0.1:{port}")])
        .args(["--brick-port", &brick_port.to_string(), "--data"])
        .arg(dir.path());
    start(command, port, dir)
}

fn start_redis() -> Option<Server> {
    let (port, _) = free_ports();
    let dir = TempDir::new().unwrap();
    let mut command = Command::new("redis-server");
    command
        .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
        .args(["--save", "", "--appendonly", "no", "--dir"])
        .arg(dir.path());
    start(command, port, dir)
}

fn start(mut command: Command, port: u16, dir: TempDir) -> Option<Server> {
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = command.spawn().ok()?;
    let mut server = Server {
        child,
        address: format!("127.0.0.1:{port}"),
        _dir: dir,
    };
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(20) {
        if server.child.try_wait().unwrap().is_some() {
            return None;
        }
        let pong =
            Link::open(&Target::resp(&server.address)).and_then(|mut link| link.call(&["PING"]));
        if pong.is_ok_and(|reply| reply.bytes() == Some(b"PONG")) {
            return Some(server);
        }
        // Between two attempts to connect there is nothing to wait for but time.
        thread::sleep(Duration::from_millis(10));
    }
    None
}

fn free_ports() -> (u16, u16) {
    // A node's bricks take ports in a row, so the second one begins a free pair.
    loop {
        let first = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let second = TcpListener::bind("127.0.0.1:0").unwrap();
        let brick = second.local_addr().unwrap().port();
        let next = brick
            .checked_add(1)
            .map(|next| TcpListener::bind(("127.0.0.1", next)));
        if matches!(next, Some(Ok(_))) && first != brick && first != brick + 1 {
            return (first, brick);
        }
    }
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
