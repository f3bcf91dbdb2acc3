//! `brickyard torture`: failures on real processes, under a load that remembers everything, checked.
//!
//! In:  how long, which failures, a seed. Out: a report of one page. The work is in `crate::torture`.

use super::strangers;
use crate::exit;
use crate::torture::campaign;
use crate::torture::plan::{Durability, PATIENCE, Plan};
use brickyard_torture::Failure;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const EXAMPLES: &str = "\
Examples:
  brickyard torture                            five minutes, every failure that this machine permits
  brickyard torture --minutes 60 --nodes 5     longer, on more nodes
  brickyard torture --only kill,kill-leader    those alone
  brickyard torture --seed 7 --rounds 9        the same failures in the same order as another time
  brickyard torture --records 300000           with so much to make good after each failure
  brickyard torture --laps 5 --replicas 3      every failure five times: medians and the worst
  brickyard torture strangers --minutes 60     an hour of people who are not let in, instead

The cluster is a new one on this machine, and ends with the command. Cuts take root and the programs `ip`
and `tc`, failures of disks root, a loop device, mkfs.ext4 and fsfreeze.";

/// What `brickyard torture` takes.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    instead: Option<Instead>,
    /// How long; the failure that is under way then is seen through
    #[arg(long, value_name = "N", default_value_t = 5.0, value_parser = minutes)]
    minutes: f64,
    /// Most failures
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Every failure so many times, however long that takes
    #[arg(long, value_name = "N", conflicts_with_all = ["minutes", "rounds"], value_parser = clap::value_parser!(u16).range(1..=1000))]
    laps: Option<u16>,
    /// After how long a client gives a silent connection up, and asks somebody else
    #[arg(long, value_name = "SECONDS", default_value_t = PATIENCE.as_secs_f64(), value_parser = patience)]
    patience: f64,
    /// Nodes of the cluster
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=9))]
    nodes: u16,
    /// Bricks of each node
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=16))]
    bricks: u16,
    /// Replicas of the table
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=9))]
    replicas: u16,
    /// Durability of the table
    #[arg(long, value_name = "KIND", default_value = "log")]
    durability: Durability,
    /// Records that are there beside the few that clients use: what a node that was away has to make good, and what a restart reads
    #[arg(long, value_name = "N", default_value_t = 0)]
    records: u32,
    /// These failures alone [default: all that this machine permits]
    #[arg(long, value_name = "FAILURE,...", value_delimiter = ',')]
    only: Vec<Failure>,
    /// Which failures come in which order [default: drawn, and told]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Where the report goes
    #[arg(long, value_name = "FILE", default_value = "torture.html")]
    report: PathBuf,
    /// Keep data and logs in this directory; otherwise they are removed unless something was wrong
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// What is tried instead of failures.
#[derive(Debug, Subcommand)]
enum Instead {
    /// People who are not let in, at every port, while others are served
    Strangers(strangers::Arguments),
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    if let Some(Instead::Strangers(strangers)) = arguments.instead {
        return strangers::run(strangers);
    }
    anyhow::ensure!(
        arguments.replicas <= arguments.nodes,
        "--replicas {} on --nodes {}: each replica takes a node of its own; ask for fewer replicas or more nodes",
        arguments.replicas,
        arguments.nodes
    );
    let mut kinds = if arguments.only.is_empty() {
        permitted()
    } else {
        arguments.only
    };
    kinds.retain(|kind| {
        let is_possible = kind.nodes() <= arguments.nodes;
        if !is_possible {
            eprintln!("Without {}: it takes {} nodes", kind.title(), kind.nodes());
        }
        is_possible
    });
    let seed = arguments.seed.unwrap_or_else(drawn);
    println!("Seed {seed}.");
    let laps = arguments.laps.map(|laps| usize::from(laps) * kinds.len());
    let minutes = Duration::from_secs_f64(arguments.minutes * 60.0);
    let is_good = campaign::run(&Plan {
        time: laps.is_none().then_some(minutes),
        rounds: laps.or(arguments.rounds),
        nodes: arguments.nodes,
        bricks: arguments.bricks,
        replicas: arguments.replicas,
        durability: arguments.durability,
        records: arguments.records,
        kinds,
        seed,
        patience: Duration::from_secs_f64(arguments.patience),
        report: arguments.report,
        dir: arguments.dir,
    })?;
    Ok(if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(exit::NOT_WHOLE)
    })
}

/// All failures, but for cuts and those of disks where the machine does not permit them.
fn permitted() -> Vec<Failure> {
    let network = brickyard_torture::Network::new(1);
    if let Err(error) = &network {
        eprintln!("Without cuts: {error}");
    }
    let dir = tempfile::tempdir();
    let disk = dir
        .as_ref()
        .map(|it| brickyard_torture::SlowDisk::new(it.path(), "tried"));
    let has_disks = match &disk {
        Ok(Ok(_)) => true,
        Ok(Err(error)) => {
            eprintln!("Without failures of disks: {error}");
            false
        }
        Err(error) => {
            eprintln!("Without failures of disks: no temporary directory: {error}");
            false
        }
    };
    Failure::ALL
        .into_iter()
        .filter(|kind| (network.is_ok() || !kind.is_cut()) && (has_disks || !kind.is_disk()))
        .collect()
}

fn drawn() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    // Short, so that people can type it.
    since.map_or(1, |since| since.as_nanos() as u64 % 1_000_000)
}

fn minutes(text: &str) -> Result<f64, String> {
    strangers::within(text, "minutes", 0.01..=100_000.0)
}

fn patience(text: &str) -> Result<f64, String> {
    strangers::within(text, "seconds", 0.05..=60.0)
}
