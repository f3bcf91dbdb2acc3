//! What each brick counts, and what commands take.

use super::page::Kind::{self, Counter, Gauge};
use super::page::{Distribution, Labels, Page, brick_label};
use crate::control::status::Opened;
use brickyard_brick::stats::{CommandStats, LATENCY_BUCKETS, Stats};
use brickyard_command::table::COMMANDS;
use std::collections::BTreeMap;

type BrickMetric = (&'static str, &'static str, Kind, fn(&Stats) -> u64);

const BRICK: &[BrickMetric] = &[
    (
        "brickyard_server_connections",
        "Clients connected now.",
        Gauge,
        |it| it.clients.connected.value(),
    ),
    (
        "brickyard_server_connections_accepted_total",
        "Clients that connected.",
        Counter,
        |it| it.clients.accepted.value(),
    ),
    (
        "brickyard_server_connections_refused_total",
        "Clients refused at maxclients.",
        Counter,
        |it| it.clients.refused.value(),
    ),
    (
        "brickyard_server_received_bytes_total",
        "Bytes received from clients.",
        Counter,
        |it| it.clients.bytes_in.value(),
    ),
    (
        "brickyard_server_sent_bytes_total",
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
        "brickyard_server_clients_evicted_total",
        "Clients closed since all clients' buffers took more than maxmemory_clients.",
        Counter,
        |it| it.clients.evicted.value(),
    ),
    (
        "brickyard_server_requests_held_back_total",
        "Requests that waited until their client had read what it had.",
        Counter,
        |it| it.clients.held_back.value(),
    ),
    (
        "brickyard_server_turns_total",
        "Turns of the loop.",
        Counter,
        |it| it.turns.value(),
    ),
    (
        "brickyard_wire_protocol_errors_total",
        "Frames that were no requests.",
        Counter,
        |it| it.clients.protocol_errors.value(),
    ),
    (
        "brickyard_brick_commands_total",
        "Commands executed.",
        Counter,
        |it| it.commands.value(),
    ),
    (
        "brickyard_brick_errors_total",
        "Error replies.",
        Counter,
        |it| it.errors.replied.value(),
    ),
    (
        "brickyard_brick_forwards_total",
        "Requests passed to other bricks.",
        Counter,
        |it| it.forwards.value(),
    ),
    (
        "brickyard_brick_distributed_transactions_total",
        "Transactions over several partitions that were committed.",
        Counter,
        |it| it.distributed.committed.value(),
    ),
    (
        "brickyard_brick_distributed_retries_total",
        "Attempts at them that came upon another one, or upon a change of primaries.",
        Counter,
        |it| it.distributed.retried.value() + it.distributed.moved.value(),
    ),
    (
        "brickyard_brick_intents_recovered_total",
        "Keys that were left locked and were looked into.",
        Counter,
        |it| it.distributed.recovered.value(),
    ),
    (
        "brickyard_brick_tracking_clients",
        "Clients that keep copies of keys and are told when they change (CLIENT TRACKING).",
        Gauge,
        |it| it.tracking.clients.value(),
    ),
    (
        "brickyard_brick_tracked_keys",
        "Keys that some of them may have copies of.",
        Gauge,
        |it| it.tracking.keys.value(),
    ),
    (
        "brickyard_brick_leased_keys",
        "Keys that some may keep under leases.",
        Gauge,
        |it| it.tracking.leased.value(),
    ),
    (
        "brickyard_brick_followers_waiting",
        "Clients that wait for the next change of a table (WATCHKEYS).",
        Gauge,
        |it| it.feeds.waiting.value(),
    ),
    (
        "brickyard_brick_followers_compacted_total",
        "Times that one was told that changes behind its position are not kept any more.",
        Counter,
        |it| it.feeds.compacted.value(),
    ),
    (
        "brickyard_brick_history_bytes",
        "Memory of the changes that tables keep for them (HISTORY).",
        Gauge,
        |it| it.feeds.history_bytes.value(),
    ),
    (
        "brickyard_store_appended_batches_total",
        "Batches appended to the log.",
        Counter,
        |it| it.log.batches.value(),
    ),
    (
        "brickyard_store_appended_bytes_total",
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
        "brickyard_store_cleaned_segments_total",
        "Segments the cleaner removed.",
        Counter,
        |it| it.log.segments_cleaned.value(),
    ),
    (
        "brickyard_store_cleaned_bytes_total",
        "Bytes the cleaner moved.",
        Counter,
        |it| it.log.moved_bytes.value(),
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

pub(super) fn bricks(page: &mut Page, opened: &Opened) {
    let bricks = || opened.shared.stats.iter().enumerate();
    for (name, help, kind, value) in BRICK {
        let values = bricks().map(|(brick, stats)| (brick_label(brick), value(stats) as f64));
        page.family(name, help, *kind, values);
    }
    page.gauges(
        "brickyard_brick_busy_ratio",
        "Part of a core's time that the loop takes, over some seconds.",
        bricks().map(|(brick, stats)| (brick_label(brick), stats.busy.value() as f64 / 1e3)),
    );
    let refused = bricks().flat_map(|(brick, stats)| {
        REFUSALS.iter().map(move |(reason, value)| {
            let mut labels = brick_label(brick);
            labels.push(("reason", (*reason).to_owned()));
            (labels, value(stats) as f64)
        })
    });
    page.counters(
        "brickyard_brick_refused_total",
        "Requests refused, by reason.",
        refused,
    );
    commands(page, opened);
}

/// By command, added up over the bricks: a series for each brick too would be thousands.
fn commands(page: &mut Page, opened: &Opened) {
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
    type Count = (&'static str, &'static str, fn(&CommandStats) -> u64);
    let counts: [Count; 3] = [
        (
            "brickyard_brick_command_calls_total",
            "Calls, by command.",
            |it| it.calls.value(),
        ),
        (
            "brickyard_brick_command_failures_total",
            "Calls that failed.",
            |it| it.failed.value(),
        ),
        (
            "brickyard_brick_command_rejections_total",
            "Calls that were refused before they were executed.",
            |it| it.rejected.value(),
        ),
    ];
    let label = |name: &str| -> Labels { vec![("command", name.to_owned())] };
    for (name, help, value) in counts {
        let values = used.iter();
        let values = values.map(|(index, command)| (label(command), sum(*index, value) as f64));
        page.counters(name, help, values);
    }
    let times = used.iter().map(|(index, command)| {
        let buckets = (0..LATENCY_BUCKETS).map(|bucket| {
            let calls = of(*index).map(|stats| stats.latency[bucket].value());
            ((1_u64 << bucket) as f64 / 1e6, calls.sum())
        });
        let distribution = Distribution {
            sum: sum(*index, |it| it.nanoseconds.value()) as f64 / 1e9,
            buckets: buckets.collect(),
        };
        (label(command), distribution)
    });
    page.histograms(
        "brickyard_brick_command_seconds",
        "Time of one call, by command.",
        times,
    );
}
