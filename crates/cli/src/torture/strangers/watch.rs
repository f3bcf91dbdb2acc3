//! Looks at the nodes while strangers are there: their memory, and whether HTTP answers who may ask.
//!
//! In:  processes, addresses. Out: the most memory of each, and how probes fared.

use super::cluster::Cluster;
use crate::http::{self, Access};
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Memory is looked at so often.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Between two probes, and how long one may take, as orchestrators have it.
const PROBE_EVERY: Duration = Duration::from_secs(1);
const PROBE_LIMIT: Duration = Duration::from_secs(5);

/// How probes of `/livez` fared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probes {
    pub(super) answered: u64,
    pub(super) failed: u64,
    pub(super) longest: Duration,
}

/// See the module; it ends with the value.
#[derive(Debug)]
pub(super) struct Watch {
    most: Arc<Vec<AtomicU64>>,
    probes: Arc<Mutex<Probes>>,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Watch {
    pub(super) fn start(cluster: &Cluster) -> anyhow::Result<Self> {
        let processes = cluster.processes();
        let most: Arc<Vec<AtomicU64>> =
            Arc::new(processes.iter().map(|_| AtomicU64::new(0)).collect());
        let is_over = Arc::new(AtomicBool::new(false));
        let probes = Arc::new(Mutex::new(Probes::default()));
        let (seen, over) = (Arc::clone(&most), Arc::clone(&is_over));
        let mut threads = vec![std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                for (process, most) in processes.iter().zip(seen.iter()) {
                    most.fetch_max(resident(*process), Ordering::Relaxed);
                }
                sleep(LOOK_EVERY);
            }
        })];
        for node in &cluster.nodes {
            let address = node.launch.http_address();
            let access = cluster.secrets.access()?;
            let (probes, over) = (Arc::clone(&probes), Arc::clone(&is_over));
            threads.push(std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    probe(&address, &access, &probes);
                    sleep(PROBE_EVERY);
                }
            }));
        }
        Ok(Self {
            most,
            probes,
            is_over,
            threads,
        })
    }

    /// The most memory of each node so far.
    pub(super) fn most(&self) -> Vec<u64> {
        let all = self.most.iter();
        all.map(|it| it.load(Ordering::Relaxed)).collect()
    }

    pub(super) fn probes(&self) -> Probes {
        *self.probes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // They do nothing that could panic.
            drop(thread.join());
        }
    }
}

fn probe(address: &str, access: &Access, probes: &Mutex<Probes>) {
    let begin = Instant::now();
    let answer = http::get(address, "/livez", PROBE_LIMIT, access);
    let took = begin.elapsed();
    let mut probes = probes.lock().unwrap_or_else(PoisonError::into_inner);
    if answer.is_ok_and(|it| it.status == 200) {
        probes.answered += 1;
        probes.longest = probes.longest.max(took);
    } else {
        probes.failed += 1;
    }
}

/// Resident memory of a process in bytes; 0: it does not run.
pub(super) fn resident(process: Option<u32>) -> u64 {
    let status = process.map(|id| fs::read_to_string(format!("/proc/{id}/status")));
    let Some(Ok(status)) = status else { return 0 };
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
    let kib = line.and_then(|it| it.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
