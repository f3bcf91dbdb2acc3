//! `brickyard server`: run a node until it is told to stop.

use crate::settings::SettingsArguments;
use anyhow::Context as _;
use brickyard_server::{Node, Signals, log};
use clap::Args;
use std::process::ExitCode;

/// What `brickyard server` takes.
#[derive(Args, Debug)]
#[command(after_help = "\
SIGTERM or SIGINT stops the node gracefully, a second one at once. `brickyard config print` shows
every setting with its reason; docs/operations.md tells how to run a server.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    settings: SettingsArguments,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let loaded = arguments.settings.load()?;
    let config = &loaded.config;
    log::start(config.log_format, &config.log_level).map_err(anyhow::Error::msg)?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let node = Node::start(config, Signals::Handle).context("the server cannot start")?;
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
