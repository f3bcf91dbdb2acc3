//! Clients that know nothing of the cluster, each at one node's port: how long their reads take while others fail.
//!
//! Their keys are written once, before that, so a read never waits for the outcome of a write.

use crate::client::Client;
use crate::cluster::Cluster;
use crate::value::Value;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Between two reads, so that the clients are no load of their own.
const PAUSE: Duration = Duration::from_millis(1);

/// How soon a client whose node is gone tries again.
const RETRY: Duration = Duration::from_millis(20);

/// How many keys they read in turn: with sixteen partitions of two replicas each node has none of many of them.
const KEYS: usize = 64;

/// What all the clients met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Reads that were answered.
    pub reads: usize,
    /// The longest of them.
    pub longest: Duration,
    /// Reads that were answered with an error.
    pub refused: usize,
}

/// The clients, at work.
#[derive(Debug)]
pub struct PlainReaders {
    stop: Arc<AtomicBool>,
    readers: Vec<JoinHandle<Met>>,
}

impl PlainReaders {
    /// Writes the keys into a table and starts a client at each node but `aside`, which will not be able to answer.
    ///
    /// # Panics
    /// If the keys cannot be written.
    #[must_use]
    pub fn start(cluster: &Cluster, table: &str, aside: Option<usize>) -> Self {
        let mut client = cluster
            .table(0, table)
            .unwrap_or_else(|error| panic!("no table {table}: {error}"));
        for key in 0..KEYS {
            client.must(&["SET", &name(key), &name(key)]);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let seeds = cluster.seeds().into_iter().enumerate();
        let readers = seeds.filter(|(at, _)| Some(*at) != aside).map(|(_, seed)| {
            let (stop, table) = (Arc::clone(&stop), table.to_owned());
            std::thread::spawn(move || read(&seed, &table, &stop))
        });
        Self {
            readers: readers.collect(),
            stop,
        }
    }

    /// Ends them.
    ///
    /// # Panics
    /// If one of them read something else than what was written.
    #[must_use]
    pub fn stop(self) -> Met {
        self.stop.store(true, Ordering::Relaxed);
        let met = self.readers.into_iter().map(|reader| {
            let met = reader.join();
            met.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        met.fold(Met::default(), |all, one| Met {
            reads: all.reads + one.reads,
            longest: all.longest.max(one.longest),
            refused: all.refused + one.refused,
        })
    }
}

fn name(key: usize) -> String {
    format!("plain{key}")
}

fn read(seed: &str, table: &str, stop: &AtomicBool) -> Met {
    let mut met = Met::default();
    while !stop.load(Ordering::Relaxed) {
        // Its node may be the one that is gone.
        if read_on(seed, table, stop, &mut met).is_err() {
            sleep(RETRY);
        }
    }
    met
}

/// Reads until told to stop, or until the connection ends.
fn read_on(seed: &str, table: &str, stop: &AtomicBool, met: &mut Met) -> io::Result<()> {
    let (host, port) = seed.rsplit_once(':').ok_or(io::ErrorKind::InvalidInput)?;
    let port = port.parse().map_err(io::Error::other)?;
    let mut client = Client::try_connect_to(host, port)?;
    if !client.try_call(&["TABLE", "USE", table])?.is_ok() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let mut keys = (0..KEYS).cycle().map(name);
    while !stop.load(Ordering::Relaxed)
        && let Some(key) = keys.next()
    {
        let begin = Instant::now();
        let reply = client.try_call(&["GET", &key])?;
        met.longest = met.longest.max(begin.elapsed());
        match reply {
            Value::Error(_) => met.refused += 1,
            reply => {
                assert_eq!(reply.text(), key, "GET {key}");
                met.reads += 1;
            }
        }
        sleep(PAUSE);
    }
    Ok(())
}
