//! The leader's decisions: what of the catalog has to change, by what it knows of the nodes.
//!
//! In: everything that arrives at a leader, and the catalog as it is applied. Out: [`ControlOutput`]s.
//!
//! ```text
//!  events ──▶ Controller ──▶ one component each, which owns its state
//!                 │ time
//!                 ▼
//!             examine nodes ──▶ decide: a pass over all partitions ──▶ Outbox ──▶ Propose
//! ```
//! The controller dispatches: it hands each event to the component that it is for, with the few things that the component
//! may read or change, and decides when it is time (decision 0028). What is decided is in `decide`.
//!
//! Invariants:
//! - A proposal is handed out only when the one before it has come to something (`outbox`).
//! - A view is put into effect only when all bricks that it fences have stopped or cannot act, and its primary
//!   has accepted it: by what was reported to this leader itself (rules `a proposed view only stops`,
//!   `removed members are fenced` and `a primary accepts its view`; `view_changes`).

mod admit;
mod balance;
mod case;
mod colocation;
mod decide;
mod drain_progress;
mod drains;
mod findings;
mod forced;
mod holdings;
mod hot;
mod learners;
mod leases;
mod liveness;
mod merges;
mod moves;
mod outbox;
mod placement;
mod proposals;
mod recovery;
mod reloads;
mod requests;
mod restart;
mod sizing;
mod summaries;
mod timer;
mod view_changes;
mod voters;

use crate::config::ControlConfig;
use crate::lease_keeper::{LeaseKeeper, RoundToken};
use crate::membership::Membership;
use crate::message::{
    AstrayReport, DrainAsk, Drained, EvictAsk, LeaderContactReply, LeaseRequest, LoadReport,
    LogReport, PromoteAsk, RestAsk, ReturnReport, SmallReport, SplitAsk, ToNode,
};
use crate::output::{ControlOutput, ProposalToken};
use brickyard_metadata::{Catalog, CatalogVersion, Outcome};
use brickyard_routing::NodeId;
use brickyard_types::Instant;
use colocation::Colocation;
use hot::HotPartitions;
use leases::Leases;
use liveness::{Liveness, LivenessView};
use outbox::Outbox;
use placement::Placement;
use recovery::LogRecovery;
use requests::Requests;
use sizing::Sizing;
use std::sync::Arc;
use timer::DecisionTimer;
use view_changes::ViewChanges;
use voters::{Electorate, Voters};

pub use drains::LogEnds;

/// A leader's volatile state. Made when a node leads and has applied what earlier leaders committed, dropped
/// when it leads no more.
#[derive(Debug)]
pub struct Controller {
    config: ControlConfig,
    catalog: Arc<Catalog>,
    leases: Leases,
    view_changes: ViewChanges,
    liveness: Liveness,
    voters: Voters,
    requests: Requests,
    recovery: LogRecovery,
    placement: Placement,
    sizing: Sizing,
    colocation: Colocation,
    hot: HotPartitions,
    timer: DecisionTimer,
    outbox: Outbox,
}

/// Events.
impl Controller {
    /// Of a node that leads in `term` since `elected_at`, or since earlier, and whose catalog has all that was
    /// committed before.
    #[must_use]
    pub fn new(
        config: ControlConfig,
        me: NodeId,
        term: u64,
        elected_at: Instant,
        now: Instant,
        catalog: Arc<Catalog>,
        membership: Membership,
    ) -> Self {
        assert!(
            elected_at <= now,
            "elected at {elected_at:?}, and it is {now:?}"
        );
        config.check();
        let voters = membership.voters.clone();
        let keeper = LeaseKeeper::new(config.clone(), me, term, voters, elected_at, now);
        let mut controller = Self {
            config,
            catalog: Arc::clone(&catalog),
            leases: Leases::new(keeper, &catalog),
            view_changes: ViewChanges::default(),
            liveness: Liveness::new(me),
            voters: Voters::new(me, membership),
            requests: Requests::default(),
            recovery: LogRecovery::default(),
            placement: Placement::default(),
            sizing: Sizing::default(),
            colocation: Colocation::default(),
            hot: HotPartitions::default(),
            timer: DecisionTimer::new(now),
            outbox: Outbox::new(now),
        };
        controller.on_catalog(now, catalog);
        controller
    }

    /// The catalog has changed.
    pub fn on_catalog(&mut self, now: Instant, catalog: Arc<Catalog>) {
        let before = std::mem::replace(&mut self.catalog, catalog);
        let catalog = &*self.catalog;
        self.leases.on_catalog(now, &before, catalog);
        self.view_changes.on_catalog(catalog);
        self.liveness.on_catalog(now, catalog);
        self.recovery.on_catalog(catalog);
        self.timer.mark_dirty();
    }

    /// A node asks for its lease.
    pub fn on_lease_request(&mut self, now: Instant, request: LeaseRequest) {
        let is_new = self
            .leases
            .on_request(now, &self.catalog, request, &mut self.outbox);
        if is_new {
            self.timer.mark_dirty();
        }
    }

    /// A majority answered a round.
    pub fn on_quorum(&mut self, now: Instant, token: RoundToken) {
        let stops = self.view_changes.stops();
        self.leases
            .on_quorum(token, &self.catalog, stops, &mut self.outbox);
        self.timer.on_grants();
        self.run(now);
    }

    /// A round came to nothing.
    pub fn on_quorum_lost(&mut self, token: RoundToken) {
        self.leases.on_quorum_lost(token);
    }

    /// A voter answers when it last heard an earlier leader.
    pub fn on_leader_contact(&mut self, now: Instant, from: NodeId, reply: LeaderContactReply) {
        self.leases.on_leader_contact(now, from, reply);
        self.timer.mark_dirty();
    }

    /// A brick reports what its log holds.
    pub fn on_report(&mut self, report: LogReport) {
        if self.recovery.on_report(&self.catalog, report) {
            self.timer.mark_dirty();
        }
    }

    /// A brick has read again what its log has of a table that comes back.
    pub fn on_returned(&mut self, now: Instant, report: ReturnReport) {
        self.recovery.on_returned(now, &self.catalog, report);
        self.timer.mark_dirty();
    }

    /// A primary asks for a learner to become in-sync.
    pub fn on_promote(&mut self, ask: PromoteAsk) {
        self.requests.promote(&self.catalog, ask);
        self.timer.mark_dirty();
    }

    /// A primary asks for a backup to be taken out.
    pub fn on_evict(&mut self, ask: EvictAsk) {
        self.requests.evict(&self.catalog, ask);
        self.timer.mark_dirty();
    }

    /// A primary reports that its partition may be split.
    pub fn on_split_ready(&mut self, ask: SplitAsk) {
        self.requests.split(&self.catalog, ask);
        self.timer.mark_dirty();
    }

    /// A primary reports that its partition may be merged with its sibling.
    pub fn on_rest(&mut self, ask: RestAsk) {
        self.requests.rest(&self.catalog, ask);
        self.timer.mark_dirty();
    }

    /// A brick reports how busy it is.
    pub fn on_load(&mut self, now: Instant, report: LoadReport) {
        self.hot.on_load(now, &self.catalog, report, &self.config);
    }

    /// A brick reports which partitions that it leads have shrunk.
    pub fn on_small(&mut self, now: Instant, report: &SmallReport) {
        self.colocation
            .on_small(now, &self.catalog, report, &self.config);
    }

    /// A node is about to stop; the answer is how far its drain is.
    pub fn on_drain(&mut self, now: Instant, ask: DrainAsk, log: LogEnds) {
        let node = self.catalog.node(ask.node);
        if node.is_none_or(|node| node.incarnation != ask.incarnation) {
            return;
        }
        // What was proposed before was thought of without knowing that: it may give the node something.
        let may_be_given = self.liveness.on_drain(now, ask.node, log);
        self.timer.mark_dirty();
        let mut drained = self.drained(now, ask);
        drained.remaining = drained.remaining.max(usize::from(may_be_given));
        self.outbox.send(ask.node, ToNode::Drained(drained));
    }

    /// A node was asked for another one's lease, as if it led.
    pub fn on_astray(&mut self, now: Instant, from: NodeId, report: AstrayReport) {
        let node = self.catalog.node(report.node);
        if node.is_some_and(|node| node.incarnation == report.incarnation) {
            self.voters.on_astray(now, from, report.node);
        }
    }

    /// The outcome of a proposal; an error also if it is not known.
    pub fn on_outcome(&mut self, now: Instant, token: ProposalToken, outcome: &Outcome) {
        let pause = self.config.renew / 3;
        if self.outbox.on_outcome(now, token, outcome, pause) {
            self.timer.mark_dirty();
        }
    }

    /// Which nodes take part in agreement, as it is now.
    pub fn on_membership(&mut self, membership: Membership) {
        if let Some(voters) = self.voters.on_membership(membership) {
            self.leases.set_voters(voters.clone());
        }
    }

    /// Does what is due: after each batch of inputs, and every 50 ms or so.
    pub fn run(&mut self, now: Instant) {
        self.leases.run(now, &self.config, &mut self.outbox);
        if self.timer.must_examine(now, &self.config) {
            self.timer.on_examined(now);
            self.requests.expire(now);
            let view = self
                .liveness
                .examine(now, &self.config, &self.catalog, &self.leases);
            self.recovery.note_served(&self.catalog, &view);
            if self.outbox.may_propose(now, self.catalog.version()) {
                self.decide(&view);
            }
        }
        self.run_voters(now);
    }

    fn run_voters(&mut self, now: Instant) {
        let me = self.leases.me();
        let own = self.catalog.node(me);
        let drain = own.filter(|_| self.liveness.is_draining(me)).map(|node| {
            let incarnation = node.incarnation;
            DrainAsk {
                node: me,
                incarnation,
            }
        });
        let is_held = drain.is_some_and(|ask| self.drained(now, ask).remaining > 0);
        let nodes = Electorate {
            now,
            config: &self.config,
            catalog: &self.catalog,
            liveness: &self.liveness,
            leases: &self.leases,
        };
        self.voters.run(nodes, is_held, &mut self.outbox);
    }
}

/// Questions.
impl Controller {
    /// What to do next.
    pub fn poll(&mut self) -> Option<ControlOutput> {
        self.outbox.poll()
    }

    /// The version of the catalog that it goes by.
    #[must_use]
    pub fn version(&self) -> CatalogVersion {
        self.catalog.version()
    }

    /// The nodes that are not up.
    #[must_use]
    pub fn down(&self) -> Vec<NodeId> {
        self.liveness.down().collect()
    }

    /// How far the drain of a node is.
    #[must_use]
    pub fn drained(&self, now: Instant, ask: DrainAsk) -> Drained {
        let view = self.view(now);
        drain_progress::progress(ask, &self.catalog, &view, &self.requests)
    }

    fn view(&self, now: Instant) -> LivenessView {
        self.liveness
            .view(now, &self.config, &self.catalog, &self.leases)
    }
}

#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
#[path = "controller/layout_test.rs"]
mod layout_test;

#[cfg(test)]
#[path = "controller/split_test.rs"]
mod split_test;
