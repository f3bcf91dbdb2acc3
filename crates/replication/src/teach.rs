//! This brick as the primary of a learner: what it lacks, the copies, its promotion.
//!
//! ```text
//! Begin{learner} ──► Claim ──► CopyStart, pending list, live stream ──► Copy ... CopyEnd ──► CopyDone
//!                                                                     required from here on ──┘
//! voted for all that was sent by then ──► Promote ──► a newer view
//! ```

use crate::flush::linked;
use crate::frame::{CopyStart, Frame, Writer, byte};
use crate::link::level;
use crate::member::{Copy, Phase, Promotion};
use crate::partition::Partition;
use crate::{Claim, Host, LinkId, Replicator, Request, Turn};
use brickyard_types::{Durability, Op, PartitionId, View};

/// What a learner gets beside the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Everything; what it has is dropped.
    Full,
    /// Only records above this op, up to which the logs agree.
    Above(Op),
}

impl<P> Replicator<P> {
    /// A learner says what it holds.
    pub(crate) fn on_claim(
        &mut self,
        link: LinkId,
        partition: PartitionId,
        view: View,
        claim: Claim,
    ) {
        let Some(slot) = self.partitions.find(partition) else {
            return;
        };
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        if view != it.place.view {
            return;
        }
        let member = it.member_on(link);
        if let Some(member) = member.filter(|it| it.is_learner && it.phase == Phase::Claiming) {
            member.phase = Phase::Claimed(Box::new(claim));
            self.make_due(slot);
        }
    }

    /// The learner's stream begins: after what is committed now, so that it misses nothing that is pending
    /// (PROTOCOL rule 12).
    pub(crate) fn begin_learner<H: Host<Payload = P>>(
        &mut self,
        host: &H,
        slot: u32,
        at: usize,
        turn: Turn,
    ) {
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        let Phase::Claimed(claim) = &it.lead.members[at].phase else {
            return;
        };
        let plan = plan(it, claim);
        let committed = it.log.committed;
        let first = (it.log.view_at(committed).unwrap_or(View(0)), committed);
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
        let end = Frame::CopyEnd {
            partition: it.id,
            view: it.place.view,
            at: first,
        };
        let partition = it.id;
        let member = &mut it.lead.members[at];
        let learner = member.seat;
        member.copied_to = first;
        let after = match plan {
            Plan::Full => None,
            Plan::Above(op) => Some(op.min(committed)),
        };
        let Some(link) = linked(&mut self.links, member) else {
            return;
        };
        let id = link.id;
        link.put(&Frame::CopyStart(start));
        if after == Some(committed) {
            member.copy = Copy::Ended;
            link.put(&end);
        } else {
            member.copy = Copy::Running(after);
            // It may have held everything once, and have been no learner since: what was asked then is asked
            // again when it does. Its vote stays required meanwhile (PROTOCOL rule 4).
            member.promotion = Promotion::None;
            self.requests.push_back(Request::CatchUp {
                partition,
                learner,
                link: id,
                after,
            });
        }
        self.send_pending(host, slot, at, turn);
    }

    /// A copied record for the learner on `link`; returns whether there is room for another. False when the
    /// link is full (go on when [`Self::has_room`]) and when the catch-up is no longer wanted.
    pub fn catch_up_records(&mut self, link: LinkId, partition: PartitionId, raw: &[u8]) -> bool {
        let slot = self.partitions.find(partition);
        let Some(it) = slot.and_then(|slot| self.partitions.get_mut(slot)) else {
            return false;
        };
        let member = it.member_on(link);
        if !member.is_some_and(|it| matches!(it.copy, Copy::Running(_))) {
            return false;
        }
        let Some(it) = self.link_mut(link).filter(|it| !it.is_stale) else {
            return false;
        };
        let out = &mut it.output.bytes;
        let writer = Writer::begin(out, byte::COPY);
        out.extend_from_slice(&partition.0.to_le_bytes());
        out.extend_from_slice(raw);
        writer.end(out);
        self.queue_output(link);
        self.has_room(link)
    }

    /// Everything that `CatchUp` asked for was handed over.
    pub fn catch_up_done(&mut self, link: LinkId, partition: PartitionId) {
        let slot = self.partitions.find(partition);
        let Some(it) = slot.and_then(|slot| self.partitions.get_mut(slot)) else {
            return;
        };
        let view = it.place.view;
        let member = it.member_on(link);
        let Some(member) = member.filter(|it| matches!(it.copy, Copy::Running(_))) else {
            return;
        };
        member.copy = Copy::Ended;
        let at = member.copied_to;
        let end = Frame::CopyEnd {
            partition,
            view,
            at,
        };
        self.put_frame(link, &end);
    }

    /// The host dropped tombstones up to `op`: every one above is here (PROTOCOL rule 14). A catch-up that
    /// might miss one of them begins anew.
    pub fn raise_horizon(&mut self, partition: PartitionId, op: Op) {
        let Some(slot) = self.partitions.find(partition) else {
            return;
        };
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        it.log.horizon = it.log.horizon.max(op);
        let members = it.lead.members.iter();
        let missing: Vec<_> = members
            .filter(|it| matches!(it.copy, Copy::Running(Some(after)) if after < op))
            .map(|member| member.seat)
            .collect();
        for seat in missing {
            self.fall_out(slot, seat, Phase::Due);
            self.make_due(slot);
        }
    }

    /// The learner has all copies in its log. From here on its vote is required for whatever has not
    /// committed (PROTOCOL rule 4).
    pub(crate) fn on_copy_done(&mut self, link: LinkId, partition: PartitionId, view: View) {
        let Some(slot) = self.partitions.find(partition) else {
            return;
        };
        let sent = self.link(link).map(|it| it.sender.sent).unwrap_or_default();
        let Some(it) = self.partitions.get_mut(slot) else {
            return;
        };
        if view != it.place.view {
            return;
        }
        let level = level(it.durability);
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
        let seat = member.seat;
        if !self.work.promotions.contains(&(slot, seat)) {
            self.work.promotions.push((slot, seat));
        }
        if let Some(link) = self.link_mut(link) {
            link.sender.waiting[level].push_back((sent, slot));
        }
        self.make_ready(slot);
    }

    /// Asks for the promotion of learners that hold everything.
    pub(crate) fn promote(&mut self) {
        for at in 0..self.work.promotions.len() {
            let (slot, seat) = self.work.promotions[at];
            let Some(it) = self.partitions.get_mut(slot) else {
                continue;
            };
            if !it.leads() {
                continue;
            }
            let (partition, view, durability) = (it.id, it.place.view, it.durability);
            let Some(member) = it.lead.members.iter_mut().find(|it| it.seat == seat) else {
                continue;
            };
            let Promotion::WaitsFor(turn) = member.promotion else {
                continue;
            };
            let link = member.link.and_then(|id| self.links.get(id.0 as usize));
            let voted = link.and_then(Option::as_ref);
            let voted = voted.map(|link| link.sender.voted.at(durability));
            let holds_all = voted.is_some_and(|voted| voted >= turn);
            if holds_all {
                member.promotion = Promotion::Asked(self.now);
                member.was_asked = true;
                self.requests.push_back(Request::Promote {
                    partition,
                    view,
                    learner: seat,
                });
            }
        }
    }
}

/// What a learner with this claim lacks.
pub(crate) fn plan<P>(it: &Partition<P>, claim: &Claim) -> Plan {
    let log = &it.log;
    let agreed = if claim.last.1 == Op(0) {
        // It never had anything; one that claims nothing although it has something is filled anew.
        claim.is_complete.then_some(Op(0))
    } else if claim.lineage == log.lineage {
        log.history.agreement(log.last.1, &claim.runs, claim.last.1)
    } else {
        // PROTOCOL rule 21: another history is no beginning for this one.
        None
    };
    // PROTOCOL rule 14: a table without a log keeps no tombstones.
    let horizon = match it.durability {
        Durability::Memory => log.committed,
        Durability::Log | Durability::Fsync => log.horizon,
    };
    match agreed {
        // What it knows to be committed is never cut, only replaced as a whole.
        Some(op) if op < claim.committed => Plan::Full,
        // Without tombstones that it may need, the difference is not enough.
        Some(op) if op < horizon && op < log.committed => Plan::Full,
        Some(op) => Plan::Above(op),
        None => Plan::Full,
    }
}
