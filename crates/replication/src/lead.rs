//! This brick as a primary: its records, and what members say of them.

use crate::follow::broken;
use crate::frame::{FrameError, Reason, Refuse, Vote};
use crate::link::Link;
use crate::member::{Copy, Phase};
use crate::own_log::OwnLog;
use crate::partition::Partition;
use crate::ready::{Ready, Want};
use crate::slots::Slots;
use crate::work::Work;
use crate::{LinkId, LogMark, PreparedRecord, ReplicatorConfig, Sequence};
use brickyard_routing::Replica;
use brickyard_types::{Durability, Instant, Op, View};
use std::time::Duration;

/// One partition that this brick leads, and what its members' words may change besides it.
pub(crate) struct Leader<'a> {
    pub(crate) it: &'a mut Partition,
    pub(crate) work: &'a mut Work,
    pub(crate) ready: &'a mut Ready,
}

/// So many records that the partition's primary prepared are in the log batch `mark`. Whether they have committed: nobody
/// else votes for them, and the own log has the batch.
#[inline]
pub(crate) fn on_prepared(
    it: &mut Partition,
    own: &mut OwnLog,
    work: &mut Work,
    has_lease: bool,
    (count, mark): (u32, LogMark),
) -> bool {
    // Where there is no other member nobody waits for the turn's end: one that joins later gets what is pending when its
    // stream begins, as it gets what was inherited.
    let is_alone = it.lead.members.is_empty() && it.lead.unsent == 0;
    // Rules `grants count for adopted maps` and `an old primary knows no outcome`: as `commit` asks of those that waited.
    let is_own_enough = has_lease && it.durability != Durability::Memory && it.leads();
    if is_alone && is_own_enough && it.log.pending.is_empty() && mark <= own.reached(it.durability)
    {
        it.log
            .apply(it.place.view, Op(it.log.last.1.0 + u64::from(count)));
        it.log.note(mark);
        own.note_voting(mark, it.durability);
        return true;
    }
    let sequence = if is_alone {
        Sequence(0)
    } else {
        Sequence::NEVER
    };
    for _ in 0..count {
        it.log.push(PreparedRecord {
            view: it.place.view,
            op: it.log.last.1.next(),
            mark,
            sequence,
        });
    }
    own.note_voting(mark, it.durability);
    work.make_busy(it);
    if is_alone {
        if !own.await_own(mark, it.durability, it.slot) {
            work.make_ready(it);
        }
        return false;
    }
    it.lead.unsent += count as usize;
    assert!(
        it.lead.unsent <= it.log.pending.len(),
        "unsent and not held"
    );
    work.make_dirty(it);
    false
}

/// A peer voted for what this brick sent it: the partitions that waited for that may have something to commit.
pub(crate) fn on_vote(
    link: &mut Link,
    vote: Vote,
    partitions: &mut Slots,
    work: &mut Work,
) -> Result<(), FrameError> {
    let sender = &mut link.sender;
    if !vote.is_ordered() || vote.received > sender.sent {
        return broken("a vote for what was not sent");
    }
    let voted = &mut sender.voted;
    voted.received = voted.received.max(vote.received);
    voted.appended = voted.appended.max(vote.appended);
    voted.synced = voted.synced.max(vote.synced);
    // What the backup asserts before it votes.
    assert!(voted.is_ordered(), "votes out of order: {voted:?}");
    let reached = [voted.received, voted.appended, voted.synced];
    for (waiting, reached) in sender.waiting.iter_mut().zip(reached) {
        while let Some((_, slot)) = waiting.pop_front_if(|(sequence, _)| *sequence <= reached) {
            if let Some(it) = partitions.get_mut(slot) {
                work.make_ready(it);
            }
        }
    }
    Ok(())
}

impl Leader<'_> {
    /// A member does not hold what it was sent.
    pub(crate) fn on_refuse(
        &mut self,
        link: LinkId,
        refuse: &Refuse,
        now: Instant,
        config: &ReplicatorConfig,
    ) {
        // A refusal of an older view says nothing about this one.
        if refuse.view != self.it.place.view {
            return;
        }
        let Some(replica) = self.it.member_on(link).map(|member| member.replica) else {
            return;
        };
        // Rule `votes cover what was appended`: no vote of it counts for this partition until it is in step again.
        let (phase, again) = match refuse.reason {
            Reason::Log => (Phase::Unfit, Duration::ZERO),
            Reason::Gap => (Phase::Refused, config.retry),
            // It will ask itself (`Join`), or only another view or a catch-up helps.
            _ => (Phase::Refused, config.repeat),
        };
        self.fall_out(replica, phase);
        self.work.refused.push((now + again, self.it.slot, replica));
    }

    /// A member that had refused knows the view now.
    pub(crate) fn on_join(&mut self, link: LinkId, view: View) {
        if view != self.it.place.view {
            return;
        }
        let member = self.it.member_on(link);
        if let Some(member) = member.filter(|it| matches!(it.phase, Phase::Refused | Phase::Unfit))
        {
            member.phase = Phase::Due;
            let replica = member.replica;
            self.work.forget_refusal(self.it.slot, replica);
            self.work.make_due(self.it);
        }
    }

    /// A member's stream broke, or it refused.
    pub(crate) fn fall_out(&mut self, replica: Replica, phase: Phase) {
        assert!(
            !matches!(phase, Phase::Streaming { .. }),
            "it is out of step"
        );
        let Self { it, work, ready } = self;
        let partition = it.id;
        let mut members = it.lead.members.iter_mut();
        let Some(member) = members.find(|it| it.replica == replica) else {
            return;
        };
        if member.phase == Phase::Withdrawn {
            return;
        }
        if matches!(member.copy, Copy::Running(_)) {
            ready.request(Want::StopCatchUp {
                partition,
                learner: replica,
            });
        }
        let was_required = member.is_required;
        member.fall_out(phase);
        let is_freed = was_required && !member.is_required;
        assert!(
            !is_freed || member.is_learner,
            "a backup's vote is required"
        );
        work.forget_refusal(it.slot, replica);
        if is_freed {
            work.forget_promotion(it.slot, replica);
            // What waited for it alone can commit.
            work.make_ready(it);
        }
    }

    /// The stream to a member is gone.
    pub(crate) fn lose(&mut self, link: LinkId) {
        let mut members = self.it.lead.members.iter_mut();
        if let Some(member) = members.find(|it| it.link == Some(link)) {
            member.link = None;
            let replica = member.replica;
            self.fall_out(replica, Phase::Unlinked);
        }
    }

    /// There is a stream to a brick: if it is a member, it begins there.
    pub(crate) fn attach(&mut self, link: LinkId, peer: Replica) {
        let mut members = self.it.lead.members.iter_mut();
        if let Some(member) = members.find(|it| it.replica == peer) {
            member.link = Some(link);
            if member.phase == Phase::Withdrawn {
                return;
            }
            member.phase = Phase::Due;
            self.work.make_due(self.it);
        }
    }
}
