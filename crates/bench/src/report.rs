//! The result of a run, for people and for programs.
//!
//! In:  a [`Record`] and the time that it took. Out: [`Report`], as JSON (serde) or as a table
//! (`Display`).

use crate::{record::Record, workload::Operation};
use brickyard_client::LookupCounts;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::{collections::BTreeMap, fmt, time::Duration};

/// Share of one core above which a client is suspected of being the limit.
const CLIENT_BUSY: f64 = 0.85;

/// Latencies of the requests that succeeded, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Arithmetic mean.
    pub mean_us: f64,
    /// Half were faster.
    pub p50_us: f64,
    /// 90 % were faster.
    pub p90_us: f64,
    /// 99 % were faster.
    pub p99_us: f64,
    /// 99.9 % were faster.
    pub p999_us: f64,
    /// The slowest.
    pub max_us: f64,
}

impl Latency {
    fn of(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
        Self {
            mean_us: histogram.mean() / 1e3,
            p50_us: at(0.5),
            p90_us: at(0.9),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: histogram.max() as f64 / 1e3,
        }
    }
}

/// One kind of operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperationReport {
    /// `get` or `set`.
    pub operation: &'static str,
    /// How many succeeded.
    pub count: u64,
    /// How many of those found no value.
    pub misses: u64,
    /// How long they took.
    pub latency: Latency,
}

/// How keys were found, where not by the whole map alone; of all threads together, each of which is a client, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LookupReport {
    /// Calls whose brick the whole map told.
    pub direct: u64,
    /// Calls whose partition was remembered.
    pub cached: u64,
    /// Lookups that began near.
    pub near: u64,
    /// Lookups that began anywhere.
    pub random: u64,
    /// Hops of all lookups.
    pub hops: u64,
    /// Questions that bricks were asked.
    pub questions: u64,
    /// Calls that were sent elsewhere.
    pub misses: u64,
    /// Lookups that came to nothing.
    pub failed: u64,
    /// Partitions that the client with most of them remembered at the end.
    pub leaves: usize,
    /// Bytes of what the client that knew most knew of the map at the end.
    pub map_bytes: usize,
}

impl LookupReport {
    pub(crate) const fn of(counts: &LookupCounts) -> Self {
        Self {
            direct: counts.direct,
            cached: counts.cached,
            near: counts.near,
            random: counts.random,
            hops: counts.hops,
            questions: counts.questions,
            misses: counts.misses,
            failed: counts.failed,
            leaves: counts.leaves,
            map_bytes: counts.map_bytes,
        }
    }

    pub(crate) fn merge(self, other: &Self) -> Self {
        Self {
            direct: self.direct + other.direct,
            cached: self.cached + other.cached,
            near: self.near + other.near,
            random: self.random + other.random,
            hops: self.hops + other.hops,
            questions: self.questions + other.questions,
            misses: self.misses + other.misses,
            failed: self.failed + other.failed,
            leaves: self.leaves.max(other.leaves),
            map_bytes: self.map_bytes.max(other.map_bytes),
        }
    }
}

impl fmt::Display for LookupReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lookups = self.near + self.random;
        let each = |count: u64| count as f64 / lookups.max(1) as f64;
        writeln!(
            f,
            "keys found by the whole map: {}; by {} remembered partitions: {}; asked for, from near: {}, from anywhere: {}; \
             {:.2} hops and {:.2} questions each; sent elsewhere: {}; in vain: {}; {} bytes of the map known",
            grouped(self.direct),
            grouped(self.leaves as u64),
            grouped(self.cached),
            grouped(self.near),
            grouped(self.random),
            each(self.hops),
            each(self.questions),
            grouped(self.misses),
            grouped(self.failed),
            grouped(self.map_bytes as u64)
        )
    }
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Measured time, warm-up excluded, in seconds.
    pub elapsed_s: f64,
    /// Requests a second that were asked for; `null` in a closed loop.
    pub offered_per_s: Option<f64>,
    /// Requests that succeeded.
    pub count: u64,
    /// Requests that succeeded, a second.
    pub count_per_s: f64,
    /// Latencies of all that succeeded.
    pub latency: Latency,
    /// The same by kind of operation; kinds that did not occur are left out.
    pub operations: Vec<OperationReport>,
    /// Error replies, by their first word.
    pub refused: BTreeMap<String, u64>,
    /// Requests that were sent but not answered: connections that broke, or replies that did not
    /// come before the end of the run.
    pub unanswered: u64,
    /// Requests of an open loop that were due while too many others were already waiting.
    pub not_sent: u64,
    /// Bytes sent, warm-up included.
    pub bytes_sent: u64,
    /// Bytes received, warm-up included.
    pub bytes_received: u64,
    /// Processor time of the generator for one request that succeeded, in microseconds: when it
    /// is near the time between requests, the generator is the limit and not the server.
    pub client_cpu_us: f64,
    /// How keys were found, if not by the whole map alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lookups: Option<LookupReport>,
}

impl Report {
    pub(crate) fn new(
        record: &Record,
        elapsed: Duration,
        offered_per_s: Option<f64>,
        client_cpu: Duration,
    ) -> Self {
        let mut all = record.operations[0].latency_ns.clone();
        #[expect(
            clippy::expect_used,
            reason = "both were made by Record::new(), equal bounds"
        )]
        all.add(&record.operations[1].latency_ns)
            .expect("equal bounds");
        let count = all.len();
        let elapsed_s = elapsed.as_secs_f64();
        let operations = Operation::ALL
            .iter()
            .zip(&record.operations)
            .filter(|(_, counted)| !counted.latency_ns.is_empty())
            .map(|(operation, counted)| OperationReport {
                operation: operation.name(),
                count: counted.latency_ns.len(),
                misses: counted.misses,
                latency: Latency::of(&counted.latency_ns),
            })
            .collect();
        Self {
            elapsed_s,
            offered_per_s,
            count,
            count_per_s: if elapsed_s > 0.0 {
                count as f64 / elapsed_s
            } else {
                0.0
            },
            latency: Latency::of(&all),
            operations,
            refused: record.refused.clone(),
            unanswered: record.unanswered,
            not_sent: record.not_sent,
            bytes_sent: record.bytes_sent,
            bytes_received: record.bytes_received,
            client_cpu_us: client_cpu.as_secs_f64() * 1e6 / count.max(1) as f64,
            lookups: None,
        }
    }

    /// How many requests were answered with an error.
    #[must_use]
    pub fn refused_count(&self) -> u64 {
        self.refused.values().sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requests in {:.2} s: {}/s",
            grouped(self.count),
            self.elapsed_s,
            grouped(self.count_per_s.round() as u64)
        )?;
        if let Some(offered) = self.offered_per_s {
            write!(f, " of {}/s offered", grouped(offered.round() as u64))?;
        }
        writeln!(f, "; {:.2} us of client processor each", self.client_cpu_us)?;
        writeln!(
            f,
            "\n{:<10}{:>14}{:>12}{:>11}{:>11}{:>11}{:>11}{:>11}",
            "latency us", "requests", "mean", "p50", "p90", "p99", "p99.9", "max"
        )?;
        for row in &self.operations {
            write_row(f, row.operation, row.count, &row.latency)?;
        }
        if self.operations.len() != 1 {
            write_row(f, "all", self.count, &self.latency)?;
        }
        for row in self.operations.iter().filter(|row| row.misses > 0) {
            writeln!(
                f,
                "{}: {} found no value",
                row.operation,
                grouped(row.misses)
            )?;
        }
        if let Some(lookups) = &self.lookups {
            write!(f, "{lookups}")?;
        }
        for (kind, count) in &self.refused {
            writeln!(f, "refused by the server, {kind}: {}", grouped(*count))?;
        }
        if self.unanswered > 0 {
            writeln!(f, "unanswered: {}", grouped(self.unanswered))?;
        }
        // A client in an open loop always spins, so its use of its core says nothing.
        let busy = self.client_cpu_us * self.count_per_s / 1e6;
        if self.offered_per_s.is_none() && busy > CLIENT_BUSY {
            writeln!(
                f,
                "the client was busy for {:.0} % of the time: it may be the limit, not the server",
                busy * 100.0
            )?;
        }
        if self.not_sent > 0 {
            writeln!(
                f,
                "not sent, too many were waiting: {}",
                grouped(self.not_sent)
            )?;
        }
        Ok(())
    }
}

fn write_row(f: &mut fmt::Formatter<'_>, name: &str, count: u64, latency: &Latency) -> fmt::Result {
    writeln!(
        f,
        "{name:<10}{:>14}{:>12.1}{:>11.1}{:>11.1}{:>11.1}{:>11.1}{:>11.1}",
        grouped(count),
        latency.mean_us,
        latency.p50_us,
        latency.p90_us,
        latency.p99_us,
        latency.p999_us,
        latency.max_us
    )
}

/// `1234567` as `1,234,567`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
#[path = "report_test.rs"]
mod report_test;
