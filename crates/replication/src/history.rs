//! Which view each op was prepared in: runs of (view, first op).
//!
//! Invariants: views and first ops both rise from run to run; the last run reaches to the log's end, which
//! its owner keeps.

use brickyard_types::{Op, View};

/// The ops from `first` on were prepared in `view`, until the next run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// The view.
    pub view: View,
    /// Its first op in this partition.
    pub first: Op,
}

/// Views that are remembered. A claim that shares none of them gets a full copy, so this only bounds how
/// many view changes a brick may miss and still catch up by difference.
pub(crate) const RUNS_MAX: usize = 128;

/// The runs of one partition, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    runs: Vec<Run>,
}

impl History {
    /// The history with these runs; those that do not rise end it.
    #[must_use]
    pub fn new(runs: &[Run]) -> Self {
        let mut history = Self::default();
        for run in runs {
            if !history.push(run.view, run.first) {
                break;
            }
        }
        history
    }

    /// The runs, oldest first.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// A record of `view` at `op` was added at the end; false if its view is older than the last one's.
    #[inline]
    pub(crate) fn push(&mut self, view: View, op: Op) -> bool {
        match self.runs.last() {
            Some(last) if last.view == view => true,
            Some(last) if last.view > view || last.first >= op => false,
            _ => {
                if self.runs.len() == RUNS_MAX {
                    self.runs.remove(0);
                }
                self.runs.push(Run { view, first: op });
                true
            }
        }
    }

    /// Forgets what lies above `op`.
    pub(crate) fn cut(&mut self, op: Op) {
        while self.runs.last().is_some_and(|run| run.first > op) {
            self.runs.pop();
        }
    }

    /// The view of `op`, which must not lie above the log's end; `None`: no longer known.
    #[must_use]
    pub fn view_at(&self, op: Op) -> Option<View> {
        if op == Op(0) {
            return Some(View(0));
        }
        let run = self.runs.iter().rev().find(|run| run.first <= op)?;
        Some(run.view)
    }

    /// The highest op at which this history, ending at `end`, and `other`, ending at `other_end`, agree;
    /// `None` if they share no view that both remember.
    ///
    /// (view, op) names one record, and a view's ops are consecutive in every log that has them. So two logs
    /// that share a view agree up to the shorter one's end of it.
    #[must_use]
    pub fn agreement(&self, end: Op, other: &[Run], other_end: Op) -> Option<Op> {
        let last_of = |runs: &[Run], at: usize, end: Op| {
            let next = runs.get(at + 1).map_or(end.0, |next| next.first.0 - 1);
            Op(next.min(end.0))
        };
        for (at, run) in self.runs.iter().enumerate().rev() {
            let Some(there) = other.iter().position(|it| it.view == run.view) else {
                continue;
            };
            let op = last_of(&self.runs, at, end).min(last_of(other, there, other_end));
            if op >= run.first && op >= other[there].first {
                return Some(op);
            }
        }
        None
    }
}

#[cfg(test)]
#[path = "history_test.rs"]
mod history_test;
