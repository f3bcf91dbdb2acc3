//! A partition's state out of its records, at recovery.
//!
//! In:  the partition's records in the order of the log. Out: those that are known to be committed, as soon
//! as that is known; and [`Restored`] at the end.
//!
//! Invariants:
//! - Nothing is cut but by a `Cut` record (rule `a restart cuts nothing`): what is not known to be committed is the
//!   tail.
//! - The log summary begins at a baseline record and extends over consecutive ops only (rule
//!   `log summaries begin at a baseline`). Consecutive is meant by number: while a catch-up ran, the stream's records
//!   were written before the baseline that they follow.
//! - Moved and copied records (flag `MOVED`) are committed, are no part of any run, and survive a `Cut`.
//! - The cleaner removes a `Cut`, and the start of its view, before what they cut, where a baseline behind them says as much. So
//!   what comes before a view of which there is no start waits for that baseline, which has the views of all ops; and what
//!   contradicts a baseline was cut.
//! - What a partition had that this one was split from was told committed by a record behind it, not by its own ones. The cleaner
//!   may have removed what cut it, so it waits for this partition's baseline too, which has the views of those ops.
//!
//! Not here: what the records do to the table, and which of two records of a key is newer (`brick`).

use crate::LogMark;
use crate::history::{History, Run};
use crate::restored::{Restored, SuffixEntry};
use crate::summary::{Baseline, ViewStart};
use brickyard_types::record::{Header, Kind, flag};
use brickyard_types::{Op, View};
use std::collections::VecDeque;

/// One partition while its log is read.
#[derive(Debug)]
pub struct Rebuild<P> {
    baseline: Baseline,
    /// The last record, and the first of the consecutive ones that end with it.
    last: (View, Op),
    run: Op,
    /// The end of the run from `baseline`, once a gap or damage came after it.
    sure: Option<(View, Op)>,
    /// That was damage: nobody knows what it said.
    is_damaged: bool,
    committed: Op,
    /// The highest op of what was moved or copied.
    moved: Op,
    suffix: VecDeque<SuffixEntry<P>>,
    /// Up to here the suffix comes before a newer view whose beginning is not in the log any more: it may have been cut.
    doubtful: Op,
    /// The newest view of which there was a record.
    newest: View,
    /// What the partition that this one was split from had, as long as no baseline says whether it was cut.
    inherited: VecDeque<SuffixEntry<P>>,
    history: History,
    generation: u32,
    watermark: Op,
    /// There are records of the partition itself, not just such as the cleaner has moved.
    has_begun: bool,
}

impl<P> Default for Rebuild<P> {
    fn default() -> Self {
        Self {
            baseline: Baseline::default(),
            last: (View(0), Op(0)),
            run: Op(1),
            sure: None,
            is_damaged: false,
            committed: Op(0),
            moved: Op(0),
            suffix: VecDeque::new(),
            doubtful: Op(0),
            newest: View(0),
            inherited: VecDeque::new(),
            history: History::default(),
            generation: 0,
            watermark: Op(0),
            has_begun: false,
        }
    }
}

impl<P> Rebuild<P> {
    /// The next record of the partition. `apply` gets entries that are known to be committed by it, the
    /// record itself perhaps among them; control records but `ViewStart` are not handed out. After
    /// [`Kind::Drop`] the caller forgets what it applied.
    pub fn on_record(
        &mut self,
        header: &Header,
        value: &[u8],
        mark: LogMark,
        payload: P,
        apply: &mut dyn FnMut(SuffixEntry<P>),
    ) {
        let entry = SuffixEntry {
            view: header.view,
            op: header.op,
            mark,
            payload,
        };
        if header.flags & flag::MOVED != 0 {
            self.moved = self.moved.max(entry.op);
            apply(entry);
            return;
        }
        self.has_begun |= header.kind != Kind::Watermark;
        let begins = matches!(header.kind, Kind::ViewStart | Kind::Cut | Kind::Baseline);
        if header.view > self.newest && header.kind != Kind::Watermark {
            self.newest = header.view;
            if !begins {
                self.doubtful = self.last.1;
            }
        }
        match header.kind {
            Kind::Drop => {
                *self = Self {
                    has_begun: true,
                    ..Self::default()
                };
            }
            Kind::Cut => self.on_cut(header, apply),
            Kind::Baseline => self.on_baseline(header, value, apply),
            Kind::Watermark => self.watermark = self.watermark.max(header.op),
            Kind::Put | Kind::Delete | Kind::Batch | Kind::Clear | Kind::ViewStart => {
                self.on_entry(entry, apply);
                if let Some(start) = ViewStart::decode(value)
                    && header.kind == Kind::ViewStart
                {
                    self.generation = start.generation;
                }
                // What says nothing of that was committed when it was written.
                let committed = header.committed.unwrap_or(header.op);
                self.commit(committed, apply);
            }
        }
    }

    /// The partition was split from another one, whose last entries are these. Of two such ones the later one's take the place of
    /// the earlier one's, as later records do.
    pub fn inherit(&mut self, entries: impl IntoIterator<Item = SuffixEntry<P>>) {
        for entry in entries {
            cut_back(&mut self.inherited, entry.op);
            self.inherited.push_back(entry);
        }
    }

    /// What the partition had that this one was split from was dropped.
    pub fn disinherit(&mut self) {
        self.inherited.clear();
    }

    /// Something of the partition is unreadable here: the log summary ends before it.
    pub fn on_damage(&mut self) {
        self.is_damaged = true;
        if self.sure.is_none() {
            self.sure = Some(self.end());
        }
    }

    fn on_entry(&mut self, entry: SuffixEntry<P>, apply: &mut dyn FnMut(SuffixEntry<P>)) {
        if entry.op != self.last.1.next() {
            self.jump(entry.op);
        }
        self.cut_back(entry.op);
        self.last = (entry.view, entry.op);
        self.history.push(entry.view, entry.op);
        if entry.op > self.committed {
            self.suffix.push_back(entry);
        } else {
            // A catch-up began anew behind what was known to be committed.
            apply(entry);
        }
    }

    /// From `op` on nothing counts of what was not known to be committed.
    fn cut_back(&mut self, op: Op) {
        cut_back(&mut self.suffix, op);
        cut_back(&mut self.inherited, op);
    }

    /// A run that begins at `op` does not follow the one before.
    fn jump(&mut self, op: Op) {
        if self.sure.is_none() {
            self.sure = Some(self.end());
        }
        self.run = op;
    }

    /// Where the consecutive ops from the baseline end.
    fn end(&self) -> (View, Op) {
        if self.run <= self.baseline.op.next() && self.last.1 >= self.baseline.op {
            self.last
        } else {
            (self.baseline.view, self.baseline.op)
        }
    }

    fn commit(&mut self, op: Op, apply: &mut dyn FnMut(SuffixEntry<P>)) {
        self.committed = self.committed.max(op);
        let (doubtful, committed) = (self.doubtful, self.committed);
        let first = self.suffix.partition_point(|it| it.op <= doubtful);
        let end = self.suffix.partition_point(|it| it.op <= committed);
        if first < end {
            self.suffix.drain(first..end).for_each(apply);
        }
    }

    /// No baseline tells any more what of the suffix was cut. Then it counts: where others have more of the partition it is
    /// copied from them, since what has committed reaches beyond what this log holds.
    pub fn end_doubts(&mut self, apply: &mut dyn FnMut(SuffixEntry<P>)) {
        self.inherited.drain(..).for_each(&mut *apply);
        self.doubtful = Op(0);
        self.commit(Op(0), apply);
    }

    /// What of the suffix has another view than the baseline says was cut; the rest of it up to there has committed.
    fn settle(&mut self, baseline: &Baseline, apply: &mut dyn FnMut(SuffixEntry<P>)) {
        let history = History::new(&baseline.runs);
        let is_cut = |it: &SuffixEntry<P>| match it.op <= baseline.op {
            true => history.view_at(it.op).is_some_and(|view| view != it.view),
            // Behind the baseline views are no older than its own.
            false => it.view < baseline.view,
        };
        self.inherited.retain(|it| !is_cut(it));
        let end = self.inherited.partition_point(|it| it.op <= baseline.op);
        self.inherited.drain(..end).for_each(&mut *apply);
        self.suffix.retain(|it| {
            let view = history.view_at(it.op);
            it.view > baseline.view || view.is_none_or(|view| view == it.view)
        });
        let end = self.suffix.partition_point(|it| it.op <= baseline.op);
        self.suffix.drain(..end).for_each(&mut *apply);
        if self.doubtful <= baseline.op {
            self.doubtful = Op(0);
        }
        self.commit(baseline.op, apply);
    }

    fn on_cut(&mut self, header: &Header, apply: &mut dyn FnMut(SuffixEntry<P>)) {
        let op = header.op;
        self.commit(header.committed.unwrap_or_default(), apply);
        self.cut_back(op.next());
        if op > self.last.1 {
            // Everything was dropped, and the stream goes on after the copy's op.
            self.jump(op.next());
            self.last = (header.view, op);
        } else if op < self.last.1 {
            self.history.cut(op);
            self.last = (self.history.view_at(op).unwrap_or_default(), op);
            self.run = self.run.min(op.next());
        }
        if self.sure.is_some_and(|sure| sure.1 >= op) {
            self.end_gap(op);
        }
    }

    /// A cut at `op` behind a gap. Where everything from the baseline up to it was read, what was missing behind it is cut off
    /// as well: the cleaner removes that as soon as it is cut, and nothing that counts before there is a baseline above it.
    ///
    /// Not so where something above has committed or was copied: a copy was not finished there. Nor behind damage.
    fn end_gap(&mut self, op: Op) {
        let is_based = self.baseline.op > Op(0) && op >= self.baseline.op;
        let is_last = self.committed.max(self.moved) <= op;
        if is_based && is_last && !self.is_damaged {
            self.sure = None;
            self.run = self.baseline.op.next();
        } else if self.sure.is_some_and(|sure| sure.1 > op) {
            self.sure = Some(self.last);
        }
    }

    fn on_baseline(
        &mut self,
        header: &Header,
        value: &[u8],
        apply: &mut dyn FnMut(SuffixEntry<P>),
    ) {
        let Some(baseline) = Baseline::decode(header.view, header.op, value) else {
            self.on_damage();
            return;
        };
        self.settle(&baseline, apply);
        if baseline.generation == self.baseline.generation && baseline.op <= self.baseline.op {
            return;
        }
        self.generation = baseline.generation;
        let own = self.history.runs().iter().copied();
        let above = own.filter(|run| run.first > baseline.op && run.view > baseline.view);
        let runs: Vec<Run> = baseline.runs.iter().copied().chain(above).collect();
        self.history = History::new(&runs);
        if self.last.1 <= baseline.op {
            self.last = (baseline.view, baseline.op);
            self.run = baseline.op.next();
        }
        self.baseline = baseline;
        self.is_damaged = false;
        // What follows the baseline without a gap counts, wherever in the log it stands.
        self.sure =
            (self.run > self.baseline.op.next()).then_some((self.baseline.view, self.baseline.op));
    }

    /// Whether everything up to this record of the partition's history was read.
    #[must_use]
    pub fn holds(&self, (view, op): (View, Op)) -> bool {
        let (last_view, last) = self.sure.unwrap_or(self.last);
        let held = if last == op {
            Some(last_view)
        } else {
            self.history.view_at(op)
        };
        last >= op && held == Some(view)
    }

    /// Whether what was read leads up to this record of the partition's history, though some of it may not be there any more.
    #[must_use]
    pub fn leads_to(&self, (view, op): (View, Op)) -> bool {
        let (last_view, last) = self.last;
        let reached = if last <= op {
            Some(last_view)
        } else {
            self.history.view_at(op)
        };
        reached == Some(view)
    }

    /// Whether the log speaks of the partition itself: what the cleaner has moved into it came from another.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The last record so far.
    #[must_use]
    pub const fn last(&self) -> (View, Op) {
        self.last
    }

    /// The highest op that is known to be committed so far.
    #[must_use]
    pub const fn committed(&self) -> Op {
        self.committed
    }

    /// The partition was split or merged here: everything up to `upto` has committed, and what is left of the suffix counts
    /// for nothing.
    pub fn end_at(&mut self, upto: Op, apply: &mut dyn FnMut(SuffixEntry<P>)) {
        self.end_doubts(apply);
        self.commit(upto, apply);
        self.suffix.clear();
        if self.committed < self.last.1 {
            self.history.cut(self.committed);
            self.last = (
                self.history.view_at(self.committed).unwrap_or_default(),
                self.committed,
            );
        }
    }

    /// The records that are not known to be committed, for a reader that has not read them whole.
    pub fn suffix_mut(&mut self) -> impl Iterator<Item = &mut SuffixEntry<P>> {
        self.suffix.iter_mut()
    }

    /// The log is read.
    #[must_use]
    pub fn finish(self) -> Restored<P> {
        let last = self.sure.unwrap_or(self.last);
        let mut next = self.committed.next();
        let mut suffix = VecDeque::new();
        for entry in self.suffix {
            if entry.op == next && entry.op <= last.1 {
                next = next.next();
                suffix.push_back(entry);
            }
        }
        Restored {
            generation: self.generation,
            baseline: self.baseline,
            committed: self.committed,
            last,
            suffix,
            is_complete: self.sure.is_none(),
            watermark: self.watermark,
            history: self.history.runs().to_vec(),
        }
    }
}

/// Of entries in order those from `op` on go.
fn cut_back<P>(entries: &mut VecDeque<SuffixEntry<P>>, op: Op) {
    while entries.back().is_some_and(|it| it.op >= op) {
        entries.pop_back();
    }
}

#[cfg(test)]
#[path = "rebuild_test.rs"]
mod rebuild_test;
