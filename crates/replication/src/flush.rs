//! The end of a turn: what was prepared, decided and received since the last one becomes frames.
//!
//! For each stream, in this order: partitions that begin, with their pending lists; new records; the turn's
//! end with commit positions. A stream's receiver votes for the turn's end, so a vote covers all that was
//! sent before it. Work is proportional to what happened, not to how many partitions there are.

use crate::frame::{Begin, Frame, Writer, byte, put_turn};
use crate::link::{Link, level};
use crate::member::{Member, Phase};
use crate::partition::Partition;
use crate::{Host, LinkId, LogMark, Replicator, Request, Turn};
use brickyard_types::{Durability, View};

/// A frame of records is ended once it is so long, so that its receiver can begin with it.
const RECORDS_BYTES: usize = 256 * 1024;

impl<P> Replicator<P> {
    /// Ends a turn: what was prepared, decided and received since the last flush becomes frames.
    pub fn flush<H: Host<Payload = P>>(&mut self, host: &mut H) {
        self.settle(host);
        let turn = Turn(self.turn.0 + 1);
        self.turn = turn;
        self.begin_members(host, turn);
        self.send_records(host, turn);
        self.tell_commits();
        self.end_turn(turn);
        self.send_votes();
        // What waits for nobody (a partition without other members) has been flushed as well.
        self.settle(host);
    }

    fn begin_members<H: Host<Payload = P>>(&mut self, host: &H, turn: Turn) {
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
                let Some(it) = self.partitions.get_mut(slot) else {
                    break;
                };
                let member = &it.lead.members[at];
                match &member.phase {
                    Phase::Due if member.is_learner => self.ask_learner(slot, at),
                    Phase::Due => self.begin_backup(host, slot, at, turn),
                    Phase::Claimed(_) => self.begin_learner(host, slot, at, turn),
                    Phase::Unlinked | Phase::Refused | Phase::Claiming => {}
                    Phase::Streaming { .. } => {}
                }
            }
        }
        self.work.due = due;
    }

    /// A view, or a stream, begins for a backup: the whole pending list is sent (again).
    fn begin_backup<H: Host<Payload = P>>(&mut self, host: &H, slot: u32, at: usize, turn: Turn) {
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        let begin = begin_of(it, false);
        let Some(link) = linked(&mut self.links, &it.lead.members[at]) else {
            return;
        };
        link.put(&Frame::Begin(begin));
        self.send_pending(host, slot, at, turn);
    }

    fn ask_learner(&mut self, slot: u32, at: usize) {
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        let begin = begin_of(it, true);
        let Some(link) = linked(&mut self.links, &it.lead.members[at]) else {
            return;
        };
        link.put(&Frame::Begin(begin));
        link.sender.needs_vote = true;
        link.touch(&mut self.work.touched);
        it.lead.members[at].phase = Phase::Claiming;
    }

    /// Sends all that is pending to a member, whose votes count from this turn on.
    pub(crate) fn send_pending<H: Host<Payload = P>>(
        &mut self,
        host: &H,
        slot: u32,
        at: usize,
        turn: Turn,
    ) {
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        let Some(link) = linked(&mut self.links, &it.lead.members[at]) else {
            return;
        };
        for entry in &it.log.pending {
            link.put_record(host.bytes(&entry.payload));
        }
        link.sender.needs_vote = true;
        link.touch(&mut self.work.touched);
        link.sender.waiting[level(it.durability)].push_back((turn, slot));
        it.lead.members[at].phase = Phase::Streaming { since: turn };
    }

    fn send_records<H: Host<Payload = P>>(&mut self, host: &H, turn: Turn) {
        let mut dirty = std::mem::take(&mut self.work.dirty);
        for slot in dirty.drain(..) {
            let Some(it) = self.partitions.get_mut(slot) else {
                continue;
            };
            it.lead.is_dirty = false;
            if !it.leads() {
                continue;
            }
            let from = it.log.pending.len() - it.lead.unsent;
            for member in &it.lead.members {
                match member.phase {
                    // It got the whole list in this turn.
                    Phase::Streaming { since } if since < turn && it.lead.unsent > 0 => {}
                    _ => continue,
                }
                let Some(link) = linked(&mut self.links, member) else {
                    continue;
                };
                for entry in it.log.pending.range(from..) {
                    link.put_record(host.bytes(&entry.payload));
                }
                link.sender.needs_vote = true;
                link.touch(&mut self.work.touched);
                if member.is_required {
                    link.sender.waiting[level(it.durability)].push_back((turn, slot));
                }
            }
            for entry in it.log.pending.range_mut(from..) {
                entry.turn = turn;
            }
            it.lead.unsent = 0;
            let own = &mut self.own;
            let mark = it.log.pending.back().map_or(LogMark::NONE, |it| it.mark);
            let (reached, waiting) = match it.durability {
                Durability::Fsync => (own.synced, &mut own.until_synced),
                Durability::Memory | Durability::Log => (own.appended, &mut own.until_appended),
            };
            if mark <= reached {
                self.make_ready(slot);
            } else if mark != LogMark::NEVER {
                waiting.push_back((mark, slot));
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
                if let Some(link) = linked(&mut self.links, member) {
                    link.sender.commits.push((it.id, it.log.committed));
                    link.touch(&mut self.work.touched);
                }
            }
        }
        self.work.announced = announced;
    }

    fn end_turn(&mut self, turn: Turn) {
        let mut touched = std::mem::take(&mut self.work.touched);
        for id in touched.drain(..) {
            let bytes_max = self.config.output_bytes_max;
            let Some(link) = self.link_mut(id) else {
                continue;
            };
            link.sender.is_touched = false;
            link.end_records();
            let needs_vote = std::mem::take(&mut link.sender.needs_vote);
            let number = if needs_vote { turn } else { Turn(0) };
            put_turn(&mut link.output.bytes, number, &link.sender.commits);
            link.sender.commits.clear();
            if needs_vote {
                link.sender.sent = turn;
            }
            self.close_if_stuck(id, bytes_max);
            self.queue_output(id);
        }
        self.work.touched = touched;
    }

    fn close_if_stuck(&mut self, id: LinkId, bytes_max: usize) {
        let Some(link) = self.link_mut(id) else {
            return;
        };
        let is_stuck = link.output.unsent() > bytes_max;
        if is_stuck && !link.is_stale {
            link.is_stale = true;
            let reason = "the peer does not read";
            self.requests.push_back(Request::Close { link: id, reason });
        }
    }

    /// Votes for what came in, as far as the own log is.
    fn send_votes(&mut self) {
        let (appended, synced) = (self.own.appended, self.own.synced);
        for at in 0..self.links.len() {
            let Some(link) = self.links[at].as_mut().filter(|it| !it.is_stale) else {
                continue;
            };
            let receiver = &mut link.receiver;
            if receiver.received == Turn(0) && receiver.done.is_empty() {
                continue;
            }
            let mut is_written = false;
            while let Some(&(mark, partition, view, durability)) = receiver.done.front() {
                let reached = match durability {
                    Durability::Fsync => synced,
                    Durability::Memory | Durability::Log => appended,
                };
                if mark > reached {
                    break;
                }
                receiver.done.pop_front();
                Frame::CopyDone { partition, view }.encode(&mut link.output.bytes);
                is_written = true;
            }
            let vote = receiver.vote(appended, synced);
            if vote != receiver.told {
                receiver.told = vote;
                let frame = Frame::Vote {
                    received: vote.received,
                    appended: vote.appended,
                    synced: vote.synced,
                };
                frame.encode(&mut link.output.bytes);
                is_written = true;
            }
            let id = link.id;
            if is_written {
                self.queue_output(id);
            }
        }
    }
}

fn begin_of<P>(it: &Partition<P>, is_learner: bool) -> Begin {
    let committed = it.log.committed;
    Begin {
        table: it.table,
        partition: it.id,
        view: it.place.view,
        lineage: it.place.lineage,
        is_learner,
        // A view that is not remembered matches nobody's.
        first: (it.log.view_at(committed).unwrap_or(View(0)), committed),
        last: it.log.last.1,
        runs: it.log.runs_above(committed),
    }
}

pub(crate) fn linked<'a>(links: &'a mut [Option<Link>], member: &Member) -> Option<&'a mut Link> {
    let link = links.get_mut(member.link?.0 as usize)?.as_mut()?;
    (!link.is_stale).then_some(link)
}

impl Link {
    /// Writes a frame; one of records that was begun is ended before.
    pub(crate) fn put(&mut self, frame: &Frame<'_>) {
        self.end_records();
        frame.encode(&mut self.output.bytes);
    }

    fn put_record(&mut self, record: &[u8]) {
        let out = &mut self.output.bytes;
        let writer = match self.sender.records {
            // The record goes into the frame that is being written, unless that would get too long.
            Some(writer) if writer.len(out) + record.len() <= RECORDS_BYTES => writer,
            _ => {
                self.end_records();
                Writer::begin(&mut self.output.bytes, byte::RECORDS)
            }
        };
        self.output.bytes.extend_from_slice(record);
        self.sender.records = Some(writer);
    }

    fn end_records(&mut self) {
        if let Some(writer) = self.sender.records.take() {
            writer.end(&mut self.output.bytes);
        }
    }

    fn touch(&mut self, touched: &mut Vec<LinkId>) {
        if !std::mem::replace(&mut self.sender.is_touched, true) {
            touched.push(self.id);
        }
    }
}
