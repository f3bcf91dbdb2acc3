//! Partitions of which no in-sync member has everything in memory any more: what logs hold of them.
//!
//! In:  what bricks report of their logs, after a restart (`summaries`) and of tables that come back online (`reloads`).
//!      Out: questions to bricks; views on the ground of a log (`restart`), or of an operator's choice (`forced`).
//!
//! Not here: what bricks find in their logs (`brick`), the catalog's part (`metadata`).

use super::liveness::LivenessView;
use super::outbox::Outbox;
use super::reloads::Reloads;
use super::summaries::LogSummaries;
use crate::config::ControlConfig;
use crate::message::{LogReport, ReturnReport};
use brickyard_metadata::{Catalog, TableEntry};
use brickyard_routing::Group;
use brickyard_types::{Instant, PartitionId};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct LogRecovery {
    pub(super) summaries: LogSummaries,
    pub(super) reloads: Reloads,
}

impl LogRecovery {
    /// A brick reports what it holds. Returns whether the report counts.
    pub(super) fn on_report(&mut self, catalog: &Catalog, report: LogReport) -> bool {
        let is_current = catalog.is_current(report.replica);
        if is_current {
            self.summaries.add(catalog, report);
        }
        is_current
    }

    /// A brick has read again what its log has of a table that comes back.
    pub(super) fn on_returned(&mut self, now: Instant, catalog: &Catalog, report: ReturnReport) {
        self.reloads.add(now, catalog, report);
    }

    /// The catalog has changed.
    pub(super) fn on_catalog(&mut self, catalog: &Catalog) {
        self.summaries.forget(catalog);
        self.reloads.forget(catalog);
    }

    /// Begins a pass over all partitions.
    pub(super) fn begin_pass(&mut self) {
        self.summaries.begin_pass();
    }

    /// Asks for the reports that the pass found wanting.
    pub(super) fn ask(&mut self, now: Instant, config: &ControlConfig, outbox: &mut Outbox) {
        self.summaries.ask(now, config, outbox);
    }

    /// A report of a partition may be true no more once it has been served: its brick may have received a copy.
    pub(super) fn note_served(&mut self, catalog: &Catalog, view: &LivenessView) {
        let is_served = |partition: &PartitionId| {
            let mut tables = catalog.tables();
            let found = tables.find_map(|it| Some((it, it.map.group(*partition)?)));
            found.is_none_or(|(table, group)| is_served(table, *partition, group, view))
        };
        let served: Vec<_> = self.summaries.unserved().filter(is_served).collect();
        self.summaries.note_served(&served);
    }
}

/// Whether an in-sync member lives, as far as is known. In-sync members of an unloaded partition have nothing in memory.
pub(super) fn is_served(
    table: &TableEntry,
    partition: PartitionId,
    group: &Group,
    view: &LivenessView,
) -> bool {
    let is_unloaded = table.is_suspended(partition);
    !is_unloaded && group.in_sync().any(|replica| view.is_live(replica))
}
