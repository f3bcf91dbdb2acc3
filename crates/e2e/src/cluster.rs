//! Several nodes that form one cluster on this machine.

use crate::certificates::Certificates;
use crate::client::{Client, Stream};
use crate::deadline::{PATIENCE, try_wait_for, wait_for};
use crate::network::Network;
use crate::port::{HTTP_OFFSET, free_block};
use crate::process::Process;
use crate::server::{program, program_at};
use crate::skip;
use crate::value::Value;
use brickyard_tls::Dialer;
use brickyard_torture::SlowDisk;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// The flag that says up to how many copies tables get by themselves.
const DEFAULT_REPLICAS: &str = "--default-replicas";

/// From a node's port to its port for other nodes, within the block of ports that it has.
const PEER_OFFSET: u16 = 8;

/// One node.
#[derive(Debug)]
struct Node {
    process: Option<Process>,
    host: String,
    port: u16,
    data: PathBuf,
    /// Beside those of all nodes.
    arguments: Vec<String>,
    /// It was taken out for ever.
    is_removed: bool,
    /// What it is started with; none: the program under test.
    program: Option<PathBuf>,
}

impl Node {
    fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// A running cluster; all of it ends with the value.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
    bricks: u16,
    expect: usize,
    arguments: Vec<String>,
    /// One a node, where they can fail. Taken down after the processes, and before their folder.
    disks: Vec<SlowDisk>,
    scratch: TempDir,
    /// Where the nodes have a network namespace each; without it they share loopback.
    network: Option<Network>,
    /// Nodes and clients show them; without, everything is in the clear.
    certificates: Option<Certificates>,
    /// Where the user's own data are, as nodes see it.
    home: Option<PathBuf>,
}

impl Cluster {
    /// Starts so many nodes with identical command lines, in this order, and waits until they are one cluster.
    ///
    /// # Panics
    /// If they do not become one; their output is shown.
    #[must_use]
    pub fn start(order: &[usize], bricks: u16, arguments: &[&str]) -> Self {
        Self::start_on(None, order, bricks, arguments)
    }

    /// As [`Self::start`], one node for each of these data directories.
    ///
    /// # Panics
    /// As [`Self::start`].
    #[must_use]
    pub fn start_at(data: &[PathBuf], bricks: u16, arguments: &[&str]) -> Self {
        let mut cluster = Self::new(None, data.len(), bricks, arguments);
        for (node, data) in cluster.nodes.iter_mut().zip(data) {
            node.data.clone_from(data);
        }
        for at in 0..data.len() {
            cluster.launch(at);
        }
        cluster.wait_until_formed();
        cluster
    }

    /// As [`Self::start`], each node in its own namespace of a network that can be cut.
    ///
    /// # Panics
    /// As [`Self::start`].
    #[must_use]
    pub fn start_on(
        network: Option<Network>,
        order: &[usize],
        bricks: u16,
        arguments: &[&str],
    ) -> Self {
        let mut cluster = Self::new(network, order.len(), bricks, arguments);
        for &at in order {
            cluster.launch(at);
        }
        cluster.wait_until_formed();
        cluster
    }

    /// As [`Self::start`], of so many nodes whose network can be cut and whose disks can fail, as far as this machine permits; one line says what it does not.
    ///
    /// # Panics
    /// As [`Self::start`].
    #[must_use]
    pub fn start_frail(nodes: usize, bricks: u16, arguments: &[&str]) -> Self {
        let mut cluster = Self::new(Network::new(nodes), nodes, bricks, arguments);
        let disks = (0..nodes)
            .map(|at| SlowDisk::new(cluster.scratch.path(), &format!("disk{at}")))
            .collect::<Result<Vec<_>, _>>();
        match disks {
            Ok(disks) => cluster.disks = disks,
            Err(error) => skip::announce("disks that fail", &error.to_string()),
        }
        for (node, disk) in cluster.nodes.iter_mut().zip(&cluster.disks) {
            node.data = disk.data();
        }
        for at in 0..nodes {
            cluster.launch(at);
        }
        cluster.wait_until_formed();
        cluster
    }

    /// As [`Self::start`], of nodes that run another build of the program until they are [upgraded](Self::upgrade).
    ///
    /// # Panics
    /// As [`Self::start`].
    #[must_use]
    pub fn start_from(program: &Path, order: &[usize], bricks: u16, arguments: &[&str]) -> Self {
        let mut cluster = Self::new(None, order.len(), bricks, arguments);
        for node in &mut cluster.nodes {
            node.program = Some(program.to_owned());
        }
        for &at in order {
            cluster.launch(at);
        }
        cluster.wait_until_formed();
        cluster
    }

    /// As [`Self::start`], with mutual TLS between the nodes and with clients.
    ///
    /// # Panics
    /// As [`Self::start`].
    #[must_use]
    pub fn start_secure(order: &[usize], bricks: u16, arguments: &[&str]) -> Self {
        let mut cluster = Self::new(None, order.len(), bricks, arguments);
        let mut certificates = Certificates::new();
        for (at, node) in cluster.nodes.iter_mut().enumerate() {
            certificates.issue_node(&node_name(at));
            node.arguments = certificates.arguments(&node_name(at));
        }
        cluster.certificates = Some(certificates);
        for &at in order {
            cluster.launch(at);
        }
        cluster.wait_until_formed();
        cluster
    }

    /// As [`Self::start`], of nodes that make certificates for themselves, in a home of this machine's user.
    ///
    /// # Panics
    /// As [`Self::start`].
    #[must_use]
    pub fn start_at_home(order: &[usize], bricks: u16, home: &Path) -> Self {
        let mut cluster = Self::new(None, order.len(), bricks, &[]);
        cluster.home = Some(home.to_owned());
        for node in &mut cluster.nodes {
            node.arguments = vec!["--peer-cert=auto".to_owned()];
        }
        for &at in order {
            cluster.launch(at);
        }
        cluster.wait_until_formed();
        cluster
    }

    /// What a secure cluster's nodes and clients show.
    pub const fn certificates(&mut self) -> Option<&mut Certificates> {
        self.certificates.as_mut()
    }

    /// A connection to a node's node port as some client of a secure cluster has it.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn try_client_by(&self, at: usize, tls: Option<&Dialer>) -> std::io::Result<Client> {
        let node = &self.nodes[at];
        Client::try_connect_by(&node.host, node.port, tls)
    }

    fn dialer(&self) -> Option<Dialer> {
        self.certificates.as_ref().map(Certificates::dialer)
    }

    /// So many nodes of which none runs yet.
    fn new(network: Option<Network>, nodes: usize, bricks: u16, arguments: &[&str]) -> Self {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let mut cluster = Self {
            nodes: Vec::new(),
            bricks,
            expect: nodes,
            arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
            disks: Vec::new(),
            scratch,
            network,
            certificates: None,
            home: None,
        };
        if cluster.network.is_some() {
            // There is no user, and the addresses are not loopback; they are nobody else's, though.
            cluster.arguments.push("--insecure".to_owned());
        }
        for _ in 0..nodes {
            cluster.place();
        }
        cluster
    }

    /// Makes room for a node; it does not run yet.
    fn place(&mut self) -> usize {
        let at = self.nodes.len();
        let network = self.network.as_ref();
        self.nodes.push(Node {
            process: None,
            host: network.map_or_else(|| "127.0.0.1".to_owned(), |it| it.address(at)),
            port: free_block(PEER_OFFSET),
            data: self.scratch.path().join(format!("data{at}")),
            arguments: Vec::new(),
            is_removed: false,
            program: None,
        });
        at
    }

    /// The network that can be cut, if the cluster was started on one.
    #[must_use]
    pub const fn network(&self) -> Option<&Network> {
        self.network.as_ref()
    }

    /// The nodes' disks, where they can fail; else none.
    #[must_use]
    pub fn disks(&self) -> &[SlowDisk] {
        &self.disks
    }

    /// The node ports of all nodes, `host:port`.
    #[must_use]
    pub fn seeds(&self) -> Vec<String> {
        self.nodes.iter().map(Node::address).collect()
    }

    /// How many nodes there are, running or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node port of a node.
    #[must_use]
    pub fn port(&self, at: usize) -> u16 {
        self.nodes[at].port
    }

    /// The port of a node's first brick.
    #[must_use]
    pub fn brick_port(&self, at: usize) -> u16 {
        self.nodes[at].port + 1
    }

    /// The HTTP port of a node.
    #[must_use]
    pub fn http_port(&self, at: usize) -> u16 {
        self.nodes[at].port + HTTP_OFFSET
    }

    /// A node's data directory.
    #[must_use]
    pub fn data(&self, at: usize) -> &Path {
        &self.nodes[at].data
    }

    /// A connection to a node's node port.
    ///
    /// # Panics
    /// If nobody listens there.
    #[must_use]
    pub fn client(&self, at: usize) -> Client {
        self.try_client(at)
            .unwrap_or_else(|error| panic!("cannot connect to node {at}: {error}"))
    }

    /// A connection to a node's node port.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn try_client(&self, at: usize) -> std::io::Result<Client> {
        self.try_client_by(at, self.dialer().as_ref())
    }

    /// The nodes that run.
    #[must_use]
    pub fn running(&self) -> Vec<usize> {
        let running = self.nodes.iter().enumerate();
        running
            .filter(|(_, node)| node.process.is_some())
            .map(|(at, _)| at)
            .collect()
    }

    /// Kills a node's process.
    pub fn kill(&mut self, at: usize) {
        if let Some(mut process) = self.nodes[at].process.take() {
            process.kill();
        }
    }

    /// Asks a node to end and waits until it has.
    ///
    /// # Panics
    /// If it ends with an error, or not at all.
    pub fn stop(&mut self, at: usize) {
        if let Some(mut process) = self.nodes[at].process.take() {
            process.signal("TERM");
            let status = process.wait();
            assert!(
                status.success(),
                "node {at} ended with {status}:\n{}",
                process.output()
            );
        }
    }

    /// Stops or continues a node's process as a whole (`SIGSTOP`, `SIGCONT`).
    pub fn signal(&self, at: usize, signal: &str) {
        if let Some(process) = &self.nodes[at].process {
            process.signal(signal);
        }
    }

    /// Resident memory of a node in bytes.
    ///
    /// # Panics
    /// If it does not run.
    #[must_use]
    pub fn resident_bytes(&self, at: usize) -> u64 {
        let process = self.nodes[at].process.as_ref();
        process.expect("the node runs").resident_bytes()
    }

    /// Starts a node that was killed or stopped, on its data.
    pub fn launch(&mut self, at: usize) {
        let mut command = self.command(at);
        let log = self.scratch.path().join(format!("node{at}.log"));
        self.nodes[at].process = Some(Process::start(&mut command, &log));
    }

    /// Has the program under test started for a node from now on.
    pub fn upgrade(&mut self, at: usize) {
        self.nodes[at].program = None;
    }

    /// Gives a node that does not run other ports than it had, as a new address in a cloud would.
    pub fn readdress(&mut self, at: usize) {
        self.nodes[at].port = free_block(PEER_OFFSET);
    }

    /// Adds a node that joins through the others.
    pub fn add(&mut self) -> usize {
        self.add_with(&[])
    }

    /// Adds a node with arguments of its own.
    pub fn add_with(&mut self, arguments: &[&str]) -> usize {
        let at = self.place();
        self.nodes[at].arguments = arguments.iter().map(|&it| it.to_owned()).collect();
        self.launch(at);
        at
    }

    /// Makes room for a process that works on a copy of a stopped node's data; it does not run yet.
    ///
    /// # Panics
    /// If the data cannot be copied.
    pub fn copy(&mut self, of: usize) -> usize {
        let at = self.place();
        let (from, to) = (&self.nodes[of].data, &self.nodes[at].data);
        let status = Command::new("cp").arg("-r").args([from, to]).status();
        assert!(status.is_ok_and(|it| it.success()), "{}", from.display());
        at
    }

    /// Waits until the process of a node that was taken out of the cluster has ended by itself.
    pub fn wait_until_gone(&mut self, at: usize) {
        self.nodes[at].is_removed = true;
        if let Some(mut process) = self.nodes[at].process.take() {
            let _ = process.wait();
        }
    }

    fn command(&self, at: usize) -> Command {
        let node = &self.nodes[at];
        let join: Vec<String> = self.seeds().into_iter().take(self.expect).collect();
        let program = node.program.as_deref().map_or_else(program, program_at);
        let mut command = match &self.network {
            Some(network) => network.inside(at, &program),
            None => program,
        };
        command.arg("server");
        command.arg("--listen").arg(node.address());
        command.arg("--data").arg(&node.data);
        command.arg("--bricks").arg(self.bricks.to_string());
        command
            .arg("--peer-port")
            .arg((node.port + PEER_OFFSET).to_string());
        command.arg("--join").arg(join.join(","));
        // Who comes later founds nothing.
        if at < self.expect {
            command.arg("--expect").arg(self.expect.to_string());
        }
        // What a test is about has the copies that it asks for, and other tables take no part in it.
        let own = [&self.arguments, &node.arguments];
        if !own.into_iter().flatten().any(|it| it == DEFAULT_REPLICAS) {
            command.args([DEFAULT_REPLICAS, "1"]);
        }
        command.args(&self.arguments);
        command.args(&node.arguments);
        if let Some(home) = &self.home {
            command.env("XDG_DATA_HOME", home);
        }
        command
    }

    /// Waits until every running node answers and knows all of them.
    ///
    /// # Panics
    /// If that does not come; the nodes' output is shown.
    pub fn wait_until_formed(&mut self) {
        let members = self.nodes.iter().filter(|node| !node.is_removed).count();
        let wanted = members * usize::from(self.bricks);
        for at in self.running() {
            let is_formed = try_wait_for(PATIENCE, || {
                let mut client = self.try_client(at).ok()?;
                let reply = client.try_call(&["CLUSTER", "NODES"]).ok()?;
                // Beside the bricks there are ports of nodes, which have copies.
                let text = reply.text();
                let bricks = text.lines().filter(|line| line.contains("master"));
                (bricks.count() == wanted).then_some(())
            });
            assert!(
                is_formed.is_some(),
                "node {at} is in no cluster:\n{}",
                self.logs()
            );
        }
    }

    /// Creates a table and waits until every running node has it.
    ///
    /// # Panics
    /// If that does not come.
    pub fn create_table(&self, name: &str, options: &[&str]) {
        let first = self.running()[0];
        let mut command = vec!["TABLE", "CREATE", name];
        command.extend(options);
        let mut client = self.client(first);
        let created = try_wait_for(PATIENCE, || {
            let reply = client.try_call(&command).ok()?;
            (reply.text() == "OK").then_some(())
        });
        assert!(
            created.is_some(),
            "table {name} cannot be made:\n{}",
            self.logs()
        );
        for at in self.running() {
            // A refused TABLE USE closes the connection, so each look has its own.
            wait_for("the table on every node", || self.table(at, name).ok());
        }
    }

    /// A connection to a node's node port, working on a table.
    ///
    /// # Errors
    /// If the node cannot be reached, or has no such table.
    pub fn table(&self, at: usize, name: &str) -> std::io::Result<Client> {
        let mut client = self.try_client(at)?;
        let reply: Value = client.try_call(&["TABLE", "USE", name])?;
        if reply.text() == "OK" {
            Ok(client)
        } else {
            Err(std::io::Error::other(reply.text()))
        }
    }

    /// Waits until every slot of a table has so many replicas in sync, as every running node sees it.
    ///
    /// # Panics
    /// If that does not come.
    pub fn wait_until_whole(&self, table: &str, replicas: usize) {
        for at in self.running() {
            let is_whole = try_wait_for(PATIENCE, || {
                let reply = self
                    .table(at, table)
                    .ok()?
                    .try_call(&["CLUSTER", "SLOTS"])
                    .ok()?;
                let Value::Array(ranges) = reply else {
                    return None;
                };
                // A range is its first and last slot, then a node each.
                let has_all =
                    |range: &Value| matches!(range, Value::Array(it) if it.len() == 2 + replicas);
                ranges.iter().all(has_all).then_some(())
            });
            assert!(
                is_whole.is_some(),
                "replicas of {table} are missing:\n{}",
                self.logs()
            );
        }
    }

    /// The nodes that hold a key of a table in sync, the primary first, as a running node sees it.
    ///
    /// # Errors
    /// If the node does not say.
    pub fn holders(&self, table: &str, key: &str) -> std::io::Result<Vec<usize>> {
        let strange = || std::io::Error::other("CLUSTER SLOTS makes no sense");
        let mut client = self.table(self.running()[0], table)?;
        let slot = client.try_call(&["CLUSTER", "KEYSLOT", key])?;
        let Value::Array(ranges) = client.try_call(&["CLUSTER", "SLOTS"])? else {
            return Err(strange());
        };
        let number = |value: &Value| match value {
            Value::Integer(number) => *number,
            _ => -1,
        };
        for range in &ranges {
            let Value::Array(range) = range else {
                return Err(strange());
            };
            let [first, last, replicas @ ..] = &range[..] else {
                return Err(strange());
            };
            if (number(first)..=number(last)).contains(&number(&slot)) {
                let node_of = |replica: &Value| {
                    let Value::Array(replica) = replica else {
                        return None;
                    };
                    let (host, port) = (replica[0].text(), number(&replica[1]));
                    self.nodes.iter().position(|node| {
                        let begin = i64::from(node.port);
                        node.host == host
                            && (begin..=begin + i64::from(self.bricks)).contains(&port)
                    })
                };
                return replicas
                    .iter()
                    .map(|it| node_of(it).ok_or_else(strange))
                    .collect();
            }
        }
        Err(strange())
    }

    /// The node that leads the control plane, as a node sees it.
    ///
    /// # Panics
    /// If nobody leads for long.
    #[must_use]
    pub fn leader(&self) -> usize {
        wait_for("a leader of the control plane", || {
            let at = self.running()[0];
            let status = self.status(at)?;
            let leader = number_behind(&status, "\"leader\":")?;
            let nodes = status.split("\"brick_ports\":").skip(1);
            // The fields of a node are in alphabetical order.
            nodes
                .filter(|node| number_behind(node, "\"node\":") == Some(leader))
                .find_map(|node| number_behind(node, "\"port\":"))
                .and_then(|port| self.nodes.iter().position(|it| u64::from(it.port) == port))
        })
    }

    /// What a node's `/status` says.
    #[must_use]
    pub fn status(&self, at: usize) -> Option<String> {
        self.page(at, "/status")
    }

    /// What a node's `/metrics` says.
    #[must_use]
    pub fn metrics(&self, at: usize) -> Option<String> {
        self.page(at, "/metrics")
    }

    fn page(&self, at: usize, path: &str) -> Option<String> {
        let node = &self.nodes[at];
        let port = node.port + HTTP_OFFSET;
        http_get(&node.host, port, path, self.dialer().as_ref()).ok()
    }

    /// What all nodes have written to their logs, the end of each.
    #[must_use]
    pub fn logs(&self) -> String {
        let mut out = String::new();
        for at in 0..self.nodes.len() {
            let log = self.scratch.path().join(format!("node{at}.log"));
            let text = std::fs::read_to_string(log).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let start = lines.len().saturating_sub(25);
            out += &format!("--- node {at}\n{}\n", lines[start..].join("\n"));
        }
        out
    }
}

fn number_behind(text: &str, name: &str) -> Option<u64> {
    let (_, rest) = text.split_once(name)?;
    let digits = rest.trim_start().split(|it: char| !it.is_ascii_digit());
    digits.into_iter().next()?.parse().ok()
}

/// What a node of a secure cluster is called in its certificate.
#[must_use]
pub fn node_name(at: usize) -> String {
    format!("node{at}")
}

/// The body of what is at a path of a node's HTTP port.
///
/// # Errors
/// If nobody answers there.
pub fn http_get(
    host: &str,
    port: u16,
    path: &str,
    tls: Option<&Dialer>,
) -> std::io::Result<String> {
    let mut stream = Stream::connect(host, port, tls)?;
    stream.socket().set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n")?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    let (_, body) = reply
        .split_once("\r\n\r\n")
        .ok_or_else(|| std::io::Error::other("no HTTP"))?;
    Ok(body.to_owned())
}

/// How long the lease of a node lasts, unless configured.
pub const LEASE: Duration = Duration::from_millis(700);
