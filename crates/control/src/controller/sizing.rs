//! Tables get as many partitions as their bricks need, once nodes have joined: the leader splits a few at a time.
//!
//! In: the catalog, which says how many that are; when its nodes changed last. Out: splits of partitions at rest; tables
//! whose moves wait for that, since whole partitions would move to where halves are needed.
//!
//! Nothing is stored: a new leader comes to the same, after the same wait.
//!
//! Invariants:
//! - Nothing is split while moves are paused, a copy is missing, a member does not answer, or a node stops; nor while a view
//!   of the table changes, nor a partition that somebody learns.
//! - So many of a brick's partitions at a time (`splits_per_brick`): writes to each wait for its end.
//!
//! Not here: how many partitions a table should have, the splits themselves (`metadata`), splits by size (`brick`).

use super::Controller;
use super::group::Findings;
use brickyard_metadata::{Catalog, Cause, Divide, Table};
use brickyard_routing::{Group, Member};
use brickyard_types::{Instant, PartitionId, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What is known of the nodes' coming and going.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizing {
    /// Bricks with their weights, and since when they are these.
    company: Vec<(Member, u32)>,
    since: Option<Instant>,
    /// Tables with too few partitions, and how deep these should be.
    short: BTreeMap<TableId, u8>,
}

impl Sizing {
    /// Whether a table is to be split before anything of it moves.
    pub(super) fn is_short(&self, table: TableId) -> bool {
        self.short.contains_key(&table)
    }
}

impl Controller {
    /// Looks which tables have too few partitions for their bricks. One node that comes may be one of several: it is
    /// waited for a while.
    pub(super) fn see_to_sizes(&mut self, now: Instant, catalog: &Catalog) {
        let bricks = catalog.candidates().into_iter();
        let company: Vec<(Member, u32)> = bricks.map(|it| (it.seat.member, it.weight)).collect();
        if company != self.sizing.company || self.sizing.since.is_none() {
            self.sizing.company = company;
            self.sizing.since = Some(now);
        }
        self.sizing.short.clear();
        let after = self.config.split_after;
        let since = self.sizing.since.unwrap_or(now);
        if after == Duration::ZERO || now - since < after || catalog.is_paused() {
            return;
        }
        let tables = catalog.tables().filter(|it| it.is_online());
        for table in tables.filter(|it| it.is_sized_by_bricks) {
            let depth = catalog.depth_wanted(table);
            if table.shallower(depth).next().is_some() {
                self.sizing.short.insert(table.id, depth);
            }
        }
    }

    /// The next partitions to be split for their bricks.
    pub(super) fn next_splits(&self, findings: &Findings) -> Option<Divide> {
        let is_time = !findings.is_impaired && self.draining.is_empty();
        if self.sizing.short.is_empty() || !is_time {
            return None;
        }
        // Those under way, by who waits for them.
        let mut at_work: BTreeMap<Member, usize> = BTreeMap::new();
        let under_way: BTreeSet<PartitionId> = self.catalog.splits().map(|(id, _)| id).collect();
        for (partition, group) in self.catalog.tables().flat_map(Table::partitions) {
            if under_way.contains(&partition) {
                *at_work.entry(group.primary.member).or_default() += 1;
            }
        }
        let mut partitions = Vec::new();
        for table in self.catalog.tables() {
            let Some(depth) = self.sizing.short.get(&table.id) else {
                continue;
            };
            if table.partitions().any(|(_, group)| group.change.is_some()) {
                continue;
            }
            for (partition, group) in table.shallower(*depth) {
                let at_work = at_work.entry(group.primary.member).or_default();
                let is_free = *at_work < self.config.splits_per_brick;
                if is_free && !under_way.contains(&partition) && self.is_at_rest(partition, group) {
                    *at_work += 1;
                    partitions.push((table.id, partition));
                }
                if partitions.len() >= self.config.batch {
                    break;
                }
            }
        }
        let cause = Cause::Bricks;
        (!partitions.is_empty()).then_some(Divide { cause, partitions })
    }

    /// Whether nobody comes or goes in a partition, and it is not to be merged.
    pub(super) fn is_at_rest(&self, partition: PartitionId, group: &Group) -> bool {
        group.change.is_none()
            && group.learners.is_empty()
            && group.in_sync().all(|seat| self.live.contains(&seat))
            && self.catalog.merge_of(partition).is_none()
    }
}

#[cfg(test)]
#[path = "sizing_test.rs"]
mod sizing_test;
