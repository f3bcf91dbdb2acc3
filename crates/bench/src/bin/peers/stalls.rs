//! The longest that anybody waits while a log in its steady state is overwritten for minutes.
//!
//! In:  servers with a log like Brickyard's. Out: the tail of an open loop's latencies, and its end.
//!
//! The rate is one that all of them can serve, so that what waits does so for the server's own doings: cleaning or rewriting its log,
//! syncing it, growing its index. Latency counts from the moment at which a request was due.

use crate::{
    campaign::{Campaign, Load},
    peer::{Durability, Found},
    process::{CLIENT_CORE, pin},
    steady::OVERWRITES,
    tables::{PIPELINE_1, VALUE_BYTES, cell},
};
use brickyard_bench::{Arrivals, Operation, Pace, Report, grouped};
use std::fmt::Write;

const KEYS: u64 = 1_000_000;

/// Below half of what each does in a closed loop on one core (section `steady`), where cores are as fast as this page's.
const PER_S: f64 = 50_000.0;

/// Requests that may be due and not answered: four seconds' worth.
const WAITING_MAX: usize = 200_000;

/// Each server in turn, for as many rounds as are asked for.
pub(crate) fn measure(campaign: &Campaign<'_>) -> anyhow::Result<String> {
    pin(CLIENT_CORE)?;
    let load = Load {
        keys: KEYS.min(campaign.effort.keys),
        value_bytes: VALUE_BYTES,
        overwrites: OVERWRITES,
    };
    let cell = cell(Operation::Set, PIPELINE_1);
    let entrants: Vec<&Found> = (campaign.found.iter())
        .filter(|found| found.peer.is_durable())
        .collect();
    let mut servers = Vec::new();
    for found in &entrants {
        eprintln!("stalls: filling {}", found.peer.name());
        servers.push(
            campaign
                .start_filled_process(found, Durability::Log, load)?
                .0,
        );
    }
    let mut runs: Vec<Vec<(Report, f64)>> = entrants.iter().map(|_| Vec::new()).collect();
    for round in 1..=campaign.effort.rounds {
        for ((found, server), runs) in entrants.iter().zip(&servers).zip(&mut runs) {
            eprintln!("stalls: round {round}, {}", found.peer.name());
            let mut options = campaign.options(&server.target, load, cell);
            options.pace = Pace::Open {
                per_s: PER_S,
                arrivals: Arrivals::Poisson,
                waiting_max: WAITING_MAX,
            };
            let before = server.cpu()?;
            let report = server.run(&options)?;
            let (user_s, system_s) = server.cpu()?.since(&before);
            let cpu_us = (user_s + system_s) * 1e6 / report.count.max(1) as f64;
            runs.push((report, cpu_us));
        }
    }
    Ok(table(campaign, &entrants, &runs, load.keys))
}

fn table(
    campaign: &Campaign<'_>,
    entrants: &[&Found],
    runs: &[Vec<(Report, f64)>],
    keys: u64,
) -> String {
    let mut out = format!(
        "SET, {} keys, values of {VALUE_BYTES} bytes, each key written {OVERWRITES} times more before; {}/s offered over {} connections, Poisson \
         arrivals, to each server in turn: {} times {:.0} s. Percentiles are the median of the turns and the worst of them; *longest* is the \
         longest that any request of all turns waited.\n\n\
         | server | requests | CPU us/op | p50 us | p99 us | worst | p99.9 us | worst | longest ms | not sent |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
        grouped(keys),
        grouped(PER_S as u64),
        PIPELINE_1.1,
        campaign.effort.rounds,
        campaign.effort.duration.as_secs_f64(),
    );
    for (found, runs) in entrants.iter().zip(runs) {
        let sorted = |value: &dyn Fn(&(Report, f64)) -> f64| {
            let mut values: Vec<f64> = runs.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let median = |values: &[f64]| values.get(values.len() / 2).copied().unwrap_or_default();
        let last = |values: &[f64]| values.last().copied().unwrap_or_default();
        let p99 = sorted(&|run| run.0.latency.p99_us);
        let p999 = sorted(&|run| run.0.latency.p999_us);
        let _ = writeln!(
            out,
            "| {}, {} | {} | {:.2} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} | {} |",
            found.peer.name(),
            found.peer.durability_word(Durability::Log),
            grouped(runs.iter().map(|run| run.0.count).sum()),
            median(&sorted(&|run| run.1)),
            median(&sorted(&|run| run.0.latency.p50_us)),
            median(&p99),
            last(&p99),
            median(&p999),
            last(&p999),
            last(&sorted(&|run| run.0.latency.max_us)) / 1e3,
            grouped(runs.iter().map(|run| run.0.not_sent).sum()),
        );
    }
    out
}
