//! What time brings: repeated requests, retries, evictions, pings, silence.

use crate::frame::Frame;
use crate::link::Link;
use crate::member::{Member, Phase, Promotion};
use crate::partition::Partition;
use crate::{Direction, Host, Replicator, Request, Turn};
use brickyard_types::{Durability, Instant};
use std::time::Duration;

/// How soon a stream that is not there is asked for again. Who dials makes pauses of its own: here it is only said that
/// the stream is wanted still, and writes wait for it.
const DIAL_AGAIN: Duration = Duration::from_millis(100);

impl<P> Replicator<P> {
    /// Time passes; to be called every 50 to 100 ms.
    pub fn tick<H: Host<Payload = P>>(&mut self, host: &mut H, now: Instant) {
        let is_first = self.now == Instant(0);
        self.now = now;
        self.retry_appends(host);
        self.begin_refused();
        self.look_for_stalls();
        self.repeat_promotions();
        if !is_first {
            self.dial();
        }
        self.watch_links();
        self.settle(host);
    }

    fn retry_appends<H: Host<Payload = P>>(&mut self, host: &mut H) {
        let now = self.now;
        let retry = self.config.retry;
        let mut at = 0;
        while let Some(&slot) = self.work.retrying.get(at) {
            let it = self.partitions.get(slot);
            let since = it.and_then(|it| it.retrying);
            match since {
                Some(since) if now - since < retry => at += 1,
                Some(_) => {
                    self.append_again(host, slot);
                    self.tell(host, slot);
                }
                None => {
                    self.work.retrying.swap_remove(at);
                }
            }
        }
    }

    fn begin_refused(&mut self) {
        let now = self.now;
        let mut at = 0;
        while let Some(&(when, slot, seat)) = self.work.refused.get(at) {
            if when > now {
                at += 1;
                continue;
            }
            self.work.refused.swap_remove(at);
            let it = self.partitions.get_mut(slot);
            let members = it.map(|it| it.lead.members.iter_mut());
            let member = members.and_then(|mut all| all.find(|it| it.seat == seat));
            if let Some(member) = member.filter(|it| it.phase == Phase::Refused) {
                member.phase = Phase::Due;
                self.make_due(slot);
            }
        }
    }

    /// Members that hold something up for too long.
    fn look_for_stalls(&mut self) {
        let mut at = 0;
        while let Some(&slot) = self.work.busy.get(at) {
            let it = self.partitions.get_mut(slot);
            let Some(it) = it.filter(|it| it.leads() && !it.log.pending.is_empty()) else {
                if let Some(it) = self.partitions.get_mut(slot) {
                    it.lead.is_busy = false;
                    for member in &mut it.lead.members {
                        member.stalled = None;
                    }
                }
                self.work.busy.swap_remove(at);
                continue;
            };
            at += 1;
            let stalls = stalls(it, &self.links, self.now, &self.config);
            self.requests.extend(stalls);
        }
    }

    fn repeat_promotions(&mut self) {
        for at in 0..self.work.promotions.len() {
            let (slot, seat) = self.work.promotions[at];
            let (now, repeat) = (self.now, self.config.repeat);
            let Some(it) = self.partitions.get_mut(slot).filter(|it| it.leads()) else {
                continue;
            };
            let (partition, view) = (it.id, it.place.view);
            let member = it.lead.members.iter_mut().find(|it| it.seat == seat);
            // Only while it is in step: else it is a matter of eviction.
            let member = member.filter(|it| matches!(it.phase, Phase::Streaming { .. }));
            if let Some(Promotion::Asked(asked)) = member.map(|it| &mut it.promotion)
                && now - *asked >= repeat
            {
                *asked = now;
                self.requests.push_back(Request::Promote {
                    partition,
                    view,
                    learner: seat,
                });
            }
        }
    }

    fn dial(&mut self) {
        for (seat, peer) in &mut self.peers {
            let is_wanted = peer.wanted > 0 && peer.outgoing.is_none();
            let is_early = peer.dialed_at.is_some_and(|at| self.now - at < DIAL_AGAIN);
            if is_wanted && !is_early {
                peer.dialed_at = Some(self.now);
                self.requests.push_back(Request::Dial(*seat));
            }
        }
    }

    fn watch_links(&mut self) {
        let now = self.now;
        for at in 0..self.links.len() {
            let Some(link) = self.links[at].as_mut().filter(|it| !it.is_stale) else {
                continue;
            };
            if std::mem::take(&mut link.is_heard) || link.heard_at.is_none() {
                link.heard_at = Some(now);
            }
            if std::mem::take(&mut link.output.is_told) || link.told_at.is_none() {
                link.told_at = Some(now);
            }
            let id = link.id;
            let is_silent = link
                .heard_at
                .is_some_and(|heard| now - heard >= self.config.silence_max);
            let is_quiet = link
                .told_at
                .is_some_and(|told| now - told >= self.config.ping);
            if is_silent {
                link.is_stale = true;
                let reason = "nothing was heard on it";
                self.requests.push_back(Request::Close { link: id, reason });
            } else if is_quiet && link.direction == Direction::Outgoing {
                self.put_frame(id, &Frame::Ping);
            }
        }
    }
}

/// The members of a partition to be evicted.
fn stalls<P>(
    it: &mut Partition<P>,
    links: &[Option<Link>],
    now: Instant,
    config: &crate::Config,
) -> Vec<Request> {
    let mut evicted = Vec::new();
    let Some(front) = it.log.pending.front().map(|entry| (entry.op, entry.turn)) else {
        return evicted;
    };
    for member in it.lead.members.iter_mut().filter(|it| it.is_required) {
        let (vote, is_covered) = vote_of(member, links, it.durability, front.1);
        if is_covered {
            member.stalled = None;
            continue;
        }
        match member.stalled {
            Some((op, voted, since)) if (op, voted) == (front.0, vote) => {
                if now - since >= config.eviction_timeout {
                    evicted.push(Request::Evict {
                        partition: it.id,
                        view: it.place.view,
                        backup: member.seat,
                    });
                    // Said again after a while.
                    let back = config.eviction_timeout.saturating_sub(config.repeat);
                    let since = Instant(now.0.saturating_sub(back.as_nanos() as u64));
                    member.stalled = Some((op, voted, since));
                }
            }
            _ => member.stalled = Some((front.0, vote, now)),
        }
    }
    evicted
}

/// How far a member voted, and whether that covers an entry of this turn.
fn vote_of(
    member: &Member,
    links: &[Option<Link>],
    durability: Durability,
    turn: Turn,
) -> (Turn, bool) {
    let link = member.link.and_then(|id| links.get(id.0 as usize));
    let Some(link) = link.and_then(Option::as_ref) else {
        return (Turn(0), false);
    };
    let voted = link.sender.voted.at(durability);
    match member.phase {
        Phase::Streaming { since } => (voted, voted >= since.max(turn)),
        // Its votes for other partitions are no progress of this one.
        _ => (Turn(0), false),
    }
}
