//! The nodes that strangers come to: with users, tokens, TLS for clients and mutual TLS between nodes.
//!
//! In:  a [`Plan`]. Out: running processes; what was overheard between nodes while they met.

use super::arsenal::HOST;
use super::plan::Plan;
use super::secrets::Secrets;
use super::tap::Tap;
use crate::dev::cluster::{ask, end_of, serving};
use crate::dev::node::{Launch, Node, Order, ProcessState};
use crate::dev::ports::Ports;
use crate::http::Access;
use anyhow::{Context as _, bail};
use brickyard_bench::{Link, Target};
use brickyard_wire::Value;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

/// The table of the load.
pub(super) const TABLE: &str = "torture";

/// The table that nobody writes to once it is full.
pub(super) const UNTOUCHED: &str = "untouched";

/// Its keys.
const KEYS: usize = 1000;

/// What all clients' buffers of a node may take.
pub(super) const CLIENTS_BYTES: u64 = 64 << 20;

/// How long the cluster may take to become whole.
const WHOLE_LIMIT: Duration = Duration::from_secs(120);

const POLL_EVERY: Duration = Duration::from_millis(50);

/// A second address of this machine, where one can stand between two nodes that have the first.
const BETWEEN: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// How long connections are overheard of nodes that have met.
const OVERHEARD_FOR: Duration = Duration::from_secs(1);

/// See the module; the processes end with the value.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) nodes: Vec<Node>,
    pub(super) secrets: Secrets,
    /// Between the first node and those that came to it.
    tap: Tap,
}

impl Cluster {
    /// Starts the nodes below `dir`, makes the tables and fills the one that nobody writes to.
    pub(super) async fn start(plan: &Plan, dir: &Path, ports: &[Ports]) -> anyhow::Result<Self> {
        let secrets = Secrets::make(dir)?;
        let mut settings = secrets.settings();
        settings.push(format!("--maxmemory-clients={CLIENTS_BYTES}"));
        // Two of the longest values must fit into that.
        settings.push("--value-bytes-max=16MiB".to_owned());
        settings.push("--default-replicas=2".to_owned());
        let access = secrets.access()?;
        let tap = tap(ports[0]).await?;
        let nodes = launch(dir, ports, plan.bricks, &settings, &access, |_| None).await?;
        let cluster = Self {
            nodes,
            secrets,
            tap,
        };
        let target = cluster.target(0)?;
        spawn_blocking(move || fill(&target)).await??;
        cluster.wait_until_whole().await?;
        Ok(cluster)
    }

    /// How the cluster's own people connect to a node.
    pub(super) fn target(&self, at: usize) -> anyhow::Result<Target> {
        self.secrets.target(self.nodes[at].launch.node_address())
    }

    /// The node ports of all nodes.
    pub(super) fn seeds(&self) -> Vec<String> {
        let nodes = self.nodes.iter();
        nodes.map(|node| node.launch.node_address()).collect()
    }

    /// What nodes said to the first one, as it was on the wire.
    pub(super) fn overheard(&self) -> Vec<Vec<u8>> {
        self.tap.heard()
    }

    /// The processes that run.
    pub(super) fn processes(&self) -> Vec<Option<u32>> {
        let id = |node: &Node| match *node.process_state.borrow() {
            ProcessState::Running(id) => Some(id),
            ProcessState::Ended | ProcessState::Died(_) => None,
        };
        self.nodes.iter().map(id).collect()
    }

    /// What a node says of itself.
    pub(super) async fn status(&self, at: usize) -> anyhow::Result<serde_json::Value> {
        let answer = ask(&self.nodes[at].launch, "/status").await?;
        Ok(serde_json::from_slice(&answer.body)?)
    }

    /// Restarts the last node; how long it took until all copies were in sync.
    pub(super) async fn restart_last(&self) -> anyhow::Result<Duration> {
        let node = self.nodes.last().context("there are no nodes")?;
        let stopped = node.order(Order::Stop).await;
        stopped.map_err(anyhow::Error::msg)?;
        let begin = Instant::now();
        let started = node.order(Order::Start).await;
        started.map_err(anyhow::Error::msg)?;
        serving(node).await?;
        self.wait_until_whole().await?;
        Ok(begin.elapsed())
    }

    async fn wait_until_whole(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + WHOLE_LIMIT;
        for at in 0..self.nodes.len() {
            while !self.status(at).await.is_ok_and(|it| is_whole(&it)) {
                if Instant::now() >= deadline {
                    bail!(
                        "the cluster is not whole after {} s; {}",
                        WHOLE_LIMIT.as_secs(),
                        last_words(&self.nodes)
                    );
                }
                sleep(POLL_EVERY).await;
            }
        }
        Ok(())
    }

    /// The ends of all nodes' logs.
    pub(super) fn last_words(&self) -> String {
        last_words(&self.nodes)
    }

    /// Bytes of all nodes' logs of what happened.
    pub(super) fn log_bytes(&self) -> u64 {
        let bytes = |node: &Node| std::fs::metadata(&node.launch.log).map_or(0, |it| it.len());
        self.nodes.iter().map(bytes).sum()
    }

    /// Ends all nodes.
    pub(super) async fn end(&self) {
        end(&self.nodes).await;
    }
}

fn is_whole(status: &serde_json::Value) -> bool {
    let tables = status["tables"].as_array().map_or(&[][..], Vec::as_slice);
    let wanted = [TABLE, UNTOUCHED].iter();
    let mut states = wanted.map(|name| tables.iter().find(|it| it["name"] == *name));
    states
        .all(|table| table.is_some_and(|it| it["partition_states"]["in_sync"] == it["partitions"]))
}

/// Stands before a node's port for nodes.
async fn tap(ports: Ports) -> anyhow::Result<Tap> {
    let (at, to) = (IpAddr::V4(BETWEEN), IpAddr::V4(Ipv4Addr::LOCALHOST));
    Tap::start(
        SocketAddr::new(at, ports.peer),
        SocketAddr::new(to, ports.peer),
    )
    .await
}

/// Starts nodes, one after the other; all but the first join through what stands before the first.
async fn launch(
    dir: &Path,
    ports: &[Ports],
    bricks: u16,
    settings: &[String],
    access: &Access,
    own: impl Fn(usize) -> Option<String>,
) -> anyhow::Result<Vec<Node>> {
    let mut nodes: Vec<Node> = Vec::new();
    for (number, ports_of_it) in ports.iter().enumerate() {
        let join = match number {
            0 => Vec::new(),
            _ => vec![format!("{BETWEEN}:{}", ports[0].node)],
        };
        let node = Node::new(Launch {
            number,
            host: HOST.to_owned(),
            ports: *ports_of_it,
            bricks,
            data: dir.join(format!("node{number}")),
            log: dir.join(format!("node{number}.log")),
            join,
            network: None,
            settings: settings.iter().cloned().chain(own(number)).collect(),
            access: access.clone(),
        });
        let started = node.order(Order::Start).await;
        started.map_err(anyhow::Error::msg)?;
        serving(&node).await?;
        nodes.push(node);
    }
    Ok(nodes)
}

async fn end(nodes: &[Node]) {
    for node in nodes {
        if node.is_running() {
            // It may have ended by itself meanwhile.
            drop(node.order(Order::Kill).await);
        }
    }
}

fn last_words(nodes: &[Node]) -> String {
    let mut out = String::from("the logs end in\n");
    for node in nodes {
        let Launch { number, log, .. } = &node.launch;
        out += &format!("node {number}:\n{}\n", end_of(log));
    }
    out
}

fn fill(target: &Target) -> anyhow::Result<()> {
    let mut link = Link::open(target)?;
    for table in [TABLE, UNTOUCHED] {
        must(&mut link, &["TABLE", "CREATE", table, "PARTITIONS", "16"])?;
    }
    must(&mut link, &["TABLE", "USE", UNTOUCHED])?;
    let deadline = std::time::Instant::now() + WHOLE_LIMIT;
    for number in 0..KEYS {
        let (key, value) = (format!("key{number}"), format!("value{number}"));
        // A table that was just made is not on every brick yet.
        while let Err(error) = must(&mut link, &["SET", &key, &value]) {
            if std::time::Instant::now() >= deadline {
                return Err(error);
            }
            std::thread::sleep(POLL_EVERY);
        }
    }
    Ok(())
}

fn must(link: &mut Link, words: &[&str]) -> anyhow::Result<()> {
    match link.call(words)? {
        Value::Error(text) => {
            bail!("{}: {}", words.join(" "), String::from_utf8_lossy(&text))
        }
        _ => Ok(()),
    }
}

/// Runs two nodes without certificates for a moment, and overhears what one says to the other: that it joins, the control plane, and
/// the copies of a table.
pub(super) async fn overhear_in_the_clear(
    dir: &Path,
    ports: &[Ports],
) -> anyhow::Result<Vec<Vec<u8>>> {
    std::fs::create_dir(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let first = tap(ports[0]).await?;
    // The second one is called by the address where somebody stands before it.
    let second = tap(ports[1]).await?;
    let advertised = |number| (number == 1).then(|| format!("--advertise={BETWEEN}"));
    let settings = vec!["--default-replicas=2".to_owned()];
    let access = Access::default();
    let nodes = launch(dir, ports, 1, &settings, &access, advertised).await?;
    let target = Target::resp(nodes[0].launch.node_address());
    let filled = spawn_blocking(move || fill(&target)).await?;
    sleep(OVERHEARD_FOR).await;
    let heard = [first.heard(), second.heard()].concat();
    end(&nodes).await;
    filled?;
    Ok(heard)
}
