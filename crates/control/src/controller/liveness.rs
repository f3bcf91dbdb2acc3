//! Which nodes and bricks are there, as far as this leader can tell, and which are about to go.
//!
//! In:  the catalog, leases, nodes that report that they are about to stop. Out: a [`LivenessView`], by which everything is
//!      decided in one pass; since when nodes are down.
//!
//! Invariants:
//! - A brick that has a lease of this leader is live; a brick that is live is one of the catalog's, in its present life.
//! - Only nodes of the catalog are down.
//!
//! Not here: leases (`leases`), what is done about a brick that is not live (`decide`).

use super::drains::{Drains, LogEnds};
use super::leases::Leases;
use crate::config::ControlConfig;
use brickyard_metadata::{Catalog, Node};
use brickyard_routing::{NodeId, Replica};
use brickyard_types::{Incarnation, Instant};
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Debug)]
pub(super) struct Liveness {
    me: NodeId,
    /// When this leader first had a node's present life in its catalog.
    first_seen: BTreeMap<(NodeId, Incarnation), Instant>,
    /// Since when nodes are not up.
    down_since: BTreeMap<NodeId, Instant>,
    drains: Drains,
}

/// The nodes and bricks at one instant.
#[derive(Debug)]
pub(super) struct LivenessView {
    now: Instant,
    live: BTreeSet<Replica>,
    leased: BTreeSet<Replica>,
    /// The nodes that hold partitions and go on doing so.
    staying: BTreeSet<NodeId>,
    draining: BTreeSet<NodeId>,
    /// The nodes that have been down for so long that they are not waited for.
    lost: BTreeSet<NodeId>,
}

impl Liveness {
    pub(super) fn new(me: NodeId) -> Self {
        Self {
            me,
            first_seen: BTreeMap::new(),
            down_since: BTreeMap::new(),
            drains: Drains::default(),
        }
    }

    /// The catalog has changed.
    pub(super) fn on_catalog(&mut self, now: Instant, catalog: &Catalog) {
        let present: BTreeSet<(NodeId, Incarnation)> = catalog
            .nodes()
            .map(|node| (node.id, node.incarnation))
            .collect();
        self.first_seen.retain(|life, _| present.contains(life));
        for life in present {
            self.first_seen.entry(life).or_insert_with(|| {
                self.drains.on_new_life(life.0);
                now
            });
        }
        assert_eq!(
            self.first_seen.len(),
            catalog.nodes().len(),
            "one life of each node"
        );
    }

    /// A node of the catalog is going to stop. Whether a proposal may give it something that was made before that was known.
    pub(super) fn on_drain(&mut self, now: Instant, node: NodeId, log: LogEnds) -> bool {
        self.drains.on_request(now, node, log)
    }

    /// Examines all nodes, and notes which have gone down or come up.
    pub(super) fn examine(
        &mut self,
        now: Instant,
        config: &ControlConfig,
        catalog: &Catalog,
        leases: &Leases,
    ) -> LivenessView {
        self.drains.expire(now, config.renew * 10);
        let mut view = self.view(now, config, catalog, leases);
        let is_up = |node: &Node| {
            let has_bricks = node.weight() > 0;
            view.is_node_live(node) || (!has_bricks && self.is_reachable(node, now, config, leases))
        };
        let down: BTreeSet<NodeId> = catalog
            .nodes()
            .filter(|node| !is_up(node))
            .map(|node| node.id)
            .collect();
        self.down_since.retain(|node, _| down.contains(node));
        for node in &down {
            self.down_since.entry(*node).or_insert(now);
        }
        assert_eq!(self.down_since.len(), down.len(), "{:?}", self.down_since);
        view.lost = self.lost(now, config);
        view
    }

    /// All nodes as they are now; those that were last found down count as such.
    pub(super) fn view(
        &self,
        now: Instant,
        config: &ControlConfig,
        catalog: &Catalog,
        leases: &Leases,
    ) -> LivenessView {
        let mut view = LivenessView {
            now,
            live: BTreeSet::new(),
            leased: BTreeSet::new(),
            staying: BTreeSet::new(),
            draining: self.drains.nodes(),
            lost: self.lost(now, config),
        };
        for node in catalog.nodes() {
            let is_new = self.is_new(node, now, config);
            for member in node.bricks() {
                let replica = node.replica(member.brick);
                if leases.is_granted(replica, now) {
                    view.leased.insert(replica);
                }
                if is_new || !leases.has_run_out(replica, now) {
                    view.live.insert(replica);
                }
            }
            if node.weight() > 0 && !self.drains.contains(node.id) {
                view.staying.insert(node.id);
            }
        }
        view.check();
        view
    }

    /// Whether a node's present life is not known for long enough to be given up.
    fn is_new(&self, node: &Node, now: Instant, config: &ControlConfig) -> bool {
        let seen_at = self.first_seen.get(&(node.id, node.incarnation));
        seen_at.is_none_or(|seen_at| now < *seen_at + config.first_request_timeout())
    }

    /// Whether a node asks for its lease.
    pub(super) fn is_reachable(
        &self,
        node: &Node,
        now: Instant,
        config: &ControlConfig,
        leases: &Leases,
    ) -> bool {
        let asked_at = leases.asked_at(node.id, node.incarnation);
        let seen_at = self.first_seen.get(&(node.id, node.incarnation));
        let is_new = seen_at.is_some_and(|seen_at| now < *seen_at + config.first_request_timeout());
        let has_asked = asked_at.is_some_and(|at| now < at + config.lease_and_margin());
        node.id == self.me || is_new || has_asked
    }

    pub(super) fn is_draining(&self, node: NodeId) -> bool {
        self.drains.contains(node)
    }

    /// The nodes that are not up.
    pub(super) fn down(&self) -> impl Iterator<Item = NodeId> {
        self.down_since.keys().copied()
    }

    pub(super) fn is_down(&self, node: NodeId) -> bool {
        self.down_since.contains_key(&node)
    }

    /// Whether a node has been down for so long that it is not waited for.
    pub(super) fn is_lost(&self, node: NodeId, now: Instant, config: &ControlConfig) -> bool {
        let since = self.down_since.get(&node);
        since.is_some_and(|since| now - *since >= config.replace_after)
    }

    fn lost(&self, now: Instant, config: &ControlConfig) -> BTreeSet<NodeId> {
        let down = self.down_since.keys().copied();
        down.filter(|node| self.is_lost(*node, now, config))
            .collect()
    }
}

impl LivenessView {
    pub(super) const fn now(&self) -> Instant {
        self.now
    }

    /// The bricks that count as members that can be relied on: in their present life, with a lease, or not known for long
    /// enough to be given up.
    pub(super) const fn live(&self) -> &BTreeSet<Replica> {
        &self.live
    }

    /// See [`Self::live`].
    pub(super) fn is_live(&self, replica: Replica) -> bool {
        self.live.contains(&replica)
    }

    /// Whether a brick has a lease of this leader: only such a one is given something to do.
    pub(super) fn is_leased(&self, replica: Replica) -> bool {
        self.leased.contains(&replica)
    }

    /// Whether some brick of a node is live.
    pub(super) fn is_node_live(&self, node: &Node) -> bool {
        let mut bricks = node.bricks();
        bricks.any(|member| self.is_live(node.replica(member.brick)))
    }

    /// Whether a node should hold nothing from now on.
    pub(super) fn is_leaving(&self, node: NodeId) -> bool {
        !self.staying.contains(&node)
    }

    /// Whether a node is about to stop.
    pub(super) fn is_draining(&self, node: NodeId) -> bool {
        self.draining.contains(&node)
    }

    /// Whether some node is about to stop.
    pub(super) fn has_draining(&self) -> bool {
        !self.draining.is_empty()
    }

    /// The nodes that have been down for so long that they are not waited for.
    pub(super) const fn lost(&self) -> &BTreeSet<NodeId> {
        &self.lost
    }

    /// Whether a node is away, or has only just come, and what it holds may be spared a copy.
    pub(super) fn may_return(&self, node: &Node) -> bool {
        let mut bricks = node.bricks();
        let is_away = bricks.all(|member| !self.is_leased(node.replica(member.brick)));
        is_away && !self.lost.contains(&node.id) && !self.is_leaving(node.id)
    }

    fn check(&self) {
        assert!(
            self.leased.is_subset(&self.live),
            "leased {:?} and not live",
            self.leased.difference(&self.live)
        );
        assert!(
            self.staying.is_disjoint(&self.draining),
            "{:?} drain and stay",
            self.draining
        );
    }
}
