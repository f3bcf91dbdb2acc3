//! The program `brickyard`: one binary that serves, loads, dumps, measures and inspects.
//!
//! In:  the command line, the environment, standard input. Out: standard output for what was asked
//! for, standard error for what people should know, and an exit code (see [`exit`]).
//!
//! Each subcommand is a file in `cmd` with `Arguments` (what it takes) and `run` (what it does).
//! Not here: the server itself (`brickyard-server`), load generation (`brickyard-bench`).

mod advise;
mod backup;
mod cmd;
mod dev;
mod exit;
mod http;
mod import;
mod load;
mod placement;
mod reply_text;
mod settings;
mod status;
mod target;
mod tls;
mod top;
mod torture;

use brickyard_server::huge_pages;
use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A durable hash table that Redis clients use.
#[derive(Debug, Parser)]
#[command(name = "brickyard", version, propagate_version = true, after_help = exit::HELP)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a node.
    Server(cmd::server::Arguments),
    /// Run a ready-to-use cluster on this machine, for trying things out.
    Dev(cmd::dev::Arguments),
    /// Show how a cluster is: nodes, tables, partitions, what is missing.
    Status(cmd::status::Arguments),
    /// Show what a cluster is busy with: nodes, tables, hot and big keys, slow commands.
    Top(cmd::top::Arguments),
    /// Write the records of a file into a table.
    Load(cmd::load::Arguments),
    /// Move in from a Redis or Valkey: copy it while it is used, follow it, hand over.
    Import(cmd::import::Arguments),
    /// Write a table's records to standard output.
    Dump(cmd::dump::Arguments),
    /// Follow what changes in a table: as lines, into a file, or into another cluster.
    Watch(cmd::watch::Arguments),
    /// List, create, describe, change or drop tables.
    Table(cmd::table::Arguments),
    /// Measure this machine, and say which attributes fit a table.
    Advise(cmd::advise::Arguments),
    /// Back tables up while they are used; verify, list and restore backups.
    Backup(cmd::backup::Arguments),
    /// List, add, drain, remove or replace nodes.
    Node(cmd::node::Arguments),
    /// Show what has to move so that every brick has its share; pause it, wait for it.
    Rebalance(cmd::rebalance::Arguments),
    /// Measure a server: throughput, latency percentiles, refusals.
    Bench(cmd::bench::Arguments),
    /// Make nodes fail under load, and check what clients saw.
    Torture(cmd::torture::Arguments),
    /// Simulate whole clusters under failures, in virtual time, and check them.
    Sim(cmd::sim::Arguments),
    /// Repeat the papers' experiments on this machine, beside peers: one page with pictures.
    Experiments(cmd::experiments::Arguments),
    /// Look into a data directory: list, verify, repair.
    Inspect(cmd::inspect::Arguments),
    /// Make the certificates by which nodes know one another, and clients'.
    Cert(cmd::cert::Arguments),
    /// Print or check the configuration.
    Config(cmd::config::Arguments),
    /// Print a completion script for a shell.
    Completions(cmd::completions::Arguments),
    /// Print the manual, or write one page a subcommand into a directory.
    Man(cmd::man::Arguments),
}

fn main() -> ExitCode {
    huge_pages::spare();
    let command = CommandLine::parse().command;
    if !matches!(command, Command::Server(_)) {
        huge_pages::allow();
    }
    let result = match command {
        Command::Server(arguments) => cmd::server::run(arguments),
        Command::Dev(arguments) => cmd::dev::run(&arguments),
        Command::Status(arguments) => cmd::status::run(&arguments),
        Command::Top(arguments) => cmd::top::run(&arguments),
        Command::Load(arguments) => cmd::load::run(&arguments),
        Command::Import(arguments) => cmd::import::run(&arguments),
        Command::Dump(arguments) => cmd::dump::run(&arguments),
        Command::Watch(arguments) => cmd::watch::run(&arguments),
        Command::Table(arguments) => cmd::table::run(&arguments),
        Command::Advise(arguments) => cmd::advise::run(&arguments),
        Command::Backup(arguments) => cmd::backup::run(&arguments),
        Command::Node(arguments) => cmd::node::run(&arguments),
        Command::Rebalance(arguments) => cmd::rebalance::run(&arguments),
        Command::Bench(arguments) => cmd::bench::run(&arguments),
        Command::Torture(arguments) => cmd::torture::run(arguments),
        Command::Sim(arguments) => cmd::sim::run(&arguments),
        Command::Experiments(arguments) => cmd::experiments::run(&arguments),
        Command::Inspect(arguments) => cmd::inspect::run(arguments),
        Command::Cert(arguments) => cmd::cert::run(&arguments),
        Command::Config(arguments) => cmd::config::run(arguments),
        Command::Completions(arguments) => {
            cmd::completions::run(&arguments, &mut CommandLine::command())
        }
        Command::Man(arguments) => cmd::man::run(&arguments, CommandLine::command()),
    };
    result.unwrap_or_else(|error| exit::report(&error))
}
