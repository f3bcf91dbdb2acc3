//! Copies that are missing or too many, and nodes that are to be emptied.
//!
//! A copy comes back first where it was: that node has most of it on its disk. For as long as such a node may
//! come back (`replace_after`) nobody else is asked to copy everything.

use super::Controller;
use super::group::Case;
use super::load::Load;
use brickyard_metadata::{NewLearners, Node, Proposal};
use brickyard_routing::{NodeId, Seat};
use brickyard_types::Instant;
use std::collections::BTreeSet;

impl Controller {
    /// How many copies a partition should have: as many as asked for, and more where it is hot, as far as there are nodes that
    /// may hold them.
    pub(super) fn target(&self, case: &Case<'_>) -> usize {
        let copies = self.catalog.copies_wanted(case.table, case.partition);
        self.as_far_as_there_are_nodes(case, copies)
    }

    /// How many its table asks for, as far as there are nodes.
    pub(super) fn asked(&self, case: &Case<'_>) -> usize {
        self.as_far_as_there_are_nodes(case, usize::from(case.table.attributes.replicas))
    }

    fn as_far_as_there_are_nodes(&self, case: &Case<'_>, copies: usize) -> usize {
        let nodes = self.catalog.holders(&case.table.layout);
        let nodes = nodes.filter(|node| !self.is_leaving(node.id));
        copies.min(nodes.count()).max(1)
    }

    /// In-sync members that are to stay.
    pub(super) fn placed(&self, case: &Case<'_>) -> usize {
        let stays = |seat: &Seat| !self.is_leaving(seat.member.node);
        case.group.in_sync().filter(stays).count()
    }

    /// Whether the partition lacks a copy.
    pub(super) fn is_short(&self, case: &Case<'_>) -> bool {
        self.placed(case) < self.target(case)
    }

    /// Whether a learner may become in-sync: there is a place for it still, or it is to take another one's.
    pub(super) fn has_place(&self, case: &Case<'_>, learner: Seat) -> bool {
        let is_wanted = self.is_short(case) || self.is_planned(case, learner.member);
        is_wanted && !self.is_leaving(learner.member.node)
    }

    /// Takes a node that is to hold nothing out of a partition, as soon as others hold it.
    pub(super) fn empty_node(&mut self, case: &Case<'_>, load: &mut Load) -> Option<Proposal> {
        let group = case.group;
        let (leaves, stays): (Vec<Seat>, Vec<Seat>) = group
            .in_sync()
            .partition(|seat| self.draining.contains_key(&seat.member.node));
        if leaves.is_empty() || stays.is_empty() {
            return None;
        }
        let attributes = &case.table.attributes;
        if stays.len() >= usize::from(attributes.min_in_sync) {
            return Some(self.with_members(case, load, &stays));
        }
        // Without it writes would be refused: it stays as a backup for as long as it is there.
        let all: Vec<Seat> = group.in_sync().collect();
        let is_primary = leaves.contains(&group.primary);
        is_primary.then(|| self.with_members(case, load, &all))
    }

    /// Takes one member out where there are more than asked for. A primary hands over by that very view: it is there, so it
    /// stops as soon as the next one accepts, and writes wait once.
    pub(super) fn drop_surplus(&mut self, case: &Case<'_>, load: &mut Load) -> Option<Proposal> {
        let group = case.group;
        let target = self.target(case);
        let placed = self.placed(case);
        let leaving = |seat: &Seat| self.is_leaving(seat.member.node);
        let rank = |seat: &Seat| {
            let is_primary = *seat == group.primary;
            (
                leaving(seat),
                !self.is_planned(case, seat.member),
                !is_primary,
                load.members(seat.member),
                seat.member,
            )
        };
        let out = group.in_sync().max_by_key(rank)?;
        let is_surplus = placed > target || (placed >= target && leaving(&out));
        if !is_surplus {
            return None;
        }
        let left: Vec<Seat> = group.in_sync().filter(|seat| *seat != out).collect();
        // Writes need so many.
        let least = usize::from(case.table.attributes.min_in_sync).max(1);
        if left.len() < least {
            return None;
        }
        if out == group.primary {
            load.leave(out.member);
            return Some(self.hand_over(case, load, &left, &[]));
        }
        load.leave(out.member);
        Some(self.with_members(case, load, &left))
    }

    /// Learners that are to stay: they are up, and there is a place for them.
    fn wanted_learners(&self, case: &Case<'_>) -> Vec<Seat> {
        let is_good = |seat: &Seat| self.live.contains(seat) && !self.is_leaving(seat.member.node);
        let learners = case.group.learners.iter().copied();
        let mut learners: Vec<Seat> = learners.filter(is_good).collect();
        let missing = self.target(case).saturating_sub(self.placed(case));
        // One that is to take another one's place comes beside those that are missing.
        learners.sort_by_key(|seat| !self.is_planned(case, seat.member));
        let planned = learners
            .iter()
            .filter(|seat| self.is_planned(case, seat.member));
        let planned = planned.count().min(1);
        learners.truncate(missing.max(planned));
        learners
    }

    /// Lets learners go that are not to stay, by a view in which they are none.
    ///
    /// Another list in the same view would not do (PROTOCOL rule 4): whoever is no learner any more drops what it
    /// holds, and may be listed again, while its primary's request to promote it is on its way, from when it held
    /// everything. That request names the view, so none of a former listing is carried out. A life that is over needs
    /// no view: it cannot be listed again.
    pub(super) fn dismiss_learners(&self, case: &Case<'_>, load: &mut Load) -> Option<Proposal> {
        let wanted = self.wanted_learners(case);
        let mut learners = case.group.learners.iter();
        let may_come_again =
            learners.any(|seat| !wanted.contains(seat) && self.catalog.is_current(*seat));
        if !may_come_again {
            return None;
        }
        let in_sync: Vec<Seat> = case.group.in_sync().collect();
        let mut proposal = self.with_members(case, load, &in_sync);
        proposal.learners = wanted;
        Some(proposal)
    }

    /// Drops learners whose life is over, and finds new ones.
    pub(super) fn see_to_learners(
        &mut self,
        case: &Case<'_>,
        load: &mut Load,
    ) -> Option<NewLearners> {
        let group = case.group;
        let target = self.target(case);
        let placed = self.placed(case);
        let mut learners = self.wanted_learners(case);
        while placed + learners.len() < target {
            let Some(seat) = self.choose_learner(case, load, &learners) else {
                break;
            };
            load.learn(group.primary.member, seat);
            learners.push(seat);
        }
        if learners == group.learners {
            return None;
        }
        Some(NewLearners {
            table: case.table.id,
            partition: case.partition,
            view: group.view,
            learners,
        })
    }

    fn choose_learner(&mut self, case: &Case<'_>, load: &Load, learners: &[Seat]) -> Option<Seat> {
        let group = case.group;
        let members = group.in_sync().chain(learners.iter().copied());
        let nodes: BTreeSet<NodeId> = members.map(|seat| seat.member.node).collect();
        let is_free = |seat: &Seat| load.learning(*seat) < self.config.learners_per_brick;
        let candidates = self.who_may_learn(case, &nodes).filter(is_free);
        let candidates: Vec<Seat> = candidates.collect();
        // Who holds something has to be known before anybody copies everything.
        let patience = self.config.lease * 2;
        let mut awaited = candidates.clone();
        awaited.retain(|seat| self.reports.is_awaited(*seat, case.now, patience));
        if !awaited.is_empty() {
            self.reports.wanted.extend(awaited);
            return None;
        }
        let mut others = self
            .catalog
            .nodes()
            .filter(|node| !nodes.contains(&node.id) && case.table.layout.admits(node.id));
        // Who is about to go cannot wait for anybody.
        let can_wait = !self.is_going(case);
        let may_return = can_wait && others.any(|node| self.may_return(node, case.now));
        let zones: BTreeSet<&str> = nodes.iter().filter_map(|node| self.zone(*node)).collect();
        let holds = |seat: &Seat| {
            let claim = self.reports.claim(*seat, case.partition).flatten();
            claim.is_some_and(|claim| claim.lineage == group.lineage)
        };
        // One that is only to be read from goes where there is time for it.
        let is_extra = self.placed(case) + learners.len() >= self.asked(case);
        let rank = |seat: &Seat| {
            let member = seat.member;
            let zone = self.zone(member.node);
            let busy = is_extra.then(|| self.heat.rank(*seat, case.now));
            (
                busy,
                zone.is_some_and(|zone| zones.contains(zone)),
                !holds(seat),
                !self.is_planned(case, member),
                !load.has_room(member),
                !load.are_partners(group.primary.member, member),
                load.members(member),
                member,
            )
        };
        // As long as those who leave hold it, it can wait for whoever should have it.
        let can_wait = can_wait && group.in_sync().count() >= self.target(case);
        let candidates = candidates.into_iter();
        let chosen = candidates
            .filter(|seat| !may_return || holds(seat))
            .filter(|seat| !can_wait || self.is_planned(case, seat.member));
        chosen.min_by_key(rank)
    }

    /// Bricks that may learn a partition, but for those of some nodes.
    fn who_may_learn<'a>(
        &'a self,
        case: &'a Case<'_>,
        but: &'a BTreeSet<NodeId>,
    ) -> impl Iterator<Item = Seat> + 'a {
        let candidates = self.catalog.candidates().into_iter().map(|it| it.seat);
        candidates.filter(|seat| {
            let node = seat.member.node;
            self.is_up(*seat, case.now)
                && !self.is_leaving(node)
                && case.table.layout.admits(node)
                && !but.contains(&node)
                && !self.barred.contains_key(&(case.partition, seat.member))
        })
    }

    /// Whether all who hold a partition and are there are about to stop, and fewer than there should be copies. Of a table
    /// that has one copy it was chosen that it is away with its node.
    fn is_going(&self, case: &Case<'_>) -> bool {
        let copies = self.catalog.copies_wanted(case.table, case.partition);
        let in_sync = case.group.in_sync();
        let (stop, stay): (Vec<Seat>, Vec<Seat>) = in_sync
            .filter(|seat| self.is_live(*seat, case.now))
            .partition(|seat| self.draining.contains_key(&seat.member.node));
        stay.is_empty() && stop.len() < copies
    }

    /// Whether a partition that is about to go will be elsewhere first.
    pub(super) fn is_being_saved(&self, case: &Case<'_>) -> bool {
        let members = case.group.in_sync();
        let nodes = members.map(|seat| seat.member.node).collect();
        self.is_going(case) && self.who_may_learn(case, &nodes).next().is_some()
    }

    /// Whether a node is away, or has only just come, and what it holds may be spared a copy.
    fn may_return(&self, node: &Node, now: Instant) -> bool {
        let mut bricks = node.bricks();
        let is_away = bricks.all(|member| !self.is_up(node.seat(member.brick), now));
        let since = self.down_since.get(&node.id);
        let is_recent = since.is_none_or(|since| now - *since < self.config.replace_after);
        is_away && is_recent && !self.is_leaving(node.id)
    }

    fn zone(&self, node: NodeId) -> Option<&str> {
        self.catalog.node(node)?.registration.zone.as_deref()
    }
}

#[cfg(test)]
#[path = "learners_test.rs"]
mod learners_test;
