//! Commands that look at the node: COMMAND, SLOWLOG, LATENCY, OBJECT HELP.

use crate::slowlog::Slowlog;
use crate::stats::{CommandStats, Stats};
use brickyard_command::request::{LatencyCommand, SlowlogCommand};
use brickyard_command::table::{COMMANDS, Spec};
use brickyard_command::{Args, CommandId, ErrorReply, describe, help};
use brickyard_wire::Reply;

/// Answers such a command; `all` are the figures of the node's bricks.
pub(super) fn inspect(
    all: &[Stats],
    slowlog: &mut Slowlog,
    spec: &'static Spec,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Result<(), ErrorReply> {
    use CommandId as Id;
    match spec.id {
        Id::Slowlog | Id::SlowlogGet | Id::SlowlogHelp | Id::SlowlogLen | Id::SlowlogReset => {
            show_slowlog(slowlog, &SlowlogCommand::parse(spec.id, args)?, reply);
        }
        Id::Latency
        | Id::LatencyDoctor
        | Id::LatencyGraph
        | Id::LatencyHelp
        | Id::LatencyHistogram
        | Id::LatencyHistory
        | Id::LatencyLatest
        | Id::LatencyReset => {
            show_latency(all, &LatencyCommand::parse(spec.id, args), reply);
        }
        Id::ObjectHelp => help("object", reply),
        _ if spec.name.starts_with("command") => describe(spec.id, args, reply)?,
        _ => {
            let text = format!("ERR '{}' is not served here", spec.name);
            return Err(ErrorReply::new(text));
        }
    }
    Ok(())
}

fn show_slowlog(slowlog: &mut Slowlog, command: &SlowlogCommand, reply: &mut Reply<'_>) {
    match command {
        SlowlogCommand::Help => help("slowlog", reply),
        SlowlogCommand::Len => reply.integer(slowlog.len() as i64),
        SlowlogCommand::Reset => {
            slowlog.clear();
            reply.ok();
        }
        SlowlogCommand::Get(count) => {
            let count = count.and_then(|count| usize::try_from(count).ok());
            let count = count.unwrap_or(usize::MAX).min(slowlog.len());
            reply.array(count);
            for entry in slowlog.iter().take(count) {
                reply.array(6);
                reply.integer(entry.id as i64);
                reply.integer((entry.at.0 / 1000) as i64);
                reply.integer(entry.microseconds as i64);
                reply.array(entry.arguments.len());
                for argument in &entry.arguments {
                    reply.bulk(argument);
                }
                reply.bulk(entry.client.as_bytes());
                reply.bulk(entry.client_name.as_bytes());
            }
        }
    }
}

fn show_latency(all: &[Stats], command: &LatencyCommand<'_>, reply: &mut Reply<'_>) {
    match command {
        LatencyCommand::Help => help("latency", reply),
        // Spikes by event are Redis's monitor of itself; ours are the histograms.
        LatencyCommand::Latest | LatencyCommand::History => reply.array(0),
        LatencyCommand::Doctor => reply.verbatim("txt", DOCTOR.as_bytes()),
        LatencyCommand::Graph(event) => {
            let text = [b"ERR No samples available for event '", *event, b"'"].concat();
            reply.error_bytes(&text);
        }
        LatencyCommand::Reset(_) => reply.integer(0),
        LatencyCommand::Histogram(names) => {
            let chosen: Vec<(&str, Histogram)> = COMMANDS
                .iter()
                .flat_map(|spec| std::iter::once(spec).chain(spec.subcommands))
                .filter(|spec| names.is_empty() || is_named(spec, names))
                .map(|spec| (spec.name, Histogram::of(all, spec.id)))
                .filter(|(_, histogram)| histogram.calls > 0)
                .collect();
            reply.map(chosen.len());
            for (name, histogram) in &chosen {
                reply.bulk(name.as_bytes());
                histogram.render(reply);
            }
        }
    }
}

const DOCTOR: &str = "No spikes are kept by event. LATENCY HISTOGRAM has how long each command took, SLOWLOG GET which were slow, \
and the node's /metrics what disks, replicas and other nodes took.\n";

fn is_named(spec: &Spec, names: &[&[u8]]) -> bool {
    names.iter().any(|name| {
        spec.name.as_bytes().eq_ignore_ascii_case(name)
            || spec
                .name
                .split('|')
                .next()
                .is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(name))
    })
}

/// Calls of one command by duration, over all bricks.
#[derive(Debug, Default)]
struct Histogram {
    calls: u64,
    /// (upper bound in microseconds, calls up to it)
    buckets: Vec<(u64, u64)>,
}

impl Histogram {
    fn of(all: &[Stats], command: CommandId) -> Self {
        let mut sum = Self::default();
        for stats in all {
            if let Some(stats) = stats.commands_by_id.get(command as usize) {
                sum.add(stats);
            }
        }
        sum
    }

    fn add(&mut self, stats: &CommandStats) {
        self.buckets.resize(stats.latency.len(), (0, 0));
        for (at, (counter, bucket)) in stats.latency.iter().zip(&mut self.buckets).enumerate() {
            *bucket = (1 << at, bucket.1 + counter.value());
        }
        self.calls = self.buckets.iter().map(|(_, count)| count).sum();
    }

    fn render(&self, reply: &mut Reply<'_>) {
        let mut cumulative = 0;
        let mut shown = Vec::new();
        for (bound, count) in &self.buckets {
            cumulative += count;
            if *count > 0 {
                shown.push((*bound, cumulative));
            }
        }
        reply.map(2);
        reply.bulk(b"calls");
        reply.integer(self.calls as i64);
        reply.bulk(b"histogram_usec");
        reply.map(shown.len());
        for (bound, count) in shown {
            reply.integer(bound as i64);
            reply.integer(count as i64);
        }
    }
}

#[cfg(test)]
#[path = "inspect_test.rs"]
mod inspect_test;
