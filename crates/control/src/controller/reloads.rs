//! Tables that come back online: what their members have found in their logs.
//!
//! In:  reports of bricks that have read a table's records again. Out: for each unloaded partition a view that one of them
//!      leads, chosen as after a restart of all members (`restart`), with the others as learners.
//!
//! Invariants:
//! - Only reports for this return count: a log that was read for an earlier one, or before the table went offline,
//!   may be longer by now, and its brick may have it no more in memory (rule `a restart cuts nothing`).
//! - Of a table that is offline nothing is decided.
//!
//! Not here: which log it is (`restart`), the table's state (`metadata`).

use super::case::Case;
use crate::message::{LogSummary, ReturnReport};
use brickyard_metadata::{Catalog, CatalogVersion};
use brickyard_routing::Replica;
use brickyard_types::{Instant, PartitionId, TableId};
use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Reloads(BTreeMap<TableId, Returned>);

/// The reports for one return of one table.
#[derive(Clone, Debug)]
struct Returned {
    since: CatalogVersion,
    summaries: BTreeMap<PartitionId, Summaries>,
}

#[derive(Clone, Debug)]
struct Summaries {
    /// When the first of them came.
    since: Instant,
    by_replica: BTreeMap<Replica, LogSummary>,
}

impl Reloads {
    /// A brick has read what its log has of a table, or of a part of it.
    pub(super) fn add(&mut self, now: Instant, catalog: &Catalog, report: ReturnReport) {
        let table = catalog.table_by_id(report.table);
        let is_of_now = table.is_some_and(|it| it.return_since() == Some(report.since));
        if !is_of_now || !catalog.is_current(report.replica) {
            return;
        }
        let fresh = || Returned {
            since: report.since,
            summaries: BTreeMap::new(),
        };
        let returned = self.0.entry(report.table).or_insert_with(fresh);
        if returned.since != report.since {
            *returned = fresh();
        }
        let is_unloaded =
            |summary: &LogSummary| table.is_some_and(|it| it.is_suspended(summary.partition));
        for summary in report.summaries.into_iter().filter(is_unloaded) {
            let summaries = returned.summaries.entry(summary.partition);
            let summaries = summaries.or_insert_with(|| Summaries {
                since: now,
                by_replica: BTreeMap::new(),
            });
            summaries.by_replica.insert(report.replica, summary);
        }
    }

    /// Forgets returns that are over, partitions that are served, and lives that are over.
    pub(super) fn forget(&mut self, catalog: &Catalog) {
        self.0.retain(|id, returned| {
            let table = catalog.table_by_id(*id);
            let table = table.filter(|it| it.return_since() == Some(returned.since));
            table.is_some_and(|table| {
                returned.summaries.retain(|partition, summaries| {
                    summaries
                        .by_replica
                        .retain(|replica, _| catalog.is_current(*replica));
                    table.is_suspended(*partition) && !summaries.by_replica.is_empty()
                });
                true
            })
        });
    }

    /// What a brick found of an unloaded partition; `None` if it has not reported it for this return.
    pub(super) fn summary(&self, case: &Case<'_>, replica: Replica) -> Option<LogSummary> {
        self.summaries(case)?.by_replica.get(&replica).copied()
    }

    /// When the first report of it came.
    pub(super) fn known_since(&self, case: &Case<'_>) -> Option<Instant> {
        Some(self.summaries(case)?.since)
    }

    fn summaries(&self, case: &Case<'_>) -> Option<&Summaries> {
        let returned = self.0.get(&case.table.id)?;
        let is_of_now = case.table.return_since() == Some(returned.since);
        returned
            .summaries
            .get(&case.partition)
            .filter(|_| is_of_now)
    }
}

#[cfg(test)]
#[path = "reloads_test.rs"]
mod reloads_test;
