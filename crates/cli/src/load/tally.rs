//! What became of the records of a load.
//!
//! In:  one call for every record. Out: the summary.

use super::record::BadLine;
use brickyard_bench::grouped;
use std::{collections::BTreeMap, fmt, time::Duration};

/// Bad lines that are shown; the others are only counted.
const BAD_LINES_SHOWN: usize = 20;

/// Records that the server refused for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) count: u64,
    /// The server's words, and the line of the first record that they were about.
    pub(crate) first: String,
    pub(crate) first_line: u64,
}

/// The counts of a load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) stored: u64,
    pub(crate) stored_bytes: u64,
    pub(crate) bad: u64,
    bad_first: Vec<BadLine>,
    pub(crate) refused: BTreeMap<String, Refusal>,
    /// Times that a record was sent again because it was not known to be stored, or could not be for long.
    pub(crate) retried: u64,
}

impl Tally {
    pub(crate) fn bad_line(&mut self, bad: BadLine) {
        self.bad += 1;
        if self.bad_first.len() < BAD_LINES_SHOWN {
            self.bad_first.push(bad);
        }
    }

    pub(crate) fn stored(&mut self, bytes: usize) {
        self.stored += 1;
        self.stored_bytes += bytes as u64;
    }

    pub(crate) fn refused(&mut self, kind: String, text: &str, line: u64) {
        let refusal = self.refused.entry(kind).or_insert_with(|| Refusal {
            count: 0,
            first: text.to_owned(),
            first_line: line,
        });
        refusal.count += 1;
    }

    pub(crate) fn refused_count(&self) -> u64 {
        self.refused.values().map(|refusal| refusal.count).sum()
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.bad == 0 && self.refused.is_empty()
    }

    /// Adds what another connection counted.
    pub(crate) fn merge(&mut self, other: Self) {
        self.stored += other.stored;
        self.stored_bytes += other.stored_bytes;
        self.retried += other.retried;
        for (kind, theirs) in other.refused {
            match self.refused.get_mut(&kind) {
                None => {
                    self.refused.insert(kind, theirs);
                }
                Some(mine) => {
                    mine.count += theirs.count;
                    if theirs.first_line < mine.first_line {
                        mine.first = theirs.first;
                        mine.first_line = theirs.first_line;
                    }
                }
            }
        }
    }

    /// The summary, for people.
    pub(crate) fn summary(&self, elapsed: Duration) -> Summary<'_> {
        Summary {
            tally: self,
            elapsed,
        }
    }
}

/// A [`Tally`] with the time that it took.
pub(crate) struct Summary<'a> {
    tally: &'a Tally,
    elapsed: Duration,
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tally = self.tally;
        let seconds = self.elapsed.as_secs_f64();
        writeln!(
            f,
            "stored {} records, {} of keys and values, in {seconds:.2} s: {} records/s",
            grouped(tally.stored),
            megabytes(tally.stored_bytes),
            grouped((tally.stored as f64 / seconds.max(1e-6)) as u64),
        )?;
        if tally.retried > 0 {
            writeln!(
                f,
                "sent again, since no server had said that it was stored: {}",
                grouped(tally.retried)
            )?;
        }
        if tally.bad > 0 {
            writeln!(f, "bad lines, left out: {}", grouped(tally.bad))?;
            for bad in &tally.bad_first {
                writeln!(f, "  line {}: {}", bad.line, bad.reason)?;
            }
            let hidden = tally.bad - tally.bad_first.len() as u64;
            if hidden > 0 {
                writeln!(f, "  and {} more", grouped(hidden))?;
            }
        }
        if !tally.refused.is_empty() {
            writeln!(
                f,
                "refused by the server: {}",
                grouped(tally.refused_count())
            )?;
            for (kind, refusal) in &tally.refused {
                writeln!(
                    f,
                    "  {kind}: {}, first on line {}: {}",
                    grouped(refusal.count),
                    refusal.first_line,
                    refusal.first
                )?;
            }
        }
        Ok(())
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
#[path = "tally_test.rs"]
mod tally_test;
