//! `peers`: measures Brickyard beside other servers on this machine, and writes the result into
//! docs/benchmarks.md.
//!
//! In:  the servers that are found here. Out: tables in Markdown, between markers of the page.
//!
//! How it measures: each server is pinned to core 0 with all of its threads, the client to core 1.
//! All servers are up and filled before the first measurement, and rounds are interleaved (every
//! server does the same small piece of work in turn), so that a machine that slows down for a while
//! slows down all of them. What is compared is processor time of the server for one operation: unlike
//! operations a second it does not depend on how fast the client is.
//!
//! Reading order: in the library `peer` (which servers, how they are started) and `process` (a started one); then
//! `campaign` (what is measured), `steady`, `stalls`, `replication`, `secure`, `shape`, `overload`, `shares` (where time goes), `cores`
//! (more of them), `page` (the tables).

mod campaign;
mod cores;
mod overload;
mod page;
mod replication;
mod secure;
mod shape;
mod shares;
mod stalls;
mod steady;
mod tables;

use anyhow::{Context, bail};
use brickyard_bench::{
    echo::Echo,
    machine::Machine,
    peer::{Found, Peer},
};
use campaign::{Campaign, Effort};
use clap::{Parser, ValueEnum};
use std::{
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
};

const PAGE: &str = "docs/benchmarks.md";

/// Measure Brickyard beside redis-server, valkey-server and memcached.
#[derive(Debug, Parser)]
#[command(name = "peers")]
struct Arguments {
    /// What to measure
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Part::USUAL)]
    only: Vec<Part>,
    /// Which servers, of those that are found
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Peer::ALL)]
    peers: Vec<Peer>,
    /// The program under test
    #[arg(long, value_name = "PATH", default_value = "target/release/brickyard")]
    brickyard: PathBuf,
    /// A program of before, to be measured beside it in the same run
    #[arg(long, value_name = "PATH")]
    before: Option<PathBuf>,
    /// A few seconds of everything, to see that it works; the page is left alone
    #[arg(long)]
    quick: bool,
    /// Interleaved rounds [default: 5, or 1 with --quick]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Length of one measurement [default: 2, or 0.2 with --quick]
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
    /// The page to write into [default: docs/benchmarks.md, or none with --quick]
    #[arg(long, value_name = "PATH")]
    page: Option<PathBuf>,
    /// Where the servers keep their data; the file system matters for durability
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Serve as the echo server: length of a request
    #[arg(long, hide = true, requires = "echo_reply")]
    echo_request: Option<usize>,
    /// Serve as the echo server: length of the value in a reply, 0 for +OK
    #[arg(long, hide = true)]
    echo_reply: Option<usize>,
    /// Serve as the echo server: port
    #[arg(long, hide = true, default_value_t = 0)]
    echo_port: u16,
}

/// One section of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// GET and SET at pipeline 1 and 100, memory for a key
    Throughput,
    /// Values of 50 B to 8 KB
    Sizes,
    /// SET at each durability
    Durability,
    /// SET that two servers hold before it is acknowledged
    Replication,
    /// What TLS costs, for clients and between nodes; only when asked for
    Tls,
    /// SET once logs are cleaned as fast as they are written
    Steady,
    /// One partition or a hundred, one table or fifty
    Shape,
    /// Offered load of 1 to 10 times the capacity
    Overload,
    /// The longest wait in minutes of overwriting; only when asked for
    Stalls,
    /// Where the time of an operation goes, by perf; only when asked for
    Shares,
    /// What many cores would do, from what an operation costs here; only when asked for
    Cores,
}

impl Part {
    /// What is measured if nothing is asked for.
    const USUAL: [Self; 7] = [
        Self::Throughput,
        Self::Sizes,
        Self::Durability,
        Self::Steady,
        Self::Replication,
        Self::Shape,
        Self::Overload,
    ];

    /// The name of its markers in the page.
    const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Sizes => "sizes",
            Self::Durability => "durability",
            Self::Steady => "steady",
            Self::Replication => "replication",
            Self::Tls => "tls",
            Self::Shape => "shape",
            Self::Overload => "overload",
            Self::Stalls => "stalls",
            Self::Shares => "shares",
            Self::Cores => "cores",
        }
    }
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if let (Some(request), Some(reply)) = (arguments.echo_request, arguments.echo_reply) {
        return serve_echo(arguments.echo_port, request, reply);
    }
    let dir = match &arguments.dir {
        Some(dir) => tempfile::TempDir::new_in(dir),
        None => tempfile::TempDir::new(),
    }
    .context("cannot make a directory for the servers' data; give one with --dir")?;
    let found = find_peers(&arguments)?;
    let effort = Effort::new(arguments.quick, arguments.rounds, arguments.seconds);
    let page = match (&arguments.page, arguments.quick) {
        (Some(page), _) => Some(page.as_path()),
        (None, false) => Some(Path::new(PAGE)),
        (None, true) => None,
    };
    for part in &arguments.only {
        let campaign = Campaign {
            found: &found,
            effort: &effort,
            dir: dir.path(),
        };
        let body = match part {
            Part::Throughput => tables::throughput(&campaign)?,
            Part::Sizes => tables::sizes(&campaign)?,
            Part::Durability => tables::durability(&campaign)?,
            Part::Steady => steady::measure(&campaign)?,
            Part::Replication => replication::measure(&campaign)?,
            Part::Tls => secure::measure(&campaign)?,
            Part::Shape => shape::measure(&campaign)?,
            Part::Overload => overload::measure(&campaign)?,
            Part::Stalls => stalls::measure(&campaign)?,
            Part::Shares => shares::measure(&campaign)?,
            Part::Cores => cores::measure(&campaign)?,
        };
        // As it could be typed again; the directories of this machine are nobody's business.
        let command = format!(
            "cargo run --release -p brickyard-bench --bin peers -- --only {} --rounds {} --seconds {}",
            part.name(),
            effort.rounds,
            effort.duration.as_secs_f64(),
        );
        let body = format!("{}\n{body}", Machine::here(dir.path()).describe(&command));
        println!("{body}");
        std::io::stdout().flush()?;
        if let Some(page) = page {
            page::replace(page, part.name(), &body)?;
            eprintln!("wrote the section '{}' of {}", part.name(), page.display());
        }
    }
    Ok(())
}

fn find_peers(arguments: &Arguments) -> anyhow::Result<Vec<Found>> {
    let mut found = Vec::new();
    for peer in &arguments.peers {
        if *peer == Peer::Before && arguments.before.is_none() {
            continue;
        }
        match peer.find(&arguments.brickyard, arguments.before.as_deref()) {
            Ok(one) => found.push(one),
            Err(error) => eprintln!("without {}: {error:#}", peer.name()),
        }
    }
    if found.is_empty() {
        bail!("no server was found; build Brickyard with cargo build --release");
    }
    Ok(found)
}

/// The echo server is a process of its own, so that it can be pinned and its time be read.
fn serve_echo(port: u16, request_bytes: usize, value_bytes: usize) -> anyhow::Result<()> {
    let reply = match value_bytes {
        0 => b"+OK\r\n".to_vec(),
        _ => format!("${value_bytes}\r\n{}\r\n", "x".repeat(value_bytes)).into_bytes(),
    };
    let echo = Echo {
        request_bytes,
        reply,
    };
    echo.serve(SocketAddr::from(([127, 0, 0, 1], port)), |_| {})
        .context("the echo server stopped")
}
