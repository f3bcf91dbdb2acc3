//! Asking the nodes of a cluster what they are busy with.
//!
//! In:  a node, and how to sign in. Out: a [`Look`] each time.
//!
//! Connections are kept from one look to the next. A node that does not answer is in the look with the reason, and is asked
//! again the next time.

use crate::{
    placement::replies::{NodeRow, each},
    reply_text::as_map,
};
use anyhow::{Context as _, bail};
use brickyard_bench::{Link, Target};
use brickyard_wire::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How long a node may take to answer.
const LIMIT: Duration = Duration::from_secs(2);

/// Keys of each table, and slow commands of each brick, that are asked for.
const EACH: &str = "10";

/// See the module.
pub(crate) struct Collector {
    target: Target,
    links: BTreeMap<String, Link>,
    /// Node ports, as the last answer had them: should the first node be gone.
    known: BTreeSet<String>,
    /// What was counted at the last look, by node.
    counted: BTreeMap<u32, (Instant, Counts)>,
}

/// A cluster at a moment.
#[derive(Debug, Default)]
pub(crate) struct Look {
    pub(crate) nodes: Vec<NodeLoad>,
    pub(crate) tables: Vec<TableLoad>,
    pub(crate) hot: Vec<Standing>,
    pub(crate) big: Vec<Standing>,
    pub(crate) slow: Vec<Slow>,
}

/// A node.
#[derive(Debug)]
pub(crate) struct NodeLoad {
    pub(crate) node: u32,
    pub(crate) address: String,
    /// What it said; or why it did not.
    pub(crate) load: Result<Load, String>,
}

/// What a node does; rates since the last look, of the first look none.
#[derive(Debug, Default)]
pub(crate) struct Load {
    pub(crate) operations: u64,
    pub(crate) clients: u64,
    pub(crate) resident: u64,
    /// Hundredths of a core.
    pub(crate) cpu: Option<f64>,
    pub(crate) bytes_in: Option<u64>,
    pub(crate) bytes_out: Option<u64>,
    pub(crate) log_pending: u64,
}

/// A table.
#[derive(Debug)]
pub(crate) struct TableLoad {
    pub(crate) name: String,
    pub(crate) keys: u64,
    pub(crate) memory: u64,
    pub(crate) unanswered: u64,
}

/// A key that stands out, with its commands a second or its bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) table: String,
    pub(crate) key: String,
    pub(crate) figure: u64,
}

/// A slow command.
#[derive(Debug)]
pub(crate) struct Slow {
    /// Which brick's, as `host:port`.
    pub(crate) brick: String,
    pub(crate) at: u64,
    pub(crate) microseconds: u64,
    pub(crate) command: String,
}

/// What only grows.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    cpu: f64,
    bytes_in: u64,
    bytes_out: u64,
}

impl Collector {
    pub(crate) fn new(target: Target) -> Self {
        Self {
            target,
            links: BTreeMap::new(),
            known: BTreeSet::new(),
            counted: BTreeMap::new(),
        }
    }

    /// How the cluster is now.
    pub(crate) fn look(&mut self) -> anyhow::Result<Look> {
        let (asked, nodes) = self.nodes()?;
        let mut look = Look::default();
        for NodeRow { node, address, .. } in nodes {
            let load = self.load(node, &address).map_err(|it| format!("{it:#}"));
            look.nodes.push(NodeLoad {
                node,
                address,
                load,
            });
        }
        for name in texts(&self.ask(&asked, &["TABLE", "LIST"])?) {
            self.look_at_table(&asked, name, &mut look)?;
        }
        let largest = |all: &mut Vec<Standing>| {
            all.sort_by_key(|it| std::cmp::Reverse(it.figure));
        };
        largest(&mut look.hot);
        largest(&mut look.big);
        for brick in self.bricks(&asked)? {
            // A brick that does not answer is of a node of which that is told above.
            if let Ok(entries) = self.ask(&brick, &["SLOWLOG", "GET", EACH]) {
                look.slow.extend(slow(&brick, &entries));
            }
        }
        look.slow
            .sort_by_key(|it| std::cmp::Reverse(it.microseconds));
        Ok(look)
    }

    /// Who answers, and the nodes that it names, with their node ports.
    fn nodes(&mut self) -> anyhow::Result<(String, Vec<NodeRow>)> {
        let first = self.target.address.clone();
        let others = self.known.iter().filter(|it| **it != first).cloned();
        let candidates: Vec<String> = std::iter::once(first.clone()).chain(others).collect();
        let mut error = None;
        for address in candidates {
            match self.ask(&address, &["NODE", "LIST"]) {
                Ok(reply) => {
                    let nodes = each(&reply, NodeRow::read);
                    let nodes = nodes.with_context(|| {
                        format!(
                            "{address}: the reply to NODE LIST is not what a node of this version says"
                        )
                    })?;
                    self.known = nodes.iter().map(|row| row.address.clone()).collect();
                    return Ok((address, nodes));
                }
                Err(it) => error = error.or(Some(it)),
            }
        }
        Err(error.unwrap_or_else(|| anyhow::anyhow!("{first} does not answer")))
    }

    fn load(&mut self, node: u32, address: &str) -> anyhow::Result<Load> {
        let reply = self.ask(address, &["INFO"])?;
        let info = String::from_utf8_lossy(reply.bytes().context("INFO is no text")?).into_owned();
        let field = |name: &str| {
            let mut lines = info.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        };
        let number = |name: &str| field(name).and_then(|it| it.trim().parse().ok());
        let whole = |name: &str| number(name).unwrap_or(0.0) as u64;
        let cpu = ["used_cpu_user", "used_cpu_sys"].map(|it| number(it).unwrap_or(0.0));
        let counts = Counts {
            cpu: cpu.iter().sum(),
            bytes_in: whole("total_net_input_bytes"),
            bytes_out: whole("total_net_output_bytes"),
        };
        let now = Instant::now();
        let before = self.counted.insert(node, (now, counts));
        // A process that began anew counts from nothing.
        let before = before.filter(|(_, it)| it.cpu <= counts.cpu);
        let rate = |of: fn(&Counts) -> f64| {
            let (at, before) = before.as_ref()?;
            let seconds = now.duration_since(*at).as_secs_f64().max(0.001);
            Some((of(&counts) - of(before)) / seconds)
        };
        Ok(Load {
            operations: whole("instantaneous_ops_per_sec"),
            clients: whole("connected_clients"),
            resident: whole("used_memory_rss"),
            cpu: rate(|it| it.cpu * 100.0),
            bytes_in: rate(|it| it.bytes_in as f64).map(|it| it as u64),
            bytes_out: rate(|it| it.bytes_out as f64).map(|it| it as u64),
            log_pending: whole("log_pending_bytes"),
        })
    }

    fn look_at_table(&mut self, asked: &str, name: String, look: &mut Look) -> anyhow::Result<()> {
        let described = self.ask(asked, &["TABLE", "DESCRIBE", &name])?;
        let Value::Map(fields) = as_map(described) else {
            bail!("{asked}: the reply to TABLE DESCRIBE is no map");
        };
        let number = |field: &str| {
            let mut found = fields
                .iter()
                .filter(|(it, _)| it.bytes() == Some(field.as_bytes()));
            let value = found.next().and_then(|(_, value)| value.integer());
            value.unwrap_or(0) as u64
        };
        look.tables.push(TableLoad {
            name: name.clone(),
            keys: number("keys"),
            memory: number("memory"),
            unanswered: number("unanswered"),
        });
        for (verb, into) in [("HOTKEYS", &mut look.hot), ("BIGKEYS", &mut look.big)] {
            let reply = self.ask(asked, &["TABLE", verb, &name, "COUNT", EACH])?;
            into.extend(standing(&name, &reply));
        }
        Ok(())
    }

    /// The ports of all bricks.
    fn bricks(&mut self, asked: &str) -> anyhow::Result<Vec<String>> {
        let reply = self.ask(asked, &["CLUSTER", "NODES"])?;
        let text = String::from_utf8_lossy(reply.bytes().unwrap_or_default()).into_owned();
        // Replicas stand there with the ports of nodes.
        let address = |line: &str| {
            let mut words = line.split(' ').skip(1);
            let (place, flags) = (words.next()?, words.next()?);
            let address = place.split(['@', ',']).next()?;
            let is_brick = flags.contains("master") && !address.is_empty();
            is_brick.then(|| address.to_owned())
        };
        let bricks: BTreeSet<String> = text.lines().filter_map(address).collect();
        Ok(bricks.into_iter().collect())
    }

    /// A reply that is no error.
    fn ask(&mut self, address: &str, request: &[&str]) -> anyhow::Result<Value> {
        let mut link = match self.links.remove(address) {
            Some(link) => link,
            None => self.connect(address)?,
        };
        let reply = link.call(request);
        let reply = reply.with_context(|| format!("{address} does not answer {}", request[0]))?;
        self.links.insert(address.to_owned(), link);
        if let Value::Error(text) = &reply {
            bail!(
                "{address} refused {}: {}",
                request.join(" "),
                String::from_utf8_lossy(text)
            );
        }
        Ok(reply)
    }

    fn connect(&self, address: &str) -> anyhow::Result<Link> {
        let target = Target {
            address: address.to_owned(),
            table: None,
            ..self.target.clone()
        };
        let mut link = Link::open(&target)?;
        link.set_timeout(Some(LIMIT))?;
        Ok(link)
    }
}

fn standing<'a>(table: &'a str, reply: &'a Value) -> impl Iterator<Item = Standing> + 'a {
    elements(reply).iter().filter_map(|pair| {
        let [key, figure] = elements(pair) else {
            return None;
        };
        Some(Standing {
            table: table.to_owned(),
            key: shown(key.bytes()?),
            figure: figure.integer()? as u64,
        })
    })
}

fn slow<'a>(brick: &'a str, reply: &'a Value) -> impl Iterator<Item = Slow> + 'a {
    elements(reply).iter().filter_map(|entry| {
        let [_, at, microseconds, arguments, ..] = elements(entry) else {
            return None;
        };
        let words = elements(arguments).iter();
        let words: Vec<String> = words.filter_map(|it| it.bytes().map(shown)).collect();
        Some(Slow {
            brick: brick.to_owned(),
            at: at.integer()? as u64,
            microseconds: microseconds.integer()? as u64,
            command: words.join(" "),
        })
    })
}

/// Bytes that clients chose, as a terminal may show them.
fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

fn elements(value: &Value) -> &[Value] {
    match value {
        Value::Array(elements) => elements,
        _ => &[],
    }
}

fn texts(reply: &Value) -> Vec<String> {
    let words = elements(reply).iter().filter_map(Value::bytes);
    words
        .map(|it| String::from_utf8_lossy(it).into_owned())
        .collect()
}
