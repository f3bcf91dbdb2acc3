//! The end of a turn: what was prepared, decided and received since the last one becomes frames.
//!
//! For each stream, in this order: partitions that begin, with their pending lists; new records; partitions that are handed over; the turn's
//! end with commit positions. A stream's receiver votes for the turn's end, so a vote covers all that was
//! sent before it. Work is proportional to what happened, not to how many partitions there are.
//!
//! A commit position goes in the turn in which it commits, though it wakes its receiver for itself where no records go: what was
//! acknowledged is read at the backups as soon as its primary is gone.

use crate::frame::{Begin, Frame};
use crate::links::Links;
use crate::member::Phase;
use crate::own_log::OwnLog;
use crate::partition::Partition;
use crate::ready::{Action, Ready};
use crate::slots::Slots;
use crate::work::Work;
use crate::{LogMark, Sequence};
use brickyard_types::{Durability, View};

/// What the end of a turn looks at, and what it may change.
pub(crate) struct Flush<'a> {
    pub(crate) sequence: Sequence,
    pub(crate) partitions: &'a mut Slots,
    pub(crate) links: &'a mut Links,
    pub(crate) own: &'a mut OwnLog,
    pub(crate) work: &'a mut Work,
    pub(crate) ready: &'a mut Ready,
}

/// A member of a partition that is begun on its stream, and what that may change.
pub(crate) struct Beginning<'a> {
    pub(crate) it: &'a mut Partition,
    /// Its place among the members.
    pub(crate) at: usize,
    pub(crate) sequence: Sequence,
    pub(crate) links: &'a mut Links,
    pub(crate) ready: &'a mut Ready,
}

impl Flush<'_> {
    /// Ends the turn.
    pub(crate) fn flush(&mut self) {
        self.begin_members();
        self.send_records();
        self.yield_partitions();
        self.tell_commits();
        self.end_turn();
        self.send_votes();
    }

    fn begin_members(&mut self) {
        let mut due = std::mem::take(&mut self.work.due);
        for slot in due.drain(..) {
            let Some(it) = self.partitions.get_mut(slot) else {
                continue;
            };
            it.lead.is_due = false;
            if !it.leads() {
                continue;
            }
            for at in 0..it.lead.members.len() {
                let member = &it.lead.members[at];
                let (phase, is_learner) = (&member.phase, member.is_learner);
                let has_summary = matches!(phase, Phase::Summarized(_));
                if !has_summary && *phase != Phase::Due {
                    continue;
                }
                let mut beginning = Beginning {
                    it,
                    at,
                    sequence: self.sequence,
                    links: self.links,
                    ready: self.ready,
                };
                match is_learner {
                    true if has_summary => beginning.begin_learner(),
                    true => beginning.ask_learner(),
                    false => beginning.begin_backup(),
                }
            }
        }
        self.work.due = due;
    }

    fn send_records(&mut self) {
        let sequence = self.sequence;
        let mut dirty = std::mem::take(&mut self.work.dirty);
        for slot in dirty.drain(..) {
            let Some(it) = self.partitions.get_mut(slot) else {
                continue;
            };
            it.lead.is_dirty = false;
            if !it.leads() {
                continue;
            }
            let count = it.lead.unsent;
            let from = it.log.pending.len() - count;
            if count > 0 {
                send_new(it, from, sequence, self.links, self.ready);
            }
            for entry in it.log.pending.range_mut(from..) {
                assert!(
                    entry.sequence == Sequence::NEVER,
                    "op {} was sent",
                    entry.op
                );
                entry.sequence = sequence;
            }
            it.lead.unsent = 0;
            let mark = it.log.pending.back().map_or(LogMark::NONE, |it| it.mark);
            if !self.own.await_own(mark, it.durability, slot) {
                self.work.make_ready(it);
            }
        }
        self.work.dirty = dirty;
    }

    fn tell_commits(&mut self) {
        let mut announced = std::mem::take(&mut self.work.announced);
        for slot in announced.drain(..) {
            let Some(it) = self.partitions.get_mut(slot) else {
                continue;
            };
            it.lead.is_announced = false;
            if !it.leads() {
                continue;
            }
            for member in &it.lead.members {
                if !matches!(member.phase, Phase::Streaming { .. }) {
                    continue;
                }
                let Some(link) = self.links.of(member) else {
                    continue;
                };
                let id = link.id;
                link.sender.tell((it.id, it.log.committed));
                self.links.touch(id);
            }
        }
        self.work.announced = announced;
    }

    fn end_turn(&mut self) {
        let mut touched = self.links.take_touched();
        for id in touched.drain(..) {
            let Some(link) = self.links.get_mut(id) else {
                continue;
            };
            link.sender.is_touched = false;
            let needs_vote = std::mem::take(&mut link.sender.needs_vote);
            let number = if needs_vote {
                self.sequence
            } else {
                Sequence(0)
            };
            self.ready.sequence(id, number, &link.sender.commits);
            link.sender.commits.clear();
            if needs_vote {
                // What the receiver checks: turns rise.
                assert!(
                    self.sequence > link.sender.sent,
                    "turn {} again",
                    self.sequence
                );
                link.sender.sent = self.sequence;
            }
        }
        self.links.put_touched(touched);
    }

    /// Votes for what came in, as far as the own log is.
    fn send_votes(&mut self) {
        let (appended, synced) = (self.own.appended, self.own.synced);
        for link in self.links.iter_mut().filter(|it| !it.is_stale) {
            let receiver = &mut link.receiver;
            if receiver.received == Sequence(0) && receiver.done.is_empty() {
                continue;
            }
            while let Some(&(mark, partition, view, durability)) = receiver.done.front() {
                let reached = match durability {
                    Durability::Fsync => synced,
                    Durability::Memory | Durability::Log => appended,
                };
                if mark > reached {
                    break;
                }
                receiver.done.pop_front();
                let done = Frame::CopyDone { partition, view };
                self.ready.frame(link.id, &done);
            }
            if let Some(vote) = receiver.next_vote(appended, synced) {
                self.ready.frame(link.id, &Frame::Vote(vote));
            }
        }
    }
}

/// Sends the entries from the place `from` on to every member that has those before.
fn send_new(it: &Partition, from: usize, sequence: Sequence, links: &mut Links, ready: &mut Ready) {
    let (first, count) = (it.log.pending[from].op, it.log.pending.len() - from);
    for member in &it.lead.members {
        match member.phase {
            // It got the whole list in this turn.
            Phase::Streaming { since } if since < sequence => {}
            _ => continue,
        }
        let Some(link) = links.of(member) else {
            continue;
        };
        ready.push(Action::Records {
            link: link.id,
            partition: it.id,
            first,
            count,
        });
        link.sender.needs_vote = true;
        if member.is_required {
            link.sender.await_vote(sequence, it.slot, it.durability);
        }
        let id = link.id;
        links.touch(id);
    }
}

impl Beginning<'_> {
    /// A view, or a stream, begins for a backup: the whole pending list is sent (again).
    fn begin_backup(&mut self) {
        let begin = begin_of(self.it, false);
        let Some(link) = self.links.of(&self.it.lead.members[self.at]) else {
            return;
        };
        self.ready.frame(link.id, &Frame::Begin(begin));
        self.send_pending();
    }

    fn ask_learner(&mut self) {
        let begin = begin_of(self.it, true);
        let member = &mut self.it.lead.members[self.at];
        let Some(link) = self.links.of(member) else {
            return;
        };
        self.ready.frame(link.id, &Frame::Begin(begin));
        link.sender.needs_vote = true;
        let id = link.id;
        self.links.touch(id);
        member.phase = Phase::AwaitsSummary;
    }

    /// Sends all that is pending to a member, whose votes count from this turn on.
    pub(crate) fn send_pending(&mut self) {
        let Self {
            it,
            at,
            sequence,
            links,
            ready,
        } = self;
        let member = &mut it.lead.members[*at];
        let Some(link) = links.of(member) else {
            return;
        };
        let id = link.id;
        let first = it.log.committed.next();
        let count = it.log.pending.len();
        if count > 0 {
            ready.push(Action::Records {
                link: id,
                partition: it.id,
                first,
                count,
            });
        }
        link.sender.needs_vote = true;
        link.sender.await_vote(*sequence, it.slot, it.durability);
        links.touch(id);
        member.phase = Phase::Streaming { since: *sequence };
    }
}

fn begin_of(it: &Partition, is_learner: bool) -> Begin {
    // What the receiver checks when the frame arrives.
    assert!(it.leads(), "only the primary of a view begins it");
    let committed = it.log.committed;
    assert!(committed <= it.log.last.1, "committed and not held");
    Begin {
        table: it.table,
        partition: it.id,
        view: it.place.view,
        generation: it.place.generation,
        is_learner,
        // A view that is not remembered matches nobody's.
        first: (it.log.view_at(committed).unwrap_or(View(0)), committed),
        last: it.log.last.1,
        runs: it.log.runs_above(committed),
    }
}
