//! A gateway of an instant messenger: users sign on at any of several, and are found and written to from all of them.
//!
//! In:  lines over TCP ([`line`]). Out: lines; bindings of users to gateways, in a table ([`store`]).
//!
//! Reading order: `store` (the table), `line` (what users say), `gateway` (who is signed on here, renewals), `session` (one user's connection),
//! `post` (a message to another gateway).
//!
//! Not here: who somebody is. Whoever says a name is believed: a gateway stands behind what knows its users.

mod gateway;
mod line;
mod post;
mod session;
mod store;

use anyhow::Context as _;
use brickyard_example_service::{ClusterArguments, is_stopped};
use clap::Parser;
use gateway::Gateway;
use std::sync::Arc;
use std::time::Duration;
use store::Bindings;
use tokio::net::TcpListener;

const SERVICE: &str = "presence";

const EXAMPLES: &str = "\
Try it beside `brickyard dev`, two gateways and a terminal for each of two users:
  cargo run -p brickyard-example-presence -- --listen 127.0.0.1:7001
  cargo run -p brickyard-example-presence -- --listen 127.0.0.1:7002
  nc 127.0.0.1 7001        ON ann
  nc 127.0.0.1 7002        ON bob, WHERE ann, SEND ann hello, OFF, QUIT

Whoever signs on at one gateway is signed off at the other. Kill a node, or a gateway, and go on.";

/// A gateway of an instant messenger; its users' bindings are in a table.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// Where users connect
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7001")]
    listen: String,
    /// Where other gateways find this one [default: what --listen says]
    #[arg(long, value_name = "HOST:PORT")]
    advertise: Option<String>,
    /// A binding that is not renewed for so long ends
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    lease: u64,
    /// How often bindings are renewed [default: a quarter of the lease]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    renew_every: Option<u64>,
    #[command(flatten)]
    cluster: ClusterArguments,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let table = arguments.cluster.open(SERVICE).await?;
    let listener = TcpListener::bind(&arguments.listen)
        .await
        .with_context(|| format!("cannot listen at {}; --listen says where", arguments.listen))?;
    let own = listener.local_addr()?.to_string();
    println!("{SERVICE}: {own} (Ctrl-C stops it)");
    let lease = Duration::from_secs(arguments.lease);
    let renew_every = arguments.renew_every.map_or(lease / 4, Duration::from_secs);
    let bindings = Bindings::new(table, lease);
    let gateway = Arc::new(Gateway::new(bindings, arguments.advertise.unwrap_or(own)));
    tokio::select! {
        () = session::accept(&gateway, &listener) => {}
        () = gateway.renew_for_ever(renew_every) => {}
        () = is_stopped() => {}
    }
    gateway.sign_all_off().await;
    println!("{SERVICE}: stopped");
    Ok(())
}
