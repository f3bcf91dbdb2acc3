//! What fits, and what it costs: a function of the workload and of what was measured.
//!
//! In:  [`AdvisedWorkload`], [`MachineFigures`]. Out: [`Choice`]s, the cheapest that fits first.
//!
//! # The cost of a table
//! An operation costs what its client waits, one at a time, and a table the sum of what its operations cost, each weighed by its share:
//! ```text
//! cost = reads * read + (1 - reads) * write
//! ```
//! - A read of a `disk` table is one of memory as far as the values fit there (all are read equally often, as far as is known), else one of
//!   the log; and what of the log does not fit into the page cache is a read of the disk besides.
//! - A write with copies waits for the network once more: the copies' logs take it at the same time. How long the network takes is told, not measured.
//!
//! Invariant: the same figures give the same ranking.
//!
//! Source: see the module above.

use super::machine::{KINDS, MachineFigures};
use brickyard_brick::LIVE_PERCENT_WANTED;
use brickyard_table::Footprint;
use brickyard_types::record::HEADER_BYTES;
use brickyard_types::{Durability, Medium};
use serde::Serialize;

/// What of a machine's memory tables may have, in percent; the rest is for the system, the page cache, clients and logs.
const MEMORY_PERCENT: u64 = 75;

/// What of the free disk logs may have, in percent: a full disk refuses writes.
const DISK_PERCENT: u64 = 85;

/// Dead space of a table's memory that is not won back at once: an eighth of what is live.
const DEAD_SHARE: u64 = 8;

/// Copies that are looked at, at most.
const COPIES_MAX: u32 = 3;

/// What a table is to hold, and how it is used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct AdvisedWorkload {
    /// The share of reads.
    pub(crate) reads: f64,
    pub(crate) keys: u64,
    pub(crate) key_bytes: u64,
    pub(crate) value_bytes: u64,
    /// Nodes like this one.
    pub(crate) nodes: u32,
    /// What a message between two of them takes, there and back.
    pub(crate) round_trip_us: f64,
}

/// What an acknowledged write outlives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outlives {
    /// The end of no process.
    Nothing,
    /// A killed process, and a power cut but for the last second.
    ProcessKill,
    /// A power cut.
    PowerCut,
}

/// A table that there could be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Choice {
    pub(crate) medium: &'static str,
    pub(crate) durability: &'static str,
    pub(crate) replicas: u32,
    pub(crate) outlives: Outlives,
    pub(crate) read_us: f64,
    pub(crate) write_us: f64,
    /// What an operation costs in the workload's mix.
    pub(crate) cost_us: f64,
    /// Operations a second that one brick was seen to do in that mix, without copies.
    pub(crate) mixed_per_s: f64,
    /// What each node needs; of a `disk` table's memory what it has for values included.
    pub(crate) memory_bytes: u64,
    pub(crate) disk_bytes: u64,
    /// The bound that a `disk` table should be made with, in bytes, on each node.
    pub(crate) maxmemory: Option<u64>,
    /// The share of the values that are in memory.
    pub(crate) in_memory: f64,
    /// Why it cannot be, on these nodes.
    pub(crate) lacks: Option<Lack>,
}

/// What there is too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Lack {
    Memory,
    Disk,
}

impl Choice {
    /// What `brickyard table create` takes.
    pub(crate) fn command(&self) -> String {
        let bound = self
            .maxmemory
            .map(|bytes| format!(" --maxmemory {}mb", bytes >> 20));
        format!(
            "brickyard table create NAME --medium {} --durability {} --replicas {}{}",
            self.medium,
            self.durability,
            self.replicas,
            bound.unwrap_or_default()
        )
    }
}

/// All tables that there could be: those that fit before those that do not, the cheapest first.
pub(crate) fn rank(workload: &AdvisedWorkload, machine: &MachineFigures) -> Vec<Choice> {
    let copies = 1..=workload.nodes.clamp(1, COPIES_MAX);
    let kinds = KINDS.iter();
    let mut choices: Vec<Choice> = kinds
        .flat_map(|kind| copies.clone().map(move |copies| (*kind, copies)))
        .filter_map(|((medium, durability), copies)| {
            choice(workload, machine, medium, durability, copies)
        })
        .collect();
    choices.sort_by(|a, b| {
        let place = |it: &Choice| it.lacks.is_some();
        let by_cost = a.cost_us.total_cmp(&b.cost_us);
        place(a).cmp(&place(b)).then(by_cost)
    });
    choices
}

/// The first that fits and keeps a promise, and has so many copies.
pub(crate) fn best(choices: &[Choice], outlives: Outlives, replicas: u32) -> Option<&Choice> {
    let mut fitting = choices.iter().filter(|it| it.lacks.is_none());
    fitting.find(|it| it.outlives >= outlives && it.replicas == replicas)
}

fn choice(
    workload: &AdvisedWorkload,
    machine: &MachineFigures,
    medium: Medium,
    durability: Durability,
    copies: u32,
) -> Option<Choice> {
    let trial = machine.trial(medium, durability)?;
    // What each node has of it.
    let keys = (workload.keys * u64::from(copies)).div_ceil(u64::from(workload.nodes.max(1)));
    let need = Need::of(workload, medium, keys);
    let memory = machine.memory_bytes / 100 * MEMORY_PERCENT;
    let is_logged = durability != Durability::Memory;
    let disk_bytes = if is_logged { need.log } else { 0 };
    let (memory_bytes, in_memory) = match medium {
        Medium::Ram => (need.keys + need.values, 1.0),
        Medium::Disk => {
            let bytes = need.values.min(memory.saturating_sub(need.keys));
            let share = bytes as f64 / need.values.max(1) as f64;
            (need.keys + bytes, share)
        }
    };
    let read_us = match medium {
        Medium::Ram => trial.read_us,
        Medium::Disk => {
            let hot = machine.trial(Medium::Ram, durability)?.read_us;
            let cached = (machine.memory_bytes - memory) as f64 / need.log.max(1) as f64;
            let cold = trial.read_us + (1.0 - cached.min(1.0)) * machine.device.random_read_us;
            in_memory * hot + (1.0 - in_memory) * cold
        }
    };
    let network = if copies > 1 {
        workload.round_trip_us
    } else {
        0.0
    };
    let write_us = trial.write_us + network;
    let lacks = if memory_bytes > memory {
        Some(Lack::Memory)
    } else if disk_bytes > machine.disk_free_bytes / 100 * DISK_PERCENT {
        Some(Lack::Disk)
    } else {
        None
    };
    Some(Choice {
        medium: medium.word(),
        durability: durability.word(),
        replicas: copies,
        outlives: match durability {
            Durability::Memory => Outlives::Nothing,
            Durability::Log => Outlives::ProcessKill,
            Durability::Fsync => Outlives::PowerCut,
        },
        read_us,
        write_us,
        cost_us: workload.reads * read_us + (1.0 - workload.reads) * write_us,
        mixed_per_s: trial.mixed_per_s,
        memory_bytes,
        disk_bytes,
        maxmemory: (medium == Medium::Disk).then(|| memory_bytes.max(1 << 20)),
        in_memory,
        lacks,
    })
}

/// What so many records take, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Need {
    /// What stays in memory whatever the medium: of a `disk` table keys and their positions.
    keys: u64,
    /// What values take in memory besides.
    values: u64,
    /// The log, with what is dead in it.
    log: u64,
}

impl Need {
    fn of(workload: &AdvisedWorkload, medium: Medium, keys: u64) -> Self {
        let footprint = |value_bytes: u64| {
            let bytes = workload.key_bytes as usize;
            Footprint::of(medium, bytes, value_bytes as usize).bytes() as u64
        };
        let with_dead = |bytes: u64| bytes + bytes / DEAD_SHARE;
        let (bare, whole) = (footprint(0), footprint(workload.value_bytes));
        let record = HEADER_BYTES as u64 + workload.key_bytes + workload.value_bytes;
        Self {
            keys: with_dead(keys * bare),
            values: with_dead(keys * (whole - bare)),
            log: keys * record * 100 / LIVE_PERCENT_WANTED,
        }
    }
}

#[cfg(test)]
#[path = "ranking_test.rs"]
mod ranking_test;
