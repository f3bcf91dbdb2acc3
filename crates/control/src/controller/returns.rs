//! Tables that come back online: what their members have found in their logs, and who goes on from that.
//!
//! In:  reports of bricks that have read a table's records again. Out: for each parked partition a view that one of them
//!      leads, chosen as after a restart of all members (`restart`), with the others as learners.
//!
//! Invariants:
//! - Only what was said for this return counts: a log that was read for an earlier one, or before the table went offline,
//!   may be longer by now, and its brick may have it no more in memory (PROTOCOL rule 9).
//! - Of a table that is offline nothing is decided.
//!
//! Not here: which log it is (`restart`), the table's standing (`metadata`).

use super::Controller;
use super::group::{Case, Findings};
use super::load::Load;
use crate::message::{Claim, ReturnReport};
use brickyard_metadata::{Catalog, CatalogVersion, Proposal, Settled};
use brickyard_routing::Seat;
use brickyard_types::{Instant, PartitionId, TableId};
use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Returns(BTreeMap<TableId, Returned>);

/// What was said for one return of one table.
#[derive(Clone, Debug)]
struct Returned {
    since: CatalogVersion,
    claims: BTreeMap<PartitionId, Claims>,
}

#[derive(Clone, Debug)]
struct Claims {
    /// When the first of them came.
    since: Instant,
    by_seat: BTreeMap<Seat, Claim>,
}

impl Returns {
    /// A brick has read what its log has of a table, or of a part of it.
    fn add(&mut self, now: Instant, catalog: &Catalog, report: ReturnReport) {
        let table = catalog.table_by_id(report.table);
        let is_of_now = table.is_some_and(|it| it.return_since() == Some(report.since));
        if !is_of_now || !catalog.is_current(report.seat) {
            return;
        }
        let fresh = || Returned {
            since: report.since,
            claims: BTreeMap::new(),
        };
        let returned = self.0.entry(report.table).or_insert_with(fresh);
        if returned.since != report.since {
            *returned = fresh();
        }
        let is_parked = |claim: &Claim| table.is_some_and(|it| it.is_parked(claim.partition));
        for claim in report.claims.into_iter().filter(is_parked) {
            let claims = returned.claims.entry(claim.partition);
            let claims = claims.or_insert_with(|| Claims {
                since: now,
                by_seat: BTreeMap::new(),
            });
            claims.by_seat.insert(report.seat, claim);
        }
    }

    /// Forgets returns that are over, partitions that are served, and lives that are over.
    pub(super) fn forget(&mut self, catalog: &Catalog) {
        self.0.retain(|id, returned| {
            let table = catalog.table_by_id(*id);
            let table = table.filter(|it| it.return_since() == Some(returned.since));
            table.is_some_and(|table| {
                returned.claims.retain(|partition, claims| {
                    claims.by_seat.retain(|seat, _| catalog.is_current(*seat));
                    table.is_parked(*partition) && !claims.by_seat.is_empty()
                });
                true
            })
        });
    }

    /// What a brick found of a parked partition; `None` if it has not said so for this return.
    pub(super) fn claim(&self, case: &Case<'_>, seat: Seat) -> Option<Claim> {
        self.claims(case)?.by_seat.get(&seat).copied()
    }

    /// Since when somebody has said something of it.
    pub(super) fn known_since(&self, case: &Case<'_>) -> Option<Instant> {
        Some(self.claims(case)?.since)
    }

    fn claims(&self, case: &Case<'_>) -> Option<&Claims> {
        let returned = self.0.get(&case.table.id)?;
        let is_of_now = case.table.return_since() == Some(returned.since);
        returned.claims.get(&case.partition).filter(|_| is_of_now)
    }
}

impl Controller {
    /// A brick has read again what its log has of a table that comes back.
    pub fn on_returned(&mut self, now: Instant, report: ReturnReport) {
        self.returns.add(now, &self.catalog, report);
        self.is_dirty = true;
    }

    /// What is to be done about a partition that nobody serves, since its table is offline or comes back.
    pub(super) fn bring_back(&mut self, case: &Case<'_>, load: &mut Load, findings: &mut Findings) {
        if case.table.is_offline() {
            return;
        }
        findings.is_busy = true;
        // It was proposed since the table comes back: none goes offline while a view of it changes.
        if let Some(change) = &case.group.change
            && change.in_sync().all(|seat| self.live.contains(&seat))
        {
            if self.is_due(change, case.now) {
                findings.decisions.settled.push(Settled {
                    table: case.table.id,
                    partition: case.partition,
                    view: change.view,
                });
            }
            return;
        }
        let proposal = self.begin_again(case, load);
        findings.decisions.proposals.extend(proposal);
    }

    /// Names the other members of a parked partition as learners of the view in which it is served again. Whoever is in no
    /// view drops what it holds, and would have to be sent all of it.
    pub(super) fn keep_others(&self, case: &Case<'_>, proposal: &mut Proposal) {
        let others = case.group.in_sync().filter_map(|former| {
            let node = self.catalog.node(former.member.node)?;
            Some(node.seat(former.member.brick))
        });
        let stays = |seat: &Seat| {
            let node = seat.member.node;
            *seat != proposal.primary && self.is_up(*seat, case.now) && !self.is_leaving(node)
        };
        proposal.learners = others.filter(stays).collect();
    }
}

#[cfg(test)]
#[path = "returns_test.rs"]
mod returns_test;
