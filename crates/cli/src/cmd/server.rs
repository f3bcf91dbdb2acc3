//! `brickyard server`: run a node until it is told to stop.

use crate::settings::SettingsArguments;
use anyhow::Context as _;
use brickyard_server::{RunningNode, Signals, log};
use clap::Args;
use std::process::ExitCode;

/// What `brickyard server` takes.
#[derive(Args, Debug)]
#[command(after_help = "\
SIGTERM or SIGINT stops the node gracefully, a second one at once. `brickyard config print` shows
every setting with its reason; docs/operations.md tells how to run a server.")]
pub(crate) struct Arguments {
    /// Stop when the process with this id, which has started this one, ends
    #[arg(long, value_name = "PROCESS")]
    stop_with: Option<i32>,
    #[command(flatten)]
    settings: SettingsArguments,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    if let Some(parent) = arguments.stop_with {
        stop_with(parent)?;
    }
    let loaded = arguments.settings.load()?;
    let config = &loaded.config;
    log::start(config.log_format, &config.log_level).map_err(anyhow::Error::msg)?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let node = RunningNode::start(config, Signals::Handle).context("the server cannot start")?;
    let addresses = node.addresses();
    let bricks: Vec<String> = addresses.bricks.iter().map(ToString::to_string).collect();
    let http = addresses
        .http
        .map_or_else(|| "off".to_owned(), |http| http.to_string());
    tracing::info!(
        node = %addresses.node,
        bricks = bricks.join(" "),
        http,
        version = env!("CARGO_PKG_VERSION"),
        "READY"
    );
    node.wait();
    Ok(ExitCode::SUCCESS)
}

/// Asks the system for SIGTERM at the end of the parent, however that comes.
fn stop_with(parent: i32) -> anyhow::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
        .context("--stop-with: the system does not take the wish")?;
    // It may have ended before it was asked for.
    let is_there = rustix::process::getppid().is_some_and(|it| it.as_raw_nonzero().get() == parent);
    if !is_there {
        anyhow::bail!("--stop-with {parent}: that process has not started this one, or has ended");
    }
    Ok(())
}
