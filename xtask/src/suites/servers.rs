//! The servers that a suite is run against: a node alone or a cluster of three, in processes of their own.
//!
//! In:  the program, which kind of port. Out: a port on which any command is answered.
//!
//! Invariants:
//! - All of them end with the value.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// A kind of port of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Port {
    /// The node port of a node alone with two bricks.
    Node,
    /// The node port of one of three nodes.
    Cluster,
    /// The port of the one brick of a node alone.
    Brick,
}

impl Port {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Node, Self::Cluster, Self::Brick];

    /// Its name on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Cluster => "cluster",
            Self::Brick => "brick",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// What a suite's runner is told about it.
    pub(super) const fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Node | Self::Cluster => &["--singledb"],
            Self::Brick => &["--singledb", "--cluster-mode"],
        }
    }

    const fn nodes(self) -> usize {
        match self {
            Self::Node | Self::Brick => 1,
            Self::Cluster => 3,
        }
    }

    const fn bricks(self) -> u16 {
        match self {
            Self::Node => 2,
            Self::Cluster | Self::Brick => 1,
        }
    }
}

/// Below the ports from which systems draw those of outgoing connections; blocks of so many, one a node.
const BEGIN: u16 = 15_000;
const END: u16 = 20_000;
const BLOCK: u16 = 20;

/// From a node's port to its port for other nodes, and to the one for HTTP.
const PEER: u16 = 15;
const HTTP: u16 = 1000;

/// So long a cluster may take until it serves.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often is looked.
const LOOK: Duration = Duration::from_millis(50);

/// Servers that run.
#[derive(Debug)]
pub(super) struct Servers {
    processes: Vec<Child>,
    port: u16,
    /// A folder of this run's own.
    data: PathBuf,
    /// They have served; where they have not, what they said is kept.
    is_serving: bool,
}

impl Servers {
    /// Starts them on empty folders below `scratch`, and waits until a write is answered.
    pub(super) fn start(program: &Path, port: Port, scratch: &Path) -> io::Result<Self> {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Relaxed);
        let data = scratch.join(format!("data-{}-{number}", std::process::id()));
        if data.exists() {
            fs::remove_dir_all(&data)?;
        }
        fs::create_dir_all(&data)?;
        let ports = free_ports(port.nodes())?;
        let join: Vec<String> = ports.iter().map(|it| format!("127.0.0.1:{it}")).collect();
        let mut servers = Self {
            processes: Vec::new(),
            port: ports[0] + u16::from(port == Port::Brick),
            data,
            is_serving: false,
        };
        let data = servers.data.clone();
        for (listen, number) in join.iter().zip(&ports) {
            let mut node = Command::new(program);
            node.args(["server", "--listen", listen, "--data"])
                .arg(data.join(number.to_string()))
                .args(["--bricks", &port.bricks().to_string()])
                .args(["--peer-port", &(number + PEER).to_string()]);
            if ports.len() > 1 {
                node.args(["--join", &join.join(",")]);
                node.args(["--expect", &ports.len().to_string()]);
            }
            let log = fs::File::create(data.join(format!("{number}.log")))?;
            node.stdin(Stdio::null())
                .stdout(log.try_clone()?)
                .stderr(log);
            servers.processes.push(node.spawn()?);
        }
        let begun = Instant::now();
        while !servers.answer(&ports) {
            if begun.elapsed() > PATIENCE || !servers.are_up() {
                let why = format!("no server answers; their output is in {}", data.display());
                return Err(io::Error::other(why));
            }
            thread::sleep(LOOK);
        }
        servers.is_serving = true;
        Ok(servers)
    }

    /// The port under test.
    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Whether all of them run.
    pub(super) fn are_up(&mut self) -> bool {
        self.processes
            .iter_mut()
            .all(|it| matches!(it.try_wait(), Ok(None)))
    }

    /// Whether each node answers, and the port under test a write.
    fn answer(&self, nodes: &[u16]) -> bool {
        let does = |port, request| ask(port, request).is_ok_and(|line| line.starts_with("+OK"));
        // The suites wait for scripts that take longer than they may here, all the more so on a busy machine.
        let mut nodes = nodes.iter();
        nodes.all(|port| does(*port, "CONFIG SET lua-time-limit 500"))
            && does(self.port, "FLUSHALL")
    }
}

/// The first line of a reply.
fn ask(port: u16, request: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{request}\r\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line)
}

impl Drop for Servers {
    fn drop(&mut self) {
        // What one that has ended by itself said is worth reading.
        let is_read = !self.is_serving || !self.are_up();
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
        if !is_read {
            let _ = fs::remove_dir_all(&self.data);
        }
    }
}

/// Ports of nodes, with room for those that follow from them. Another process may take one in between; the start fails then, and says so.
fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let has_room = |port: &u16| (*port..*port + BLOCK).all(is_free) && is_free(*port + HTTP);
    let blocks = (BEGIN..END).step_by(usize::from(BLOCK));
    let found: Vec<u16> = blocks.filter(has_room).take(count).collect();
    if found.len() < count {
        let why = format!("no free ports for {count} nodes between {BEGIN} and {END}");
        return Err(io::Error::other(why));
    }
    Ok(found)
}
