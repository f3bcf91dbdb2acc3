//! Any command, one at a time: what loads of reads and writes alone do not have.
//!
//! In:  servers, clients, what each asks. Out: every latency, and the processor time of the servers.
//!
//! Each client is a thread with a connection, and has one request outstanding: as the papers' own benchmarks had.

use anyhow::bail;
use brickyard_bench::process::Process;
use brickyard_bench::{Link, Outcome, Target, error_text};
use brickyard_wire::encode_request;
use std::thread;
use std::time::Instant;

/// A request, as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command(Vec<u8>);

impl Command {
    /// Of words, in Redis's protocol.
    pub(crate) fn of<T: AsRef<[u8]>>(words: &[T]) -> Self {
        let mut bytes = Vec::new();
        encode_request(&mut bytes, words);
        Self(bytes)
    }

    /// A line of memcached's, and what follows it.
    pub(crate) fn memcached(line: &str, data: Option<&[u8]>) -> Self {
        let mut bytes = format!("{line}\r\n").into_bytes();
        if let Some(data) = data {
            bytes.extend_from_slice(data);
            bytes.extend_from_slice(b"\r\n");
        }
        Self(bytes)
    }
}

/// What was seen.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    /// Microseconds of each request that was answered, from the fastest to the slowest.
    pub(crate) latencies_us: Vec<f64>,
    /// Errors.
    pub(crate) refused: u64,
    /// From the first request to the last reply.
    pub(crate) seconds: f64,
    /// Of all servers.
    pub(crate) cpu_s: f64,
}

impl Answered {
    /// The latency that so large a share did not exceed.
    pub(crate) fn at(&self, share: f64) -> f64 {
        let last = self.latencies_us.len().saturating_sub(1);
        let at = (share * last as f64).round() as usize;
        self.latencies_us.get(at).copied().unwrap_or(f64::NAN)
    }

    /// What every experiment keeps of it.
    pub(crate) fn measures(&self) -> Vec<(&'static str, f64)> {
        let count = self.latencies_us.len();
        vec![
            ("ops_per_s", count as f64 / self.seconds),
            ("cpu_us", self.cpu_s * 1e6 / count.max(1) as f64),
            ("p10_us", self.at(0.1)),
            ("p50_us", self.at(0.5)),
            ("p90_us", self.at(0.9)),
            ("p99_us", self.at(0.99)),
            ("refused", self.refused as f64),
        ]
    }
}

/// Has each client ask so many times, at the targets in turn; `what` says what, by client and number.
pub(crate) fn run_commands(
    processes: &[&Process],
    targets: &[Target],
    clients: usize,
    each: usize,
    what: &(dyn Fn(usize, usize) -> Command + Sync),
) -> anyhow::Result<Answered> {
    let cpu = || -> anyhow::Result<Vec<_>> { processes.iter().map(|it| it.cpu()).collect() };
    let links = targets.iter().cycle().take(clients).map(Link::open);
    let links: Vec<Link> = links.collect::<Result<_, _>>()?;
    let (before, begin) = (cpu()?, Instant::now());
    let results: Vec<anyhow::Result<(Vec<f64>, u64)>> = thread::scope(|scope| {
        let threads = links.into_iter().enumerate().map(|(client, link)| {
            scope.spawn(move || one(link, each, &|number| what(client, number)))
        });
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .map(|it| {
                it.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    let seconds = begin.elapsed().as_secs_f64();
    let spent = cpu()?;
    let mut answered = Answered {
        latencies_us: Vec::with_capacity(clients * each),
        refused: 0,
        seconds,
        cpu_s: 0.0,
    };
    for result in results {
        let (latencies_us, refused) = result?;
        answered.latencies_us.extend(latencies_us);
        answered.refused += refused;
    }
    answered.latencies_us.sort_by(f64::total_cmp);
    for (now, then) in spent.iter().zip(&before) {
        let (user, system) = now.since(then);
        answered.cpu_s += user + system;
    }
    Ok(answered)
}

fn one(
    mut link: Link,
    each: usize,
    what: &dyn Fn(usize) -> Command,
) -> anyhow::Result<(Vec<f64>, u64)> {
    let mut latencies_us = Vec::with_capacity(each);
    let mut refused = 0;
    for number in 0..each {
        let Command(bytes) = what(number);
        let begin = Instant::now();
        link.send(&bytes)?;
        let (outcome, reply) = link.receive()?;
        let is_error = outcome == Outcome::Refused;
        // A limit is an answer; anything else is a mistake of the experiment.
        if is_error && !reply.starts_with(b"-LIMIT") && !reply.starts_with(b"-BUSY") {
            bail!("the server refused: {}", error_text(reply));
        }
        if is_error {
            refused += 1;
        } else {
            latencies_us.push(begin.elapsed().as_nanos() as f64 / 1e3);
        }
    }
    Ok((latencies_us, refused))
}
