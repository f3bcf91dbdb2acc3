//! The leader's decisions: what of the catalog has to change, by what it knows of the nodes.
//!
//! In: everything that arrives at a leader, and the catalog as it is applied. Out: [`Output`]s.
//!
//! Of each partition one thing is done at a time, the most urgent first (`group`): put a view into effect that
//! may be; go on without those who failed; begin again after a full restart, or when a table comes back online (`returns`); what the primary asks; empty a
//! node; copies that are missing or too many. When nothing is left to do, tables that have too few partitions for their
//! bricks get more (`sizing`), siblings that have shrunk are brought together (`gather`), primaries are evened out (`balance`), and
//! who is too busy is relieved (`heat`).
//!
//! Invariants:
//! - A proposal is handed out only when the one before it has come to something.
//! - A view is put into effect only when everybody whom it fences has stopped or cannot act, and its primary
//!   has accepted it: by what this leader itself was told (PROTOCOL rules 6, 7, 8).

mod balance;
mod gather;
mod group;
mod heat;
mod learners;
mod load;
mod merges;
mod moves;
mod recover;
mod reports;
mod requests;
mod restart;
mod returns;
mod sight;
mod sizing;
mod status;
mod voters;

use crate::config::Config;
use crate::lease_keeper::{LeaseKeeper, RoundToken};
use crate::message::{
    DrainAsk, EvictAsk, HeardQuery, HeardReply, LeaseRequest, PromoteAsk, Report, RestAsk,
    SplitAsk, Superseded, ToNode,
};
use brickyard_metadata::{Catalog, CatalogVersion, Change, Outcome, Pairs, Plan};
use brickyard_routing::{Member, NodeId, Seat};
use brickyard_types::{Incarnation, Instant, PartitionId};
use gather::Gathering;
use heat::Heat;
use reports::Reports;
use requests::Requests;
use returns::Returns;
use sizing::Sizing;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

pub use voters::{Membership, MembershipChange};

/// A proposal, so that its outcome can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProposalToken(pub u64);

/// What the leader wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Ask a majority of voters whether this node still leads; note first that it does
    /// ([`crate::Heard::on_leader`]). Then [`Controller::on_quorum`].
    Round(RoundToken),
    /// Propose a change; then [`Controller::on_outcome`].
    Propose(ProposalToken, Change),
    /// Change who takes part in agreement; then [`Controller::on_membership`].
    Membership(MembershipChange),
    /// Let another voter lead: this node is about to stop.
    TransferLeader(NodeId),
    /// Send to a node; it may be this one.
    Send(NodeId, ToNode),
}

/// How far the log of the catalog's changes is.
#[derive(Clone, Copy, Debug)]
pub struct LogEnds {
    /// The index of the last entry, which may not be agreed on yet.
    pub proposed: u64,
    /// The last entry that the controller's catalog has.
    pub applied: u64,
}

/// A node that is going to stop.
#[derive(Clone, Copy, Debug)]
struct Stopping {
    /// When it last asked how far that is.
    asked_at: Instant,
    /// What is proposed behind this index takes it into account.
    known_from: u64,
}

/// A leader's volatile state. Made when a node leads and has applied what earlier leaders committed, dropped
/// when it leads no more.
#[derive(Debug)]
pub struct Controller {
    config: Config,
    me: NodeId,
    term: u64,
    catalog: Arc<Catalog>,
    keeper: LeaseKeeper,
    /// From which version on a brick has to have stopped something.
    owed: BTreeMap<Seat, u64>,
    /// Bricks that may act without a lease until they act by this version: until then their node was the
    /// only one.
    alone: BTreeMap<Seat, CatalogVersion>,
    /// When a node's present life was first seen.
    seen_at: BTreeMap<(NodeId, Incarnation), Instant>,
    /// Since when nodes are not up.
    down_since: BTreeMap<NodeId, Instant>,
    reports: Reports,
    returns: Returns,
    requests: Requests,
    /// The nodes that are going to stop, or have stopped just now.
    draining: BTreeMap<NodeId, Stopping>,
    /// Members that were too slow, and until when they stay out.
    barred: BTreeMap<(PartitionId, Member), Instant>,
    /// Where everything should be, by the catalog as it was last decided.
    plan: Plan,
    /// The nodes that it does not count on.
    lost: BTreeSet<NodeId>,
    /// The siblings that it counts as one.
    together: Pairs,
    sizing: Sizing,
    gathering: Gathering,
    heat: Heat,
    membership: Membership,
    membership_asked: Option<(MembershipChange, Instant)>,
    transfer_asked: Option<Instant>,
    queries_sent: Option<Instant>,
    in_flight: Option<ProposalToken>,
    /// Nothing is decided before the catalog is as new as the last outcome.
    outcome_version: CatalogVersion,
    /// Nor before then: what failed would fail again at once.
    hold_until: Instant,
    next_token: u64,
    /// Something has happened since the last decision.
    is_dirty: bool,
    /// When it was last looked who is there; `None`: something may have changed that since.
    looked_at: Option<Instant>,
    live: BTreeSet<Seat>,
    /// There was something to wait for when it was last decided.
    is_busy: bool,
    decided_at: Instant,
    balanced_at: Instant,
    outputs: VecDeque<Output>,
}

impl Controller {
    /// Of a node that leads in `term` since `elected_at`, or since earlier, and whose catalog has all that was
    /// committed before.
    #[must_use]
    pub fn new(
        config: Config,
        me: NodeId,
        term: u64,
        elected_at: Instant,
        now: Instant,
        catalog: Arc<Catalog>,
        membership: Membership,
    ) -> Self {
        let voters = membership.voters.clone();
        let keeper = LeaseKeeper::new(config.clone(), me, term, voters, elected_at, now);
        let mut controller = Self {
            config,
            me,
            term,
            catalog: Arc::clone(&catalog),
            keeper,
            owed: BTreeMap::new(),
            alone: BTreeMap::new(),
            seen_at: BTreeMap::new(),
            down_since: BTreeMap::new(),
            reports: Reports::default(),
            returns: Returns::default(),
            requests: Requests::default(),
            draining: BTreeMap::new(),
            barred: BTreeMap::new(),
            plan: Plan::default(),
            lost: BTreeSet::new(),
            together: Pairs::new(),
            sizing: Sizing::default(),
            gathering: Gathering::default(),
            heat: Heat::default(),
            membership,
            membership_asked: None,
            transfer_asked: None,
            queries_sent: None,
            in_flight: None,
            outcome_version: CatalogVersion(0),
            hold_until: now,
            next_token: 1,
            is_dirty: true,
            looked_at: None,
            live: BTreeSet::new(),
            is_busy: false,
            decided_at: now,
            balanced_at: now,
            outputs: VecDeque::new(),
        };
        controller.note_company();
        controller.on_catalog(now, catalog);
        controller
    }

    /// The version of the catalog that it goes by.
    #[must_use]
    pub fn version(&self) -> CatalogVersion {
        self.catalog.version()
    }

    /// The catalog has changed.
    pub fn on_catalog(&mut self, now: Instant, catalog: Arc<Catalog>) {
        let had_company = self.catalog.nodes().len() > 1;
        self.catalog = catalog;
        if !had_company {
            self.note_company();
        }
        self.owed.clear();
        for (_, group) in self.catalog.tables().flat_map(|table| table.partitions()) {
            let Some(change) = &group.change else {
                continue;
            };
            for seat in &change.fenced {
                let version = self.owed.entry(*seat).or_default();
                *version = (*version).max(change.proposed_at);
            }
        }
        let present: BTreeSet<(NodeId, Incarnation)> = self
            .catalog
            .nodes()
            .map(|node| (node.id, node.incarnation))
            .collect();
        self.seen_at.retain(|life, _| present.contains(life));
        for life in present {
            self.seen_at.entry(life).or_insert_with(|| {
                // A life that was going to end has ended.
                self.draining.remove(&life.0);
                now
            });
        }
        // A former life is over: this process has its directory, and a copy of that would be a majority by itself.
        let catalog = &self.catalog;
        self.alone.retain(|seat, _| catalog.is_current(*seat));
        self.keeper.forget(now, &self.catalog);
        self.reports.forget(&self.catalog);
        self.returns.forget(&self.catalog);
        self.is_dirty = true;
    }

    /// A lone voter's bricks need no lease as long as their catalog has one node. Nobody can lead but that
    /// voter, so it alone has to know.
    fn note_company(&mut self) {
        let is_lone = self.membership.voters.iter().eq([&self.me]);
        if !is_lone || self.catalog.nodes().len() < 2 {
            return;
        }
        let version = self.catalog.version();
        let Some(node) = self.catalog.node(self.me) else {
            return;
        };
        let seats = node.bricks().map(|member| node.seat(member.brick));
        self.alone = seats.map(|seat| (seat, version)).collect();
    }

    /// A node asks for its lease.
    pub fn on_lease_request(&mut self, now: Instant, request: LeaseRequest) {
        let node = self.catalog.node(request.node);
        let present = node.map(|node| node.incarnation);
        let bricks = node.map_or(0, |node| node.bricks().len());
        if present != Some(request.incarnation) || request.bricks.len() != bricks {
            // A life that this leader has not heard of yet asks again.
            if present.is_none_or(|present| present > request.incarnation) {
                let superseded = Superseded {
                    incarnation: request.incarnation,
                    present,
                };
                let message = ToNode::Superseded(superseded);
                self.outputs.push_back(Output::Send(request.node, message));
            }
            return;
        }
        self.is_dirty |= self.keeper.on_request(now, request);
        let keeper = &self.keeper;
        self.alone
            .retain(|seat, version| keeper.state(*seat).stopped < *version);
    }

    /// A majority answered a round.
    pub fn on_quorum(&mut self, now: Instant, token: RoundToken) {
        let grants = self.keeper.on_quorum(token, &self.catalog, &self.owed);
        for (node, grant) in grants {
            self.outputs
                .push_back(Output::Send(node, ToNode::Grant(grant)));
        }
        self.looked_at = None;
        self.run(now);
    }

    /// A round came to nothing.
    pub fn on_quorum_lost(&mut self, token: RoundToken) {
        self.keeper.on_quorum_lost(token);
    }

    /// A voter says when it last heard an earlier leader.
    pub fn on_heard(&mut self, now: Instant, from: NodeId, reply: HeardReply) {
        self.keeper.on_heard(now, from, reply);
        self.is_dirty = true;
    }

    /// A brick says what it holds.
    pub fn on_report(&mut self, report: Report) {
        if self.catalog.is_current(report.seat) {
            self.reports.add(&self.catalog, report);
            self.is_dirty = true;
        }
    }

    /// A primary asks for a learner to become in-sync.
    pub fn on_promote(&mut self, ask: PromoteAsk) {
        self.requests.promote(&self.catalog, ask);
        self.is_dirty = true;
    }

    /// A primary asks for a backup to be taken out.
    pub fn on_evict(&mut self, ask: EvictAsk) {
        self.requests.evict(&self.catalog, ask);
        self.is_dirty = true;
    }

    /// A primary says that its partition may be split.
    pub fn on_split_ready(&mut self, ask: SplitAsk) {
        self.requests.split(&self.catalog, ask);
        self.is_dirty = true;
    }

    /// A primary says that its partition may be merged with its sibling.
    pub fn on_rest(&mut self, ask: RestAsk) {
        self.requests.rest(&self.catalog, ask);
        self.is_dirty = true;
    }

    /// A node is going to stop; it is told how far its emptying is.
    pub fn on_drain(&mut self, now: Instant, ask: DrainAsk, log: LogEnds) {
        let node = self.catalog.node(ask.node);
        if node.is_some_and(|node| node.incarnation == ask.incarnation) {
            let first = Stopping {
                asked_at: now,
                known_from: log.proposed,
            };
            let stopping = self.draining.entry(ask.node).or_insert(first);
            stopping.asked_at = now;
            // What was proposed before was thought of without knowing that: it may give the node something.
            let may_be_given = log.applied < stopping.known_from;
            self.is_dirty = true;
            let mut drained = self.drained(now, ask);
            drained.remaining = drained.remaining.max(usize::from(may_be_given));
            self.outputs
                .push_back(Output::Send(ask.node, ToNode::Drained(drained)));
        }
    }

    /// What came of a proposal; an error also if it is not known.
    pub fn on_outcome(&mut self, now: Instant, token: ProposalToken, outcome: &Outcome) {
        if self.in_flight != Some(token) {
            return;
        }
        self.in_flight = None;
        self.is_dirty = true;
        // What did not come about is decided again, by the catalog as it is then.
        match outcome {
            Ok(applied) if applied.stale.is_empty() => self.outcome_version = applied.version,
            Ok(applied) => {
                self.outcome_version = applied.version;
                self.hold_until = now + self.config.renew / 3;
            }
            Err(_) => self.hold_until = now + self.config.renew / 3,
        }
    }

    /// Who takes part in agreement, as it is now.
    pub fn on_membership(&mut self, membership: Membership) {
        if membership.voters != self.membership.voters
            || membership.learners != self.membership.learners
        {
            self.membership_asked = None;
        }
        if membership != self.membership {
            self.keeper.set_voters(membership.voters.clone());
            self.membership = membership;
        }
    }

    /// Does what is due: after each batch of inputs, and every 50 ms or so.
    pub fn run(&mut self, now: Instant) {
        self.ask_voters(now);
        if let Some(round) = self.keeper.poll_round(now) {
            self.outputs.push_back(Output::Round(round));
        }
        if self.must_look(now) {
            self.looked_at = Some(now);
            self.draining
                .retain(|_, it| now - it.asked_at < self.config.renew * 10);
            self.barred.retain(|_, until| now < *until);
            self.note_down(now);
            self.note_served(now);
            let is_ready = self.catalog.version() >= self.outcome_version && now >= self.hold_until;
            if self.in_flight.is_none() && is_ready {
                self.decide(now);
            }
        }
        self.see_to_voters(now);
    }

    /// What nothing but time changes, as that a lease has run out, is not looked at after every message.
    fn must_look(&self, now: Instant) -> bool {
        let is_early = |at| now - at < self.config.renew / 30;
        self.is_dirty || !self.looked_at.is_some_and(is_early)
    }

    /// What to do next.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn ask_voters(&mut self, now: Instant) {
        let is_early = self
            .queries_sent
            .is_some_and(|sent| now - sent < self.config.renew / 3);
        if is_early {
            return;
        }
        self.queries_sent = Some(now);
        let query = HeardQuery { term: self.term };
        for voter in self.keeper.unheard(now) {
            self.outputs
                .push_back(Output::Send(voter, ToNode::Heard(query)));
        }
    }

    fn propose(&mut self, change: Change) {
        let token = ProposalToken(self.next_token);
        self.next_token += 1;
        self.in_flight = Some(token);
        self.outputs.push_back(Output::Propose(token, change));
    }
}

#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
#[path = "controller/schedule_test.rs"]
mod schedule_test;

#[cfg(test)]
#[path = "controller/layout_test.rs"]
mod layout_test;

#[cfg(test)]
#[path = "controller/split_test.rs"]
mod split_test;
