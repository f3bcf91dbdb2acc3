//! E16: beside a peer-to-peer table.

use crate::data::Data;
use crate::experiment::{Expected, Experiment, Original, Paper};
use crate::figure::{Axis, Figure, Look};
use crate::judgement::{Judgement, bottom};
use crate::load::{Way, Work, see};
use crate::nodes::{Nodes, Shape};
use crate::peers::{OPENDHT, present};
use crate::run::Run;
use crate::table::Table;
use anyhow::{Context as _, bail};
use brickyard_bench::process::{SERVER_CORE, free_ports, pinned_to};
use brickyard_bench::{Link, installed};
use brickyard_wire::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(super) static EXPERIMENT: Experiment = Experiment {
    number: 16,
    title: "Beside a peer-to-peer table",
    question: "Does a table for clusters do more than one for the open Internet, and do its nodes share the work?",
    original: Original {
        paper: Paper::Domus,
        place: "section 5.3.2",
        setup: "Bamboo, with its four copies of each record that cannot be switched off, on 1 to 6 and more nodes; first insertions of random integers at full speed.",
        found: "200 insertions a second with one node, 107 with four, 93.5 from five on, whatever the clients; only four nodes ever stored anything. At least ten times less than the slowest pDomus.",
    },
    scaled: "Bamboo is gone; OpenDHT's node, a Kademlia, takes its place. Each node is a process on one core, driven over its standard input. Brickyard has up to four copies too. OpenDHT's nodes listen on all addresses of the machine, as they have no setting for less.",
    expected: Expected::Reproduced,
    shape: "at least ten times the insertions of the peer-to-peer table, and all nodes store something",
    minutes: 2.0,
    measure,
    judge,
};

const NODES: [usize; 6] = [1, 2, 3, 4, 5, 6];
const OURS: &str = "Brickyard";
const COPIES: usize = 4;
const PUBLISHED: [(f64, f64); 4] = [(1.0, 200.0), (4.0, 107.0), (5.0, 93.5), (6.0, 93.5)];
const PATIENCE: Duration = Duration::from_secs(20);
const POLL_EVERY: Duration = Duration::from_millis(20);

fn measure(run: &Run<'_>) -> anyhow::Result<Data> {
    let mut data = Data::default();
    let sizes = &NODES[..run.quick(2, NODES.len())];
    let work = Work {
        value_bytes: 8,
        keys: 1_000_000,
        connections: 16,
        ..Work::DDS.writes().one_at_a_time()
    };
    for count in sizes {
        run.say(&format!("{count} nodes of Brickyard"))?;
        let nodes = Nodes::start(run, &format!("of{count}"), *count, Shape::default())?;
        nodes.create("e16", (*count).min(COPIES), &[])?;
        let target = nodes.target("e16")?;
        for round in 0..run.quick(1, 3) {
            let seen = see(
                &nodes.processes(),
                Way::Library,
                &work.closed(&target, run.piece(12)),
            )?;
            data.add(OURS, *count as f64, round, &seen.measures());
        }
        let storing = holders(&Link::open(&target)?.call(&["CLUSTER", "SLOTS"])?);
        data.add(
            OURS,
            *count as f64,
            0,
            &[("nodes_that_store", storing as f64)],
        );
    }
    for peer in present(run, &[&OPENDHT]) {
        for count in sizes {
            run.say(&format!("{count} nodes of {}", peer.name()))?;
            let dir = run.dir.join(format!("dht{count}"));
            let mut swarm = Swarm::start(&dir, *count)?;
            for round in 0..run.quick(1, 3) {
                let (seconds, done) = swarm.put(round, run.quick(50, 400))?;
                let measures = [("ops_per_s", f64::from(done) / seconds)];
                data.add(peer.name(), *count as f64, round, &measures);
            }
            let storing = swarm.storing()? as f64;
            data.add(
                peer.name(),
                *count as f64,
                0,
                &[("nodes_that_store", storing)],
            );
        }
    }
    Ok(data)
}

/// How many bricks lead a part of a table, by what a node says of it.
fn holders(slots: &Value) -> usize {
    let mut found = BTreeSet::new();
    for range in slots.elements().unwrap_or_default() {
        for member in range.elements().unwrap_or_default().iter().skip(2).take(1) {
            if let Some([_, port, ..]) = member.elements() {
                found.insert(port.integer().unwrap_or_default());
            }
        }
    }
    found.len()
}

/// Nodes of OpenDHT that know each other; they end with the value.
struct Swarm {
    nodes: Vec<DhtNode>,
}

struct DhtNode {
    child: Child,
    orders: ChildStdin,
    output: PathBuf,
}

impl Drop for DhtNode {
    fn drop(&mut self) {
        // It keeps nothing that is worth an end in order.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl DhtNode {
    fn start(dir: &Path, number: usize, port: u16, first: Option<u16>) -> anyhow::Result<Self> {
        let output = dir.join(format!("node{number}.out"));
        let mut command = Command::new(installed("dhtnode").context("there is no dhtnode")?);
        command.args(["-p", &port.to_string()]);
        if let Some(first) = first {
            command.args(["-b", &format!("127.0.0.1:{first}")]);
        }
        let file = File::create(&output)?;
        command
            .stdin(Stdio::piped())
            .stdout(file.try_clone()?)
            .stderr(file);
        command.current_dir(dir).process_group(0);
        let mut child =
            pinned_to(Some(SERVER_CORE), || command.spawn())?.context("cannot start dhtnode")?;
        let orders = child
            .stdin
            .take()
            .context("its standard input is not ours")?;
        Ok(Self {
            child,
            orders,
            output,
        })
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.output).unwrap_or_default()).into_owned()
    }

    /// Asks for its state, and says what a line of it has between two words.
    fn state(&mut self, before: &str, after: &str) -> anyhow::Result<u32> {
        let so_far = self.said().len();
        writeln!(self.orders, "ll")?;
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            let said = self.said();
            let found = said
                .get(so_far..)
                .and_then(|said| between(said, before, after));
            if let Some(found) = found {
                return Ok(found);
            }
            sleep(POLL_EVERY);
        }
        bail!("dhtnode does not tell its state:\n{}", self.said())
    }
}

/// The number between two words.
fn between(text: &str, before: &str, after: &str) -> Option<u32> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after)?.0.trim().parse().ok()
}

impl Swarm {
    fn start(dir: &Path, count: usize) -> anyhow::Result<Self> {
        fs::create_dir_all(dir)?;
        let mut nodes = Vec::new();
        let mut first = None;
        for number in 0..count {
            let [port]: [u16; 1] = free_ports()?;
            nodes.push(DhtNode::start(dir, number, port, first)?);
            first.get_or_insert(port);
        }
        let mut swarm = Self { nodes };
        let begin = Instant::now();
        for node in &mut swarm.nodes {
            while count > 1 && node.state("Known nodes: ", " good")? == 0 {
                if begin.elapsed() > PATIENCE {
                    bail!("the nodes do not find each other:\n{}", node.said());
                }
                sleep(POLL_EVERY);
            }
        }
        Ok(swarm)
    }

    /// Has every node put its share at full speed; says how long it took until they all had come to their ends, and how many those are.
    fn put(&mut self, round: u32, count: usize) -> anyhow::Result<(f64, u32)> {
        let ended = |nodes: &[DhtNode]| -> usize {
            nodes
                .iter()
                .map(|node| node.said().matches("Put: ").count())
                .sum()
        };
        let before = ended(&self.nodes);
        let begin = Instant::now();
        let nodes = self.nodes.len();
        for number in 0..count {
            writeln!(
                self.nodes[number % nodes].orders,
                "p key{round}-{number} {number}"
            )?;
        }
        while ended(&self.nodes) < before + count && begin.elapsed() < PATIENCE {
            sleep(POLL_EVERY);
        }
        Ok((
            begin.elapsed().as_secs_f64(),
            (ended(&self.nodes) - before) as u32,
        ))
    }

    /// How many nodes have values.
    fn storing(&mut self) -> anyhow::Result<usize> {
        let mut found = 0;
        for node in &mut self.nodes {
            found += usize::from(node.state("Storage has ", " values")? > 0);
        }
        Ok(found)
    }
}

fn judge(data: &Data) -> Judgement {
    let mut it = Judgement::default();
    let mut rates = Figure::new(
        "Insertions a second",
        Axis::linear("nodes, on one core"),
        Axis::log("operations a second"),
    );
    rates.measured(data, "ops_per_s");
    rates.published("Bamboo in 2007", &PUBLISHED);
    let mut storing = Figure::new(
        "Nodes that store something",
        Axis::linear("nodes"),
        Axis::linear("nodes that store"),
    );
    storing.measured(data, "nodes_that_store");
    storing.curve(
        "Bamboo in 2007",
        Look::Published,
        crate::figure::exact(&[(4.0, 4.0), (5.0, 4.0), (6.0, 4.0)]),
    );
    it.figures = vec![rates, storing];
    let ours = data.line(OURS, "ops_per_s");
    it.at_least(
        "insertions a second beside Bamboo's at each number of nodes, at least",
        bottom(&ours) / 93.5,
        10.0,
    );
    let theirs = data.line("OpenDHT", "ops_per_s");
    if !theirs.is_empty() {
        let ratios = theirs
            .iter()
            .map(|theirs| data.median(OURS, theirs.x, "ops_per_s") / theirs.median);
        it.at_least(
            "times what OpenDHT does, at least",
            ratios.fold(f64::NAN, f64::min),
            1.0,
        );
    }
    let all = data.line(OURS, "nodes_that_store");
    let idle = all
        .iter()
        .map(|point| point.x - point.median)
        .fold(f64::NAN, f64::max);
    it.at_most("nodes of Brickyard that store nothing, at worst", idle, 0.0);
    it.tables.push(Table::of(
        data,
        "",
        "nodes",
        &[
            ("ops_per_s", "insertions/s"),
            ("nodes_that_store", "nodes that store"),
            ("cpu_us", "CPU µs/op"),
        ],
    ));
    it.remark(
        "OpenDHT keeps values for minutes and promises nothing of them; a node alone says that its insertion failed, and has it. Its insertions count as done when their end is told, whichever it is. With more nodes on one core both do less: the copies are made there too.",
    );
    it
}

#[cfg(test)]
mod e16_peer_to_peer_test {
    use super::between;

    #[test]
    fn a_nodes_state_is_read() {
        let said = "1 ongoing operations\nStorage has 5 values, using 0 KB\nIPv4 stats:\nKnown nodes: 3 good, 0 dubious";
        assert_eq!(between(said, "Storage has ", " values"), Some(5));
        assert_eq!(between(said, "Known nodes: ", " good"), Some(3));
        assert_eq!(between("Storage has", "Storage has ", " values"), None);
    }
}
