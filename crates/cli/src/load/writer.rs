//! Records to a server, over several connections.
//!
//! In:  records, in the order of the file. Out: a [`Tally`] of what the server said to each.
//!
//! Each connection has a thread, which sends a batch, waits for its replies, and takes the next one.
//! Batches wait in bounded channels, so a slow server slows the reader of the file down.
//!
//! Invariants:
//! - Records of one key go over one connection, so the last one of the file is the one that stays.
//! - A SET that is sent again stores what it stored before; sending again is therefore safe both
//!   after a lost connection and after a refusal that asks for patience. Only order must be kept: a
//!   record is not sent again once a later one of its key is stored.

use super::{record::Record, tally::Tally};
use anyhow::{Context, bail};
use brickyard_bench::{Error, Link, Outcome, Target, error_kind, error_text};
use brickyard_wire::encode_request;
use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// A batch is sent when it has so many records,
const BATCH_RECORDS: usize = 256;
/// or so many bytes.
const BATCH_BYTES: usize = 256 * 1024;
/// Batches that may wait for a connection.
const BATCHES_WAITING: usize = 2;

/// Pauses before a request is sent again: the first, and the longest.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// How records are written.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) target: Target,
    pub(crate) connections: usize,
    /// How long a batch is sent again before it is given up.
    pub(crate) patience: Duration,
    /// Whether the first refusal ends the load.
    pub(crate) is_strict: bool,
}

/// The connections, each with the batch that is being filled for it.
pub(crate) struct Writer {
    lanes: Vec<Lane>,
    stored: Arc<AtomicU64>,
}

struct Lane {
    batch: Vec<Record>,
    batch_bytes: usize,
    sender: SyncSender<Vec<Record>>,
    thread: JoinHandle<anyhow::Result<Tally>>,
}

/// The other end of a channel is gone: its thread has failed, and [`Writer::finish`] says why.
#[derive(Debug)]
pub(crate) struct Stopped;

impl Writer {
    /// Opens the connections. Nothing is written yet.
    pub(crate) fn open(options: &Options) -> anyhow::Result<Self> {
        let stored = Arc::new(AtomicU64::new(0));
        let mut lanes = Vec::new();
        for _ in 0..options.connections {
            let worker = Worker {
                link: Link::open(&options.target)?,
                options: options.clone(),
                tally: Tally::default(),
                stored: Arc::clone(&stored),
                output: Vec::new(),
            };
            let (sender, receiver) = sync_channel(BATCHES_WAITING);
            let thread = thread::Builder::new()
                .name("load".to_owned())
                .spawn(move || worker.run(&receiver))
                .context("cannot start a thread")?;
            lanes.push(Lane {
                batch: Vec::new(),
                batch_bytes: 0,
                sender,
                thread,
            });
        }
        Ok(Self { lanes, stored })
    }

    /// Records that the server has acknowledged so far.
    pub(crate) fn stored(&self) -> u64 {
        self.stored.load(Ordering::Relaxed)
    }

    /// Hands a record to its connection; waits while that one is behind.
    pub(crate) fn write(&mut self, record: Record) -> Result<(), Stopped> {
        let mut hasher = DefaultHasher::new();
        record.key.hash(&mut hasher);
        let position = hasher.finish() as usize % self.lanes.len();
        let lane = &mut self.lanes[position];
        lane.batch_bytes += record.key.len() + record.value.len();
        lane.batch.push(record);
        if lane.batch.len() >= BATCH_RECORDS || lane.batch_bytes >= BATCH_BYTES {
            lane.send()?;
        }
        Ok(())
    }

    /// Sends what is left, waits for every reply, and adds the counts to `tally`.
    pub(crate) fn finish(mut self, tally: &mut Tally) -> anyhow::Result<()> {
        for lane in &mut self.lanes {
            // A lane that has stopped tells why when it is joined.
            let _ = lane.send();
        }
        let mut first_error = Ok(());
        for lane in self.lanes {
            drop(lane.sender);
            match lane.thread.join() {
                Ok(Ok(theirs)) => tally.merge(theirs),
                Ok(Err(error)) if first_error.is_ok() => first_error = Err(error),
                Ok(Err(_)) => {}
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        first_error
    }
}

impl Lane {
    fn send(&mut self) -> Result<(), Stopped> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.batch_bytes = 0;
        self.sender
            .send(std::mem::take(&mut self.batch))
            .map_err(|_| Stopped)
    }
}

/// One connection.
struct Worker {
    link: Link,
    options: Options,
    tally: Tally,
    stored: Arc<AtomicU64>,
    output: Vec<u8>,
}

impl Worker {
    fn run(mut self, batches: &Receiver<Vec<Record>>) -> anyhow::Result<Tally> {
        for batch in batches {
            self.write_batch(batch)?;
        }
        Ok(self.tally)
    }

    /// Sends a batch until every record of it is stored or given up.
    fn write_batch(&mut self, mut batch: Vec<Record>) -> anyhow::Result<()> {
        let deadline = Instant::now() + self.options.patience;
        let mut pause = PAUSE_MIN;
        while !batch.is_empty() {
            let is_last = Instant::now() >= deadline;
            let (again, result) = self.attempt(batch, is_last)?;
            batch = again;
            match result {
                Ok(()) if batch.is_empty() => {}
                Ok(()) => self.tally.retried += batch.len() as u64,
                Err(error @ Error::Io { .. }) if !is_last => {
                    self.reconnect(deadline)
                        .with_context(|| format!("the connection was lost ({error})"))?;
                }
                Err(error) => return Err(error.into()),
            }
            if !batch.is_empty() {
                thread::sleep(pause);
                pause = (2 * pause).min(PAUSE_MAX);
            }
        }
        Ok(())
    }

    /// Sends `batch` once and counts the replies; returns what should be sent again.
    fn attempt(
        &mut self,
        batch: Vec<Record>,
        is_last: bool,
    ) -> anyhow::Result<(Vec<Record>, Result<(), Error>)> {
        self.output.clear();
        for record in &batch {
            encode_set(&mut self.output, record);
        }
        let mut result = self.link.send(&self.output);
        let mut refused_for_now = Vec::new();
        let mut answered = 0;
        let mut stored = vec![false; batch.len()];
        while result.is_ok() && answered < batch.len() {
            let record = &batch[answered];
            match self.link.receive() {
                Ok((Outcome::Refused, reply)) => {
                    let (kind, text) = (error_kind(reply), error_text(reply));
                    if asks_for_patience(&kind) && !is_last {
                        refused_for_now.push(answered);
                    } else {
                        self.refuse(record, kind, &text)?;
                    }
                }
                Ok(_) => {
                    stored[answered] = true;
                    self.count_stored(record);
                }
                Err(error) => result = Err(error),
            }
            answered += usize::from(result.is_ok());
        }
        let again = self.take_unfinished(batch, &stored, &refused_for_now, answered);
        Ok((again, result))
    }

    /// Takes the records that were refused for now, or not answered at all, out of the batch.
    fn take_unfinished(
        &mut self,
        batch: Vec<Record>,
        stored: &[bool],
        refused_for_now: &[usize],
        answered: usize,
    ) -> Vec<Record> {
        if refused_for_now.is_empty() && answered == batch.len() {
            return Vec::new();
        }
        // From the back, so that a key is known to be stored by the time its earlier records come.
        let mut stored_later = BTreeSet::new();
        let mut again = Vec::new();
        for (position, record) in batch.into_iter().enumerate().rev() {
            if stored[position] {
                stored_later.insert(record.key);
            } else if position >= answered || refused_for_now.contains(&position) {
                if stored_later.contains(&record.key) {
                    // The table holds what it would hold had this one been stored in its turn.
                    self.count_stored(&record);
                } else {
                    again.push(record);
                }
            }
        }
        again.reverse();
        again
    }

    fn count_stored(&mut self, record: &Record) {
        self.tally.stored(record.key.len() + record.value.len());
        self.stored.fetch_add(1, Ordering::Relaxed);
    }

    fn refuse(&mut self, record: &Record, kind: String, text: &str) -> anyhow::Result<()> {
        if self.options.is_strict {
            bail!(
                "the server refused the record on line {}: {text}; without --strict it would be \
                 counted and left out",
                record.line
            );
        }
        self.tally.refused(kind, text, record.line);
        Ok(())
    }

    fn reconnect(&mut self, deadline: Instant) -> Result<(), Error> {
        let mut pause = PAUSE_MIN;
        loop {
            match Link::open(&self.options.target) {
                Ok(link) => {
                    self.link = link;
                    self.tally.reconnected += 1;
                    return Ok(());
                }
                Err(error @ Error::Connect { .. }) if Instant::now() >= deadline => {
                    return Err(error);
                }
                Err(Error::Connect { .. }) => {
                    thread::sleep(pause);
                    pause = (2 * pause).min(PAUSE_MAX);
                }
                Err(other) => return Err(other),
            }
        }
    }
}

/// Refusals of the moment: the server is full, starting, or moving things about.
fn asks_for_patience(kind: &str) -> bool {
    matches!(
        kind,
        "BUSY" | "TRYAGAIN" | "LOADING" | "CLUSTERDOWN" | "NOREPLICAS"
    )
}

fn encode_set(out: &mut Vec<u8>, record: &Record) {
    match record.expire_ms {
        None => encode_request(out, &[b"SET", &record.key[..], &record.value]),
        Some(expire_ms) => {
            let expire_ms = expire_ms.to_string();
            let arguments = [
                b"SET",
                &record.key[..],
                &record.value,
                b"PX",
                expire_ms.as_bytes(),
            ];
            encode_request(out, &arguments);
        }
    }
}

#[cfg(test)]
#[path = "writer_test.rs"]
mod writer_test;
