//! Siblings on different bricks that are to be merged are brought together first: the right one goes where the left one should be.
//!
//! In:  what primaries say of partitions that have shrunk; operators who ask for a merge; halves that are hot no more. Out: pairs
//!      that the plan counts as one partition each; the merge, when their members are the same.
//!
//! Nothing of it is stored (decision 0025): what is small is said again every few seconds, and an operator asks again. A leader
//! that comes to lead in the middle drops what is half done, hears of it, and begins again.
//!
//! Invariants:
//! - Only so many pairs of a brick at a time ([`PAIRS_PER_BRICK`]), of partitions at rest, and none while a copy is missing, a
//!   member does not answer, a node stops, or moves are paused.
//! - A pair is given up when one of its members does not answer or is to go, when it is not small any more or nobody asks for
//!   it, and after `gather_timeout`: then it is left alone for a while.
//! - What an operator asks for is merged when it is asked for again, and not before.
//!
//! Not here: the plan (`metadata`), the moves (`moves`), the merge itself (`merges`), siblings that are together (`brick`, by size).

use super::Controller;
use super::group::Findings;
use crate::message::SmallReport;
use brickyard_metadata::{Catalog, Change, Pairs, Refusal, SMALL_SHARE, Table};
use brickyard_routing::{Member, Seat};
use brickyard_types::{Instant, PartitionId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What a primary said counts for so long: it says so every few seconds.
const KNOWN_FOR: Duration = Duration::from_secs(20);

/// What an operator asked for counts for so long.
const ASKED_FOR: Duration = Duration::from_secs(30);

/// Pairs whose left one a brick leads, at a time.
const PAIRS_PER_BRICK: usize = 4;

/// After so many times the time that it may take, what came to nothing is tried again.
const TRIED_AGAIN: u32 = 2;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathering {
    /// In thousandths of what a partition may have.
    told: BTreeMap<PartitionId, (Instant, u16)>,
    /// Since when two are small, by the left one.
    small_since: BTreeMap<PartitionId, Instant>,
    /// By the left one.
    pairs: BTreeMap<PartitionId, Pair>,
    /// Left ones of pairs that came to nothing, and until when they are left alone.
    spurned: BTreeMap<PartitionId, Instant>,
}

/// Siblings that are to be together.
#[derive(Clone, Copy, Debug)]
struct Pair {
    right: PartitionId,
    since: Instant,
    cause: Cause,
}

/// Why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// They have shrunk.
    Small,
    /// They are hot no more.
    Cool,
    /// An operator asked, last at that time.
    Asked(Instant),
}

/// Siblings that are not on the same bricks.
#[derive(Clone, Copy, Debug)]
struct Apart<'a> {
    table: &'a Table,
    left: PartitionId,
    right: PartitionId,
}

impl Gathering {
    /// What the plan counts as one.
    pub(super) fn pairs(&self) -> Pairs {
        let pairs = self.pairs.iter();
        pairs.map(|(left, pair)| (pair.right, *left)).collect()
    }

    /// What siblings have together, as far as both primaries have said so.
    fn share(&self, [left, right]: [PartitionId; 2]) -> Option<u16> {
        let (_, left) = self.told.get(&left)?;
        let (_, right) = self.told.get(&right)?;
        Some(left.saturating_add(*right))
    }

    fn is_small(&self, siblings: [PartitionId; 2]) -> bool {
        self.share(siblings).is_some_and(|it| it < SMALL_SHARE)
    }

    fn begin(&mut self, now: Instant, [left, right]: [PartitionId; 2], cause: Cause) {
        let pair = Pair {
            right,
            since: now,
            cause,
        };
        self.pairs.entry(left).or_insert(pair);
    }
}

impl Controller {
    /// A brick says which partitions that it leads have shrunk.
    pub fn on_small(&mut self, now: Instant, report: &SmallReport) {
        if self.config.merge_after == Duration::ZERO {
            return;
        }
        for it in &report.partitions {
            let group = self
                .catalog
                .tables()
                .find_map(|table| table.map.group(it.partition));
            if group.is_some_and(|group| group.primary == report.seat) {
                self.gathering.told.insert(it.partition, (now, it.share));
            }
        }
    }

    /// Halves that are hot no more are to be one, wherever they are.
    pub(super) fn gather_cool(&mut self, now: Instant, siblings: [PartitionId; 2]) {
        self.gathering.begin(now, siblings, Cause::Cool);
        self.is_dirty = true;
    }

    /// Whether siblings, by their left one, are neither being brought together nor came to nothing lately.
    pub(super) fn may_begin_to_gather(&self, left: PartitionId) -> bool {
        let Gathering { pairs, spurned, .. } = &self.gathering;
        !pairs.contains_key(&left) && !spurned.contains_key(&left)
    }

    /// An operator asks for a merge of siblings that are on different bricks.
    ///
    /// # Errors
    /// That they are brought together, or why not; everything else that stands against a merge the catalog says itself.
    pub(super) fn gather_asked(
        &mut self,
        now: Instant,
        name: &str,
        partition: PartitionId,
    ) -> Result<(), String> {
        let table = self.catalog.table(name);
        let Some([left, right]) = table.and_then(|table| table.siblings(partition)) else {
            return Ok(());
        };
        let Err(refusal) = self.catalog.check_merge(name, partition) else {
            return Ok(());
        };
        let is_under_way = self.gathering.pairs.contains_key(&left);
        let is_apart = matches!(refusal, Refusal::SiblingsApart { .. });
        if !is_under_way && (!is_apart || self.gathering.spurned.contains_key(&left)) {
            return Ok(());
        }
        if self.catalog.is_paused() {
            return Err(format!(
                "partitions {left} and {right} are on different bricks, and moves are paused; resume them first"
            ));
        }
        self.gathering.begin(now, [left, right], Cause::Asked(now));
        if let Some(pair) = self.gathering.pairs.get_mut(&left)
            && let Cause::Asked(at) = &mut pair.cause
        {
            *at = now;
        }
        self.is_dirty = true;
        Err(format!(
            "TRYAGAIN partitions {left} and {right} are on different bricks, and one is brought to the other as long as this is \
             asked for; ask again"
        ))
    }

    /// Ends what is not wanted any more or cannot be; of what is small begins what has been so for long enough.
    pub(super) fn see_to_siblings(&mut self, now: Instant, catalog: &Catalog) {
        let gathering = &mut self.gathering;
        gathering.told.retain(|_, (at, _)| now - *at < KNOWN_FOR);
        gathering.spurned.retain(|_, until| now < *until);
        let pairs: Vec<(PartitionId, Pair)> = gathering
            .pairs
            .iter()
            .map(|(left, it)| (*left, *it))
            .collect();
        for (left, pair) in pairs {
            let siblings = [left, pair.right];
            if now - pair.since >= self.config.gather_timeout && !is_asked(&pair) {
                self.spurn(now, left);
            } else if !self.is_wanted(now, catalog, siblings, pair.cause) {
                self.gathering.pairs.remove(&left);
            }
        }
    }

    fn is_wanted(
        &self,
        now: Instant,
        catalog: &Catalog,
        siblings: [PartitionId; 2],
        cause: Cause,
    ) -> bool {
        let mut tables = catalog.tables();
        let table = tables.find(|table| table.siblings(siblings[0]) == Some(siblings));
        let Some(table) = table.filter(|_| !catalog.is_paused()) else {
            return false;
        };
        let is_for = match cause {
            // Nobody tells of those that are together.
            Cause::Small => table.are_together(siblings) || self.gathering.is_small(siblings),
            Cause::Cool => true,
            Cause::Asked(at) => now - at < ASKED_FOR,
        };
        is_for && self.may_gather(catalog, table, siblings)
    }

    /// Whether all members of siblings are there and stay, neither has copies more, and neither is split or merged already.
    fn may_gather(&self, catalog: &Catalog, table: &Table, siblings: [PartitionId; 2]) -> bool {
        let may = |partition: PartitionId| {
            let group = table.map.group(partition);
            let mut in_sync = group.into_iter().flat_map(|group| group.in_sync());
            in_sync.all(|seat| self.live.contains(&seat) && !self.is_leaving(seat.member.node))
                && catalog.extra(partition) == 0
                && catalog.split_of(partition).is_none()
                && catalog.merge_of(partition).is_none()
        };
        siblings.into_iter().all(may)
    }

    fn spurn(&mut self, now: Instant, left: PartitionId) {
        self.gathering.pairs.remove(&left);
        let until = now + self.config.gather_timeout * TRIED_AGAIN;
        self.gathering.spurned.insert(left, until);
    }

    /// Gives up pairs whose right one should stay where it is, by the plan that counts them as one: there is no way.
    pub(super) fn spurn_stuck(&mut self, now: Instant, catalog: &Catalog) -> bool {
        let members = |of: &[Member]| of.iter().copied().collect::<BTreeSet<Member>>();
        let tables = || catalog.tables();
        let stuck: Vec<PartitionId> = self
            .gathering
            .pairs
            .iter()
            .filter(|(left, pair)| {
                let group = tables().find_map(|table| table.map.group(pair.right));
                let group = group.filter(|it| it.change.is_none() && it.learners.is_empty());
                let present = group.map(|it| it.in_sync().map(|seat| seat.member).collect());
                let target = members(self.plan.target(pair.right));
                present == Some(target.clone()) && target != members(self.plan.target(**left))
            })
            .map(|(left, _)| *left)
            .collect();
        for left in &stuck {
            self.spurn(now, *left);
        }
        !stuck.is_empty()
    }

    /// Begins to bring together what has been small for long enough, as far as it is time to move anything.
    pub(super) fn gather_small(&mut self, now: Instant, findings: &Findings) {
        let is_time =
            !findings.is_impaired && self.draining.is_empty() && !self.catalog.is_paused();
        if self.gathering.told.is_empty() || self.config.merge_after == Duration::ZERO || !is_time {
            self.gathering.small_since.clear();
            return;
        }
        let catalog = std::sync::Arc::clone(&self.catalog);
        let apart = self.small_and_apart(&catalog);
        let before = std::mem::take(&mut self.gathering.small_since);
        let since = |left: PartitionId| before.get(&left).copied().unwrap_or(now);
        self.gathering.small_since = apart.iter().map(|it| (it.left, since(it.left))).collect();
        let mut at_work = self.at_work(&catalog);
        for it in apart {
            let siblings = [it.left, it.right];
            let is_due = now - since(it.left) >= self.config.merge_after
                && self.may_begin_to_gather(it.left);
            let is_still = is_due
                && self.may_gather(&catalog, it.table, siblings)
                && siblings.iter().all(|partition| {
                    let group = it.table.map.group(*partition);
                    group.is_some_and(|group| self.is_at_rest(*partition, group))
                });
            let primary = it.table.map.group(it.left).map(|group| group.primary);
            if let Some(primary) = primary.filter(|_| is_still) {
                let at_work = at_work.entry(primary).or_default();
                if *at_work < PAIRS_PER_BRICK {
                    *at_work += 1;
                    self.gathering.begin(now, siblings, Cause::Small);
                    self.is_dirty = true;
                }
            }
        }
    }

    /// Siblings that are small and apart.
    fn small_and_apart<'a>(&self, catalog: &'a Catalog) -> Vec<Apart<'a>> {
        let tables = catalog.tables().filter(|it| !self.sizing.is_short(it.id));
        let grown = tables.flat_map(|table| {
            let siblings = catalog.grown_siblings(table.id).into_iter();
            siblings.map(move |siblings| (table, siblings))
        });
        let apart = grown.filter(|(table, siblings)| {
            self.gathering.is_small(*siblings) && !table.are_together(*siblings)
        });
        apart
            .map(|(table, [left, right])| Apart { table, left, right })
            .collect()
    }

    /// How many pairs each brick has whose left one it leads.
    fn at_work(&self, catalog: &Catalog) -> BTreeMap<Seat, usize> {
        let mut at_work = BTreeMap::new();
        for left in self.gathering.pairs.keys() {
            let group = catalog.tables().find_map(|table| table.map.group(*left));
            if let Some(group) = group {
                *at_work.entry(group.primary).or_default() += 1;
            }
        }
        at_work
    }

    /// The merge of siblings that have come together.
    pub(super) fn next_merge(&self) -> Option<Change> {
        let pairs = self.gathering.pairs.iter().filter(|(_, it)| !is_asked(it));
        let mut ready = pairs.filter_map(|(left, pair)| {
            let siblings = [*left, pair.right];
            let mut tables = self.catalog.tables();
            let table = tables.find(|table| table.siblings(*left) == Some(siblings))?;
            let checked = self.catalog.check_merge(&table.name, *left);
            let is_ready = checked.is_ok_and(|it| it.is_some());
            is_ready.then(|| Change::MergePartitions {
                table: table.name.clone(),
                partition: *left,
            })
        });
        ready.next()
    }
}

const fn is_asked(pair: &Pair) -> bool {
    matches!(pair.cause, Cause::Asked(_))
}
#[cfg(test)]
#[path = "gather_test.rs"]
mod gather_test;
