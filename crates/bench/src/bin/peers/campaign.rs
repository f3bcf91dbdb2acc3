//! Measures the same pieces of work on several servers, in interleaved rounds.
//!
//! In:  servers, [`Cell`]s of work, an [`Effort`]. Out: a [`Sample`] for each server, cell and round.
//!
//! Invariant: no server is started, filled or stopped between the first measurement and the last.

use anyhow::Context;
use brickyard_bench::peer::{Durability, Found, Peer, Setup};
use brickyard_bench::process::{CLIENT_CORE, Process, pin};
use brickyard_bench::{Distribution, KeySpace, Operation, Options, Pace, Target, Until, Workload};
use std::{path::Path, time::Duration};

pub(crate) const KEY_BYTES: usize = 16;

/// How much is measured.
#[derive(Clone, Debug)]
pub(crate) struct Effort {
    pub(crate) rounds: usize,
    pub(crate) duration: Duration,
    /// Keys of the throughput section.
    pub(crate) keys: u64,
    /// The most keys that a server of the steady section has.
    pub(crate) keys_max: u64,
    /// Bytes of keys and values that other sections fill a server with.
    pub(crate) fill_bytes: u64,
}

impl Effort {
    pub(crate) fn new(is_quick: bool, rounds: Option<usize>, seconds: Option<f64>) -> Self {
        let (default_rounds, default_seconds) = if is_quick { (1, 0.2) } else { (5, 2.0) };
        Self {
            rounds: rounds.unwrap_or(default_rounds).max(1),
            duration: Duration::from_secs_f64(seconds.unwrap_or(default_seconds).clamp(0.05, 1e4)),
            keys: if is_quick { 20_000 } else { 1_000_000 },
            keys_max: if is_quick { 100_000 } else { u64::MAX },
            fill_bytes: if is_quick { 5_000_000 } else { 200_000_000 },
        }
    }
}

/// What a measurement needs to know.
#[derive(Clone, Copy)]
pub(crate) struct Campaign<'a> {
    pub(crate) found: &'a [Found],
    pub(crate) effort: &'a Effort,
    pub(crate) dir: &'a Path,
}

/// One piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) operation: Operation,
    pub(crate) pipeline: usize,
    pub(crate) connections: usize,
}

/// A server that takes part, and the keys in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) keys: u64,
    pub(crate) value_bytes: usize,
    /// How often every key is written before the first measurement, once it is there.
    pub(crate) overwrites: u64,
}

/// One measurement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    pub(crate) count_per_s: f64,
    /// Processor time of the server for one operation.
    pub(crate) user_us: f64,
    pub(crate) system_us: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) p999_us: f64,
    /// Processor time of the client for one operation.
    pub(crate) client_us: f64,
    pub(crate) refused: u64,
}

impl Sample {
    pub(crate) fn cpu_us(&self) -> f64 {
        self.user_us + self.system_us
    }
}

/// All rounds of one cell on one server.
#[derive(Clone, Debug)]
pub(crate) struct Rounds(pub(crate) Vec<Sample>);

impl Rounds {
    /// The round in which the server needed the least processor time: the one least disturbed.
    pub(crate) fn quietest(&self) -> Sample {
        let by_cpu = |a: &&Sample, b: &&Sample| a.cpu_us().total_cmp(&b.cpu_us());
        self.0.iter().min_by(by_cpu).copied().unwrap_or_default()
    }

    pub(crate) fn median(&self, value: impl Fn(&Sample) -> f64) -> f64 {
        let mut values: Vec<f64> = self.0.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        match values.len() {
            0 => 0.0,
            len if len % 2 == 1 => values[len / 2],
            len => f64::midpoint(values[len / 2 - 1], values[len / 2]),
        }
    }

    pub(crate) fn best_per_s(&self) -> f64 {
        self.0
            .iter()
            .map(|sample| sample.count_per_s)
            .fold(0.0, f64::max)
    }
}

/// A server with everything that was measured on it.
pub(crate) struct Measured {
    pub(crate) found: Found,
    pub(crate) durability: Durability,
    /// Resident memory that one key took, in bytes; of a server that keeps none, nothing.
    pub(crate) key_memory_bytes: Option<f64>,
    /// In the order of the cells.
    pub(crate) cells: Vec<Rounds>,
    /// Of a Brickyard: bytes that went into its log from the first measurement to the last, and those of them that the cleaner
    /// moved.
    pub(crate) log_bytes: Option<(u64, u64)>,
}

impl Campaign<'_> {
    /// Starts each of `entrants`, fills them, and measures every cell on every server, round by round.
    pub(crate) fn measure(
        &self,
        entrants: &[(Found, Durability)],
        load: Load,
        cells: &[Cell],
    ) -> anyhow::Result<Vec<Measured>> {
        pin(CLIENT_CORE)?;
        let mut servers = Vec::new();
        let mut measured = Vec::new();
        for (found, durability) in entrants {
            let name = found.peer.name();
            eprintln!(
                "starting {name}, {}",
                found.peer.durability_word(*durability)
            );
            let (server, key_memory_bytes) = self
                .start_filled(found, *durability, load)
                .with_context(|| format!("with {name}"))?;
            servers.push(server);
            measured.push(Measured {
                found: found.clone(),
                durability: *durability,
                key_memory_bytes,
                cells: vec![Rounds(Vec::new()); cells.len()],
                log_bytes: None,
            });
        }
        let before: Vec<_> = servers.iter().map(Server::log_bytes).collect();
        for round in 1..=self.effort.rounds {
            for (position, cell) in cells.iter().enumerate() {
                eprintln!(
                    "round {round} of {}: {} of {} bytes, pipeline {}",
                    self.effort.rounds,
                    cell.operation.name(),
                    load.value_bytes,
                    cell.pipeline
                );
                for (server, measured) in servers.iter().zip(&mut measured) {
                    let sample = self
                        .sample(server, load, *cell)
                        .with_context(|| format!("with {}", measured.found.peer.name()))?;
                    measured.cells[position].0.push(sample);
                }
            }
        }
        for ((server, before), measured) in servers.iter().zip(before).zip(&mut measured) {
            measured.log_bytes = server
                .log_bytes()
                .zip(before)
                .map(|(now, then)| (now.0 - then.0, now.1 - then.1));
        }
        Ok(measured)
    }

    fn start_filled(
        &self,
        found: &Found,
        durability: Durability,
        load: Load,
    ) -> anyhow::Result<(Server, Option<f64>)> {
        if found.peer == Peer::Echo {
            return Ok((
                Server::Echo {
                    found: found.clone(),
                },
                None,
            ));
        }
        let (process, key_memory_bytes) = self.start_filled_process(found, durability, load)?;
        Ok((Server::Real(process), Some(key_memory_bytes)))
    }

    /// Starts a server that keeps what it is told, and fills it; also says how much memory a key took.
    pub(crate) fn start_filled_process(
        &self,
        found: &Found,
        durability: Durability,
        load: Load,
    ) -> anyhow::Result<(Process, f64)> {
        let setup = Setup::of(durability);
        let process = Process::start(found, &setup, self.dir)?;
        let before = process.resident_bytes()?;
        let everything = self.options(
            &process.target,
            load,
            Cell {
                operation: Operation::Set,
                pipeline: 64,
                connections: 4,
            },
        );
        process.run(&everything.filling())?;
        let grown = process.resident_bytes()?.saturating_sub(before);
        if load.overwrites > 0 {
            let mut overwriting = everything;
            overwriting.until = Until::Count(load.overwrites * load.keys);
            process.run(&overwriting)?;
            process.wait_until_quiet()?;
        }
        Ok((process, grown as f64 / load.keys as f64))
    }

    fn sample(&self, server: &Server, load: Load, cell: Cell) -> anyhow::Result<Sample> {
        match server {
            Server::Real(process) => self.sample_process(process, load, cell),
            Server::Echo { found } => {
                // What it answers depends on the cell, so it is started for each.
                let setup = Setup {
                    echo_bytes: echo_bytes(load, cell.operation),
                    ..Setup::of(Durability::Memory)
                };
                let process = Process::start(found, &setup, self.dir)?;
                self.sample_process(&process, load, cell)
            }
        }
    }

    fn sample_process(&self, process: &Process, load: Load, cell: Cell) -> anyhow::Result<Sample> {
        self.sample_all(std::slice::from_ref(process), &process.target, load, cell)
    }

    /// Measures a server that is several processes, whose processor time is added up.
    pub(crate) fn sample_all(
        &self,
        processes: &[Process],
        target: &Target,
        load: Load,
        cell: Cell,
    ) -> anyhow::Result<Sample> {
        let cpu = || {
            processes
                .iter()
                .map(Process::cpu)
                .collect::<Result<Vec<_>, _>>()
        };
        let before = cpu()?;
        let report =
            brickyard_bench::run(&self.options(target, load, cell)).with_context(|| {
                let words: Vec<String> = processes.iter().map(Process::last_words).collect();
                words.concat()
            })?;
        if load.overwrites > 0 {
            // What clients leave to be cleaned, they pay for.
            for process in processes {
                process.wait_until_quiet()?;
            }
        }
        let (mut user_s, mut system_s) = (0.0, 0.0);
        for (now, then) in cpu()?.iter().zip(&before) {
            let (user, system) = now.since(then);
            user_s += user;
            system_s += system;
        }
        let each = |seconds: f64| seconds * 1e6 / report.count.max(1) as f64;
        Ok(Sample {
            count_per_s: report.count_per_s,
            user_us: each(user_s),
            system_us: each(system_s),
            p50_us: report.latency.p50_us,
            p99_us: report.latency.p99_us,
            p999_us: report.latency.p999_us,
            client_us: report.client_cpu_us,
            refused: report.refused_count(),
        })
    }

    pub(crate) fn options(&self, target: &Target, load: Load, cell: Cell) -> Options {
        Options {
            target: target.clone(),
            workload: workload(load, cell.operation),
            pace: Pace::Closed {
                pipeline: cell.pipeline,
            },
            until: Until::Elapsed(self.effort.duration),
            warm_up: Duration::ZERO,
            connections: cell.connections,
            threads: 1,
            seed: 1,
            drain_limit: Duration::from_secs(30),
        }
    }
}

/// Only one operation, on keys drawn evenly.
pub(crate) fn workload(load: Load, operation: Operation) -> Workload {
    Workload {
        set_share: if operation == Operation::Set {
            1.0
        } else {
            0.0
        },
        keys: KeySpace {
            count: load.keys,
            bytes: KEY_BYTES,
            distribution: Distribution::Uniform,
        },
        value_bytes_min: load.value_bytes,
        value_bytes_max: load.value_bytes,
        expire_ms: None,
    }
}

enum Server {
    Real(Process),
    Echo { found: Found },
}

impl Server {
    fn log_bytes(&self) -> Option<(u64, u64)> {
        match self {
            Self::Real(process) => process.log_bytes(),
            Self::Echo { .. } => None,
        }
    }
}

/// Length of a request and of the value in its reply, for a server that does not look at either.
pub(crate) fn echo_bytes(load: Load, operation: Operation) -> (usize, usize) {
    let bulk = |len: usize| len.to_string().len() + len + "$\r\n\r\n".len();
    let command = "*2\r\n".len() + bulk(3) + bulk(KEY_BYTES);
    match operation {
        Operation::Get => (command, load.value_bytes),
        Operation::Set => (command + bulk(load.value_bytes), 0),
    }
}

#[cfg(test)]
#[path = "campaign_test.rs"]
mod campaign_test;
