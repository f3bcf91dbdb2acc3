//! A campaign on one page: an HTML file that needs no other.
//!
//! In:  a [`Plan`] and what came of it. Out: text.

use super::plan::{PATIENCE, Plan};
use super::round::{Longest, Round};
use brickyard_torture::Failure;
use brickyard_torture::{Mark, Sample, plot};
use std::fmt::{self, Write as _};
use std::time::Duration;

/// Points that the picture has at most.
const POINTS: usize = 400;

/// Rounds that are listed one by one.
const ROUNDS_LISTED: usize = 100;

/// Failures that are marked in the picture; more could not be read.
const MARKS: usize = 12;

const STYLE: &str = "body{font-family:sans-serif;max-width:60rem;margin:2rem auto;color:#222}\
table{border-collapse:collapse;margin:1rem 0}td,th{border-bottom:1px solid #ddd;padding:.3rem .7rem;text-align:right}\
td:first-child,th:first-child{text-align:left}.good{color:#176b2c}.bad{color:#a11}\
pre{background:#f5f5f5;padding:1rem;overflow:auto}";

/// What came of a campaign.
#[derive(Debug, Default)]
pub(super) struct CampaignResult {
    pub(super) rounds: Vec<Round>,
    pub(super) took: Duration,
}

impl CampaignResult {
    pub(super) fn is_good(&self) -> bool {
        self.rounds.iter().all(|round| round.checked.is_ok())
    }

    fn operations(&self) -> usize {
        let checked = self
            .rounds
            .iter()
            .filter_map(|round| round.checked.as_ref().ok());
        checked.map(|checked| checked.operations).sum()
    }

    fn violation(&self) -> Option<(usize, &Round, &str)> {
        let mut rounds = self.rounds.iter().enumerate();
        rounds.find_map(|(at, round)| Some((at, round, round.checked.as_ref().err()?.as_str())))
    }

    fn verdict(&self) -> String {
        match self.violation() {
            None => format!(
                "Nothing was lost and nothing was stale: {} failures, {} operations, every history linearizable.",
                self.rounds.len(),
                self.operations()
            ),
            Some((at, round, _)) => format!(
                "NOT LINEARIZABLE: round {at}, {}, after {} rounds in which nothing was wrong.",
                round.kind.title(),
                at
            ),
        }
    }
}

/// All rounds of one kind.
struct Row {
    kind: Failure,
    rounds: usize,
    operations: usize,
    unknown: usize,
    bad: usize,
    write_wait: Spread,
    read_wait: Spread,
    quiet_read_wait: Spread,
    whole_after: Spread,
}

/// Of all rounds of a kind.
#[derive(Clone, Copy, Default)]
struct Spread {
    median: Duration,
    worst: Duration,
}

impl Spread {
    fn of(all: impl Iterator<Item = Duration>) -> Self {
        let mut all: Vec<Duration> = all.collect();
        all.sort();
        Self {
            median: all.get(all.len() / 2).copied().unwrap_or_default(),
            worst: all.last().copied().unwrap_or_default(),
        }
    }
}

/// Milliseconds: the median and the worst.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!(
            "{} / {}",
            self.median.as_millis(),
            self.worst.as_millis()
        ))
    }
}

/// Milliseconds, and how many after the failure began it did; then what was told to who was refused.
impl fmt::Display for Longest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (took, begun) = (self.took.as_millis(), self.begun.as_millis());
        write!(f, "{took} ms from {begun}")?;
        match self.failed {
            0 => Ok(()),
            failed => write!(f, "; {failed} attempts failed, the last: {}", self.told),
        }
    }
}

fn rows(result: &CampaignResult) -> Vec<Row> {
    let row = |kind: Failure| {
        let rounds = || result.rounds.iter().filter(move |round| round.kind == kind);
        let checked = || rounds().filter_map(|round| round.checked.as_ref().ok());
        let spread = |of: fn(&Round) -> Duration| Spread::of(rounds().map(of));
        Row {
            kind,
            rounds: rounds().count(),
            operations: checked().map(|it| it.operations).sum(),
            unknown: checked().map(|it| it.unknown).sum(),
            bad: rounds().count() - checked().count(),
            write_wait: spread(|round| round.write_wait.took),
            read_wait: spread(|round| round.read_wait.took),
            quiet_read_wait: spread(|round| round.quiet_read_wait.took),
            whole_after: spread(|round| round.whole_after),
        }
    };
    let rows = Failure::ALL.into_iter().map(row);
    rows.filter(|row| row.rounds > 0).collect()
}

/// For the terminal.
pub(super) fn summary(result: &CampaignResult) -> String {
    let mut out = format!("{}\n\n", result.verdict());
    let _ = writeln!(
        out,
        "{:<38} {:>6} {:>10} {:>7} {:>13} {:>13} {:>13} {:>13}",
        "failure",
        "rounds",
        "operations",
        "unknown",
        "write ms",
        "read ms",
        "quiet read ms",
        "whole ms"
    );
    for row in rows(result) {
        let _ = writeln!(
            out,
            "{:<38} {:>6} {:>10} {:>7} {:>13} {:>13} {:>13} {:>13}",
            row.kind.title(),
            row.rounds,
            row.operations,
            row.unknown,
            row.write_wait,
            row.read_wait,
            row.quiet_read_wait,
            row.whole_after
        );
    }
    let _ = writeln!(
        out,
        "\nWaits: the longest of a round, the median and the worst of all rounds. Quiet: no write of the key was under way."
    );
    if let Some((_, _, violation)) = result.violation() {
        let _ = writeln!(out, "\n{violation}");
    }
    out.push('\n');
    out
}

/// The whole page.
pub(super) fn page(plan: &Plan, result: &CampaignResult) -> String {
    let class = if result.is_good() { "good" } else { "bad" };
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Brickyard torture</title>\
         <style>{STYLE}</style></head><body>\n<h1>Torture</h1>\n<p class=\"{class}\"><strong>{}</strong></p>\n",
        escaped(&result.verdict())
    );
    let _ = writeln!(
        out,
        "<p>Brickyard {}, {} nodes of {} bricks on one machine with {} cores; a table with {} replicas, durability <code>{}</code> and {} records that nobody writes to; \
         eight clients through the client library, each of which gives a connection up that is silent for {} s, reads from any replica; {:.0} s in all.</p>",
        env!("CARGO_PKG_VERSION"),
        plan.nodes,
        plan.bricks,
        std::thread::available_parallelism().map_or(0, usize::from),
        plan.replicas,
        plan.durability.word(),
        plan.records,
        plan.patience.as_secs_f64(),
        result.took.as_secs_f64()
    );
    out += "<table><tr><th>failure</th><th>rounds</th><th>operations</th><th>unknown</th><th>lost or stale</th>\
            <th>longest write, ms</th><th>longest read, ms</th><th>of keys not written to, ms</th><th>whole after, ms</th></tr>\n";
    for row in rows(result) {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            row.kind.title(),
            row.rounds,
            row.operations,
            row.unknown,
            row.bad,
            row.write_wait,
            row.read_wait,
            row.quiet_read_wait,
            row.whole_after
        );
    }
    out += "</table>\n<p>Of the longest waits of each round the median and the worst are shown, all attempts together. <em>Unknown</em>: writes of which nobody was told whether they \
            were executed; the checker allows both. <em>Whole</em>: every partition has all its replicas in sync \
            again, counted from the end of the failure.</p>\n";
    let (samples, marks) = timeline(result);
    if !samples.is_empty() {
        out += &plot("Operations a second, and failures", &samples, &marks);
    }
    if let Some((at, _, violation)) = result.violation() {
        let _ = writeln!(
            out,
            "<h2>Round {at}</h2>\n<pre>{}</pre>\n<p>All of its operations are in <code>round{at}.history</code>, beside \
             the nodes' logs and data.</p>",
            escaped(violation)
        );
    }
    out += "<h2>Rounds</h2>\n<table><tr><th>failure</th><th>node</th><th>operations</th><th>longest write</th>\
            <th>longest read</th><th>of keys not written to</th><th>whole after</th></tr>\n";
    for round in result.rounds.iter().take(ROUNDS_LISTED) {
        let node = round
            .node
            .map_or_else(|| "all".to_owned(), |node| node.to_string());
        let operations = round
            .checked
            .as_ref()
            .map_or(0, |checked| checked.operations);
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{node}</td><td>{operations}</td><td>{}</td><td>{}</td><td>{}</td><td>{} ms</td></tr>",
            round.kind.title(),
            escaped(&round.write_wait.to_string()),
            escaped(&round.read_wait.to_string()),
            escaped(&round.quiet_read_wait.to_string()),
            round.whole_after.as_millis()
        );
    }
    out += "</table>\n";
    if result.rounds.len() > ROUNDS_LISTED {
        let _ = writeln!(
            out,
            "<p>And {} more.</p>",
            result.rounds.len() - ROUNDS_LISTED
        );
    }
    let _ = writeln!(
        out,
        "<p>The same failures in the same order: <code>{}</code></p>\n</body></html>",
        escaped(&command(plan, result))
    );
    out
}

/// What makes the same failures.
fn command(plan: &Plan, result: &CampaignResult) -> String {
    let mut out = format!(
        "brickyard torture --seed {} --rounds {} --nodes {} --bricks {} --replicas {} --durability {}",
        plan.seed,
        result.rounds.len(),
        plan.nodes,
        plan.bricks,
        plan.replicas,
        plan.durability.word()
    );
    if plan.records > 0 {
        let _ = write!(out, " --records {}", plan.records);
    }
    if plan.patience != PATIENCE {
        let _ = write!(out, " --patience {}", plan.patience.as_secs_f64());
    }
    if plan.kinds != Failure::ALL {
        let words: Vec<String> = plan
            .kinds
            .iter()
            .filter_map(clap::ValueEnum::to_possible_value)
            .map(|value| value.get_name().to_owned())
            .collect();
        let _ = write!(out, " --only {}", words.join(","));
    }
    out
}

/// Throughput of all rounds, one behind the other.
fn timeline(result: &CampaignResult) -> (Vec<Sample>, Vec<Mark>) {
    let mut samples: Vec<Sample> = Vec::new();
    let mut marks = Vec::new();
    let mut offset = 0.0;
    for round in &result.rounds {
        if result.rounds.len() <= MARKS {
            marks.push(Mark {
                at: offset + round.began.as_secs_f64(),
                text: round.kind.title().to_owned(),
            });
        }
        let moved = round.samples.iter().map(|sample| Sample {
            at: offset + sample.at,
            ..*sample
        });
        samples.extend(moved);
        offset = samples.last().map_or(offset, |sample| sample.at);
    }
    (thinned(samples), marks)
}

/// Means of neighbours, so that a page stays a page.
fn thinned(samples: Vec<Sample>) -> Vec<Sample> {
    let together = samples.len().div_ceil(POINTS).max(1);
    let mean = |chunk: &[Sample]| {
        let of = |get: fn(&Sample) -> f64| {
            chunk.iter().map(get).sum::<f64>() / chunk.len().max(1) as f64
        };
        Sample {
            at: of(|it| it.at),
            reads: of(|it| it.reads),
            writes: of(|it| it.writes),
        }
    };
    samples.chunks(together).map(mean).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
#[path = "report_test.rs"]
mod report_test;
