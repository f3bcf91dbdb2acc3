//! What TLS costs: for clients beside Redis's and Valkey's, between nodes beside none.
//!
//! In:  Brickyard, and servers that were built with TLS. Out: the processor time of one operation, medians with the least and the most.
//!
//! Clients: each server once in the clear and once under TLS, which it speaks with a certificate of the same authority and asks clients for
//! none. Nodes: three of one brick each, a table with three replicas and one partition, so that one brick is the primary of all keys; clients
//! are in the clear with both.

use crate::{
    campaign::{Campaign, Cell, Load, Rounds, Sample},
    replication::{must, poll},
    tables::{PIPELINE_1, PIPELINE_100, VALUE_BYTES, cell, ratio},
};
use anyhow::Context;
use brickyard_bench::peer::{Durability, Found, Peer, Setup};
use brickyard_bench::process::{CLIENT_CORE, Process, free_ports, pin};
use brickyard_bench::{Link, Operation, Target};
use brickyard_tls::{
    Authority, CertificateRequest, CertificateRole, Dialer, DialerFiles, IdentityFiles,
};
use brickyard_wire::Value;
use std::{
    fmt::Write,
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    time::Duration,
};

const TABLE: &str = "three";
const NODES: usize = 3;
const KEYS: u64 = 100_000;

/// Longer than any run.
const VALID: Duration = Duration::from_secs(86_400);

const OF_CLIENTS: [Cell; 4] = [
    cell(Operation::Get, PIPELINE_100),
    cell(Operation::Set, PIPELINE_100),
    cell(Operation::Get, PIPELINE_1),
    cell(Operation::Set, PIPELINE_1),
];

const OF_NODES: [Cell; 2] = [
    cell(Operation::Set, PIPELINE_100),
    cell(Operation::Set, PIPELINE_1),
];

/// Servers that are measured as one.
struct Entrant {
    name: String,
    peer: Peer,
    is_secure: bool,
    processes: Vec<Process>,
    target: Target,
    cells: Vec<Rounds>,
}

/// An authority, and a node's certificate.
struct Files {
    authority: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

/// GET and SET at one server, and SET at three nodes.
pub(crate) fn measure(campaign: &Campaign<'_>) -> anyhow::Result<String> {
    pin(CLIENT_CORE)?;
    let files = Files::make(campaign.dir)?;
    let load = Load {
        keys: KEYS.min(campaign.effort.keys),
        value_bytes: VALUE_BYTES,
        overwrites: 0,
    };
    let mut out = format!(
        "{} keys, values of {VALUE_BYTES} bytes, {} rounds of {:.1} s; processor time of the server for one operation: the median of the \
         rounds, the least and the most. The handshakes of its connections are in it.\n\n",
        load.keys,
        campaign.effort.rounds,
        campaign.effort.duration.as_secs_f64(),
    );
    let (mut entrants, missing) = of_clients(campaign, &files, load)?;
    measure_all(campaign, &mut entrants, load, &OF_CLIENTS)?;
    out += "Clients' TLS, one server that keeps everything in memory alone (`memory`, `appendonly no`).\n\n";
    write_clients(&mut out, &entrants);
    for missing in missing {
        let _ = writeln!(out, "{missing}\n");
    }
    drop(entrants);
    let mut entrants = Vec::new();
    for found in campaign.found.iter().filter(|it| it.peer.is_brickyard()) {
        for tls in [None, Some(&files)] {
            eprintln!("three of {}", found.peer.name());
            let entrant = three(campaign, found, tls, load);
            entrants.push(entrant.with_context(|| format!("three of {}", found.peer.name()))?);
        }
    }
    measure_all(campaign, &mut entrants, load, &OF_NODES)?;
    out += "Mutual TLS between nodes: three on the server's core together, a table with `replicas 3` and durability `log`; the time of all \
            three is added up.\n\n";
    write_nodes(&mut out, &entrants);
    Ok(out)
}

/// Every server once in the clear and once under TLS; and those that cannot have it, in words.
fn of_clients(
    campaign: &Campaign<'_>,
    files: &Files,
    load: Load,
) -> anyhow::Result<(Vec<Entrant>, Vec<String>)> {
    let mut entrants = Vec::new();
    let mut missing = Vec::new();
    let found = campaign.found.iter();
    for found in found.filter(|it| it.peer.is_durable()) {
        let name = found.peer.name();
        for is_secure in [false, true] {
            eprintln!("starting {name}, TLS: {is_secure}");
            let process = match one(campaign, found, is_secure.then_some(files)) {
                Ok(process) => process,
                Err(error) if is_secure && !found.peer.is_brickyard() => {
                    eprintln!("without {name} under TLS: {error:#}");
                    let version = &found.version;
                    missing.push(format!(
                        "{name} {version} was found here without TLS: the build has none."
                    ));
                    continue;
                }
                Err(error) => return Err(error).with_context(|| format!("with {name}")),
            };
            let target = process.target.clone();
            process.run(&campaign.options(&target, load, OF_CLIENTS[1]).filling())?;
            entrants.push(Entrant {
                name: format!("{name} {}", found.version),
                peer: found.peer,
                is_secure,
                processes: vec![process],
                target,
                cells: vec![Rounds(Vec::new()); OF_CLIENTS.len()],
            });
        }
    }
    Ok((entrants, missing))
}

fn one(campaign: &Campaign<'_>, found: &Found, tls: Option<&Files>) -> anyhow::Result<Process> {
    let [port, brick_port] = free_ports().context("cannot find free ports")?;
    let setup = Setup::of(Durability::Memory);
    let mut process = Process::spawn(found, port, campaign.dir, |data| {
        let mut command = found.command(&setup, port, brick_port, data);
        match tls {
            None => {}
            Some(files) if found.peer.is_brickyard() => {
                command.arg("--client-cert").arg(&files.certificate);
                command.arg("--client-key").arg(&files.key);
            }
            Some(files) => {
                // The last word on a setting counts.
                command.args(["--port", "0", "--tls-port", &port.to_string()]);
                command.arg("--tls-cert-file").arg(&files.certificate);
                command.arg("--tls-key-file").arg(&files.key);
                command.arg("--tls-ca-cert-file").arg(&files.authority);
                command.args(["--tls-auth-clients", "no"]);
            }
        }
        command
    })?;
    process.target.tls = tls.map(Files::dialer).transpose()?;
    process.ready()
}

/// Three nodes that hold the same.
fn three(
    campaign: &Campaign<'_>,
    found: &Found,
    tls: Option<&Files>,
    load: Load,
) -> anyhow::Result<Entrant> {
    let first = free_block()?;
    let mut processes = Vec::new();
    for number in 0..NODES {
        let port = match number {
            0 => first,
            _ => free_block()?,
        };
        let process = Process::spawn(found, port, campaign.dir, |data| {
            let mut command = found.program();
            command.args(["server", "--bricks", "1", "--http", "off"]);
            command.args(["--listen", &format!("127.0.0.1:{port}")]);
            command.args(["--brick-port", &(port + 1).to_string()]);
            // Nodes take each other's port for peers to be as far from the node port as their own.
            command.args(["--peer-port", &(port + 2).to_string()]);
            if number > 0 {
                command.args(["--join", &format!("127.0.0.1:{first}")]);
            }
            if let Some(files) = tls {
                command.arg("--peer-cert").arg(&files.certificate);
                command.arg("--peer-key").arg(&files.key);
                command.arg("--peer-ca").arg(&files.authority);
            }
            command.arg("--data").arg(data);
            command
        })?;
        processes.push(process.ready()?);
        if number == 0 {
            // Made where there is one brick: three would get three partitions at least, and lead one each.
            let create = ["TABLE", "CREATE", TABLE, "PARTITIONS", "1", "REPLICAS", "1"];
            must(&processes[0].target, "the table", &create)?;
        }
    }
    let node = processes[0].target.clone();
    let alter = ["TABLE", "ALTER", TABLE, "REPLICAS", "3"];
    must(&node, "its copies", &alter)?;
    let mut target = Target {
        table: Some(TABLE.to_owned()),
        ..node
    };
    target.address = poll("three replicas", || {
        Ok(primary(&Link::open(&target)?.call(&["CLUSTER", "SLOTS"])?))
    })?;
    brickyard_bench::run(&campaign.options(&target, load, OF_NODES[0]).filling())?;
    Ok(Entrant {
        name: format!("{} {}", found.peer.name(), found.version),
        peer: found.peer,
        is_secure: tls.is_some(),
        processes,
        target,
        cells: vec![Rounds(Vec::new()); OF_NODES.len()],
    })
}

/// A port with two free ones behind it.
fn free_block() -> anyhow::Result<u16> {
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    (0..100)
        .filter_map(|_| free_ports().ok().map(|[port]: [u16; 1]| port))
        .find(|port| port.checked_add(2).is_some() && is_free(port + 1) && is_free(port + 2))
        .context("cannot find three free ports in a row")
}

/// The address of the primary of all slots, once there are two backups.
fn primary(slots: &Value) -> Option<String> {
    let range = slots.elements()?.first()?.elements()?;
    let [host, port, ..] = range.get(2)?.elements()? else {
        return None;
    };
    let is_whole = range.len() == 2 + NODES;
    let host = String::from_utf8_lossy(host.bytes()?);
    is_whole.then(|| Some(format!("{host}:{}", port.integer()?)))?
}

/// Round by round, everybody in turn.
fn measure_all(
    campaign: &Campaign<'_>,
    entrants: &mut [Entrant],
    load: Load,
    cells: &[Cell],
) -> anyhow::Result<()> {
    for round in 1..=campaign.effort.rounds {
        eprintln!("TLS: round {round} of {}", campaign.effort.rounds);
        for (at, cell) in cells.iter().enumerate() {
            for entrant in &mut *entrants {
                let sample = campaign.sample_all(&entrant.processes, &entrant.target, load, *cell);
                let sample = sample.with_context(|| format!("with {}", entrant.name))?;
                entrant.cells[at].0.push(sample);
            }
        }
    }
    Ok(())
}

fn median(rounds: &Rounds) -> f64 {
    rounds.median(Sample::cpu_us)
}

fn with_spread(rounds: &Rounds) -> String {
    let all = rounds.0.iter().map(Sample::cpu_us);
    let (least, most) = all.fold((f64::INFINITY, 0.0_f64), |(least, most), it| {
        (least.min(it), most.max(it))
    });
    format!("{:.3} ({least:.3} to {most:.3})", median(rounds))
}

fn write_clients(out: &mut String, entrants: &[Entrant]) {
    for (at, cell) in OF_CLIENTS.iter().enumerate() {
        title(out, *cell);
        *out += "| server | in the clear, us/op | TLS, us/op | TLS to clear | TLS, to Redis's | p99 us, clear | TLS |\n|---|---|---|---|---|---|---|\n";
        let secure = |peer: Peer| {
            let mut all = entrants.iter();
            all.find(|it| it.peer == peer && it.is_secure)
                .map(|it| &it.cells[at])
        };
        let redis = secure(Peer::Redis).map(median);
        for clear in entrants.iter().filter(|it| !it.is_secure) {
            let own = &clear.cells[at];
            let tls = secure(clear.peer);
            let p99 = |rounds: &Rounds| rounds.median(|sample| sample.p99_us);
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {:.0} | {} |",
                clear.name,
                with_spread(own),
                tls.map_or_else(|| "-".to_owned(), with_spread),
                tls.map_or_else(|| "-".to_owned(), |it| ratio(median(it), Some(median(own)))),
                tls.map_or_else(|| "-".to_owned(), |it| ratio(median(it), redis)),
                p99(own),
                tls.map_or_else(|| "-".to_owned(), |it| format!("{:.0}", p99(it))),
            );
        }
        out.push('\n');
    }
}

fn write_nodes(out: &mut String, entrants: &[Entrant]) {
    for (at, cell) in OF_NODES.iter().enumerate() {
        title(out, *cell);
        *out += "| between nodes | CPU us/op, all three | to the clear | ops/s | p50 us | p99 us |\n|---|---|---|---|---|---|\n";
        for entrant in entrants {
            let rounds = &entrant.cells[at];
            let clear = entrants
                .iter()
                .find(|it| it.peer == entrant.peer && !it.is_secure);
            let _ = writeln!(
                out,
                "| {}, {} | {} | {} | {:.0} | {:.0} | {:.0} |",
                entrant.name,
                if entrant.is_secure {
                    "mutual TLS"
                } else {
                    "in the clear"
                },
                with_spread(rounds),
                ratio(median(rounds), clear.map(|it| median(&it.cells[at]))),
                rounds.median(|sample| sample.count_per_s),
                rounds.median(|sample| sample.p50_us),
                rounds.median(|sample| sample.p99_us),
            );
        }
        out.push('\n');
    }
}

fn title(out: &mut String, cell: Cell) {
    let _ = writeln!(
        out,
        "**{}, pipeline {}, {} connections**\n",
        cell.operation.name().to_uppercase(),
        cell.pipeline,
        cell.connections
    );
}

impl Files {
    fn make(dir: &Path) -> anyhow::Result<Self> {
        let (authority, own) = Authority::new("measured here", VALID)?;
        let node = authority.issue(&CertificateRequest {
            name: "node",
            role: CertificateRole::Node,
            hosts: &[],
            validity: VALID,
        })?;
        let put = |name: &str, text: &str| -> anyhow::Result<PathBuf> {
            let path = dir.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
            Ok(path)
        };
        Ok(Self {
            authority: put("ca.crt", &own.certificate)?,
            certificate: put("node.crt", &node.certificate)?,
            key: put("node.key", &node.key)?,
        })
    }

    fn dialer(&self) -> anyhow::Result<Dialer> {
        Ok(Dialer::read(DialerFiles {
            authority: self.authority.clone(),
            identity: None::<IdentityFiles>,
        })?)
    }
}
