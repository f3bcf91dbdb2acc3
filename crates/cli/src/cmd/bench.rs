//! `brickyard bench`: measures a server.
//!
//! In:  a server, a workload, a pace. Out: throughput, latency percentiles, refusals.
//! The work is in `brickyard-bench`.

use crate::target::{ADDRESS_DEFAULT, TargetArguments};
use anyhow::bail;
use brickyard_bench::{
    Arrivals, Distribution, KeySpace, Options, Pace, Protocol, Report, Target, Until, Workload,
    grouped,
};
use brickyard_client::{Graph, LookupStrategy, Lookups};
use clap::{Args, ValueEnum};
use std::{
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

const EXAMPLES: &str = "\
Examples:
  brickyard bench --fill --ratio 0.1                  write every key once, then 10 % writes
  brickyard bench --clients 8 --pipeline 100          as much as the server can do
  brickyard bench --rate 50000 --arrivals poisson     latency at 50,000 requests a second
  brickyard bench --ratio 1 --value 50..8000 --json   writes of all sizes, for a program
  brickyard bench --lookup C,R --cache 25%            as a client that knows a quarter of the partitions

With --rate the load is an open loop: latency counts from the moment at which a request was due, so
a server that stalls is charged for every request that had to wait. The client then spins on its
core; give it one of its own.

A cluster of several nodes is measured through the client library, as a program would use it.";

/// What `brickyard bench` takes.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Node to measure, HOST:PORT
    #[arg(long, value_name = "HOST:PORT", default_value = ADDRESS_DEFAULT)]
    address: String,
    #[command(flatten)]
    target: TargetArguments,
    /// Measure a server that speaks memcached's text protocol
    #[arg(long, conflicts_with = "through")]
    memcached: bool,
    /// How requests get there
    #[arg(long, value_enum, default_value_t = Through::Auto)]
    through: Through,
    #[command(flatten)]
    lookup: LookupArguments,
    #[command(flatten)]
    pace: PaceArguments,
    #[command(flatten)]
    workload: WorkloadArguments,
    #[command(flatten)]
    length: LengthArguments,
    /// Threads of the client
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// Seed of keys, values and waiting times
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How the client library finds who holds a key.
#[derive(Args, Debug)]
struct LookupArguments {
    /// Methods by which keys are found: D (the whole map), C,R (partitions asked for last, then asking the way), R, D,C,R
    #[arg(long, value_name = "METHODS", default_value = "D")]
    lookup: LookupStrategy,
    /// Most bytes that a client knows of the map, where not the whole is held
    #[arg(long, value_name = "BYTES", default_value_t = Lookups::default().map_bytes_max)]
    map_bytes: usize,
    /// Most partitions that a client remembers, as a share of them such as 50%
    #[arg(long, value_name = "PERCENT", default_value = "100%", value_parser = parse_percent)]
    cache: f64,
    /// Which partitions know which: chord or debruijn
    #[arg(long, value_name = "GRAPH", default_value = "chord")]
    graph: Graph,
    /// Go by one routing table at a time
    #[arg(long)]
    plain: bool,
}

impl LookupArguments {
    const fn lookups(&self) -> Lookups {
        Lookups {
            strategy: self.lookup,
            graph: self.graph,
            is_aggregated: !self.plain,
            map_bytes_max: self.map_bytes,
            cached_share_max: self.cache,
        }
    }
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>();
    let share = number.ok().filter(|it| (0.0..=100.0).contains(it));
    let wrong = || format!("'{text}' is no share; use a percentage from 0% to 100%");
    share.map(|it| it / 100.0).ok_or_else(wrong)
}

/// How fast requests come.
#[derive(Args, Debug)]
struct PaceArguments {
    /// Connections; through the client library, callers
    #[arg(long, value_name = "N", default_value_t = 50)]
    clients: usize,
    /// Requests that each of them sends before it waits for their replies (closed loop)
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "rate")]
    pipeline: usize,
    /// Requests a second, whether or not earlier ones are answered (open loop)
    #[arg(long, value_name = "PER SECOND")]
    rate: Option<f64>,
    /// How the requests of an open loop are spaced: constant or poisson
    #[arg(
        long,
        value_name = "KIND",
        default_value = "poisson",
        requires = "rate"
    )]
    arrivals: Arrivals,
    /// Requests of an open loop that may wait for replies; more are left out and counted
    #[arg(long, value_name = "N", default_value_t = 1_000_000, requires = "rate")]
    waiting: usize,
}

/// What is asked.
#[derive(Args, Debug)]
struct WorkloadArguments {
    /// Share of writes: 0 is only GET, 1 is only SET
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    ratio: f64,
    /// Number of keys
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    keys: u64,
    /// Length of a key, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 16)]
    key_bytes: usize,
    /// Which keys are asked for: uniform, zipf, zipf:EXPONENT or sequential
    #[arg(long, value_name = "KIND", default_value = "uniform")]
    distribution: Distribution,
    /// Length of a value, in bytes, or a range of lengths such as 50..8000
    #[arg(long, value_name = "BYTES", default_value = "150", value_parser = parse_sizes)]
    value: Sizes,
    /// Life of what is written, in milliseconds [default: for ever]
    #[arg(long, value_name = "MS")]
    expire: Option<u64>,
    /// Write every key once before measuring
    #[arg(long)]
    fill: bool,
}

/// How long it is asked.
#[derive(Args, Debug)]
struct LengthArguments {
    /// Load before measuring, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    warm_up: f64,
    /// How long to measure, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 10.0,
        conflicts_with = "count"
    )]
    duration: f64,
    /// Measure this many requests instead of a time
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

/// How requests get to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Through {
    /// The client library if the server belongs to a cluster of several nodes, else the address
    Auto,
    /// The client library: each request goes to the brick that has its key
    Client,
    /// Connections to that address alone, which cost the client least
    Address,
}

#[derive(Clone, Copy, Debug)]
struct Sizes {
    min: usize,
    max: usize,
}

fn parse_sizes(text: &str) -> Result<Sizes, String> {
    let number = |part: &str| {
        part.parse().map_err(|_| {
            format!("'{text}' is no length; use a number of bytes such as 150, or 50..8000")
        })
    };
    match text.split_once("..") {
        Some((min, max)) => Ok(Sizes {
            min: number(min)?,
            max: number(max)?,
        }),
        None => number(text).map(|size| Sizes {
            min: size,
            max: size,
        }),
    }
}

impl PaceArguments {
    fn pace(&self) -> Pace {
        match self.rate {
            Some(per_s) => Pace::Open {
                per_s,
                arrivals: self.arrivals,
                waiting_max: self.waiting,
            },
            None => Pace::Closed {
                pipeline: self.pipeline,
            },
        }
    }
}

impl WorkloadArguments {
    fn workload(&self) -> Workload {
        Workload {
            set_share: self.ratio,
            keys: KeySpace {
                count: self.keys,
                bytes: self.key_bytes,
                distribution: self.distribution,
            },
            value_bytes_min: self.value.min,
            value_bytes_max: self.value.max,
            expire_ms: self.expire,
        }
    }
}

impl LengthArguments {
    fn until(&self) -> Until {
        self.count
            .map_or_else(|| Until::Elapsed(seconds(self.duration)), Until::Count)
    }
}

fn seconds(count: f64) -> Duration {
    Duration::from_secs_f64(count.clamp(0.0, 1e9))
}

impl Arguments {
    fn options(&self, target: Target) -> Options {
        Options {
            target,
            workload: self.workload.workload(),
            pace: self.pace.pace(),
            until: self.length.until(),
            warm_up: seconds(self.length.warm_up),
            connections: self.pace.clients,
            threads: self.threads,
            seed: self.seed,
            drain_limit: Duration::from_secs(10),
        }
    }
}

/// Measures and prints the report.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut target = arguments.target.target(&arguments.address)?;
    if arguments.memcached {
        target.protocol = Protocol::Memcached;
    }
    target.lookups = arguments.lookup.lookups();
    let looks_up = target.lookups.strategy != LookupStrategy::Direct;
    if looks_up && arguments.through == Through::Address {
        bail!(
            "--lookup is of the client library, which --through address does without; leave out one of them"
        );
    }
    let through_client = match arguments.through {
        Through::Auto if looks_up => true,
        Through::Client => true,
        Through::Address => false,
        Through::Auto => brickyard_bench::has_several_nodes(&target)?,
    };
    let measure = if through_client {
        eprintln!(
            "through the client library, straight to the brick of each key; --through address does without"
        );
        brickyard_bench::run_through_client
    } else {
        brickyard_bench::run
    };
    let options = arguments.options(target);
    if arguments.workload.fill {
        report_fill(&measure(&options.filling())?);
    }
    let report = measure(&options)?;
    let mut output = io::stdout().lock();
    if arguments.json {
        writeln!(output, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        write!(output, "{report}")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn report_fill(report: &Report) {
    eprintln!(
        "filled {} keys in {:.2} s: {}/s",
        grouped(report.count),
        report.elapsed_s,
        grouped(report.count_per_s as u64)
    );
    for (kind, count) in &report.refused {
        eprintln!("refused by the server, {kind}: {}", grouped(*count));
    }
}

#[cfg(test)]
#[path = "bench_test.rs"]
mod bench_test;
