//! The longest that anybody waits while a log in its steady state is overwritten for minutes.
//!
//! In:  servers with a log like Brickyard's. Out: the tail of an open loop's latencies, and its end.
//!
//! The rate is one that all of them can serve, so that what waits does so for the server's own doings: cleaning or rewriting its log,
//! syncing it, growing its index. Latency counts from the moment at which a request was due. Where the host takes the machine's cores away all
//! wait, whatever they do: so turns are short, and those in which that happened are told apart.

use crate::{
    campaign::{Campaign, Load},
    steady::OVERWRITES,
    tables::{PIPELINE_1, VALUE_BYTES, cell},
};
use brickyard_bench::peer::{Durability, Found};
use brickyard_bench::process::{CLIENT_CORE, pin, stolen_of_all_s};
use brickyard_bench::{Arrivals, Operation, Pace, Report, grouped};
use std::fmt::Write;

const KEYS: u64 = 1_000_000;

/// Below half of what each does in a closed loop on one core (section `steady`), where cores are as fast as this page's.
const PER_S: f64 = 50_000.0;

/// Requests that may be due and not answered: four seconds' worth.
const WAITING_MAX: usize = 200_000;

/// A turn is one in which the machine ran if the host took no more than this away: two ticks, which is how finely it is told.
const STOLEN_MAX_S: f64 = 0.02;

/// One server's turn.
struct Turn {
    report: Report,
    cpu_us: f64,
    /// For how long the host gave the machine's cores to others.
    stolen_s: f64,
}

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
    let mut runs: Vec<Vec<Turn>> = entrants.iter().map(|_| Vec::new()).collect();
    for round in 1..=campaign.effort.rounds {
        for ((found, server), runs) in entrants.iter().zip(&servers).zip(&mut runs) {
            eprintln!("stalls: round {round}, {}", found.peer.name());
            let mut options = campaign.options(&server.target, load, cell);
            options.pace = Pace::Open {
                per_s: PER_S,
                arrivals: Arrivals::Poisson,
                waiting_max: WAITING_MAX,
            };
            let (before, stolen_before) = (server.cpu()?, stolen_of_all_s());
            let report = server.run(&options)?;
            let (user_s, system_s) = server.cpu()?.since(&before);
            runs.push(Turn {
                cpu_us: (user_s + system_s) * 1e6 / report.count.max(1) as f64,
                stolen_s: stolen_of_all_s() - stolen_before,
                report,
            });
        }
    }
    Ok(table(campaign, &entrants, &runs, load.keys))
}

fn table(campaign: &Campaign<'_>, entrants: &[&Found], runs: &[Vec<Turn>], keys: u64) -> String {
    let mut out = format!(
        "SET, {} keys, values of {VALUE_BYTES} bytes, each key written {OVERWRITES} times more before; {}/s offered over {} connections, Poisson \
         arrivals, to each server in turn: {} times {:.0} s. Percentiles are the median of the turns and the worst of them; *longest* is the \
         longest that any request of all turns waited. The last columns leave out turns in which the host took more than {:.0} ms of \
         the machine's cores away.\n\n\
         | server | requests | CPU us/op | p50 us | p99 us | worst | p99.9 us | worst | longest ms | not sent | turns left | p99 us | worst | p99.9 us | worst | longest ms |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        grouped(keys),
        grouped(PER_S as u64),
        PIPELINE_1.1,
        campaign.effort.rounds,
        campaign.effort.duration.as_secs_f64(),
        STOLEN_MAX_S * 1e3,
    );
    for (found, turns) in entrants.iter().zip(runs) {
        let all: Vec<&Turn> = turns.iter().collect();
        let ran: Vec<&Turn> = (turns.iter())
            .filter(|turn| turn.stolen_s <= STOLEN_MAX_S)
            .collect();
        let _ = writeln!(
            out,
            "| {}, {} | {} | {:.2} | {:.0} | {} | {} | {} of {} | {} |",
            found.peer.name(),
            found.peer.durability_word(Durability::Log),
            grouped(turns.iter().map(|turn| turn.report.count).sum()),
            spread(&all, |turn| turn.cpu_us).0,
            spread(&all, |turn| turn.report.latency.p50_us).0,
            tail(&all),
            grouped(turns.iter().map(|turn| turn.report.not_sent).sum()),
            ran.len(),
            all.len(),
            tail(&ran),
        );
    }
    out
}

/// The median of the turns, and the worst.
fn spread(turns: &[&Turn], value: impl Fn(&Turn) -> f64) -> (f64, f64) {
    let mut values: Vec<f64> = turns.iter().map(|turn| value(turn)).collect();
    values.sort_by(f64::total_cmp);
    let median = values.get(values.len() / 2).copied();
    (
        median.unwrap_or_default(),
        values.last().copied().unwrap_or_default(),
    )
}

/// p99 and p99.9, each with the worst turn's, and the longest of all.
fn tail(turns: &[&Turn]) -> String {
    let p99 = spread(turns, |turn| turn.report.latency.p99_us);
    let p999 = spread(turns, |turn| turn.report.latency.p999_us);
    let longest_ms = spread(turns, |turn| turn.report.latency.max_us).1 / 1e3;
    format!(
        "{:.0} | {:.0} | {:.0} | {:.0} | {longest_ms:.1}",
        p99.0, p99.1, p999.0, p999.1
    )
}
