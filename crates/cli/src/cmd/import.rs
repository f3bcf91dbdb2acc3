//! `brickyard import`: moving in from a Redis or Valkey, while it is used.
//!
//! In:  the address of a server, or its files. Out: tables; the word at which clients change sides.
//! The work is in `crate::import`; what bytes and commands mean, in the crate `import`.

use crate::{
    exit::INCOMPLETE,
    import::{
        files,
        handover::{Wishes, words},
        live::{self, Orders},
        progress::named,
        sink::Sink,
        source::{Source, is_url},
        verify::verify,
    },
    target::{ADDRESS_DEFAULT, TargetArguments, with_port},
};
use anyhow::{Context, bail, ensure};
use brickyard_bench::{Target, grouped};
use clap::Args;
use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

const EXAMPLES: &str = "\
Examples:
  brickyard import redis://old:6379 --table people       copies, follows; type `handover` when clients shall change
  brickyard import redis://:PASSWORD@old --verify        compares every key of both sides
  brickyard import dump.rdb
  brickyard import appendonlydir

Strings are copied, with their expiry; keys of other types are counted by name and left out (exit code 3 for files). The
source is read as a replica reads it, and nothing is written there. Broken off, the same command goes on from --state.
At the hand-over the source holds its writers up (CLIENT PAUSE) until everything is here; then this program ends with
the line HANDED OVER and exit code 0. SIGUSR1 does what the word `handover` does.";

/// What `brickyard import` takes.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// redis://[[USER]:PASSWORD@]HOST[:PORT], rediss:// under TLS, or a file; BRICKYARD_SOURCE_PASSWORD is a password too
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Nodes of the cluster to import into, HOST:PORT,...; one that runs is enough
    #[arg(long, value_name = "HOST:PORT", default_value = ADDRESS_DEFAULT, value_delimiter = ',')]
    to: Vec<String>,
    #[command(flatten)]
    target: TargetArguments,
    /// Table of another database of the source, as 1=sessions; database 0 goes to --table [default: default]
    #[arg(long, value_name = "N=TABLE")]
    database: Vec<String>,
    /// Where the resume point is kept [default: a file named after the source and the table]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Import into tables that have keys: write over those of the same name, keep the rest
    #[arg(long)]
    merge: bool,
    /// Hand over without a word, as soon as the copy is close behind
    #[arg(long)]
    handover_when_caught_up: bool,
    /// How long writers at the source may be held up before a hand-over is given up, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    pause_max: u64,
    /// How long the source holds writers up at a hand-over in all, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    hold: u64,
    /// At the hand-over, make the source refuse writes from then on (CONFIG SET min-replicas-to-write)
    #[arg(long)]
    fence: bool,
    /// Compare every key of both sides, and change nothing; exit code 1 where they differ
    #[arg(long)]
    verify: bool,
    /// How long to try again when the source or the cluster is gone, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    patience: u64,
    /// Of a source under TLS: believe servers whose certificate is of an authority in this PEM file
    #[arg(long, value_name = "FILE")]
    source_ca: Option<PathBuf>,
}

/// Imports, or compares.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let code = runtime.block_on(import(arguments));
    // A thread may still wait for the standard input, or for a source that is silent.
    runtime.shutdown_background();
    code
}

async fn import(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Some((first, others)) = arguments.to.split_first() else {
        bail!("--to names no node");
    };
    let target = arguments.target.target(first)?;
    let tables = tables(arguments, &target)?;
    let patience = Duration::from_secs(arguments.patience);
    let others: Vec<String> = others.iter().map(|address| with_port(address)).collect();
    if !is_url(&arguments.source) {
        ensure!(
            !arguments.verify && !arguments.handover_when_caught_up && !arguments.fence,
            "'{}' is a file; --verify and hand-overs are about a server that runs, redis://HOST:PORT",
            arguments.source
        );
        let mut sink = Sink::open(&target, &others, &tables, patience).await?;
        return from_file(arguments, &mut sink, &tables).await;
    }
    let source = Source::find(&arguments.source, arguments.source_ca.clone())?;
    let mut sink = Sink::open(&target, &others, &tables, patience).await?;
    if arguments.verify {
        let verdict = verify(&source, &sink, &tables).await?;
        write!(io::stdout().lock(), "{}", verdict.text())?;
        return Ok(if verdict.is_same() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    }
    source.must_be_primary()?;
    let orders = Orders {
        state: arguments
            .state
            .clone()
            .unwrap_or_else(|| state_of(&source, &tables)),
        tables,
        merges: arguments.merge,
        patience,
        wishes: Wishes {
            by_itself: arguments.handover_when_caught_up,
            pause_max: Duration::from_millis(arguments.pause_max),
            hold: Duration::from_secs(arguments.hold),
            fences: arguments.fence,
        },
    };
    live::run(&source, &mut sink, &orders, words()?).await?;
    sink.close();
    Ok(ExitCode::SUCCESS)
}

async fn from_file(
    arguments: &Arguments,
    sink: &mut Sink,
    tables: &BTreeMap<u32, String>,
) -> anyhow::Result<ExitCode> {
    let keys = sink.len(tables).await?;
    ensure!(
        keys == 0 || arguments.merge,
        "the tables have {} keys; import into empty ones, or say --merge to write over what has the same key and keep the \
         rest",
        grouped(keys)
    );
    let begin = Instant::now();
    let databases: Vec<u32> = tables.keys().copied().collect();
    let summary = files::run(Path::new(&arguments.source), sink, &databases)
        .await
        .with_context(|| format!("importing {}", arguments.source))?;
    let stored = grouped(summary.stored);
    let mut output = io::stdout().lock();
    writeln!(
        output,
        "{stored} changes stored in {:.1} s",
        begin.elapsed().as_secs_f64()
    )?;
    if summary.left_out.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(output, "left out: {}", named(&summary.left_out))?;
    Ok(ExitCode::from(INCOMPLETE))
}

/// The table of each database that is copied.
fn tables(arguments: &Arguments, target: &Target) -> anyhow::Result<BTreeMap<u32, String>> {
    let default = target.table.clone().unwrap_or_else(|| "default".to_owned());
    let mut tables = BTreeMap::from([(0, default)]);
    for text in &arguments.database {
        let pair = text
            .split_once('=')
            .and_then(|(number, name)| Some((number.parse().ok()?, name)));
        let (number, name) =
            pair.with_context(|| format!("--database {text} is not of the form 1=TABLE"))?;
        ensure!(
            !tables.values().any(|it| it == name),
            "table '{name}' is named for two databases; their keys would be mixed"
        );
        tables.insert(number, name.to_owned());
    }
    Ok(tables)
}

fn state_of(source: &Source, tables: &BTreeMap<u32, String>) -> PathBuf {
    let table = tables
        .values()
        .next()
        .map(String::as_str)
        .unwrap_or_default();
    let name = format!("import-{}-{table}.state", source.address());
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-');
    name.chars()
        .map(|it| if is_plain(it) { it } else { '-' })
        .collect::<String>()
        .into()
}
