//! Log summaries: what bricks report that they hold after a restart.
//!
//! In:  reports, in parts; what passes and operators want to know. Out: each brick's summary of a partition; requests for reports.
//!
//! Invariant: only complete reports of present lives count.

use super::outbox::Outbox;
use crate::config::ControlConfig;
use crate::message::{LogReport, LogSummary, ReportRequest, ToNode};
use brickyard_metadata::Catalog;
use brickyard_routing::{NodeId, Replica};
use brickyard_types::{BrickId, Incarnation, Instant, PartitionId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct LogSummaries {
    /// Complete ones.
    summaries: BTreeMap<Replica, BTreeMap<PartitionId, LogSummary>>,
    /// Of which parts are missing.
    partial: BTreeMap<Replica, BTreeMap<PartitionId, LogSummary>>,
    /// Bricks whose report some partition or operator waits for.
    wanted: BTreeSet<Replica>,
    /// What an operator asks for at the moment.
    inquiry: Option<Inquiry>,
    asked_at: Option<Instant>,
    /// When each brick's report was first wanted.
    wanted_since: BTreeMap<Replica, Instant>,
}

/// An operator wants to know what bricks hold now. An earlier report will not do: in the same life a log may have become
/// a part of a copy since.
#[derive(Clone, Debug)]
struct Inquiry {
    since: Instant,
    /// Partitions that have not been served since: a summary of another may not be true any more when that one is lost.
    unserved: BTreeSet<PartitionId>,
    /// Bricks whose report is waited for.
    sought: BTreeSet<Replica>,
    /// Those that have answered.
    answered: BTreeSet<Replica>,
}

/// How long an operator may take to decide by the reports.
const INQUIRY: Duration = Duration::from_secs(10);

impl LogSummaries {
    /// A brick's report, or a part of it. One that speaks of a partition which was split is from before the brick heard of
    /// that, and has no summary of the parts (rule `splits and merges are bound to views`): it is asked again.
    pub(super) fn add(&mut self, catalog: &Catalog, report: LogReport) {
        assert!(
            catalog.is_current(report.replica),
            "{} reports, whose life is over",
            report.replica
        );
        let parts = self.partial.entry(report.replica).or_default();
        parts.extend(
            report
                .summaries
                .iter()
                .map(|summary| (summary.partition, *summary)),
        );
        if report.is_last
            && let Some(summaries) = self.partial.remove(&report.replica)
            && !is_outdated(catalog, &summaries)
        {
            self.summaries.insert(report.replica, summaries);
            if let Some(inquiry) = &mut self.inquiry
                && inquiry.sought.remove(&report.replica)
            {
                inquiry.answered.insert(report.replica);
            }
        }
    }

    /// Forgets lives that are over, and reports that name partitions which were split since.
    pub(super) fn forget(&mut self, catalog: &Catalog) {
        self.summaries.retain(|replica, summaries| {
            catalog.is_current(*replica) && !is_outdated(catalog, summaries)
        });
        self.partial
            .retain(|replica, _| catalog.is_current(*replica));
        self.wanted_since
            .retain(|replica, _| catalog.is_current(*replica));
        if let Some(inquiry) = &mut self.inquiry {
            inquiry
                .sought
                .retain(|replica| catalog.is_current(*replica));
        }
    }

    /// An operator asks about partitions that are not served: reports for one who asked before count for a
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
                answered: BTreeSet::new(),
            }),
        };
    }

    /// The partitions that operators have asked about, and that were not served since.
    pub(super) fn unserved(&self) -> impl Iterator<Item = PartitionId> {
        self.inquiry
            .iter()
            .flat_map(|it| it.unserved.iter().copied())
    }

    /// These are served again.
    pub(super) fn note_served(&mut self, served: &[PartitionId]) {
        if let Some(inquiry) = &mut self.inquiry {
            inquiry.unserved.retain(|it| !served.contains(it));
        }
    }

    /// The operator waits for these.
    pub(super) fn seek(&mut self, replicas: BTreeSet<Replica>) {
        if let Some(inquiry) = &mut self.inquiry {
            inquiry.sought.extend(replicas);
        }
    }

    /// As [`Self::summary`], of what was reported since the operator asked.
    #[expect(
        clippy::option_option,
        reason = "not reported and reported to be nothing differ"
    )]
    pub(super) fn answer(
        &self,
        replica: Replica,
        partition: PartitionId,
    ) -> Option<Option<LogSummary>> {
        let inquiry = self.inquiry.as_ref()?;
        inquiry.answered.contains(&replica).then_some(())?;
        self.summary(replica, partition)
    }

    /// Whether a brick has not reported, and has not had time enough for it either.
    pub(super) fn is_awaited(
        &mut self,
        replica: Replica,
        now: Instant,
        patience: Duration,
    ) -> bool {
        let since = *self.wanted_since.entry(replica).or_insert(now);
        !self.summaries.contains_key(&replica) && now - since < patience
    }

    /// What a brick holds of a partition; `None` if it has not reported, `Some(None)` if it holds nothing.
    #[expect(
        clippy::option_option,
        reason = "not reported and reported to be nothing differ"
    )]
    pub(super) fn summary(
        &self,
        replica: Replica,
        partition: PartitionId,
    ) -> Option<Option<LogSummary>> {
        let summaries = self.summaries.get(&replica)?;
        Some(summaries.get(&partition).copied())
    }
}

/// Whether a report speaks of a partition that was split.
fn is_outdated(catalog: &Catalog, summaries: &BTreeMap<PartitionId, LogSummary>) -> bool {
    summaries.keys().any(|it| catalog.parent(*it).is_some())
}

/// The queries.
impl LogSummaries {
    /// Begins a pass: what is wanted is found out anew, but for what an operator waits for.
    pub(super) fn begin_pass(&mut self) {
        self.wanted.clear();
        let sought = self.inquiry.iter().flat_map(|it| &it.sought);
        self.wanted.extend(sought.copied());
    }

    /// Wants the reports of these bricks.
    pub(super) fn want(&mut self, replicas: impl IntoIterator<Item = Replica>) {
        self.wanted.extend(replicas);
    }

    /// Asks for the reports that are wanted.
    pub(super) fn ask(&mut self, now: Instant, config: &ControlConfig, outbox: &mut Outbox) {
        let is_early = self.asked_at.is_some_and(|at| now - at < config.renew);
        if self.wanted.is_empty() || is_early {
            return;
        }
        self.asked_at = Some(now);
        let mut by_node: BTreeMap<(NodeId, Incarnation), Vec<BrickId>> = BTreeMap::new();
        for replica in &self.wanted {
            by_node
                .entry((replica.member.node, replica.incarnation))
                .or_default()
                .push(replica.member.brick);
        }
        for ((node, incarnation), bricks) in by_node {
            let request = ReportRequest {
                incarnation,
                bricks,
            };
            outbox.send(node, ToNode::Report(request));
        }
    }
}

#[cfg(test)]
#[path = "summaries_test.rs"]
mod summaries_test;
