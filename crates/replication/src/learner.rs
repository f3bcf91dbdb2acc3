//! This brick as a learner: its log summary, the copies, and the baseline record that ends them.

use crate::follow::{Follower, Inflow, broken};
use crate::frame::{CopyStart, Frame, FrameError, Reason};
use crate::history::History;
use crate::ready::{Action, Received};
use crate::summary::Baseline;
use crate::{LinkId, Role};
use brickyard_types::record::{self, Kind};
use brickyard_types::{Op, PartitionId, View};

impl Inflow<'_> {
    /// The primary says where the log is cut and what the stream follows.
    pub(crate) fn on_copy_start(&mut self, start: &CopyStart) -> Result<(), FrameError> {
        let link = self.link;
        let found = self.find(start.partition);
        match found.filter(|follower| follower.it.follow.reported_to == Some(link)) {
            Some(mut follower) => follower.on_copy_start(link, start),
            None => self.pass_over_copy(start.partition),
        }
    }

    /// Copied records; `bytes` are the end of the frame.
    pub(crate) fn on_copy(
        &mut self,
        partition: PartitionId,
        frame: &[u8],
        bytes: &[u8],
    ) -> Result<(), FrameError> {
        let link = self.link;
        let found = self.find(partition);
        let found = found.filter(|it| it.it.follow.stream == Some(link));
        match found.filter(|follower| follower.it.follow.copying.is_some()) {
            Some(mut follower) => follower.on_copy(frame, frame.len() - bytes.len()),
            None => self.pass_over_copy(partition),
        }
    }

    /// All copies are here: with them, everything up to `at` is.
    pub(crate) fn on_copy_end(
        &mut self,
        partition: PartitionId,
        view: View,
        at: (View, Op),
    ) -> Result<(), FrameError> {
        let link = self.link;
        let found = self.find(partition);
        match found.filter(|follower| follower.it.follow.stream == Some(link)) {
            Some(mut follower) => follower.on_copy_end(link, view, at),
            None => self.pass_over_copy(partition),
        }
    }

    /// What was sent before the sender knew that the partition had been refused.
    fn pass_over_copy(&self, partition: PartitionId) -> Result<(), FrameError> {
        if self.links.is_refused(self.link, partition) {
            Ok(())
        } else {
            broken("a part of a copy that did not begin")
        }
    }
}

impl Follower<'_> {
    /// Answers a primary's question.
    pub(crate) fn summary(&mut self, link: LinkId) {
        assert_eq!(self.it.place.role, Role::Learner, "only a learner is asked");
        let summary = self.it.log.summary();
        // What the primary checks when the log summary arrives.
        assert!(summary.committed <= summary.last.1 || !summary.is_complete);
        let summary = Frame::Summary {
            partition: self.it.id,
            view: self.it.place.view,
            summary,
        };
        self.links.send(link, &summary, self.ready);
        if let Some(link) = self.links.get_mut(link) {
            link.receiver.refused.remove(&self.it.id);
        }
    }

    fn on_copy_start(&mut self, link: LinkId, start: &CopyStart) -> Result<(), FrameError> {
        let it = &mut *self.it;
        if it.place.role != Role::Learner || it.place.view != start.view {
            return broken("a copy that was not asked for");
        }
        let runs = History::new(&start.runs);
        if runs.view_at(start.first.1) != Some(start.first.0) && start.first.1 > Op(0) {
            return broken("a copy that does not know its own end");
        }
        if start.is_full {
            it.cut(it.log.committed, self.ready);
            // Rule `tombstones reach down to the watermark`: a full copy replaces what there is, and its op is the
            // watermark.
            let (partition, at) = (it.id, start.first.1);
            self.ready.push(Action::Clear { partition, at });
            it.log.watermark = start.first.1;
            it.log.is_baseline_due = false;
            it.log.clear_summary();
            it.log.jump(start.first, runs);
            self.own.put_cut(it, start.first.1, self.ready);
            it.log.settled_mark = it.log.mark;
        } else if !self.catch_up(start, runs) {
            // It answers an earlier claim: the primary took this learner off its list and on again meanwhile, and
            // more has been copied since. It is asked anew.
            self.leave(Reason::Gap);
            return Ok(());
        }
        let it = &mut *self.it;
        it.log.generation = it.place.generation;
        it.follow.reported_to = None;
        it.follow.stream = Some(link);
        it.follow.known_commit = start.first.1.max(it.log.committed);
        it.follow.copying = Some(start.first);
        self.step_in(link);
        self.work.make_ready(self.it);
        Ok(())
    }

    /// A catch-up by difference begins: the log is cut, and goes on behind what the copies will bring. False if
    /// that would cut what is known to be committed.
    fn catch_up(&mut self, start: &CopyStart, runs: History) -> bool {
        let Self { it, own, ready, .. } = self;
        let known = it.log.committed;
        let unfinished = it.log.partial.as_ref().map(|summary| summary.last);
        if let Some(reported) = unfinished.filter(|reported| reported.1 < known) {
            // An earlier catch-up has not finished. What it left out may lie anywhere up to the commit position
            // of its primary, and this primary may know less to be committed: the stream begins there anew, and
            // brings again what is here already.
            if start.cut > reported.1 {
                return false;
            }
            it.cut(known, ready);
            it.log.become_partial(start.cut);
            // Where the log summary ends now, if that is further.
            let reported = it.log.partial.as_ref().map(|summary| summary.last);
            let first = reported
                .filter(|reported| reported.1 > start.first.1)
                .unwrap_or(start.first);
            own.put_cut_above(it, known.min(first.1), ready);
            it.log.jump(first, runs);
            it.log.settled_mark = it.log.mark;
            return true;
        }
        let held = it.log.view_at(start.cut);
        // Rule `a cut is a record`: never below what is known to be committed.
        if start.cut < known || held.is_none() || held != runs.view_at(start.cut) {
            return false;
        }
        own.put_cut(it, start.cut, ready);
        it.cut(start.cut, ready);
        if start.cut < start.first.1 {
            // All that is left agrees with the primary's log and lies below its commit position.
            let count = it.log.pending.len();
            it.commit(count, ready);
            // Rule `log summaries begin at a baseline`: what lies between is missing until the copies are here.
            it.log.become_partial(start.cut);
            it.log.jump(start.first, runs);
            it.log.settled_mark = it.log.mark;
        }
        true
    }

    fn on_copy(&mut self, frame: &[u8], mut at: usize) -> Result<(), FrameError> {
        let it = &mut *self.it;
        self.own.begin_copies(it.log.settled_mark);
        let mark = self.own.mark(it.durability);
        while at < frame.len() {
            let Ok(record) = record::decode(&frame[at..]) else {
                return broken("a damaged copy");
            };
            let received = Received::new(&record, at);
            at += record.len;
            let header = &record.header;
            let is_copied = matches!(header.kind, Kind::Put | Kind::Delete | Kind::Batch);
            if !is_copied || header.partition != it.id || header.table != it.table {
                return broken("a copy that is not one of the partition");
            }
            self.ready.push(Action::Copy {
                record: received,
                mark,
            });
            it.log.note(mark);
            it.log.settled_mark = it.log.settled_mark.max(mark);
        }
        self.own.note(it.log.mark);
        Ok(())
    }

    fn on_copy_end(&mut self, link: LinkId, view: View, at: (View, Op)) -> Result<(), FrameError> {
        let it = &mut *self.it;
        if it.follow.copying != Some(at) || it.place.view != view {
            return broken("the end of another copy");
        }
        it.follow.copying = None;
        if it.log.partial.take().is_some() {
            // Rule `log summaries begin at a baseline`: what was copied counts from the baseline record on.
            let runs = it.log.history.runs().iter().copied();
            let baseline = Baseline {
                generation: it.place.generation,
                view: at.0,
                op: at.1,
                runs: runs.filter(|run| run.first <= at.1).collect(),
            };
            let mut value = Vec::new();
            baseline.encode(&mut value);
            let mut header = it.header(Kind::Baseline, at.1, it.log.committed);
            header.view = at.0;
            let mark = self.own.put(it, header, &value, self.ready);
            // Should the log refuse it, nothing can be claimed.
            it.log.settled_mark = it.log.settled_mark.max(mark);
        }
        let mark = it.log.mark;
        if let Some(link) = self.links.get_mut(link) {
            let done = (mark, it.id, view, it.durability);
            link.receiver.done.push_back(done);
            link.receiver.mark = link.receiver.mark.max(mark);
        }
        Ok(())
    }
}
