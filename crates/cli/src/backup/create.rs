//! A table into a backup, while it is being read and written.
//!
//! In:  a cluster. Out: a part for each partition, and then the manifest.
//!
//! Each brick exports the partitions that it leads (`TABLE EXPORT`), one after the other, all bricks at once. What a
//! brick cannot give now, since a view changes, a node dies, or more is overwritten than it keeps, is asked for again, of whoever
//! leads the partition then.
//!
//! Invariants:
//! - A part is of one op of its partition's log, and has all that was acknowledged before the backup was begun.
//! - A later backup leaves out the values that an earlier one has: those with an op that is not above the one that
//!   was backed up, of the same history.

use crate::cmd::digest::brick_addresses;
use anyhow::{Context, anyhow, bail, ensure};
use brickyard_backup::{FORMAT, Manifest, PartEntry, PartWriter, Repository, Row};
use brickyard_bench::{Link, Target};
use brickyard_command::table::lookup_full;
use brickyard_wire::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Between two rounds of asking for what could not be had.
const PAUSE: Duration = Duration::from_millis(200);

/// What is to be backed up, and how.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) target: Target,
    pub(crate) table: String,
    /// The name that the backup gets; without one, the seconds since 1970.
    pub(crate) name: Option<String>,
    /// Whether all values are to be in it.
    pub(crate) is_full: bool,
    /// How long partitions that cannot be had are asked for again.
    pub(crate) patience: Duration,
}

/// A table, as its cluster describes it.
struct Described {
    id: u64,
    partitions: usize,
    /// What it takes to make one like it.
    attributes: BTreeMap<String, String>,
}

/// What all bricks' threads work on.
struct Work<'a> {
    repository: &'a Repository,
    options: &'a Options,
    name: &'a str,
    begun_ms: u64,
    base: Option<&'a Manifest>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    parts: Vec<PartEntry>,
    /// Partitions that somebody exports, or has exported.
    taken: BTreeSet<u32>,
    /// Why a partition could not be had, last.
    trouble: Option<anyhow::Error>,
}

/// Makes a backup; `on_part` is told how many partitions and records there are so far.
pub(crate) fn create(
    repository: &Repository,
    options: &Options,
    on_part: impl Fn(usize, usize, u64) + Sync,
) -> anyhow::Result<Manifest> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let begun_ms = u64::try_from(now.as_millis())?;
    let name = options
        .name
        .clone()
        .unwrap_or_else(|| now.as_secs().to_string());
    repository.check_new(&name)?;
    let described = describe(&options.target, &options.table)?;
    let base = if options.is_full {
        None
    } else {
        let newest = repository.newest(Some(&options.table))?;
        newest.filter(|it| it.table_id == described.id)
    };
    let work = Work {
        repository,
        options,
        name: &name,
        begun_ms,
        base: base.as_ref(),
        state: Mutex::default(),
    };
    let until = Instant::now() + options.patience;
    loop {
        let addresses = bricks(&options.target)?;
        thread::scope(|scope| {
            for address in &addresses {
                scope.spawn(|| work.export_all_of(address, described.partitions, &on_part));
            }
        });
        let mut state = work.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.parts.len() == described.partitions {
            break;
        }
        if Instant::now() > until {
            let missing = described.partitions - state.parts.len();
            let trouble = state.trouble.take();
            let trouble = trouble.unwrap_or_else(|| anyhow!("no brick leads them"));
            return Err(trouble.context(format!(
                "{missing} of {} partitions could not be had within {} s; what was written is no backup",
                described.partitions,
                options.patience.as_secs()
            )));
        }
        drop(state);
        thread::sleep(PAUSE);
    }
    let state = work.state.into_inner();
    let mut parts = state.unwrap_or_else(PoisonError::into_inner).parts;
    parts.sort_by_key(|part| part.partition);
    let manifest = Manifest {
        format: FORMAT,
        name,
        begun_ms,
        table: options.table.clone(),
        table_id: described.id,
        attributes: described.attributes,
        base: base.map(|it| it.name),
        parts,
    };
    repository.publish(&manifest)?;
    Ok(manifest)
}

impl Work<'_> {
    /// Exports what the brick at `address` leads, as far as that can be had now.
    fn export_all_of(
        &self,
        address: &str,
        partitions: usize,
        on_part: &(impl Fn(usize, usize, u64) + Sync),
    ) {
        let result = self.try_export_all_of(address, partitions, on_part);
        if let Err(error) = result {
            self.lock().trouble = Some(error.context(format!("brick {address}")));
        }
    }

    fn try_export_all_of(
        &self,
        address: &str,
        partitions: usize,
        on_part: &(impl Fn(usize, usize, u64) + Sync),
    ) -> anyhow::Result<()> {
        let brick = Target {
            address: address.to_owned(),
            table: None,
            ..self.options.target.clone()
        };
        let mut link = Link::open(&brick)?;
        let reply = ask(&mut link, &["TABLE", "EXPORT", &self.options.table])?;
        let led = reply.elements().context("it does not say what it leads")?;
        for partition in led {
            let partition = partition.integer().and_then(|it| u32::try_from(it).ok());
            let partition = partition.context("it leads what has no number")?;
            if !self.lock().taken.insert(partition) {
                continue;
            }
            match self.export(&mut link, partition) {
                Ok(part) => {
                    let mut state = self.lock();
                    state.parts.push(part);
                    let rows = state.parts.iter().map(|it| it.rows).sum();
                    on_part(state.parts.len(), partitions, rows);
                }
                Err(error) => {
                    self.lock().taken.remove(&partition);
                    return Err(error.context(format!("partition {partition}")));
                }
            }
        }
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a partition into a file, or finds that the earlier backup's is as good.
    fn export(&self, link: &mut Link, partition: u32) -> anyhow::Result<PartEntry> {
        let base = self.base.and_then(|it| it.part(partition));
        if let Some(base) = base
            && let Some(part) = self.export_after(link, partition, Some(base))?
        {
            return Ok(part);
        }
        self.export_after(link, partition, None)?
            .context("it was meant to be whole")
    }

    /// `None`: the earlier backup is of another history.
    fn export_after(
        &self,
        link: &mut Link,
        partition: u32,
        base: Option<&PartEntry>,
    ) -> anyhow::Result<Option<PartEntry>> {
        let (table, number) = (self.options.table.as_str(), partition.to_string());
        let mut request = vec!["TABLE", "EXPORT", table, &number];
        let after = base.map(|it| it.op.to_string());
        if let Some(op) = &after {
            request.extend(["AFTER", op]);
        }
        let mut file = self.repository.new_part(self.name, partition)?;
        let mut writer = PartWriter::begin(&mut file.out, partition)?;
        let first = loop {
            let reply = ask(link, &request)?;
            let piece = Piece::read(reply).context("its export makes no sense")?;
            if base.is_some_and(|it| it.generation != piece.generation) {
                return Ok(None);
            }
            for row in &piece.rows {
                // What is gone by the time of the backup is not in it.
                if row.expires_at.is_none_or(|at| at > self.begun_ms) {
                    writer.push(row)?;
                }
            }
            if !piece.has_more {
                break piece;
            }
            request = vec!["TABLE", "EXPORT", table, &number, "NEXT"];
        };
        let (totals, file_bytes) = writer.end()?;
        let part = PartEntry {
            partition,
            view: first.view,
            op: first.op,
            generation: first.generation,
            file: String::new(),
            file_bytes,
            rows: totals.rows,
            values: totals.values,
            digest: format!("{:016x}", totals.digest),
        };
        // Rows without a value are rows of the earlier backup: as many are the same.
        Ok(Some(match base {
            Some(base) if totals.values == 0 && totals.rows == base.rows => PartEntry {
                view: part.view,
                op: part.op,
                ..base.clone()
            },
            _ => PartEntry {
                file: file.finish()?,
                ..part
            },
        }))
    }
}

/// A reply of `TABLE EXPORT`.
struct Piece {
    has_more: bool,
    view: u64,
    op: u64,
    generation: u64,
    rows: Vec<Row>,
}

impl Piece {
    fn read(reply: Value) -> Option<Self> {
        let Value::Array(reply) = reply else {
            return None;
        };
        let [
            Value::Integer(has_more),
            Value::Integer(view),
            Value::Integer(op),
            Value::Integer(generation),
            Value::Array(rows),
        ] = &reply[..]
        else {
            return None;
        };
        Some(Self {
            has_more: *has_more == 1,
            view: u64::try_from(*view).ok()?,
            op: u64::try_from(*op).ok()?,
            generation: u64::try_from(*generation).ok()?,
            rows: rows.iter().map(row).collect::<Option<_>>()?,
        })
    }
}

fn row(value: &Value) -> Option<Row> {
    // A fifth says that the value is the payload of something that is no string.
    let [
        key,
        Value::Integer(op),
        Value::Integer(expiry),
        value,
        form @ ..,
    ] = value.elements()?
    else {
        return None;
    };
    let is_payload = match form {
        [] => false,
        [Value::Integer(1)] => true,
        _ => return None,
    };
    Some(Row {
        key: key.bytes()?.to_vec(),
        op: u64::try_from(*op).ok()?,
        expires_at: u64::try_from(*expiry).ok(),
        value: match value {
            Value::Null => None,
            value => Some(value.bytes()?.to_vec()),
        },
        is_payload,
    })
}

fn describe(target: &Target, table: &str) -> anyhow::Result<Described> {
    let mut link = Link::open(&Target {
        table: None,
        ..target.clone()
    })?;
    let reply = ask(&mut link, &["TABLE", "DESCRIBE", table])?;
    let words = reply.elements().unwrap_or_default();
    let text = |value: &Value| match value {
        Value::Integer(number) => number.to_string(),
        value => String::from_utf8_lossy(value.bytes().unwrap_or_default()).into_owned(),
    };
    let all: BTreeMap<String, String> = words
        .chunks_exact(2)
        .map(|pair| (text(&pair[0]), text(&pair[1])))
        .collect();
    let number = |name: &str| all.get(name).and_then(|it| it.parse::<u64>().ok());
    let (id, partitions) = number("id")
        .zip(number("partitions"))
        .context("TABLE DESCRIBE makes no sense")?;
    // A number that nobody chose is none that a larger cluster should be bound to.
    let is_chosen = all.get("copies").is_none_or(|it| it == "fixed");
    let described = |name: String| {
        let value = match name.as_str() {
            "replicas" if !is_chosen => "auto".to_owned(),
            name => all.get(name)?.clone(),
        };
        Some((name, value))
    };
    Ok(Described {
        id,
        partitions: usize::try_from(partitions)?,
        attributes: attributes().filter_map(described).collect(),
    })
}

/// What `TABLE CREATE` takes, whatever is added to it. Partitions are made of those that there are, and nodes are another cluster's.
fn attributes() -> impl Iterator<Item = String> {
    let create = lookup_full(b"table|create");
    let tokens = create.into_iter().flat_map(|spec| spec.docs.arguments);
    tokens
        .filter_map(|argument| argument.token)
        .filter(|token| !["PARTITIONS", "NODES"].contains(token))
        .map(str::to_ascii_lowercase)
}

/// The bricks' own addresses.
fn bricks(target: &Target) -> anyhow::Result<Vec<String>> {
    let mut link = Link::open(&Target {
        table: None,
        ..target.clone()
    })?;
    let nodes = ask(&mut link, &["CLUSTER", "NODES"])?;
    let nodes = String::from_utf8_lossy(nodes.bytes().unwrap_or_default()).into_owned();
    let addresses: Vec<String> = brick_addresses(&nodes)
        .into_iter()
        .map(str::to_owned)
        .collect();
    ensure!(!addresses.is_empty(), "{} names no brick", target.address);
    Ok(addresses)
}

fn ask(link: &mut Link, request: &[&str]) -> anyhow::Result<Value> {
    let reply = link.call(request)?;
    if let Value::Error(text) = &reply {
        bail!("{}: {}", request.join(" "), String::from_utf8_lossy(text));
    }
    Ok(reply)
}

#[cfg(test)]
#[path = "create_test.rs"]
mod create_test;
