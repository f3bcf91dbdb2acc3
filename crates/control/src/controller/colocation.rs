//! Siblings on different bricks that should be merged are colocated first: the right one goes where the left one should be.
//!
//! In:  primaries' reports of partitions that have shrunk; operators who ask for a merge; halves that are hot no more. Out: pairs
//!      that the plan counts as one partition each; the merge, when their members are the same.
//!
//! Nothing of it is stored (decision 0025): small partitions are reported again every few seconds, and an operator asks again. A leader
//! that comes to lead in the middle drops what is half done, hears of it, and begins again.
//!
//! Invariants:
//! - Only so many pairs of a brick at a time ([`PAIRS_PER_BRICK`]), of stable partitions, and none while a copy is missing, a
//!   member does not answer, a node drains, or moves are paused.
//! - A pair is given up when one of its members does not answer or leaves, when its table goes offline, when it is not small any
//!   more or no operator asks for it, and after `colocate_timeout`: then it is left alone for a while.
//! - What an operator asks for is merged when it is asked for again, and not before.
//! - A pair that was given up is not under way.
//!
//! Not here: the plan (`metadata`), the moves (`moves`), the merge itself (`merges`), siblings that are together (`brick`, by size).

use super::case::is_stable;
use super::findings::Findings;
use super::liveness::LivenessView;
use super::sizing::Sizing;
use super::timer::DecisionTimer;
use crate::config::ControlConfig;
use crate::message::SmallReport;
use brickyard_metadata::{Catalog, Change, Pairs, Plan, Refusal, SMALL_SHARE, TableEntry};
use brickyard_routing::{Member, Replica};
use brickyard_types::{Instant, PartitionId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A primary's report counts for so long: it repeats it every few seconds.
const KNOWN_FOR: Duration = Duration::from_secs(20);

/// What an operator asked for counts for so long.
const ASKED_FOR: Duration = Duration::from_secs(30);

/// Pairs whose left one a brick leads, at a time.
const PAIRS_PER_BRICK: usize = 4;

/// After so many times the time that it may take, what came to nothing is tried again.
const TRIED_AGAIN: u32 = 2;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Colocation {
    /// What primaries reported, in thousandths of what a partition may have.
    reported: BTreeMap<PartitionId, (Instant, u16)>,
    /// Since when two are small, by the left one.
    small_since: BTreeMap<PartitionId, Instant>,
    /// By the left one.
    pairs: BTreeMap<PartitionId, Pair>,
    /// Left ones of pairs that came to nothing, and until when they are left alone.
    abandoned: BTreeMap<PartitionId, Instant>,
}

/// Siblings that are being brought together.
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
    table: &'a TableEntry,
    left: PartitionId,
    right: PartitionId,
}

/// Events.
impl Colocation {
    /// A brick reports which partitions that it leads have shrunk.
    pub(super) fn on_small(
        &mut self,
        now: Instant,
        catalog: &Catalog,
        report: &SmallReport,
        config: &ControlConfig,
    ) {
        if config.merge_after == Duration::ZERO {
            return;
        }
        for it in &report.partitions {
            let mut tables = catalog.tables();
            let group = tables.find_map(|table| table.map.group(it.partition));
            if group.is_some_and(|group| group.primary == report.replica) {
                self.reported.insert(it.partition, (now, it.share));
            }
        }
    }

    /// Halves that are hot no more should be one, wherever they are.
    pub(super) fn on_cool(
        &mut self,
        now: Instant,
        siblings: [PartitionId; 2],
        timer: &mut DecisionTimer,
    ) {
        self.begin(now, siblings, Cause::Cool);
        timer.mark_dirty();
    }

    /// An operator asks for a merge of siblings that are on different bricks.
    ///
    /// # Errors
    /// That they are being colocated, or why not. All other reasons against a merge are the catalog's.
    pub(super) fn on_asked(
        &mut self,
        now: Instant,
        catalog: &Catalog,
        name: &str,
        partition: PartitionId,
        timer: &mut DecisionTimer,
    ) -> Result<(), String> {
        let table = catalog.table(name);
        let Some([left, right]) = table.and_then(|table| table.siblings(partition)) else {
            return Ok(());
        };
        let Err(refusal) = catalog.check_merge(name, partition) else {
            return Ok(());
        };
        let is_on_its_way = match refusal {
            Refusal::SiblingsApart { .. } => !self.abandoned.contains_key(&left),
            // The move that brings it there.
            Refusal::PartitionChanging { .. } => self.pairs.contains_key(&left),
            _ => false,
        };
        if !is_on_its_way {
            return Ok(());
        }
        if catalog.is_paused() {
            return Err(format!(
                "partitions {left} and {right} are on different bricks, and moves are paused; resume them first"
            ));
        }
        self.begin(now, [left, right], Cause::Asked(now));
        if let Some(pair) = self.pairs.get_mut(&left)
            && let Cause::Asked(at) = &mut pair.cause
        {
            *at = now;
        }
        timer.mark_dirty();
        Err(format!(
            "TRYAGAIN partitions {left} and {right} are on different bricks, and one is brought to the other as long as this is \
             asked for; ask again"
        ))
    }

    fn begin(&mut self, now: Instant, [left, right]: [PartitionId; 2], cause: Cause) {
        assert_ne!(left, right, "siblings are two");
        let pair = Pair {
            right,
            since: now,
            cause,
        };
        self.pairs.entry(left).or_insert(pair);
    }

    fn abandon(&mut self, now: Instant, left: PartitionId, config: &ControlConfig) {
        self.pairs.remove(&left);
        let until = now + config.colocate_timeout * TRIED_AGAIN;
        self.abandoned.insert(left, until);
    }
}

/// Questions.
impl Colocation {
    /// What the plan counts as one.
    pub(super) fn pairs(&self) -> Pairs {
        let pairs = self.pairs.iter();
        pairs.map(|(left, pair)| (pair.right, *left)).collect()
    }

    /// Whether siblings, by their left one, are neither being brought together nor came to nothing lately.
    pub(super) fn may_begin(&self, left: PartitionId) -> bool {
        !self.pairs.contains_key(&left) && !self.abandoned.contains_key(&left)
    }

    /// The size of siblings together, if both primaries have reported theirs.
    fn share(&self, [left, right]: [PartitionId; 2]) -> Option<u16> {
        let (_, left) = self.reported.get(&left)?;
        let (_, right) = self.reported.get(&right)?;
        Some(left.saturating_add(*right))
    }

    fn is_small(&self, siblings: [PartitionId; 2]) -> bool {
        self.share(siblings).is_some_and(|it| it < SMALL_SHARE)
    }

    fn is_wanted(
        &self,
        view: &LivenessView,
        catalog: &Catalog,
        siblings: [PartitionId; 2],
        cause: Cause,
    ) -> bool {
        let mut tables = catalog.tables();
        let table = tables.find(|table| table.siblings(siblings[0]) == Some(siblings));
        let Some(table) = table.filter(|table| table.is_online() && !catalog.is_paused()) else {
            return false;
        };
        let is_for = match cause {
            // No primary reports siblings that are together.
            Cause::Small => table.are_together(siblings) || self.is_small(siblings),
            Cause::Cool => true,
            Cause::Asked(at) => view.now() - at < ASKED_FOR,
        };
        is_for && may_colocate(view, catalog, table, siblings)
    }

    /// Siblings that are small and apart.
    fn small_and_apart<'a>(&self, catalog: &'a Catalog, sizing: &Sizing) -> Vec<Apart<'a>> {
        let tables = catalog.tables().filter(|it| !sizing.is_undersized(it.id));
        let grown = tables.flat_map(|table| {
            let siblings = catalog.grown_siblings(table.id).into_iter();
            siblings.map(move |siblings| (table, siblings))
        });
        let apart = grown
            .filter(|(table, siblings)| self.is_small(*siblings) && !table.are_together(*siblings));
        apart
            .map(|(table, [left, right])| Apart { table, left, right })
            .collect()
    }

    /// How many pairs each brick has whose left one it leads.
    fn at_work(&self, catalog: &Catalog) -> BTreeMap<Replica, usize> {
        let mut at_work = BTreeMap::new();
        for left in self.pairs.keys() {
            let group = catalog.tables().find_map(|table| table.map.group(*left));
            if let Some(group) = group {
                *at_work.entry(group.primary).or_default() += 1;
            }
        }
        at_work
    }
}

/// Steps of a pass.
impl Colocation {
    /// Ends what is not wanted any more or cannot be.
    pub(super) fn maintain(
        &mut self,
        view: &LivenessView,
        catalog: &Catalog,
        config: &ControlConfig,
    ) {
        let now = view.now();
        self.reported.retain(|_, (at, _)| now - *at < KNOWN_FOR);
        self.abandoned.retain(|_, until| now < *until);
        let pairs = self.pairs.iter();
        let pairs: Vec<(PartitionId, Pair)> = pairs.map(|(left, it)| (*left, *it)).collect();
        for (left, pair) in pairs {
            let siblings = [left, pair.right];
            if now - pair.since >= config.colocate_timeout && !is_asked(&pair) {
                self.abandon(now, left, config);
            } else if !self.is_wanted(view, catalog, siblings, pair.cause) {
                self.pairs.remove(&left);
            }
        }
        self.check();
    }

    /// Gives up pairs whose right one should stay where it is, by the plan that counts them as one: there is no way. Whether
    /// there were any.
    pub(super) fn abandon_stuck(
        &mut self,
        now: Instant,
        catalog: &Catalog,
        plan: &Plan,
        config: &ControlConfig,
    ) -> bool {
        let members = |of: &[Member]| of.iter().copied().collect::<BTreeSet<Member>>();
        let tables = || catalog.tables();
        let stuck: Vec<PartitionId> = self
            .pairs
            .iter()
            .filter(|(left, pair)| {
                let group = tables().find_map(|table| table.map.group(pair.right));
                let group = group.filter(|it| it.change.is_none() && it.learners.is_empty());
                let present = group.map(|it| it.in_sync().map(|replica| replica.member).collect());
                let target = members(plan.target(pair.right));
                present == Some(target.clone()) && target != members(plan.target(**left))
            })
            .map(|(left, _)| *left)
            .collect();
        for left in &stuck {
            self.abandon(now, *left, config);
        }
        self.check();
        !stuck.is_empty()
    }

    /// Begins to bring together what has been small for long enough, as far as it is time to move anything.
    pub(super) fn begin_small(
        &mut self,
        catalog: &Catalog,
        view: &LivenessView,
        findings: &Findings,
        sizing: &Sizing,
        config: &ControlConfig,
        timer: &mut DecisionTimer,
    ) {
        let is_time = !findings.is_impaired && !view.has_draining() && !catalog.is_paused();
        if self.reported.is_empty() || !is_time {
            self.small_since.clear();
            return;
        }
        let now = view.now();
        let apart = self.small_and_apart(catalog, sizing);
        let before = std::mem::take(&mut self.small_since);
        let since = |left: PartitionId| before.get(&left).copied().unwrap_or(now);
        self.small_since = apart.iter().map(|it| (it.left, since(it.left))).collect();
        let mut at_work = self.at_work(catalog);
        for it in apart {
            let siblings = [it.left, it.right];
            let is_due = now - since(it.left) >= config.merge_after && self.may_begin(it.left);
            let is_ready = is_due
                && may_colocate(view, catalog, it.table, siblings)
                && siblings.iter().all(|partition| {
                    let group = it.table.map.group(*partition);
                    group.is_some_and(|group| is_stable(catalog, view, *partition, group))
                });
            let primary = it.table.map.group(it.left).map(|group| group.primary);
            if let Some(primary) = primary.filter(|_| is_ready) {
                let at_work = at_work.entry(primary).or_default();
                if *at_work < PAIRS_PER_BRICK {
                    *at_work += 1;
                    self.begin(now, siblings, Cause::Small);
                    timer.mark_dirty();
                }
            }
        }
        self.check();
    }

    /// The merge of siblings that have come together.
    pub(super) fn next_merge(&self, catalog: &Catalog) -> Option<Change> {
        let pairs = self.pairs.iter().filter(|(_, it)| !is_asked(it));
        let mut ready = pairs.filter_map(|(left, pair)| {
            let siblings = [*left, pair.right];
            let mut tables = catalog.tables();
            let table = tables.find(|table| table.siblings(*left) == Some(siblings))?;
            let checked = catalog.check_merge(&table.name, *left);
            let is_ready = checked.is_ok_and(|it| it.is_some());
            is_ready.then(|| Change::MergePartitions {
                table: table.name.clone(),
                partition: *left,
            })
        });
        ready.next()
    }

    fn check(&self) {
        for left in self.pairs.keys() {
            assert!(
                !self.abandoned.contains_key(left),
                "{left} was given up and is under way"
            );
        }
    }
}

/// Whether all members of siblings are there and stay, neither has copies more, and neither is split or merged already.
fn may_colocate(
    view: &LivenessView,
    catalog: &Catalog,
    table: &TableEntry,
    siblings: [PartitionId; 2],
) -> bool {
    let may = |partition: PartitionId| {
        let group = table.map.group(partition);
        let mut in_sync = group.into_iter().flat_map(|group| group.in_sync());
        in_sync.all(|replica| view.is_live(replica) && !view.is_leaving(replica.member.node))
            && catalog.extra(partition) == 0
            && catalog.split_of(partition).is_none()
            && catalog.merge_of(partition).is_none()
    };
    siblings.into_iter().all(may)
}

const fn is_asked(pair: &Pair) -> bool {
    matches!(pair.cause, Cause::Asked(_))
}

#[cfg(test)]
#[path = "colocation_test.rs"]
mod colocation_test;
