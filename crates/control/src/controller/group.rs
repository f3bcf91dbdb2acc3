//! What is to be done about one partition: the most urgent thing.

use super::Controller;
use super::load::Load;
use brickyard_metadata::{Change, Decisions, Proposal, Settled, Table};
use brickyard_routing::{Group, Seat};
use brickyard_types::{Instant, PartitionId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What was found about all partitions.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) decisions: Decisions,
    /// A change is under way, or a copy is missing: not the time to even out primaries.
    pub(super) is_busy: bool,
    /// A copy is missing, or a member does not answer: not the time to move anything.
    pub(super) is_impaired: bool,
}

/// One partition, and what was found out of it.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) table: &'a Table,
    pub(super) partition: PartitionId,
    pub(super) group: &'a Group,
    pub(super) now: Instant,
}

impl Controller {
    /// Looks at every partition, and proposes one batch of what is to be done.
    pub(super) fn decide(&mut self, now: Instant) {
        let live = self.survey(now);
        let may_balance = now - self.balanced_at >= self.config.balance_pause;
        // What nothing but time changes needs no look after every message: there are many partitions.
        let since = now - self.decided_at;
        let is_waiting = (self.is_busy || may_balance) && since >= self.config.renew;
        let may_run_out = !self.owed.is_empty() && since >= self.config.renew / 6;
        if !self.is_dirty && live == self.live && !is_waiting && !may_run_out {
            return;
        }
        self.is_dirty = false;
        self.decided_at = now;
        self.live = live;
        self.requests.forget(&self.catalog);
        let catalog = Arc::clone(&self.catalog);
        let mut load = Load::of(&catalog);
        for group in self.requests.that_cannot_be_copied(&catalog) {
            load.wait_in_vain(group);
        }
        self.see_to_plan(now, &catalog);
        self.see_to_sizes(now, &catalog);
        let mut findings = Findings::default();
        self.reports.wanted.clear();
        self.reports.want_sought();
        for table in catalog.tables() {
            for (partition, group) in table.partitions() {
                let case = Case {
                    table,
                    partition,
                    group,
                    now,
                };
                self.decide_one(&case, &mut load, &mut findings);
            }
        }
        self.ask_reports(now);
        self.begin_moves(now, &mut load, &mut findings);
        self.is_busy = findings.is_busy;
        if may_balance && self.is_balanceable(&findings) {
            self.balanced_at = now;
            self.balance(now, &load, &mut findings.decisions);
        }
        let divide = self.next_splits(&findings);
        self.gather_small(now, &findings);
        let merge = self.next_merge();
        let is_quiet = findings.decisions.is_empty() && divide.is_none() && merge.is_none();
        let relief = match may_balance && is_quiet {
            true => self.relieve(now, &findings, &mut load),
            false => None,
        };
        let mut decisions = findings.decisions;
        // The rest is decided again when this has come to something.
        decisions.truncate(self.config.batch);
        if !decisions.is_empty() {
            self.propose(Change::Decide(decisions));
        } else if let Some(divide) = divide {
            self.propose(Change::Divide(divide));
        } else if let Some(merge) = merge {
            self.propose(merge);
        } else if let Some(relief) = relief {
            self.propose(relief);
        }
    }

    fn is_balanceable(&self, findings: &Findings) -> bool {
        findings.decisions.is_empty() && !findings.is_busy && self.draining.is_empty()
    }

    fn decide_one(&mut self, case: &Case<'_>, load: &mut Load, findings: &mut Findings) {
        if case.table.is_parked(case.partition) {
            return self.bring_back(case, load, findings);
        }
        let Case { group, now, .. } = *case;
        let decisions = &mut findings.decisions;
        if let Some(change) = &group.change {
            findings.is_busy = true;
            if change.in_sync().all(|seat| self.live.contains(&seat)) {
                if self.is_due(change, now) {
                    decisions.settled.push(Settled {
                        table: case.table.id,
                        partition: case.partition,
                        view: change.view,
                    });
                }
                return;
            }
            findings.is_impaired = true;
            decisions.proposals.extend(self.go_on_without(case, load));
            return;
        }
        if !group.in_sync().all(|seat| self.live.contains(&seat)) {
            findings.is_busy = true;
            findings.is_impaired = true;
            decisions.proposals.extend(self.go_on_without(case, load));
            return;
        }
        if self.is_as_it_should_be(case) {
            return;
        }
        let answer = self.answer(case, load);
        if answer.is_none() && self.catalog.split_of(case.partition).is_some() {
            // Nobody comes or goes meanwhile, but for a failure: writes wait for the end of it.
            findings.is_busy = true;
            let ready = self.requests.ready(&self.catalog, case.partition);
            decisions.splits.extend(ready);
            return;
        }
        if answer.is_none() && self.see_to_merge(case, load, decisions) {
            findings.is_busy = true;
            return;
        }
        let proposal = answer
            .or_else(|| self.empty_node(case, load))
            .or_else(|| self.lead_elsewhere(case, load))
            .or_else(|| self.drop_surplus(case, load))
            .or_else(|| self.dismiss_learners(case, load));
        if let Some(proposal) = proposal {
            findings.is_busy = true;
            decisions.proposals.push(proposal);
            return;
        }
        // What cannot be copied may stay so for ever: everything else goes on.
        if !self
            .requests
            .cannot_be_copied(&self.catalog, case.partition)
        {
            findings.is_busy |= self.is_short(case) || !group.learners.is_empty();
            // A copy that a hot partition is to have more is none that is missing.
            findings.is_impaired |= self.placed(case) < self.asked(case);
        }
        decisions.learners.extend(self.see_to_learners(case, load));
    }

    /// Whether nothing is to be done about a partition all of whose members are live: so it is with nearly all of them,
    /// nearly always.
    fn is_as_it_should_be(&self, case: &Case<'_>) -> bool {
        let group = case.group;
        let is_quiet = group.change.is_none()
            && group.learners.is_empty()
            && !self.requests.is_any(case.partition)
            && self.catalog.split_of(case.partition).is_none()
            && self.catalog.merge_of(case.partition).is_none();
        let mut in_sync = group.in_sync();
        is_quiet
            && in_sync.all(|seat| !self.is_leaving(seat.member.node))
            && group.in_sync().count() == self.target(case)
    }

    /// Members of the last effective view, or of the one proposed after it, are gone.
    fn go_on_without(&mut self, case: &Case<'_>, load: &mut Load) -> Option<Proposal> {
        let group = case.group;
        let is_live = |seat: &Seat| self.live.contains(seat);
        let left: Vec<Seat> = group.in_sync().filter(is_live).collect();
        if left.is_empty() {
            return self.begin_again(case, load);
        }
        // Who was to be taken out stays out, if there is anybody else.
        let stays = |seat: &Seat| {
            let change = group.change.as_ref();
            change.is_none_or(|change| change.in_sync().any(|it| it == *seat))
        };
        let wanted: Vec<Seat> = left.iter().copied().filter(stays).collect();
        let in_sync = if wanted.is_empty() { left } else { wanted };
        Some(self.with_members(case, load, &in_sync))
    }

    /// A proposal for these to be the in-sync members: the primary is whoever is and can stay, or else who
    /// has least to do.
    pub(super) fn with_members(
        &self,
        case: &Case<'_>,
        load: &mut Load,
        in_sync: &[Seat],
    ) -> Proposal {
        let (group, table) = (case.group, case.table.id);
        let former = super::load::primary_to_be(group);
        let rank = |seat: &Seat| {
            let member = seat.member;
            let leaves = self.is_leaving(member.node);
            let stays = *seat == former || (*seat == group.primary && !in_sync.contains(&former));
            (leaves, !stays, load.primaries(table, member), member)
        };
        let mut ordered = in_sync.to_vec();
        ordered.sort_by_key(rank);
        if let Some(first) = ordered.first() {
            load.hand_over(table, former.member, first.member);
        }
        let mut proposal = Proposal::of(table, case.partition, group, &ordered);
        let nodes: BTreeSet<_> = ordered.iter().map(|seat| seat.member.node).collect();
        proposal
            .learners
            .retain(|seat| self.live.contains(seat) && !nodes.contains(&seat.member.node));
        proposal
    }
}

#[cfg(test)]
#[path = "group_test.rs"]
mod group_test;
