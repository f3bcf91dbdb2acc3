//! One partition's log as this brick holds it: what is committed, what is pending, what may be claimed.
//!
//! Invariants:
//! - `pending` holds the entries from `committed + 1` to `last`, consecutive, none missing.
//! - `committed` never goes back, but for a learner whose catch-up begins anew, or replaces everything.
//! - `history` reaches to `last` and knows at least the views from `committed` on.

use crate::{History, LogMark, PreparedRecord, ReplicaSummary, Run};
use brickyard_types::{Op, View};
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) pending: VecDeque<PreparedRecord>,
    pub(crate) committed: Op,
    pub(crate) last: (View, Op),
    pub(crate) history: History,
    /// Whose history the records are; 0: nobody's yet.
    pub(crate) generation: u32,
    /// Every tombstone above this op is here (rule `tombstones reach down to the watermark`).
    pub(crate) watermark: Op,
    /// A catch-up has not finished: what may be claimed until it has (rule `log summaries begin at a baseline`).
    pub(crate) partial: Option<Box<ReplicaSummary>>,
    /// The newest batch of the own log that has anything of this partition.
    pub(crate) mark: LogMark,
    /// The newest batch that has something applied which is not in `pending`: copies, baselines, and what a
    /// `CopyStart` committed.
    pub(crate) settled_mark: LogMark,
    /// The batch with the last `Cut` record.
    pub(crate) cut_mark: LogMark,
    /// The log must get a `Cut` before anything else is voted for: it may have records above `last`.
    pub(crate) is_cut_due: bool,
    /// Up to here there are entries that this process found in the log when it started; no stream brings them again.
    pub(crate) restored: Op,
    /// The batch with the baseline record on which the log summary of a partition that came from others rests.
    pub(crate) baseline_mark: LogMark,
    /// The log refused that record.
    pub(crate) is_baseline_due: bool,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self {
            pending: VecDeque::new(),
            committed: Op(0),
            last: (View(0), Op(0)),
            history: History::default(),
            generation: 0,
            watermark: Op(0),
            partial: None,
            mark: LogMark::NONE,
            settled_mark: LogMark::NONE,
            cut_mark: LogMark::NONE,
            is_cut_due: false,
            restored: Op(0),
            baseline_mark: LogMark::NONE,
            is_baseline_due: false,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: PreparedRecord) {
        assert!(
            entry.op == self.last.1.next(),
            "op {} after {}",
            entry.op,
            self.last.1
        );
        self.history.push(entry.view, entry.op);
        self.last = (entry.view, entry.op);
        self.note(entry.mark);
        self.pending.push_back(entry);
    }

    /// Everything up to `op` is committed the moment that it is prepared.
    pub(crate) fn apply(&mut self, view: View, op: Op) {
        assert!(self.pending.is_empty(), "applied over what is pending");
        assert!(op > self.last.1, "op {op} after {}", self.last.1);
        self.history.push(view, self.last.1.next());
        self.last = (view, op);
        self.committed = op;
    }

    /// The owner did not take the entries from `op` on, nor anything else that would have gone into batch `open`.
    pub(crate) fn take_back(&mut self, open: LogMark, settled: LogMark) {
        let pending = self.pending.iter().map(|entry| entry.mark);
        self.settled_mark = self.settled_mark.min(settled);
        let others = [self.settled_mark, self.cut_mark, self.baseline_mark];
        self.mark = pending.chain(others).max().unwrap_or_default();
        assert!(self.mark < open || self.mark == LogMark::NEVER);
    }

    #[inline]
    pub(crate) fn note(&mut self, mark: LogMark) {
        self.mark = self.mark.max(mark);
    }

    #[inline]
    pub(crate) fn entry(&self, op: Op) -> Option<&PreparedRecord> {
        let at = op.0.checked_sub(self.pending.front()?.op.0)?;
        self.pending.get(usize::try_from(at).ok()?)
    }

    /// The view of an op that is held here.
    pub(crate) fn view_at(&self, op: Op) -> Option<View> {
        if op > self.last.1 {
            return None;
        }
        if op == self.last.1 {
            return Some(self.last.0);
        }
        match self.entry(op) {
            Some(entry) => Some(entry.view),
            None => self.history.view_at(op),
        }
    }

    /// The first `count` entries are committed: the commit position that this makes.
    pub(crate) fn commit(&mut self, count: usize) -> Op {
        let before = self.committed;
        self.pending.drain(..count);
        self.committed = Op(before.0 + count as u64);
        assert!(
            self.committed <= self.last.1,
            "committed {} of {}",
            self.committed,
            self.last.1
        );
        self.committed
    }

    /// Forgets the entries above `op`, which is not below the commit position: how many there were.
    pub(crate) fn cut(&mut self, op: Op) -> usize {
        assert!(
            op >= self.committed,
            "cut at {op} below commit {}",
            self.committed
        );
        if op >= self.last.1 {
            return 0;
        }
        let view = self.view_at(op).unwrap_or_default();
        let kept = (op.0 - self.committed.0) as usize;
        let before = self.pending.len();
        self.pending.truncate(kept);
        self.history.cut(op);
        self.last = (view, op);
        self.restored = self.restored.min(op);
        before - self.pending.len()
    }

    /// The log of a half of the partition: the same, to the last committed op.
    pub(crate) fn fork(&self) -> Self {
        let mut history = self.history.clone();
        history.cut(self.committed);
        Self {
            pending: VecDeque::new(),
            committed: self.committed,
            last: (
                self.view_at(self.committed).unwrap_or_default(),
                self.committed,
            ),
            history,
            generation: self.generation,
            watermark: self.watermark,
            partial: self.partial.clone(),
            mark: self.mark,
            settled_mark: self.settled_mark,
            cut_mark: self.cut_mark,
            is_cut_due: self.is_cut_due,
            restored: Op(0),
            baseline_mark: LogMark::NONE,
            is_baseline_due: false,
        }
    }

    /// What this brick may claim to hold.
    pub(crate) fn summary(&self) -> ReplicaSummary {
        match &self.partial {
            Some(summary) => ReplicaSummary::clone(summary),
            _ => ReplicaSummary {
                generation: self.generation,
                committed: self.committed,
                last: self.last,
                is_complete: true,
                watermark: self.watermark,
                runs: self.history.runs().to_vec(),
            },
        }
    }

    /// From here on something is missing above `op`, which is as far as the log summary goes (rule
    /// `log summaries begin at a baseline`).
    pub(crate) fn become_partial(&mut self, op: Op) {
        if let Some(summary) = &mut self.partial {
            if op < summary.last.1 {
                summary.last = (view_in(&summary.runs, op), op);
                summary.committed = summary.committed.min(op);
                summary.runs.retain(|run| run.first <= op);
            }
            return;
        }
        let mut summary = self.summary();
        summary.is_complete = false;
        summary.last = (self.view_at(op).unwrap_or_default(), op);
        summary.committed = summary.committed.min(op);
        summary.runs.retain(|run| run.first <= op);
        self.partial = Some(Box::new(summary));
    }

    /// The log goes on behind `first`, which is committed; nothing is pending.
    pub(crate) fn jump(&mut self, first: (View, Op), runs: History) {
        assert!(self.pending.is_empty(), "jumped over what is pending");
        self.committed = first.1;
        self.last = first;
        self.history = runs;
        self.history.cut(first.1);
        self.restored = Op(0);
    }

    /// Whether the log has refused the newest entry, which is to be appended again.
    pub(crate) fn has_refused(&self) -> bool {
        let last = self.pending.back();
        last.is_some_and(|entry| entry.mark == LogMark::NEVER)
    }

    /// Whether that is so of what this process found when it started.
    pub(crate) fn is_restored_due(&self) -> bool {
        let first = self.pending.iter().find(|it| it.mark == LogMark::NEVER);
        first.is_some_and(|entry| entry.op <= self.restored)
    }

    /// Nothing may be claimed any more.
    pub(crate) fn clear_summary(&mut self) {
        let summary = ReplicaSummary {
            generation: self.generation,
            ..ReplicaSummary::default()
        };
        self.partial = Some(Box::new(summary));
    }

    /// The runs of the ops above `op`.
    pub(crate) fn runs_above(&self, op: Op) -> Vec<Run> {
        let runs = self.history.runs();
        // The run that `op + 1` lies in, and those after it.
        let from = runs.iter().rposition(|run| run.first <= op.next());
        runs[from.unwrap_or(0)..].to_vec()
    }
}

fn view_in(runs: &[Run], op: Op) -> View {
    let run = runs.iter().rev().find(|run| run.first <= op);
    run.map(|run| run.view).unwrap_or_default()
}

#[cfg(test)]
#[path = "log_test.rs"]
mod log_test;
