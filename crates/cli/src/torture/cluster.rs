//! The nodes that failures happen to.
//!
//! In:  a [`Plan`]; orders. Out: running processes, and what they say of themselves.

use super::plan::Plan;
use crate::dev::cluster::{ask, end_of, serving};
use crate::dev::node::{Launch, Node, Order};
use crate::dev::ports::{self, Ports};
use crate::http::Access;
use anyhow::{Context as _, bail};
use brickyard_bench::{Link, Target};
use brickyard_client::{Client, Options, Pending};
use brickyard_torture::{Network, SlowDisk};
use brickyard_wire::Value;
use indicatif::ProgressBar;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

/// The table that is tried.
pub(super) const TABLE: &str = "torture";

/// How long the cluster may take to become whole after a failure. A restart reads a log, a learner copies.
const WHOLE_LIMIT: Duration = Duration::from_secs(120);

/// A log may be so much larger than twice what is live of it: segments that are written to, copied, or wait for a sync.
const LOG_SLACK_BYTES: u64 = 1 << 30;

/// How often the nodes are looked at meanwhile.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// Longest that a node may take to answer an operation of the audit.
const AUDIT_LIMIT: Duration = Duration::from_secs(30);

/// A value of those that fill the table, as `brickyard bench` has them; and how many go together.
const RECORD_BYTES: usize = 150;
const RECORDS_AT_ONCE: usize = 1_000;

/// See the module; the processes end with the value.
pub(super) struct Cluster {
    pub(super) nodes: Vec<Node>,
    pub(super) network: Option<Rc<Network>>,
    /// One a node, where there are failures of disks. Taken down after the processes.
    pub(super) disks: Vec<SlowDisk>,
    replicas: u16,
}

impl Cluster {
    /// Starts the nodes below `dir` and makes the table.
    pub(super) async fn start(plan: &Plan, dir: &Path) -> anyhow::Result<Self> {
        let network = if plan.kinds.iter().any(|kind| kind.is_cut()) {
            let network = Network::new(usize::from(plan.nodes));
            Some(Rc::new(
                network.context("there are cuts among the failures")?,
            ))
        } else {
            None
        };
        let mut disks = Vec::new();
        if plan.kinds.iter().any(|kind| kind.is_disk()) {
            for number in 0..plan.nodes {
                let disk = SlowDisk::new(dir, &format!("disk{number}"));
                disks.push(disk.context("there are failures of disks among the failures")?);
            }
        }
        let chosen = ports::choose(plan.nodes, plan.bricks, None, ports::is_free);
        let ports = chosen.map_err(anyhow::Error::msg)?;
        let host = |at: usize| match &network {
            Some(network) => network.address(at),
            None => "127.0.0.1".to_owned(),
        };
        let address = |(at, ports): (usize, &Ports)| format!("{}:{}", host(at), ports.node);
        let all: Vec<String> = ports.iter().enumerate().map(address).collect();
        let mut nodes: Vec<Node> = Vec::new();
        for (number, ports) in ports.iter().enumerate() {
            let join = if number == 0 { Vec::new() } else { all.clone() };
            let node = Node::new(Launch {
                number,
                host: host(number),
                ports: *ports,
                bricks: plan.bricks,
                data: match disks.get(number) {
                    Some(disk) => disk.data(),
                    None => dir.join(format!("node{number}")),
                },
                log: dir.join(format!("node{number}.log")),
                join,
                network: network.clone(),
                settings: settings(number).iter().map(ToString::to_string).collect(),
                access: Access::default(),
            });
            order(&node, Order::Start).await?;
            serving(&node).await?;
            nodes.push(node);
        }
        let cluster = Self {
            nodes,
            network,
            disks,
            replicas: plan.replicas,
        };
        cluster.create_table(plan).await?;
        cluster.wait_until_whole().await?;
        cluster.fill(plan.records).await?;
        Ok(cluster)
    }

    /// Writes records that no client of the campaign asks for.
    async fn fill(&self, records: u32) -> anyhow::Result<()> {
        if records == 0 {
            return Ok(());
        }
        let client = Client::connect(Options::new(self.seeds())).await?;
        let table = client.table(TABLE);
        let value = [b'v'; RECORD_BYTES];
        let bar = ProgressBar::new(records.into()).with_message("records");
        for begin in (0..records).step_by(RECORDS_AT_ONCE) {
            let end = records.min(begin + RECORDS_AT_ONCE as u32);
            let writes = (begin..end).map(|number| table.set(format!("record:{number:09}"), value));
            let writes: Vec<Pending<()>> = writes.collect();
            for write in writes {
                write.await.context("the table cannot be filled")?;
            }
            bar.set_position(end.into());
        }
        bar.finish_and_clear();
        self.wait_until_whole().await
    }

    async fn create_table(&self, plan: &Plan) -> anyhow::Result<()> {
        let replicas = plan.replicas.to_string();
        let words = [
            "TABLE",
            "CREATE",
            TABLE,
            "PARTITIONS",
            "16",
            "REPLICAS",
            &replicas,
            "DURABILITY",
            plan.durability.word(),
        ]
        .map(str::to_owned);
        let address = self.nodes[0].launch.node_address();
        let reply = spawn_blocking(move || Link::open(&Target::resp(address))?.call(&words));
        match reply.await?? {
            Value::Error(text) => bail!(
                "the table cannot be made: {}",
                String::from_utf8_lossy(&text)
            ),
            _ => Ok(()),
        }
    }

    pub(super) async fn order(&self, at: usize, wanted: Order) -> anyhow::Result<()> {
        order(&self.nodes[at], wanted).await
    }

    /// The node ports of all nodes.
    pub(super) fn seeds(&self) -> Vec<String> {
        let nodes = self.nodes.iter();
        nodes.map(|node| node.launch.node_address()).collect()
    }

    /// The node that leads the control plane, as the others see it.
    pub(super) async fn leader(&self) -> anyhow::Result<usize> {
        let deadline = Instant::now() + WHOLE_LIMIT;
        while Instant::now() < deadline {
            for node in &self.nodes {
                let leader = status(&node.launch).await;
                let leader = leader.and_then(|it| it["membership"]["leader"].as_u64());
                if let Some(leader) = leader.filter(|it| (*it as usize) < self.nodes.len()) {
                    return Ok(leader as usize);
                }
            }
            sleep(POLL_EVERY).await;
        }
        bail!("no node leads the control plane")
    }

    /// Waits until every node serves and every partition has all its replicas in sync, as every node sees it.
    pub(super) async fn wait_until_whole(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + WHOLE_LIMIT;
        for node in &self.nodes {
            serving(node).await?;
            while !self.is_whole(&node.launch).await {
                if Instant::now() >= deadline {
                    bail!("the cluster is not whole after {} s", WHOLE_LIMIT.as_secs());
                }
                sleep(POLL_EVERY).await;
            }
        }
        Ok(())
    }

    /// That every node that answers sees every partition with all its replicas in sync.
    pub(super) async fn check_whole(&self) -> anyhow::Result<()> {
        for node in &self.nodes {
            let Some(status) = status(&node.launch).await else {
                continue;
            };
            if !self.is_whole_in(&status) {
                bail!(
                    "a replica was taken out, as node {} sees it",
                    node.launch.number
                );
            }
        }
        Ok(())
    }

    /// That no brick's log has grown beyond what it holds: one that grows with every failure would end when the disk is full.
    pub(super) async fn check_logs(&self) -> anyhow::Result<()> {
        for node in &self.nodes {
            let number = node.launch.number;
            let status = status(&node.launch).await;
            let status = status
                .with_context(|| format!("node {number} does not say how long its logs are"))?;
            check_logs_of(&status).with_context(|| format!("node {number}"))?;
        }
        Ok(())
    }

    async fn is_whole(&self, launch: &Launch) -> bool {
        let status = status(launch).await;
        status.is_some_and(|status| self.is_whole_in(&status))
    }

    fn is_whole_in(&self, status: &serde_json::Value) -> bool {
        let tables = status["tables"].as_array().map_or(&[][..], Vec::as_slice);
        tables.iter().any(|table| {
            table["name"] == TABLE
                && table["replicas"] == self.replicas
                && table["partition_states"]["in_sync"] == table["partitions"]
        })
    }

    /// The ends of all nodes' logs.
    pub(super) fn last_words(&self) -> String {
        let mut out = String::from("the logs end in\n");
        for node in &self.nodes {
            let Launch { number, log, .. } = &node.launch;
            out += &format!("node {number}:\n{}\n", end_of(log));
        }
        out
    }

    /// Ends all nodes at once.
    pub(super) async fn end(&self) {
        // Whoever waits for a stalled disk does not end before that does.
        for disk in &self.disks {
            drop(disk.go_on());
        }
        for node in self.nodes.iter().filter(|node| node.is_running()) {
            // One that has just ended by itself is as good.
            drop(node.order(Order::Kill).await);
        }
    }
}

/// Every second node leaves its whole log to the thread: so both ways of writing it are tried, and next to each other.
fn settings(number: usize) -> &'static [&'static str] {
    if number % 2 == 1 {
        &["--inline-append-max", "0"]
    } else {
        &[]
    }
}

async fn order(node: &Node, wanted: Order) -> anyhow::Result<()> {
    let answer = node.order(wanted).await;
    answer.map(drop).map_err(anyhow::Error::msg)
}

/// What a node says of itself; none while it does not answer.
async fn status(launch: &Launch) -> Option<serde_json::Value> {
    let answer = ask(launch, "/status").await.ok()?;
    serde_json::from_slice(&answer.body).ok()
}

fn check_logs_of(status: &serde_json::Value) -> anyhow::Result<()> {
    let bricks = status["bricks"].as_array();
    for brick in bricks.context("its status has no bricks")? {
        let bytes = |name: &str| {
            let bytes = brick[name].as_u64();
            bytes.with_context(|| format!("its status has no {name}"))
        };
        let (held, live) = (bytes("log_file_bytes")?, bytes("log_live_bytes")?);
        if held > 2 * live + LOG_SLACK_BYTES {
            bail!(
                "the log of brick {} has {held} bytes, of which {live} are live: the cleaner does not keep up",
                brick["brick"]
            );
        }
    }
    Ok(())
}

/// A connection to a node's node port that works on the table.
pub(super) fn connect(address: &str) -> anyhow::Result<Link> {
    let mut link = Link::open(&Target::resp(address))?;
    link.set_timeout(Some(AUDIT_LIMIT))?;
    match link.call(&["TABLE", "USE", TABLE])? {
        Value::Error(text) => bail!("{address}: {}", String::from_utf8_lossy(&text)),
        _ => Ok(link),
    }
}

#[cfg(test)]
#[path = "cluster_test.rs"]
mod cluster_test;
