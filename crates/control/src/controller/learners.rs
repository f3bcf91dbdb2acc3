//! Copies that are missing or too many, and nodes that drain.
//!
//! A copy comes back first where it was: that node has most of it on its disk. For as long as such a node may
//! come back (`replace_after`) no other is asked to copy everything.

use super::case::Case;
use super::holdings::Holdings;
use super::hot::HotPartitions;
use super::placement::Placement;
use super::proposals::{hand_over, with_members};
use super::requests::Requests;
use super::summaries::LogSummaries;
use crate::config::ControlConfig;
use brickyard_metadata::{NewLearners, Proposal};
use brickyard_routing::{NodeId, Replica};
use std::collections::BTreeSet;

/// Takes a node that drains out of a partition, as soon as others hold it.
pub(super) fn empty_node(case: &Case<'_>, holdings: &mut Holdings) -> Option<Proposal> {
    let group = case.group;
    let (leaves, stays): (Vec<Replica>, Vec<Replica>) = group
        .in_sync()
        .partition(|replica| case.view.is_draining(replica.member.node));
    if leaves.is_empty() || stays.is_empty() {
        return None;
    }
    let attributes = &case.table.attributes;
    if stays.len() >= usize::from(attributes.min_in_sync) {
        return Some(with_members(case, holdings, &stays));
    }
    // Without it writes would be refused: it stays as a backup for as long as it is there.
    let all: Vec<Replica> = group.in_sync().collect();
    let is_primary = leaves.contains(&group.primary);
    is_primary.then(|| with_members(case, holdings, &all))
}

/// Lets another member order the operations where the primary is on a node that is leaving.
pub(super) fn lead_elsewhere(
    case: &Case<'_>,
    placement: &Placement,
    holdings: &mut Holdings,
) -> Option<Proposal> {
    let group = case.group;
    let stays = |replica: &Replica| !case.view.is_leaving(replica.member.node);
    if stays(&group.primary) || !group.in_sync().any(|replica| stays(&replica)) {
        return None;
    }
    let (next, others): (Vec<Replica>, Vec<Replica>) = group.in_sync().partition(stays);
    Some(hand_over(case, placement, holdings, &next, &others))
}

/// Takes one member out where there are more than asked for. A primary hands over by that very view: it is there, so it
/// stops as soon as the next one accepts, and writes wait once.
pub(super) fn drop_surplus(
    case: &Case<'_>,
    placement: &Placement,
    holdings: &mut Holdings,
) -> Option<Proposal> {
    let group = case.group;
    let wanted = case.copies_wanted();
    let staying = case.copies_staying();
    let leaving = |replica: &Replica| case.view.is_leaving(replica.member.node);
    let rank = |replica: &Replica| {
        let is_primary = *replica == group.primary;
        (
            leaving(replica),
            !placement.wants(case.partition, replica.member),
            !is_primary,
            holdings.members(replica.member),
            replica.member,
        )
    };
    let out = group.in_sync().max_by_key(rank)?;
    let is_surplus = staying > wanted || (staying >= wanted && leaving(&out));
    if !is_surplus {
        return None;
    }
    let left: Vec<Replica> = group.in_sync().filter(|replica| *replica != out).collect();
    // Writes need so many.
    let least = usize::from(case.table.attributes.min_in_sync).max(1);
    if left.len() < least {
        return None;
    }
    holdings.leave(out.member);
    if out == group.primary {
        return Some(hand_over(case, placement, holdings, &left, &[]));
    }
    Some(with_members(case, holdings, &left))
}

/// Learners that should stay: they are live, and there is a place for them.
fn wanted_learners(case: &Case<'_>, placement: &Placement) -> Vec<Replica> {
    let is_good = |replica: &Replica| {
        case.stays_listed(*replica) && !case.view.is_leaving(replica.member.node)
    };
    let is_planned = |replica: &Replica| placement.wants(case.partition, replica.member);
    let learners = case.group.learners.iter().copied();
    let mut learners: Vec<Replica> = learners.filter(is_good).collect();
    let missing = case.copies_wanted().saturating_sub(case.copies_staying());
    // One that will take another one's place comes beside those that are missing.
    learners.sort_by_key(|replica| (!case.view.is_live(*replica), !is_planned(replica)));
    let planned = learners.iter().filter(|replica| is_planned(replica));
    let planned = planned.count().min(1);
    learners.truncate(missing.max(planned));
    learners
}

/// Lets learners go that should not stay, by a view in which they are none.
///
/// Another list in the same view would not do (rule `learner votes before promotion`): a brick that is no learner any
/// more drops what it holds, and may be listed again, while its primary's request to promote it is on its way, from
/// when it held everything. That request names the view, so none of a former listing is carried out. A life that is
/// over needs no view: it cannot be listed again.
pub(super) fn dismiss_learners(
    case: &Case<'_>,
    placement: &Placement,
    holdings: &mut Holdings,
) -> Option<Proposal> {
    let wanted = wanted_learners(case, placement);
    let mut learners = case.group.learners.iter();
    let may_come_again =
        learners.any(|replica| !wanted.contains(replica) && case.catalog.is_current(*replica));
    if !may_come_again {
        return None;
    }
    let in_sync: Vec<Replica> = case.group.in_sync().collect();
    let mut proposal = with_members(case, holdings, &in_sync);
    proposal.learners = wanted;
    Some(proposal)
}

/// Finds bricks that learn a partition whose copies are missing.
pub(super) struct LearnerChoice<'a> {
    pub(super) config: &'a ControlConfig,
    pub(super) requests: &'a Requests,
    pub(super) summaries: &'a mut LogSummaries,
    pub(super) placement: &'a Placement,
    pub(super) hot: &'a HotPartitions,
    pub(super) holdings: &'a mut Holdings,
}

impl LearnerChoice<'_> {
    /// Drops learners whose life is over, and finds new ones; `None` if all stay as they are.
    pub(super) fn new_learners(&mut self, case: &Case<'_>) -> Option<NewLearners> {
        let group = case.group;
        let wanted = case.copies_wanted();
        let staying = case.copies_staying();
        let mut learners = wanted_learners(case, self.placement);
        while staying + learners.len() < wanted {
            let Some(replica) = self.choose(case, &learners) else {
                break;
            };
            assert!(
                !learners.contains(&replica),
                "{replica} learns {} twice",
                case.partition
            );
            self.holdings.learn(group.primary.member, replica);
            learners.push(replica);
        }
        if staying + learners.len() < wanted {
            learners.extend(self.away(case, &learners));
            // It has the place until its present life is given it, or nobody waits for it any more.
            let is_back = |it: &Replica| case.is_back(*it);
            if learners.is_empty() && group.learners.iter().any(is_back) {
                return None;
            }
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

    /// A brick that should hold the partition and is away with its node: it is named, so that it does not give up what it has of it.
    fn away(&self, case: &Case<'_>, learners: &[Replica]) -> Option<Replica> {
        let members = case.group.in_sync().chain(learners.iter().copied());
        let named: BTreeSet<NodeId> = members.map(|replica| replica.member.node).collect();
        let target = self.placement.target(case.partition).iter();
        let planned = target.filter(|member| !named.contains(&member.node));
        let mut planned = planned.filter_map(|member| {
            let node = case.catalog.node(member.node)?;
            Some(node.replica(member.brick))
        });
        planned.find(|replica| case.may_return(*replica))
    }

    fn choose(&mut self, case: &Case<'_>, learners: &[Replica]) -> Option<Replica> {
        let group = case.group;
        let members = group.in_sync().chain(learners.iter().copied());
        let nodes: BTreeSet<NodeId> = members.map(|replica| replica.member.node).collect();
        let is_free =
            |replica: &Replica| self.holdings.learning(*replica) < self.config.learners_per_brick;
        let candidates = who_may_learn(case, self.requests, &nodes).filter(is_free);
        let candidates: Vec<Replica> = candidates.collect();
        // What bricks hold has to be known before one copies everything.
        let patience = self.config.lease * 2;
        let mut awaited = candidates.clone();
        awaited.retain(|replica| self.summaries.is_awaited(*replica, case.now(), patience));
        if !awaited.is_empty() {
            self.summaries.want(awaited);
            return None;
        }
        let mut others = case
            .catalog
            .nodes()
            .filter(|node| !nodes.contains(&node.id) && case.table.layout.admits(node.id));
        // A partition that is about to go cannot wait for a node.
        let can_wait = !case.is_going();
        let may_return = can_wait && others.any(|node| case.view.may_return(node));
        let zone = |node: NodeId| case.catalog.node(node)?.registration.zone.as_deref();
        let zones: BTreeSet<&str> = nodes.iter().filter_map(|node| zone(*node)).collect();
        let holds = |replica: &Replica| {
            let summary = self.summaries.summary(*replica, case.partition).flatten();
            summary.is_some_and(|summary| summary.generation == group.generation)
        };
        let is_planned = |replica: &Replica| self.placement.wants(case.partition, replica.member);
        // One that is only read from goes where there is time for it.
        let is_extra = case.copies_staying() + learners.len() >= case.copies_asked();
        let rank = |replica: &Replica| {
            let member = replica.member;
            let zone = zone(member.node);
            let busy = is_extra.then(|| self.hot.rank(*replica, case.now()));
            (
                busy,
                zone.is_some_and(|zone| zones.contains(zone)),
                !holds(replica),
                !is_planned(replica),
                !self.holdings.has_room(member),
                !self.holdings.are_partners(group.primary.member, member),
                self.holdings.members(member),
                member,
            )
        };
        // As long as those that leave hold it, it can wait for the brick that should have it.
        let can_wait = can_wait && group.in_sync().count() >= case.copies_wanted();
        let candidates = candidates.into_iter();
        let chosen = candidates
            .filter(|replica| !may_return || holds(replica))
            .filter(|replica| !can_wait || is_planned(replica));
        chosen.min_by_key(rank)
    }
}

/// Bricks that may learn a partition, but for those of some nodes.
fn who_may_learn<'a>(
    case: &'a Case<'_>,
    requests: &'a Requests,
    but: &'a BTreeSet<NodeId>,
) -> impl Iterator<Item = Replica> + 'a {
    let candidates = case.catalog.candidates().into_iter().map(|it| it.replica);
    candidates.filter(|replica| {
        let node = replica.member.node;
        case.view.is_leased(*replica)
            && !case.view.is_leaving(node)
            && case.table.layout.admits(node)
            && !but.contains(&node)
            && !requests.is_barred(case.partition, replica.member)
    })
}

/// Whether a partition that is about to go will be elsewhere first.
pub(super) fn is_being_saved(case: &Case<'_>, requests: &Requests) -> bool {
    let nodes = case.nodes();
    case.is_going() && who_may_learn(case, requests, &nodes).next().is_some()
}

#[cfg(test)]
#[path = "learners_test.rs"]
mod learners_test;
