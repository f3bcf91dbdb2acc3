//! `brickyard dev`: a ready node on this machine, for trying things out.

use crate::settings::SettingsArguments;
use anyhow::Context as _;
use brickyard_server::{Addresses, Node, Signals, log};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// What `brickyard dev` takes.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Keep the data in this directory; otherwise in a temporary one that is removed at the end
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// How many bricks [default: one for each core, or what the directory has]
    #[arg(long, value_name = "N")]
    bricks: Option<u32>,
    /// The node port; bricks and HTTP have those after it [default: 6379, or free ones if taken]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let is_temporary = arguments.dir.is_none();
    let port = arguments.port.unwrap_or_else(default_port);
    let loaded = settings(&arguments, port).load()?;
    let config = &loaded.config;
    log::start(config.log_format, &config.log_level).map_err(anyhow::Error::msg)?;
    let node = Node::start(config, Signals::Handle).context("the node cannot start")?;
    print!("{}", greeting(node.addresses(), arguments.dir.as_deref()));
    node.wait();
    if is_temporary {
        println!("Stopped; the temporary data is removed.");
    } else {
        println!("Stopped; the data is kept.");
    }
    Ok(ExitCode::SUCCESS)
}

fn settings(arguments: &Arguments, port: u16) -> SettingsArguments {
    let mut settings = SettingsArguments::default();
    settings.set_default("listen", format!("127.0.0.1:{port}"));
    // The terminal is for the greeting; warnings still show.
    settings.set_default("log_level", "warn");
    match &arguments.dir {
        Some(dir) => settings.set_default("data", dir.display().to_string()),
        None => settings.set_default("temporary", "true"),
    }
    if let Some(bricks) = arguments.bricks {
        settings.set_default("bricks", bricks.to_string());
    }
    settings
}

/// Redis's port if it is free; a Redis that runs here already must not be in the way of a trial.
fn default_port() -> u16 {
    const REDIS: u16 = 6379;
    let is_free = std::net::TcpListener::bind(("127.0.0.1", REDIS)).is_ok();
    if is_free { REDIS } else { 0 }
}

fn greeting(addresses: &Addresses, dir: Option<&std::path::Path>) -> String {
    let port = addresses.node.port();
    let bricks: Vec<String> = addresses.bricks.iter().map(ToString::to_string).collect();
    let data = dir.map_or_else(
        || "a temporary directory, removed at the end".to_owned(),
        |dir| dir.display().to_string(),
    );
    let mut out = format!(
        "Brickyard is ready.\n\n  \
         any client     redis://{node}\n  \
         cluster mode   {bricks}\n",
        node = addresses.node,
        bricks = bricks.join(", "),
    );
    if let Some(http) = addresses.http {
        out += &format!("  metrics        http://{http}/metrics\n");
        out += &format!("  status         http://{http}/status\n");
    }
    out += &format!(
        "  data           {data}\n\n\
         Try:\n  \
         redis-cli -p {port} set greeting hello\n  \
         redis-cli -p {port} get greeting\n  \
         redis-cli -p {port} table create orders durability fsync\n  \
         brickyard bench --at {node}\n\n\
         Ctrl-C stops it.\n",
        node = addresses.node,
    );
    out
}

#[cfg(test)]
#[path = "dev_test.rs"]
mod dev_test;
