//! The sections of the page that compare servers, as Markdown.

use crate::campaign::{Campaign, Cell, Load, Measured, Rounds, Sample};
use brickyard_bench::peer::{Durability, Found, Peer};
use brickyard_bench::{Operation, grouped};
use std::fmt::Write;

pub(crate) const VALUE_BYTES: usize = 150;
const VALUE_SIZES: [usize; 5] = [50, 150, 500, 2000, 8000];

pub(crate) const PIPELINE_1: (usize, usize) = (1, 50);
pub(crate) const PIPELINE_100: (usize, usize) = (100, 8);

pub(crate) const fn cell(operation: Operation, (pipeline, connections): (usize, usize)) -> Cell {
    Cell {
        operation,
        pipeline,
        connections,
    }
}

/// GET and SET at pipeline 1 and 100, and the memory that a key takes.
pub(crate) fn throughput(campaign: &Campaign<'_>) -> anyhow::Result<String> {
    let cells = [
        cell(Operation::Get, PIPELINE_100),
        cell(Operation::Set, PIPELINE_100),
        cell(Operation::Get, PIPELINE_1),
        cell(Operation::Set, PIPELINE_1),
    ];
    let load = Load {
        keys: campaign.effort.keys,
        value_bytes: VALUE_BYTES,
        overwrites: 0,
    };
    let measured = campaign.measure(&in_memory(campaign.found), load, &cells)?;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} keys of 16 bytes, values of {VALUE_BYTES} bytes, {} rounds of {:.1} s. Processor time \
         of the server is user + system for one operation, from the round with the least; the \
         median of the rounds stands behind it. Latencies are medians of the rounds; ops/s is the \
         best round.\n",
        grouped(load.keys),
        campaign.effort.rounds,
        campaign.effort.duration.as_secs_f64(),
    );
    for (position, cell) in cells.iter().enumerate() {
        let _ = writeln!(
            out,
            "**{}, pipeline {}, {} connections**\n",
            cell.operation.name().to_uppercase(),
            cell.pipeline,
            cell.connections
        );
        let rows = rows(&measured, position);
        write_rows(&mut out, &rows, base(&measured, position));
    }
    write_memory(&mut out, &measured);
    Ok(out)
}

/// SET and GET at pipeline 100 with values of several sizes.
pub(crate) fn sizes(campaign: &Campaign<'_>) -> anyhow::Result<String> {
    let cells = [
        cell(Operation::Get, PIPELINE_100),
        cell(Operation::Set, PIPELINE_100),
    ];
    let mut columns = Vec::new();
    for value_bytes in VALUE_SIZES {
        let keys = campaign.effort.fill_bytes / (value_bytes as u64 + 16);
        let load = Load {
            keys: keys.min(campaign.effort.keys),
            value_bytes,
            overwrites: 0,
        };
        columns.push((
            load,
            campaign.measure(&in_memory(campaign.found), load, &cells)?,
        ));
    }
    let mut out = String::from(
        "Processor time of the server for one operation in microseconds, least of the rounds, \
         pipeline 100, 8 connections; in parentheses the ratio to Valkey.\n\n",
    );
    for (position, cell) in cells.iter().enumerate() {
        write_size_table(&mut out, cell.operation.name(), &columns, |measured| {
            Some(measured.cells[position].quietest().cpu_us())
        });
    }
    out += "Resident memory for one key, in bytes (key and value included).\n\n";
    write_size_table(&mut out, "memory", &columns, |measured| {
        measured.key_memory_bytes
    });
    Ok(out)
}

/// SET at each durability.
pub(crate) fn durability(campaign: &Campaign<'_>) -> anyhow::Result<String> {
    let cells = [
        cell(Operation::Set, PIPELINE_100),
        cell(Operation::Set, PIPELINE_1),
    ];
    let load = Load {
        keys: campaign.effort.keys.min(100_000),
        value_bytes: VALUE_BYTES,
        overwrites: 0,
    };
    let mut sections = vec![String::new(); cells.len()];
    for durability in Durability::ALL {
        let entrants: Vec<_> = campaign
            .found
            .iter()
            .filter(|found| found.peer.is_durable())
            .map(|found| (found.clone(), durability))
            .collect();
        let measured = campaign.measure(&entrants, load, &cells)?;
        for (position, section) in sections.iter_mut().enumerate() {
            for row in rows(&measured, position) {
                write_row(section, &row, base(&measured, position));
            }
        }
    }
    let mut out = format!(
        "SET, {} keys, values of {VALUE_BYTES} bytes. `log` and `everysec` survive a killed \
         process; `fsync` and `always` survive a power cut. Ratios are to Valkey's row of the same \
         strength.\n\n",
        grouped(load.keys)
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

fn in_memory(found: &[Found]) -> Vec<(Found, Durability)> {
    found
        .iter()
        .map(|found| (found.clone(), Durability::Memory))
        .collect()
}

pub(crate) struct Row<'a> {
    pub(crate) name: String,
    pub(crate) rounds: &'a Rounds,
}

fn rows(measured: &[Measured], position: usize) -> Vec<Row<'_>> {
    measured
        .iter()
        .map(|measured| {
            let Found { peer, version, .. } = &measured.found;
            let durability = match peer {
                Peer::Echo => String::new(),
                Peer::Memcached => format!(" {version}"),
                _ => format!(" {version}, {}", peer.durability_word(measured.durability)),
            };
            let name = format!("{}{durability}", peer.name());
            Row {
                name,
                rounds: &measured.cells[position],
            }
        })
        .collect()
}

/// Valkey's processor time, which ratios are taken to.
fn base(measured: &[Measured], position: usize) -> Option<f64> {
    let valkey = measured
        .iter()
        .find(|measured| measured.found.peer == Peer::Valkey)?;
    Some(valkey.cells[position].quietest().cpu_us())
}

pub(crate) const HEADER: &str = "\
| server | CPU us/op | median | user | system | to Valkey | ops/s | p50 us | p99 us | p99.9 us | client us/op |
|---|---|---|---|---|---|---|---|---|---|---|
";

fn write_rows(out: &mut String, rows: &[Row<'_>], base: Option<f64>) {
    out.push_str(HEADER);
    for row in rows {
        write_row(out, row, base);
    }
    out.push('\n');
}

pub(crate) fn write_row(out: &mut String, row: &Row<'_>, base: Option<f64>) {
    let quietest = row.rounds.quietest();
    let refused: u64 = row.rounds.0.iter().map(|sample| sample.refused).sum();
    let note = if refused > 0 {
        format!(" ({} refused)", grouped(refused))
    } else {
        String::new()
    };
    let _ = writeln!(
        out,
        "| {}{note} | {:.3} | {:.3} | {:.3} | {:.3} | {} | {} | {:.0} | {:.0} | {:.0} | {:.2} |",
        row.name,
        quietest.cpu_us(),
        row.rounds.median(Sample::cpu_us),
        quietest.user_us,
        quietest.system_us,
        ratio(quietest.cpu_us(), base),
        grouped(row.rounds.best_per_s() as u64),
        row.rounds.median(|sample| sample.p50_us),
        row.rounds.median(|sample| sample.p99_us),
        row.rounds.median(|sample| sample.p999_us),
        row.rounds.median(|sample| sample.client_us),
    );
}

pub(crate) fn ratio(value: f64, base: Option<f64>) -> String {
    match base {
        Some(base) if base > 0.0 => format!("{:.2}", value / base),
        _ => "-".to_owned(),
    }
}

fn write_memory(out: &mut String, measured: &[Measured]) {
    let memory = |peer| {
        measured
            .iter()
            .find(|measured| measured.found.peer == peer)?
            .key_memory_bytes
    };
    let base = memory(Peer::Valkey);
    out.push_str(
        "**Memory for one key**: resident memory after loading minus before, by keys.\n\n",
    );
    out.push_str("| server | bytes | to Valkey |\n|---|---|---|\n");
    for measured in measured {
        if let Some(bytes) = measured.key_memory_bytes {
            let _ = writeln!(
                out,
                "| {} | {bytes:.0} | {} |",
                measured.found.peer.name(),
                ratio(bytes, base)
            );
        }
    }
}

fn write_size_table(
    out: &mut String,
    title: &str,
    columns: &[(Load, Vec<Measured>)],
    value: impl Fn(&Measured) -> Option<f64>,
) {
    let _ = write!(out, "| {title} |");
    for (load, _) in columns {
        let _ = write!(out, " {} B |", load.value_bytes);
    }
    let _ = writeln!(out, "\n|---|{}", "---|".repeat(columns.len()));
    let Some((_, first)) = columns.first() else {
        return;
    };
    for (position, measured) in first.iter().enumerate() {
        if value(measured).is_none() {
            continue;
        }
        let _ = write!(out, "| {} |", measured.found.peer.name());
        for (_, column) in columns {
            let valkey = column.iter().find(|one| one.found.peer == Peer::Valkey);
            match value(&column[position]) {
                Some(number) => {
                    let digits = if number >= 20.0 { 0 } else { 3 };
                    let base = valkey.and_then(&value);
                    let _ = write!(out, " {number:.digits$} ({}) |", ratio(number, base));
                }
                None => out.push_str(" - |"),
            }
        }
        out.push('\n');
    }
    out.push('\n');
}
