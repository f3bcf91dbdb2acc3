//! Commands that look at the node: COMMAND, SLOWLOG, LATENCY, MEMORY, OBJECT HELP.

use crate::brick::Brick;
use crate::connection::ConnectionId;
use crate::stats::CommandStats;
use brickyard_command::request::{LatencyCommand, SlowlogCommand};
use brickyard_command::table::{COMMANDS, Spec};
use brickyard_command::{Args, CommandId, ErrorReply, describe, help};
use brickyard_wire::Reply;

impl Brick {
    pub(super) fn execute_inspect(
        &mut self,
        id: ConnectionId,
        spec: &'static Spec,
        args: &Args<'_>,
    ) {
        use CommandId as Id;
        let args = *args;
        match spec.id {
            Id::Slowlog | Id::SlowlogGet | Id::SlowlogHelp | Id::SlowlogLen | Id::SlowlogReset => {
                match SlowlogCommand::parse(spec.id, args) {
                    Ok(command) => self.slowlog(id, &command),
                    Err(error) => self.refuse(id, Some(spec), &error),
                }
            }
            Id::Latency
            | Id::LatencyHelp
            | Id::LatencyHistogram
            | Id::LatencyLatest
            | Id::LatencyReset => {
                self.latency(id, &LatencyCommand::parse(spec.id, args));
            }
            Id::MemoryHelp => self.reply(id, |reply| help("memory", reply)),
            Id::ObjectHelp => self.reply(id, |reply| help("object", reply)),
            _ if spec.name.starts_with("command") => {
                let mut refused = None;
                self.reply(id, |reply| refused = describe(spec.id, args, reply).err());
                if let Some(error) = refused {
                    self.refuse(id, Some(spec), &error);
                }
            }
            _ => {
                let error = ErrorReply::new(format!("ERR '{}' is not served here", spec.name));
                self.refuse(id, Some(spec), &error);
            }
        }
    }

    fn slowlog(&mut self, id: ConnectionId, command: &SlowlogCommand) {
        match command {
            SlowlogCommand::Help => self.reply(id, |reply| help("slowlog", reply)),
            SlowlogCommand::Len => {
                let len = self.meter.slowlog().len() as i64;
                self.reply(id, |reply| reply.integer(len));
            }
            SlowlogCommand::Reset => {
                self.meter.slowlog().clear();
                self.reply(id, |reply| reply.ok());
            }
            SlowlogCommand::Get(count) => {
                let count = count.and_then(|count| usize::try_from(count).ok());
                let entries = self
                    .meter
                    .slowlog()
                    .iter()
                    .take(count.unwrap_or(usize::MAX));
                let entries: Vec<_> = entries.cloned().collect();
                self.reply(id, |reply| {
                    reply.array(entries.len());
                    for entry in &entries {
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
                });
            }
        }
    }

    fn latency(&mut self, id: ConnectionId, command: &LatencyCommand<'_>) {
        match command {
            LatencyCommand::Help => self.reply(id, |reply| help("latency", reply)),
            // Spikes by event are Redis's monitor of itself; ours are the histograms.
            LatencyCommand::Latest => self.reply(id, |reply| reply.array(0)),
            LatencyCommand::Reset(_) => self.reply(id, |reply| reply.integer(0)),
            LatencyCommand::Histogram(names) => {
                let chosen: Vec<(&str, Histogram)> = COMMANDS
                    .iter()
                    .flat_map(|spec| std::iter::once(spec).chain(spec.subcommands))
                    .filter(|spec| names.is_empty() || is_named(spec, names))
                    .map(|spec| (spec.name, self.histogram(spec.id)))
                    .filter(|(_, histogram)| histogram.calls > 0)
                    .collect();
                self.reply(id, |reply| {
                    reply.map(chosen.len());
                    for (name, histogram) in &chosen {
                        reply.bulk(name.as_bytes());
                        histogram.render(reply);
                    }
                });
            }
        }
    }

    fn histogram(&self, command: CommandId) -> Histogram {
        let mut sum = Histogram::default();
        for stats in &self.core.shared.stats {
            if let Some(stats) = stats.commands_by_id.get(command as usize) {
                sum.add(stats);
            }
        }
        sum
    }
}

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
