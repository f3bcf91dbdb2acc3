//! What happened to the requests of a run: counts, latencies, errors by kind.
//!
//! In:  one call for every reply. Out: a [`Report`](crate::report::Report) at the end.
//!
//! Invariant: a request is counted in exactly one of: succeeded (with its latency), refused (by
//! kind), unanswered, or not counted at all because it was meant for the warm-up.

use crate::{
    reply::{Outcome, error_kind},
    workload::Operation,
};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Longest latency that is told apart from longer ones, in nanoseconds: one hour.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;
/// Shortest difference that is told apart, in nanoseconds.
const LATENCY_NS_STEP: u64 = 100;
/// Three significant digits: at worst 0.1 % off.
const LATENCY_DIGITS: u8 = 3;

/// Counts of one kind of operation.
#[derive(Clone, Debug)]
pub(crate) struct OperationRecord {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) latency_ns: Histogram<u64>,
}

impl OperationRecord {
    fn new() -> Self {
        #[expect(
            clippy::expect_used,
            reason = "constant bounds, and every test makes one"
        )]
        let latency_ns =
            Histogram::new_with_bounds(LATENCY_NS_STEP, LATENCY_NS_MAX, LATENCY_DIGITS)
                .expect("the bounds are constants that the histogram accepts");
        Self {
            hits: 0,
            misses: 0,
            latency_ns,
        }
    }
}

/// Everything that was counted by one generator, or by several after [`Record::merge`].
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// One for each of [`Operation::ALL`].
    pub(crate) operations: [OperationRecord; 2],
    pub(crate) refused: BTreeMap<String, u64>,
    pub(crate) unanswered: u64,
    pub(crate) not_sent: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
}

impl Record {
    pub(crate) fn new() -> Self {
        Self {
            operations: [OperationRecord::new(), OperationRecord::new()],
            refused: BTreeMap::new(),
            unanswered: 0,
            not_sent: 0,
            bytes_sent: 0,
            bytes_received: 0,
        }
    }

    /// Counts `count` requests that succeeded with the same latency.
    pub(crate) fn succeeded(
        &mut self,
        operation: Operation,
        outcome: Outcome,
        latency_ns: u64,
        count: u64,
    ) {
        let record = &mut self.operations[operation as usize];
        match outcome {
            Outcome::Miss => record.misses += count,
            _ => record.hits += count,
        }
        record.latency_ns.saturating_record_n(latency_ns, count);
    }

    /// Counts one request that was answered with an error.
    pub(crate) fn refused(&mut self, reply: &[u8]) {
        *self.refused.entry(error_kind(reply)).or_default() += 1;
    }

    /// Counts one request that was refused with an error of this kind.
    pub(crate) fn refused_as(&mut self, kind: &str) {
        *self.refused.entry(kind.to_owned()).or_default() += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.operations.iter_mut().zip(&other.operations) {
            mine.hits += theirs.hits;
            mine.misses += theirs.misses;
            #[expect(
                clippy::expect_used,
                reason = "both were made by new(), with equal bounds"
            )]
            mine.latency_ns
                .add(&theirs.latency_ns)
                .expect("equal bounds");
        }
        for (kind, count) in &other.refused {
            *self.refused.entry(kind.clone()).or_default() += count;
        }
        self.unanswered += other.unanswered;
        self.not_sent += other.not_sent;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
    }
}
