//! What bricks said they hold.

use super::{Controller, Output};
use crate::message::{Claim, Report, ReportRequest, ToNode};
use brickyard_metadata::Catalog;
use brickyard_routing::{NodeId, Seat};
use brickyard_types::{BrickId, Incarnation, Instant, PartitionId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Reports {
    /// Complete ones.
    claims: BTreeMap<Seat, BTreeMap<PartitionId, Claim>>,
    /// Of which parts are missing.
    partial: BTreeMap<Seat, BTreeMap<PartitionId, Claim>>,
    /// Bricks whose report somebody waits for.
    pub(super) wanted: BTreeSet<Seat>,
    /// What an operator asks for at the moment.
    inquiry: Option<Inquiry>,
    asked_at: Option<Instant>,
    /// When each brick's report was first wanted.
    wanted_since: BTreeMap<Seat, Instant>,
}

/// An operator wants to know what bricks hold now. An earlier report will not do: in the same life a log may have become
/// a part of a copy since.
#[derive(Clone, Debug)]
struct Inquiry {
    since: Instant,
    /// Partitions that nobody has served since: what is said of others may not be true any more when they are lost.
    unserved: BTreeSet<PartitionId>,
    /// Bricks whose report is waited for.
    sought: BTreeSet<Seat>,
    /// Those that have answered.
    told: BTreeSet<Seat>,
}

/// How long an operator may take to decide by what bricks said.
const INQUIRY: Duration = Duration::from_secs(10);

impl Reports {
    /// A brick's report, or a part of it. One that speaks of a partition which was split is from before the brick heard of
    /// that, and says nothing of the parts (PROTOCOL rule 31): it is asked again.
    pub(super) fn add(&mut self, catalog: &Catalog, report: Report) {
        let parts = self.partial.entry(report.seat).or_default();
        parts.extend(report.claims.iter().map(|claim| (claim.partition, *claim)));
        if report.is_last
            && let Some(claims) = self.partial.remove(&report.seat)
            && !is_outdated(catalog, &claims)
        {
            self.claims.insert(report.seat, claims);
            if let Some(inquiry) = &mut self.inquiry
                && inquiry.sought.remove(&report.seat)
            {
                inquiry.told.insert(report.seat);
            }
        }
    }

    /// Forgets lives that are over, and what was said of partitions that were split since.
    pub(super) fn forget(&mut self, catalog: &Catalog) {
        self.claims
            .retain(|seat, claims| catalog.is_current(*seat) && !is_outdated(catalog, claims));
        self.partial.retain(|seat, _| catalog.is_current(*seat));
        self.wanted_since
            .retain(|seat, _| catalog.is_current(*seat));
        if let Some(inquiry) = &mut self.inquiry {
            inquiry.sought.retain(|seat| catalog.is_current(*seat));
        }
    }

    /// An operator asks about partitions that nobody serves: what was said of them to one who asked before counts for a
    /// while.
    pub(super) fn inquire(&mut self, now: Instant, unserved: BTreeSet<PartitionId>) {
        let inquiry = self.inquiry.take();
        let inquiry = inquiry.filter(|it| now - it.since < INQUIRY);
        let is_known = |it: &Inquiry| it.unserved.is_superset(&unserved);
        self.inquiry = match inquiry {
            Some(inquiry) if is_known(&inquiry) => Some(inquiry),
            earlier => Some(Inquiry {
                since: now,
                // Another operator may be asking, about others.
                unserved: earlier
                    .into_iter()
                    .flat_map(|it| it.unserved)
                    .chain(unserved)
                    .collect(),
                sought: BTreeSet::new(),
                told: BTreeSet::new(),
            }),
        };
    }

    /// What operators have asked about, and nobody has served since.
    pub(super) fn unserved(&self) -> impl Iterator<Item = PartitionId> {
        self.inquiry
            .iter()
            .flat_map(|it| it.unserved.iter().copied())
    }

    /// Somebody serves these again.
    pub(super) fn note_served(&mut self, served: &[PartitionId]) {
        if let Some(inquiry) = &mut self.inquiry {
            inquiry.unserved.retain(|it| !served.contains(it));
        }
    }

    /// The operator waits for these.
    pub(super) fn seek(&mut self, seats: BTreeSet<Seat>) {
        if let Some(inquiry) = &mut self.inquiry {
            inquiry.sought.extend(seats);
        }
    }

    /// What an operator waits for is wanted until it is there.
    pub(super) fn want_sought(&mut self) {
        let sought = self.inquiry.iter().flat_map(|it| &it.sought);
        self.wanted.extend(sought.copied());
    }

    /// As [`Self::claim`], of what was said to the operator.
    #[expect(
        clippy::option_option,
        reason = "not said and said to be nothing differ"
    )]
    pub(super) fn told(&self, seat: Seat, partition: PartitionId) -> Option<Option<Claim>> {
        let inquiry = self.inquiry.as_ref()?;
        inquiry.told.contains(&seat).then_some(())?;
        self.claim(seat, partition)
    }

    /// Whether a brick has not reported, and has not had time enough for it either.
    pub(super) fn is_awaited(&mut self, seat: Seat, now: Instant, patience: Duration) -> bool {
        let since = *self.wanted_since.entry(seat).or_insert(now);
        !self.claims.contains_key(&seat) && now - since < patience
    }

    /// What a brick holds of a partition; `None` if it has not reported, `Some(None)` if it holds nothing.
    #[expect(
        clippy::option_option,
        reason = "not said and said to be nothing differ"
    )]
    pub(super) fn claim(&self, seat: Seat, partition: PartitionId) -> Option<Option<Claim>> {
        let claims = self.claims.get(&seat)?;
        Some(claims.get(&partition).copied())
    }
}

/// Whether a report speaks of a partition that was split.
fn is_outdated(catalog: &Catalog, claims: &BTreeMap<PartitionId, Claim>) -> bool {
    claims.keys().any(|it| catalog.former(*it).is_some())
}

impl Controller {
    /// Asks for the reports that somebody waits for.
    pub(super) fn ask_reports(&mut self, now: Instant) {
        let asked_at = self.reports.asked_at;
        let is_early = asked_at.is_some_and(|at| now - at < self.config.renew);
        if self.reports.wanted.is_empty() || is_early {
            return;
        }
        self.reports.asked_at = Some(now);
        let mut by_node: BTreeMap<(NodeId, Incarnation), Vec<BrickId>> = BTreeMap::new();
        for seat in &self.reports.wanted {
            by_node
                .entry((seat.member.node, seat.incarnation))
                .or_default()
                .push(seat.member.brick);
        }
        for ((node, incarnation), bricks) in by_node {
            let request = ReportRequest {
                incarnation,
                bricks,
            };
            self.outputs
                .push_back(Output::Send(node, ToNode::Report(request)));
        }
    }
}
