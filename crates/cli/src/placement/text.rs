//! Nodes and moves for people.

use super::replies::{NodeRow, Planned, RebalanceStatus};
use crate::status::text::{aligned, bytes_text, time_text};
use brickyard_bench::grouped;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// All nodes, a line each.
pub(crate) fn nodes(rows: &[NodeRow]) -> String {
    let head = [
        "node",
        "address",
        "zone",
        "weight",
        "roles",
        "bricks",
        "primaries",
        "copies",
        "learning",
        "state",
    ];
    let cells = rows.iter().map(|row| {
        let state = match row.successor.as_str() {
            "" => row.state.clone(),
            successor => format!("{}, for node {successor}", row.state),
        };
        vec![
            row.node.to_string(),
            row.address.clone(),
            dash(&row.zone),
            row.weight.to_string(),
            row.roles.clone(),
            row.bricks.to_string(),
            grouped(row.primaries),
            grouped(row.copies),
            grouped(row.learning),
            state,
        ]
    });
    aligned(&head, cells)
}

/// The moves of a plan: of each table from each brick to each other, and in all.
pub(crate) fn plan(moves: &[Planned], rebalance_status: &RebalanceStatus, pace: u64) -> String {
    if moves.is_empty() {
        return "Everything is where it should be: nothing has to move.\n".to_owned();
    }
    #[derive(Default)]
    struct Sum {
        copies: u64,
        primaries: u64,
        bytes: u64,
    }
    let mut sums: BTreeMap<(&str, &str, &str, &str), Sum> = BTreeMap::new();
    for it in moves {
        let way = (&*it.table, &*it.placement, &*it.from, &*it.to);
        let sum = sums.entry(way).or_default();
        let count = if it.is_copy() {
            &mut sum.copies
        } else {
            &mut sum.primaries
        };
        *count += 1;
        sum.bytes += it.bytes;
    }
    let head = [
        "table",
        "placement",
        "from",
        "to",
        "copies",
        "primaries",
        "bytes",
        "time",
    ];
    let rows = sums.iter().map(|((table, placement, from, to), sum)| {
        vec![
            (*table).to_owned(),
            (*placement).to_owned(),
            dash(from),
            dash(to),
            grouped(sum.copies),
            grouped(sum.primaries),
            bytes_text(sum.bytes),
            time_text(time_ms(sum.bytes, pace)),
        ]
    });
    let mut out = aligned(&head, rows);
    let mut by_target: BTreeMap<&str, u64> = BTreeMap::new();
    for it in moves {
        *by_target.entry(&it.to).or_default() += it.bytes;
    }
    let longest = by_target.values().copied().max().unwrap_or_default();
    let copies = moves.iter().filter(|it| it.is_copy()).count() as u64;
    let _ = writeln!(
        out,
        "\n{} copies with {} go over and {} primaries change; about {} at {} a second for each brick that learns.",
        grouped(copies),
        bytes_text(rebalance_status.bytes),
        grouped(moves.len() as u64 - copies),
        time_text(time_ms(longest, pace)),
        bytes_text(pace),
    );
    if rebalance_status.is_paused() {
        out += "Moves are paused: \"brickyard rebalance resume\" lets them begin.\n";
    }
    out
}

/// How far moves are, in a line.
pub(crate) fn rebalance_status(rebalance_status: &RebalanceStatus) -> String {
    let paused = if rebalance_status.is_paused() {
        "Moves are paused. "
    } else {
        ""
    };
    if rebalance_status.is_done() {
        return format!("{paused}Everything is where it should be.\n");
    }
    format!(
        "{paused}{} copies with {} have to move, {} of them are under way; {} primaries change.\n",
        grouped(rebalance_status.copies),
        bytes_text(rebalance_status.bytes),
        grouped(rebalance_status.learning),
        grouped(rebalance_status.primaries)
    )
}

fn time_ms(bytes: u64, pace: u64) -> u64 {
    bytes.saturating_mul(1_000) / pace.max(1)
}

fn dash(text: &str) -> String {
    let text = if text.is_empty() { "-" } else { text };
    text.to_owned()
}

#[cfg(test)]
#[path = "text_test.rs"]
mod text_test;
