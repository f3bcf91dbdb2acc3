//! Metrics as OpenMetrics text: per-brick counters, read at each scrape and never added up.
//!
//! Names are `brickyard_<room>_<noun>_<unit>[_total]`, units are base units, labels are `brick`,
//! `table`, `command`, `reason`; never a key. Nothing is kept here between scrapes.

use super::status::{self, Opened, Phase, View};
use crate::disk::{DiskStats, Timing};
use brickyard_brick::stats::{CommandStats, LATENCY_BUCKETS, Stats, TableStats};
use brickyard_command::table::COMMANDS;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

type Labels = Vec<(&'static str, String)>;

/// Renders all metrics.
///
/// # Errors
/// The text could not be built.
pub(crate) fn text(view: &Arc<View>) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape(Arc::clone(view))));
    let mut out = String::with_capacity(32 << 10);
    text::encode(&mut out, &registry)?;
    Ok(out)
}

#[derive(Debug)]
struct Scrape(Arc<View>);

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        let is_ready = u64::from(self.0.phase() == Phase::Ready);
        page.gauge(
            "brickyard_server_ready",
            "1 while requests are served.",
            [(labels(), is_ready)],
        )?;
        let Some(opened) = self.0.opened.get() else {
            return Ok(());
        };
        process(&mut page, opened)?;
        for (name, help, kind, value) in BRICK {
            let stats = opened.shared.stats.iter().enumerate();
            let values = stats.map(|(brick, stats)| (brick_label(brick), value(stats)));
            page.family(name, help, *kind, values)?;
        }
        refusals(&mut page, opened)?;
        commands(&mut page, opened)?;
        disks(&mut page, opened)?;
        tables(&mut page, opened)
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Counter,
    Gauge,
}
use Kind::{Counter, Gauge};

type BrickMetric = (&'static str, &'static str, Kind, fn(&Stats) -> u64);

const BRICK: &[BrickMetric] = &[
    (
        "brickyard_server_connections",
        "Clients connected now.",
        Gauge,
        |it| it.clients.connected.value(),
    ),
    (
        "brickyard_server_connections_accepted",
        "Clients that connected.",
        Counter,
        |it| it.clients.accepted.value(),
    ),
    (
        "brickyard_server_connections_refused",
        "Clients refused at maxclients.",
        Counter,
        |it| it.clients.refused.value(),
    ),
    (
        "brickyard_server_received_bytes",
        "Bytes received from clients.",
        Counter,
        |it| it.clients.bytes_in.value(),
    ),
    (
        "brickyard_server_sent_bytes",
        "Bytes sent to clients.",
        Counter,
        |it| it.clients.bytes_out.value(),
    ),
    (
        "brickyard_server_buffer_bytes",
        "Memory in connections' buffers.",
        Gauge,
        |it| it.clients.buffer_bytes.value(),
    ),
    (
        "brickyard_server_clients_evicted",
        "Clients closed since all clients' buffers took more than maxmemory_clients.",
        Counter,
        |it| it.clients.evicted.value(),
    ),
    (
        "brickyard_server_requests_held_back",
        "Requests that waited until their client had read what it had.",
        Counter,
        |it| it.clients.held_back.value(),
    ),
    (
        "brickyard_server_turns",
        "Turns of the loop.",
        Counter,
        |it| it.turns.value(),
    ),
    (
        "brickyard_wire_protocol_errors",
        "Frames that were no requests.",
        Counter,
        |it| it.clients.protocol_errors.value(),
    ),
    (
        "brickyard_brick_commands",
        "Commands executed.",
        Counter,
        |it| it.commands.value(),
    ),
    (
        "brickyard_brick_busy_thousandths",
        "Part of a core's time that the loop takes, over some seconds.",
        Gauge,
        |it| it.busy.value(),
    ),
    ("brickyard_brick_errors", "Error replies.", Counter, |it| {
        it.errors.replied.value()
    }),
    (
        "brickyard_brick_forwards",
        "Requests passed to other bricks.",
        Counter,
        |it| it.forwards.value(),
    ),
    (
        "brickyard_store_appended_batches",
        "Batches appended to the log.",
        Counter,
        |it| it.log.batches.value(),
    ),
    (
        "brickyard_store_appended_bytes",
        "Bytes appended to the log.",
        Counter,
        |it| it.log.bytes.value(),
    ),
    (
        "brickyard_store_pending_bytes",
        "Bytes of writes that wait for the log.",
        Gauge,
        |it| it.log.pending_bytes.value(),
    ),
    (
        "brickyard_store_segments",
        "Segments of the log.",
        Gauge,
        |it| it.log.segments.value(),
    ),
    (
        "brickyard_store_live_bytes",
        "Bytes of the log that are live.",
        Gauge,
        |it| it.log.live_bytes.value(),
    ),
    (
        "brickyard_store_file_bytes",
        "Bytes of the log's files.",
        Gauge,
        |it| it.log.file_bytes.value(),
    ),
    (
        "brickyard_store_cleaned_segments",
        "Segments the cleaner removed.",
        Counter,
        |it| it.log.segments_cleaned.value(),
    ),
    (
        "brickyard_store_cleaned_bytes",
        "Bytes the cleaner moved.",
        Counter,
        |it| it.log.moved_bytes.value(),
    ),
];

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
        "brickyard_table_hits",
        "Reads that found their key.",
        Counter,
        |it| it.hits.value(),
    ),
    (
        "brickyard_table_misses",
        "Reads that did not.",
        Counter,
        |it| it.misses.value(),
    ),
    (
        "brickyard_table_writes",
        "Writes committed.",
        Counter,
        |it| it.writes.value(),
    ),
    (
        "brickyard_table_expired",
        "Keys removed as their time had come.",
        Counter,
        |it| it.expired.value(),
    ),
    (
        "brickyard_table_evicted",
        "Keys removed to stay within MAXMEMORY.",
        Counter,
        |it| it.evicted.value(),
    ),
    (
        "brickyard_table_cold_reads",
        "Values read back from the log.",
        Counter,
        |it| it.cold_reads.value(),
    ),
];

type Refusal = (&'static str, fn(&Stats) -> u64);

const REFUSALS: &[Refusal] = &[
    ("busy", |it| it.errors.busy.value()),
    ("memory", |it| it.errors.memory.value()),
    ("disk", |it| it.errors.disk.value()),
    ("damaged", |it| it.errors.damaged.value()),
    ("limit", |it| it.errors.limited.value()),
];

fn process(page: &mut Page<'_>, opened: &Opened) -> fmt::Result {
    let process = &opened.shared.process;
    let memory = process.memory_resident.load(Relaxed);
    page.gauge(
        "brickyard_server_resident_bytes",
        "Resident memory.",
        [(labels(), memory)],
    )?;
    page.gauge(
        "brickyard_server_start_time_seconds",
        "When the process started, since the Unix epoch.",
        [(labels(), opened.shared.identity.started.0 / 1000)],
    )?;
    let descriptor = (
        "brickyard_server_cpu_seconds",
        "Processor time of all threads.",
    );
    let modes = [
        ("user", &process.cpu_user_us),
        ("system", &process.cpu_system_us),
    ];
    let mut family =
        page.0
            .encode_descriptor(descriptor.0, descriptor.1, None, MetricType::Counter)?;
    for (mode, micros) in modes {
        let seconds = ConstCounter::new(micros.load(Relaxed) as f64 / 1e6);
        seconds.encode(family.encode_family(&vec![("mode", mode.to_owned())])?)?;
    }
    let version = vec![("version", opened.shared.identity.version.to_owned())];
    page.gauge(
        "brickyard_server_build",
        "1, with the version as a label.",
        [(version, 1)],
    )?;
    let damages = opened.damages().len() as u64;
    page.gauge(
        "brickyard_store_damaged_ranges",
        "Ranges of the log that were unreadable at the start, and have not healed since.",
        [(labels(), damages)],
    )
}

fn refusals(page: &mut Page<'_>, opened: &Opened) -> fmt::Result {
    let bricks = opened.shared.stats.iter().enumerate();
    let values = bricks.flat_map(|(brick, stats)| {
        REFUSALS.iter().map(move |(reason, value)| {
            let labels = vec![
                ("brick", brick.to_string()),
                ("reason", (*reason).to_owned()),
            ];
            (labels, value(stats))
        })
    });
    page.family(
        "brickyard_brick_refused",
        "Requests refused, by reason.",
        Counter,
        values,
    )
}

/// By command, added up over the bricks: a series for each brick too would be thousands.
fn commands(page: &mut Page<'_>, opened: &Opened) -> fmt::Result {
    let all = &opened.shared.stats;
    let of = |index: usize| {
        all.iter()
            .filter_map(move |stats| stats.commands_by_id.get(index))
    };
    let count = all.first().map_or(0, |stats| stats.commands_by_id.len());
    let sum = |index: usize, value: fn(&CommandStats) -> u64| of(index).map(value).sum::<u64>();
    let mut used: BTreeMap<usize, &'static str> = BTreeMap::new();
    for spec in COMMANDS
        .iter()
        .flat_map(|spec| std::iter::once(spec).chain(spec.subcommands))
    {
        let index = spec.id as usize;
        if index < count && sum(index, |it| it.calls.value() + it.rejected.value()) > 0 {
            used.entry(index).or_insert(spec.name);
        }
    }
    let label = |name: &str| vec![("command", name.to_owned())];
    let calls = used
        .iter()
        .map(|(index, name)| (label(name), sum(*index, |it| it.calls.value())));
    page.family(
        "brickyard_brick_command_calls",
        "Calls, by command.",
        Counter,
        calls,
    )?;
    let failed = used
        .iter()
        .map(|(index, name)| (label(name), sum(*index, |it| it.failed.value())));
    page.family(
        "brickyard_brick_command_failures",
        "Calls that failed.",
        Counter,
        failed,
    )?;
    let mut family = page.0.encode_descriptor(
        "brickyard_brick_command_seconds",
        "Time of one call, by command.",
        None,
        MetricType::Histogram,
    )?;
    for (index, name) in &used {
        let nanoseconds = sum(*index, |it| it.nanoseconds.value());
        let mut buckets: Vec<(f64, u64)> = Vec::new();
        for bucket in 0..LATENCY_BUCKETS {
            let bound = (1_u64 << bucket) as f64 / 1e6;
            let calls = of(*index).map(|stats| stats.latency[bucket].value()).sum();
            buckets.push((bound, calls));
        }
        encode_histogram(&mut family, &label(name), nanoseconds as f64 / 1e9, buckets)?;
    }
    Ok(())
}

fn disks(page: &mut Page<'_>, opened: &Opened) -> fmt::Result {
    type DiskTiming = (&'static str, &'static str, fn(&DiskStats) -> &Timing);
    let timings: [DiskTiming; 3] = [
        (
            "brickyard_store_append_seconds",
            "Time of one append.",
            |it| &it.append,
        ),
        ("brickyard_store_sync_seconds", "Time of one sync.", |it| {
            &it.sync
        }),
        (
            "brickyard_store_read_seconds",
            "Time of one cold read.",
            |it| &it.read,
        ),
    ];
    for (name, help, timing) in timings {
        let mut family = page
            .0
            .encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (brick, stats) in opened.disks.iter().enumerate() {
            let (seconds, buckets) = timing(stats).snapshot();
            encode_histogram(&mut family, &brick_label(brick), seconds, buckets)?;
        }
    }
    type DiskCount = (&'static str, &'static str, fn(&DiskStats) -> &AtomicU64);
    let counts: [DiskCount; 3] = [
        (
            "brickyard_store_inline_appends",
            "Batches that the loop wrote to the log itself.",
            |it| &it.inline_appends,
        ),
        (
            "brickyard_store_append_failures",
            "Batches the log refused.",
            |it| &it.append_failures,
        ),
        (
            "brickyard_store_read_failures",
            "Cold reads that failed.",
            |it| &it.read_failures,
        ),
    ];
    for (name, help, value) in counts {
        let disks = opened.disks.iter().enumerate();
        let values = disks.map(|(brick, stats)| (brick_label(brick), value(stats).load(Relaxed)));
        page.family(name, help, Counter, values)?;
    }
    Ok(())
}

fn tables(page: &mut Page<'_>, opened: &Opened) -> fmt::Result {
    let catalog = opened.catalog.borrow().clone();
    let stats: Vec<(String, usize, Arc<TableStats>)> = catalog
        .tables()
        .flat_map(|table| {
            let stats = status::table_stats(&opened.shared, table);
            stats
                .into_iter()
                .map(|(brick, stats)| (table.name.clone(), brick, stats))
        })
        .collect();
    for (name, help, kind, value) in TABLE {
        let values = stats.iter().map(|(table, brick, stats)| {
            let labels = vec![("brick", brick.to_string()), ("table", table.clone())];
            (labels, value(stats))
        });
        page.family(name, help, *kind, values)?;
    }
    Ok(())
}

struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
    fn family(
        &mut self,
        name: &str,
        help: &str,
        kind: Kind,
        values: impl IntoIterator<Item = (Labels, u64)>,
    ) -> fmt::Result {
        let metric_type = match kind {
            Counter => MetricType::Counter,
            Gauge => MetricType::Gauge,
        };
        let mut family = self.0.encode_descriptor(name, help, None, metric_type)?;
        for (labels, value) in values {
            if labels.is_empty() {
                encode(kind, value, &mut family)?;
            } else {
                encode(kind, value, &mut family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn gauge(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, u64)>,
    ) -> fmt::Result {
        self.family(name, help, Gauge, values)
    }
}

fn encode(
    kind: Kind,
    value: u64,
    encoder: &mut prometheus_client::encoding::MetricEncoder<'_>,
) -> fmt::Result {
    match kind {
        Counter => encoder.encode_counter::<NoLabelSet, _, u64>(&value, None),
        Gauge => encoder.encode_gauge(&value),
    }
}

fn encode_histogram(
    family: &mut prometheus_client::encoding::MetricEncoder<'_>,
    labels: &impl EncodeLabelSet,
    seconds: f64,
    mut buckets: Vec<(f64, u64)>,
) -> fmt::Result {
    if let Some(last) = buckets.last_mut() {
        last.0 = f64::INFINITY;
    }
    let count = buckets.iter().map(|(_, count)| count).sum();
    let mut encoder = family.encode_family(labels)?;
    encoder.encode_histogram::<NoLabelSet>(seconds, count, &buckets, None)
}

fn labels() -> Labels {
    Vec::new()
}

fn brick_label(brick: usize) -> Labels {
    vec![("brick", brick.to_string())]
}
