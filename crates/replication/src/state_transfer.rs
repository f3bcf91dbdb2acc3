//! This brick as the primary of a learner: what it lacks, the copies, its promotion.
//!
//! ```text
//! Begin{learner} ──► Claim ──► CopyStart, pending list, live stream ──► Copy ... CopyEnd ──► CopyDone
//!                                                                     required from here on ──┘
//! voted for all that was sent by then ──► Promote ──► a newer view
//! ```

use crate::LinkId;
use crate::flush::Beginning;
use crate::frame::{CopyStart, Frame};
use crate::lead::Leader;
use crate::link::level;
use crate::links::Links;
use crate::member::{Copy, Phase, Promotion};
use crate::partition::Partition;
use crate::ready::{Ready, Want};
use crate::slots::Slots;
use crate::summary::ReplicaSummary;
use crate::work::Work;
use brickyard_types::{Durability, Instant, Op, View};

/// What a learner gets beside the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Everything; what it has is dropped.
    Full,
    /// Only records above this op, up to which the logs agree.
    Above(Op),
}

impl Leader<'_> {
    /// A learner says what it holds.
    pub(crate) fn on_summary(&mut self, link: LinkId, view: View, summary: ReplicaSummary) {
        if view != self.it.place.view {
            return;
        }
        let member = self.it.member_on(link);
        if let Some(member) = member.filter(|it| it.is_learner && it.phase == Phase::AwaitsSummary)
        {
            member.phase = Phase::Summarized(Box::new(summary));
            self.work.make_due(self.it);
        }
    }

    /// Everything that `CatchUp` asked for was handed over.
    pub(crate) fn catch_up_done(&mut self, link: LinkId, links: &Links) {
        let (partition, view) = (self.it.id, self.it.place.view);
        let member = self.it.member_on(link);
        let Some(member) = member.filter(|it| matches!(it.copy, Copy::Running(_))) else {
            return;
        };
        assert!(member.is_learner, "copies for one that is in sync");
        member.copy = Copy::Ended;
        let at = member.copied_to;
        let end = Frame::CopyEnd {
            partition,
            view,
            at,
        };
        links.send(link, &end, self.ready);
    }

    /// Tombstones up to `op` were dropped: a catch-up that might miss one of them begins anew.
    pub(crate) fn raise_watermark(&mut self, op: Op) {
        self.it.log.watermark = self.it.log.watermark.max(op);
        let members = self.it.lead.members.iter();
        let missing: Vec<_> = members
            .filter(|it| matches!(it.copy, Copy::Running(Some(after)) if after < op))
            .map(|member| member.replica)
            .collect();
        for replica in missing {
            self.fall_out(replica, Phase::Due);
            self.work.make_due(self.it);
        }
    }

    /// The learner has all copies in its log. From here on its vote is required for whatever has not
    /// committed (rule `learner votes before promotion`).
    pub(crate) fn on_copy_done(&mut self, link: LinkId, view: View, links: &mut Links) {
        let sent = links.get(link).map(|it| it.sender.sent).unwrap_or_default();
        let it = &mut *self.it;
        if view != it.place.view {
            return;
        }
        let (slot, level) = (it.slot, level(it.durability));
        let Some(member) = it.member_on(link) else {
            return;
        };
        let is_streaming = matches!(member.phase, Phase::Streaming { .. });
        if !is_streaming || member.copy != Copy::Ended {
            return;
        }
        member.copy = Copy::Done;
        member.is_required = true;
        if member.promotion == Promotion::None {
            // What is not committed by now needs its vote; what is was sent by now.
            member.promotion = Promotion::WaitsFor(sent);
        }
        let of = (slot, member.replica);
        if !self.work.promotions.contains(&of) {
            self.work.promotions.push(of);
        }
        if let Some(link) = links.get_mut(link) {
            link.sender.waiting[level].push_back((sent, slot));
        }
        self.work.make_ready(it);
    }
}

impl Beginning<'_> {
    /// The learner's stream begins: after what is committed now, so that it misses nothing that is pending
    /// (rule `a learner begins with what is pending`).
    pub(crate) fn begin_learner(&mut self) {
        let it = &mut *self.it;
        let Phase::Summarized(summary) = &it.lead.members[self.at].phase else {
            return;
        };
        let plan = plan(it, summary);
        let committed = it.log.committed;
        let first = (it.log.view_at(committed).unwrap_or_default(), committed);
        let start = CopyStart {
            partition: it.id,
            view: it.place.view,
            is_full: plan == Plan::Full,
            cut: match plan {
                Plan::Full => Op(0),
                Plan::Above(op) => op,
            },
            first,
            runs: it.log.history.runs().to_vec(),
        };
        // What the learner checks when the frame arrives.
        assert!(start.cut <= it.log.last.1, "cut at what is not held");
        let (partition, view) = (it.id, it.place.view);
        let member = &mut it.lead.members[self.at];
        let learner = member.replica;
        member.copied_to = first;
        let after = match plan {
            Plan::Full => None,
            Plan::Above(op) => Some(op.min(committed)),
        };
        let Some(link) = self.links.of(member).map(|link| link.id) else {
            return;
        };
        self.ready.frame(link, &Frame::CopyStart(start));
        if after == Some(committed) {
            member.copy = Copy::Ended;
            let at = first;
            let end = Frame::CopyEnd {
                partition,
                view,
                at,
            };
            self.ready.frame(link, &end);
        } else {
            member.copy = Copy::Running(after);
            // It may have held everything once, and have been no learner since: what was asked then is asked
            // again when it does. Its vote stays required meanwhile (rule `learner votes before promotion`).
            member.promotion = Promotion::None;
            self.ready.request(Want::CatchUp {
                partition,
                learner,
                link,
                after,
            });
        }
        self.send_pending();
    }
}

/// Asks for the promotion of learners that hold everything.
pub(crate) fn promote(
    partitions: &mut Slots,
    links: &Links,
    work: &Work,
    now: Instant,
    ready: &mut Ready,
) {
    for &(slot, replica) in &work.promotions {
        let it = partitions.get_mut(slot);
        let Some(it) = it.filter(|it| it.leads()) else {
            continue;
        };
        let (partition, view, durability) = (it.id, it.place.view, it.durability);
        let Some(member) = it.lead.members.iter_mut().find(|it| it.replica == replica) else {
            continue;
        };
        let Promotion::WaitsFor(sequence) = member.promotion else {
            continue;
        };
        assert!(
            member.is_learner && member.is_required,
            "{replica} is promoted and its vote does not count"
        );
        let link = member.link.and_then(|id| links.get(id));
        let voted = link.map(|link| link.sender.voted.at(durability));
        let holds_all = voted.is_some_and(|voted| voted >= sequence);
        if link.is_some_and(|link| link.sender.is_slow()) {
            // Promoted, it would be waited for with each write.
            continue;
        }
        if holds_all {
            member.promotion = Promotion::Asked(now);
            member.was_asked = true;
            ready.request(Want::Promote {
                partition,
                view,
                learner: replica,
            });
        }
    }
}

/// What a learner with this log summary lacks.
pub(crate) fn plan(it: &Partition, summary: &ReplicaSummary) -> Plan {
    let log = &it.log;
    let agreed = if summary.last.1 == Op(0) {
        // It never had anything; one that claims nothing although it has something is filled anew.
        summary.is_complete.then_some(Op(0))
    } else if summary.generation == log.generation {
        log.history
            .agreement(log.last.1, &summary.runs, summary.last.1)
    } else {
        // Rule `forced recovery begins a generation`: another history is no beginning for this one.
        None
    };
    // Rule `tombstones reach down to the watermark`: a table without a log keeps no tombstones.
    let watermark = match it.durability {
        Durability::Memory => log.committed,
        Durability::Log | Durability::Fsync => log.watermark,
    };
    match agreed {
        // What it knows to be committed is never cut, only replaced as a whole.
        Some(op) if op < summary.committed => Plan::Full,
        // Without tombstones that it may need, the difference is not enough.
        Some(op) if op < watermark && op < log.committed => Plan::Full,
        Some(op) => Plan::Above(op),
        None => Plan::Full,
    }
}
