//! A web server whose pages, sessions and users are in a table: any number of instances serve the same site.
//!
//! In:  HTTP, of browsers and programs. Out: pages; no script is needed for anything.
//!
//! Reading order: `store` (the table), `site` (what is asked), `session` (who asks), `view` (what a browser shows), `password`.
//!
//! Not here: TLS, limits on how often a password is tried, mail. A proxy before the instances does what every site needs of them.

mod password;
mod session;
mod site;
mod store;
mod view;

use anyhow::Context as _;
use brickyard_example_service::{ClusterArguments, serve};
use clap::Parser;
use site::Site;
use std::time::Duration;
use store::Store;
use tokio::net::TcpListener;

const SERVICE: &str = "site";

const EXAMPLES: &str = "\
Try it beside `brickyard dev`; two instances show one site:
  cargo run -p brickyard-example-site
  cargo run -p brickyard-example-site -- --listen 127.0.0.1:8081

Open http://127.0.0.1:8080/, join, write a page, and read it at the other one.";

/// A web server whose pages and sessions are kept in a table.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// Where browsers connect
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    listen: String,
    /// How long a session lives
    #[arg(long, value_name = "SECONDS", default_value_t = 7 * 24 * 3600)]
    session: u64,
    /// Browsers come through a proxy that speaks TLS: cookies are for HTTPS alone then
    #[arg(long)]
    behind_tls: bool,
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
    let session_life = Duration::from_secs(arguments.session.max(1));
    let site = Site::new(Store::new(table, session_life), arguments.behind_tls);
    serve(listener, SERVICE, site::routes(site)).await?;
    Ok(())
}
