//! This brick as a learner: its claim, the copies, and the base record that ends them.

use crate::commit::commit;
use crate::follow::{put_cut, put_cut_above};
use crate::frame::{CopyStart, Frame, FrameError, Reason};
use crate::partition::Partition;
use crate::view::own_header;
use crate::{Base, History, Host, LinkId, Replicator, Request, Role};
use brickyard_types::record::{self, Kind};
use brickyard_types::{Op, PartitionId, View};

const fn broken<T>(what: &'static str) -> Result<T, FrameError> {
    Err(FrameError::Protocol { what })
}

impl<P> Replicator<P> {
    /// Answers a primary's question.
    pub(crate) fn claim(&mut self, link: LinkId, slot: u32) {
        let Some(it) = self.partitions.get(slot) else {
            return;
        };
        let claim = Frame::Claim {
            partition: it.id,
            view: it.place.view,
            claim: it.log.claim(),
        };
        let partition = it.id;
        self.put_frame(link, &claim);
        if let Some(link) = self.link_mut(link) {
            link.receiver.refused.remove(&partition);
        }
    }

    /// The primary says where the log is cut and what the stream follows.
    pub(crate) fn on_copy_start<H: Host<Payload = P>>(
        &mut self,
        host: &mut H,
        link: LinkId,
        start: &CopyStart,
    ) -> Result<(), FrameError> {
        let slot = self.partitions.find(start.partition);
        let found = slot.and_then(|slot| Some((slot, self.partitions.get_mut(slot)?)));
        let Some((slot, it)) = found.filter(|(_, it)| it.follow.claimed == Some(link)) else {
            return self.pass_over(link, start.partition);
        };
        if it.place.role != Role::Learner || it.place.view != start.view {
            return broken("a copy that was not asked for");
        }
        let runs = History::new(&start.runs);
        if runs.view_at(start.first.1) != Some(start.first.0) && start.first.1 > Op(0) {
            return broken("a copy that does not know its own end");
        }
        if start.is_full {
            let mut gone = it.log.cut(it.log.committed);
            host.cut(it.id, &mut gone.drain(..).rev());
            // PROTOCOL rule 14: a full copy replaces what there is, and its op is the horizon.
            host.clear(it.id, start.first.1);
            it.log.horizon = start.first.1;
            it.log.owes_base = false;
            it.log.claim_nothing();
            it.log.jump(start.first, runs);
            put_cut(host, it, start.first.1);
            it.log.settled_mark = it.log.mark;
        } else if !catch_up(host, it, start, runs) {
            // It answers an earlier claim: the primary took this learner off its list and on again meanwhile, and
            // more has been copied since. It is asked anew.
            self.leave(slot, Reason::Gap);
            return Ok(());
        }
        it.log.lineage = it.place.lineage;
        it.follow.claimed = None;
        it.follow.stream = Some(link);
        it.follow.known_commit = start.first.1.max(it.log.committed);
        it.follow.copying = Some(start.first);
        self.step_in(link, slot);
        self.make_ready(slot);
        Ok(())
    }

    /// Copied records.
    pub(crate) fn on_copy<H: Host<Payload = P>>(
        &mut self,
        host: &mut H,
        link: LinkId,
        partition: PartitionId,
        mut bytes: &[u8],
    ) -> Result<(), FrameError> {
        let slot = self.partitions.find(partition);
        let found = slot.and_then(|slot| Some((slot, self.partitions.get_mut(slot)?)));
        let found = found.filter(|(_, it)| it.follow.stream == Some(link));
        let Some((slot, it)) = found.filter(|(_, it)| it.follow.copying.is_some()) else {
            return self.pass_over(link, partition);
        };
        while !bytes.is_empty() {
            let Ok(record) = record::decode(bytes) else {
                return broken("a damaged copy");
            };
            let (raw, rest) = bytes.split_at(record.len);
            bytes = rest;
            let header = &record.header;
            let is_copied = matches!(header.kind, Kind::Put | Kind::Delete | Kind::Batch);
            if !is_copied || header.partition != partition || header.table != it.table {
                return broken("a copy that is not one of the partition");
            }
            match host.copy(partition, &record, raw) {
                Ok(mark) => {
                    it.log.note(mark);
                    it.log.settled_mark = it.log.settled_mark.max(mark);
                }
                Err(what) => {
                    self.requests.push_back(Request::Report { partition, what });
                    self.leave(slot, Reason::Log);
                    return Ok(());
                }
            }
        }
        self.own.newest = self.own.newest.max(it.log.mark);
        Ok(())
    }

    /// All copies are here: with them, everything up to `at` is.
    pub(crate) fn on_copy_end<H: Host<Payload = P>>(
        &mut self,
        host: &mut H,
        link: LinkId,
        partition: PartitionId,
        view: View,
        at: (View, Op),
    ) -> Result<(), FrameError> {
        let slot = self.partitions.find(partition);
        let found = slot.and_then(|slot| self.partitions.get_mut(slot));
        let Some(it) = found.filter(|it| it.follow.stream == Some(link)) else {
            return self.pass_over(link, partition);
        };
        if it.follow.copying != Some(at) || it.place.view != view {
            return broken("the end of another copy");
        }
        it.follow.copying = None;
        if it.log.partial.take().is_some() {
            // PROTOCOL rule 15: what was copied counts from the base record on.
            let runs = it.log.history.runs().iter().copied();
            let base = Base {
                lineage: it.place.lineage,
                view: at.0,
                op: at.1,
                runs: runs.filter(|run| run.first <= at.1).collect(),
            };
            let mut value = Vec::new();
            base.encode(&mut value);
            let mut header = own_header(Kind::Base, it, at.1, it.log.committed);
            header.view = at.0;
            let (mark, _) = host.append_own(&header, &value);
            it.log.note(mark);
            // Should the log refuse it, nothing can be claimed.
            it.log.settled_mark = it.log.settled_mark.max(mark);
        }
        let mark = it.log.mark;
        let durability = it.durability;
        self.own.newest = self.own.newest.max(mark);
        if let Some(link) = self.link_mut(link) {
            let done = (mark, partition, view, durability);
            link.receiver.done.push_back(done);
            link.receiver.mark = link.receiver.mark.max(mark);
        }
        Ok(())
    }

    /// What was sent before the sender knew that the partition had been refused.
    fn pass_over(&self, link: LinkId, partition: PartitionId) -> Result<(), FrameError> {
        let link = self.link(link);
        let is_refused = link.is_some_and(|it| it.receiver.refused.contains_key(&partition));
        if is_refused {
            Ok(())
        } else {
            broken("a part of a copy that did not begin")
        }
    }
}

/// A catch-up by difference begins: the log is cut, and goes on behind what the copies will bring. False if
/// that would cut what is known to be committed.
fn catch_up<P, H: Host<Payload = P>>(
    host: &mut H,
    it: &mut Partition<P>,
    start: &CopyStart,
    runs: History,
) -> bool {
    let known = it.log.committed;
    let unfinished = it.log.partial.as_ref().map(|claim| claim.last);
    if let Some(claimed) = unfinished.filter(|claimed| claimed.1 < known) {
        // An earlier catch-up has not finished. What it left out may lie anywhere up to the commit position
        // of its primary, and this primary may know less to be committed: the stream begins there anew, and
        // brings again what is here already.
        if start.cut > claimed.1 {
            return false;
        }
        let mut gone = it.log.cut(known);
        host.cut(it.id, &mut gone.drain(..).rev());
        it.log.become_partial(start.cut);
        // Where the claim ends now, if that is further.
        let claimed = it.log.partial.as_ref().map(|claim| claim.last);
        let first = claimed
            .filter(|claimed| claimed.1 > start.first.1)
            .unwrap_or(start.first);
        put_cut_above(host, it, known.min(first.1));
        it.log.jump(first, runs);
        it.log.settled_mark = it.log.mark;
        return true;
    }
    let held = it.log.view_at(start.cut);
    // PROTOCOL rule 28: never below what is known to be committed.
    if start.cut < known || held.is_none() || held != runs.view_at(start.cut) {
        return false;
    }
    put_cut(host, it, start.cut);
    let mut gone = it.log.cut(start.cut);
    host.cut(it.id, &mut gone.drain(..).rev());
    if start.cut < start.first.1 {
        // All that is left agrees with the primary's log and lies below its commit position.
        let count = it.log.pending.len();
        commit(host, it, count);
        // PROTOCOL rule 15: what lies between is missing until the copies are here.
        it.log.become_partial(start.cut);
        it.log.jump(start.first, runs);
        it.log.settled_mark = it.log.mark;
    }
    true
}
