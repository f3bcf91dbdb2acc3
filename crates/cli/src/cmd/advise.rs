//! `brickyard advise`: which attributes fit a table, by what this machine does.
//!
//! In:  a workload, a directory on the disk that is to be used. Out: measurements, a ranking, commands; or the same as JSON.
//! The work is in `crate::advise`.

use crate::advise::{
    device::{self, DeviceLimits},
    machine::{MachineFigures, disk_free_bytes, memory_bytes},
    ranking::{AdvisedWorkload, Outlives, best, rank},
    text::render,
    trial,
};
use anyhow::Context as _;
use brickyard_types::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use clap::Args;
use indicatif::ProgressBar;
use serde_json::json;
use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

const EXAMPLES: &str = "\
Examples:
  brickyard advise --reads 0.9 --keys 1e8 --value-bytes 150
  brickyard advise --reads 0.5 --keys 1e7 --value-bytes 8000 --nodes 3 --dir /var/lib/brickyard --json

What a table costs is what a client waits for its operations, one at a time, weighed by how often they come. It is measured here and now, with a node of one brick
and a file that are removed afterwards: so let nothing else run, and name a directory on the disk that the data will be on.";

/// What `brickyard advise` takes.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Share of reads among all operations, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share)]
    reads: f64,
    /// How many keys, also as 1e8
    #[arg(long, value_name = "N", value_parser = count)]
    keys: u64,
    /// Length of a key, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=KEY_BYTES_MAX as u64))]
    key_bytes: u64,
    /// Length of a value, in bytes
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=VALUE_BYTES_MAX as u64))]
    value_bytes: u64,
    /// How many nodes like this one there will be
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    nodes: u32,
    /// What a message takes between two of them, there and back, in microseconds; it is not measured
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 200.0)]
    round_trip_us: f64,
    /// Directory on the disk that is measured; nothing stays in it
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// How long each of some twenty measurements takes, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.4, value_parser = seconds)]
    seconds: f64,
    /// Megabytes that are written to measure the disk, at most
    #[arg(long, value_name = "MB", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    disk_mb: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|it| (0.0..=1.0).contains(it));
    share.ok_or_else(|| "use a number from 0 to 1".to_owned())
}

fn count(text: &str) -> Result<u64, String> {
    let count = text.parse::<f64>().ok();
    let count = count.filter(|it| (1.0..=1e13).contains(it));
    count
        .map(|it| it.round() as u64)
        .ok_or_else(|| "use a number from 1 to 1e13".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|it| (0.01..=60.0).contains(it));
    seconds.ok_or_else(|| "use a number from 0.01 to 60".to_owned())
}

/// Measures, ranks, prints.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let workload = AdvisedWorkload {
        reads: arguments.reads,
        keys: arguments.keys,
        key_bytes: arguments.key_bytes,
        value_bytes: arguments.value_bytes,
        nodes: arguments.nodes,
        round_trip_us: arguments.round_trip_us,
    };
    let machine = measure(arguments, &workload)?;
    let choices = rank(&workload, &machine);
    let mut out = io::stdout().lock();
    if arguments.json {
        let promises = [Outlives::Nothing, Outlives::ProcessKill, Outlives::PowerCut];
        let commands: Vec<_> = promises
            .into_iter()
            .filter_map(|outlives| {
                let choice = best(&choices, outlives, workload.nodes.min(2))?;
                Some(json!({ "outlives": outlives, "command": choice.command() }))
            })
            .collect();
        let all = json!({
            "workload": workload,
            "machine": machine,
            "ranking": choices,
            "commands": commands,
        });
        writeln!(out, "{all:#}")?;
    } else {
        write!(out, "{}", render(&workload, &machine, &choices))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(arguments: &Arguments, workload: &AdvisedWorkload) -> anyhow::Result<MachineFigures> {
    let dir = &arguments.dir;
    let place = tempfile::Builder::new().prefix("advise-").tempdir_in(dir);
    let place = place.with_context(|| format!("cannot make a directory in {}", dir.display()))?;
    let each = Duration::from_secs_f64(arguments.seconds);
    let bar = ProgressBar::new_spinner();
    let step = |what: &str| {
        bar.set_message(format!("measuring {what}"));
        bar.tick();
    };
    step("the disk");
    let limits = DeviceLimits {
        each,
        bytes: (arguments.disk_mb as usize) << 20,
        value_bytes: workload.value_bytes as usize,
    };
    let device = device::measure(place.path(), limits)?;
    let trials = trial::measure(place.path(), workload, each, step)?;
    bar.finish_and_clear();
    Ok(MachineFigures {
        memory_bytes: memory_bytes(),
        disk_free_bytes: disk_free_bytes(dir)?,
        device,
        trials,
    })
}

#[cfg(test)]
mod advise_test {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        assert_eq!(count("1e8"), Ok(100_000_000));
        assert_eq!(count("1500"), Ok(1_500));
        assert_eq!(share("0.9"), Ok(0.9));
        for wrong in ["", "0", "-1", "1e20", "many", "nan"] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
        for wrong in ["1.1", "-0.1", "90%", "nan"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        assert!(seconds("0").is_err());
    }
}
