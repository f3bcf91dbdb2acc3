//! One decision: a pass over all partitions, and one batch of what is most urgent for each.
//!
//! In:  the components' state, and the nodes as they were just examined. Out: one proposal.
//!
//! Of each partition one thing is done at a time, the most urgent first: put a view into effect that
//! may be; go on without those that failed; begin again after a full restart, or when a table comes back online; what the
//! primary asks; empty a node; copies that are missing or too many. When nothing is left to do, tables that have too few
//! partitions for their bricks get more (`sizing`), siblings that have shrunk are brought together (`colocation`), primaries
//! are evened out (`balance`), and a brick that is too busy is relieved (`hot`).

use super::Controller;
use super::balance::Balance;
use super::case::Case;
use super::findings::Findings;
use super::holdings::Holdings;
use super::hot::GiveBack;
use super::learners::{LearnerChoice, dismiss_learners, drop_surplus, empty_node, lead_elsewhere};
use super::liveness::LivenessView;
use super::merges;
use super::moves::Moves;
use super::proposals::with_members;
use brickyard_metadata::{Change, Proposal, Settled};
use brickyard_routing::{NodeId, Replica};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Controller {
    /// Looks at every partition, and proposes one batch of what should be done.
    pub(super) fn decide(&mut self, view: &LivenessView) {
        let awaits_stops = !self.view_changes.stops().is_empty();
        if !self.timer.must_decide(view, awaits_stops, &self.config) {
            return;
        }
        let now = view.now();
        let may_balance = self.timer.may_balance(now, &self.config);
        self.timer.on_decision(view);
        let catalog = Arc::clone(&self.catalog);
        self.requests.forget(&catalog);
        let mut holdings = Holdings::of(&catalog);
        for group in self.requests.uncopyable_groups(&catalog) {
            holdings.stop_learning(group);
        }
        self.placement
            .update(view, &catalog, &mut self.colocation, &self.config);
        self.sizing.maintain(now, &catalog, &self.config);
        self.recovery.begin_pass();
        let mut findings = Findings::default();
        for table in catalog.tables() {
            for (partition, group) in table.partitions() {
                let case = Case {
                    catalog: &catalog,
                    view,
                    table,
                    partition,
                    group,
                };
                self.decide_one(&case, &mut holdings, &mut findings);
            }
        }
        self.recovery.ask(now, &self.config, &mut self.outbox);
        let mut moves = Moves {
            config: &self.config,
            requests: &self.requests,
            placement: &self.placement,
            sizing: &self.sizing,
            holdings: &mut holdings,
        };
        moves.begin(&catalog, view, &mut findings);
        self.timer.set_waiting(findings.is_busy);
        let is_done = findings.decisions.is_empty() && !findings.is_busy && !view.has_draining();
        if may_balance && is_done {
            self.timer.on_balanced(now);
            let balance = Balance {
                catalog: &catalog,
                view,
                placement: &self.placement,
                hot: &self.hot,
                holdings: &holdings,
            };
            balance.step(self.config.balance_step, &mut findings.decisions);
        }
        let change = self.next_change(view, may_balance, findings);
        if let Some(change) = change {
            self.outbox.propose(change);
        }
    }

    /// What is proposed of what one pass has found, and of what is less urgent.
    fn next_change(
        &mut self,
        view: &LivenessView,
        may_balance: bool,
        findings: Findings,
    ) -> Option<Change> {
        let catalog = Arc::clone(&self.catalog);
        self.colocation.begin_small(
            &catalog,
            view,
            &findings,
            &self.sizing,
            &self.config,
            &mut self.timer,
        );
        if !findings.decisions.is_empty() {
            let mut decisions = findings.decisions;
            // The rest is decided again when this has come to something.
            decisions.truncate(self.config.batch);
            return Some(Change::Decide(decisions));
        }
        let splits = self
            .sizing
            .next_splits(&catalog, view, &findings, &self.config);
        let change = splits.map(Change::Divide);
        let change = change.or_else(|| self.colocation.next_merge(&catalog));
        if change.is_some() || !may_balance {
            return change;
        }
        self.relieve(view, findings.is_impaired)
    }

    /// The next remedy for a brick that is too busy, if one is needed and it is time.
    fn relieve(&mut self, view: &LivenessView, is_impaired: bool) -> Option<Change> {
        let (now, catalog) = (view.now(), &*self.catalog);
        self.hot.maintain(now, catalog, &self.config);
        // What was lent before it was turned off is given back all the same.
        let is_off = self.config.hot.busy == 0;
        let is_time = !is_impaired && !view.has_draining();
        let may_relieve = is_time && self.hot.is_settled(now, &self.config);
        if !is_off && !may_relieve {
            return None;
        }
        let given_back = self
            .hot
            .give_back(catalog, view, &self.colocation, &self.config);
        let change = match given_back {
            Some(GiveBack::Change(change)) => Some(change),
            Some(GiveBack::Colocate(siblings)) => {
                self.colocation.on_cool(now, siblings, &mut self.timer);
                None
            }
            None => None,
        };
        if is_off {
            return change;
        }
        let change = change.or_else(|| {
            let may_move = !catalog.is_paused();
            may_move.then(|| {
                self.hot
                    .relieve_busiest(catalog, view, &self.requests, &self.config)
            })?
        });
        if change.is_some() {
            self.hot.on_relieved(now);
        }
        change
    }

    fn decide_one(&mut self, case: &Case<'_>, holdings: &mut Holdings, findings: &mut Findings) {
        // Whatever it needs, the whole will need it.
        if merges::is_ending(case.partition, &findings.decisions) {
            return;
        }
        if case.table.is_suspended(case.partition) {
            return self.bring_back(case, holdings, findings);
        }
        let group = case.group;
        if group.change.is_some() || !case.is_live() {
            return self.settle(case, holdings, findings);
        }
        if self.is_as_it_should_be(case) {
            return;
        }
        let decisions = &mut findings.decisions;
        let answer = self
            .requests
            .answer(case, &self.placement, &self.config, holdings);
        if answer.is_none() && case.catalog.split_of(case.partition).is_some() {
            // No member comes or goes meanwhile, but for a failure: writes wait for the end of it.
            findings.is_busy = true;
            let ready = self.requests.ready(case.catalog, case.partition);
            decisions.splits.extend(ready);
            return;
        }
        if answer.is_none() && merges::advance(case, &self.requests, holdings, decisions) {
            findings.is_busy = true;
            return;
        }
        let proposal = answer
            .or_else(|| empty_node(case, holdings))
            .or_else(|| lead_elsewhere(case, &self.placement, holdings))
            .or_else(|| drop_surplus(case, &self.placement, holdings))
            .or_else(|| dismiss_learners(case, &self.placement, holdings));
        if let Some(proposal) = proposal {
            decisions.proposals.push(proposal);
            return;
        }
        // What cannot be copied may stay so for ever: everything else goes on.
        if !self.requests.cannot_be_copied(case.catalog, case.partition) {
            findings.is_busy |= case.is_under_replicated() || !group.learners.is_empty();
            // A copy that a hot partition gets beyond those asked for is none that is missing.
            findings.is_impaired |= case.copies_staying() < case.copies_asked();
        }
        let mut choice = LearnerChoice {
            config: &self.config,
            requests: &self.requests,
            summaries: &mut self.recovery.summaries,
            placement: &self.placement,
            hot: &self.hot,
            holdings,
        };
        decisions.learners.extend(choice.new_learners(case));
    }

    /// Whether a partition whose members are all live needs nothing: that is so of nearly all of them,
    /// nearly always.
    fn is_as_it_should_be(&self, case: &Case<'_>) -> bool {
        let group = case.group;
        let is_quiet = group.change.is_none()
            && group.learners.is_empty()
            && !self.requests.has_any(case.partition)
            && case.catalog.split_of(case.partition).is_none()
            && case.catalog.merge_of(case.partition).is_none();
        let mut in_sync = group.in_sync();
        is_quiet
            && in_sync.all(|replica| !case.view.is_leaving(replica.member.node))
            && group.in_sync().count() == case.copies_wanted()
    }

    /// Puts the proposed view into effect, if it may be; goes on without members that are gone.
    fn settle(&mut self, case: &Case<'_>, holdings: &mut Holdings, findings: &mut Findings) {
        findings.is_busy = true;
        if self.put_into_effect(case, findings) {
            return;
        }
        findings.is_impaired = true;
        let proposal = self.go_on_without(case, holdings);
        findings.decisions.proposals.extend(proposal);
    }

    /// Puts the view under way into effect, if all its members are live and it may be. Whether it is waited for.
    fn put_into_effect(&self, case: &Case<'_>, findings: &mut Findings) -> bool {
        let Some(change) = &case.group.change else {
            return false;
        };
        if !change.in_sync().all(|replica| case.view.is_live(replica)) {
            return false;
        }
        let may_take_effect =
            self.view_changes
                .may_take_effect(change, case, &self.requests, &self.leases);
        if may_take_effect {
            findings.decisions.settled.push(Settled {
                table: case.table.id,
                partition: case.partition,
                view: change.view,
            });
        }
        true
    }

    /// Members of the last effective view, or of the one proposed after it, are gone.
    fn go_on_without(&mut self, case: &Case<'_>, holdings: &mut Holdings) -> Option<Proposal> {
        let group = case.group;
        let is_live = |replica: &Replica| case.view.is_live(*replica);
        let left: Vec<Replica> = group.in_sync().filter(is_live).collect();
        if left.is_empty() {
            return self.recovery.begin_again(case, self.config.lease, holdings);
        }
        // A member that the view under way takes out stays out, if there is another one.
        let stays = |replica: &Replica| {
            let change = group.change.as_ref();
            change.is_none_or(|change| change.in_sync().any(|it| it == *replica))
        };
        let wanted: Vec<Replica> = left.iter().copied().filter(stays).collect();
        let in_sync = if wanted.is_empty() { left } else { wanted };
        let mut proposal = with_members(case, holdings, &in_sync);
        let named = proposal.in_sync().chain(proposal.learners.clone());
        let named: BTreeSet<NodeId> = named.map(|it| it.member.node).collect();
        let returning = case.returning();
        proposal
            .learners
            .extend(returning.filter(|it| !named.contains(&it.member.node)));
        Some(proposal)
    }

    /// What is done about a partition that is not served, since its table is offline or comes back.
    fn bring_back(&mut self, case: &Case<'_>, holdings: &mut Holdings, findings: &mut Findings) {
        if case.table.is_offline() {
            return;
        }
        findings.is_busy = true;
        // It was proposed since the table comes back: none goes offline while a view of it changes.
        if self.put_into_effect(case, findings) {
            return;
        }
        let proposal = self.recovery.begin_again(case, self.config.lease, holdings);
        findings.decisions.proposals.extend(proposal);
    }
}

#[cfg(test)]
#[path = "decide_test.rs"]
mod decide_test;
