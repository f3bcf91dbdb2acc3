//! `brickyard node`: the nodes of a cluster, how they come and go.
//!
//! In:  a verb, the numbers of nodes. Out: a table of nodes; a bar until a node is filled or empty.
//! Not here: what may be done; the server checks it, and its words are passed on.

use crate::{
    placement::{
        server::Server,
        text,
        wait::{self, Left},
    },
    target::{ADDRESS_DEFAULT, TargetArguments},
};
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use std::{
    io::{self, Write as _},
    net::{TcpStream, ToSocketAddrs as _},
    process::ExitCode,
    thread::sleep,
    time::{Duration, Instant},
};

/// How long a node that votes no more may stay a voter: the others have to agree on it.
const VOTE_PATIENCE: Duration = Duration::from_secs(60);

/// What a server says of a node that still is one.
const VOTES: &str = "votes on the catalog";

/// How often a removal is asked for again.
const ASKED_EVERY: Duration = Duration::from_millis(200);

/// How long a node may take to be connected to.
const CONNECT: Duration = Duration::from_secs(2);

/// What `brickyard node` takes.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Node to ask, HOST:PORT; one that is to stay
    #[arg(long, value_name = "HOST:PORT", default_value = ADDRESS_DEFAULT, global = true)]
    address: String,
    #[command(flatten)]
    target: TargetArguments,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the nodes, and how much each holds.
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Tell how a new node is started; wait until one has joined and has its share.
    Add {
        /// Only tell
        #[arg(long)]
        no_wait: bool,
    },
    /// Let a node hand over its primaries, then all that it holds; it goes on running.
    Drain {
        /// The node's number
        node: u32,
        /// Even if tables have fewer copies then than they ask for
        #[arg(long)]
        force: bool,
        /// Do not wait until it is empty
        #[arg(long)]
        no_wait: bool,
    },
    /// Take a node out of the cluster for ever, after emptying it.
    Remove {
        /// The node's number
        node: u32,
        /// Do not empty it: it is gone for ever. What only it had is lost, and told before
        #[arg(long)]
        force: bool,
    },
    /// Let a new node take over exactly what another one has. Start the new one with weight 0.
    Replace {
        /// The number of the node that is to go
        old: u32,
        /// The number of the one that takes its place
        new: u32,
        /// Do not wait until it has taken over
        #[arg(long)]
        no_wait: bool,
    },
    /// Say what a node is used for: storage (it holds partitions), control (it may vote on the catalog), gateway (a place
    /// to connect to).
    Roles {
        /// The node's number
        node: u32,
        /// One or more of storage,control,gateway
        roles: String,
        /// Do not wait until everything is where it should be
        #[arg(long)]
        no_wait: bool,
    },
    /// Let each brick of a node hold more or less than others; 0: nothing.
    Weight {
        /// The node's number
        node: u32,
        /// What its bricks should hold, relative to others
        weight: u32,
        /// Do not wait until everything is where it should be
        #[arg(long)]
        no_wait: bool,
    },
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let target = arguments.target.target(&arguments.address)?;
    let mut server = Server::open(target)?;
    match &arguments.verb {
        Verb::List { json } => list(&mut server, *json)?,
        Verb::Add { no_wait } => add(&mut server, !no_wait)?,
        Verb::Drain {
            node,
            force,
            no_wait,
        } => {
            drain(&mut server, *node, *force)?;
            if !no_wait {
                wait::until_empty(&mut server, *node)?;
                say(&format!("Node {node} holds nothing any more."))?;
            }
        }
        Verb::Remove { node, force } => remove(&mut server, *node, *force)?,
        Verb::Replace { old, new, no_wait } => replace(&mut server, *old, *new, !no_wait)?,
        Verb::Roles {
            node,
            roles,
            no_wait,
        } => {
            server.order(&["NODE", "ALTER", &node.to_string(), "ROLES", roles])?;
            if !no_wait {
                wait::until_even(&mut server, "moving")?;
            }
        }
        Verb::Weight {
            node,
            weight,
            no_wait,
        } => {
            let words = [node.to_string(), weight.to_string()];
            server.order(&["NODE", "ALTER", &words[0], "WEIGHT", &words[1]])?;
            if !no_wait {
                wait::until_even(&mut server, "moving")?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn say(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(io::stdout(), "{text}")?)
}

fn list(server: &mut Server, is_json: bool) -> anyhow::Result<()> {
    let rows = server.nodes()?;
    let text = if is_json {
        serde_json::to_string_pretty(&rows)? + "\n"
    } else {
        text::nodes(&rows)
    };
    Ok(io::stdout().write_all(text.as_bytes())?)
}

fn add(server: &mut Server, waits: bool) -> anyhow::Result<()> {
    let before = server.nodes()?;
    let join: Vec<&str> = before.iter().map(|row| row.address.as_str()).collect();
    say(&format!(
        "On the new machine, with an empty data directory:\n\n  brickyard server --data DIR --advertise HOST \
         --join {}\n",
        join.join(",")
    ))?;
    if !waits {
        return Ok(());
    }
    wait::until_done(server, "waiting for a node that joins", |server| {
        let count = server.nodes()?.len();
        Ok(Left {
            count: 1,
            text: format!("{count} nodes so far"),
            is_done: count > before.len(),
        })
    })?;
    let known = |number: u32| before.iter().any(|row| row.node == number);
    let nodes = server.nodes()?;
    let new = nodes.iter().find(|row| !known(row.node));
    let new = new.context("the node that joined was removed again")?;
    if new.weight == 0 {
        return say(&format!(
            "Node {} at {} has joined, with weight 0: it is given nothing.",
            new.node, new.address
        ));
    }
    wait::until_even(server, &format!("filling node {}", new.node))?;
    say(&format!(
        "Node {} at {} has joined and has its share.",
        new.node, new.address
    ))
}

fn drain(server: &mut Server, node: u32, force: bool) -> anyhow::Result<()> {
    let number = node.to_string();
    let mut request = vec!["NODE", "DRAIN", &number];
    if force {
        request.push("FORCE");
    }
    server.order(&request)
}

fn remove(server: &mut Server, node: u32, force: bool) -> anyhow::Result<()> {
    let number = node.to_string();
    let row = server.node(node)?;
    let row = row.with_context(|| {
        format!("node {node} is not in the cluster; \"brickyard node list\" shows those that are")
    })?;
    let tables = server.tables_on(node)?;
    let fewer = match tables.is_empty() {
        true => String::new(),
        false => format!(
            " It is none of the NODES of {} any more.",
            tables.join(", ")
        ),
    };
    let is_voter = row.roles.split(',').any(|role| role == "control");
    if force {
        if is_voter {
            server.order(&["NODE", "ALTER", &number, "CONTROL", "no"])?;
        }
        // What that costs.
        if let Some(loss) = loss_of(server, &number)? {
            writeln!(io::stderr(), "{loss}")?;
        } else {
            return say(&format!("Node {node} held nothing, and is removed.{fewer}"));
        }
    } else if !row.is_empty() {
        if !answers(&row.address) {
            let loss = server.refusal(&["NODE", "REMOVE", &number])?;
            bail!(
                "node {node} at {} does not answer, so it cannot be emptied: start it again, or, if it is gone for ever, \
                 remove it with --force. {}",
                row.address,
                loss.unwrap_or_default()
            );
        }
        drain(server, node, false)?;
        wait::until_empty(server, node)?;
    }
    if is_voter && !force {
        server.order(&["NODE", "ALTER", &number, "CONTROL", "no"])?;
    }
    let mut request = vec!["NODE", "REMOVE", number.as_str()];
    if force {
        request.push("FORCE");
    }
    let others = server.nodes()?;
    let others: Vec<String> = others
        .into_iter()
        .filter(|row| row.node != node)
        .map(|row| row.address)
        .collect();
    let until = Instant::now() + VOTE_PATIENCE;
    loop {
        let refused = server.refusal(&request);
        if matches!(refused, Ok(None)) || is_gone(server, node, &others) {
            break;
        }
        let may_pass = refused.as_ref().is_ok_and(|refusal| {
            let refusal = refusal.as_deref().unwrap_or_default();
            refusal.contains(VOTES) || refusal.starts_with("UNKNOWNRESULT")
        });
        if Instant::now() > until || !may_pass {
            bail!(refused?.unwrap_or_default());
        }
        sleep(ASKED_EVERY);
    }
    say(&format!(
        "Node {node} is removed; its process ends by itself, and its data directory can go.{fewer}"
    ))
}

/// Why a node cannot be removed without force, once it votes no more; none: it is removed.
fn loss_of(server: &mut Server, number: &str) -> anyhow::Result<Option<String>> {
    let until = Instant::now() + VOTE_PATIENCE;
    loop {
        let refusal = server.refusal(&["NODE", "REMOVE", number])?;
        let is_voter = refusal.as_ref().is_some_and(|it| it.contains(VOTES));
        if !is_voter || Instant::now() > until {
            return Ok(refusal);
        }
        sleep(ASKED_EVERY);
    }
}

/// Whether any other node says that a node is not in the cluster. The answer to its removal may be lost: with the node that
/// was asked, or with the leader.
fn is_gone(server: &Server, node: u32, others: &[String]) -> bool {
    others.iter().any(|address| {
        let nodes = server.at(address).and_then(|mut other| other.nodes());
        nodes.is_ok_and(|nodes| nodes.iter().all(|row| row.node != node))
    })
}

/// Whether somebody listens at a node's port.
fn answers(address: &str) -> bool {
    let addresses = address.to_socket_addrs();
    let mut addresses = addresses.into_iter().flatten();
    addresses.any(|it| TcpStream::connect_timeout(&it, CONNECT).is_ok())
}

fn replace(server: &mut Server, old: u32, new: u32, waits: bool) -> anyhow::Result<()> {
    server.order(&["NODE", "REPLACE", &old.to_string(), &new.to_string()])?;
    if waits {
        wait::until_empty(server, old)?;
        say(&format!(
            "Node {new} has all that node {old} had; \"brickyard node remove {old}\" takes that one out."
        ))?;
    }
    Ok(())
}
