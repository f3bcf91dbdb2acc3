//! Whom a primary finds not to be up to it: members that hold it up, and itself.
//!
//! In:  ticks; how long votes and the own log take. Out: requests for evictions.
//!
//! Others are the measure. A member is suspected early, after `suspect_after`, where at least half of the copies that there
//! should be show that it need not take so long: the own log, and members that have voted. Where that is not so, all are slow
//! alike, for want of processors or since they share a disk: then it takes `eviction_timeout`, as when nobody else is there
//! to show anything. So early suspicion takes out a minority, and never takes writes away that `MIN_IN_SYNC` allowed.
//!
//! A member whose own log takes nothing says so itself and is out of step then. It is *given up* at the next tick: asked for to
//! be evicted, and not begun again in this view. A primary whose own log takes nothing gives up itself: it stops, as if it had
//! heard of the next view, and asks for that. Neither does anything in this view from then on, so nobody has to be waited for
//! (rule `a withdrawn member is fenced`). A change that is late, or asked for in vain, is asked for again.
//!
//! A log that refuses is worse than one that is slow, so that for a primary with such a log it is enough that half are in step. They
//! need not be quick: what they were is all that is known, since nothing is sent to them any more. For the same reason a primary
//! goes after `eviction_timeout` to whoever is in step.
//!
//! Not here: how long things take (`pace`), when the own log is stuck (`fitness`), what the control plane makes of a request.

use crate::follow::leave;
use crate::frame::Reason;
use crate::link::Sender;
use crate::links::Links;
use crate::member::{Member, Phase, Stall};
use crate::own_log::OwnLog;
use crate::pace::TICK_MAX;
use crate::partition::Partition;
use crate::ready::{Ready, Want};
use crate::slots::Slots;
use crate::work::Work;
use crate::{ReplicatorConfig, Role, Sequence};
use brickyard_routing::Replica;
use brickyard_types::{Durability, Instant, View};
use std::time::Duration;

/// A slow member goes only where so many others stay: it holds what was acknowledged, and gets on.
const STAY_BEHIND_SLOW: usize = 2;

/// What a primary's judgement looks at, and what it may change.
pub(crate) struct Suspicion<'a> {
    pub(crate) now: Instant,
    /// Since the tick before.
    pub(crate) passed: Duration,
    pub(crate) config: &'a ReplicatorConfig,
    pub(crate) partitions: &'a mut Slots,
    pub(crate) links: &'a mut Links,
    pub(crate) own: &'a mut OwnLog,
    pub(crate) work: &'a mut Work,
    pub(crate) ready: &'a mut Ready,
}

impl Suspicion<'_> {
    /// A tick.
    pub(crate) fn look(&mut self) {
        self.passed = self.passed.min(TICK_MAX);
        for link in self.links.iter_mut().filter(|it| !it.is_stale) {
            link.sender.look(self.passed);
        }
        let progress = self.own.progress();
        let fitness = &mut self.own.fitness;
        if fitness.look(self.now, self.passed, progress, self.config) {
            self.withdraw();
        }
        self.resign();
        self.repeat_resignations();
        self.check_refused();
        self.check_for_stalls();
    }

    /// The own log has come to be stuck: this brick says so to those whose records it would hold up.
    fn withdraw(&mut self) {
        for it in self.partitions.iter_mut() {
            if it.place.role != Role::Primary && it.follow.has_stream() {
                leave(it, Reason::Log, self.links, self.ready);
                it.tell(self.ready);
            }
        }
    }

    /// Gives up what this brick leads and others can.
    fn resign(&mut self) {
        let fitness = &self.own.fitness;
        let least = match (fitness.is_stuck(), fitness.is_slow()) {
            (true, _) => 1,
            (false, true) => STAY_BEHIND_SLOW,
            (false, false) => return,
        };
        let (links, config) = (&*self.links, self.config);
        let refuses = fitness.refuses();
        let is_long = fitness.stuck_for(self.now) >= config.eviction_timeout;
        for it in self.partitions.iter_mut().filter(|it| it.leads()) {
            let stay = it.place.in_sync.saturating_sub(1);
            let least = least.max(it.place.min_in_sync);
            let votes = |sender: &Sender| sender.waited() < config.suspect_after;
            let in_step = || count_others(it, links, config.me, votes);
            let is_worse = judges(it, links, config, (false, config.me))
                || (refuses && is_half(it, config, in_step()))
                || (is_long && in_step() >= least);
            if stay < least || !is_worse {
                continue;
            }
            // As if this brick had heard that the next view fences it.
            it.place.stopped = next_view(it);
            it.tell(self.ready);
            self.work.resigned.push((self.now, it.slot));
            ask_to_evict(it, self.config.me, true, self.ready);
        }
    }

    fn repeat_resignations(&mut self) {
        let (now, config) = (self.now, self.config);
        let (partitions, ready) = (&mut *self.partitions, &mut *self.ready);
        self.work.resigned.retain_mut(|(asked, slot)| {
            let it = partitions.get_mut(*slot);
            let is_open = |it: &&mut Partition| {
                it.place.role == Role::Primary && it.place.stopped == next_view(it)
            };
            let Some(it) = it.filter(is_open) else {
                return false;
            };
            if now - *asked >= config.repeat {
                *asked = now;
                ask_to_evict(it, config.me, true, ready);
            }
            true
        });
    }

    /// Members that refused: they are begun again, or given up.
    fn check_refused(&mut self) {
        let mut at = 0;
        while let Some(&(when, slot, replica)) = self.work.refused.get(at) {
            if when > self.now {
                at += 1;
                continue;
            }
            self.work.refused.swap_remove(at);
            let Some(it) = self.partitions.get_mut(slot).filter(|it| it.leads()) else {
                continue;
            };
            let Some(place) = it.lead.members.iter().position(|it| it.replica == replica) else {
                continue;
            };
            let is_well = self.own.fitness.is_well(self.config.suspect_after / 2);
            let may_go = may_go(it, place, self.links, self.config, is_well, 1);
            let member = &mut it.lead.members[place];
            match member.phase {
                Phase::Unfit if member.is_required && may_go => member.phase = Phase::Withdrawn,
                Phase::Withdrawn => {}
                Phase::Refused | Phase::Unfit => {
                    member.phase = Phase::Due;
                    self.work.make_due(it);
                    continue;
                }
                _ => continue,
            }
            ask_to_evict(it, replica, true, self.ready);
            let again = self.now + self.config.repeat;
            self.work.refused.push((again, slot, replica));
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
                    let mut holdup = Holdup {
                        now: self.now,
                        passed: self.passed,
                        config: self.config,
                        links: self.links,
                        is_well: self.own.fitness.is_well(self.config.suspect_after / 2),
                        it,
                        ready: self.ready,
                    };
                    holdup.look();
                }
                it => {
                    if let Some(it) = it {
                        it.lead.is_busy = false;
                        for member in &mut it.lead.members {
                            member.stall = None;
                        }
                    }
                    self.work.busy.swap_remove(at);
                }
            }
        }
    }
}

/// A partition with something pending.
struct Holdup<'a> {
    now: Instant,
    passed: Duration,
    config: &'a ReplicatorConfig,
    links: &'a Links,
    /// The own log is not what is waited for.
    is_well: bool,
    it: &'a mut Partition,
    ready: &'a mut Ready,
}

impl Holdup<'_> {
    /// Asks that members are evicted which hold it up for too long, or always for long.
    fn look(&mut self) {
        for place in 0..self.it.lead.members.len() {
            let member = &self.it.lead.members[place];
            // What has withdrawn is asked for already.
            if !member.is_required || member.phase == Phase::Withdrawn {
                continue;
            }
            let replica = member.replica;
            let link = member.link.and_then(|id| self.links.get(id));
            let is_slow = link.is_some_and(|it| it.sender.is_slow());
            let (least, most) = (self.config.suspect_after, self.config.eviction_timeout);
            let patience = link.map_or(least, |it| it.sender.patience(least, most));
            // Who has been silent for longer than the op waits is not given its time anew.
            let waited = self.note_stall(place).map_or(Duration::ZERO, |stalled| {
                stalled.max(self.links.silence_of(replica))
            });
            let may_go =
                |least| may_go(self.it, place, self.links, self.config, self.is_well, least);
            let is_out = waited >= most
                || (waited >= patience && may_go(1))
                || (is_slow && may_go(STAY_BEHIND_SLOW));
            let member = &mut self.it.lead.members[place];
            let was_asked = member
                .evict_asked
                .is_some_and(|at| self.now - at < self.config.repeat);
            if is_out && !was_asked {
                member.evict_asked = Some(self.now);
                ask_to_evict(self.it, replica, false, self.ready);
            }
        }
    }

    /// For how long the op at the front has waited for this member alone, if it does. It begins anew with each op, and when a
    /// vote comes that says more than any before: not when a stream breaks, nor when another one begins.
    fn note_stall(&mut self, place: usize) -> Option<Duration> {
        let front = self.it.log.pending.front()?;
        let (op, sequence) = (front.op, front.sequence);
        let (durability, passed) = (self.it.durability, self.passed);
        let member = &mut self.it.lead.members[place];
        let (vote, is_covered) = vote_of(member, self.links, durability, sequence);
        if is_covered {
            member.stall = None;
            return None;
        }
        Some(match &mut member.stall {
            Some(stall) if stall.op == op && vote <= stall.vote => {
                stall.waited += passed;
                stall.waited
            }
            stall => {
                let vote = stall.map_or(vote, |before| before.vote.max(vote));
                let waited = Duration::ZERO;
                *stall = Some(Stall { op, vote, waited });
                waited
            }
        })
    }
}

/// How far a member voted, and whether that covers an entry of this turn.
fn vote_of(
    member: &Member,
    links: &Links,
    durability: Durability,
    sequence: Sequence,
) -> (Sequence, bool) {
    let Some(link) = member.link.and_then(|id| links.get(id)) else {
        return (Sequence(0), false);
    };
    let voted = link.sender.voted.at(durability);
    match member.phase {
        Phase::Streaming { since } => (voted, voted >= since.max(sequence)),
        // Its votes for other partitions are no progress of this one.
        _ => (Sequence(0), false),
    }
}

/// Whether a member may go before `eviction_timeout`: the others show that it need not take so long, enough stay for writes,
/// and as many as that.
fn may_go(
    it: &Partition,
    place: usize,
    links: &Links,
    config: &ReplicatorConfig,
    is_own_well: bool,
    least: usize,
) -> bool {
    let member = &it.lead.members[place];
    let stay = it.place.in_sync - usize::from(!member.is_learner);
    stay >= least.max(it.place.min_in_sync)
        && judges(it, links, config, (is_own_well, member.replica))
}

/// Whether half of the copies that there should be are well, that one aside: this brick by its own log, others by their
/// votes.
fn judges(
    it: &Partition,
    links: &Links,
    config: &ReplicatorConfig,
    (is_own_well, of): (bool, Replica),
) -> bool {
    let is_quick =
        |sender: &Sender| !sender.is_slow() && sender.waited() < config.suspect_after / 2;
    let well = count_others(it, links, of, is_quick) + usize::from(is_own_well);
    is_half(it, config, well)
}

/// Whether so many are half of the copies that there should be, and early suspicion is on.
fn is_half(it: &Partition, config: &ReplicatorConfig, count: usize) -> bool {
    config.suspects_early() && count * 2 >= it.place.replicas
}

/// How many backups are in step and vote like that, one aside.
fn count_others(
    it: &Partition,
    links: &Links,
    aside: Replica,
    votes: impl Fn(&Sender) -> bool,
) -> usize {
    let is_one = |member: &&Member| {
        let is_in_step = matches!(member.phase, Phase::Streaming { .. }) && !member.is_learner;
        let link = member.link.and_then(|id| links.get(id));
        let sender = link.filter(|it| !it.is_stale).map(|it| &it.sender);
        is_in_step && sender.is_some_and(&votes) && member.replica != aside
    };
    it.lead.members.iter().filter(is_one).count()
}

fn next_view(it: &Partition) -> View {
    View(it.place.view.0 + 1)
}

fn ask_to_evict(it: &Partition, replica: Replica, has_withdrawn: bool, ready: &mut Ready) {
    ready.request(Want::Evict {
        partition: it.id,
        view: it.place.view,
        backup: replica,
        has_withdrawn,
    });
}
