//! All nodes of a trial cluster, from the first start to the last stop.
//!
//! In:  [`DevOptions`], signals, what [`remote`](super::remote) is asked for. Out: a cluster that serves.
//!
//! The first node founds the cluster and the others join it one after the other, so that a node's number
//! here is its number in the cluster too.

use super::{
    node::{Launch, Node, Order, ProcessState},
    place::{Place, State},
    ports::{self, Ports},
    remote,
};
use crate::http;
use anyhow::{Context as _, bail};
use brickyard_bench::{Link, Target};
use brickyard_wire::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    rc::Rc,
    time::Duration,
};
use tokio::{
    net::UnixListener,
    signal::unix::{Signal, SignalKind, signal},
    task::{LocalSet, spawn_blocking},
    time::{Instant, sleep},
};

/// Copies of tables, if there are nodes for them: a node that is killed shows what the others do, and three of everything
/// would be much for one machine.
const REPLICAS: u16 = 2;

/// That of it the nodes are told.
const SETTINGS: &[&str] = &["--default-replicas", "2"];

/// How long a node may take until it serves. Reading a log takes its time.
const START_LIMIT: Duration = Duration::from_secs(120);

/// How long the greeting waits for the copies of a table without keys.
const COPY_LIMIT: Duration = Duration::from_secs(20);

/// How often a node that starts is looked at.
const POLL_EVERY: Duration = Duration::from_millis(30);

/// How long a look may take.
const POLL_TIMEOUT: Duration = Duration::from_secs(2);

/// Lines of a log that are shown when its node does not start.
const LINES_SHOWN: usize = 12;

/// What was asked for on the command line.
#[derive(Clone, Debug)]
pub(crate) struct DevOptions {
    /// None: as many as the directory has, or [`Self::nodes_default`].
    pub(crate) nodes: Option<u16>,
    pub(crate) nodes_default: u16,
    pub(crate) bricks: Option<u16>,
    pub(crate) first_port: Option<u16>,
    pub(crate) dir: Option<PathBuf>,
}

/// Runs a cluster until a signal ends it.
pub(crate) fn run(options: &DevOptions) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    LocalSet::new().block_on(&runtime, serve(options))
}

async fn serve(options: &DevOptions) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    let mut place = Place::open(options.dir.as_deref())?;
    let listener = UnixListener::from_std(place.claim()?)?;
    let (state, is_moved) = decide(options, place.state()?)?;
    let ports = ports::choose(
        state.nodes,
        state.bricks,
        Some(state.first_port),
        ports::is_free,
    );
    let ports = ports.map_err(anyhow::Error::msg)?;
    place.keep(&state)?;
    let is_announced = place.announce()?;
    println!("Starting {} nodes ...", ports.len());
    let mut settings = place.certificates()?;
    settings.extend(SETTINGS.iter().map(|&it| it.to_owned()));
    let cluster = Rc::new(Cluster::new(&place, &state, &ports, &settings));
    let started = tokio::select! {
        started = cluster.start() => Some(started),
        () = signals.next() => None,
    };
    match started {
        Some(Ok(())) => {
            let named = (!is_announced).then(|| place.path());
            print!("{}", cluster.greeting(&place, named, is_moved));
            tokio::select! {
                () = remote::answer(&listener, &cluster) => {}
                () = signals.next() => {}
            }
            println!("Stopping.");
        }
        Some(Err(error)) => {
            cluster.stop(true).await;
            return Err(error);
        }
        None => {}
    }
    tokio::select! {
        // What is thrown away needs no hand-over.
        () = cluster.stop(place.is_temporary()) => {}
        () = signals.next() => cluster.stop(true).await,
    }
    let is_temporary = place.is_temporary();
    drop(place);
    if is_temporary {
        println!("Stopped; the temporary data is removed.");
    } else {
        println!("Stopped; the data is kept.");
    }
    Ok(())
}

/// SIGINT and SIGTERM, from before the first node is started.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        let handle = |kind| signal(kind).context("cannot handle signals");
        Ok(Self {
            interrupt: handle(SignalKind::interrupt())?,
            terminate: handle(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// How many nodes of how many bricks from which port on; and whether that is not the port of last time, or
/// of the first choice.
fn decide(options: &DevOptions, kept: Option<State>) -> anyhow::Result<(State, bool)> {
    let nodes = match (options.nodes, kept) {
        (Some(asked), Some(kept)) if asked < kept.nodes => bail!(
            "the directory has {} nodes, and {asked} of them would not have all of the data; leave --nodes out",
            kept.nodes
        ),
        (Some(asked), _) => asked,
        (None, Some(kept)) => kept.nodes,
        (None, None) => options.nodes_default,
    };
    let bricks = match (options.bricks, kept) {
        (Some(asked), Some(kept)) if asked != kept.bricks => bail!(
            "the directory's nodes have {} bricks each, which cannot be changed; leave --bricks out",
            kept.bricks
        ),
        (_, Some(kept)) => kept.bricks,
        (asked, None) => asked.unwrap_or(1),
    };
    let preferred = options.first_port;
    let last = kept.map_or(ports::REDIS, |kept| kept.first_port);
    let choose = |preferred| ports::choose(nodes, bricks, preferred, ports::is_free);
    let chosen = choose(preferred.or(Some(last)));
    let chosen = match chosen {
        Err(_) if preferred.is_none() => choose(None),
        chosen => chosen,
    };
    let first_port = match chosen.map_err(anyhow::Error::msg)?.first() {
        Some(first) => first.node,
        None => bail!("--nodes 0 is no cluster; ask for at least one"),
    };
    let state = State {
        nodes,
        bricks,
        first_port,
    };
    Ok((state, preferred.is_none() && first_port != last))
}

/// The nodes of a cluster, running or not.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) nodes: Vec<Node>,
}

impl Cluster {
    fn new(place: &Place, state: &State, ports: &[Ports], settings: &[String]) -> Self {
        let host = "127.0.0.1";
        let all: Vec<String> = ports
            .iter()
            .map(|it| format!("{host}:{}", it.node))
            .collect();
        let launch = |(number, ports): (usize, &Ports)| {
            let data = place.data(number);
            let founds = number == 0 && !data.exists();
            Launch {
                number,
                host: host.to_owned(),
                ports: *ports,
                bricks: state.bricks,
                data,
                log: place.log(number),
                join: if founds { Vec::new() } else { all.clone() },
                network: None,
                settings: settings.to_vec(),
                access: http::Access::default(),
            }
        };
        let launches = ports.iter().enumerate().map(launch);
        Self {
            nodes: launches.map(Node::new).collect(),
        }
    }

    /// Starts all nodes and waits until they serve.
    async fn start(&self) -> anyhow::Result<()> {
        let is_new = |node: &&Node| !node.launch.data.exists();
        let (new, old): (Vec<&Node>, Vec<&Node>) = self.nodes.iter().partition(is_new);
        for node in &old {
            node.order(Order::Start).await.map_err(anyhow::Error::msg)?;
        }
        for node in &old {
            serving(node).await?;
        }
        for node in &new {
            node.order(Order::Start).await.map_err(anyhow::Error::msg)?;
            serving(node).await?;
        }
        let is_first_start = old.is_empty();
        if let (Some(first), true) = (self.nodes.first(), is_first_start) {
            // The table was made when there was one node, which has a copy of everything for as long as it is
            // not one too many. So all nodes get copies, and then those that are too many go, evenly.
            let nodes = self.nodes.len() as u16;
            if nodes > REPLICAS {
                replicate(&first.launch, &nodes.to_string(), nodes).await?;
            }
            replicate(&first.launch, "auto", nodes.min(REPLICAS)).await?;
        }
        Ok(())
    }

    /// Ends all nodes.
    async fn stop(&self, at_once: bool) {
        let order = if at_once { Order::Kill } else { Order::Stop };
        let mut ending = Vec::new();
        for node in self.nodes.iter().filter(|node| node.is_running()) {
            let node = node.clone();
            ending.push(tokio::task::spawn_local(
                async move { node.order(order).await },
            ));
        }
        for it in ending {
            match it.await {
                Ok(Ok(_)) => {}
                // It ended by itself in this moment, or is about to be told once more.
                Ok(Err(why)) => eprintln!("{why}"),
                Err(error) => eprintln!("{error}"),
            }
        }
    }

    /// A node by its number.
    pub(super) fn node(&self, number: usize) -> Result<&Node, String> {
        self.nodes.get(number).ok_or_else(|| {
            let last = self.nodes.len().saturating_sub(1);
            format!("there is no node {number}; they are numbered from 0 to {last}")
        })
    }

    fn greeting(&self, place: &Place, named: Option<&Path>, is_moved: bool) -> String {
        let launches: Vec<&Launch> = self.nodes.iter().map(|node| &node.launch).collect();
        greeting(&launches, place, named, is_moved)
    }
}

/// Waits until a node that was started serves.
pub(crate) async fn serving(node: &Node) -> anyhow::Result<()> {
    let deadline = Instant::now() + START_LIMIT;
    let number = node.launch.number;
    loop {
        let process_state = node.process_state.borrow().clone();
        match process_state {
            ProcessState::Running(_) => {}
            ProcessState::Died(how) => bail!(
                "node {number} has ended ({how}); its log ends in\n{}",
                end_of(&node.launch.log)
            ),
            ProcessState::Ended => bail!("node {number} was stopped before it served"),
        }
        let reply = ask(&node.launch, "/readyz").await;
        match reply {
            Ok(answer) if answer.status == 200 => return Ok(()),
            reply if Instant::now() >= deadline => {
                let reply = match reply {
                    Ok(answer) => String::from_utf8_lossy(&answer.body).trim().to_owned(),
                    Err(error) => format!("{error:#}"),
                };
                bail!(
                    "node {number} does not serve after {} s: {reply}; its log is {}",
                    START_LIMIT.as_secs(),
                    node.launch.log.display()
                );
            }
            _ => sleep(POLL_EVERY).await,
        }
    }
}

/// Asks a node over HTTP.
pub(crate) async fn ask(launch: &Launch, path: &'static str) -> anyhow::Result<http::Answer> {
    let (address, access) = (launch.http_address(), launch.access.clone());
    spawn_blocking(move || http::get(&address, path, POLL_TIMEOUT, &access)).await?
}

/// Gives the default table the copies that are asked for, which are so many, and waits until they are there, and evenly.
async fn replicate(launch: &Launch, asked: &str, replicas: u16) -> anyhow::Result<()> {
    let deadline = Instant::now() + COPY_LIMIT;
    loop {
        let address = launch.node_address();
        let wanted = asked.to_owned();
        let altered = spawn_blocking(move || {
            let words = ["TABLE", "ALTER", "default", "REPLICAS", &wanted];
            Link::open(&Target::resp(address))?.call(&words)
        });
        match altered.await?? {
            Value::Error(text) if Instant::now() >= deadline || is_about_rights(&text) => bail!(
                "the table `default` cannot have {replicas} replicas: {}",
                String::from_utf8_lossy(&text)
            ),
            Value::Error(_) => sleep(POLL_EVERY).await,
            _ => break,
        }
    }
    while Instant::now() < deadline {
        let status = ask(launch, "/status").await?;
        let status: serde_json::Value = serde_json::from_slice(&status.body)?;
        let table = &status["tables"][0];
        let is_whole = table["partition_states"]["in_sync"] == table["partitions"];
        if table["replicas"] == replicas && is_whole && is_even(table) {
            return Ok(());
        }
        sleep(POLL_EVERY).await;
    }
    eprintln!(
        "The copies of the table `default` take long; `brickyard status` shows how far they are."
    );
    Ok(())
}

/// Whether the configuration has users, and none of them is this program.
fn is_about_rights(error: &[u8]) -> bool {
    error.starts_with(b"NOAUTH") || error.starts_with(b"NOPERM")
}

/// Whether the bricks are primaries of about as many partitions, and no copy is one too many.
fn is_even(table: &serde_json::Value) -> bool {
    let count = |value: &serde_json::Value| value.as_u64().unwrap_or_default();
    let shares = table["placement"].as_array().map_or(&[][..], Vec::as_slice);
    let primaries = shares.iter().map(|share| count(&share["primaries"]));
    let copies: u64 = shares.iter().map(|share| count(&share["copies"])).sum();
    let (fewest, most) = (primaries.clone().min(), primaries.max());
    let spread = most.unwrap_or_default() - fewest.unwrap_or_default();
    spread <= 2 && copies == count(&table["replicas"]) * count(&table["partitions"])
}

/// The last lines of a log.
pub(crate) fn end_of(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
}

fn greeting(launches: &[&Launch], place: &Place, named: Option<&Path>, is_moved: bool) -> String {
    let port = |at: usize| launches.get(at).map_or(0, |it| it.ports.node);
    let (first, last) = (port(0), launches.len() - 1);
    let mut out = format!(
        "Brickyard is ready: {} nodes are one cluster, and the table `default` has every key {} times.\n\n",
        launches.len(),
        launches.len().min(usize::from(REPLICAS))
    );
    for launch in launches {
        let Ports { node, http, .. } = launch.ports;
        let bricks: Vec<String> = launch
            .ports
            .bricks()
            .map(|port| format!("127.0.0.1:{port}"))
            .collect();
        out += &format!(
            "  node {}   redis://127.0.0.1:{node}   cluster mode {}   http://127.0.0.1:{http}/status\n",
            launch.number,
            bricks.join(","),
        );
    }
    if is_moved {
        out += "           (the usual ports are taken, so these are others)\n";
    }
    let data = if place.is_temporary() {
        "removed at the end".to_owned()
    } else {
        format!("start it again with --dir {}", place.path().display())
    };
    let dir = named.map_or_else(String::new, |dir| format!(" --dir {}", dir.display()));
    let http = launches.first().map_or(0, |it| it.ports.http);
    let http = if http == ports::REDIS + 1000 {
        String::new()
    } else {
        format!(" --http 127.0.0.1:{http}")
    };
    out += &format!(
        "  data     {}, {data}\n  logs     {}\n\nTry, in another terminal:\n",
        place.path().display(),
        place.logs().display(),
    );
    let tries = [
        (format!("redis-cli -p {first} set greeting hello"), ""),
        (
            format!("redis-cli -p {} get greeting", port(last)),
            "any key, through any node",
        ),
        (
            format!("brickyard dev kill {last}{dir}"),
            "as by kill -9; writes go on within seconds",
        ),
        (
            format!("brickyard status --watch{http}"),
            "who is missing what",
        ),
        (format!("brickyard dev start {last}{dir}"), "it catches up"),
        (format!("brickyard bench --address 127.0.0.1:{first}"), ""),
    ];
    let width = tries.iter().map(|(line, _)| line.len()).max();
    for (line, why) in &tries {
        let why = if why.is_empty() {
            String::new()
        } else {
            format!("   # {why}")
        };
        let line = format!("  {line:width$}{why}", width = width.unwrap_or_default());
        out += line.trim_end();
        out.push('\n');
    }
    out += "\nCtrl-C stops all of it.\n";
    out
}

#[cfg(test)]
#[path = "cluster_test.rs"]
mod cluster_test;
