//! Records to a cluster, through the client library.
//!
//! In:  records, in the order of the file. Out: a [`Tally`] of what the servers said to each.
//!
//! A thread of its own has the client: each record goes straight to the brick that has its key, and as many
//! are under way as the window holds. Batches wait for it in a bounded channel, so a slow cluster slows the
//! reader of the file down.
//!
//! Invariants:
//! - Of one key one record is under way at a time, so the last one of the file is the one that stays.
//! - A SET that is sent again stores what it stored before; sending again is therefore safe also when nobody
//!   knows whether the first was executed. So the load goes on through the loss of a node.

use super::{
    record::{Expiry, Record},
    tally::Tally,
};
use anyhow::{Context, anyhow, bail};
use brickyard_bench::{Link, Target};
use brickyard_client::{Client, Error, Options as ClientOptions, Pending, Table, Value};
use std::{
    collections::{HashSet, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc as std_mpsc,
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Records are handed over so many at a time,
const BATCH_RECORDS: usize = 256;
/// or so many bytes.
const BATCH_BYTES: usize = 256 * 1024;
/// Batches that may wait for the client.
const BATCHES_WAITING: usize = 4;

/// Records that may be under way,
const WINDOW_RECORDS: usize = 4096;
/// or bytes of them.
const WINDOW_BYTES: usize = 16 << 20;

/// How long one attempt may take, all that the client library does by itself included. The server's own
/// deadline, after which it says that it does not know.
const ATTEMPT: Duration = Duration::from_secs(5);

/// Exit code of a program that was interrupted, as shells have it.
const INTERRUPTED: i32 = 130;

/// Between two rounds of sending again: not for each record, of which thousands fail together with a connection.
const PAUSE: Duration = Duration::from_millis(20);

/// How records are written.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The first node to ask, with what every connection starts with.
    pub(crate) target: Target,
    /// Further nodes, should that one be gone.
    pub(crate) others: Vec<String>,
    /// Connections to each brick.
    pub(crate) connections: usize,
    /// How long a record is sent again before the load is given up.
    pub(crate) patience: Duration,
    /// Whether the first refusal ends the load.
    pub(crate) is_strict: bool,
    /// Whether the load can go on from a line of its file: then it ends in good order when it is interrupted, and tells from
    /// which one.
    pub(crate) can_resume: bool,
}

/// The client's thread, and the batch that is being filled for it.
pub(crate) struct Writer {
    batch: Vec<Record>,
    batch_bytes: usize,
    sender: Sender<Vec<Record>>,
    thread: JoinHandle<anyhow::Result<Tally>>,
    counts: Counts,
}

/// What both threads know.
#[derive(Clone, Debug, Default)]
struct Counts {
    /// Records that were acknowledged so far.
    stored: Arc<AtomicU64>,
    /// Somebody wants the load to end.
    is_interrupted: Arc<AtomicBool>,
}

/// The other end of the channel is gone: the client's thread has failed, and [`Writer::finish`] says why.
#[derive(Debug)]
pub(crate) struct Stopped;

impl Writer {
    /// Finds the cluster and the table. Nothing is written yet.
    pub(crate) fn open(options: &Options) -> anyhow::Result<Self> {
        let options = options.reachable()?;
        let counts = Counts::default();
        let (sender, batches) = channel(BATCHES_WAITING);
        let (ready, is_ready) = std_mpsc::sync_channel(1);
        let theirs = counts.clone();
        let thread = thread::Builder::new()
            .name("load".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()?;
                runtime.block_on(run(&options, batches, &ready, theirs))
            })
            .context("cannot start a thread")?;
        // Gone without a word: the thread says why.
        if is_ready.recv().is_err() {
            return Err(match thread.join() {
                Ok(Ok(_)) => anyhow!("the client ended before it began"),
                Ok(Err(error)) => error,
                Err(panic) => std::panic::resume_unwind(panic),
            });
        }
        Ok(Self {
            batch: Vec::new(),
            batch_bytes: 0,
            sender,
            thread,
            counts,
        })
    }

    /// Records that were acknowledged so far.
    pub(crate) fn stored(&self) -> u64 {
        self.counts.stored.load(Ordering::Relaxed)
    }

    /// Whether Ctrl-C was pressed: what was handed over is still stored, and no more should come.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.counts.is_interrupted.load(Ordering::Relaxed)
    }

    /// Hands a record to the client; waits while that one is behind.
    pub(crate) fn write(&mut self, record: Record) -> Result<(), Stopped> {
        self.batch_bytes += bytes_of(&record);
        self.batch.push(record);
        if self.batch.len() >= BATCH_RECORDS || self.batch_bytes >= BATCH_BYTES {
            self.hand_over()?;
        }
        Ok(())
    }

    fn hand_over(&mut self) -> Result<(), Stopped> {
        self.batch_bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        self.sender.blocking_send(batch).map_err(|_| Stopped)
    }

    /// Sends what is left, waits for every reply, and adds the counts to `tally`.
    pub(crate) fn finish(mut self, tally: &mut Tally) -> anyhow::Result<()> {
        // A thread that has stopped tells why when it is joined.
        let _ = self.hand_over();
        drop(self.sender);
        match self.thread.join() {
            Ok(result) => {
                tally.merge(result?);
                Ok(())
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn bytes_of(record: &Record) -> usize {
    record.key.len() + record.value.len()
}

impl Options {
    /// The same, beginning with a node that answers and lets us in: one that does not is told here, in its own
    /// words, and not of every record.
    fn reachable(&self) -> anyhow::Result<Self> {
        let first = std::iter::once(&self.target.address);
        let mut refusals = Vec::new();
        for address in first.chain(&self.others) {
            let target = Target {
                address: address.clone(),
                ..self.target.clone()
            };
            match Link::open(&target) {
                Ok(_) => {
                    return Ok(Self {
                        target,
                        ..self.clone()
                    });
                }
                Err(error @ brickyard_bench::Error::Connect { .. }) => refusals.push(error),
                Err(error) => return Err(error.into()),
            }
        }
        let first = refusals.into_iter().next();
        Err(first.map_or_else(|| anyhow!("no node was named"), Into::into))
    }

    fn client(&self) -> ClientOptions {
        let first = std::iter::once(self.target.address.clone());
        ClientOptions {
            user: self.target.user.clone(),
            password: self.target.password.clone(),
            tls: self.target.tls.clone(),
            connections_per_brick: self.connections,
            deadline: self.patience.clamp(Duration::from_millis(1), ATTEMPT),
            ..ClientOptions::new(first.chain(self.others.iter().cloned()))
        }
    }
}

/// The client's thread.
async fn run(
    options: &Options,
    mut batches: Receiver<Vec<Record>>,
    ready: &std_mpsc::SyncSender<()>,
    counts: Counts,
) -> anyhow::Result<Tally> {
    if options.can_resume {
        note_interrupts(Arc::clone(&counts.is_interrupted))?;
    }
    let address = &options.target.address;
    let client = Client::connect(options.client()).await;
    let client = client.with_context(|| format!("cannot find the cluster of {address}"))?;
    let mut worker = Worker {
        table: match &options.target.table {
            Some(name) => client.table(name),
            None => client.home_table(),
        },
        patience: options.patience,
        is_strict: options.is_strict,
        tally: Tally::default(),
        counts,
        failed: None,
        window: VecDeque::new(),
        keys: HashSet::new(),
        bytes: 0,
        paused: Instant::now(),
    };
    // Whoever waits for it may have given up.
    let _ = ready.send(());
    match worker.write_all(&mut batches).await {
        Ok(()) => Ok(worker.tally),
        Err(error) => Err(match worker.first_missing() {
            Some(line) if options.can_resume => error.context(left_from(line)),
            _ => error,
        }),
    }
}

/// The first Ctrl-C is noted, the second one ends the process.
fn note_interrupts(is_interrupted: Arc<AtomicBool>) -> anyhow::Result<()> {
    let mut interrupts = signal(SignalKind::interrupt()).context("cannot handle signals")?;
    tokio::spawn(async move {
        interrupts.recv().await;
        is_interrupted.store(true, Ordering::Relaxed);
        eprintln!(
            "stopping, once what is under way is stored; Ctrl-C again does not wait for that"
        );
        interrupts.recv().await;
        std::process::exit(INTERRUPTED);
    });
    Ok(())
}

/// What an interrupted load has done, and how it goes on.
pub(crate) fn left_from(line: u64) -> String {
    format!(
        "every record before line {line} is stored, or was counted as left out; go on with --from-line {line}"
    )
}

struct Worker {
    table: Table,
    patience: Duration,
    is_strict: bool,
    tally: Tally,
    counts: Counts,
    /// The line of the record that ended the load.
    failed: Option<u64>,
    /// What is under way, with its keys and bytes.
    window: VecDeque<Flight>,
    keys: HashSet<Vec<u8>>,
    bytes: usize,
    /// When it paused last.
    paused: Instant,
}

/// A record under way.
struct Flight {
    record: Record,
    /// When it was sent first.
    since: Instant,
    reply: Pending<Value>,
}

impl Worker {
    async fn write_all(&mut self, batches: &mut Receiver<Vec<Record>>) -> anyhow::Result<()> {
        while let Some(batch) = batches.recv().await {
            for record in batch {
                self.write(record).await?;
            }
        }
        while !self.window.is_empty() {
            self.settle().await?;
        }
        Ok(())
    }

    /// The first line with a record of which it is not known that it is stored.
    fn first_missing(&self) -> Option<u64> {
        let under_way = self.window.iter().map(|flight| flight.record.line);
        under_way.chain(self.failed).min()
    }

    async fn write(&mut self, record: Record) -> anyhow::Result<()> {
        while self.window.len() >= WINDOW_RECORDS
            || self.bytes >= WINDOW_BYTES
            || self.keys.contains(&record.key)
        {
            self.settle().await?;
        }
        self.keys.insert(record.key.clone());
        self.bytes += bytes_of(&record);
        self.send(record, Instant::now());
        Ok(())
    }

    fn send(&mut self, record: Record, since: Instant) {
        let expiry = record.expiry.map(|it| match it {
            Expiry::In(ms) => ("PX", ms.to_string()),
            Expiry::At(ms) => ("PXAT", ms.to_string()),
        });
        let reply = match expiry {
            _ if record.is_payload => self.restore(&record),
            None => {
                let words: [&[u8]; 3] = [b"SET", &record.key, &record.value];
                self.table.command(&words)
            }
            Some((option, ms)) => {
                let (key, value) = (&record.key[..], &record.value[..]);
                let words = [b"SET", key, value, option.as_bytes(), ms.as_bytes()];
                self.table.command(&words)
            }
        };
        self.window.push_back(Flight {
            record,
            since,
            reply,
        });
    }

    /// Stores what is no string.
    fn restore(&self, record: &Record) -> Pending<Value> {
        let (ms, is_absolute) = match record.expiry {
            None => (0, false),
            Some(Expiry::In(ms)) => (ms, false),
            Some(Expiry::At(ms)) => (ms, true),
        };
        let ms = ms.to_string();
        let mut words = vec![
            b"RESTORE",
            &record.key[..],
            ms.as_bytes(),
            &record.value,
            b"REPLACE",
        ];
        if is_absolute {
            words.push(b"ABSTTL");
        }
        self.table.command(&words)
    }

    /// Waits for the reply to the oldest record under way.
    async fn settle(&mut self) -> anyhow::Result<()> {
        let Some(flight) = self.window.pop_front() else {
            return Ok(());
        };
        let (record, since) = (flight.record, flight.since);
        match flight.reply.await {
            Ok(_) => {
                self.tally.stored(bytes_of(&record));
                self.counts.stored.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) if is_momentary(&error) && since.elapsed() < self.patience => {
                self.tally.retried += 1;
                if self.paused.elapsed() >= PAUSE {
                    tokio::time::sleep(PAUSE).await;
                    self.paused = Instant::now();
                }
                // Its key stays in the window: no later record of it passes it.
                self.send(record, since);
                return Ok(());
            }
            Err(Error::Refused { text }) => self.refuse(&record, &text)?,
            Err(error) => {
                self.failed = Some(record.line);
                return Err(error)
                    .with_context(|| format!("the record on line {} was not stored", record.line));
            }
        }
        self.keys.remove(&record.key);
        self.bytes -= bytes_of(&record);
        Ok(())
    }

    fn refuse(&mut self, record: &Record, text: &str) -> anyhow::Result<()> {
        if self.is_strict {
            self.failed = Some(record.line);
            bail!(
                "the server refused the record on line {}: {text}; without --strict it would be \
                 counted and left out",
                record.line
            );
        }
        let kind = text.split(' ').next().unwrap_or_default().to_owned();
        self.tally.refused(kind, text, record.line);
        Ok(())
    }
}

/// What time will mend: the server is full, starting, moving things about, or gone.
pub(crate) fn is_momentary(error: &Error) -> bool {
    match error {
        Error::Refused { .. } => matches!(
            error.prefix(),
            Some(
                "BUSY"
                    | "TRYAGAIN"
                    | "LOADING"
                    | "CLUSTERDOWN"
                    | "NOREPLICAS"
                    | "MOVED"
                    | "READONLY"
                    | "MASTERDOWN"
            )
        ),
        Error::UnknownOutcome { .. }
        | Error::Timeout { .. }
        | Error::Unreachable { .. }
        | Error::Overloaded { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
#[path = "writer_test.rs"]
mod writer_test;
