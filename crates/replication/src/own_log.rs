//! The progress of this brick's own log, and its refusals.

use crate::follow::put_cut;
use crate::frame::Reason;
use crate::partition::Partition;
use crate::{Host, LogMark, Replicator, Role};
use brickyard_types::Op;

impl<P> Replicator<P> {
    /// The own log has everything up to this batch.
    pub fn on_appended<H: Host<Payload = P>>(&mut self, host: &mut H, upto: LogMark) {
        self.own.appended = self.own.appended.max(upto);
        self.own.answered = self.own.answered.max(upto);
        while let Some(&(mark, slot)) = self.own.until_appended.front() {
            if mark > self.own.appended {
                break;
            }
            self.own.until_appended.pop_front();
            self.make_ready(slot);
        }
        self.settle(host);
    }

    /// The own log is synced up to this batch.
    pub fn on_synced<H: Host<Payload = P>>(&mut self, host: &mut H, upto: LogMark) {
        self.own.synced = self.own.synced.max(upto);
        while let Some(&(mark, slot)) = self.own.until_synced.front() {
            if mark > self.own.synced {
                break;
            }
            self.own.until_synced.pop_front();
            self.make_ready(slot);
        }
        // What is synced is appended.
        self.on_appended(host, upto);
        if !self.has_gaps() {
            self.acknowledgements.on_synced(upto);
        }
    }

    /// Whether the log misses what a primary has prepared: then it has not accepted.
    fn has_gaps(&self) -> bool {
        let slots = self.work.retrying.iter();
        let mut retrying = slots.filter_map(|slot| self.partitions.get(*slot));
        retrying.any(|it| it.place.role == Role::Primary)
    }

    /// The own log refused this batch and all later ones so far (a full disk). To be called before
    /// `on_appended` of a newer one; records of the current turn may be taken back with [`Self::rewind`]
    /// before.
    ///
    /// What peers sent is forgotten ([`Host::cut`]) and asked for again. What this brick prepared stays
    /// pending, since peers may hold it: it is appended again from `tick` on, until when the partition takes
    /// no writes. Their clients are to be told `UNKNOWNRESULT`. What a part was given of a partition that was
    /// split stays as well, and is appended again with its base: nobody else may have it.
    pub fn on_refused<H: Host<Payload = P>>(&mut self, host: &mut H, from: LogMark) {
        for slot in 0..self.partitions.count() {
            let Some(it) = self.partitions.get_mut(slot) else {
                continue;
            };
            if it.log.mark < from {
                continue;
            }
            if it.log.mark != LogMark::NEVER {
                self.own.answered = self.own.answered.max(it.log.mark);
            }
            if it.log.base_mark >= from {
                it.log.owes_base = true;
                it.log.base_mark = LogMark::NONE;
            }
            if it.place.role == Role::Primary {
                mark_refused(it, from);
                if it.log.cut_mark >= from {
                    it.log.owes_cut = true;
                    it.log.cut_mark = LogMark::NONE;
                }
            } else {
                forget_refused(host, it, from);
                self.leave(slot, Reason::Log);
            }
            self.retry(slot);
            self.tell(host, slot);
        }
    }

    /// What the log refused is appended again after a while.
    fn retry(&mut self, slot: u32) {
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        if (it.log.has_refused() || it.log.owes_base) && it.retrying.is_none() {
            it.retrying = Some(self.now);
            self.work.retrying.push(slot);
        }
    }

    /// Appends again what the log refused, if it did.
    pub(crate) fn append_again<H: Host<Payload = P>>(&mut self, host: &mut H, slot: u32) {
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        if it.retrying.take().is_none() {
            return;
        }
        self.work.retrying.retain(|it| *it != slot);
        if it.log.owes_base {
            put_base(host, it);
        }
        let refused = it.log.pending.iter().find(|it| it.mark == LogMark::NEVER);
        if let Some(op) = refused.map(|entry| Op(entry.op.0 - 1)) {
            if it.log.owes_cut {
                put_cut(host, it, op);
            }
            let entries = it.log.pending.iter_mut();
            for entry in entries.filter(|entry| entry.mark == LogMark::NEVER) {
                entry.mark = host.append_again(&entry.payload);
                it.log.mark = entry.mark;
            }
        }
        let mark = it.log.mark;
        self.own.newest = self.own.newest.max(mark);
        self.own.until_appended.push_back((mark, slot));
        self.own.until_synced.push_back((mark, slot));
        if self.acknowledgements.raise(self.own.newest) {
            self.requests.push_back(crate::Request::SyncLog);
        }
        self.make_ready(slot);
    }
}

/// Writes what may be claimed of a partition that came from others. In one batch with what is pending since then: a log
/// that had the one without the other would claim too little, or nothing.
fn put_base<P, H: Host<Payload = P>>(host: &mut H, it: &mut Partition<P>) {
    it.log.owes_base = false;
    if let Some((header, value)) = it.base() {
        let (mark, _) = host.append_own(&header, &value);
        it.log.base_mark = mark;
        it.log.note(mark);
    }
}

/// The log does not have these entries.
fn mark_refused<P>(it: &mut Partition<P>, from: LogMark) {
    let entries = it.log.pending.iter_mut().rev();
    for entry in entries.take_while(|entry| entry.mark >= from) {
        entry.mark = LogMark::NEVER;
    }
}

/// A follower takes back what its own log does not have.
fn forget_refused<P, H: Host<Payload = P>>(host: &mut H, it: &mut Partition<P>, from: LogMark) {
    let kept = it
        .log
        .pending
        .iter()
        .take_while(|it| it.mark < from)
        .count();
    let kept = Op(it.log.committed.0 + kept as u64);
    // No stream brings again what was found at the start. The log has it still, but in the name of the partition that
    // was split: what a claim without it would lead to is that what may have committed is lost.
    let op = kept.max(it.log.restored.min(it.log.last.1));
    let mut gone = it.log.cut(op);
    host.cut(it.id, &mut gone.drain(..).rev());
    mark_refused(it, from);
    if it.log.cut_mark >= from {
        it.log.owes_cut = true;
    }
    if it.log.settled_mark >= from {
        // Something is applied that the log does not have: a full copy puts that right.
        it.log.claim_nothing();
    }
    let before = LogMark(from.0.saturating_sub(1));
    it.log.mark = it.log.mark.min(before);
    it.log.settled_mark = it.log.settled_mark.min(before);
    it.log.cut_mark = it.log.cut_mark.min(before);
}
