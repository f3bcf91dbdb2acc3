//! `brickyard dev`: a ready cluster on this machine, for trying things out.
//!
//! In:  how many nodes, where. Out: a node in this very process, or several that are its children.
//! The work on several is in `crate::dev`.

use crate::{
    dev::{
        cluster::{self, DevOptions},
        ports::REDIS,
        remote::{self, Request},
    },
    settings::SettingsArguments,
};
use anyhow::{Context as _, bail};
use brickyard_server::{ListenAddresses, RunningNode, Signals, log};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Nodes of a new cluster, unless told otherwise: as many as it takes to go on without one.
const NODES: u16 = 3;

const EXAMPLES: &str = "\
Examples:
  brickyard dev                       three nodes, one cluster; Ctrl-C ends and removes it
  brickyard dev kill 2                (in another terminal) as kill -9 of node 2
  brickyard dev start 2               node 2 again, on its data
  brickyard dev --dir trial           a cluster that is there again the next time
  brickyard dev --nodes 1             a node alone, with a brick for each core";

/// What `brickyard dev` takes.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = false)]
pub(crate) struct Arguments {
    /// Keep the data in this directory; otherwise in a temporary one that is removed at the end
    #[arg(long, value_name = "DIR", global = true)]
    dir: Option<PathBuf>,
    /// How many nodes [default: 3, or what the directory has]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=16))]
    nodes: Option<u16>,
    /// How many bricks a node [default: 1, of a node alone one for each core, or what the directory has]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=128))]
    bricks: Option<u16>,
    /// The first node port, with the others, bricks and HTTP above it [default: 6379, or free ones if taken]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// What is asked of the cluster that runs.
#[derive(Clone, Copy, Debug, Subcommand)]
enum Verb {
    /// Kill a node, as kill -9 does
    Kill {
        /// Its number
        node: usize,
    },
    /// Stop a node: it hands over what it has, and ends
    Stop {
        /// Its number
        node: usize,
    },
    /// Start a node that was killed or stopped, or has ended by itself
    Start {
        /// Its number
        node: usize,
    },
    /// List the nodes
    List,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let dir = arguments.dir.as_deref();
    match arguments.verb {
        Some(verb) => {
            let request = match verb {
                Verb::Kill { node } => Request::Kill(node),
                Verb::Stop { node } => Request::Stop(node),
                Verb::Start { node } => Request::Start(node),
                Verb::List => Request::List,
            };
            remote::ask(request, dir)?;
        }
        None if is_alone(arguments.nodes, dir)? => run_alone(arguments)?,
        None => cluster::run(&DevOptions {
            nodes: arguments.nodes,
            nodes_default: NODES,
            bricks: arguments.bricks,
            first_port: arguments.port,
            dir: arguments.dir.clone(),
        })?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether it is to be one node in this process: asked for, or what the directory has.
fn is_alone(nodes: Option<u16>, dir: Option<&Path>) -> anyhow::Result<bool> {
    let has_node = dir.is_some_and(|dir| dir.join("FORMAT").exists());
    let has_cluster = dir.is_some_and(|dir| dir.join("dev.json").exists());
    match nodes {
        Some(1) if !has_cluster => Ok(true),
        Some(asked) if asked > 1 && has_node => {
            bail!("the directory is that of a node alone; choose another --dir for {asked} nodes")
        }
        _ => Ok(has_node),
    }
}

fn run_alone(arguments: &Arguments) -> anyhow::Result<()> {
    let is_temporary = arguments.dir.is_none();
    let port = arguments.port.unwrap_or_else(default_port);
    let loaded = settings(arguments, port).load()?;
    let config = &loaded.config;
    log::start(config.log_format, &config.log_level).map_err(anyhow::Error::msg)?;
    let node = RunningNode::start(config, Signals::Handle).context("the node cannot start")?;
    print!("{}", greeting(node.addresses(), arguments.dir.as_deref()));
    node.wait();
    if is_temporary {
        println!("Stopped; the temporary data is removed.");
    } else {
        println!("Stopped; the data is kept.");
    }
    Ok(())
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
    let is_free = std::net::TcpListener::bind(("127.0.0.1", REDIS)).is_ok();
    if is_free { REDIS } else { 0 }
}

fn greeting(addresses: &ListenAddresses, dir: Option<&Path>) -> String {
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
         brickyard bench --address {node}\n\n\
         Ctrl-C stops it.\n",
        node = addresses.node,
    );
    out
}

#[cfg(test)]
#[path = "dev_test.rs"]
mod dev_test;
