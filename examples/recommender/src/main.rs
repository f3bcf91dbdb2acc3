//! A recommender: who read this on a day also read that. It counts visits of pages, and for each pair of pages the readers of both.
//!
//! In:  visits, by HTTP. Out: what readers of a page also read; and `recount`, a walk over all readings that says whether the counts are right.
//!
//! Reading order: `store` (the table), `history` (one reader's day), `recommender` (what is asked), `recommended` and `view`
//! (what is answered), `recount`.
//!
//! Not here: who a reader is. A site that has sessions tells what they read.

mod history;
mod recommended;
mod recommender;
mod recount;
mod store;
mod view;

use anyhow::Context as _;
use brickyard_example_service::{ClusterArguments, serve};
use clap::{Parser, Subcommand};
use store::Store;
use tokio::net::TcpListener;

const SERVICE: &str = "recommender";

const EXAMPLES: &str = "\
Try it beside `brickyard dev`:
  cargo run -p brickyard-example-recommender
  curl -d reader=ann -d page=bricks http://127.0.0.1:8070/visits
  curl -d reader=ann -d page=mortar http://127.0.0.1:8070/visits
  curl http://127.0.0.1:8070/pages/bricks/also
  cargo run -p brickyard-example-recommender -- recount

Or open http://127.0.0.1:8070/ in a browser.";

/// Counts who read what, and tells what readers of a page also read; the counts are in a table.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Where sites and browsers connect
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8070")]
    listen: String,
    /// Days whose readings count
    #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=366))]
    keep: u32,
    #[command(flatten)]
    cluster: ClusterArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compare all counts with the readings that they come from, and mend them
    ///
    /// While readings come in, those of today may be counted a moment later than they are found: run it again.
    Recount {
        /// Walks over parts of the table at once
        #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
        walks: u16,
        /// Say what is wrong, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let table = arguments.cluster.open(SERVICE).await?;
    let store = Store::new(table, arguments.keep);
    if let Some(Command::Recount { walks, dry_run }) = arguments.command {
        let report = recount::run(&store, walks, dry_run).await?;
        print!("{report}");
        return Ok(());
    }
    let listener = TcpListener::bind(&arguments.listen)
        .await
        .with_context(|| format!("cannot listen at {}; --listen says where", arguments.listen))?;
    serve(listener, SERVICE, recommender::routes(store)).await?;
    Ok(())
}
