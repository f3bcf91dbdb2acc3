//! `brickyard load`: the records of a file into a table.
//!
//! In:  a file, or standard input. Out: SET commands, a progress bar, a summary.
//! The work is in `crate::load`.

use crate::{
    exit::INCOMPLETE,
    load::{
        format::{Fields, Format},
        lanes::Lanes,
        record::{Record, Records, Trouble},
        sorter::Sorter,
        source::Source,
        tally::Tally,
        writer::{Options, Stopped, Writer, left_from},
    },
    target::{ADDRESS_DEFAULT, TargetArguments, with_port},
};
use anyhow::{Context, bail};
use brickyard_server::config::{ByteSize, ConfigValue as _};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    io::{self, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

const EXAMPLES: &str = "\
Examples:
  brickyard load people.csv --key email --table people
  brickyard load /var/lib/apt/lists/*_Packages.lz4
  curl --silent https://example.org/events.jsonl | brickyard load - --key id
  brickyard load --sorted --memory 1GiB --temp /var/tmp events.jsonl --key id

A record that is already there is overwritten. Bad lines and refused records are counted and left
out (exit code 3) unless --strict. Compression (gzip, lz4) is recognised. Each record goes straight to
the brick that has its key; the load goes on when a node is lost, for as long as --patience says.

With --sorted the records are sorted first, by partition and then by key, in bounded memory: so each brick's log has partition after partition. It is
not needed for a fast load (docs/operations.md has figures), and helps who reads a table in that order afterwards.";

/// What `brickyard load` takes.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Files to load, one after the other; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Nodes of the cluster to load into, HOST:PORT,...; one that runs is enough
    #[arg(long, value_name = "HOST:PORT", default_value = ADDRESS_DEFAULT, value_delimiter = ',')]
    to: Vec<String>,
    #[command(flatten)]
    target: TargetArguments,
    /// Field whose text is the key [default: Package for control, else the first field]
    #[arg(long, value_name = "FIELD")]
    key: Option<String>,
    /// Store only this column of a CSV file, instead of all of them as a JSON object
    #[arg(long, value_name = "FIELD")]
    value: Option<String>,
    /// How the file is written
    #[arg(long, value_enum, default_value_t = FormatArgument::Auto)]
    format: FormatArgument,
    /// Stop at the first bad line or refused record
    #[arg(long)]
    strict: bool,
    /// Connections to each brick
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    connections: u8,
    /// Leave out what begins on earlier lines of the file, as a load says that was interrupted
    #[arg(long, value_name = "LINE", default_value_t = 1)]
    from_line: u64,
    /// How long to try again when the server is busy or gone, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    patience: u64,
    /// Sort the records first: each brick gets partition after partition
    #[arg(long, conflicts_with = "from_line")]
    sorted: bool,
    /// Memory for sorting, also as 512MB or 2GiB; what does not fit goes into files without names
    #[arg(long, value_name = "BYTES", default_value = "256MiB", value_parser = memory, requires = "sorted")]
    memory: usize,
    /// Directory of these files; they take as much as keys and values do [default: the system's]
    #[arg(long, value_name = "DIR", requires = "sorted")]
    temp: Option<PathBuf>,
}

/// With less there would be more files than records are worth.
const MEMORY_MIN: usize = 1_000_000;

/// Reads a number of bytes with a unit.
fn memory(text: &str) -> Result<usize, String> {
    let bytes = ByteSize::parse(text).ok().map(ByteSize::to_usize);
    let bytes = bytes.filter(|it| *it >= MEMORY_MIN);
    bytes.ok_or_else(|| "use a number of bytes, such as 512MB or 2GiB, from 1MB on".to_owned())
}

/// A format, or the wish that it be recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatArgument {
    /// By the file's name and first bytes
    Auto,
    /// Comma-separated values with a header line; stored as JSON objects
    Csv,
    /// One JSON object a line; stored as it stands
    Jsonl,
    /// Debian control paragraphs, such as a package index; stored as they stand
    Control,
    /// One key a line; its line number is the value
    Words,
    /// What `brickyard dump` writes
    Dump,
}

impl FormatArgument {
    const fn format(self) -> Option<Format> {
        match self {
            Self::Auto => None,
            Self::Csv => Some(Format::Csv),
            Self::Jsonl => Some(Format::Jsonl),
            Self::Control => Some(Format::Control),
            Self::Words => Some(Format::Words),
            Self::Dump => Some(Format::Dump),
        }
    }
}

/// Loads the files and prints a summary for each.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Some((first, others)) = arguments.to.split_first() else {
        bail!("--to names no node");
    };
    let options = Options {
        target: arguments.target.target(first)?,
        others: others.iter().map(|address| with_port(address)).collect(),
        connections: usize::from(arguments.connections),
        patience: Duration::from_secs(arguments.patience),
        is_strict: arguments.strict,
        // Lines that were sorted are stored in another order.
        can_resume: !arguments.sorted,
    };
    if arguments.from_line > 1 && arguments.files.len() > 1 {
        bail!(
            "--from-line is about one file, and several are named; load the others by themselves"
        );
    }
    let mut is_complete = true;
    for file in &arguments.files {
        let name = file.display();
        is_complete &=
            load(arguments, &options, file).with_context(|| format!("loading {name}"))?;
    }
    Ok(if is_complete {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(INCOMPLETE)
    })
}

/// Loads one file; whether every record of it was stored.
fn load(arguments: &Arguments, options: &Options, file: &Path) -> anyhow::Result<bool> {
    let mut source = Source::open(file)?;
    let format = match arguments.format.format() {
        Some(format) => format,
        None => Format::detect(file, source.start()?),
    };
    let name = source.name.clone();
    let progress = Progress::new(&source);
    let fields = Fields {
        key: arguments.key.clone(),
        value: arguments.value.clone(),
    };
    let records = format.read(source, &fields)?;
    let mut writer = Writer::open(options)?;
    let mut load = Loading {
        arguments,
        progress,
        tally: Tally::default(),
    };
    let begin = Instant::now();
    let read = match arguments.sorted {
        true => load.pour_sorted(records, &mut writer, options),
        false => load.pour(records, &mut writer),
    };
    // Also after a failed read: what has been read is stored, and the summary says how much.
    let mut tally = load.tally;
    let written = writer.finish(&mut tally);
    load.progress.bar.finish_and_clear();
    let summary = tally.summary(begin.elapsed());
    write!(io::stdout().lock(), "{name}: {format}\n{summary}")?;
    written?;
    if let Some(line) = read? {
        bail!("it was interrupted: {}", left_from(line));
    }
    Ok(tally.is_complete())
}

/// A file that is being loaded.
struct Loading<'a> {
    arguments: &'a Arguments,
    progress: Progress,
    tally: Tally,
}

impl Loading<'_> {
    /// Moves records from the reader to the writer. If it is interrupted: the line of the first one that was left.
    fn pour(&mut self, records: Records, writer: &mut Writer) -> anyhow::Result<Option<u64>> {
        let mut count = 0_u64;
        self.read(records, |record, progress| {
            if writer.is_interrupted() {
                return Ok(ControlFlow::Break(Some(record.line)));
            }
            if let Err(Stopped) = writer.write(record) {
                return Ok(ControlFlow::Break(None));
            }
            // Looking at the clock for each record would cost more than parsing some of them.
            if count.is_multiple_of(1024) {
                progress.show(writer.stored());
            }
            count += 1;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// The same, by way of a sorter: first all records are read, then all are written.
    fn pour_sorted(
        &mut self,
        records: Records,
        writer: &mut Writer,
        options: &Options,
    ) -> anyhow::Result<Option<u64>> {
        let dir = self.arguments.temp.clone();
        let dir = dir.unwrap_or_else(std::env::temp_dir);
        let named = || {
            format!(
                "sorting in {}; --temp names another directory",
                dir.display()
            )
        };
        let lanes = Lanes::ask(&options.target)?;
        let mut sorter = Sorter::new(lanes, self.arguments.memory, &dir);
        let mut count = 0_u64;
        self.read(records, |record, progress| {
            sorter.push(record).with_context(named)?;
            if count.is_multiple_of(1024) {
                progress.show_sorted(count);
            }
            count += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        let (bytes, runs) = (sorter.bytes(), sorter.runs_written());
        self.progress.begin_storing(bytes);
        let mut done = 0;
        for (at, record) in sorter.finish().with_context(named)?.enumerate() {
            let record = record.with_context(named)?;
            done += (record.key.len() + record.value.len()) as u64;
            if let Err(Stopped) = writer.write(record) {
                break;
            }
            if at.is_multiple_of(1024) {
                self.progress.position.store(done, Ordering::Relaxed);
                self.progress.show(writer.stored());
            }
        }
        let how = match runs {
            0 => "in memory".to_owned(),
            runs => format!("by {runs} runs in {}", dir.display()),
        };
        self.progress.note(&format!("sorted {how}"));
        Ok(None)
    }

    /// Gives all records to somebody, who says whether to go on; what that one ended with.
    fn read(
        &mut self,
        records: Records,
        mut take: impl FnMut(Record, &Progress) -> anyhow::Result<ControlFlow<Option<u64>>>,
    ) -> anyhow::Result<Option<u64>> {
        let from = self.arguments.from_line;
        for record in records {
            match record {
                Ok(record) if record.line < from => {}
                Ok(record) => {
                    if let ControlFlow::Break(left) = take(record, &self.progress)? {
                        return Ok(left);
                    }
                }
                Err(Trouble::BadLine(bad)) if bad.line < from => {}
                Err(Trouble::BadLine(bad)) if self.arguments.strict => {
                    bail!(
                        "line {}: {}; without --strict it would be left out",
                        bad.line,
                        bad.reason
                    )
                }
                Err(Trouble::BadLine(bad)) => self.tally.bad_line(bad),
                Err(Trouble::Unreadable(error)) => return Err(error).context("cannot read on"),
            }
        }
        Ok(None)
    }
}

/// The bar on standard error; invisible unless that is a terminal.
struct Progress {
    bar: ProgressBar,
    position: Arc<AtomicU64>,
    begin: Instant,
}

impl Progress {
    fn new(source: &Source) -> Self {
        let bar = source
            .bytes
            .map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        let template = if source.bytes.is_some() {
            "{bar:30} {percent:>3} %  {msg}  {bytes} of {total_bytes}, {eta} left"
        } else {
            "{spinner} {msg}  {bytes}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self {
            bar,
            position: Arc::clone(&source.position),
            begin: Instant::now(),
        }
    }

    /// From here on it is about what was sorted, and so many bytes of it.
    fn begin_storing(&mut self, bytes: u64) {
        self.bar.reset();
        self.bar.set_length(bytes);
        let template = "{bar:30} {percent:>3} %  {msg}  {bytes} of {total_bytes}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
        self.position.store(0, Ordering::Relaxed);
        self.begin = Instant::now();
    }

    /// A line that stays.
    fn note(&self, text: &str) {
        self.bar.println(text);
    }

    fn show_sorted(&self, count: u64) {
        self.tell(count, "sorted");
    }

    fn show(&self, stored: u64) {
        self.tell(stored, "records");
    }

    fn tell(&self, count: u64, what: &str) {
        if self.bar.is_hidden() {
            return;
        }
        let rate = count as f64 / self.begin.elapsed().as_secs_f64().max(1e-6);
        self.bar.set_message(format!(
            "{} {what}, {}/s",
            brickyard_bench::grouped(count),
            brickyard_bench::grouped(rate as u64)
        ));
        self.bar.set_position(self.position.load(Ordering::Relaxed));
    }
}
