//! `brickyard backup`: tables into files and back.
//!
//! In:  a cluster, or a directory of backups. Out: a backup, a list, a verdict, or a table.
//! The work is in `crate::backup`; what the files are, in the crate `backup`.

use crate::{
    backup::{
        create::{self, create},
        restore::{prepare, restore},
    },
    exit::INCOMPLETE,
    load::writer,
    target::{ADDRESS_DEFAULT, TargetArguments, with_port},
};
use anyhow::bail;
use brickyard_backup::{Manifest, PartEntry, Place, Repository, verify};
use brickyard_bench::grouped;
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    io::{self, Write},
    process::ExitCode,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

const EXAMPLES: &str = "\
Examples:
  brickyard backup create /backups --table people
  brickyard backup verify /backups
  brickyard backup restore /backups --to new:6379 --table people
  brickyard backup create s3://bucket/people --table people     (AWS_ACCESS_KEY_ID, AWS_REGION, AWS_ENDPOINT_URL, ...)

A backup has each partition as it was at one position of its log, and all that was acknowledged before it was begun; the
table is read and written meanwhile. The next backup of the same table into the same place holds only the
values that are new: keep the ones that it rests on (see list).";

/// What `brickyard backup` takes.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Back a table up.
    Create(Create),
    /// List the backups that are at a place.
    List {
        /// Directory or URL of backups
        place: Place,
    },
    /// Check a backup, and those that it rests on, to the last byte, without restoring it.
    Verify {
        /// Directory or URL of backups
        place: Place,
        /// Which one [default: the newest]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Write a backup into a table, of this cluster or another.
    Restore(Restore),
}

#[derive(Args, Debug)]
struct Create {
    /// Directory or URL of backups; a directory is made if it is not there
    place: Place,
    /// Node to ask, HOST:PORT
    #[arg(long, value_name = "HOST:PORT", env = "BRICKYARD_BACKUP_FROM", default_value = ADDRESS_DEFAULT)]
    from: String,
    #[command(flatten)]
    target: TargetArguments,
    /// What the backup is called [default: the seconds since 1970]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// All values, whatever earlier backups have
    #[arg(long)]
    full: bool,
    /// How long to ask again for partitions that cannot be had, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u64,
    /// Say in lines how far it is, once a second, for a log or another program
    #[arg(long, env = "BRICKYARD_PROGRESS_LINES")]
    progress_lines: bool,
}

#[derive(Args, Debug)]
struct Restore {
    /// Directory or URL of backups
    place: Place,
    /// Which one [default: the newest]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Nodes of the cluster to write into, HOST:PORT,...; one that runs is enough
    #[arg(long, value_name = "HOST:PORT", default_value = ADDRESS_DEFAULT, value_delimiter = ',')]
    to: Vec<String>,
    /// --table: the table to write into, made as the old one was if it is not there [default: the old name]
    #[command(flatten)]
    target: TargetArguments,
    /// Write over what has the same key, and keep what else the table has
    #[arg(long)]
    merge: bool,
    /// How long to try again when a brick is busy or gone, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    patience: u64,
}

/// Does what was asked.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.verb {
        Verb::Create(arguments) => run_create(arguments),
        Verb::List { place } => run_list(&Repository::open(place)?),
        Verb::Verify { place, name } => run_verify(&Repository::open(place)?, name.as_deref()),
        Verb::Restore(arguments) => run_restore(arguments),
    }
}

fn run_create(arguments: &Create) -> anyhow::Result<ExitCode> {
    let target = arguments.target.target(&arguments.from)?;
    let repository = Repository::create(&arguments.place)?;
    let options = create::Options {
        table: target.table.clone().unwrap_or_else(|| "default".to_owned()),
        target,
        name: arguments.name.clone(),
        is_full: arguments.full,
        patience: Duration::from_secs(arguments.patience),
    };
    let bar = bar("{bar:30} {pos} of {len} partitions  {msg}");
    let begin = Instant::now();
    let lines = arguments.progress_lines.then(Lines::default);
    let manifest = create(&repository, &options, |done, all, rows| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
        bar.set_message(format!("{} records", grouped(rows)));
        if let Some(lines) = &lines {
            lines.say(done, all, rows);
        }
    })?;
    bar.finish_and_clear();
    let prefix = format!("parts/{}/", manifest.name);
    let new = |part: &&PartEntry| part.file.starts_with(&prefix);
    let bytes: u64 = manifest
        .parts
        .iter()
        .filter(new)
        .map(|it| it.file_bytes)
        .sum();
    let values: u64 = manifest.parts.iter().filter(new).map(|it| it.values).sum();
    let base = match &manifest.base {
        Some(base) => format!("{} of them new since backup {base}", grouped(values)),
        None => "all with their values".to_owned(),
    };
    say(&format!(
        "backup {} of table {}: {} records of {} partitions, {base}; {} bytes in {:.2} s\n",
        manifest.name,
        manifest.table,
        grouped(manifest.rows()),
        manifest.parts.len(),
        grouped(bytes),
        begin.elapsed().as_secs_f64(),
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn run_list(repository: &Repository) -> anyhow::Result<ExitCode> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64;
    for manifest in repository.manifests()? {
        let Manifest {
            name, table, base, ..
        } = &manifest;
        let age = Duration::from_millis(now.saturating_sub(manifest.begun_ms));
        let base = base.as_ref().map(|it| format!(", rests on {it}"));
        say(&format!(
            "{name}: table {table}, {} records, {} old{}\n",
            grouped(manifest.rows()),
            readable(age),
            base.unwrap_or_default()
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn run_verify(repository: &Repository, name: Option<&str>) -> anyhow::Result<ExitCode> {
    let manifest = repository.chosen(name)?;
    let bar = bar("{bar:30} {pos} of {len} partitions, {eta} left");
    bar.set_length(manifest.parts.len() as u64);
    let contents = verify(repository, &manifest, || bar.inc(1))?;
    bar.finish_and_clear();
    say(&format!(
        "backup {} of table {} is whole: {} records of {} partitions, digest {:016x}\n",
        manifest.name,
        manifest.table,
        grouped(contents.records),
        manifest.parts.len(),
        contents.digest
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn run_restore(arguments: &Restore) -> anyhow::Result<ExitCode> {
    let Some((first, others)) = arguments.to.split_first() else {
        bail!("--to names no node");
    };
    let repository = Repository::open(&arguments.place)?;
    let manifest = repository.chosen(arguments.name.as_deref())?;
    let mut target = arguments.target.target(first)?;
    let table = target.table.get_or_insert_with(|| manifest.table.clone());
    let table = table.clone();
    prepare(&target, &table, &manifest, arguments.merge)?;
    let options = writer::Options {
        target,
        others: others.iter().map(|address| with_port(address)).collect(),
        connections: 1,
        patience: Duration::from_secs(arguments.patience),
        is_strict: false,
        can_resume: false,
    };
    let bar = bar("{bar:30} {pos} of {len} partitions  {msg}, {eta} left");
    bar.set_length(manifest.parts.len() as u64);
    let begin = Instant::now();
    let tally = restore(&repository, &manifest, &options, |stored| {
        bar.inc(1);
        bar.set_message(format!("{} records", grouped(stored)));
    })?;
    bar.finish_and_clear();
    say(&format!(
        "backup {} into table {table}\n{}",
        manifest.name,
        tally.summary(begin.elapsed())
    ))?;
    Ok(if tally.is_complete() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(INCOMPLETE)
    })
}

/// A bar on standard error; invisible unless that is a terminal.
/// Progress for readers that are no terminal: one line a second at most.
#[derive(Debug, Default)]
struct Lines(Mutex<Option<Instant>>);

impl Lines {
    fn say(&self, done: usize, all: usize, rows: u64) {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if said.is_none_or(|at| at.elapsed() >= Duration::from_secs(1)) {
            *said = Some(Instant::now());
            eprintln!("{done} of {all} partitions, {} records", grouped(rows));
        }
    }
}

fn bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

fn say(text: &str) -> io::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())
}

/// About how long it is, in the largest unit that fits.
fn readable(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}
