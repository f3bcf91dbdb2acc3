//! A cluster that is not one: listeners that answer as bricks and node ports do, or as a test tells them to.
//!
//! In:  connections of the client. Out: replies, and a log of what was asked.

use brickyard_routing::graph::{NextHop, RoutingTables, trie_of};
use brickyard_routing::{RoutingHash, slot};
use brickyard_wire::{ReplyDecoder, ReplyLimits, ReplyStep, Value};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// What all ports of the cluster know.
#[derive(Default)]
pub(crate) struct World {
    /// Slot ranges with their members, the primary first.
    pub(crate) map: Vec<(u16, u16, Vec<String>)>,
    pub(crate) data: BTreeMap<String, String>,
    /// How often each key was written.
    pub(crate) writes: BTreeMap<String, u32>,
    /// The node port that the map tells of.
    pub(crate) node_port: Option<u16>,
    /// Whether ports know ids of requests.
    pub(crate) has_ids: bool,
    /// What was answered to requests with ids.
    pub(crate) outcomes: BTreeMap<(String, String), String>,
}

/// What the cluster's clock says, in microseconds.
pub(crate) const CLOCK: u64 = 1_700_000_000_000_000;

pub(crate) type SharedWorld = Arc<Mutex<World>>;

/// What a port does with a request.
pub(crate) enum Answer {
    /// What it should.
    Usual,
    /// These bytes.
    Say(String),
    /// Nothing, and nothing to what comes after it on this connection either: replies keep their order.
    Nothing,
    /// It closes the connection, after `Usual` answers to what came before.
    HangUp,
}

type Hook = Box<dyn FnMut(&[String]) -> Answer + Send>;

#[derive(Default)]
struct Inside {
    hook: Option<Hook>,
    log: Vec<Vec<String>>,
    connections: Vec<JoinHandle<()>>,
    opened: usize,
}

/// A port.
pub(crate) struct Fake {
    pub(crate) address: String,
    is_node_port: bool,
    world: SharedWorld,
    inside: Arc<Mutex<Inside>>,
    listener: Option<JoinHandle<()>>,
}

impl Fake {
    pub(crate) async fn node_port(world: &SharedWorld) -> Self {
        Self::start(world, true).await
    }

    pub(crate) async fn brick(world: &SharedWorld) -> Self {
        Self::start(world, false).await
    }

    async fn start(world: &SharedWorld, is_node_port: bool) -> Self {
        let mut fake = Self {
            address: "127.0.0.1:0".to_owned(),
            is_node_port,
            world: Arc::clone(world),
            inside: Arc::default(),
            listener: None,
        };
        fake.listen().await;
        fake
    }

    /// Listens again after [`Self::stop`].
    pub(crate) async fn listen(&mut self) {
        let listener = TcpListener::bind(&self.address).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        self.address.clone_from(&address);
        let (world, inside) = (Arc::clone(&self.world), Arc::clone(&self.inside));
        let is_node_port = self.is_node_port;
        self.listener = Some(tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let port = Port {
                    address: address.clone(),
                    is_node_port,
                    reads_from_backup: false,
                    world: Arc::clone(&world),
                    inside: Arc::clone(&inside),
                };
                let mut inside = inside.lock().unwrap();
                inside.opened += 1;
                inside.connections.push(tokio::spawn(port.serve(stream)));
            }
        }));
    }

    /// Answers no more: the port is closed, and all of its connections.
    pub(crate) async fn stop(&mut self) {
        let mut tasks: Vec<JoinHandle<()>> = self.listener.take().into_iter().collect();
        tasks.append(&mut self.inside.lock().unwrap().connections);
        for task in tasks {
            task.abort();
            // It is over, and its socket closed, once this returns.
            let _ = task.await;
        }
    }

    /// Asks `hook` about every request from now on.
    pub(crate) fn on_request(&self, hook: impl FnMut(&[String]) -> Answer + Send + 'static) {
        self.inside.lock().unwrap().hook = Some(Box::new(hook));
    }

    /// The requests so far that start with `name`.
    pub(crate) fn asked(&self, name: &str) -> Vec<Vec<String>> {
        let inside = self.inside.lock().unwrap();
        inside
            .log
            .iter()
            .filter(|words| words[0] == name)
            .cloned()
            .collect()
    }

    pub(crate) fn opened(&self) -> usize {
        self.inside.lock().unwrap().opened
    }

    /// Connections that are open now.
    pub(crate) fn open(&self) -> usize {
        let inside = self.inside.lock().unwrap();
        inside
            .connections
            .iter()
            .filter(|task| !task.is_finished())
            .count()
    }

    /// Waits until so many requests named `name` have come.
    pub(crate) async fn wait_for(&self, name: &str, count: usize) {
        while self.asked(name).len() < count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            listener.abort();
        }
    }
}

/// One connection's other end.
struct Port {
    address: String,
    is_node_port: bool,
    reads_from_backup: bool,
    world: SharedWorld,
    inside: Arc<Mutex<Inside>>,
}

impl Port {
    async fn serve(mut self, stream: TcpStream) {
        let mut decoder = ReplyDecoder::new(ReplyLimits::default());
        let mut input = Vec::new();
        let mut chunk = vec![0; 64 * 1024];
        let mut is_mute = false;
        loop {
            stream.readable().await.unwrap();
            match stream.try_read(&mut chunk) {
                Ok(0) => return,
                Ok(count) => input.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
                Err(_) => return,
            }
            let mut output = String::new();
            let mut hangs_up = false;
            // A request is an array of strings, which is a reply as well.
            while let Ok(ReplyStep::Reply { consumed, value }) = decoder.decode(&input) {
                input.drain(..consumed);
                if is_mute {
                    self.note(&value);
                    continue;
                }
                match self.answer(&value, &mut output) {
                    Answer::HangUp => {
                        hangs_up = true;
                        break;
                    }
                    Answer::Say(text) => output.push_str(&text),
                    Answer::Usual => {}
                    Answer::Nothing => is_mute = true,
                }
            }
            let mut rest = output.as_bytes();
            while !rest.is_empty() {
                stream.writable().await.unwrap();
                match stream.try_write(rest) {
                    Ok(count) => rest = &rest[count..],
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(_) => return,
                }
            }
            if hangs_up {
                return;
            }
        }
    }

    /// Puts a request into the log.
    fn note(&self, request: &Value) -> Vec<String> {
        let words = request.elements().unwrap().iter();
        let words: Vec<String> = words
            .map(|word| String::from_utf8(word.bytes().unwrap().to_vec()).unwrap())
            .collect();
        self.inside.lock().unwrap().log.push(words.clone());
        words
    }

    fn answer(&mut self, request: &Value, output: &mut String) -> Answer {
        // A part of every greeting, and not what tests count.
        if request.elements().unwrap().get(1).and_then(Value::bytes) == Some(b"WATCH") {
            output.push_str("+OK\r\n");
            return Answer::Usual;
        }
        let words = self.note(request);
        let answer = {
            let mut inside = self.inside.lock().unwrap();
            inside
                .hook
                .as_mut()
                .map_or(Answer::Usual, |hook| hook(&words))
        };
        if matches!(answer, Answer::Usual) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            self.usual(&words, output).unwrap();
        }
        answer
    }

    fn usual(&mut self, words: &[&str], output: &mut String) -> std::fmt::Result {
        if let ["REQUEST", client, sequence, _, command @ ..] = words {
            let id = ((*client).to_owned(), (*sequence).to_owned());
            let known = self.world.lock().unwrap().outcomes.get(&id).cloned();
            if let Some(known) = known {
                return output.write_str(&known);
            }
            let mut outcome = String::new();
            self.usual(command, &mut outcome)?;
            if !outcome.starts_with('-') {
                let mut world = self.world.lock().unwrap();
                world.outcomes.insert(id, outcome.clone());
            }
            return output.write_str(&outcome);
        }
        let world = Arc::clone(&self.world);
        let mut world = world.lock().unwrap();
        let is_read = matches!(words[0], "GET" | "MGET" | "EXISTS");
        if let Some(refusal) = self.refusal(&world, words, is_read) {
            return write!(output, "-{refusal}\r\n");
        }
        match words {
            ["HELLO", ..] => {
                let mode = if self.is_node_port {
                    "standalone"
                } else {
                    "cluster"
                };
                write!(output, "%1\r\n$4\r\nmode\r\n+{mode}\r\n")
            }
            ["READONLY"] => {
                self.reads_from_backup = true;
                output.write_str("+OK\r\n")
            }
            ["TABLE", "USE", _] => output.write_str("+OK\r\n"),
            ["REQUEST", "NOW"] if world.has_ids => write!(output, ":{CLOCK}\r\n"),
            ["PING"] => output.write_str("+PONG\r\n"),
            ["CLUSTER", "SLOTS"] => slots(&world, output),
            ["CLUSTER", "LOOKUP"] => starts(&world, output),
            ["CLUSTER", "LOOKUP", hash, "GRAPH", graph, ..] => {
                way(&world, &self.address, (hash, graph), output)
            }
            ["GET", key] => bulk(world.data.get(*key), output),
            ["MGET", keys @ ..] => {
                write!(output, "*{}\r\n", keys.len())?;
                keys.iter()
                    .try_for_each(|key| bulk(world.data.get(*key), output))
            }
            ["SET", key, value, ..] => {
                world.write(key, value);
                output.write_str("+OK\r\n")
            }
            ["MSET", pairs @ ..] => {
                pairs
                    .chunks(2)
                    .for_each(|pair| world.write(pair[0], pair[1]));
                output.write_str("+OK\r\n")
            }
            ["INCR", key] => {
                let number: i64 = world.data.get(*key).map_or(0, |it| it.parse().unwrap());
                world.write(key, &(number + 1).to_string());
                write!(output, ":{}\r\n", number + 1)
            }
            ["DEL", key] => write!(
                output,
                ":{}\r\n",
                u8::from(world.data.remove(*key).is_some())
            ),
            ["EXISTS", key] => write!(output, ":{}\r\n", u8::from(world.data.contains_key(*key))),
            ["DBSIZE"] => write!(output, ":{}\r\n", world.data.len()),
            ["SCAN", cursor, "COUNT", count, ..] => {
                let (from, count): (usize, usize) =
                    (cursor.parse().unwrap(), count.parse().unwrap());
                let page: Vec<&String> = world.data.keys().skip(from).take(count).collect();
                let next = from + page.len();
                let next = if next < world.data.len() { next } else { 0 }.to_string();
                write!(
                    output,
                    "*2\r\n${}\r\n{next}\r\n*{}\r\n",
                    next.len(),
                    page.len()
                )?;
                page.iter().try_for_each(|key| bulk(Some(key), output))
            }
            _ => write!(output, "-ERR unknown command '{}'\r\n", words[0]),
        }
    }

    /// What a brick says about keys that are not its own.
    fn refusal(&self, world: &World, words: &[&str], is_read: bool) -> Option<String> {
        let is_keyed = is_read || matches!(words[0], "SET" | "MSET" | "INCR" | "DEL");
        if self.is_node_port || !is_keyed {
            return None;
        }
        let slot = slot(words[1].as_bytes());
        let owners = world.members(slot.0);
        let is_backup = owners.iter().skip(1).any(|it| *it == self.address);
        if owners.first() == Some(&self.address) || (is_read && self.reads_from_backup && is_backup)
        {
            return None;
        }
        Some(match owners.first() {
            Some(primary) => format!("MOVED {slot} {primary}"),
            None => "CLUSTERDOWN the slot has no brick".to_owned(),
        })
    }
}

impl World {
    pub(crate) fn members(&self, slot: u16) -> Vec<String> {
        let range = self
            .map
            .iter()
            .find(|(first, last, _)| (*first..=*last).contains(&slot));
        range
            .map(|(.., members)| members.clone())
            .unwrap_or_default()
    }

    fn write(&mut self, key: &str, value: &str) {
        self.data.insert(key.to_owned(), value.to_owned());
        *self.writes.entry(key.to_owned()).or_default() += 1;
    }
}

fn bulk(value: Option<&String>, output: &mut String) -> std::fmt::Result {
    match value {
        Some(value) => write!(output, "${}\r\n{value}\r\n", value.len()),
        None => output.write_str("_\r\n"),
    }
}

fn slots(world: &World, output: &mut String) -> std::fmt::Result {
    write!(output, "*{}\r\n", world.map.len())?;
    for (first, last, members) in &world.map {
        write!(output, "*{}\r\n:{first}\r\n:{last}\r\n", 2 + members.len())?;
        for member in members {
            let (host, port) = member.rsplit_once(':').unwrap();
            write!(
                output,
                "*4\r\n${}\r\n{host}\r\n:{port}\r\n$2\r\nid\r\n",
                host.len()
            )?;
            match world.node_port.map(|port| port.to_string()) {
                Some(port) => write!(
                    output,
                    "%1\r\n$9\r\nnode-port\r\n${}\r\n{port}\r\n",
                    port.len()
                )?,
                None => output.write_str("%0\r\n")?,
            }
        }
    }
    Ok(())
}

fn place(world: &World, address: &str, output: &mut String) -> std::fmt::Result {
    let (host, port) = address.rsplit_once(':').unwrap();
    let node_port = world.node_port.unwrap_or(1);
    write!(
        output,
        "${}\r\n{host}\r\n:{port}\r\n:{node_port}\r\n",
        host.len()
    )
}

/// Each range is a partition.
fn starts(world: &World, output: &mut String) -> std::fmt::Result {
    write!(output, "*2\r\n:1\r\n*{}\r\n", world.map.len())?;
    for (.., members) in &world.map {
        output.write_str("*4\r\n")?;
        place(world, &members[0], output)?;
        output.write_str(":1\r\n")?;
    }
    Ok(())
}

/// What a brick at this address says, which knows the routing tables of the ranges that it is a member of.
fn way(
    world: &World,
    own: &str,
    (hash, graph): (&str, &str),
    output: &mut String,
) -> std::fmt::Result {
    let partitions = trie_of(world.map.len()).unwrap();
    let target = RoutingHash(u64::from_str_radix(hash, 16).unwrap());
    let ranges = world.map.iter().enumerate();
    let held = ranges.filter(|(_, (.., members))| members.iter().any(|it| it == own));
    let tables = RoutingTables::of_leaves(held.map(|(leaf, _)| leaf));
    let graph = graph.parse().unwrap();
    let Some(next) = tables.next_hop(graph, &partitions, target, None) else {
        return output.write_str("-ERR nothing of the table is held here\r\n");
    };
    let (NextHop::Here(leaf) | NextHop::There(leaf)) = next;
    let (prefix, members) = (partitions.leaves()[leaf].prefix, &world.map[leaf].2);
    let kind = if prefix.contains(target) {
        "leaf"
    } else {
        "next"
    };
    write!(
        output,
        "*6\r\n$4\r\n{kind}\r\n:1\r\n:{leaf}\r\n$16\r\n{:016x}\r\n:{}\r\n*{}\r\n",
        prefix.first().0,
        prefix.depth(),
        members.len()
    )?;
    for member in members {
        output.write_str("*3\r\n")?;
        place(world, member, output)?;
    }
    Ok(())
}
