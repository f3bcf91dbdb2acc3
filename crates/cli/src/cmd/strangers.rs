//! `brickyard torture strangers`: people who are not let in, at every port, while others are served.
//!
//! In:  how long, how many. Out: a table, a page. The work is in `crate::torture::strangers`.

use crate::exit;
use crate::torture::strangers::campaign;
use crate::torture::strangers::plan::Plan;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// A lap takes as long as the longest that a port bears somebody who says nothing, and some more.
const PATIENCE: f64 = 70.0;

/// What `brickyard torture strangers` takes.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// How long; the lap that is under way then is seen through
    #[arg(long, value_name = "N", default_value_t = 5.0, value_parser = minutes)]
    minutes: f64,
    /// How long the load is measured before strangers come
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    quiet: f64,
    /// How long a stranger stays who is not sent away
    #[arg(long, value_name = "SECONDS", default_value_t = PATIENCE, value_parser = seconds)]
    patience: f64,
    /// Connections that are held and made anew all the while, spread over all ports
    #[arg(long, value_name = "N", default_value_t = 3000, value_parser = clap::value_parser!(u16).range(0..=20_000))]
    connections: u16,
    /// Nodes of the cluster
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(2..=9))]
    nodes: u16,
    /// Bricks of each node
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=8))]
    bricks: u16,
    /// First port; the nodes and two more take those from there on
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Where the page goes, as Markdown
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Keep data and logs in this directory; otherwise they are removed unless something was wrong
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let is_good = campaign::run(&Plan {
        time: Duration::from_secs_f64(arguments.minutes * 60.0),
        quiet: Duration::from_secs_f64(arguments.quiet),
        patience: Duration::from_secs_f64(arguments.patience),
        nodes: arguments.nodes,
        bricks: arguments.bricks,
        connections: usize::from(arguments.connections),
        port: arguments.port,
        page: arguments.page,
        dir: arguments.dir,
    })?;
    Ok(if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(exit::NOT_WHOLE)
    })
}

fn minutes(text: &str) -> Result<f64, String> {
    within(text, "minutes", 0.01..=100_000.0)
}

fn seconds(text: &str) -> Result<f64, String> {
    within(text, "seconds", 0.5..=600.0)
}

/// A number of a unit, within bounds.
pub(super) fn within(
    text: &str,
    unit: &str,
    bounds: std::ops::RangeInclusive<f64>,
) -> Result<f64, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| format!("'{text}' is not a number of {unit}"))?;
    if bounds.contains(&number) {
        Ok(number)
    } else {
        let (least, most) = bounds.into_inner();
        Err(format!("{number} {unit}: choose from {least} to {most}"))
    }
}
