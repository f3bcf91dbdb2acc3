//! What time brings: repeated requests, retries, evictions, silence.

use crate::link::Link;
use crate::links::Links;
use crate::member::{Member, Phase, Promotion};
use crate::own_log::OwnLog;
use crate::partition::Partition;
use crate::ready::{Ready, Want};
use crate::slots::Slots;
use crate::work::Work;
use crate::{ReplicatorConfig, Sequence};
use brickyard_types::{Durability, Instant};

/// What time looks at, and what it may change.
pub(crate) struct Tick<'a> {
    pub(crate) now: Instant,
    pub(crate) config: &'a ReplicatorConfig,
    pub(crate) partitions: &'a mut Slots,
    pub(crate) links: &'a Links,
    pub(crate) own: &'a mut OwnLog,
    pub(crate) work: &'a mut Work,
    pub(crate) ready: &'a mut Ready,
}

impl Tick<'_> {
    pub(crate) fn tick(&mut self) {
        self.retry_appends();
        self.begin_refused();
        self.check_for_stalls();
        self.repeat_promotions();
    }

    fn retry_appends(&mut self) {
        let (now, retry) = (self.now, self.config.retry);
        let mut at = 0;
        while let Some(&slot) = self.work.retrying.get(at) {
            let it = self.partitions.get_mut(slot);
            match it.and_then(|it| Some((it.retrying?, it))) {
                Some((since, _)) if now - since < retry => at += 1,
                Some((_, it)) => {
                    self.own.append_again(it, self.work, self.ready);
                    it.tell(self.ready);
                }
                None => {
                    self.work.retrying.swap_remove(at);
                }
            }
        }
    }

    fn begin_refused(&mut self) {
        let mut at = 0;
        while let Some(&(when, slot, replica)) = self.work.refused.get(at) {
            if when > self.now {
                at += 1;
                continue;
            }
            self.work.refused.swap_remove(at);
            let Some(it) = self.partitions.get_mut(slot) else {
                continue;
            };
            let mut members = it.lead.members.iter_mut();
            let member = members.find(|it| it.replica == replica);
            if let Some(member) = member.filter(|it| it.phase == Phase::Refused) {
                member.phase = Phase::Due;
                self.work.make_due(it);
            }
        }
    }

    /// Members that hold something up for too long.
    fn check_for_stalls(&mut self) {
        let mut at = 0;
        while let Some(&slot) = self.work.busy.get(at) {
            let it = self.partitions.get_mut(slot);
            match it {
                Some(it) if it.leads() && !it.log.pending.is_empty() => {
                    at += 1;
                    find_stalls(it, self.links, self.now, self.config, self.ready);
                }
                it => {
                    if let Some(it) = it {
                        it.lead.is_busy = false;
                        for member in &mut it.lead.members {
                            member.stalled = None;
                        }
                    }
                    self.work.busy.swap_remove(at);
                }
            }
        }
    }

    fn repeat_promotions(&mut self) {
        let (now, repeat) = (self.now, self.config.repeat);
        for &(slot, replica) in &self.work.promotions {
            let it = self.partitions.get_mut(slot);
            let Some(it) = it.filter(|it| it.leads()) else {
                continue;
            };
            let (partition, view) = (it.id, it.place.view);
            let member = it.lead.members.iter_mut().find(|it| it.replica == replica);
            // Only while it is in step: else it is a matter of eviction.
            let member = member.filter(|it| matches!(it.phase, Phase::Streaming { .. }));
            if let Some(Promotion::Asked(asked)) = member.map(|it| &mut it.promotion)
                && now - *asked >= repeat
            {
                *asked = now;
                self.ready.request(Want::Promote {
                    partition,
                    view,
                    learner: replica,
                });
            }
        }
    }
}

/// Asks that members are evicted which have held something up for too long.
fn find_stalls(
    it: &mut Partition,
    links: &Links,
    now: Instant,
    config: &ReplicatorConfig,
    ready: &mut Ready,
) {
    let Some((op, sequence)) = it
        .log
        .pending
        .front()
        .map(|entry| (entry.op, entry.sequence))
    else {
        return;
    };
    for member in it.lead.members.iter_mut().filter(|it| it.is_required) {
        let link = member.link.and_then(|id| links.get(id));
        let (vote, is_covered) = vote_of(member, link, it.durability, sequence);
        if is_covered {
            member.stalled = None;
            continue;
        }
        match member.stalled {
            Some((held, voted, since)) if (held, voted) == (op, vote) => {
                if now - since >= config.eviction_timeout {
                    ready.request(Want::Evict {
                        partition: it.id,
                        view: it.place.view,
                        backup: member.replica,
                    });
                    // Said again after a while.
                    let back = config.eviction_timeout.saturating_sub(config.repeat);
                    let since = Instant(now.0.saturating_sub(back.as_nanos() as u64));
                    member.stalled = Some((op, vote, since));
                }
            }
            _ => member.stalled = Some((op, vote, now)),
        }
    }
}

/// How far a member voted, and whether that covers an entry of this turn.
fn vote_of(
    member: &Member,
    link: Option<&Link>,
    durability: Durability,
    sequence: Sequence,
) -> (Sequence, bool) {
    let Some(link) = link else {
        return (Sequence(0), false);
    };
    let voted = link.sender.voted.at(durability);
    match member.phase {
        Phase::Streaming { since } => (voted, voted >= since.max(sequence)),
        // Its votes for other partitions are no progress of this one.
        _ => (Sequence(0), false),
    }
}
