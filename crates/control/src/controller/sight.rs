//! Who is there, as far as this leader can tell, and who certainly acts no more.

use super::Controller;
use brickyard_metadata::{CatalogVersion, Node};
use brickyard_routing::{NodeId, Seat, ViewChange};
use brickyard_types::{BrickId, Instant};
use std::collections::BTreeSet;

impl Controller {
    /// Whether a brick counts as a member that can be relied on: in its present life, with a lease, or not
    /// known for long enough to be given up.
    pub(super) fn is_live(&self, seat: Seat, now: Instant) -> bool {
        if !self.catalog.is_current(seat) {
            return false;
        }
        let seen_at = self.seen_at.get(&(seat.member.node, seat.incarnation));
        let is_new = seen_at.is_none_or(|seen_at| now < *seen_at + self.config.patience());
        is_new || !self.has_run_out(seat, now)
    }

    /// Whether a brick has a lease of this leader: only such a one is given something to do.
    pub(super) fn is_up(&self, seat: Seat, now: Instant) -> bool {
        self.catalog.is_current(seat) && self.keeper.is_granted(seat, now)
    }

    /// Whether a node asks for its lease.
    pub(super) fn is_node_up(&self, node: &Node, now: Instant) -> bool {
        let asked_at = self.keeper.asked_at(node.id, node.incarnation);
        let seen_at = self.seen_at.get(&(node.id, node.incarnation)).copied();
        let until = |at: Instant| at + self.config.lease_and_margin();
        let is_new = seen_at.is_some_and(|seen_at| now < seen_at + self.config.patience());
        node.id == self.me || is_new || asked_at.is_some_and(|at| now < until(at))
    }

    /// Whether nobody acts on a lease of that brick any more.
    fn has_run_out(&self, seat: Seat, now: Instant) -> bool {
        !self.alone.contains_key(&seat) && self.keeper.has_run_out(seat, now)
    }

    /// Whether a brick certainly does nothing any more in a view that a change of this version took it out of.
    fn is_fenced(&self, seat: Seat, version: u64, now: Instant) -> bool {
        // PROTOCOL rule 6: what it said to this leader, in that very life; or (rule 20) that life is over for
        // certain; or nobody can believe in its lease any more.
        self.keeper.state(seat).stopped.0 >= version
            || self.catalog.is_proven_dead(seat)
            || self.has_run_out(seat, now)
    }

    /// Whether a proposed view may take effect.
    pub(super) fn is_due(&self, change: &ViewChange, now: Instant) -> bool {
        let version = change.proposed_at;
        // PROTOCOL rule 7: all whom it fences.
        let mut fenced = change.fenced.iter();
        let is_fenced = fenced.all(|seat| self.is_fenced(*seat, version, now));
        // PROTOCOL rule 8: its primary has accepted it, in the life that was named.
        let is_accepted = self.keeper.state(change.primary).accepted >= CatalogVersion(version);
        is_fenced && is_accepted && self.catalog.is_current(change.primary)
    }

    /// All bricks that are live.
    pub(super) fn survey(&self, now: Instant) -> BTreeSet<Seat> {
        let nodes = self.catalog.nodes();
        let seats = nodes.flat_map(|node| node.bricks().map(|member| node.seat(member.brick)));
        seats.filter(|seat| self.is_live(*seat, now)).collect()
    }

    /// Takes note of nodes that have gone down or come up.
    pub(super) fn note_down(&mut self, now: Instant) {
        let nodes: Vec<(NodeId, bool)> = self
            .catalog
            .nodes()
            .map(|node| {
                let mut bricks = (0..node.bricks().len() as u32).map(BrickId);
                let has_live = bricks.any(|brick| self.is_live(node.seat(brick), now));
                (
                    node.id,
                    has_live || (node.weight() == 0 && self.is_node_up(node, now)),
                )
            })
            .collect();
        self.down_since
            .retain(|node, _| nodes.contains(&(*node, false)));
        for (node, is_up) in nodes {
            if !is_up {
                self.down_since.entry(node).or_insert(now);
            }
        }
    }

    /// Whether a node is to hold nothing from now on.
    pub(super) fn is_leaving(&self, node: NodeId) -> bool {
        let has_weight = self
            .catalog
            .node(node)
            .is_some_and(|node| node.weight() > 0);
        !has_weight || self.draining.contains_key(&node)
    }
}
