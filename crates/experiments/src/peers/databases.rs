//! etcd, MariaDB and OpenDHT's node.

use super::Peer;
use anyhow::{Context as _, bail};
use brickyard_bench::process::{CLIENT_CORE, Process, SERVER_CORE, free_ports, pinned_to};
use brickyard_bench::{Protocol, Target, installed};
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A key-value store whose writes a majority has synced.
pub(crate) static ETCD: Etcd = Etcd;

/// The database that MySQL's users have today on Debian.
pub(crate) static MARIADB: Mariadb = Mariadb;

/// A peer-to-peer table: a Kademlia of today, where the paper had Bamboo.
pub(crate) static OPENDHT: OpenDht = OpenDht;

/// See [`ETCD`].
#[derive(Debug)]
pub(crate) struct Etcd;

/// See [`MARIADB`].
#[derive(Debug)]
pub(crate) struct Mariadb;

/// See [`OPENDHT`].
#[derive(Debug)]
pub(crate) struct OpenDht;

/// Where something answers that speaks neither of the protocols that loads have: that it accepts connections is enough.
fn target(port: u16) -> Target {
    let mut target = Target::resp(format!("127.0.0.1:{port}"));
    target.protocol = Protocol::Memcached;
    target
}

/// The first word with a full stop between digits that a program says of itself.
fn version(program: &str, argument: &str) -> Option<String> {
    let output = Command::new(installed(program)?).arg(argument).output();
    let output = output.ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let is_version = |word: &&str| {
        word.starts_with(|letter: char| letter.is_ascii_digit()) && word.contains('.')
    };
    let word = text
        .split(|letter: char| letter.is_whitespace() || letter == ',')
        .map(|word| word.trim_start_matches('v'))
        .find(is_version);
    Some(word.unwrap_or("of unknown version").to_owned())
}

impl Peer for Etcd {
    fn name(&self) -> &'static str {
        "etcd"
    }

    fn remedy(&self) -> &'static str {
        "apt-get install etcd-server"
    }

    fn version(&self) -> Option<String> {
        version("etcd", "--version")
    }

    fn start(&self, dir: &Path) -> anyhow::Result<Process> {
        let program = installed("etcd").context("there is no etcd")?;
        let [port, peer]: [u16; 2] = free_ports()?;
        let process = Process::spawn_on(
            Some(SERVER_CORE),
            &format!("etcd-{port}"),
            target(port),
            dir,
            |data| {
                let mut command = Command::new(program);
                let url = |port: u16| format!("http://127.0.0.1:{port}");
                command.arg("--data-dir").arg(data);
                command.args(["--listen-client-urls", &url(port)]);
                command.args(["--advertise-client-urls", &url(port)]);
                command.args(["--listen-peer-urls", &url(peer)]);
                command.args(["--initial-advertise-peer-urls", &url(peer)]);
                command.args(["--initial-cluster", &format!("default={}", url(peer))]);
                command.process_group(0);
                command
            },
        );
        process?.ready()
    }
}

impl Peer for Mariadb {
    fn name(&self) -> &'static str {
        "MariaDB"
    }

    fn remedy(&self) -> &'static str {
        "apt-get install mariadb-server"
    }

    fn version(&self) -> Option<String> {
        installed("mariadb").and_then(|_| version("mariadbd", "--version"))
    }

    fn start(&self, dir: &Path) -> anyhow::Result<Process> {
        let program = installed("mariadbd").context("there is no mariadbd")?;
        let [port]: [u16; 1] = free_ports()?;
        let name = format!("mariadb-{port}");
        let data = dir.join(&name);
        fs::create_dir_all(&data)?;
        // Empty tables of its own, without accounts: whoever is on this machine's loopback may come.
        let made = Command::new(installed("mariadb-install-db").context("no mariadb-install-db")?)
            .arg("--no-defaults")
            .arg(format!("--datadir={}", data.display()))
            .arg("--auth-root-authentication-method=normal")
            .arg("--skip-test-db")
            .args(user())
            .stdin(Stdio::null())
            .output()
            .context("cannot run mariadb-install-db")?;
        if !made.status.success() {
            bail!(
                "mariadb-install-db: {}",
                String::from_utf8_lossy(&made.stderr)
            );
        }
        let process = Process::spawn_on(Some(SERVER_CORE), &name, target(port), dir, |data| {
            let mut command = Command::new(program);
            command.arg("--no-defaults");
            command.arg(format!("--datadir={}", data.display()));
            command.arg(format!("--socket={}", data.join("socket").display()));
            command.arg(format!("--port={port}"));
            command.args(["--bind-address=127.0.0.1", "--skip-grant-tables"]);
            // A table of settings that are left alone but for this: each commit is synced, as a new server does.
            command.arg("--innodb-flush-log-at-trx-commit=1");
            command.args(user());
            command.process_group(0);
            command
        });
        process?.ready()
    }
}

/// It refuses to run as root unless it is told that this is meant.
fn user() -> Vec<&'static str> {
    if rustix::process::geteuid().is_root() {
        vec!["--user=root"]
    } else {
        Vec::new()
    }
}

/// MariaDB's own client, at the client's core: it sends one statement and waits for the answer, then the next.
#[derive(Debug)]
pub(crate) struct MariadbClient {
    program: PathBuf,
    port: String,
}

impl MariadbClient {
    pub(crate) fn new(server: &Process) -> anyhow::Result<Self> {
        let port = server.target.address.rsplit_once(':');
        Ok(Self {
            program: installed("mariadb").context("there is no mariadb")?,
            port: port.context("no port")?.1.to_owned(),
        })
    }

    /// Runs the statements of a file.
    pub(crate) fn run(&self, statements: &Path) -> anyhow::Result<()> {
        let output = pinned_to(Some(CLIENT_CORE), || {
            Command::new(&self.program)
                .args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1"])
                .arg(format!("--port={}", self.port))
                .stdin(File::open(statements)?)
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .output()
        })?;
        let output = output.context("cannot run MariaDB's client")?;
        if !output.status.success() {
            bail!("MariaDB: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }
}

impl Peer for OpenDht {
    fn name(&self) -> &'static str {
        "OpenDHT"
    }

    fn remedy(&self) -> &'static str {
        "apt-get install dhtnode"
    }

    fn version(&self) -> Option<String> {
        version("dhtnode", "--version")
    }

    fn start(&self, _: &Path) -> anyhow::Result<Process> {
        bail!(
            "its nodes are started by the experiment that uses them, which speaks to them over their standard input"
        )
    }
}
