//! Who votes on the catalog: 1, 3 or 5 nodes, in different zones if they can be; all others learn.
//!
//! One step at a time, and a node votes only once it has nearly all of the log. A voter that is lost is
//! replaced before it is taken out.

use super::{Controller, Output};
use crate::message::DrainAsk;
use brickyard_metadata::Node;
use brickyard_routing::NodeId;
use brickyard_types::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// Who takes part in agreement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// Who votes.
    pub voters: BTreeSet<NodeId>,
    /// Who gets the log and does not vote.
    pub learners: BTreeSet<NodeId>,
    /// Learners that have nearly all of the log.
    pub caught_up: BTreeSet<NodeId>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MembershipChange {
    /// A node gets the log from now on.
    AddLearner(NodeId),
    /// A learner votes from now on.
    Promote(NodeId),
    /// A voter only learns from now on.
    Demote(NodeId),
    /// A node takes no part any more.
    Remove(NodeId),
}

impl Controller {
    /// Asks for the next step, if there is one to take.
    pub(super) fn see_to_voters(&mut self, now: Instant) {
        if let Some(node) = self.successor(now) {
            let asked_at = self.transfer_asked;
            if asked_at.is_none_or(|at| now - at >= self.config.lease) {
                self.transfer_asked = Some(now);
                self.outputs.push_back(Output::TransferLeader(node));
            }
            return;
        }
        let Some(change) = self.next_step(now) else {
            return;
        };
        let is_asked = self
            .membership_asked
            .is_some_and(|(asked, at)| asked == change && now - at < self.config.lease);
        if !is_asked {
            self.membership_asked = Some((change, now));
            self.outputs.push_back(Output::Membership(change));
        }
    }

    /// Who is to lead instead of a leader that is about to stop or is not to vote.
    fn successor(&self, now: Instant) -> Option<NodeId> {
        let own = self.catalog.node(self.me);
        let may_vote = own.is_some_and(|node| node.registration.roles.control);
        let is_stopping = self.draining.contains_key(&self.me);
        // While a leader is followed by another nothing is decided: what this node holds goes before, or clients would
        // wait for both.
        let holds_something = || {
            own.is_some_and(|node| {
                let ask = DrainAsk {
                    node: self.me,
                    incarnation: node.incarnation,
                };
                self.drained(now, ask).remaining > 0
            })
        };
        if may_vote && (!is_stopping || holds_something()) {
            return None;
        }
        let mut others = self.catalog.nodes().filter(|node| node.id != self.me);
        let successor = others.find(|node| {
            self.membership.voters.contains(&node.id) && self.is_good_voter(node, now)
        });
        successor.map(|node| node.id)
    }

    fn is_good_voter(&self, node: &Node, now: Instant) -> bool {
        node.registration.roles.control
            && !self.draining.contains_key(&node.id)
            && self.is_node_up(node, now)
    }

    fn next_step(&self, now: Instant) -> Option<MembershipChange> {
        let Membership {
            voters,
            learners,
            caught_up,
        } = &self.membership;
        let is_member = |node: NodeId| voters.contains(&node) || learners.contains(&node);
        // Every node has the catalog.
        if let Some(node) = self.catalog.nodes().find(|node| !is_member(node.id)) {
            return Some(MembershipChange::AddLearner(node.id));
        }
        let mut members = voters.iter().chain(learners);
        let gone = members.find(|node| self.catalog.node(**node).is_none() && **node != self.me);
        if let Some(node) = gone {
            return Some(MembershipChange::Remove(*node));
        }
        let is_able = |node: &&Node| node.registration.roles.control;
        let able = self
            .catalog
            .nodes()
            .filter(is_able)
            .count()
            .min(self.config.voters);
        let target = [5, 3].into_iter().find(|count| *count <= able).unwrap_or(1);
        let spare = self.catalog.nodes().filter(|node| {
            let is_ready = learners.contains(&node.id) && caught_up.contains(&node.id);
            is_ready && self.is_good_voter(node, now)
        });
        let spare: Vec<NodeId> = spare.map(|node| node.id).collect();
        let bad: Vec<NodeId> = voters
            .iter()
            .copied()
            .filter(|it| self.is_bad_voter(*it, now))
            .collect();
        if voters.len() > target || (voters.len().is_multiple_of(2) && spare.is_empty()) {
            return self.demotion(&bad).map(MembershipChange::Demote);
        }
        let missing = target - voters.len();
        let can_grow = missing > 0 && (spare.len() >= missing || voters.len().is_multiple_of(2));
        let must_replace = missing == 0 && !bad.is_empty();
        // Until they act by a catalog with company, the bricks of a lone voter need no lease: nobody else may
        // come to lead.
        let is_ready = self.alone.is_empty();
        if (can_grow || must_replace) && is_ready {
            return self.choose_voter(&spare).map(MembershipChange::Promote);
        }
        None
    }

    /// Whether a voter should be replaced: it must not vote, or it has been down for long.
    fn is_bad_voter(&self, voter: NodeId, now: Instant) -> bool {
        let Some(node) = self.catalog.node(voter) else {
            return true;
        };
        let since = self.down_since.get(&voter);
        let is_lost = since.is_some_and(|since| now - *since >= self.config.replace_after);
        !node.registration.roles.control || (is_lost && voter != self.me)
    }

    /// Which voter to take out: a bad one, else the one with the highest number; never the leader.
    fn demotion(&self, bad: &[NodeId]) -> Option<NodeId> {
        let others = self
            .membership
            .voters
            .iter()
            .copied()
            .filter(|it| *it != self.me);
        others.max_by_key(|node| {
            let is_down = self.down_since.contains_key(node);
            (bad.contains(node), is_down, *node)
        })
    }

    /// Which learner should vote: one in a zone with fewest voters.
    fn choose_voter(&self, spare: &[NodeId]) -> Option<NodeId> {
        let zone = |node: NodeId| self.catalog.node(node)?.registration.zone.as_deref();
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
}

#[cfg(test)]
#[path = "voters_test.rs"]
mod voters_test;
