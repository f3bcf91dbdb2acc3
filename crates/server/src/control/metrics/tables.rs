//! What each table holds on this node.

use super::page::Kind::{self, Counter, Gauge};
use super::page::{Page, brick_label, table_label};
use crate::control::status::{self, Opened};
use brickyard_brick::stats::TableStats;
use brickyard_metadata::Catalog;
use std::sync::Arc;

type TableMetric = (&'static str, &'static str, Kind, fn(&TableStats) -> u64);

const TABLE: &[TableMetric] = &[
    ("brickyard_table_keys", "Keys.", Gauge, |it| it.keys.value()),
    (
        "brickyard_table_expiring_keys",
        "Keys that expire.",
        Gauge,
        |it| it.expires.value(),
    ),
    (
        "brickyard_table_memory_bytes",
        "Memory of records and index.",
        Gauge,
        |it| it.memory.value(),
    ),
    (
        "brickyard_table_hits_total",
        "Reads that found their key.",
        Counter,
        |it| it.hits.value(),
    ),
    (
        "brickyard_table_misses_total",
        "Reads that did not.",
        Counter,
        |it| it.misses.value(),
    ),
    (
        "brickyard_table_writes_total",
        "Writes committed.",
        Counter,
        |it| it.writes.value(),
    ),
    (
        "brickyard_table_expired_total",
        "Keys removed as their time had come.",
        Counter,
        |it| it.expired.value(),
    ),
    (
        "brickyard_table_evicted_total",
        "Keys removed to stay within MAXMEMORY.",
        Counter,
        |it| it.evicted.value(),
    ),
    (
        "brickyard_table_cold_reads_total",
        "Values read back from the log.",
        Counter,
        |it| it.cold_reads.value(),
    ),
];

pub(super) fn tables(page: &mut Page, opened: &Opened, catalog: &Catalog) {
    let stats: Vec<(&str, usize, Arc<TableStats>)> = catalog
        .tables()
        .flat_map(|table| {
            let stats = status::table_stats(&opened.shared, table);
            let name = table.name.as_str();
            stats.into_iter().map(move |(brick, it)| (name, brick, it))
        })
        .collect();
    for (name, help, kind, value) in TABLE {
        let values = stats.iter().map(|(table, brick, stats)| {
            let mut labels = brick_label(*brick);
            labels.extend(table_label(table));
            (labels, value(stats) as f64)
        });
        page.family(name, help, *kind, values);
    }
    let bounds = catalog.tables().filter_map(|table| {
        let bound = table.attributes.maxmemory?;
        Some((table_label(&table.name), bound as f64))
    });
    page.gauges(
        "brickyard_table_memory_limit_bytes",
        "MAXMEMORY of the table, which is each node's; of tables that have one.",
        bounds,
    );
}
