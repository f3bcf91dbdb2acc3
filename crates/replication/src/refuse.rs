//! Refusals, from both ends: leaving a stream, and being told that a member left it.

use crate::frame::{Frame, Reason, Refuse};
use crate::link::REFUSED_MAX;
use crate::member::{Copy, Phase};
use crate::partition::Follow;
use crate::{LinkId, Replicator, Request};
use brickyard_routing::Seat;
use brickyard_types::{Op, PartitionId, View};

impl Follow {
    /// The stream is gone: nothing more comes from it, commit positions included.
    pub(crate) fn detach(&mut self, committed: Op) {
        self.stream = None;
        self.claimed = None;
        self.copying = None;
        self.known_commit = committed;
    }
}

impl<P> Replicator<P> {
    /// This brick takes no more of the partition's records on its stream, if it has one.
    pub(crate) fn leave(&mut self, slot: u32, reason: Reason) {
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        let links = [it.follow.stream, it.follow.claimed];
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
        for link in links.into_iter().flatten() {
            self.refuse(link, refuse);
        }
    }

    /// Tells the sender that no vote of this stream from here on covers the partition.
    pub(crate) fn refuse(&mut self, link: LinkId, refuse: Refuse) {
        let Some(it) = self.link_mut(link) else {
            return;
        };
        let partition = refuse.partition;
        it.receiver.refused.insert(partition, refuse.view);
        it.receiver.done.retain(|done| done.1 != partition);
        if it.receiver.refused.len() > REFUSED_MAX && !it.is_stale {
            it.is_stale = true;
            let reason = "the peer began partitions that there are not";
            self.requests.push_back(Request::Close { link, reason });
            return;
        }
        // PROTOCOL rule 1: the refusal is in the stream before any vote that passes it. Votes are written
        // at the end of the turn, and in order.
        self.put_frame(link, &Frame::Refuse(refuse));
    }

    /// A member does not hold what it was sent.
    pub(crate) fn on_refuse(&mut self, link: LinkId, refuse: &Refuse) {
        let Some(slot) = self.partitions.find(refuse.partition) else {
            return;
        };
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        // A refusal of an older view says nothing about this one.
        if refuse.view != it.place.view {
            return;
        }
        let Some(seat) = it.member_on(link).map(|member| member.seat) else {
            return;
        };
        // PROTOCOL rule 1: no vote of it counts for this partition until it is in step again.
        self.fall_out(slot, seat, Phase::Refused);
        let again = match refuse.reason {
            Reason::Gap | Reason::Log => self.config.retry,
            // It will ask itself (`Join`), or only another view or a catch-up helps.
            _ => self.config.repeat,
        };
        self.work.refused.push((self.now + again, slot, seat));
    }

    /// A member that had refused knows the view now.
    pub(crate) fn on_join(&mut self, link: LinkId, partition: PartitionId, view: View) {
        let Some(slot) = self.partitions.find(partition) else {
            return;
        };
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        if view != it.place.view {
            return;
        }
        if let Some(member) = it.member_on(link).filter(|it| it.phase == Phase::Refused) {
            member.phase = Phase::Due;
            let seat = member.seat;
            self.work.refused.retain(|of| (of.1, of.2) != (slot, seat));
            self.make_due(slot);
        }
    }

    /// A member's stream broke, or it refused.
    pub(crate) fn fall_out(&mut self, slot: u32, seat: Seat, phase: Phase) {
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        let partition = it.id;
        let Some(member) = it.lead.members.iter_mut().find(|it| it.seat == seat) else {
            return;
        };
        if matches!(member.copy, Copy::Running(_)) {
            self.requests.push_back(Request::StopCatchUp {
                partition,
                learner: seat,
            });
        }
        let was_required = member.is_required;
        member.fall_out(phase);
        let is_freed = was_required && !member.is_required;
        self.work.refused.retain(|of| (of.1, of.2) != (slot, seat));
        if is_freed {
            self.work.promotions.retain(|of| *of != (slot, seat));
            // What waited for it alone can commit.
            self.make_ready(slot);
        }
    }
}
