//! `brickyard dump`: a table's records to standard output.
//!
//! In:  SCAN over the whole table, GET and PTTL for each key, DUMP for those that hold no string. Out: JSON lines, CSV, keys, or a
//! snapshot that a Redis loads.
//!
//! What is dumped is not one moment: a key that is written, or that expires, while the dump runs
//! appears as it was before or after. A key that SCAN returns twice is dumped twice.

use crate::{
    exit::INCOMPLETE,
    load::dump::DumpLine,
    target::{ADDRESS_DEFAULT, TargetArguments},
};
use anyhow::{Context, bail};
use brickyard_bench::{Link, grouped};
use brickyard_rdb::RdbWriter;
use brickyard_wire::{Value, encode_request};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
    time::{Duration, Instant},
};

/// Keys asked for at a time. A hint: a server may send more or fewer.
const SCAN_COUNT: &str = "1000";

/// Requests are sent in pieces of about this size, small enough to fit the socket's buffers: both
/// sides waiting for the other to read would wait for ever.
const REQUEST_BYTES: usize = 32 * 1024;

/// Output is written in pieces of this size.
const OUTPUT_BYTES: usize = 256 * 1024;

/// What `brickyard dump` takes.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  brickyard dump --table people > people.dump\n  \
                        brickyard dump --match 'user:*' --format keys\n  \
                        brickyard dump --table people --format rdb > dump.rdb\n  \
                        brickyard dump --from old:6379 | brickyard load - --to new:6379"
)]
pub(crate) struct Arguments {
    /// Node to dump from, HOST:PORT
    #[arg(long, value_name = "HOST:PORT", default_value = ADDRESS_DEFAULT)]
    from: String,
    #[command(flatten)]
    target: TargetArguments,
    /// Only keys of this pattern, such as user:*
    #[arg(long = "match", value_name = "GLOB")]
    pattern: Option<String>,
    /// How records are written
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One JSON object a line, with time to live; `brickyard load` reads it back
    Jsonl,
    /// key,value,ttl_ms with a header line
    Csv,
    /// One key a line
    Keys,
    /// A snapshot of one database, as a Redis or Valkey loads it when it starts (`dbfilename`)
    Rdb,
}

/// Dumps the table.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let target = arguments.target.target(&arguments.from)?;
    let mut link = Link::open(&target)?;
    let mut output = Output::new(arguments.format)?;
    let progress = Progress::new(&mut link)?;
    let mut cursor = b"0".to_vec();
    loop {
        let keys;
        (cursor, keys) = scan(&mut link, &cursor, arguments.pattern.as_deref())?;
        match arguments.format {
            Format::Keys => keys.iter().try_for_each(|key| output.key(key))?,
            Format::Jsonl | Format::Csv => dump_values(&mut link, &keys, &mut output)?,
            Format::Rdb => dump_payloads(&mut link, &keys, &mut output)?,
        }
        progress.show(output.count);
        if cursor == b"0" {
            break;
        }
    }
    output.finish()?;
    progress.finish(&output);
    Ok(if output.left_out == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(INCOMPLETE)
    })
}

/// One step of SCAN: the next cursor and some keys.
fn scan(
    link: &mut Link,
    cursor: &[u8],
    pattern: Option<&str>,
) -> anyhow::Result<(Vec<u8>, Vec<Vec<u8>>)> {
    let mut request = vec![&b"SCAN"[..], cursor, b"COUNT", SCAN_COUNT.as_bytes()];
    if let Some(pattern) = pattern {
        request.extend([&b"MATCH"[..], pattern.as_bytes()]);
    }
    let reply = link.call(&request)?;
    if let Some(text) = reply.error() {
        bail!("the server refused SCAN: {}", String::from_utf8_lossy(text));
    }
    let Some([cursor, keys]) = reply.elements() else {
        bail!("the server answered SCAN with something else than a cursor and keys");
    };
    let bytes = |value: &Value| value.bytes().map(<[u8]>::to_vec);
    cursor
        .elements()
        .is_none()
        .then(|| bytes(cursor))
        .flatten()
        .zip(
            keys.elements()
                .and_then(|keys| keys.iter().map(bytes).collect()),
        )
        .context("the server answered SCAN with something else than a cursor and keys")
}

/// Fetches and writes the values of `keys`.
fn dump_values(link: &mut Link, keys: &[Vec<u8>], output: &mut Output) -> anyhow::Result<()> {
    let mut rest = keys;
    while !rest.is_empty() {
        let mut request = Vec::new();
        let mut count = 0;
        while count < rest.len() && request.len() < REQUEST_BYTES {
            encode_request(&mut request, &[b"GET", &rest[count][..]]);
            encode_request(&mut request, &[b"PTTL", &rest[count][..]]);
            count += 1;
        }
        link.send(&request)?;
        let (now, later) = rest.split_at(count);
        let mut others = Vec::new();
        for key in now {
            let value = link.receive_value()?;
            let ttl_ms = link.receive_value()?;
            match &value {
                Value::Error(text) if text.starts_with(b"WRONGTYPE") && output.takes_payloads() => {
                    others.push((key, ttl_ms, value));
                }
                _ => output.record(key, &value, &ttl_ms)?,
            }
        }
        for (key, ttl_ms, refusal) in others {
            let payload = link.call(&[b"DUMP", &key[..]])?;
            match payload.bytes() {
                // Of the types that there are here.
                Some(bytes) if brickyard_rdb::restore(bytes).is_ok() => {
                    output.payload(key, bytes, &ttl_ms)?;
                }
                // Gone since.
                None if payload == Value::Null => {}
                _ => output.record(key, &refusal, &ttl_ms)?,
            }
        }
        rest = later;
    }
    Ok(())
}

/// Fetches and writes the payloads of `keys`.
fn dump_payloads(link: &mut Link, keys: &[Vec<u8>], output: &mut Output) -> anyhow::Result<()> {
    let mut rest = keys;
    while !rest.is_empty() {
        let mut request = Vec::new();
        let mut count = 0;
        while count < rest.len() && request.len() < REQUEST_BYTES {
            encode_request(&mut request, &[b"DUMP", &rest[count][..]]);
            encode_request(&mut request, &[b"PEXPIRETIME", &rest[count][..]]);
            count += 1;
        }
        link.send(&request)?;
        let (now, later) = rest.split_at(count);
        for key in now {
            let payload = link.receive_value()?;
            let expires_at = link.receive_value()?;
            output.snapshot_record(key, &payload, &expires_at)?;
        }
        rest = later;
    }
    Ok(())
}

/// What PTTL answered.
fn time_to_live(reply: &Value) -> Option<u64> {
    let ttl_ms = reply.integer().and_then(|ttl| u64::try_from(ttl).ok());
    // The key was there before, and is in its last millisecond.
    ttl_ms.map(|ttl| ttl.max(1))
}

/// Where the records go, and how many did.
struct Output {
    sink: Sink,
    count: u64,
    /// Keys whose values are no strings (of other servers than ours), or could not be read.
    left_out: u64,
    first_refusal: Option<String>,
}

enum Sink {
    Lines(BufWriter<io::Stdout>),
    Csv(Box<csv::Writer<io::Stdout>>),
    Rdb(RdbWriter<BufWriter<io::Stdout>>),
}

impl Output {
    fn new(format: Format) -> anyhow::Result<Self> {
        let sink = if format == Format::Csv {
            let mut writer = csv::WriterBuilder::new()
                .buffer_capacity(OUTPUT_BYTES)
                .from_writer(io::stdout());
            writer.write_record(["key", "value", "ttl_ms"])?;
            Sink::Csv(Box::new(writer))
        } else if format == Format::Rdb {
            let out = BufWriter::with_capacity(OUTPUT_BYTES, io::stdout());
            Sink::Rdb(RdbWriter::new(out)?)
        } else {
            Sink::Lines(BufWriter::with_capacity(OUTPUT_BYTES, io::stdout()))
        };
        Ok(Self {
            sink,
            count: 0,
            left_out: 0,
            first_refusal: None,
        })
    }

    fn key(&mut self, key: &[u8]) -> anyhow::Result<()> {
        self.count += 1;
        match &mut self.sink {
            Sink::Lines(writer) => {
                writer.write_all(key)?;
                writer.write_all(b"\n")?;
            }
            Sink::Csv(writer) => writer.write_record([key])?,
            Sink::Rdb(_) => {}
        }
        Ok(())
    }

    /// A record of a snapshot.
    fn snapshot_record(
        &mut self,
        key: &[u8],
        payload: &Value,
        expires_at: &Value,
    ) -> anyhow::Result<()> {
        let Sink::Rdb(writer) = &mut self.sink else {
            return Ok(());
        };
        match payload {
            // Gone since SCAN saw it.
            Value::Null => return Ok(()),
            Value::Error(text) => {
                self.left_out += 1;
                self.first_refusal
                    .get_or_insert_with(|| String::from_utf8_lossy(text).into_owned());
                return Ok(());
            }
            _ => {}
        }
        let payload = payload
            .bytes()
            .context("the server answered DUMP with no payload")?;
        let expires_at = expires_at.integer().and_then(|at| u64::try_from(at).ok());
        self.count += 1;
        writer.record(key, payload, expires_at)?;
        Ok(())
    }

    /// Whether there is a form for values that are no strings.
    const fn takes_payloads(&self) -> bool {
        matches!(self.sink, Sink::Lines(_))
    }

    fn payload(&mut self, key: &[u8], payload: &[u8], ttl_ms: &Value) -> anyhow::Result<()> {
        self.count += 1;
        if let Sink::Lines(writer) = &mut self.sink {
            let line = DumpLine::of_payload(key, payload, time_to_live(ttl_ms));
            serde_json::to_writer(&mut *writer, &line).map_err(io::Error::from)?;
            writer.write_all(b"\n")?;
        }
        Ok(())
    }

    fn record(&mut self, key: &[u8], value: &Value, ttl_ms: &Value) -> anyhow::Result<()> {
        let value = match value {
            // Gone since SCAN saw it.
            Value::Null => return Ok(()),
            Value::Error(text) => {
                self.left_out += 1;
                self.first_refusal
                    .get_or_insert_with(|| String::from_utf8_lossy(text).into_owned());
                return Ok(());
            }
            other => other
                .bytes()
                .context("the server answered GET with no string")?,
        };
        let ttl_ms = time_to_live(ttl_ms);
        self.count += 1;
        match &mut self.sink {
            Sink::Lines(writer) => {
                serde_json::to_writer(&mut *writer, &DumpLine::new(key, value, ttl_ms))
                    .map_err(io::Error::from)?;
                writer.write_all(b"\n")?;
            }
            Sink::Csv(writer) => {
                let ttl = ttl_ms.map(|ttl| ttl.to_string()).unwrap_or_default();
                writer.write_record([key, value, ttl.as_bytes()])?;
            }
            Sink::Rdb(_) => {}
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Lines(writer) => writer.flush(),
            Sink::Csv(writer) => writer.flush(),
            Sink::Rdb(writer) => writer.finish(),
        }
    }
}

/// The bar and the last line, on standard error.
struct Progress {
    bar: ProgressBar,
    begin: Instant,
}

impl Progress {
    fn new(link: &mut Link) -> anyhow::Result<Self> {
        // A hint only: without DBSIZE, or with a pattern, the bar is just less exact.
        let keys = link
            .call(&["DBSIZE"])?
            .integer()
            .and_then(|keys| u64::try_from(keys).ok());
        let bar = ProgressBar::new(keys.unwrap_or(0));
        if let Ok(style) =
            ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}, {eta} left")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        Ok(Self {
            bar,
            begin: Instant::now(),
        })
    }

    fn show(&self, count: u64) {
        self.bar.set_message(format!("{} records", grouped(count)));
        self.bar.set_position(count);
    }

    fn finish(&self, output: &Output) {
        self.bar.finish_and_clear();
        let seconds = self.begin.elapsed().as_secs_f64();
        eprintln!(
            "dumped {} records in {seconds:.2} s: {} records/s",
            grouped(output.count),
            grouped((output.count as f64 / seconds.max(1e-6)) as u64)
        );
        if let Some(refusal) = &output.first_refusal {
            eprintln!("left out {}: {refusal}", grouped(output.left_out));
        }
    }
}
