//! What a server does when it is asked for more than it can do.
//!
//! In:  a server. Out: throughput, refusals, latency and memory at 1 to 10 times its capacity.
//!
//! The load is an open loop: it does not slow down when the server does. Requests that are due
//! while a bounded number of others wait are not sent, and counted: they are the queue that forms
//! in front of any server that is asked too much, kept where it does no harm.
//! Source: figures 6 and 7 of Gribble, Brewer, Hellerstein and Culler, "Scalable, distributed data
//! structures for internet service construction" (OSDI 2000).

use crate::campaign::{Campaign, Load, workload};
use anyhow::Context;
use brickyard_bench::peer::{Durability, Found, Peer, Setup};
use brickyard_bench::process::{CLIENT_CORE, Process, pin, stolen_s};
use brickyard_bench::{Arrivals, Operation, Options, Pace, Report, Until, grouped};
use std::{
    fmt::Write,
    time::{Duration, Instant},
};

const TIMES: [f64; 6] = [1.0, 2.0, 3.0, 5.0, 7.0, 10.0];
const CONNECTIONS: usize = 50;
/// Pipeline of the closed loop that finds the capacity: deep enough that a server is never idle.
const PIPELINE: usize = 64;
/// Requests that may be due and not answered, over all connections. With their values they are more
/// bytes than a server's queues should hold, so that its bounds show.
const WAITING_MAX: usize = 500_000;
const VALUE_BYTES: usize = 150;
/// How many times the rate of the closed loop is offered to find the capacity. Deep queues make large batches, which
/// cost less each, so that more is done the more is offered, up to a bound.
const DROWNING: f64 = 5.0;
/// Runs that are not counted.
const WARM_UPS: usize = 3;
/// A queue of the log so short that a brick has to refuse, where the default of 64 MiB is so long that
/// TCP pushes back first.
const SHORT_QUEUE: &str = "1MiB";

/// One table of the section.
struct Work {
    title: &'static str,
    operation: Operation,
    durability: Durability,
    /// Brickyard's bound on bytes that wait for its log, where it is not the default.
    pending_append_bytes_max: Option<&'static str>,
}

const fn work(title: &'static str, operation: Operation, durability: Durability) -> Work {
    Work {
        title,
        operation,
        durability,
        pending_append_bytes_max: None,
    }
}

const WORK: [Work; 4] = [
    work("reads", Operation::Get, Durability::Memory),
    work("writes, log", Operation::Set, Durability::Log),
    work("writes, fsync", Operation::Set, Durability::Fsync),
    Work {
        pending_append_bytes_max: Some(SHORT_QUEUE),
        ..work(
            "writes, fsync, a short queue",
            Operation::Set,
            Durability::Fsync,
        )
    },
];

/// Measures reads, and writes at two durabilities, on every server that has them.
pub(crate) fn measure(campaign: &Campaign<'_>) -> anyhow::Result<String> {
    pin(CLIENT_CORE)?;
    let mut out = format!(
        "Open loop, Poisson arrivals, {CONNECTIONS} connections; at most {} requests are due \
         and not answered, further ones are not sent. Capacity is what \
         is done of {DROWNING:.0} times the rate of a closed loop ({CONNECTIONS} connections, pipeline {PIPELINE}), after \
         {WARM_UPS} such runs; a row is the median of {} runs, interleaved with the other rows and each time in another order; done/s \
         counts until the last reply. Stolen is the share of the time for which the host gave the server's core to \
         others; \"to 1x\" compares what was done in the rest. The short queue is {SHORT_QUEUE} of records that wait for the log.\n\n",
        grouped(WAITING_MAX as u64),
        campaign.effort.rounds,
    );
    let chosen = |found: &&Found| matches!(found.peer, Peer::Brickyard | Peer::Valkey);
    for found in campaign.found.iter().filter(chosen) {
        for work in &WORK {
            if work.pending_append_bytes_max.is_some() && found.peer != Peer::Brickyard {
                continue;
            }
            let (title, name) = (work.title, found.peer.name());
            eprintln!("overload: {name}, {title}");
            let words = found.peer.durability_word(work.durability);
            let _ = writeln!(out, "**{name}: {title}** ({words})\n");
            measure_one(&mut out, campaign, found, work)
                .with_context(|| format!("{name} under overload"))?;
        }
    }
    Ok(out)
}

fn measure_one(
    out: &mut String,
    campaign: &Campaign<'_>,
    found: &Found,
    work: &Work,
) -> anyhow::Result<()> {
    let setup = Setup {
        pending_append_bytes_max: work.pending_append_bytes_max,
        ..Setup::of(work.durability)
    };
    let process = Process::start(found, &setup, campaign.dir)?;
    let load = Load {
        keys: campaign.effort.keys.min(100_000),
        value_bytes: VALUE_BYTES,
        overwrites: 0,
    };
    let closed = Options {
        target: process.target.clone(),
        workload: workload(load, work.operation),
        pace: Pace::Closed { pipeline: PIPELINE },
        until: Until::Elapsed(campaign.effort.duration),
        warm_up: Duration::ZERO,
        connections: CONNECTIONS,
        threads: 1,
        seed: 1,
        drain_limit: Duration::from_secs(30),
    };
    process.run(&closed.filling())?;
    let open = |per_s: f64| Options {
        pace: Pace::Open {
            per_s,
            arrivals: Arrivals::Poisson,
            waiting_max: WAITING_MAX,
        },
        ..closed.clone()
    };
    // Memory, the log's first segments and the sizes of batches settle under load, not before it. And
    // what a server can do with a queue in front of it is asked by the load that makes one: a closed
    // loop keeps everything in the processor's caches, or never fills a batch.
    let closed_rate = process.run(&closed)?.count_per_s;
    let mut capacity = 0.0;
    for _ in 0..WARM_UPS {
        capacity = process.run(&open(closed_rate * DROWNING))?.count_per_s;
    }
    let mut rows: [Vec<Row>; TIMES.len()] = Default::default();
    for round in 0..campaign.effort.rounds {
        // Each round begins with another row: what one leaves behind (a log to be cleaned) the next has to bear.
        for at in (0..TIMES.len()).map(|at| (at + round) % TIMES.len()) {
            let (before, stolen_before, begin) = (process.cpu()?, stolen_s(), Instant::now());
            let report = process.run(&open(capacity * TIMES[at]))?;
            rows[at].push(Row {
                cpu_s: process.cpu()?.since(&before),
                stolen: (stolen_s() - stolen_before) / begin.elapsed().as_secs_f64(),
                resident_bytes: process.resident_bytes()?,
                report,
            });
        }
    }
    out.push_str(
        "| offered | offered/s | done/s | stolen | to 1x | refused | not sent | p50 ms | p99 ms | CPU us/op | user + system | RSS MB |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut first = None;
    for (mut row, times) in rows.into_iter().zip(TIMES) {
        row.sort_by(|a, b| a.own_per_s().total_cmp(&b.own_per_s()));
        let Some(median) = row.get(row.len() / 2) else {
            continue;
        };
        let base = *first.get_or_insert_with(|| median.own_per_s());
        write_row(out, times, base, median);
    }
    out.push('\n');
    Ok(())
}

/// One run at one offer.
struct Row {
    report: Report,
    /// The server's, user and system.
    cpu_s: (f64, f64),
    /// Share of the time for which the server's core was not this machine's.
    stolen: f64,
    resident_bytes: u64,
}

impl Row {
    /// Throughput in the time that the host left to the server's core.
    fn own_per_s(&self) -> f64 {
        self.report.count_per_s / (1.0 - self.stolen.clamp(0.0, 0.99))
    }
}

fn write_row(out: &mut String, times: f64, base: f64, row: &Row) {
    let Row {
        report,
        cpu_s: (user_s, system_s),
        stolen,
        resident_bytes,
    } = row;
    let us_each = |seconds: f64| seconds * 1e6 / report.count.max(1) as f64;
    let due = report.count + report.refused_count() + report.not_sent + report.unanswered;
    let share = |count: u64| format!("{:.0} %", count as f64 * 100.0 / due.max(1) as f64);
    let refused = if report.refused.is_empty() {
        "0".to_owned()
    } else {
        let kinds: Vec<String> = report
            .refused
            .iter()
            .map(|(kind, count)| format!("{} {kind} ({})", grouped(*count), share(*count)))
            .collect();
        kinds.join(", ")
    };
    let _ = writeln!(
        out,
        "| {times:.0}x | {} | {} | {:.0} % | {:.2} | {refused} | {} | {:.2} | {:.2} | {:.2} | {:.2} + {:.2} | {:.0} |",
        grouped(report.offered_per_s.unwrap_or(0.0) as u64),
        grouped(report.count_per_s as u64),
        stolen * 100.0,
        row.own_per_s() / base.max(1e-9),
        share(report.not_sent),
        report.latency.p50_us / 1e3,
        report.latency.p99_us / 1e3,
        us_each(user_s + system_s),
        us_each(*user_s),
        us_each(*system_s),
        *resident_bytes as f64 / 1e6,
    );
}
