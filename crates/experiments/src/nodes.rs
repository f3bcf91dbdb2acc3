//! A cluster of Brickyard on this machine: every node a process of the program itself.
//!
//! In:  how many nodes, of how many bricks. Out: addresses, and processes whose time and memory can be read.
//!
//! Invariants:
//! - All nodes share the server's core: what is compared is processor time for one operation, and who is busy.
//! - A node ends with the value, and with this process if that is killed.

use crate::run::Run;
use anyhow::{Context as _, bail};
use brickyard_bench::process::{Process, free_ports};
use brickyard_bench::{Link, Target};
use brickyard_wire::Value;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long something that was asked for may take to come.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_millis(20);

/// Ports behind a node's own: for its bricks, and then this one for other nodes.
const PEER_OFFSET: u16 = 20;

/// How nodes are started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    /// Bricks of each node; 0 stands for 1.
    pub(crate) bricks: u16,
    /// Further arguments of `brickyard server`, of all of them.
    pub(crate) arguments: Vec<String>,
    /// The weight of each; without, all are alike.
    pub(crate) weights: Vec<u32>,
}

/// See the module.
pub(crate) struct Nodes {
    program: PathBuf,
    dir: PathBuf,
    shape: Shape,
    ports: Vec<u16>,
    /// None: it was killed.
    processes: Vec<Option<Process>>,
}

impl Nodes {
    /// Starts so many, in a directory of this name, and waits until they are one cluster.
    pub(crate) fn start(
        run: &Run<'_>,
        name: &str,
        count: usize,
        shape: Shape,
    ) -> anyhow::Result<Self> {
        let mut nodes = Self {
            program: run.program.program.clone(),
            dir: run.dir.join(name),
            shape,
            ports: Vec::new(),
            processes: Vec::new(),
        };
        for _ in 0..count {
            nodes.add()?;
        }
        nodes.wait_until_formed()?;
        Ok(nodes)
    }

    /// One more node; it need not have joined yet.
    pub(crate) fn add(&mut self) -> anyhow::Result<usize> {
        let port = self.free_block()?;
        let at = self.ports.len();
        self.ports.push(port);
        self.processes.push(None);
        self.launch(at)?;
        Ok(at)
    }

    /// Starts a node that does not run, on what it has on its disk.
    pub(crate) fn launch(&mut self, at: usize) -> anyhow::Result<()> {
        let address = |port: u16| format!("127.0.0.1:{port}");
        let bricks = self.shape.bricks.max(1);
        let port = self.ports[at];
        let process = Process::spawn_on(
            Some(brickyard_bench::process::SERVER_CORE),
            &format!("node{at}"),
            Target::resp(address(port)),
            &self.dir,
            |data| {
                let mut command = Command::new(&self.program);
                command.args(["server", "--http", "off", "--log-format", "text"]);
                command.args(["--stop-with", &std::process::id().to_string()]);
                command.args(["--listen", &address(port)]);
                command.args(["--bricks", &bricks.to_string()]);
                command.args(["--peer-port", &(port + PEER_OFFSET).to_string()]);
                // Each table says how many copies it has, and nothing else is about.
                command.args(["--default-replicas", "1"]);
                if let Some(weight) = self.shape.weights.get(at) {
                    command.args(["--weight", &weight.to_string()]);
                }
                if at > 0 {
                    let others: Vec<String> =
                        self.ports[..at].iter().copied().map(address).collect();
                    command.args(["--join", &others.join(",")]);
                }
                command.args(&self.shape.arguments);
                // Ctrl-C at the terminal is for the one that measures; this ends with it.
                command.arg("--data").arg(data).process_group(0);
                command
            },
        )?;
        let ready = process.ready();
        self.processes[at] = Some(ready.with_context(|| format!("node {at}"))?);
        Ok(())
    }

    /// A port with free ones behind it for bricks and other nodes.
    fn free_block(&self) -> anyhow::Result<u16> {
        let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
        let bricks = self.shape.bricks.max(1);
        let is_block = |port: &u16| {
            let mut own = (*port..=*port + bricks).chain([*port + PEER_OFFSET]);
            let is_apart = |other: &u16| other.abs_diff(*port) > PEER_OFFSET + bricks;
            own.all(is_free) && self.ports.iter().all(is_apart)
        };
        (0..200)
            .filter_map(|_| free_ports().ok().map(|[port]: [u16; 1]| port))
            .filter(|port| *port < u16::MAX - PEER_OFFSET - bricks)
            .find(is_block)
            .context("cannot find free ports in a row")
    }

    /// Ends a node without a word.
    pub(crate) fn kill(&mut self, at: usize) {
        self.processes[at] = None;
    }

    /// The processes of all nodes that run.
    pub(crate) fn processes(&self) -> Vec<&Process> {
        self.processes.iter().flatten().collect()
    }

    /// The process of one, if it runs.
    pub(crate) fn process(&self, at: usize) -> Option<&Process> {
        self.processes.get(at)?.as_ref()
    }

    /// The node ports of all nodes that run.
    pub(crate) fn seeds(&self) -> Vec<String> {
        let running = self.processes().into_iter();
        running.map(|it| it.target.address.clone()).collect()
    }

    /// The node port of the first node that runs, with a table.
    pub(crate) fn target(&self, table: &str) -> anyhow::Result<Target> {
        let first = self.processes.iter().flatten().next();
        let mut target = first.context("no node runs")?.target.clone();
        target.table = Some(table.to_owned());
        Ok(target)
    }

    fn wait_until_formed(&self) -> anyhow::Result<()> {
        let wanted = self.processes().len() * usize::from(self.shape.bricks.max(1));
        for process in self.processes() {
            poll("the nodes to be one cluster", || {
                let reply = Link::open(&process.target)?.call(&["CLUSTER", "NODES"])?;
                let text = String::from_utf8_lossy(reply.bytes().unwrap_or_default()).into_owned();
                let bricks = text.lines().filter(|line| line.contains("master")).count();
                Ok((bricks == wanted).then_some(()))
            })?;
        }
        Ok(())
    }

    /// Makes a table and waits until every node has it with all its copies.
    pub(crate) fn create(
        &self,
        table: &str,
        replicas: usize,
        attributes: &[&str],
    ) -> anyhow::Result<()> {
        let replicas_word = replicas.to_string();
        let mut request = vec!["TABLE", "CREATE", table, "REPLICAS", &replicas_word];
        request.extend(attributes);
        let first = self.processes.iter().flatten().next();
        let node = &first.context("no node runs")?.target;
        must(node, &request)?;
        self.wait_until_whole(table, replicas)
    }

    /// Waits until every partition has all its copies in sync, as every node sees it.
    pub(crate) fn wait_until_whole(&self, table: &str, replicas: usize) -> anyhow::Result<()> {
        for process in self.processes() {
            let target = Target {
                table: Some(table.to_owned()),
                ..process.target.clone()
            };
            poll("all copies to be in sync", || {
                let reply = Link::open(&target)?.call(&["CLUSTER", "SLOTS"])?;
                let ranges = reply.elements().unwrap_or_default();
                // A range is its first and last slot, then a node each.
                let has_all =
                    |range: &Value| range.elements().is_some_and(|it| it.len() == 2 + replicas);
                Ok((!ranges.is_empty() && ranges.iter().all(has_all)).then_some(()))
            })?;
        }
        Ok(())
    }

    /// The port of the brick that leads all slots of a table with one partition.
    pub(crate) fn leader(&self, table: &str) -> anyhow::Result<Target> {
        let mut target = self.target(table)?;
        let reply = Link::open(&target)?.call(&["CLUSTER", "SLOTS"])?;
        let range = reply.elements().and_then(|it| it.first()?.elements());
        let primary = range.and_then(|it| it.get(2)?.elements());
        let Some([host, port, ..]) = primary else {
            bail!("the node does not say who leads '{table}'");
        };
        let host = String::from_utf8_lossy(host.bytes().unwrap_or_default()).into_owned();
        target.address = format!("{host}:{}", port.integer().unwrap_or_default());
        Ok(target)
    }
}

/// Asks a node for something until it does it.
pub(crate) fn must(node: &Target, request: &[&str]) -> anyhow::Result<()> {
    poll(&request.join(" "), || {
        match Link::open(node)?.call(request)? {
            Value::Error(text) => bail!("{}", String::from_utf8_lossy(&text)),
            _ => Ok(Some(())),
        }
    })
}

/// Asks until there is an answer.
pub(crate) fn poll<T>(
    what: &str,
    mut ask: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let begin = Instant::now();
    let mut last = None;
    while begin.elapsed() < PATIENCE {
        match ask() {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            Err(error) => last = Some(error),
        }
        sleep(POLL_EVERY);
    }
    match last {
        Some(error) => Err(error).with_context(|| format!("waiting for {what}")),
        None => bail!("waited {} s for {what}", PATIENCE.as_secs()),
    }
}
