//! A ranking, for people.
//!
//! In:  a workload, what was measured, the ranking. Out: text.

use super::machine::MachineFigures;
use super::ranking::{AdvisedWorkload, Choice, Lack, Outlives, best};
use crate::status::text::aligned;
use brickyard_bench::grouped;
use std::fmt::Write as _;

/// What an acknowledged write may be asked to outlive, in words.
const PROMISES: [(Outlives, &str); 3] = [
    (
        Outlives::Nothing,
        "in memory alone: gone when all processes with a copy end",
    ),
    (
        Outlives::ProcessKill,
        "outlives killed processes; a power cut but for the last second",
    ),
    (Outlives::PowerCut, "outlives a power cut"),
];

/// All of it.
pub(crate) fn render(
    workload: &AdvisedWorkload,
    machine: &MachineFigures,
    choices: &[Choice],
) -> String {
    let mut out = asked(workload);
    out += &measured(machine);
    out += &ranked(choices);
    out += &advised(workload, choices);
    out
}

fn asked(workload: &AdvisedWorkload) -> String {
    let nodes = match workload.nodes {
        1 => "one node".to_owned(),
        nodes => format!(
            "{nodes} nodes, {:.0} us there and back between them",
            workload.round_trip_us
        ),
    };
    format!(
        "{} keys of {} bytes with values of {} bytes, {:.1} % reads; {nodes}\n",
        grouped(workload.keys),
        workload.key_bytes,
        workload.value_bytes,
        workload.reads * 100.0
    )
}

fn measured(machine: &MachineFigures) -> String {
    let device = &machine.device;
    let how = match device.is_direct {
        true => "past the page cache",
        false => "perhaps from the page cache, which this file system cannot be read past",
    };
    let mut out = format!(
        "\nTHIS MACHINE\n  memory {}, free on the disk {}\n  disk: append {} a second, synced {} a second; a sync takes {:.0} us; a read takes \
         {:.0} us from anywhere, in order {} a second ({how})\n",
        size(machine.memory_bytes),
        size(machine.disk_free_bytes),
        size(device.append_per_s as u64),
        size(device.synced_per_s as u64),
        device.sync_us,
        device.random_read_us,
        size(device.sequential_per_s as u64),
    );
    for trial in &machine.trials {
        let _ = writeln!(
            out,
            "  a brick, {} {}: read {:.0} us, write {:.0} us, one at a time; {} operations a second together",
            trial.medium,
            trial.durability,
            trial.read_us,
            trial.write_us,
            grouped(trial.mixed_per_s as u64)
        );
    }
    out
}

fn ranked(choices: &[Choice]) -> String {
    let head = [
        "medium",
        "durability",
        "replicas",
        "cost",
        "read",
        "write",
        "memory a node",
        "disk a node",
        "values in memory",
        "fits",
    ];
    let row = |it: &Choice| {
        vec![
            it.medium.to_owned(),
            it.durability.to_owned(),
            it.replicas.to_string(),
            format!("{:.1} us", it.cost_us),
            format!("{:.1} us", it.read_us),
            format!("{:.1} us", it.write_us),
            size(it.memory_bytes),
            size(it.disk_bytes),
            format!("{:.0} %", it.in_memory * 100.0),
            match it.lacks {
                None => "yes".to_owned(),
                Some(Lack::Memory) => "no: memory".to_owned(),
                Some(Lack::Disk) => "no: disk".to_owned(),
            },
        ]
    };
    format!(
        "\nTABLES, the cheapest that fits first: cost = reads * read + (1 - reads) * write\n{}",
        aligned(&head, choices.iter().map(row))
    )
}

fn advised(workload: &AdvisedWorkload, choices: &[Choice]) -> String {
    let replicas = workload.nodes.min(2);
    let mut out = "\nWHAT TO TYPE\n".to_owned();
    for (outlives, promise) in PROMISES {
        let _ = writeln!(out, "  {promise}:");
        let _ = match best(choices, outlives, replicas) {
            Some(choice) => writeln!(out, "    {}", choice.command()),
            None => writeln!(
                out,
                "    none fits; use more nodes (--nodes), larger ones, or fewer copies"
            ),
        };
    }
    if workload.nodes == 1 {
        out += "  A node that is lost takes a table with one copy along: with --nodes 2 or more this says what copies cost.\n";
    }
    out
}

/// Bytes as people say them.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, f64); 3] = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let bytes = bytes as f64;
    let unit = UNITS.iter().find(|(_, unit)| bytes >= *unit);
    match unit {
        Some((name, unit)) => format!("{:.1} {name}", bytes / unit),
        None => format!("{bytes:.0} B"),
    }
}

#[cfg(test)]
mod text_test {
    use super::*;

    #[test]
    fn sizes_are_told_in_three_figures_or_so() {
        assert_eq!(
            [0, 999, 1_500, 2_000_000, 3_250_000_000].map(size),
            ["0 B", "999 B", "1.5 kB", "2.0 MB", "3.2 GB"]
        );
    }
}
