//! A [`Report`] for people: first what is wrong, then who catches up, then everything.

use super::report::{NodeReport, Partitions, Report, TableReport};
use brickyard_bench::grouped;
use std::fmt::Write as _;

/// Partitions that are told one by one.
const LISTED: usize = 8;

/// The whole report; with `is_long` also the bricks.
pub(crate) fn render(report: &Report, is_long: bool) -> String {
    let mut out = String::new();
    if let Some(waits_for) = &report.waits_for {
        let _ = writeln!(
            out,
            "The node at {} is in no cluster yet; it waits for {waits_for}.",
            report.asked
        );
        return out;
    }
    out += &headline(report);
    out += &trouble(report);
    out += &risks(report);
    out += &repair(report);
    out += "\nNODES\n";
    out += &aligned(
        &[
            "node", "address", "http", "zone", "roles", "state", "lease", "version",
        ],
        report
            .nodes
            .iter()
            .map(|node| node_row(node, report.leader)),
    );
    for node in &report.nodes {
        out += &node_notes(node);
    }
    out += "\nTABLES\n";
    out += &aligned(
        &[
            "table",
            "medium",
            "durability",
            "replicas",
            "hash",
            "placement",
            "partitions",
            "in sync",
            "keys in all copies",
            "memory",
        ],
        report.tables.iter().map(table_row),
    );
    if is_long {
        out += "\nBRICKS\n";
        out += &aligned(
            &[
                "brick",
                "address",
                "primaries",
                "copies",
                "learning",
                "connections",
                "commands",
                "log",
                "live",
                "waiting",
            ],
            report.bricks.iter().map(brick_row),
        );
    }
    out
}

fn headline(report: &Report) -> String {
    let Partitions { total, .. } = report.partitions;
    let is_at_risk = report.tables.iter().any(|table| table.has_one_copy);
    let state = match (report.is_whole, is_at_risk) {
        (true, false) => "everything is as it should be",
        (true, true) => "everything is as it was asked for, and not all of it is safe",
        (false, _) => "something is not as it should be",
    };
    let leader = match report.leader {
        Some(leader) => format!("node {leader} leads"),
        None => "NO LEADER: views and tables cannot change".to_owned(),
    };
    format!(
        "{state}: {} nodes, {} tables, {total} partitions; {leader}; catalog {}\n",
        report.nodes.len(),
        report.tables.len(),
        report.catalog_version
    )
}

/// What is wrong, the worst first.
fn trouble(report: &Report) -> String {
    let Partitions {
        unserved, states, ..
    } = report.partitions;
    let counts = [
        (unserved, "not served: the primary's node is down"),
        (
            states.short,
            "refuse writes: fewer copies in sync than MIN_IN_SYNC",
        ),
        (states.under_replicated, "under-replicated"),
    ];
    let mut out = String::new();
    for node in report.nodes.iter().filter(|node| node.is_astray()) {
        let _ = writeln!(
            out,
            "  node {} serves in this cluster of {} nodes, and its join names nodes of another cluster, which refuse it",
            node.node,
            report.nodes.len()
        );
    }
    for (count, what) in counts.iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(out, "  {:>6} partitions {what}", grouped(*count));
    }
    let listed = report
        .unsettled
        .iter()
        .filter(|it| matches!(it.state.as_str(), "short" | "under_replicated"));
    let bad = (states.short + states.under_replicated) as usize;
    for partition in listed.take(LISTED) {
        let copies = std::iter::once(&partition.primary).chain(&partition.backups);
        let copies: Vec<&str> = copies.map(|replica| brick_of(replica)).collect();
        let learners: Vec<&str> = partition
            .learners
            .iter()
            .map(|replica| brick_of(replica))
            .collect();
        let _ = write!(
            out,
            "         {}/{}: {} of {} copies, on {}",
            partition.table,
            partition.partition,
            copies.len(),
            partition.wanted,
            copies.join(" ")
        );
        if !learners.is_empty() {
            let _ = write!(out, "; {} catches up", learners.join(" "));
        }
        out.push('\n');
    }
    if bad > LISTED {
        let _ = writeln!(out, "         and {} more", bad - LISTED);
    }
    out
}

/// What is as it was asked for, and costs data when a disk is lost.
fn risks(report: &Report) -> String {
    let at_risk: Vec<&str> = report
        .tables
        .iter()
        .filter(|table| table.has_one_copy)
        .map(|table| table.name.as_str())
        .collect();
    if at_risk.is_empty() {
        return String::new();
    }
    let more = at_risk.len().saturating_sub(LISTED);
    let named = at_risk[..at_risk.len() - more].join(", ");
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "  warning: one copy, which is lost with one node's disk: {named}{more}; for copies on other nodes say \
         TABLE ALTER name REPLICAS auto\n"
    )
}

/// The brick of `node/brick@incarnation`.
fn brick_of(replica: &str) -> &str {
    replica.split_once('@').map_or(replica, |(brick, _)| brick)
}

/// What is moving, and how long it will take.
fn repair(report: &Report) -> String {
    let mut out = String::new();
    let copies = report.copies;
    if copies.missing > 0 {
        let most = copies.most.unwrap_or(copies.missing);
        let _ = write!(
            out,
            "  {} of {} copies are still missing",
            grouped(copies.missing),
            grouped(most)
        );
        if let Some(time) = copies.for_ms {
            let _ = write!(out, " after {}", time_text(time));
        }
        match copies.left_ms {
            Some(left) => {
                let _ = writeln!(out, "; at this pace it takes {} more", time_text(left));
            }
            None => out.push('\n'),
        }
    }
    for brick in &report.moves.catching_up {
        let _ = writeln!(
            out,
            "  brick {}/{} catches up on {} partitions",
            brick.node,
            brick.brick,
            grouped(brick.partitions)
        );
    }
    let changing = report.partitions.states.changing;
    if changing > 0 {
        let _ = writeln!(
            out,
            "  {} partitions change their primary or members",
            grouped(changing)
        );
    }
    for extra in &report.moves.extras {
        let _ = writeln!(
            out,
            "  hot: partition {}/{} has copies more than asked for ({}), to be read from",
            extra.table, extra.partition, extra.copies
        );
    }
    if report.moves.splits > 0 {
        let _ = writeln!(
            out,
            "  {} partitions are being split",
            grouped(report.moves.splits)
        );
    }
    if report.moves.merges > 0 {
        let _ = writeln!(
            out,
            "  {} pairs of partitions are being merged",
            grouped(report.moves.merges)
        );
    }
    out
}

fn node_row(node: &NodeReport, leader: Option<u32>) -> Vec<String> {
    let dash = || "-".to_owned();
    let role = if leader == Some(node.node) {
        " (leads)"
    } else {
        ""
    };
    vec![
        node.node.to_string(),
        node.address.clone(),
        node.http.clone().unwrap_or_else(dash),
        node.zone.clone().unwrap_or_else(dash),
        match node.roles.is_empty() {
            true => dash(),
            false => node.roles.join(","),
        },
        format!("{}{role}", node.state),
        node.lease_left_ms
            .map_or_else(dash, |ms| format!("{:.1} s", ms as f64 / 1e3)),
        node.version.clone().unwrap_or_else(dash),
    ]
}

fn node_notes(node: &NodeReport) -> String {
    let mut out = String::new();
    let number = node.node;
    if let Some(what) = &node.waits_for {
        let _ = writeln!(out, "  node {number} waits for {what}");
    }
    for damage in &node.damages {
        let _ = writeln!(out, "  node {number} has damage: {damage}");
    }
    for refusal in &node.refusals {
        let _ = writeln!(out, "  node {number} is refused: {refusal}");
    }
    if let Some(error) = &node.error {
        let _ = writeln!(out, "  node {number}: {error}");
    }
    out
}

fn table_row(table: &TableReport) -> Vec<String> {
    vec![
        table.name.clone(),
        table.medium.clone(),
        table.durability.clone(),
        format!("{} (writes need {})", table.replicas, table.min_in_sync),
        table.hash.clone(),
        placement(table),
        grouped(table.partitions.total),
        grouped(table.partitions.states.in_sync),
        grouped(table.keys_in_copies),
        bytes_text(table.memory_bytes),
    ]
}

/// By which rule and where, if that is not the same for all tables.
fn placement(table: &TableReport) -> String {
    let nodes: Vec<String> = table.nodes.iter().map(u32::to_string).collect();
    match nodes.is_empty() {
        true => table.placement.clone(),
        false => format!("{} on {}", table.placement, nodes.join(",")),
    }
}

fn brick_row(brick: &super::report::BrickReport) -> Vec<String> {
    let mut row = vec![
        format!("{}/{}", brick.node, brick.brick),
        brick.address.clone(),
        grouped(brick.primaries),
        grouped(brick.copies),
        grouped(brick.learning),
    ];
    match brick.load {
        Some(load) => row.extend([
            grouped(load.connections),
            grouped(load.commands),
            bytes_text(load.log_file_bytes),
            bytes_text(load.log_live_bytes),
            bytes_text(load.log_pending_bytes),
        ]),
        None => row.extend((0..5).map(|_| "-".to_owned())),
    }
    row
}

pub(crate) fn time_text(ms: u64) -> String {
    let seconds = ms as f64 / 1e3;
    if seconds < 90.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{:.0} min", seconds / 60.0)
    }
}

pub(crate) fn bytes_text(bytes: u64) -> String {
    if bytes < 1_000_000 {
        format!("{:.0} kB", bytes as f64 / 1e3)
    } else {
        format!("{:.1} MB", bytes as f64 / 1e6)
    }
}

/// Rows under a head, in columns.
pub(crate) fn aligned(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut all = vec![head.iter().map(|&it| it.to_owned()).collect::<Vec<_>>()];
    all.extend(rows);
    let mut widths = vec![0; head.len()];
    for row in &all {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut out = String::new();
    for row in &all {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        let _ = writeln!(out, "  {}", cells.join("  ").trim_end());
    }
    out
}
