//! One measurement: a load against servers, with the processor time that they took for it.
//!
//! In:  servers, a [`Work`]. Out: figures for [`Data`](crate::data::Data).
//! Not here: how load is generated (`brickyard-bench`).

use anyhow::Context as _;
use brickyard_bench::process::Process;
use brickyard_bench::{
    Arrivals, Distribution, KeySpace, Options, Pace, Report, Target, Until, Workload,
};
use std::thread::scope;
use std::time::{Duration, Instant};

/// What is asked, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// The share of writes.
    pub(crate) set_share: f64,
    pub(crate) keys: u64,
    pub(crate) key_bytes: usize,
    pub(crate) value_bytes: usize,
    pub(crate) pipeline: usize,
    pub(crate) connections: usize,
}

impl Work {
    /// The DDS's operations: values of 150 bytes, a pipeline of 100 operations a client.
    pub(crate) const DDS: Self = Self {
        set_share: 0.0,
        keys: 100_000,
        key_bytes: 16,
        value_bytes: 150,
        pipeline: 100,
        connections: 8,
    };

    pub(crate) const fn writes(self) -> Self {
        Self {
            set_share: 1.0,
            ..self
        }
    }

    pub(crate) const fn one_at_a_time(self) -> Self {
        Self {
            pipeline: 1,
            ..self
        }
    }

    /// A closed loop for so long.
    pub(crate) fn closed(&self, target: &Target, time: Duration) -> Options {
        Options {
            target: target.clone(),
            workload: Workload {
                set_share: self.set_share,
                keys: KeySpace {
                    count: self.keys,
                    bytes: self.key_bytes,
                    distribution: Distribution::Uniform,
                },
                value_bytes_min: self.value_bytes,
                value_bytes_max: self.value_bytes,
                expire_ms: None,
            },
            pace: Pace::Closed {
                pipeline: self.pipeline,
            },
            until: Until::Elapsed(time),
            warm_up: Duration::ZERO,
            connections: self.connections,
            threads: 1,
            seed: 1,
            drain_limit: Duration::from_secs(30),
        }
    }

    /// An open loop at so many requests a second.
    pub(crate) fn open(
        &self,
        target: &Target,
        time: Duration,
        per_s: f64,
        waiting_max: usize,
    ) -> Options {
        Options {
            pace: Pace::Open {
                per_s,
                arrivals: Arrivals::Poisson,
                waiting_max,
            },
            ..self.closed(target, time)
        }
    }
}

/// How requests get to the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Plain connections to the target.
    Address,
    /// The client library, which goes to the brick of each key.
    Library,
}

impl Way {
    fn run(self, options: &Options) -> Result<Report, brickyard_bench::Error> {
        match self {
            Self::Address => brickyard_bench::run(options),
            Self::Library => brickyard_bench::run_through_client(options),
        }
    }
}

/// Writes every key once.
pub(crate) fn fill(way: Way, options: &Options) -> anyhow::Result<Report> {
    let report = way
        .run(&options.filling())
        .context("cannot fill the table")?;
    anyhow::ensure!(
        report.refused_count() == 0 && report.unanswered == 0,
        "not every key was written: {} refused, {} unanswered",
        report.refused_count(),
        report.unanswered
    );
    Ok(report)
}

/// What was seen.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) report: Report,
    /// Seconds of processor that each server took.
    pub(crate) cpu_s: Vec<f64>,
    /// Seconds that passed until the last reply.
    pub(crate) wall_s: f64,
}

/// Runs a load; the servers are those whose processor time counts.
pub(crate) fn see(processes: &[&Process], way: Way, options: &Options) -> anyhow::Result<Seen> {
    let loads = std::slice::from_ref(options);
    let mut all = see_together(processes, way, loads)?;
    all.reports
        .pop()
        .map(|report| Seen {
            report,
            cpu_s: all.cpu_s,
            wall_s: all.wall_s,
        })
        .context("a load without a report")
}

/// What was seen of several loads.
pub(crate) struct SeenTogether {
    reports: Vec<Report>,
    cpu_s: Vec<f64>,
    wall_s: f64,
}

impl SeenTogether {
    /// Processor time of all servers for one operation.
    pub(crate) fn cpu_us(&self) -> f64 {
        let count: u64 = self.reports.iter().map(|it| it.count).sum();
        self.cpu_s.iter().sum::<f64>() * 1e6 / count.max(1) as f64
    }
}

/// Runs several loads at the same time, as on several clusters.
pub(crate) fn see_together(
    processes: &[&Process],
    way: Way,
    loads: &[Options],
) -> anyhow::Result<SeenTogether> {
    let cpu = || -> anyhow::Result<Vec<_>> { processes.iter().map(|it| it.cpu()).collect() };
    let (before, begin) = (cpu()?, Instant::now());
    let reports: Result<Vec<Report>, _> = scope(|scope| {
        let running: Vec<_> = loads
            .iter()
            .map(|load| scope.spawn(move || way.run(load)))
            .collect();
        let ended = running.into_iter().map(|it| {
            it.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ended.collect()
    });
    let reports = reports.with_context(|| {
        let words = processes.iter().map(|it| it.last_words());
        words.collect::<String>()
    })?;
    let wall_s = begin.elapsed().as_secs_f64();
    let spent = cpu()?;
    let cpu_s = spent.iter().zip(&before).map(|(now, then)| {
        let (user, system) = now.since(then);
        user + system
    });
    Ok(SeenTogether {
        reports,
        cpu_s: cpu_s.collect(),
        wall_s,
    })
}

impl Seen {
    /// Processor time of all servers for one operation.
    pub(crate) fn cpu_us(&self) -> f64 {
        self.cpu_s.iter().sum::<f64>() * 1e6 / self.report.count.max(1) as f64
    }

    /// What every experiment keeps of a load.
    pub(crate) fn measures(&self) -> Vec<(&'static str, f64)> {
        let report = &self.report;
        vec![
            ("ops_per_s", report.count_per_s),
            ("cpu_us", self.cpu_us()),
            ("client_us", report.client_cpu_us),
            ("p50_us", report.latency.p50_us),
            ("p90_us", report.latency.p90_us),
            ("p99_us", report.latency.p99_us),
            ("refused", report.refused_count() as f64),
        ]
    }
}
