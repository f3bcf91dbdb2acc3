//! SET that two servers hold before it is acknowledged.
//!
//! In:  Brickyard, Valkey. Out: the processor time of both servers together for one operation.
//!
//! Brickyard: two nodes of one brick, a table with two replicas and one partition, so that one brick is the primary
//! of all keys and the other the backup: Valkey's arrangement. Valkey: a primary and a replica; the client sends `WAIT 1`
//! behind each pipeline, as a program must that wants the same promise (it is weaker: no fail-over keeps it).

use crate::{
    campaign::{Campaign, Cell, Load, Rounds},
    tables::{HEADER, PIPELINE_1, PIPELINE_100, Row, VALUE_BYTES, cell, write_row},
};
use anyhow::{Context, bail};
use brickyard_bench::peer::{Durability, Found, Peer, Setup};
use brickyard_bench::process::{CLIENT_CORE, Process, free_ports, pin};
use brickyard_bench::{Link, Operation, Target};
use brickyard_wire::Value;
use std::{
    fmt::Write,
    net::TcpListener,
    path::Path,
    thread,
    time::{Duration, Instant},
};

const TABLE: &str = "pair";
const START_LIMIT: Duration = Duration::from_secs(60);

const CELLS: [Cell; 2] = [
    cell(Operation::Set, PIPELINE_100),
    cell(Operation::Set, PIPELINE_1),
];

/// Two servers that hold the same.
struct Pair {
    name: String,
    peer: Peer,
    processes: Vec<Process>,
    /// Who takes the writes.
    target: Target,
    cells: [Rounds; CELLS.len()],
}

/// Measures SET at durability `log` and with Valkey's `everysec`, on two servers each.
pub(crate) fn measure(campaign: &Campaign<'_>) -> anyhow::Result<String> {
    pin(CLIENT_CORE)?;
    let load = Load {
        keys: campaign.effort.keys.min(100_000),
        value_bytes: VALUE_BYTES,
        overwrites: 0,
    };
    let mut pairs = Vec::new();
    for found in campaign.found {
        let name = found.peer.name();
        let pair = match found.peer {
            Peer::Brickyard | Peer::Before => brickyard(found, campaign.dir),
            Peer::Valkey => valkey(found, campaign.dir),
            _ => continue,
        };
        eprintln!("replication: {name}");
        let pair = pair.with_context(|| format!("two of {name}"))?;
        let filling = campaign.options(&pair.target, load, CELLS[0]).filling();
        brickyard_bench::run(&filling)?;
        pairs.push(pair);
    }
    for _ in 0..campaign.effort.rounds {
        for (at, cell) in CELLS.into_iter().enumerate() {
            for pair in &mut pairs {
                let sample = campaign.sample_all(&pair.processes, &pair.target, load, cell)?;
                pair.cells[at].0.push(sample);
            }
        }
    }
    let mut out = String::from(
        "SET, values of 150 bytes, two copies before the answer; processor time of both servers together, both on the \
         server's core. Durability `log` against `appendonly yes`, `everysec`.\n\n",
    );
    for (at, cell) in CELLS.into_iter().enumerate() {
        let base = pairs.iter().find(|pair| pair.peer == Peer::Valkey);
        let base = base.map(|pair| pair.cells[at].quietest().cpu_us());
        let _ = writeln!(
            out,
            "**Pipeline {}, {} connections**\n",
            cell.pipeline, cell.connections
        );
        out.push_str(HEADER);
        for pair in &pairs {
            let row = Row {
                name: pair.name.clone(),
                rounds: &pair.cells[at],
            };
            write_row(&mut out, &row, base);
        }
        out.push('\n');
    }
    Ok(out)
}

fn brickyard(found: &Found, dir: &Path) -> anyhow::Result<Pair> {
    let first = free_block(0)?;
    let second = free_block(first)?;
    let start = |port: u16, more: &[&str]| {
        Process::spawn(found, port, dir, |data| {
            let mut command = found.program();
            command.args(["server", "--bricks", "1", "--http", "off"]);
            command.args(["--listen", &format!("127.0.0.1:{port}")]);
            command.args(["--brick-port", &(port + 1).to_string()]);
            // Nodes take each other's port for peers to be as far from the node port as their own.
            command.args(["--peer-port", &(port + 2).to_string()]);
            command.args(more).arg("--data").arg(data);
            command
        })?
        .ready()
    };
    // The table is made where there is one brick: two would get two partitions at least, and lead one each.
    let mut processes = vec![start(first, &[])?];
    let node = processes[0].target.clone();
    must(
        &node,
        "the table",
        &["TABLE", "CREATE", TABLE, "PARTITIONS", "1", "REPLICAS", "1"],
    )?;
    processes.push(start(second, &["--join", &format!("127.0.0.1:{first}")])?);
    must(
        &node,
        "a backup",
        &["TABLE", "ALTER", TABLE, "REPLICAS", "2"],
    )?;
    let mut target = Target {
        table: Some(TABLE.to_owned()),
        ..node
    };
    target.address = poll("two replicas", || {
        Ok(primary_of_two(
            &Link::open(&target)?.call(&["CLUSTER", "SLOTS"])?,
        ))
    })?;
    Ok(Pair {
        name: format!("{} {}, log, 2 replicas", found.peer.name(), found.version),
        peer: found.peer,
        processes,
        target,
        cells: [Rounds(Vec::new()), Rounds(Vec::new())],
    })
}

/// A port with two free ones behind it, other than `taken`.
fn free_block(taken: u16) -> anyhow::Result<u16> {
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    (0..100)
        .filter_map(|_| free_ports().ok().map(|[port]: [u16; 1]| port))
        .find(|port| port.abs_diff(taken) > 2 && is_free(port + 1) && is_free(port + 2))
        .context("cannot find three free ports in a row")
}

/// The address of the primary of all slots, once there is a backup.
fn primary_of_two(slots: &Value) -> Option<String> {
    let Value::Array(ranges) = slots else {
        return None;
    };
    let Some(Value::Array(range)) = ranges.first() else {
        return None;
    };
    let [_, _, Value::Array(primary), _] = &range[..] else {
        return None;
    };
    let [Value::Bulk(host), Value::Integer(port), ..] = &primary[..] else {
        return None;
    };
    Some(format!("{}:{port}", String::from_utf8_lossy(host)))
}

fn valkey(found: &Found, dir: &Path) -> anyhow::Result<Pair> {
    let ports: [u16; 2] = free_ports().context("cannot find free ports")?;
    let setup = Setup::of(Durability::Log);
    let mut processes = Vec::new();
    for (at, port) in ports.into_iter().enumerate() {
        let process = Process::spawn(found, port, dir, |data| {
            let mut command = found.command(&setup, port, 0, data);
            if at == 1 {
                command.args(["--replicaof", "127.0.0.1", &ports[0].to_string()]);
            }
            command
        })?;
        processes.push(process.ready()?);
    }
    let target = Target {
        wait_replicas: 1,
        ..processes[0].target.clone()
    };
    poll("the replica", || {
        let reply = Link::open(&target)?.call(&["INFO", "replication"])?;
        let is_online = matches!(reply, Value::Bulk(text)
            if String::from_utf8_lossy(&text).contains("state=online"));
        Ok(is_online.then_some(()))
    })?;
    Ok(Pair {
        name: format!("Valkey {}, everysec, a replica, WAIT 1", found.version),
        peer: found.peer,
        processes,
        target,
        cells: [Rounds(Vec::new()), Rounds(Vec::new())],
    })
}

/// Asks for something until it is done.
pub(crate) fn must(node: &Target, what: &str, request: &[&str]) -> anyhow::Result<()> {
    poll(what, || match Link::open(node)?.call(request)? {
        Value::Error(text) => bail!("{}", String::from_utf8_lossy(&text)),
        _ => Ok(Some(())),
    })
}

/// Asks until there is an answer.
pub(crate) fn poll<T>(
    what: &str,
    mut ask: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let begin = Instant::now();
    let mut last = None;
    while begin.elapsed() < START_LIMIT {
        match ask() {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            Err(error) => last = Some(error),
        }
        thread::sleep(Duration::from_millis(20));
    }
    match last {
        Some(error) => Err(error).with_context(|| format!("waiting for {what}")),
        None => bail!("{what} did not come within {} s", START_LIMIT.as_secs()),
    }
}
