//! One server under test: `brickyard`, or the `redis-server` that it is compared with.
//!
//! The same tests run against either, so that a test is first shown to be right about Redis.

use crate::client::Client;
use crate::deadline::{PATIENCE, try_wait_for, wait_for};
use crate::port::{HTTP_OFFSET, free_block};
use crate::process::{Finished, Process, run};
use crate::{binary, stock};
use brickyard_tls::Dialer;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// From a node's port to its port for other nodes.
const PEER_OFFSET: u16 = 15;

/// Starts that are tried before a test gives up: another process may take a port in between.
const ATTEMPTS: usize = 5;

/// Which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// Ours.
    Brickyard,
    /// `redis-server`, one node without a cluster.
    Redis,
    /// `redis-server --cluster-enabled yes`, one node that owns all slots.
    RedisCluster,
}

/// How to start a server.
#[derive(Clone, Debug)]
pub struct Setup {
    kind: ServerKind,
    bricks: u16,
    folder: Option<PathBuf>,
    /// Which program a Redis is; none: `redis-server`.
    program: Option<PathBuf>,
    arguments: Vec<String>,
    /// What its clients go by, where it speaks TLS.
    tls: Option<Dialer>,
}

impl Setup {
    /// `brickyard` with this many bricks.
    #[must_use]
    pub const fn brickyard(bricks: u16) -> Self {
        Self {
            kind: ServerKind::Brickyard,
            bricks,
            folder: None,
            program: None,
            arguments: Vec::new(),
            tls: None,
        }
    }

    /// A Redis of the version that is compared with; otherwise announces that `what` is skipped.
    #[must_use]
    pub fn redis(kind: ServerKind, what: &str) -> Option<Self> {
        stock::redis("redis-server", what)?;
        Some(Self {
            kind,
            bricks: 1,
            folder: None,
            program: None,
            arguments: Vec::new(),
            tls: None,
        })
    }

    /// A program that takes the arguments of `redis-server`.
    #[must_use]
    pub fn redis_at(program: &Path) -> Self {
        Self {
            kind: ServerKind::Redis,
            program: Some(program.to_owned()),
            ..Self::brickyard(1)
        }
    }

    /// Keeps the data in this folder instead of a temporary one.
    #[must_use]
    pub fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Adds arguments to the command line.
    #[must_use]
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments
            .extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// It is asked under TLS whether it answers.
    #[must_use]
    pub fn tls(mut self, tls: Dialer) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Starts the server and waits until it answers.
    ///
    /// # Panics
    /// If it does not; its output is shown.
    #[must_use]
    pub fn start(self) -> Server {
        Server::start(self)
    }

    fn command(&self, port: u16, data: &Path) -> Command {
        let mut command = match self.kind {
            ServerKind::Brickyard => {
                let mut command = program();
                command
                    .arg("server")
                    .arg("--listen")
                    .arg(format!("127.0.0.1:{port}"));
                command.arg("--data").arg(data);
                command.arg("--bricks").arg(self.bricks.to_string());
                // Within the node's own block of ports; the default is among those of outgoing connections.
                let is_chosen = self.arguments.iter().any(|it| it == "--peer-port");
                if !is_chosen {
                    command
                        .arg("--peer-port")
                        .arg((port + PEER_OFFSET).to_string());
                }
                command
            }
            ServerKind::Redis | ServerKind::RedisCluster => {
                let program = self
                    .program
                    .as_deref()
                    .unwrap_or_else(|| Path::new("redis-server"));
                let mut command = Command::new(program);
                command.args(["--bind", "127.0.0.1", "--save", "", "--daemonize", "no"]);
                command
                    .arg("--port")
                    .arg(port.to_string())
                    .arg("--dir")
                    .arg(data);
                if self.kind == ServerKind::RedisCluster {
                    command.args(["--cluster-enabled", "yes", "--cluster-port"]);
                    command.arg((port + 1).to_string());
                }
                command
            }
        };
        command.args(&self.arguments);
        command
    }
}

/// A running server with its data folder.
#[derive(Debug)]
pub struct Server {
    setup: Setup,
    process: Process,
    port: u16,
    /// Holds log files, and the data unless the setup names a folder. Removed at the end.
    scratch: TempDir,
}

impl Server {
    fn start(setup: Setup) -> Self {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        for attempt in 1.. {
            let port = free_block(setup.bricks);
            let data = data_folder(&setup, &scratch);
            let log = scratch.path().join("server.log");
            let mut process = Process::start(&mut setup.command(port, &data), &log);
            match wait_until_ready(&mut process, port, setup.tls.as_ref()) {
                Ok(()) => {
                    let server = Self {
                        setup,
                        process,
                        port,
                        scratch,
                    };
                    server.own_all_slots();
                    return server;
                }
                Err(reason) => {
                    let output = process.output();
                    let port_was_taken = output.contains("in use");
                    assert!(
                        port_was_taken && attempt < ATTEMPTS,
                        "the server {reason}; its output:\n{output}"
                    );
                }
            }
        }
        unreachable!("the last attempt returns or panics");
    }

    /// Makes a fresh Redis Cluster node a cluster of one.
    fn own_all_slots(&self) {
        if self.setup.kind != ServerKind::RedisCluster {
            return;
        }
        let mut client = self.connect();
        client.must(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
        wait_for("the cluster of one to be up", || {
            client
                .line("CLUSTER INFO")
                .text()
                .contains("cluster_state:ok")
                .then_some(())
        });
    }

    /// Which program this is.
    #[must_use]
    pub const fn kind(&self) -> ServerKind {
        self.setup.kind
    }

    /// The node port: any key.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The port of one brick: a cluster node. Redis has but the one port.
    #[must_use]
    pub const fn brick_port(&self, brick: u16) -> u16 {
        match self.setup.kind {
            ServerKind::Brickyard => self.port + 1 + brick,
            ServerKind::Redis | ServerKind::RedisCluster => self.port,
        }
    }

    /// The port of metrics and health.
    #[must_use]
    pub const fn http_port(&self) -> u16 {
        self.port + HTTP_OFFSET
    }

    /// Where the data is.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        data_folder(&self.setup, &self.scratch)
    }

    /// The process, to signal and to measure.
    #[must_use]
    pub const fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// A connection to the node port.
    #[must_use]
    pub fn connect(&self) -> Client {
        Client::connect(self.port)
    }

    /// A connection to a brick's port.
    #[must_use]
    pub fn connect_brick(&self, brick: u16) -> Client {
        Client::connect(self.brick_port(brick))
    }

    /// Kills the server without warning, as `kill -9` does.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts the server again on the same data and ports, after [`Server::kill`] or its own end.
    ///
    /// # Panics
    /// If it does not come up; its output is shown.
    pub fn restart(&mut self) {
        if let Err(reason) = self.try_restart() {
            panic!(
                "the restarted server {reason}; its output:\n{}",
                self.process.output()
            );
        }
    }

    /// Starts the server again on the same data and ports.
    ///
    /// # Errors
    /// What it did instead of answering.
    pub fn try_restart(&mut self) -> Result<(), String> {
        self.process.kill();
        let log = self.scratch.path().join("server.log");
        self.process = Process::start(&mut self.setup.command(self.port, &self.data()), &log);
        wait_until_ready(&mut self.process, self.port, self.setup.tls.as_ref())
    }

    /// Asks the server to end (`SIGTERM`) and waits until it has, with success.
    ///
    /// # Panics
    /// If it ends with an error, or not at all.
    pub fn stop(&mut self) {
        self.process.signal("TERM");
        let status = self.process.wait();
        assert!(
            status.success(),
            "a stopped server ended with {status}:\n{}",
            self.log()
        );
    }

    /// What the server has written to its log so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.output()
    }
}

/// The `brickyard` program with no settings from the environment: neither ours nor the caller's.
#[must_use]
pub fn program() -> Command {
    program_at(binary::brickyard())
}

/// As [`program`], of another build.
#[must_use]
pub fn program_at(path: &Path) -> Command {
    let mut command = Command::new(path);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("BRICKYARD_") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs `brickyard` with these arguments to its end.
///
/// # Panics
/// If it cannot be started or does not end.
#[must_use]
pub fn brickyard(arguments: &[&str]) -> Finished {
    run(program().args(arguments), b"", PATIENCE)
        .unwrap_or_else(|error| panic!("brickyard {}: {error}", arguments.join(" ")))
}

fn data_folder(setup: &Setup, scratch: &TempDir) -> PathBuf {
    let folder = setup
        .folder
        .clone()
        .unwrap_or_else(|| scratch.path().join("data"));
    std::fs::create_dir_all(&folder).expect("the data folder can be made");
    folder
}

fn wait_until_ready(process: &mut Process, port: u16, tls: Option<&Dialer>) -> Result<(), String> {
    let outcome = try_wait_for(PATIENCE, || {
        if let Some(status) = process.exit_status() {
            return Some(Err(format!("ended with {status}")));
        }
        let client = Client::try_connect_by("127.0.0.1", port, tls);
        let reply = client.and_then(|mut client| client.try_call(&["PING"]));
        // A server that wants a password first is ready too.
        reply
            .is_ok_and(|reply| reply.text() == "PONG" || reply.is_error_with("NOAUTH"))
            .then_some(Ok(()))
    });
    outcome.unwrap_or_else(|| Err("does not answer PING".to_owned()))
}
