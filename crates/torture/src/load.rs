//! Clients at work in the background, until they are told to stop.

use crate::recording::{Kind, Recording};
use crate::worker::Worker;
use brickyard_client::{Client, Error, Options, ReadPolicy, Table};
use brickyard_history::Nanos;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What the clients do.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Where the cluster is, who the clients are there, and how far they go.
    pub client: Options,
    /// The table; it must exist.
    pub table: String,
    /// Keys that are used. What they hold at first is removed.
    pub keys: Vec<String>,
    /// Clients that write (and read now and then).
    pub writers: u32,
    /// Clients that only read.
    pub readers: u32,
    /// So many connections of the library's do they share, each with a cache of its own, if [`ReadPolicy::Kept`] says so.
    pub libraries: u32,
    /// The pause of each client between two operations.
    pub pause: Duration,
    /// Without it writes are `SET` alone, which is what throughput is measured with; with it there are deletions, counters,
    /// appended and compared values too.
    pub is_mixed: bool,
}

impl LoadOptions {
    /// Six clients that write and two that read from any replica, on these keys, a thousand times a second each at most.
    #[must_use]
    pub fn new(seeds: Vec<String>, table: &str, keys: Vec<String>) -> Self {
        Self {
            client: Options {
                reads: ReadPolicy::Replicas(brickyard_client::Lard::default()),
                ..Options::new(seeds)
            },
            table: table.to_owned(),
            keys,
            writers: 6,
            readers: 2,
            libraries: 1,
            pause: Duration::from_millis(1),
            is_mixed: true,
        }
    }
}

/// Why a load could not begin.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The cluster does not answer, or refuses.
    #[error("the load cannot begin: {0}")]
    Client(#[from] Error),
    /// No thread or no runtime for it.
    #[error("the load cannot begin: {0}")]
    Io(#[from] std::io::Error),
    /// The thread ended without a word.
    #[error("the load's thread ended before it began")]
    Ended,
}

/// What the workers share.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) begin: Instant,
    pub(crate) is_over: AtomicBool,
    pub(crate) done: [AtomicU64; 2],
}

impl Common {
    pub(crate) fn now(&self) -> Nanos {
        u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A running load; it ends with the value.
#[derive(Debug)]
pub struct Load {
    common: Arc<Common>,
    thread: Option<JoinHandle<Recording>>,
}

impl Load {
    /// Starts the clients, on a thread of their own.
    ///
    /// # Errors
    /// If the cluster cannot be reached, or the keys cannot be emptied.
    pub fn start(options: LoadOptions) -> Result<Self, LoadError> {
        let common = Arc::new(Common {
            begin: Instant::now(),
            is_over: AtomicBool::new(false),
            done: [AtomicU64::new(0), AtomicU64::new(0)],
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (ready, is_ready) = mpsc::channel();
        let shared = Arc::clone(&common);
        let thread = std::thread::Builder::new()
            .name("load".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    match begin(&options).await {
                        Ok(clients) => {
                            // Whoever started the load is waiting.
                            drop(ready.send(Ok(())));
                            run(&clients, &options, &shared).await
                        }
                        Err(error) => {
                            drop(ready.send(Err(error)));
                            Recording::default()
                        }
                    }
                })
            })?;
        is_ready.recv().map_err(|_| LoadError::Ended)??;
        Ok(Self {
            common,
            thread: Some(thread),
        })
    }

    /// Time since the load began, as in its recording.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.common.now()
    }

    /// Operations of a kind that have succeeded so far.
    #[must_use]
    pub fn done(&self, kind: Kind) -> u64 {
        self.common.done[kind as usize].load(Ordering::Relaxed)
    }

    /// Lets each client finish what it is about, and gives what they have seen.
    ///
    /// # Panics
    /// If a client did.
    #[must_use]
    pub fn stop(mut self) -> Recording {
        self.common.is_over.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("a load stops once");
        match thread.join() {
            Ok(recording) => recording,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.common.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its panic, if any, is not what ends this load.
            drop(thread.join());
        }
    }
}

async fn begin(options: &LoadOptions) -> Result<Vec<Client>, Error> {
    let client = Client::connect(options.client.clone()).await?;
    let table = client.table(&options.table);
    for key in &options.keys {
        table.del(key).await?;
    }
    let mut clients = vec![client];
    for _ in 1..options.libraries {
        clients.push(Client::connect(options.client.clone()).await?);
    }
    Ok(clients)
}

async fn run(clients: &[Client], options: &LoadOptions, common: &Arc<Common>) -> Recording {
    let mut workers = tokio::task::JoinSet::new();
    let tables: Vec<Table> = clients
        .iter()
        .map(|client| client.table(&options.table))
        .collect();
    let spread = tables.iter().cycle();
    for (number, table) in (0..options.writers + options.readers).zip(spread) {
        let is_reader = number >= options.writers;
        let table = table.clone();
        let worker = Worker::new(number, is_reader, table, options, Arc::clone(common));
        workers.spawn(worker.work());
    }
    let mut recording = Recording::default();
    for part in workers.join_all().await {
        recording.add(part);
    }
    recording.kept = tables.iter().map(|it| it.cache_counts().hits).sum();
    recording.lookups = tables.iter().map(Table::lookup_counts).collect();
    recording.sort();
    recording
}
