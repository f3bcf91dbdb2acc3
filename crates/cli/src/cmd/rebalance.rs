//! `brickyard rebalance`: what has to move so that every brick holds its share; pausing it, waiting for it.
//!
//! In:  a node. Out: the moves with bytes and time, or a bar until they are done.
//! Nodes move partitions by themselves: nothing here has to run for it.

use crate::{
    placement::{server::Server, text, wait},
    target::{ADDRESS_DEFAULT, TargetArguments},
};
use clap::{Args, Subcommand};
use std::{
    io::{self, Write as _},
    process::ExitCode,
};

const EXPLANATION: &str = "\
Nodes move partitions by themselves, a few at a time, while clients go on: when a node joins, leaves or gets another
weight, and after a failure. Without a word this command lets moves begin, if they were paused, and shows how far they
are until everything is where it should be. Stopping it stops no move.

Bytes are those that the node asked has of each table, on the average; the time is what they take at --pace.";

/// What `brickyard rebalance` takes.
#[derive(Args, Debug)]
#[command(after_help = EXPLANATION)]
pub(crate) struct Arguments {
    /// Node to ask, HOST:PORT
    #[arg(long, value_name = "HOST:PORT", default_value = ADDRESS_DEFAULT, global = true)]
    address: String,
    #[command(flatten)]
    target: TargetArguments,
    /// Show what would move, with bytes and time, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Bytes a second that a brick learns, for the time that is shown: recovery_bandwidth, or what was seen
    #[arg(long, value_name = "BYTES", default_value_t = 50_000_000)]
    pace: u64,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Clone, Copy, Debug, Subcommand)]
enum Verb {
    /// Begin no more moves; copies that are missing are made all the same.
    Pause,
    /// Let moves begin again, and return.
    Resume,
    /// Show how much has to move still.
    Status,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let target = arguments.target.target(&arguments.address)?;
    let mut server = Server::open(target)?;
    let mut output = io::stdout().lock();
    match arguments.verb {
        Some(Verb::Pause) => server.order(&["REBALANCE", "PAUSE"])?,
        Some(Verb::Resume) => server.order(&["REBALANCE", "RESUME"])?,
        Some(Verb::Status) => {
            let rebalance_status = server.rebalance_status()?;
            if arguments.json {
                writeln!(
                    output,
                    "{}",
                    serde_json::to_string_pretty(&rebalance_status)?
                )?;
            } else {
                write!(output, "{}", text::rebalance_status(&rebalance_status))?;
            }
        }
        None if arguments.dry_run => {
            let (moves, rebalance_status) = (server.plan()?, server.rebalance_status()?);
            if arguments.json {
                writeln!(output, "{}", serde_json::to_string_pretty(&moves)?)?;
            } else {
                write!(
                    output,
                    "{}",
                    text::plan(&moves, &rebalance_status, arguments.pace)
                )?;
            }
        }
        None => {
            server.order(&["REBALANCE", "RESUME"])?;
            wait::until_even(&mut server, "moving")?;
            write!(
                output,
                "{}",
                text::rebalance_status(&server.rebalance_status()?)
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
