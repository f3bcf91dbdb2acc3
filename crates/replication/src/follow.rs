//! This brick as a backup: a view's beginning, its records, the primary's commit positions.
//!
//! Everything here comes from a peer. What may come and is not wanted is refused; what no correct peer sends
//! is an error, and the owner closes the link. Nothing panics, and nothing committed is cut.

use crate::frame::{Begin, Commits, FrameError, Reason, Refuse};
use crate::links::Links;
use crate::own_log::OwnLog;
use crate::partition::Partition;
use crate::ready::{Action, Ready, Received};
use crate::slots::Slots;
use crate::summary::ViewStart;
use crate::work::Work;
use crate::{LinkId, PreparedRecord, Role, Sequence};
use brickyard_routing::Replica;
use brickyard_types::record::{self, Kind, Record, flag};
use brickyard_types::{Instant, Op, PartitionId, View};

pub(crate) const fn broken<T>(what: &'static str) -> Result<T, FrameError> {
    Err(FrameError::Protocol { what })
}

/// One partition that this brick follows, and what its records may change besides it.
pub(crate) struct Follower<'a> {
    pub(crate) now: Instant,
    pub(crate) it: &'a mut Partition,
    pub(crate) links: &'a mut Links,
    pub(crate) own: &'a mut OwnLog,
    pub(crate) work: &'a mut Work,
    pub(crate) ready: &'a mut Ready,
}

/// What comes in on one stream, of any partitions.
pub(crate) struct Inflow<'a> {
    pub(crate) now: Instant,
    pub(crate) link: LinkId,
    pub(crate) partitions: &'a mut Slots,
    pub(crate) links: &'a mut Links,
    pub(crate) own: &'a mut OwnLog,
    pub(crate) work: &'a mut Work,
    pub(crate) ready: &'a mut Ready,
}

impl Inflow<'_> {
    #[inline]
    pub(crate) fn follower(&mut self, slot: u32) -> Option<Follower<'_>> {
        Some(Follower {
            now: self.now,
            it: self.partitions.get_mut(slot)?,
            links: self.links,
            own: self.own,
            work: self.work,
            ready: self.ready,
        })
    }

    pub(crate) fn find(&mut self, partition: PartitionId) -> Option<Follower<'_>> {
        let slot = self.partitions.find(partition)?;
        self.follower(slot)
    }

    /// The primary begins a view here, or begins it again.
    pub(crate) fn on_begin(&mut self, begin: &Begin) -> Result<(), FrameError> {
        let link = self.link;
        let Some(peer) = self.links.get(link).map(|it| it.peer) else {
            return Ok(());
        };
        match self.find(begin.partition) {
            Some(mut follower) => follower.on_begin(link, peer, begin),
            None => {
                // Rule `acknowledged views are remembered`: only the map makes a brick a member. It may be on its
                // way.
                let refuse = refusal(begin, Reason::NewView);
                self.links.refuse(link, refuse, self.ready);
                Ok(())
            }
        }
    }

    /// Prepared records, of any partitions that began on this stream; `bytes` are the end of the frame.
    pub(crate) fn on_records(&mut self, frame: &[u8], bytes: &[u8]) -> Result<(), FrameError> {
        let link = self.link;
        let mut at = frame.len() - bytes.len();
        let mut found: Option<(PartitionId, u32)> = None;
        while at < frame.len() {
            let Ok(record) = record::decode(&frame[at..]) else {
                return broken("a damaged record");
            };
            let received = Received::new(&record, at);
            at += record.len;
            let partition = record.header.partition;
            let slot = match found {
                Some((last, slot)) if last == partition => Some(slot),
                _ => self.partitions.find(partition),
            };
            let Some(slot) = slot else {
                self.pass_over(partition)?;
                continue;
            };
            found = Some((partition, slot));
            if let Some(mut follower) = self.follower(slot) {
                follower.on_record(link, &record, received)?;
            }
        }
        Ok(())
    }

    /// A record of a partition that is not known here.
    fn pass_over(&self, partition: PartitionId) -> Result<(), FrameError> {
        if self.links.is_refused(self.link, partition) {
            return Ok(());
        }
        broken("a record of a partition that did not begin")
    }

    /// A turn of the sender is complete.
    pub(crate) fn on_sequence(
        &mut self,
        sequence: Sequence,
        commits: Commits<'_>,
    ) -> Result<(), FrameError> {
        for (partition, op) in commits.iter() {
            let link = self.link;
            // Rule `votes belong to a stream`: positions of another stream are dropped.
            let follower = self.find(partition);
            if let Some(Follower { it, work, .. }) =
                follower.filter(|it| it.it.follow.stream == Some(link))
                && op > it.follow.known_commit
            {
                it.follow.known_commit = op;
                work.make_ready(it);
            }
        }
        if sequence != Sequence(0)
            && let Some(link) = self.links.get_mut(self.link)
        {
            if sequence <= link.receiver.received {
                return broken("a turn that is not newer than the last");
            }
            link.receiver.on_sequence(sequence);
        }
        Ok(())
    }
}

impl Follower<'_> {
    fn on_begin(&mut self, link: LinkId, peer: Replica, begin: &Begin) -> Result<(), FrameError> {
        let it = &mut *self.it;
        let mut taken = may_begin(it, peer, begin);
        let fitness = &self.own.fitness;
        if fitness.is_stuck() || (begin.is_learner && !fitness.may_learn(self.now)) {
            // What it brings would wait for the own log.
            taken = taken.and(Err(Reason::Log));
        }
        if let Err(reason) = taken {
            let is_withdrawal = reason == Reason::Log;
            if is_withdrawal || [it.follow.stream, it.follow.reported_to].contains(&Some(link)) {
                // What follows belongs to the view that is refused.
                it.follow.detach(it.log.committed);
            }
            if is_withdrawal {
                // Rule `a withdrawn member is fenced`: nothing is done on the strength of an earlier beginning either.
                it.follow.begun = View(0);
                it.tell(self.ready);
            }
            self.links.refuse(link, refusal(begin, reason), self.ready);
            return Ok(());
        }
        if it.table != begin.table {
            return broken("a partition of another table");
        }
        // What the primary asserts when it sends: a view that was not left for a newer one here.
        assert!(it.place.is_current(), "{:?} was left", it.place);
        it.follow.detach(it.log.committed);
        self.own.append_again(it, self.work, self.ready);
        if begin.is_learner {
            it.follow.reported_to = Some(link);
            self.summary(link);
            return Ok(());
        }
        match agreement(it, begin) {
            Ok(op) => self.follow(link, begin, op),
            Err((reason, what)) => {
                it.follow.begun = View(0);
                self.links.refuse(link, refusal(begin, reason), self.ready);
                let what = format!("{what} (view {}, from {peer})", begin.view);
                self.ready.report(it.id, what);
                it.tell(self.ready);
            }
        }
        Ok(())
    }

    /// The logs agree up to `op`: what is above it here goes, and the stream is followed.
    fn follow(&mut self, link: LinkId, begin: &Begin, op: Op) {
        let Self { it, own, ready, .. } = self;
        if it.log.generation == 0 {
            it.log.generation = begin.generation;
        }
        if op < it.log.last.1 || it.log.is_cut_due {
            own.put_cut(it, op, ready);
            it.cut(op, ready);
        }
        it.follow.stream = Some(link);
        it.follow.begun = begin.view;
        it.follow.reach = begin.last;
        it.follow.is_short = it.log.last.1 < begin.last;
        // Both logs agree up to the cut, so what the primary committed of it is committed.
        it.follow.known_commit = begin.first.1;
        self.step_in(link);
        self.work.make_ready(self.it);
        self.it.tell(self.ready);
    }

    /// The partition is in step on this stream: its votes cover it, as far as its log goes.
    pub(crate) fn step_in(&mut self, link: LinkId) {
        let mark = self.it.log.mark;
        assert!(mark <= self.own.newest, "{mark} was not noted");
        if let Some(link) = self.links.get_mut(link) {
            link.receiver.refused.remove(&self.it.id);
            // Rule `a cut is a record`: the cut is in the log before the first vote of the view. So is everything
            // that is held from before and will not be sent to the log again.
            link.receiver.mark = link.receiver.mark.max(mark);
            link.receiver.note(self.it.durability);
        }
    }

    /// This brick takes no more of the partition's records on its stream, if it has one.
    pub(crate) fn leave(&mut self, reason: Reason) {
        leave(self.it, reason, self.links, self.ready);
    }

    #[inline]
    fn on_record(
        &mut self,
        link: LinkId,
        record: &Record<'_>,
        received: Received,
    ) -> Result<(), FrameError> {
        let it = &mut *self.it;
        if it.follow.stream != Some(link) {
            // Rule `votes cover what was appended`: its refusal went ahead, and holds for all of them until it begins
            // again.
            return if self.links.is_refused(link, it.id) {
                Ok(())
            } else {
                broken("a record of a partition that did not begin")
            };
        }
        let header = &record.header;
        let is_streamed = matches!(
            header.kind,
            Kind::Put | Kind::Delete | Kind::Batch | Kind::Clear | Kind::ViewStart
        );
        if !is_streamed || header.table != it.table || header.flags & flag::MOVED != 0 {
            return broken("a record that is not one of the stream");
        }
        if header.committed.is_none() || header.view > it.place.view {
            return broken("a record that was not prepared in this view");
        }
        match place_of(it, record) {
            Fit::Held => return Ok(()),
            Fit::Next => {}
            Fit::Gap => {
                self.leave(Reason::Gap);
                self.it.tell(self.ready);
                return Ok(());
            }
        }
        // What the primary asserts when it sends.
        assert!(it.place.is_current(), "{:?} was left", it.place);
        assert!(
            !it.log.has_refused(),
            "the own log misses what is before it"
        );
        let mark = self.own.mark(it.durability);
        it.log.push(PreparedRecord {
            view: header.view,
            op: header.op,
            mark,
            sequence: Sequence(0),
        });
        self.ready.push(Action::Append {
            record: received,
            mark,
        });
        if it.follow.is_short && header.op >= it.follow.reach {
            it.follow.is_short = false;
            it.tell(self.ready);
        }
        if header.op <= it.follow.known_commit {
            self.work.make_ready(it);
        }
        self.own.note_voting(mark, it.durability);
        if let Some(link) = self.links.get_mut(link) {
            link.receiver.mark = link.receiver.mark.max(mark);
            link.receiver.note(it.durability);
        }
        Ok(())
    }

    /// The owner could not take the records from `op` on, of the last frame; `is_batch_empty`: nor anything else of
    /// what would have gone into the open batch.
    pub(crate) fn on_rejected(&mut self, op: Option<Op>, is_batch_empty: bool) {
        let stream = self.it.follow.stream;
        if let Some(op) = op {
            assert!(op > self.it.log.committed, "{op} was taken before");
            self.it.log.cut(Op(op.0 - 1));
        }
        if is_batch_empty {
            let before = self.own.take_back(self.it);
            if let Some(link) = stream.and_then(|link| self.links.get_mut(link)) {
                link.receiver.mark = link.receiver.mark.min(before);
            }
        }
        self.leave(Reason::Log);
        self.it.tell(self.ready);
    }
}

/// This brick takes no more of a partition's records on its stream, if it has one.
pub(crate) fn leave(it: &mut Partition, reason: Reason, links: &mut Links, ready: &mut Ready) {
    let streams = [it.follow.stream, it.follow.reported_to];
    let refuse = Refuse {
        partition: it.id,
        view: it.place.view,
        op: it.log.last.1.next(),
        reason,
    };
    it.follow.detach(it.log.committed);
    if !matches!(reason, Reason::OldView) {
        // Out of step for another reason than a newer view: reads wait for the next beginning.
        it.follow.begun = View(0);
    }
    for link in streams.into_iter().flatten() {
        links.refuse(link, refuse, ready);
    }
}

fn refusal(begin: &Begin, reason: Reason) -> Refuse {
    Refuse {
        partition: begin.partition,
        view: begin.view,
        op: begin.first.1.next(),
        reason,
    }
}

/// Whether this sender may begin this view here.
fn may_begin(it: &Partition, peer: Replica, begin: &Begin) -> Result<(), Reason> {
    // Rule `acknowledged views are remembered`: a view below one that was acknowledged is refused as long as this
    // incarnation lives.
    if begin.view < it.place.acknowledged() {
        return Err(Reason::OldView);
    }
    if begin.view > it.place.view {
        return Err(Reason::NewView);
    }
    // Rules `members name an incarnation` and `acknowledged views are remembered`: the map says who is a member, and
    // in which incarnation.
    let role = if begin.is_learner {
        Role::Learner
    } else {
        Role::Backup
    };
    if it.place.role != role || it.place.primary != peer || it.place.generation != begin.generation
    {
        return Err(Reason::NotMember);
    }
    Ok(())
}

/// The last op up to which this log and the primary's agree. That is at or above both commit positions, or
/// something is wrong that no cut puts right.
fn agreement(it: &Partition, begin: &Begin) -> Result<Op, (Reason, &'static str)> {
    let log = &it.log;
    if log.partial.is_some() || (log.generation != 0 && log.generation != begin.generation) {
        return Err((Reason::Behind, "an in-sync member has not caught up"));
    }
    // Rule `a cut is a record`: nothing at or below the own commit position is cut.
    let anchor = log.committed.max(begin.first.1);
    if !is_same(log.view_at(anchor), begin.view_at(anchor)) {
        return Err(if log.committed >= begin.first.1 {
            let what = "the primary's log does not have what is committed here";
            (Reason::Damage, what)
        } else {
            (
                Reason::Behind,
                "an in-sync member lacks committed operations",
            )
        });
    }
    let mut op = anchor;
    while op < log.last.1 && is_same(log.view_at(op.next()), begin.view_at(op.next())) {
        op = op.next();
    }
    Ok(op)
}

/// Whether two logs hold the same at an op: both hold it, of the same view.
fn is_same(held: Option<View>, sent: Option<View>) -> bool {
    held.is_some() && held == sent
}

/// Where a record stands to what is held.
enum Fit {
    Held,
    Next,
    Gap,
}

fn place_of(it: &Partition, record: &Record<'_>) -> Fit {
    let (view, op) = (record.header.view, record.header.op);
    let last = it.log.last;
    if op <= last.1 {
        let held = it.log.view_at(op);
        // Of what is committed and long ago, the view may be forgotten; the beginning has compared it.
        let is_held = is_same(held, Some(view)) || (held.is_none() && op <= it.log.committed);
        return if is_held { Fit::Held } else { Fit::Gap };
    }
    // Rule `votes belong to a stream`: a record is appended only when it follows the one before it.
    if op != last.1.next() || view < last.0 {
        return Fit::Gap;
    }
    if record.header.kind == Kind::ViewStart {
        // Rule `a cut is a record`: a view's first record names its predecessor.
        let start = ViewStart::decode(record.value);
        if start.map(|start| start.predecessor) != Some(last) {
            return Fit::Gap;
        }
    }
    Fit::Next
}
