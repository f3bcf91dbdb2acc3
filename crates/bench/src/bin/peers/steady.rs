//! What overwriting costs for good: live data below and beyond what a log is rewritten for.
//!
//! In:  Brickyard, and servers with a log like its. Out: for each size the processor time of a SET, its tail, and how much more than
//! what clients wrote went into the log.
//!
//! A log that has just been filled has nothing to clean. Here every key has been written [`OVERWRITES`] times more before the first
//! measurement, and what a server does after the last reply, until it is quiet, is part of the measurement: so each pays for the dead
//! bytes that it leaves, and for no others.

use crate::{
    campaign::{Campaign, Load, Measured, Sample},
    tables::{PIPELINE_1, PIPELINE_100, VALUE_BYTES, cell, ratio},
};
use brickyard_bench::peer::{Durability, Peer};
use brickyard_bench::{Operation, grouped};
use std::fmt::Write;

/// Live bytes of about 0.3, 1, 3 and 10 times the 64 MiB of a segment, below which Valkey does not rewrite either.
const KEYS: [u64; 4] = [100_000, 300_000, 1_000_000, 3_000_000];

/// How often each key is written before the first measurement, once it is there.
pub(crate) const OVERWRITES: u64 = 4;

/// SET in the steady state, for each size.
pub(crate) fn measure(campaign: &Campaign<'_>) -> anyhow::Result<String> {
    let cells = [
        cell(Operation::Set, PIPELINE_100),
        cell(Operation::Set, PIPELINE_1),
    ];
    let mut sections = vec![String::new(); cells.len()];
    for durability in [Durability::Log, Durability::Fsync] {
        for keys in KEYS
            .into_iter()
            .filter(|keys| *keys <= campaign.effort.keys_max)
        {
            let load = Load {
                keys,
                value_bytes: VALUE_BYTES,
                overwrites: OVERWRITES,
            };
            let found = campaign.found.iter();
            let entrants: Vec<_> = found
                .filter(|found| found.peer.is_durable())
                .map(|found| (found.clone(), durability))
                .collect();
            let measured = campaign.measure(&entrants, load, &cells)?;
            for (position, section) in sections.iter_mut().enumerate() {
                write_rows(section, keys, &measured, position);
            }
        }
    }
    let mut out = format!(
        "SET, values of {VALUE_BYTES} bytes, every key written {OVERWRITES} times more before the first of {} rounds of {:.1} s. \
         Processor time of the server for one operation, with all that it does until it is quiet again: the least of the rounds, the \
         median, and the most. Latencies are medians. \
         Ratios are to Valkey's row of the same size and strength. *Written* is what went into Brickyard's log for each byte that \
         clients had written there, in both tables together.\n\n",
        campaign.effort.rounds,
        campaign.effort.duration.as_secs_f64(),
    );
    for (cell, section) in cells.iter().zip(sections) {
        let _ = writeln!(
            out,
            "**Pipeline {}, {} connections**\n\n{HEADER}{section}",
            cell.pipeline, cell.connections
        );
    }
    Ok(out)
}

const HEADER: &str = "\
| keys | server | CPU us/op | median | most | to Valkey | p99 us | to Valkey | p99.9 us | ops/s | written | bytes a key |
|---|---|---|---|---|---|---|---|---|---|---|---|
";

fn write_rows(out: &mut String, keys: u64, measured: &[Measured], position: usize) {
    let p99 = |it: &Measured| it.cells[position].median(|sample| sample.p99_us);
    let cpu = |it: &Measured| it.cells[position].quietest().cpu_us();
    let valkey = measured.iter().find(|it| it.found.peer == Peer::Valkey);
    for it in measured {
        let rounds = &it.cells[position];
        let most = rounds.0.iter().map(Sample::cpu_us).fold(0.0, f64::max);
        let written = it.log_bytes.map_or_else(
            || "-".to_owned(),
            |(all, moved)| {
                format!(
                    "{:.2}",
                    all as f64 / all.saturating_sub(moved).max(1) as f64
                )
            },
        );
        let _ = writeln!(
            out,
            "| {} | {}, {} | {:.3} | {:.3} | {most:.3} | {} | {:.0} | {} | {:.0} | {} | {written} | {:.0} |",
            grouped(keys),
            it.found.peer.name(),
            it.found.peer.durability_word(it.durability),
            cpu(it),
            rounds.median(Sample::cpu_us),
            ratio(cpu(it), valkey.map(cpu)),
            p99(it),
            ratio(p99(it), valkey.map(p99)),
            rounds.median(|sample| sample.p999_us),
            grouped(rounds.best_per_s() as u64),
            it.key_memory_bytes.unwrap_or_default(),
        );
    }
}
