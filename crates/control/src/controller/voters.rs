//! Which nodes vote on the catalog: 1, 3 or 5, in different zones if they can be; all others learn.
//!
//! In:  who takes part now, the catalog, which nodes are there, who asks others for its lease. Out: the next step of the membership; the
//!      voter that leads next where this node stops or may not vote, or where a node reaches that voter and not this one.
//!
//! One step at a time, and a node votes only once it has nearly all of the log. A voter that is lost is
//! replaced before it is taken out.
//!
//! Invariants:
//! - No node votes and learns at a time.
//! - The leader is never demoted by itself.
//! - It does not hand the lead on before it has led for some leases: two links that are cut do not have it wander.

use super::leases::Leases;
use super::liveness::Liveness;
use super::outbox::Outbox;
use crate::config::ControlConfig;
use crate::membership::{Membership, MembershipChange};
use crate::output::ControlOutput;
use brickyard_metadata::{Catalog, Node};
use brickyard_routing::NodeId;
use brickyard_types::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Debug)]
pub(super) struct Voters {
    me: NodeId,
    membership: Membership,
    /// The step that was asked for last, and when.
    step_asked: Option<(MembershipChange, Instant)>,
    transfer_asked: Option<Instant>,
    /// Nodes that ask another one for their lease: which one, and when that was told.
    astray: BTreeMap<NodeId, (NodeId, Instant)>,
}

/// So many leases a node leads before it hands the lead to one that hears more.
const LEADS_LEASES: u32 = 8;

/// The nodes, as far as voters are chosen by them.
#[derive(Clone, Copy)]
pub(super) struct Electorate<'a> {
    pub(super) now: Instant,
    pub(super) config: &'a ControlConfig,
    pub(super) catalog: &'a Catalog,
    pub(super) liveness: &'a Liveness,
    pub(super) leases: &'a Leases,
}

impl Electorate<'_> {
    /// Whether a node may vote, and can.
    fn is_good(&self, node: &Node) -> bool {
        node.registration.roles.control
            && !self.liveness.is_draining(node.id)
            && self
                .liveness
                .is_reachable(node, self.now, self.config, self.leases)
    }

    /// Whether a node has been down for so long that it is replaced.
    fn is_lost(&self, node: NodeId) -> bool {
        self.liveness.is_lost(node, self.now, self.config)
    }
}

impl Voters {
    pub(super) fn new(me: NodeId, membership: Membership) -> Self {
        let voters = Self {
            me,
            membership,
            step_asked: None,
            transfer_asked: None,
            astray: BTreeMap::new(),
        };
        voters.check();
        voters
    }

    /// Who takes part in agreement, as it is now. The voters, if anything is new.
    pub(super) fn on_membership(&mut self, membership: Membership) -> Option<&BTreeSet<NodeId>> {
        if membership.voters != self.membership.voters
            || membership.learners != self.membership.learners
        {
            self.step_asked = None;
        }
        if membership == self.membership {
            return None;
        }
        self.membership = membership;
        self.check();
        Some(&self.membership.voters)
    }

    /// A node asks another one for its lease.
    pub(super) fn on_astray(&mut self, now: Instant, from: NodeId, node: NodeId) {
        if from != node && node != self.me {
            self.astray.insert(node, (from, now));
        }
    }

    pub(super) fn contains(&self, node: NodeId) -> bool {
        self.membership.voters.contains(&node)
    }

    /// Asks for the next step, if there is one to take. `is_held`: this node stops and still holds partitions that others can
    /// take over. While a leader is followed by another nothing is decided: what it holds goes before, or clients would
    /// wait for both.
    pub(super) fn run(&mut self, nodes: Electorate<'_>, is_held: bool, outbox: &mut Outbox) {
        let (now, lease) = (nodes.now, nodes.config.lease);
        let better = self.better_heard(nodes).filter(|_| !is_held);
        if let Some(node) = self.successor(nodes, is_held).or(better) {
            assert_ne!(node, self.me, "this node leads");
            let asked_at = self.transfer_asked;
            if asked_at.is_none_or(|at| now - at >= lease) {
                self.transfer_asked = Some(now);
                outbox.push(ControlOutput::TransferLeader(node));
            }
            return;
        }
        let Some(change) = self.next_step(nodes) else {
            return;
        };
        let is_asked = |(asked, at)| asked == change && now - at < lease;
        if !self.step_asked.is_some_and(is_asked) {
            self.step_asked = Some((change, now));
            outbox.push(ControlOutput::Membership(change));
        }
    }

    /// The node that should lead instead of a leader that is about to stop or may not vote.
    fn successor(&self, nodes: Electorate<'_>, is_held: bool) -> Option<NodeId> {
        let own = nodes.catalog.node(self.me);
        let may_vote = own.is_some_and(|node| node.registration.roles.control);
        let is_stopping = nodes.liveness.is_draining(self.me);
        if may_vote && (!is_stopping || is_held) {
            return None;
        }
        let mut others = nodes.catalog.nodes().filter(|node| node.id != self.me);
        let successor = others.find(|node| self.contains(node.id) && nodes.is_good(node));
        successor.map(|node| node.id)
    }

    /// A voter that a node asks for its lease which this leader has not heard of for half a lease: the link between the two is cut, and the
    /// node would lose its lease although it is well, and hear of no catalog.
    fn better_heard(&mut self, nodes: Electorate<'_>) -> Option<NodeId> {
        let (now, lease) = (nodes.now, nodes.config.lease);
        self.astray.retain(|_, (_, at)| now - *at < lease / 2);
        if now - nodes.leases.started_at() < lease * LEADS_LEASES {
            return None;
        }
        let is_silent = |node: NodeId| {
            let life = nodes.catalog.node(node).map(|node| node.incarnation);
            let asked_at = life.and_then(|life| nodes.leases.asked_at(node, life));
            life.is_some() && asked_at.is_none_or(|at| now - at >= lease / 2)
        };
        let mut astray = self.astray.iter().filter(|(node, _)| is_silent(**node));
        let found = astray.find_map(|(_, (voter, _))| {
            let node = nodes.catalog.node(*voter)?;
            let is_able = self.contains(*voter) && *voter != self.me && nodes.is_good(node);
            is_able.then_some(*voter)
        });
        assert_ne!(found, Some(self.me), "this node leads");
        found
    }

    fn next_step(&self, nodes: Electorate<'_>) -> Option<MembershipChange> {
        let Membership {
            voters,
            learners,
            caught_up,
        } = &self.membership;
        let catalog = nodes.catalog;
        let is_member = |node: NodeId| voters.contains(&node) || learners.contains(&node);
        // Every node has the catalog.
        if let Some(node) = catalog.nodes().find(|node| !is_member(node.id)) {
            return Some(MembershipChange::AddLearner(node.id));
        }
        let mut members = voters.iter().chain(learners);
        let gone = members.find(|node| catalog.node(**node).is_none() && **node != self.me);
        if let Some(node) = gone {
            return Some(MembershipChange::Remove(*node));
        }
        let is_able = |node: &&Node| node.registration.roles.control;
        let able = catalog.nodes().filter(is_able).count();
        let able = able.min(nodes.config.voters);
        let target = [5, 3].into_iter().find(|count| *count <= able).unwrap_or(1);
        let spare = catalog.nodes().filter(|node| {
            let is_ready = learners.contains(&node.id) && caught_up.contains(&node.id);
            is_ready && nodes.is_good(node)
        });
        let spare: Vec<NodeId> = spare.map(|node| node.id).collect();
        let bad = voters.iter().copied();
        let bad: Vec<NodeId> = bad.filter(|it| self.is_bad(nodes, *it)).collect();
        if voters.len() > target || (voters.len().is_multiple_of(2) && spare.is_empty()) {
            let demoted = self.demotion(nodes.liveness, &bad);
            return demoted.map(MembershipChange::Demote);
        }
        assert!(
            voters.len() <= target,
            "{} voters of {target}",
            voters.len()
        );
        let missing = target - voters.len();
        let can_grow = missing > 0 && (spare.len() >= missing || voters.len().is_multiple_of(2));
        let must_replace = missing == 0 && !bad.is_empty();
        // Until they act by a catalog with another node, the bricks of a lone voter need no lease: no other node may come to
        // lead.
        let is_ready = !nodes.leases.has_exempt();
        if (can_grow || must_replace) && is_ready {
            let promoted = self.choose_voter(catalog, &spare);
            return promoted.map(MembershipChange::Promote);
        }
        None
    }

    /// Whether a voter should be replaced: it must not vote, or it has been down for long.
    fn is_bad(&self, nodes: Electorate<'_>, voter: NodeId) -> bool {
        let Some(node) = nodes.catalog.node(voter) else {
            return true;
        };
        let is_lost = nodes.is_lost(voter) && voter != self.me;
        !node.registration.roles.control || is_lost
    }

    /// Which voter to take out: a bad one, else the one with the highest number; never the leader.
    fn demotion(&self, liveness: &Liveness, bad: &[NodeId]) -> Option<NodeId> {
        let voters = self.membership.voters.iter().copied();
        let others = voters.filter(|it| *it != self.me);
        others.max_by_key(|node| (bad.contains(node), liveness.is_down(*node), *node))
    }

    /// Which learner should vote: one in a zone with fewest voters.
    fn choose_voter(&self, catalog: &Catalog, spare: &[NodeId]) -> Option<NodeId> {
        let zone = |node: NodeId| catalog.node(node)?.registration.zone.as_deref();
        let mut by_zone: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        for voter in &self.membership.voters {
            *by_zone.entry(zone(*voter)).or_default() += 1;
        }
        let crowd = |node: NodeId| match zone(node) {
            None => 0,
            zone => by_zone.get(&zone).copied().unwrap_or_default(),
        };
        spare
            .iter()
            .copied()
            .min_by_key(|node| (crowd(*node), *node))
    }

    fn check(&self) {
        let Membership {
            voters, learners, ..
        } = &self.membership;
        assert!(!voters.is_empty(), "an agreement without voters");
        assert!(
            voters.is_disjoint(learners),
            "{voters:?} vote and {learners:?} learn"
        );
    }
}

#[cfg(test)]
#[path = "voters_test.rs"]
mod voters_test;
