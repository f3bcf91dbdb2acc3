//! Tables get as many partitions as their bricks need, once nodes have joined: the leader splits a few at a time.
//!
//! In: the catalog, by which that number is computed; when its nodes changed last. Out: splits of stable partitions; tables
//! whose moves wait for that, since whole partitions would move to where halves are needed.
//!
//! Nothing is stored: a new leader comes to the same, after the same wait.
//!
//! Invariants:
//! - Nothing is split while moves are paused, a copy is missing, a member does not answer, or a node stops; nor while a view
//!   of the table changes, nor a partition that has a learner.
//! - So many of a brick's partitions at a time (`splits_per_brick`): writes to each wait for its end.
//!
//! Not here: how many partitions a table should have, the splits themselves (`metadata`), splits by size (`brick`).

use super::case::is_stable;
use super::findings::Findings;
use super::liveness::LivenessView;
use crate::config::ControlConfig;
use brickyard_metadata::{Catalog, Cause, Divide, TableEntry};
use brickyard_routing::Member;
use brickyard_types::{Instant, PartitionId, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizing {
    /// Bricks with their weights, and since when they are these.
    bricks: Vec<(Member, u32)>,
    since: Option<Instant>,
    /// Tables with too few partitions, and how deep these should be.
    undersized: BTreeMap<TableId, u8>,
}

impl Sizing {
    /// Finds the tables that have too few partitions for their bricks. One node that comes may be one of several: it is
    /// waited for a while.
    pub(super) fn maintain(&mut self, now: Instant, catalog: &Catalog, config: &ControlConfig) {
        let bricks = catalog.candidates().into_iter();
        let bricks: Vec<(Member, u32)> = bricks.map(|it| (it.replica.member, it.weight)).collect();
        if bricks != self.bricks || self.since.is_none() {
            self.bricks = bricks;
            self.since = Some(now);
        }
        self.undersized.clear();
        let after = config.split_after;
        let since = self.since.unwrap_or(now);
        if after == Duration::ZERO || now - since < after || catalog.is_paused() {
            return;
        }
        let tables = catalog.tables().filter(|it| it.is_online());
        for table in tables.filter(|it| it.is_sized_by_bricks) {
            let depth = catalog.depth_wanted(table);
            if table.shallower(depth).next().is_some() {
                self.undersized.insert(table.id, depth);
            }
        }
    }

    /// Whether a table needs splits before anything of it moves.
    pub(super) fn is_undersized(&self, table: TableId) -> bool {
        self.undersized.contains_key(&table)
    }

    /// The next partitions to split for their bricks.
    pub(super) fn next_splits(
        &self,
        catalog: &Catalog,
        view: &LivenessView,
        findings: &Findings,
        config: &ControlConfig,
    ) -> Option<Divide> {
        let is_time = !findings.is_impaired && !view.has_draining();
        if self.undersized.is_empty() || !is_time {
            return None;
        }
        // Those under way, by the brick whose writes wait for them.
        let mut at_work: BTreeMap<Member, usize> = BTreeMap::new();
        let under_way: BTreeSet<PartitionId> = catalog.splits().map(|(id, _)| id).collect();
        for (partition, group) in catalog.tables().flat_map(TableEntry::partitions) {
            if under_way.contains(&partition) {
                *at_work.entry(group.primary.member).or_default() += 1;
            }
        }
        let mut partitions = Vec::new();
        for table in catalog.tables() {
            let Some(depth) = self.undersized.get(&table.id) else {
                continue;
            };
            if table.partitions().any(|(_, group)| group.change.is_some()) {
                continue;
            }
            for (partition, group) in table.shallower(*depth) {
                let at_work = at_work.entry(group.primary.member).or_default();
                let is_free = *at_work < config.splits_per_brick;
                let is_ready =
                    !under_way.contains(&partition) && is_stable(catalog, view, partition, group);
                if is_free && is_ready {
                    *at_work += 1;
                    partitions.push((table.id, partition));
                }
                if partitions.len() >= config.batch {
                    break;
                }
            }
        }
        assert!(
            partitions.len() <= config.batch,
            "{} splits, and {} fit into a proposal",
            partitions.len(),
            config.batch
        );
        let cause = Cause::Bricks;
        (!partitions.is_empty()).then_some(Divide { cause, partitions })
    }
}

#[cfg(test)]
#[path = "sizing_test.rs"]
mod sizing_test;
