//! `brickyard watch`: follows what changes in a table, to standard output, a file, or another cluster.
//!
//! In:  WATCHKEYS, from a position on. Out: JSON lines, or SET, RESTORE and DEL to another server; the position, in a file, behind what was done.
//!
//! A batch is done, then its position is kept: after a crash the last batch is done again. Applied elsewhere that comes to the same.
//!
//! Format, one object a line: `event` (`set`, `restore`, `del`, `clear`); `key` or, where the bytes are not UTF-8, `key_base64`; in the same way
//! `value` or `value_base64`, of a hash `payload_base64`; `expires_at_ms` if it expires; of `clear` `first_slot`, `last_slot` and `bits`.
//!
//! Invariant: nothing is passed over: where changes are not kept any more it ends with an error.

use crate::target::{ADDRESS_DEFAULT, TargetArguments, with_port};
use anyhow::{Context, anyhow, bail};
use base64::{Engine, engine::general_purpose::STANDARD};
use brickyard_bench::{Link, Target};
use brickyard_client::slot_of;
use brickyard_wire::{Value, encode_request};
use clap::Args;
use serde::Serialize;
use std::{
    fmt, fs,
    io::{self, BufWriter, ErrorKind, Write},
    ops::RangeInclusive,
    path::{Path, PathBuf},
    process::ExitCode,
    str, thread,
    time::{Duration, Instant},
};

/// How long the server waits for a change.
const WAIT_MS: &str = "1000";

/// Past that a connection that has not answered is given up.
const SILENCE: Duration = Duration::from_secs(15);

/// Between two attempts to find somebody who answers.
const PAUSE: Duration = Duration::from_millis(200);

/// How long nobody may answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Keys that are looked at in a step, where keys of slots are removed.
const SCAN_COUNT: &str = "1000";

/// What `brickyard watch` takes.
#[derive(Args, Debug)]
#[command(
    after_help = "The table has to keep its changes: brickyard table alter NAME --history 1mb\n\n\
                  Examples:\n  brickyard watch --table orders --prefix order:\n  \
                  brickyard watch --table orders --position-file orders.position --to-file orders.jsonl\n  \
                  brickyard watch --table orders --position-file copy.position --into other:6379"
)]
pub(crate) struct Arguments {
    /// Nodes to ask, HOST:PORT, one after the other until one answers
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', default_value = ADDRESS_DEFAULT)]
    address: Vec<String>,
    #[command(flatten)]
    target: TargetArguments,
    /// Only keys that begin so
    #[arg(long, value_name = "PREFIX", conflicts_with = "key")]
    prefix: Option<String>,
    /// Only this key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// From where on: a position that was kept, or now
    #[arg(long, value_name = "POSITION|now")]
    from: Option<String>,
    /// Keep the position in this file after each batch, and go on from it
    #[arg(long, value_name = "FILE")]
    position_file: Option<PathBuf>,
    /// Append to this file, in the place of standard output
    #[arg(long, value_name = "FILE", conflicts_with = "into")]
    to_file: Option<PathBuf>,
    /// Make the same changes there: another cluster's node port, or a Redis
    #[arg(long, value_name = "HOST:PORT")]
    into: Option<String>,
    /// The table there; without it, the one that its server starts in
    #[arg(long, value_name = "NAME", requires = "into")]
    into_table: Option<String>,
    /// End when nothing more has changed by now, in the place of waiting
    #[arg(long)]
    no_wait: bool,
}

/// Follows the table.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let addresses = arguments.address.iter();
    let sources = addresses.map(|address| arguments.target.target(address));
    let mut source = Source::new(sources.collect::<anyhow::Result<_>>()?);
    let mut output = Output::new(arguments)?;
    let mut position = match (&arguments.from, &arguments.position_file) {
        (Some(from), _) => from.clone(),
        (None, Some(file)) => kept(file)?.unwrap_or_else(|| "NOW".to_owned()),
        (None, None) => "NOW".to_owned(),
    };
    let mut is_known = !position.eq_ignore_ascii_case("now");
    loop {
        let mut request = vec![b"WATCHKEYS".to_vec()];
        let mut word = |word: &str| request.push(word.as_bytes().to_vec());
        match (&arguments.prefix, &arguments.key) {
            (Some(prefix), _) => ["PREFIX", prefix].into_iter().for_each(&mut word),
            (None, Some(key)) => ["KEY", key].into_iter().for_each(&mut word),
            (None, None) => word("ALL"),
        }
        ["FROM", &position].into_iter().for_each(&mut word);
        // The first position of all is kept before anything is waited for.
        if is_known && !arguments.no_wait {
            ["BLOCK", WAIT_MS].into_iter().for_each(&mut word);
        }
        let reply = source.call(&request)?;
        let (next, changes) = read(&reply)?;
        output.write(&changes, &mut source)?;
        let is_over = arguments.no_wait && changes.is_empty() && is_known;
        if next != position {
            position = next;
            if let Some(file) = &arguments.position_file {
                keep(file, &position)?;
            }
        }
        is_known = true;
        if is_over {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// A position that was kept.
fn kept(file: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

/// Keeps a position: the file has the one before or this one, whatever happens.
fn keep(file: &Path, position: &str) -> anyhow::Result<()> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let written = fs::File::create(&beside).and_then(|mut it| {
        it.write_all(position.as_bytes())?;
        it.write_all(b"\n")?;
        it.sync_all()
    });
    let kept = written.and_then(|()| fs::rename(&beside, file));
    kept.with_context(|| format!("cannot keep the position in {}", file.display()))
}

/// What has become of a key, or of many.
#[derive(Debug, PartialEq, Eq)]
enum Change<'a> {
    Set(&'a [u8], &'a [u8], Option<u64>),
    Restore(&'a [u8], &'a [u8], Option<u64>),
    Delete(&'a [u8]),
    Clear(RangeInclusive<u16>, &'a str),
}

/// A position and the changes before it.
fn read(reply: &Value) -> anyhow::Result<(String, Vec<Change<'_>>)> {
    let strange =
        || anyhow!("the server answered WATCHKEYS with something else than a position and changes");
    let Some([position, changes]) = reply.elements() else {
        return Err(strange());
    };
    let position = position.bytes().and_then(|it| str::from_utf8(it).ok());
    let changes = changes.elements().map(|all| all.iter().map(change));
    let changes = changes.and_then(Iterator::collect::<Option<Vec<_>>>);
    let (position, changes) = position.zip(changes).ok_or_else(strange)?;
    Ok((position.to_owned(), changes))
}

fn change(value: &Value) -> Option<Change<'_>> {
    let slot = |value: &Value| u16::try_from(value.integer()?).ok();
    let time = |value: &Value| Some(u64::try_from(value.integer()?).ok());
    let words = value.elements()?;
    match (words.first()?.bytes()?, words) {
        (b"set", [_, key, value, at]) => Some(Change::Set(key.bytes()?, value.bytes()?, time(at)?)),
        (b"restore", [_, key, payload, at]) => {
            Some(Change::Restore(key.bytes()?, payload.bytes()?, time(at)?))
        }
        (b"del", [_, key]) => Some(Change::Delete(key.bytes()?)),
        (b"clear", [_, first, last, bits]) => {
            let bits = str::from_utf8(bits.bytes()?).ok()?;
            Some(Change::Clear(slot(first)?..=slot(last)?, bits))
        }
        _ => None,
    }
}

/// The cluster that is followed: one of its nodes at a time.
struct Source {
    targets: Vec<Target>,
    at: usize,
    link: Option<Link>,
}

impl Source {
    const fn new(targets: Vec<Target>) -> Self {
        Self {
            targets,
            at: 0,
            link: None,
        }
    }

    /// Asks until somebody answers with something else than that it cannot now.
    fn call(&mut self, request: &[Vec<u8>]) -> anyhow::Result<Value> {
        let since = Instant::now();
        loop {
            let failed = match self.try_call(request) {
                Ok(reply) => match reply.error() {
                    None => return Ok(reply),
                    Some(text) if is_momentary(text) => {
                        anyhow!("{}", String::from_utf8_lossy(text))
                    }
                    Some(text) => bail!("{}", String::from_utf8_lossy(text)),
                },
                Err(error) => error,
            };
            if since.elapsed() > PATIENCE {
                return Err(failed);
            }
            self.link = None;
            self.at = (self.at + 1) % self.targets.len();
            thread::sleep(PAUSE);
        }
    }

    fn try_call(&mut self, request: &[Vec<u8>]) -> anyhow::Result<Value> {
        let link = match &mut self.link {
            Some(link) => link,
            none => {
                let link = none.insert(Link::open(&self.targets[self.at])?);
                link.set_timeout(Some(SILENCE))?;
                link
            }
        };
        Ok(link.call(request)?)
    }
}

/// Whether the cluster says that it cannot now.
fn is_momentary(error: &[u8]) -> bool {
    let all: [&[u8]; 5] = [
        b"CLUSTERDOWN",
        b"TRYAGAIN",
        b"LOADING",
        b"BUSY",
        b"NOREPLICAS",
    ];
    all.iter().any(|it| error.starts_with(it))
}

/// Where changes go.
enum Output {
    Lines(BufWriter<Box<dyn Write>>),
    Server(Box<Sink>),
}

impl Output {
    fn new(arguments: &Arguments) -> anyhow::Result<Self> {
        if let Some(address) = &arguments.into {
            let target = Target {
                table: arguments.into_table.clone(),
                ..Target::resp(with_port(address))
            };
            let prefix = arguments.prefix.clone().unwrap_or_default();
            return Ok(Self::Server(Box::new(Sink {
                target,
                prefix: prefix.into_bytes(),
                link: None,
            })));
        }
        let writer: Box<dyn Write> = match &arguments.to_file {
            None => Box::new(io::stdout()),
            Some(path) => {
                let file = fs::OpenOptions::new().append(true).create(true).open(path);
                Box::new(file.with_context(|| format!("cannot write to {}", path.display()))?)
            }
        };
        Ok(Self::Lines(BufWriter::new(writer)))
    }

    fn write(&mut self, changes: &[Change<'_>], source: &mut Source) -> anyhow::Result<()> {
        match self {
            Self::Server(sink) => sink.apply(changes, source),
            Self::Lines(writer) => {
                for change in changes {
                    let line = ChangeLine::of(change);
                    serde_json::to_writer(&mut *writer, &line).map_err(io::Error::from)?;
                    writer.write_all(b"\n")?;
                }
                writer.flush()?;
                Ok(())
            }
        }
    }
}

#[derive(Debug, Default, Serialize)]
struct ChangeLine<'a> {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_slot: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_slot: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bits: Option<&'a str>,
}

impl<'a> ChangeLine<'a> {
    fn of(change: &Change<'a>) -> Self {
        match change {
            Change::Set(key, value, expires_at_ms) => {
                let (value, value_base64) = text_or_base64(value);
                Self {
                    value,
                    value_base64,
                    expires_at_ms: *expires_at_ms,
                    ..Self::of_key("set", key)
                }
            }
            Change::Restore(key, payload, expires_at_ms) => Self {
                payload_base64: Some(STANDARD.encode(payload)),
                expires_at_ms: *expires_at_ms,
                ..Self::of_key("restore", key)
            },
            Change::Delete(key) => Self::of_key("del", key),
            Change::Clear(slots, bits) => Self {
                event: "clear",
                first_slot: Some(*slots.start()),
                last_slot: Some(*slots.end()),
                bits: Some(bits),
                ..Self::default()
            },
        }
    }

    fn of_key(event: &'static str, key: &'a [u8]) -> Self {
        let (key, key_base64) = text_or_base64(key);
        Self {
            event,
            key,
            key_base64,
            ..Self::default()
        }
    }
}

fn text_or_base64(bytes: &[u8]) -> (Option<&str>, Option<String>) {
    match str::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(_) => (None, Some(STANDARD.encode(bytes))),
    }
}

/// Another server, in which the same is made.
struct Sink {
    target: Target,
    /// Keys that are followed begin so: others there are none of ours.
    prefix: Vec<u8>,
    link: Option<Link>,
}

impl Sink {
    /// Makes changes until they are acknowledged: twice comes to the same.
    fn apply(&mut self, changes: &[Change<'_>], source: &mut Source) -> anyhow::Result<()> {
        let since = Instant::now();
        while let Err(error) = self.try_apply(changes, source) {
            let is_over = since.elapsed() > PATIENCE || error.is::<Refused>();
            if is_over {
                return Err(
                    error.context(format!("cannot make changes at {}", self.target.address))
                );
            }
            self.link = None;
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn try_apply(&mut self, changes: &[Change<'_>], source: &mut Source) -> anyhow::Result<()> {
        let link = match &mut self.link {
            Some(link) => link,
            none => {
                let link = none.insert(Link::open(&self.target)?);
                link.set_timeout(Some(SILENCE))?;
                link
            }
        };
        for change in changes {
            let reply = match change {
                Change::Clear(slots, bits) => {
                    clear(link, source, &self.prefix, (slots, bits))?;
                    continue;
                }
                Change::Set(key, value, None) => link.call(&[b"SET", *key, value])?,
                Change::Set(key, value, Some(at)) => {
                    link.call(&[b"SET", *key, value, b"PXAT", at.to_string().as_bytes()])?
                }
                Change::Restore(key, payload, at) => {
                    let at = at.unwrap_or(0).to_string();
                    let words = [
                        b"RESTORE",
                        *key,
                        at.as_bytes(),
                        payload,
                        b"REPLACE",
                        b"ABSTTL",
                    ];
                    link.call(&words)?
                }
                Change::Delete(key) => link.call(&[b"DEL", *key])?,
            };
            check(&reply)?;
        }
        Ok(())
    }
}

/// The other server refuses a change for good.
#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

fn check(reply: &Value) -> anyhow::Result<()> {
    match reply.error() {
        None => Ok(()),
        Some(text) if is_momentary(text) || text.starts_with(b"UNKNOWNRESULT") => {
            bail!("{}", String::from_utf8_lossy(text))
        }
        Some(text) => Err(Refused(String::from_utf8_lossy(text).into_owned()).into()),
    }
}

/// Removes the keys of slots, of those that are followed. Where a part of one slot was cleared, those go that the cluster that is followed has no more: it alone knows which part
/// a key is in.
fn clear(
    link: &mut Link,
    source: &mut Source,
    prefix: &[u8],
    (slots, bits): (&RangeInclusive<u16>, &str),
) -> anyhow::Result<()> {
    let is_part = bits.len() > 14;
    let mut cursor = b"0".to_vec();
    loop {
        let reply = link.call(&[b"SCAN", &cursor[..], b"COUNT", SCAN_COUNT.as_bytes()])?;
        check(&reply)?;
        let Some([next, keys]) = reply.elements() else {
            bail!("SCAN was answered with something else than a cursor and keys");
        };
        cursor = next.bytes().context("SCAN's cursor is no string")?.to_vec();
        let keys = keys.elements().unwrap_or_default().iter();
        let mut request = Vec::new();
        let mut count = 0;
        for key in keys.filter_map(Value::bytes) {
            if !key.starts_with(prefix) || !slots.contains(&slot_of(key)) {
                continue;
            }
            let is_there = is_part && {
                let there = source.call(&[b"EXISTS".to_vec(), key.to_vec()])?;
                there.integer() == Some(1)
            };
            if !is_there {
                encode_request(&mut request, &[&b"DEL"[..], key]);
                count += 1;
            }
        }
        link.send(&request)?;
        for _ in 0..count {
            check(&link.receive_value()?)?;
        }
        if cursor == b"0" {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod watch_test {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::Bulk(text.as_bytes().to_vec())
    }

    fn lines(changes: Vec<Value>) -> Vec<String> {
        let reply = Value::Array(vec![bulk("at"), Value::Array(changes)]);
        let (position, changes) = read(&reply).expect("changes");
        assert_eq!(position, "at");
        let line = |change: &Change<'_>| {
            serde_json::to_string(&ChangeLine::of(change)).expect("plain data")
        };
        changes.iter().map(line).collect()
    }

    #[test]
    fn changes_are_lines_that_say_what_they_are() {
        let bytes = Value::Bulk(vec![0xff, 0]);
        let never = || Value::Integer(-1);
        let written = lines(vec![
            Value::Array(vec![bulk("set"), bulk("k"), bulk("v"), never()]),
            Value::Array(vec![
                bulk("set"),
                bytes.clone(),
                bytes.clone(),
                Value::Integer(5),
            ]),
            Value::Array(vec![bulk("restore"), bulk("h"), bytes, never()]),
            Value::Array(vec![bulk("del"), bulk("k")]),
            Value::Array(vec![
                bulk("clear"),
                Value::Integer(0),
                Value::Integer(8191),
                bulk("0"),
            ]),
        ]);
        let expected = [
            r#"{"event":"set","key":"k","value":"v"}"#,
            r#"{"event":"set","key_base64":"/wA=","value_base64":"/wA=","expires_at_ms":5}"#,
            r#"{"event":"restore","key":"h","payload_base64":"/wA="}"#,
            r#"{"event":"del","key":"k"}"#,
            r#"{"event":"clear","first_slot":0,"last_slot":8191,"bits":"0"}"#,
        ];
        assert_eq!(written, expected);
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for reply in [
            Value::Null,
            bulk("x"),
            Value::Array(vec![bulk("at"), bulk("x")]),
        ] {
            assert!(read(&reply).is_err());
        }
    }
}
