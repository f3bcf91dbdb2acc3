//! A store of private keys and other secrets: each user's are encrypted under his passphrase, in versions, with a trail of who asked for what.
//!
//! In:  HTTP, with a user and a passphrase in each request. Out: secrets; in the table, what nobody can read without the passphrase.
//!
//! Reading order: `store` (the table), `vault` (what is encrypted, and how), `keystore` (what is asked), `identity` (who asks).
//!
//! Not here: TLS, without which passphrases are not safe on their way. The service listens on loopback unless it is told otherwise.

mod identity;
mod keystore;
mod store;
mod vault;

use anyhow::Context as _;
use brickyard_example_service::{ClusterArguments, serve};
use clap::Parser;
use keystore::{Keystore, routes};
use store::Store;
use tokio::net::TcpListener;
use vault::Cost;

const SERVICE: &str = "keystore";

const EXAMPLES: &str = "\
Try it beside `brickyard dev`:
  cargo run -p brickyard-example-keystore
  curl -u ann:correct-horse -X POST http://127.0.0.1:8090/vault
  curl -u ann:correct-horse -H 'If-Match: \"0\"' -T ~/.ssh/id_ed25519 http://127.0.0.1:8090/secrets/ssh
  curl -u ann:correct-horse http://127.0.0.1:8090/secrets/ssh
  curl -u ann:correct-horse http://127.0.0.1:8090/audit";

/// A store of secrets that are encrypted under a passphrase of their owner; kept in a table.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// Where clients connect
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8090")]
    listen: String,
    /// Memory that a guess at a passphrase of a new vault takes
    #[arg(long, value_name = "KIB", default_value_t = 19 * 1024, value_parser = clap::value_parser!(u32).range(1024..=1024 * 1024))]
    guess_memory: u32,
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
    let keystore = Keystore {
        store: Store::new(table),
        cost: Cost::of_memory(arguments.guess_memory),
    };
    serve(listener, SERVICE, routes(keystore)).await?;
    Ok(())
}
