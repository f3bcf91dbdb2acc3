//! What a load's clients saw.

use brickyard_client::LookupCounts;
use brickyard_history::{Bytes, CheckedHistory, Nanos, Operation, Outcome, Violation, check};
use std::collections::HashMap;

/// By then a read should be answered by some healthy copy. A write that begins before that may reach the copy first.
const SOON: Nanos = 200_000_000;

/// Reads and writes, which have different promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something that changes nothing.
    Read = 0,
    /// Everything else.
    Write = 1,
}

/// How long somebody waited for something to succeed, all attempts together.
#[derive(Clone, Debug)]
pub struct Wait {
    /// For what.
    pub kind: Kind,
    /// Of which key.
    pub key: Bytes,
    /// From when.
    pub called: Nanos,
    /// Until when.
    pub returned: Nanos,
    /// Attempts that failed.
    pub failed: u32,
    /// What the last one of them was told.
    pub told: String,
}

impl Wait {
    /// How long it was.
    #[must_use]
    pub const fn took(&self) -> Nanos {
        self.returned - self.called
    }
}

/// What was done in a piece of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Its middle, in seconds since the load began.
    pub at: f64,
    /// Reads a second.
    pub reads: f64,
    /// Writes a second.
    pub writes: f64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Recording {
    /// Every operation, in the order of the calls.
    pub operations: Vec<Operation>,
    /// Every wait that ended well, in the order of the calls.
    pub waits: Vec<Wait>,
    /// Attempts that were refused or not answered, and known not to have been executed.
    pub refused: u64,
    /// Reads that were answered from a client's memory.
    pub kept: u64,
    /// What became of the lookups of the clients that do not hold the whole map, one after the other.
    pub lookups: Vec<LookupCounts>,
}

impl Recording {
    pub(crate) fn add(&mut self, other: Self) {
        self.operations.extend(other.operations);
        self.waits.extend(other.waits);
        self.refused += other.refused;
    }

    pub(crate) fn sort(&mut self) {
        self.operations.sort_by_key(|it| it.called);
        self.waits.sort_by_key(|it| it.called);
    }

    /// Whether one table, one operation at a time, could have answered so.
    ///
    /// # Errors
    /// The first violation, if not: something acknowledged was lost, a read was stale, a write happened twice.
    pub fn check(&self) -> Result<CheckedHistory, Violation> {
        check(&self.operations, |_| None)
    }

    /// How long the longest wait took for something of a kind that was under way at some time between the two.
    #[must_use]
    pub fn longest(&self, kind: Kind, from: Nanos, to: Nanos) -> Nanos {
        self.longest_wait(kind, from, to).map_or(0, Wait::took)
    }

    /// The longest wait for something of a kind that was under way at some time between the two.
    #[must_use]
    pub fn longest_wait(&self, kind: Kind, from: Nanos, to: Nanos) -> Option<&Wait> {
        let waits = self.waits.iter().filter(|wait| wait.kind == kind);
        waits
            .filter(|wait| wait.called <= to && wait.returned >= from)
            .max_by_key(|wait| wait.took())
    }

    /// The longest wait for a read that was under way at some time between the two, of a key on which no write was under
    /// way when the read began, or [`SOON`] after. The others may have to wait for the outcome of that write.
    #[must_use]
    pub fn longest_undisturbed(&self, from: Nanos, to: Nanos) -> Option<&Wait> {
        let mut writes: HashMap<&[u8], Vec<(Nanos, Nanos)>> = HashMap::new();
        for operation in self.operations.iter().filter(|it| !it.action.is_read()) {
            // What became of it nobody knows: it may be under way for as long as anybody waits.
            let is_open = operation.outcome == Outcome::Unknown;
            let end = if is_open { to } else { operation.returned };
            let of_key = writes.entry(&operation.key).or_default();
            of_key.push((operation.called, end));
        }
        let is_disturbed = |wait: &Wait| {
            let of_key = writes.get(&*wait.key);
            of_key.is_some_and(|it| {
                let mut under_way = it.iter();
                let until = wait.returned.min(wait.called + SOON);
                under_way.any(|(called, end)| *called <= until && wait.called <= *end)
            })
        };
        let waits = self.waits.iter().filter(|wait| wait.kind == Kind::Read);
        waits
            .filter(|wait| wait.called <= to && wait.returned >= from && !is_disturbed(wait))
            .max_by_key(|wait| wait.took())
    }

    /// Throughput over time, in pieces of so many nanoseconds.
    #[must_use]
    pub fn samples(&self, piece: Nanos) -> Vec<Sample> {
        let last = self.waits.iter().map(|wait| wait.returned).max();
        let count = (last.unwrap_or(0) / piece) as usize;
        let seconds = piece as f64 / 1e9;
        let mut samples: Vec<Sample> = (0..count)
            .map(|at| Sample {
                at: (at as f64 + 0.5) * seconds,
                ..Sample::default()
            })
            .collect();
        for wait in &self.waits {
            if let Some(sample) = samples.get_mut((wait.returned / piece) as usize) {
                match wait.kind {
                    Kind::Read => sample.reads += 1.0 / seconds,
                    Kind::Write => sample.writes += 1.0 / seconds,
                }
            }
        }
        samples
    }
}

#[cfg(test)]
mod recording_test {
    use super::*;

    fn wait(kind: Kind, called: Nanos, returned: Nanos) -> Wait {
        wait_for(kind, "key", called, returned)
    }

    fn wait_for(kind: Kind, key: &str, called: Nanos, returned: Nanos) -> Wait {
        Wait {
            kind,
            key: key.as_bytes().into(),
            called,
            returned,
            failed: 0,
            told: String::new(),
        }
    }

    #[test]
    fn longest_wait_is_looked_for_among_those_under_way() {
        let recording = Recording {
            waits: vec![
                wait(Kind::Write, 0, 50),
                wait(Kind::Write, 100, 130),
                wait(Kind::Read, 100, 900),
                wait(Kind::Write, 120, 125),
            ],
            ..Recording::default()
        };
        assert_eq!(recording.longest(Kind::Write, 60, 140), 30);
        assert_eq!(recording.longest(Kind::Write, 40, 140), 50);
        assert_eq!(recording.longest(Kind::Read, 0, 99), 0);
    }

    #[test]
    fn read_behind_a_write_of_its_key_is_not_undisturbed() {
        let write = |key: &str, called, returned, outcome| Operation {
            key: key.as_bytes().into(),
            action: brickyard_history::Action::Delete,
            called,
            returned,
            outcome,
            client: 1,
        };
        let recording = Recording {
            operations: vec![
                write("a", 100, 900, Outcome::Did(true)),
                write("b", 100, 120, Outcome::Did(true)),
                write("c", 100, 120, Outcome::Unknown),
            ],
            waits: vec![
                wait_for(Kind::Read, "a", 150, 850),
                wait_for(Kind::Read, "b", 130, 150),
                wait_for(Kind::Read, "c", 130, 950),
                wait_for(Kind::Write, "b", 130, 950),
            ],
            ..Recording::default()
        };
        assert_eq!(recording.longest(Kind::Read, 100, 1000), 820);
        let quiet = recording.longest_undisturbed(100, 1000);
        assert_eq!(quiet.map(|it| (it.called, it.took())), Some((130, 20)));
        assert!(recording.longest_undisturbed(200, 1000).is_none());
    }

    #[test]
    fn read_that_a_write_may_have_overtaken_is_not_undisturbed() {
        let write = |called| Operation {
            key: "a".as_bytes().into(),
            action: brickyard_history::Action::Delete,
            called,
            returned: called + 10 * SOON,
            outcome: Outcome::Did(true),
            client: 1,
        };
        let recording = |called| Recording {
            operations: vec![write(called)],
            waits: vec![wait_for(Kind::Read, "a", 100, 100 + 5 * SOON)],
            ..Recording::default()
        };
        let longest = |called| {
            let recording = recording(called);
            let longest = recording.longest_undisturbed(100, 10 * SOON);
            longest.map(Wait::took)
        };
        assert_eq!(longest(100 + SOON), None);
        assert_eq!(longest(101 + SOON), Some(5 * SOON));
    }

    #[test]
    fn samples_count_what_ended_in_them() {
        let second = 1_000_000_000;
        let recording = Recording {
            waits: vec![
                wait(Kind::Write, 0, 10),
                wait(Kind::Write, 0, second - 1),
                wait(Kind::Read, 0, second + 1),
                wait(Kind::Read, 0, 2 * second),
            ],
            ..Recording::default()
        };
        let samples = recording.samples(second);
        let seen: Vec<(f64, f64)> = samples.iter().map(|it| (it.reads, it.writes)).collect();
        assert_eq!(seen, [(0.0, 2.0), (1.0, 0.0)]);
        assert_eq!(samples[1].at, 1.5);
    }
}
