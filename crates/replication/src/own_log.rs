//! This brick's own log: how far it is, what waits for it, what it refused, and the control records of this room in it.
//!
//! In:  the owner's word on batches (open, appended, synced, refused). Out: records to be appended, partitions that may
//!      commit something.
//!
//! Invariants:
//! - What is appended goes into the batch that is open, so that its mark is known at once.
//! - A mark is answered for: its batch has something in it, and is appended or refused.

use crate::accept::Acknowledgements;
use crate::fitness::{Fitness, Progress};
use crate::partition::Partition;
use crate::ready::{Action, Ready, Want};
use crate::summary::Baseline;
use crate::work::Work;
use crate::{LogMark, Role};
use brickyard_types::record::{Header, Kind};
use brickyard_types::{Durability, Op};
use std::collections::VecDeque;

/// How far the own log is.
#[derive(Debug, Default)]
pub(crate) struct OwnLog {
    /// The batch that records go into.
    pub(crate) open: LogMark,
    /// The newest batch that the disk was given.
    pub(crate) ordered: LogMark,
    pub(crate) appended: LogMark,
    pub(crate) synced: LogMark,
    /// The newest batch with anything of a partition that the log refused.
    pub(crate) refused: LogMark,
    /// The newest batch that anything of this room is in.
    pub(crate) newest: LogMark,
    /// Partitions that wait for a batch to be appended, and to be synced.
    until_appended: VecDeque<(LogMark, u32)>,
    until_synced: VecDeque<(LogMark, u32)>,
    pub(crate) acknowledgements: Acknowledgements,
    pub(crate) fitness: Fitness,
    /// How it was when the last frame came, for records that the owner does not take.
    before: Before,
}

/// Marks that a frame may have raised.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    newest: LogMark,
    /// Of the stream that the frame came on.
    stream: LogMark,
    /// Of the partition that it copies.
    settled: LogMark,
}

impl OwnLog {
    /// The mark of what is appended now.
    #[inline]
    pub(crate) fn mark(&self, durability: Durability) -> LogMark {
        if durability == Durability::Memory {
            return LogMark::NONE;
        }
        assert!(self.open > self.appended, "batch {} is closed", self.open);
        self.open
    }

    #[inline]
    pub(crate) fn note(&mut self, mark: LogMark) {
        self.newest = self.newest.max(mark);
    }

    /// Something of that durability is in this batch: it is voted for, or commits, when the log has it so.
    #[inline]
    pub(crate) fn note_voting(&mut self, mark: LogMark, durability: Durability) {
        self.note(mark);
        if durability == Durability::Fsync && mark != LogMark::NEVER {
            self.fitness.sync_wanted = self.fitness.sync_wanted.max(mark);
        }
    }

    /// How far it is, with what was prepared here and not yet heard of.
    pub(crate) fn progress(&self) -> Progress {
        Progress {
            ordered: self.ordered,
            appended: self.appended,
            synced: self.synced,
        }
    }

    /// A frame comes that may bring records.
    #[inline]
    pub(crate) fn begin_frame(&mut self, stream: LogMark) {
        self.before = Before {
            newest: self.newest,
            stream,
            settled: LogMark::NEVER,
        };
    }

    /// It copies a partition of which something applied is in this batch.
    pub(crate) fn begin_copies(&mut self, settled: LogMark) {
        self.before.settled = settled;
    }

    /// Nothing of the frame went into the open batch: the stream's mark from before it.
    pub(crate) fn take_back(&mut self, it: &mut Partition) -> LogMark {
        assert!(self.before.newest <= self.newest, "the newest mark fell");
        self.newest = self.before.newest;
        it.log.take_back(self.open, self.before.settled);
        self.before.stream
    }

    /// Looks at the partition again when this batch is appended.
    #[inline]
    pub(crate) fn await_append(&mut self, mark: LogMark, slot: u32) {
        self.until_appended.push_back((mark, slot));
    }

    /// Looks at the partition again when this batch is in the log as durably as asked; false if it is.
    #[inline]
    pub(crate) fn await_own(&mut self, mark: LogMark, durability: Durability, slot: u32) -> bool {
        let (reached, waiting) = match durability {
            Durability::Fsync => (self.synced, &mut self.until_synced),
            Durability::Memory | Durability::Log => (self.appended, &mut self.until_appended),
        };
        if mark <= reached {
            return false;
        }
        if mark != LogMark::NEVER {
            waiting.push_back((mark, slot));
        }
        true
    }

    /// Looks at the partition again at both.
    pub(crate) fn await_both(&mut self, mark: LogMark, slot: u32) {
        self.until_appended.push_back((mark, slot));
        self.until_synced.push_back((mark, slot));
    }

    /// How far the log is for entries of this durability.
    #[inline]
    pub(crate) fn reached(&self, durability: Durability) -> LogMark {
        match durability {
            Durability::Fsync => self.synced,
            Durability::Memory | Durability::Log => self.appended,
        }
    }

    /// Everything up to this batch is appended: the partitions that waited for it.
    pub(crate) fn on_appended(&mut self, upto: LogMark) -> Option<u32> {
        assert!(upto != LogMark::NEVER, "no batch has this mark");
        self.appended = self.appended.max(upto);
        pop_reached(&mut self.until_appended, self.appended)
    }

    /// The same of what is synced.
    pub(crate) fn on_synced(&mut self, upto: LogMark) -> Option<u32> {
        assert!(upto != LogMark::NEVER, "no batch has this mark");
        self.synced = self.synced.max(upto);
        pop_reached(&mut self.until_synced, self.synced)
    }

    /// Puts a control record into the log.
    pub(crate) fn put(
        &mut self,
        it: &mut Partition,
        header: Header,
        value: &[u8],
        ready: &mut Ready,
    ) -> LogMark {
        assert_eq!(header.partition, it.id, "a record of another partition");
        assert!(header.committed.is_some(), "it may be cut");
        let mark = self.mark(it.durability);
        let value = ready.keep(value);
        ready.push(Action::AppendOwn {
            header,
            value,
            is_entry: header.kind == Kind::ViewStart,
            mark,
        });
        self.note(mark);
        it.log.note(mark);
        mark
    }

    /// Writes into the log that the ops above `op` are cut (rule `a cut is a record`).
    pub(crate) fn put_cut(&mut self, it: &mut Partition, op: Op, ready: &mut Ready) {
        self.put_cut_above(it, op.max(it.log.committed), ready);
    }

    /// The same, also below the commit position: where an unfinished catch-up goes back to.
    pub(crate) fn put_cut_above(&mut self, it: &mut Partition, op: Op, ready: &mut Ready) {
        it.log.is_cut_due = false;
        let header = it.header(Kind::Cut, op, it.log.committed);
        it.log.cut_mark = self.put(it, header, &[], ready);
    }

    /// Writes what may be claimed of a partition that came from others. In one batch with what is pending since then: a log
    /// that had the one without the other would claim too little, or nothing.
    fn put_baseline(&mut self, it: &mut Partition, ready: &mut Ready) {
        it.log.is_baseline_due = false;
        if let Some((header, value)) = baseline(it) {
            it.log.baseline_mark = self.put(it, header, &value, ready);
        }
    }

    /// Appends again what the log refused, if it did.
    pub(crate) fn append_again(&mut self, it: &mut Partition, work: &mut Work, ready: &mut Ready) {
        if it.retrying.is_none() {
            return;
        }
        work.end_retry(it);
        if it.log.is_baseline_due {
            self.put_baseline(it, ready);
        }
        let refused = it.log.pending.iter().find(|it| it.mark == LogMark::NEVER);
        if let Some(op) = refused.map(|entry| Op(entry.op.0 - 1)) {
            if it.log.is_cut_due {
                self.put_cut(it, op, ready);
            }
            let mark = self.mark(it.durability);
            let partition = it.id;
            let entries = it.log.pending.iter_mut();
            for entry in entries.filter(|entry| entry.mark == LogMark::NEVER) {
                assert!(entry.op > op, "{} is in the log", entry.op);
                entry.mark = mark;
                let op = entry.op;
                ready.push(Action::AppendAgain {
                    partition,
                    op,
                    mark,
                });
            }
            it.log.mark = mark;
        }
        assert!(!it.log.has_refused(), "appended again in part");
        let mark = it.log.mark;
        self.note(mark);
        self.await_both(mark, it.slot);
        if self.acknowledgements.raise(self.newest) {
            ready.request(Want::SyncLog);
        }
        work.make_ready(it);
    }

    /// The log refused this batch and all later ones: what of the partition was in them. The caller sees to a
    /// follower's stream.
    pub(crate) fn on_refused(&mut self, it: &mut Partition, from: LogMark, ready: &mut Ready) {
        assert!(it.log.mark >= from, "nothing of it was refused");
        if it.log.mark != LogMark::NEVER {
            self.refused = self.refused.max(it.log.mark);
        }
        if it.log.baseline_mark >= from {
            it.log.is_baseline_due = true;
            it.log.baseline_mark = LogMark::NONE;
        }
        if it.log.cut_mark >= from {
            it.log.is_cut_due = true;
            it.log.cut_mark = LogMark::NONE;
        }
        if it.place.role == Role::Primary {
            mark_refused(it, from);
        } else {
            forget_refused(it, from, ready);
        }
    }
}

fn pop_reached(waiting: &mut VecDeque<(LogMark, u32)>, reached: LogMark) -> Option<u32> {
    let (_, slot) = waiting.pop_front_if(|(mark, _)| *mark <= reached)?;
    Some(slot)
}

/// The record of a baseline at the commit position: header and value. `None`: a catch-up has not finished.
pub(crate) fn baseline(it: &Partition) -> Option<(Header, Vec<u8>)> {
    let log = &it.log;
    if log.partial.is_some() {
        return None;
    }
    let op = log.committed;
    let view = log.view_at(op)?;
    let mut value = Vec::new();
    let runs = log.history.runs().iter().copied();
    let baseline = Baseline {
        generation: log.generation,
        view,
        op,
        runs: runs.filter(|run| run.first <= op).collect(),
    };
    baseline.encode(&mut value);
    let mut header = it.header(Kind::Baseline, op, op);
    header.view = view;
    Some((header, value))
}

/// The log does not have these entries.
fn mark_refused(it: &mut Partition, from: LogMark) {
    let entries = it.log.pending.iter_mut().rev();
    for entry in entries.take_while(|entry| entry.mark >= from) {
        entry.mark = LogMark::NEVER;
    }
}

/// A follower takes back what its own log does not have.
fn forget_refused(it: &mut Partition, from: LogMark, ready: &mut Ready) {
    let pending = it.log.pending.iter();
    let kept = pending.take_while(|entry| entry.mark < from).count();
    let kept = Op(it.log.committed.0 + kept as u64);
    // No stream brings again what was found at the start. The log has it still, but in the name of the partition that
    // was split: what a log summary without it would lead to is that what may have committed is lost.
    let op = kept.max(it.log.restored.min(it.log.last.1));
    it.cut(op, ready);
    mark_refused(it, from);
    if it.log.settled_mark >= from {
        // Something is applied that the log does not have: a full copy puts that right.
        it.log.clear_summary();
    }
    let before = LogMark(from.0.saturating_sub(1));
    it.log.mark = it.log.mark.min(before);
    it.log.settled_mark = it.log.settled_mark.min(before);
}
