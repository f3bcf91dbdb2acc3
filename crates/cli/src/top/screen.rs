//! A look at a cluster as a screen of text.
//!
//! In:  a [`Look`], how many lines and columns there are. Out: text.
//!
//! Invariant: no line is longer than the screen is wide, and there are no more lines than it is high: what fits is shown, nodes
//! first.

use super::collect::{Load, Look, NodeLoad, Standing};
use crate::status::text::{aligned, bytes_text};

/// Rows of a list where there is room for more.
const ROWS: usize = 8;

/// The screen, of so many columns and rows; `None`: as much as there is.
pub(crate) fn render(look: &Look, size: Option<(usize, usize)>) -> String {
    let mut out = String::new();
    let operations: u64 = look.nodes.iter().filter_map(operations).sum();
    out += &format!(
        "{} nodes, {} tables, {operations} commands a second\n",
        look.nodes.len(),
        look.tables.len()
    );
    out += &nodes(look);
    out += "\nTables\n";
    let rows = look.tables.iter().map(|table| {
        let unanswered = match table.unanswered {
            0 => String::new(),
            bricks => format!("without {bricks} bricks that did not answer"),
        };
        vec![
            table.name.clone(),
            table.keys.to_string(),
            bytes_text(table.memory),
            unanswered,
        ]
    });
    out += &aligned(&["table", "keys", "memory", ""], rows);
    out += &keys("Hot keys", "commands a second", &look.hot, |it| {
        it.to_string()
    });
    out += &keys("Big keys", "size", &look.big, bytes_text);
    out += "\nSlowest commands (SLOWLOG)\n";
    let rows = look.slow.iter().take(ROWS).map(|it| {
        vec![
            format!("{:.1} ms", it.microseconds as f64 / 1e3),
            it.brick.clone(),
            ago(it.at),
            it.command.clone(),
        ]
    });
    out += &aligned(&["took", "brick", "when", "command"], rows);
    cut(&out, size)
}

fn operations(node: &NodeLoad) -> Option<u64> {
    node.load.as_ref().ok().map(|load| load.operations)
}

fn nodes(look: &Look) -> String {
    let answered = look.nodes.iter().filter_map(|node| {
        let load = node.load.as_ref().ok()?;
        Some(row(node, load))
    });
    let head = [
        "node",
        "address",
        "commands/s",
        "clients",
        "memory",
        "cpu",
        "in/s",
        "out/s",
        "unwritten",
    ];
    let mut out = aligned(&head, answered);
    for node in &look.nodes {
        if let Err(reason) = &node.load {
            out += &format!("  node {} ({}): {reason}\n", node.node, node.address);
        }
    }
    out
}

fn row(node: &NodeLoad, load: &Load) -> Vec<String> {
    let rate = |rate: Option<u64>| rate.map_or_else(|| "-".to_owned(), bytes_text);
    let cpu = load.cpu.map(|cpu| format!("{cpu:.0} %"));
    vec![
        node.node.to_string(),
        node.address.clone(),
        load.operations.to_string(),
        load.clients.to_string(),
        bytes_text(load.resident),
        cpu.unwrap_or_else(|| "-".to_owned()),
        rate(load.bytes_in),
        rate(load.bytes_out),
        bytes_text(load.log_pending),
    ]
}

fn keys(title: &str, unit: &str, keys: &[Standing], text: fn(u64) -> String) -> String {
    let rows = keys.iter().take(ROWS);
    let rows = rows.map(|it| vec![text(it.figure), it.table.clone(), it.key.clone()]);
    format!("\n{title}\n{}", aligned(&[unit, "table", "key"], rows))
}

/// How long ago that second was.
fn ago(second: u64) -> String {
    let now = std::time::UNIX_EPOCH
        .elapsed()
        .unwrap_or_default()
        .as_secs();
    match now.saturating_sub(second) {
        seconds @ 0..120 => format!("{seconds} s ago"),
        seconds @ 120..7200 => format!("{} min ago", seconds / 60),
        seconds => format!("{} h ago", seconds / 3600),
    }
}

/// What fits.
fn cut(text: &str, size: Option<(usize, usize)>) -> String {
    let Some((columns, rows)) = size else {
        return text.to_owned();
    };
    // The last row stays empty: a line end there would scroll.
    let lines = text.lines().take(rows.saturating_sub(1));
    let lines = lines.map(|line| line.chars().take(columns).chain(['\n']));
    lines.flatten().collect()
}

#[cfg(test)]
#[path = "screen_test.rs"]
mod screen_test;
