//! What each port answers to whom, and what it cost, on a page of docs.
//!
//! In:  a [`Plan`] and what came of it. Out: Markdown.

use super::answer::{Answer, Ending};
use super::campaign::StrangersResult;
use super::cluster::CLIENTS_BYTES;
use super::kind::Kind;
use super::plan::Plan;
use super::port::Port;
use brickyard_torture::Kind as Of;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// A shorter time is no matter of waiting.
const AT_ONCE: Duration = Duration::from_millis(1500);

const MIB: u64 = 1 << 20;

/// The whole page.
pub(super) fn page(plan: &Plan, result: &StrangersResult) -> String {
    let mut out = String::from("# Strangers\n");
    let _ = writeln!(
        out,
        "What each port answers to people who are not let in, and what they cost those who are. Written by\n\
         ```sh\ncargo run --release -p brickyard -- torture strangers --minutes {} --connections {} --page docs/strangers.md\n```\n\
         {} nodes of {} bricks on one machine with {} cores, with users, HTTP tokens, TLS for clients (`client_ca`) and mutual TLS between \
         nodes; {} laps in {:.0} s. In each lap one stranger of each kind came to each port of each node, while others held and made \
         connections, and eight clients that had signed in wrote and read.\n",
        (plan.time.as_secs_f64() / 60.0 * 100.0).round() / 100.0,
        plan.connections,
        plan.nodes,
        plan.bricks,
        std::thread::available_parallelism().map_or(0, usize::from),
        result.laps,
        result.took.as_secs_f64()
    );
    out += &verdict(result);
    out += "\n## What each port answers\n";
    let titles = Port::ALL.map(Port::title).join(" | ");
    let _ = writeln!(out, "| Stranger | {titles} |\n|---|---|---|---|---|");
    for kind in Kind::ALL {
        let cells = Port::ALL.map(|port| {
            let answers = result.answers.get(&(kind, port));
            cell(answers.map_or(&[][..], Vec::as_slice))
        });
        let _ = writeln!(out, "| {} | {} |", kind.title(), cells.join(" | "));
    }
    let _ = writeln!(
        out,
        "\n*Open*: it was after {} s, when the stranger went. Times are medians, and the longest where that is far above. What is said just \
         before the end may be lost: a port that is sent more than it reads ends the connection by a reset.\n",
        plan.patience.as_secs()
    );
    let seconds = Port::ALL.map(|port| {
        let seconds = port.closes_after().as_secs();
        format!("{}: {seconds} s", port.title())
    });
    let _ = writeln!(
        out,
        "A connection that does not come to speak is closed after a time ({}), and earlier where many are there: of those that have not said \
         who they are the port for nodes and HTTP have 256 connections each, clients' ports a quarter of `maxclients`' handshakes, and one more makes the oldest go. Whoever shows a client's \
         certificate is a client that has yet to sign in: it may stay, as pools do, and counts for `maxclients`; `idle_timeout` bounds that.",
        seconds.join(", ")
    );
    out += "\n## What it costs\n";
    out += &costs(result);
    out
}

fn verdict(result: &StrangersResult) -> String {
    if result.faults.is_empty() {
        "Every answer was one that it may be; users, tables, members and the contents of a table that nobody wrote to were the same \
         before and after; every history of the clients was linearizable.\n"
            .to_owned()
    } else {
        format!(
            "**WRONG: {} faults**, the first of them: {}\n",
            result.faults.len(),
            result.faults[0]
        )
    }
}

/// What was answered; several if there were several.
fn cell(answers: &[Answer]) -> String {
    let mut seen: BTreeMap<(&str, Ending), Vec<Duration>> = BTreeMap::new();
    for answer in answers {
        let of_one = seen.entry((&answer.said, answer.ending)).or_default();
        of_one.push(answer.after);
    }
    let mut seen: Vec<_> = seen.into_iter().collect();
    seen.sort_by_key(|(_, times)| std::cmp::Reverse(times.len()));
    let count = seen.len();
    let shown = seen.into_iter().map(|((said, ending), mut times)| {
        times.sort();
        let ending = match ending {
            Ending::NotTaken => "not taken".to_owned(),
            Ending::Open => "open".to_owned(),
            Ending::Closed => format!("closed{}", waited(&times)),
        };
        let said = if said.is_empty() {
            String::new()
        } else {
            format!("`{}`, ", said.replace('|', "\\|"))
        };
        let share = if count == 1 {
            String::new()
        } else {
            format!(" ({} of {})", times.len(), answers.len())
        };
        format!("{said}{ending}{share}")
    });
    shown.collect::<Vec<_>>().join("; ")
}

/// Of how long connections lasted, in order: the median, and the longest if it is far above.
fn waited(times: &[Duration]) -> String {
    let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
    let seconds = |time: Duration| time.as_secs_f64().round();
    let mut out = String::new();
    if median >= AT_ONCE {
        let _ = write!(out, " after {} s", seconds(median));
    }
    if longest > 2 * median.max(AT_ONCE) {
        let _ = write!(out, " (at most {} s)", seconds(longest));
    }
    out
}

fn costs(result: &StrangersResult) -> String {
    let mut out = String::new();
    let (made, failed, open) = result.crowd;
    let meetings: usize = result.answers.values().map(Vec::len).sum();
    let _ = writeln!(
        out,
        "{meetings} strangers of the table, and {made} connections beside them, of which {open} were open at once ({failed} were not taken).\n"
    );
    out += "| | load alone | with strangers |\n|---|---|---|\n";
    let [alone, with] = &result.served;
    for (of, title) in [(Of::Write, "writes"), (Of::Read, "reads")] {
        let [alone, with] = [alone, with].map(|it| {
            let all = it.percentiles(of);
            let all = all.map(|time| format!("{:.1}", time.as_secs_f64() * 1e3));
            all.join(" / ")
        });
        let _ = writeln!(
            out,
            "| {title}, ms: median / 99 % / 99.9 % / longest | {alone} | {with} |"
        );
    }
    let _ = writeln!(
        out,
        "| operations | {} | {} |\n| refused | {} | {} |\n| writes of unknown outcome | {} | {} |",
        alone.operations(),
        with.operations(),
        alone.refused,
        with.refused,
        alone.unknown,
        with.unknown
    );
    let probes = result.probes.map(|it| {
        format!(
            "{} of {}, {:.0} ms",
            it.answered,
            it.answered + it.failed,
            it.longest.as_secs_f64() * 1e3
        )
    });
    let _ = writeln!(
        out,
        "| probes of `/livez` that were answered within 5 s, the longest | {} | {} |",
        probes[0], probes[1]
    );
    for (number, [start, quiet, most]) in result.memory.iter().enumerate() {
        let _ = writeln!(
            out,
            "| most memory of node {number}, MiB ({} at the start; `maxmemory_clients` is {}) | {} | {} |",
            start / MIB,
            CLIENTS_BYTES / MIB,
            quiet / MIB,
            most / MIB
        );
    }
    let [before, after] = result.catalog_versions;
    let _ = writeln!(
        out,
        "| the catalog's version | {before} | {after} |\n| all nodes' logs, KiB | | {} |\n\
         | a node that is restarted, until all copies are in sync, s | | {:.1} |",
        result.logged >> 10,
        result.rejoined_after.as_secs_f64()
    );
    out
}
