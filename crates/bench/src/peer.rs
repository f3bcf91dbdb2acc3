//! The servers that are compared: where they are found and how they are started.
//!
//! In:  the machine. Out: a [`Found`] program, and its command line for a [`Durability`].

use crate::{Protocol, installed};
use anyhow::{Context, bail};
use clap::ValueEnum;
use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

/// A server that may be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Peer {
    /// This project
    Brickyard,
    /// This project as it was: the program of `--before`
    Before,
    /// redis-server
    Redis,
    /// valkey-server
    Valkey,
    /// memcached
    Memcached,
    /// A server that does nothing: the price of the sockets
    Echo,
}

/// What an acknowledged write survives. Redis's words stand beside ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Nothing is written: `memory`, `appendonly no`.
    Memory,
    /// A killed process: `log`, `appendfsync everysec`.
    Log,
    /// A power cut: `fsync`, `appendfsync always`.
    Fsync,
}

impl Durability {
    /// The weakest first.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Log, Self::Fsync];
}

/// A server that is installed here.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which.
    pub peer: Peer,
    /// Its file.
    pub program: PathBuf,
    /// What it says of itself; empty for what has none.
    pub version: String,
}

impl Peer {
    /// In the order of tables.
    pub const ALL: [Self; 6] = [
        Self::Brickyard,
        Self::Before,
        Self::Valkey,
        Self::Redis,
        Self::Memcached,
        Self::Echo,
    ];

    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Brickyard => "Brickyard",
            Self::Before => "Brickyard before",
            Self::Redis => "Redis",
            Self::Valkey => "Valkey",
            Self::Memcached => "memcached",
            Self::Echo => "echo server",
        }
    }

    /// The language that it speaks.
    #[must_use]
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Memcached => Protocol::Memcached,
            _ => Protocol::Resp,
        }
    }

    /// Whether it can promise more than `memory`.
    #[must_use]
    pub const fn is_durable(self) -> bool {
        self.is_brickyard() || matches!(self, Self::Redis | Self::Valkey)
    }

    /// Whether it is this project, as it is or as it was.
    #[must_use]
    pub const fn is_brickyard(self) -> bool {
        matches!(self, Self::Brickyard | Self::Before)
    }

    /// Looks for the program; `built` is the one under test, `before` the one that it is compared with.
    ///
    /// # Errors
    /// If it is not here; the text says what to do.
    pub fn find(self, built: &Path, before: Option<&Path>) -> anyhow::Result<Found> {
        let program = match self {
            Self::Brickyard if built.is_file() => built.to_owned(),
            Self::Brickyard => {
                bail!(
                    "{} does not exist; run cargo build --release",
                    built.display()
                )
            }
            Self::Before => before.context("--before names no program")?.to_owned(),
            Self::Redis => of_machine("redis-server", "install it to compare with it")?,
            Self::Valkey => of_machine("valkey-server", "install it, or run .ci/clients")?,
            Self::Memcached => of_machine("memcached", "install it to compare with it")?,
            Self::Echo => env::current_exe().context("cannot find this very program")?,
        };
        let version = match self {
            Self::Echo => String::new(),
            _ => version_of(&program)?,
        };
        Ok(Found {
            peer: self,
            program,
            version,
        })
    }

    /// The word for `durability` in this server's own configuration.
    #[must_use]
    pub const fn durability_word(self, durability: Durability) -> &'static str {
        match (self, durability) {
            (Self::Brickyard | Self::Before, Durability::Memory) => "memory",
            (Self::Brickyard | Self::Before, Durability::Log) => "log",
            (Self::Brickyard | Self::Before, Durability::Fsync) => "fsync",
            (_, Durability::Memory) => "appendonly no",
            (_, Durability::Log) => "everysec",
            (_, Durability::Fsync) => "always",
        }
    }
}

/// What a server is started for.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// How well it keeps what it is told.
    pub durability: Durability,
    /// Of a Brickyard; they share the server's core.
    pub bricks: usize,
    /// Length of a request, and of the value in its reply: what the echo server needs to know.
    pub echo_bytes: (usize, usize),
    /// Brickyard's bound on bytes that wait for its log, where it is not the default.
    pub pending_append_bytes_max: Option<&'static str>,
}

impl Setup {
    /// One brick that keeps what it is told so well.
    #[must_use]
    pub const fn of(durability: Durability) -> Self {
        Self {
            durability,
            bricks: 1,
            echo_bytes: (0, 0),
            pending_append_bytes_max: None,
        }
    }
}

impl Found {
    /// The program, without arguments.
    #[must_use]
    pub fn program(&self) -> Command {
        Command::new(&self.program)
    }

    /// The command line that listens on `port` and keeps its data in `dir`.
    #[must_use]
    pub fn command(&self, setup: &Setup, port: u16, brick_port: u16, dir: &Path) -> Command {
        let mut command = Command::new(&self.program);
        let mut words: Vec<OsString> = Vec::new();
        let mut add = |parts: &[&str]| words.extend(parts.iter().map(OsString::from));
        let port = port.to_string();
        match self.peer {
            Peer::Brickyard | Peer::Before => {
                add(&[
                    "server",
                    "--listen",
                    &format!("127.0.0.1:{port}"),
                    "--bricks",
                    &setup.bricks.to_string(),
                ]);
                add(&["--brick-port", &brick_port.to_string(), "--http", "off"]);
                add(&[
                    "--default-durability",
                    self.peer.durability_word(setup.durability),
                ]);
                add(&["--data"]);
                words.push(dir.into());
                if let Some(bytes) = setup.pending_append_bytes_max {
                    command.env("BRICKYARD_PENDING_APPEND_BYTES_MAX", bytes);
                }
            }
            Peer::Redis | Peer::Valkey => {
                add(&[
                    "--port",
                    &port,
                    "--bind",
                    "127.0.0.1",
                    "--save",
                    "",
                    "--daemonize",
                    "no",
                ]);
                // They rewrite their log as they do by default: at twice its size, from 64 MiB on. Those are
                // the bounds of Brickyard's cleaner too.
                add(&["--dir"]);
                words.push(dir.into());
                let mut add = |parts: &[&str]| words.extend(parts.iter().map(OsString::from));
                match setup.durability {
                    Durability::Memory => add(&["--appendonly", "no"]),
                    durability => add(&[
                        "--appendonly",
                        "yes",
                        "--appendfsync",
                        self.peer.durability_word(durability),
                    ]),
                }
            }
            Peer::Memcached => {
                add(&["-l", "127.0.0.1", "-p", &port, "-t", "1", "-m", "8192"]);
                if rustix::process::geteuid().is_root() {
                    add(&["-u", "root"]);
                }
            }
            Peer::Echo => {
                let (request, reply) = setup.echo_bytes;
                add(&["--echo-port", &port, "--echo-request", &request.to_string()]);
                add(&["--echo-reply", &reply.to_string()]);
            }
        }
        command.args(words);
        command
    }
}

/// A program of this machine; otherwise what to do about it.
fn of_machine(name: &str, remedy: &str) -> anyhow::Result<PathBuf> {
    installed(name).with_context(|| format!("{name} is not on the PATH; {remedy}"))
}

/// What a program says of its version.
///
/// # Errors
/// If it cannot be run.
pub fn version_of(program: &Path) -> anyhow::Result<String> {
    let output = Command::new(program)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // "Redis server v=7.0.15 sha=...", "memcached 1.6.18", "brickyard 0.1.0"
    let number = text
        .split_ascii_whitespace()
        .map(|word| word.trim_start_matches("v="))
        .find(|word| {
            word.starts_with(|letter: char| letter.is_ascii_digit()) && word.contains('.')
        });
    Ok(number.unwrap_or("of unknown version").to_owned())
}
