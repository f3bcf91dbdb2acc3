//! The leases of bricks, as the leader keeps them: which bricks it grants one, and which certainly act no more.
//!
//! In:  requests of nodes, rounds that a majority answered, what voters heard of earlier leaders. Out: grants, rounds,
//!      queries to voters.
//!
//! A lone voter's bricks need no lease as long as their catalog has one node: no node can lead but that voter. When a second
//! node registers they are exempt until they act by a catalog that has it.
//!
//! Invariant: only bricks of this node are exempt, and only in the life that the catalog has.
//!
//! Not here: the arithmetic of leases (`lease_keeper`), what a lease that has run out leads to (`liveness`, `view_changes`).

use super::outbox::Outbox;
use crate::config::ControlConfig;
use crate::lease_keeper::{LeaseKeeper, RoundToken};
use crate::message::{
    BrickState, LeaderContactQuery, LeaderContactReply, LeaseRequest, Superseded, ToNode,
};
use crate::output::ControlOutput;
use brickyard_metadata::{Catalog, CatalogVersion};
use brickyard_routing::{NodeId, Replica};
use brickyard_types::{Incarnation, Instant};
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Debug)]
pub(super) struct Leases {
    keeper: LeaseKeeper,
    /// Bricks that may act without a lease until they act by this version.
    exempt: BTreeMap<Replica, CatalogVersion>,
    /// When voters were last asked when they heard an earlier leader.
    queried_at: Option<Instant>,
}

impl Leases {
    /// Of a leader whose catalog is that one.
    pub(super) fn new(keeper: LeaseKeeper, catalog: &Catalog) -> Self {
        let mut leases = Self {
            keeper,
            exempt: BTreeMap::new(),
            queried_at: None,
        };
        leases.exempt_lone_voter(catalog);
        leases
    }

    pub(super) const fn me(&self) -> NodeId {
        self.keeper.me()
    }

    pub(super) const fn term(&self) -> u64 {
        self.keeper.term()
    }

    /// The catalog has changed.
    pub(super) fn on_catalog(&mut self, now: Instant, before: &Catalog, catalog: &Catalog) {
        assert!(
            catalog.version() >= before.version(),
            "the catalog went back from {:?} to {:?}",
            before.version(),
            catalog.version()
        );
        if before.nodes().len() <= 1 {
            self.exempt_lone_voter(catalog);
        }
        // A former life is over: this process has its directory, and a copy of that would be a majority by itself.
        self.exempt
            .retain(|replica, _| catalog.is_current(*replica));
        self.keeper.forget(now, catalog);
        self.check();
    }

    fn exempt_lone_voter(&mut self, catalog: &Catalog) {
        if !self.keeper.is_lone_voter() || catalog.nodes().len() < 2 {
            return;
        }
        let version = catalog.version();
        let Some(node) = catalog.node(self.me()) else {
            return;
        };
        let replicas = node.bricks().map(|member| node.replica(member.brick));
        self.exempt = replicas.map(|replica| (replica, version)).collect();
    }

    /// The voters, by the log as it is now.
    pub(super) fn set_voters(&mut self, voters: BTreeSet<NodeId>) {
        self.keeper.set_voters(voters);
    }

    /// A node asks for its lease. Returns whether any state of its bricks is new.
    pub(super) fn on_request(
        &mut self,
        now: Instant,
        catalog: &Catalog,
        request: LeaseRequest,
        outbox: &mut Outbox,
    ) -> bool {
        let node = catalog.node(request.node);
        let present = node.map(|node| node.incarnation);
        let bricks = node.map_or(0, |node| node.bricks().len());
        if present != Some(request.incarnation) || request.bricks.len() != bricks {
            // A life that this leader has not heard of yet asks again.
            if present.is_none_or(|present| present > request.incarnation) {
                let superseded = Superseded {
                    incarnation: request.incarnation,
                    present,
                };
                outbox.send(request.node, ToNode::Superseded(superseded));
            }
            return false;
        }
        let is_new = self.keeper.on_request(now, request);
        let keeper = &self.keeper;
        self.exempt
            .retain(|replica, version| keeper.state(*replica).stopped < *version);
        is_new
    }

    /// A majority answered a round. `stops`: for each brick, the version of the catalog from which on it has to have stopped
    /// something.
    pub(super) fn on_quorum(
        &mut self,
        token: RoundToken,
        catalog: &Catalog,
        stops: &BTreeMap<Replica, u64>,
        outbox: &mut Outbox,
    ) {
        for (node, grant) in self.keeper.on_quorum(token, catalog, stops) {
            let known = catalog.node(node);
            assert_eq!(
                known.map(|known| (known.incarnation, known.bricks().len())),
                Some((grant.incarnation, grant.bricks.len())),
                "a grant for the bricks of node {node} in its present life"
            );
            outbox.send(node, ToNode::Grant(grant));
        }
    }

    /// A round came to nothing.
    pub(super) fn on_quorum_lost(&mut self, token: RoundToken) {
        self.keeper.on_quorum_lost(token);
    }

    /// A voter says when it last heard an earlier leader.
    pub(super) fn on_leader_contact(
        &mut self,
        now: Instant,
        from: NodeId,
        reply: LeaderContactReply,
    ) {
        self.keeper.on_leader_contact(now, from, reply);
    }

    /// Asks the voters that have not answered, and begins a round if one is due.
    pub(super) fn run(&mut self, now: Instant, config: &ControlConfig, outbox: &mut Outbox) {
        let is_early = |sent| now - sent < config.renew / 3;
        if !self.queried_at.is_some_and(is_early) {
            self.queried_at = Some(now);
            let query = LeaderContactQuery { term: self.term() };
            for voter in self.keeper.voters_to_query(now) {
                outbox.send(voter, ToNode::LeaderContact(query));
            }
        }
        if let Some(round) = self.keeper.poll_round(now) {
            outbox.push(ControlOutput::Round(round));
        }
    }

    /// Whether no process acts on a lease of that brick any more, nor without one.
    pub(super) fn has_run_out(&self, replica: Replica, now: Instant) -> bool {
        !self.exempt.contains_key(&replica) && self.keeper.has_run_out(replica, now)
    }

    /// Whether the brick has a lease of this leader.
    pub(super) fn is_granted(&self, replica: Replica, now: Instant) -> bool {
        self.keeper.is_granted(replica, now)
    }

    /// The brick's last reported state.
    pub(super) fn state(&self, replica: Replica) -> BrickState {
        self.keeper.state(replica)
    }

    /// When a node last asked in that life, if it ever asked this leader.
    pub(super) fn asked_at(&self, node: NodeId, incarnation: Incarnation) -> Option<Instant> {
        self.keeper.asked_at(node, incarnation)
    }

    /// When this leader began to keep them.
    pub(super) const fn started_at(&self) -> Instant {
        self.keeper.started_at()
    }

    /// Whether some brick may act without a lease.
    pub(super) fn has_exempt(&self) -> bool {
        !self.exempt.is_empty()
    }

    fn check(&self) {
        for replica in self.exempt.keys() {
            assert_eq!(replica.member.node, self.me(), "{replica} needs a lease");
        }
    }
}
