//! Hot partitions: what takes most of a busy brick's time goes elsewhere, is split, or is read from more bricks; and is given
//! back.
//!
//! In:  bricks' reports of their load. Out: one remedy at a time, the cheapest that helps:
//! ```text
//! another copy's brick has room      hand the partition over to it             (a view; nothing is copied)
//! its load is of many slots          split it: a half may be handed over then  (a rest; nothing is copied)
//! it is read, and of one slot        a copy more, on the brick with most room  (a learner, promoted)
//! nothing of that                    nothing
//! ```
//! What cools down is given back: copies one by one, and halves are merged, after they were brought together (`gather`).
//!
//! Loads are known to the leader alone, and forgotten with it; what came of them (copies wanted, splits) is in the catalog.
//!
//! Invariants:
//! - One remedy at a time, and the next when its effect can be seen; of a partition at rest, while nothing is missing.
//! - A partition is handed over only where that makes the busier one of the two bricks less busy by a seventh of what is too
//!   busy.
//! - A copy more votes on each write as any other: so it is made for partitions that are read, and of what is mostly
//!   written there is none.
//!
//! Not here: measuring (`brick`), how copies come and go (`learners`), evenness (`balance`).

use super::case::is_stable;
use super::colocation::Colocation;
use super::liveness::LivenessView;
use super::requests::Requests;
use crate::config::ControlConfig;
use crate::message::LoadReport;
use brickyard_metadata::{
    BrickLoad, Catalog, Cause, Change, Decisions, Divide, EXTRA_COPIES_MAX, EXTRAS_MAX, Extra,
    PartitionLoad, Proposal, TableEntry,
};
use brickyard_routing::{Group, Replica};
use brickyard_types::{Instant, PartitionId};
use std::collections::BTreeMap;
use std::time::Duration;

/// A brick that reports nothing for so long may be as busy as any.
const KNOWN_FOR: Duration = Duration::from_secs(30);

/// A busy brick's report counts for so long.
const NEWS_FOR: Duration = Duration::from_secs(5);

/// A partition is hot that takes this part of what its brick is busy, in thousandths.
const HOT_SHARE: u64 = 500;

/// Copies more are for partitions of whose operations at most so many are writes, in thousandths.
const WRITES_MAX: u64 = 100;

/// Copies that take less than this part of a partition's load, in thousandths, are not used.
const USED_FROM: u64 = 100;

/// After so many times the time in which things are given back, what was of no use is tried again.
const TRIED_AGAIN: u32 = 6;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct HotPartitions {
    reported: BTreeMap<Replica, (Instant, BrickLoad)>,
    /// Since when bricks are too busy.
    busy_since: BTreeMap<Replica, Instant>,
    /// Since when copies more, and halves that load was the reason of, are not needed.
    cool_since: BTreeMap<PartitionId, Instant>,
    /// Partitions whose primaries are where load put them, and until when evenness leaves them there.
    placed: BTreeMap<PartitionId, Instant>,
    /// Partitions for which a copy more was of no use, and until when none is made.
    useless: BTreeMap<PartitionId, Instant>,
    /// When the last remedy was chosen.
    relieved_at: Option<Instant>,
}

/// A partition, and the time that it takes of its brick.
#[derive(Clone, Copy, Debug)]
struct Hot<'a> {
    table: &'a TableEntry,
    partition: PartitionId,
    group: &'a Group,
    depth: u8,
    load: PartitionLoad,
}

/// Something that may be given back.
#[derive(Debug)]
struct Spare {
    partition: PartitionId,
    way: GiveBack,
    /// It was of use.
    was_used: bool,
}

/// How something is given back.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time, taken apart at once; a change has room for a table with bounds"
)]
pub(super) enum GiveBack {
    Change(Change),
    /// These have to come together first.
    Colocate([PartitionId; 2]),
}

impl HotPartitions {
    fn busy(&self, replica: Replica, now: Instant) -> Option<u64> {
        let (at, load) = self.reported.get(&replica)?;
        (now - *at < KNOWN_FOR).then_some(u64::from(load.busy))
    }

    /// What a partition takes of a brick, in thousandths of a core.
    fn load(&self, replica: Replica, partition: PartitionId) -> u64 {
        let reported = self.reported.get(&replica);
        let found = reported.and_then(|(_, load)| {
            let mut all = load.partitions.iter();
            all.find(|it| it.partition == partition)
        });
        found.map_or(0, |it| u64::from(it.load))
    }

    /// Whether the balance leaves a partition's primary where it is.
    pub(super) fn is_placed(&self, partition: PartitionId) -> bool {
        self.placed.contains_key(&partition)
    }

    /// How busy a brick is, for a choice of one with room; one that has not reported it comes last.
    pub(super) fn rank(&self, replica: Replica, now: Instant) -> u64 {
        self.busy(replica, now).unwrap_or(1_000)
    }

    /// A brick reports how busy it is.
    pub(super) fn on_load(
        &mut self,
        now: Instant,
        catalog: &Catalog,
        report: LoadReport,
        config: &ControlConfig,
    ) {
        if config.hot.busy > 0 && catalog.is_current(report.replica) {
            self.reported.insert(report.replica, (now, report.load));
        }
    }

    /// Forgets what is over, and notes which bricks are too busy.
    pub(super) fn maintain(&mut self, now: Instant, catalog: &Catalog, config: &ControlConfig) {
        if config.hot.busy == 0 {
            return;
        }
        self.forget(now, catalog, config.hot_step());
        let bound = u64::from(config.hot.busy) * 10;
        for (replica, (at, load)) in &self.reported {
            let is_news = now - *at < NEWS_FOR;
            if is_news && u64::from(load.busy) >= bound {
                self.busy_since.entry(*replica).or_insert(now);
            } else {
                self.busy_since.remove(replica);
            }
        }
        self.check();
    }

    fn forget(&mut self, now: Instant, catalog: &Catalog, step: u64) {
        self.reported
            .retain(|replica, _| catalog.is_current(*replica));
        self.busy_since
            .retain(|replica, _| catalog.is_current(*replica));
        let reported = &self.reported;
        let is_hot = |partition: &PartitionId| {
            let mut all = reported.values().flat_map(|(_, load)| &load.partitions);
            all.any(|it| it.partition == *partition && u64::from(it.load) >= step)
        };
        self.placed
            .retain(|partition, until| now < *until || is_hot(partition));
        self.useless.retain(|_, until| now < *until);
    }

    /// Whether the effect of the last remedy can be seen, so that it is time for the next.
    pub(super) fn is_settled(&self, now: Instant, config: &ControlConfig) -> bool {
        let relieved = self.relieved_at;
        relieved.is_none_or(|at| now - at >= config.hot_pause())
    }

    /// A remedy was chosen.
    pub(super) const fn on_relieved(&mut self, now: Instant) {
        self.relieved_at = Some(now);
    }

    fn check(&self) {
        for replica in self.busy_since.keys() {
            assert!(
                self.reported.contains_key(replica),
                "{replica} is too busy, and never reported it"
            );
        }
    }
}

/// Remedies.
impl HotPartitions {
    /// What helps the busiest brick that can be helped.
    pub(super) fn relieve_busiest(
        &mut self,
        catalog: &Catalog,
        view: &LivenessView,
        requests: &Requests,
        config: &ControlConfig,
    ) -> Option<Change> {
        let now = view.now();
        let pause = config.hot_pause();
        let since = self.busy_since.iter();
        let is_long = |since: &Instant| now - *since >= pause;
        let mut busy: Vec<Replica> = since
            .filter(|(_, since)| is_long(since))
            .map(|(replica, _)| *replica)
            .collect();
        busy.sort_by_key(|replica| std::cmp::Reverse(self.busy(*replica, now)));
        busy.into_iter().find_map(|replica| {
            let hot = self.hottest(replica, catalog, view);
            self.hand_off(replica, &hot, view, config)
                .or_else(|| self.split_hot(now, replica, &hot))
                .or_else(|| {
                    let hot = self.dominant(now, replica, &hot)?;
                    let busy = self.busy(replica, now)?;
                    self.lend(&hot, busy, catalog, view, requests, config)
                })
        })
    }

    /// The partitions that take a brick's time, as far as they are stable: most first.
    fn hottest<'a>(
        &self,
        replica: Replica,
        catalog: &'a Catalog,
        view: &LivenessView,
    ) -> Vec<Hot<'a>> {
        let Some((_, reported)) = self.reported.get(&replica) else {
            return Vec::new();
        };
        let find = |load: &PartitionLoad| {
            let mut tables = catalog.tables().filter(|it| it.is_online());
            tables.find_map(|table| {
                let map = table.map.partitions();
                let leaf = map.leaves().get(map.index_of(load.partition)?)?;
                let group = table.map.group(load.partition)?;
                let is_ready = is_stable(catalog, view, load.partition, group)
                    && catalog.split_of(load.partition).is_none();
                is_ready.then_some(Hot {
                    table,
                    partition: load.partition,
                    group,
                    depth: leaf.prefix.depth(),
                    load: *load,
                })
            })
        };
        reported.partitions.iter().filter_map(find).collect()
    }

    /// Lets another member lead a partition, where that makes the busier one of the two bricks less busy.
    fn hand_off(
        &mut self,
        replica: Replica,
        hot: &[Hot<'_>],
        view: &LivenessView,
        config: &ControlConfig,
    ) -> Option<Change> {
        let now = view.now();
        let busy = self.busy(replica, now)?;
        let step = config.hot_step();
        let mut best: Option<((u64, PartitionId, Replica), &Hot<'_>)> = None;
        for it in hot.iter().filter(|it| it.group.primary == replica) {
            let takes = u64::from(it.load.load);
            let others = it.group.backups.iter().copied();
            for to in others.filter(|to| takes >= step && !view.is_leaving(to.member.node)) {
                let Some(has) = self.busy(to, now) else {
                    continue;
                };
                // What it does for the partition as a backup goes the other way.
                let follows = self.load(to, it.partition).min(has);
                let after = (has - follows + takes).max(busy.saturating_sub(takes) + follows);
                let rank = (after, it.partition, to);
                let is_better = best.is_none_or(|(former, _)| rank < former);
                if after + step <= busy && is_better {
                    best = Some((rank, it));
                }
            }
        }
        let ((_, _, to), hot) = best?;
        let others = hot.group.in_sync().filter(|it| *it != to);
        let ordered: Vec<Replica> = std::iter::once(to).chain(others).collect();
        assert_ne!(
            to, replica,
            "a partition is handed over to the brick that leads it"
        );
        let proposal = Proposal::of(hot.table.id, hot.partition, hot.group, &ordered);
        let until = now + config.hot.cool;
        self.placed.insert(hot.partition, until);
        Some(Change::Decide(Decisions {
            proposals: vec![proposal],
            ..Decisions::default()
        }))
    }

    /// The partition that takes most of what its brick is busy.
    fn dominant<'a>(&self, now: Instant, replica: Replica, hot: &[Hot<'a>]) -> Option<Hot<'a>> {
        let busy = self.busy(replica, now)?;
        let first = hot.first()?;
        (u64::from(first.load.load) * 1_000 >= busy * HOT_SHARE).then_some(*first)
    }

    /// Splits the partition that takes most of what its brick is busy, if its load is of many slots.
    fn split_hot(&self, now: Instant, replica: Replica, hot: &[Hot<'_>]) -> Option<Change> {
        let hot = self.dominant(now, replica, hot)?;
        let depth_max = hot.table.map.hasher().hasher().split_depth_max();
        let is_useful = !hot.load.is_narrow && hot.depth < depth_max;
        is_useful.then(|| {
            Change::Divide(Divide {
                cause: Cause::Load,
                partitions: vec![(hot.table.id, hot.partition)],
            })
        })
    }

    /// Lets a partition that is read have a copy more, on a brick with room. `busy`: what the brick is that leads it, in
    /// thousandths.
    fn lend(
        &self,
        hot: &Hot<'_>,
        busy: u64,
        catalog: &Catalog,
        view: &LivenessView,
        requests: &Requests,
        config: &ControlConfig,
    ) -> Option<Change> {
        let partition = hot.partition;
        let copies = catalog.extra(partition);
        let most = config.hot.replicas.min(EXTRA_COPIES_MAX);
        let is_written = u64::from(hot.load.writes) > WRITES_MAX;
        let may = copies < most && !is_written && !self.useless.contains_key(&partition);
        let is_full = copies == 0 && catalog.extras().len() >= EXTRAS_MAX;
        if !may || is_full || (copies > 0 && !self.is_spread(hot.group, partition)) {
            return None;
        }
        let has_room = |to: Replica| {
            let mut in_sync = hot.group.in_sync();
            let is_apart = in_sync.all(|it| it.member.node != to.member.node);
            let has = self.busy(to, view.now());
            is_apart
                && hot.table.layout.admits(to.member.node)
                && view.is_leased(to)
                && !view.is_leaving(to.member.node)
                && !requests.is_barred(partition, to.member)
                && has.is_some_and(|has| has + config.hot_step() <= busy)
        };
        assert!(
            copies < EXTRA_COPIES_MAX,
            "{partition} has {copies} extra copies"
        );
        let candidates = catalog.candidates();
        candidates.iter().any(|it| has_room(it.replica)).then(|| {
            Change::SetExtras(vec![Extra {
                table: hot.table.id,
                partition,
                copies: copies + 1,
            }])
        })
    }

    /// Whether a partition's backups take some of its load.
    fn is_spread(&self, group: &Group, partition: PartitionId) -> bool {
        let load = |replica: Replica| self.load(replica, partition);
        let total: u64 = group.in_sync().map(load).sum();
        let led = load(group.primary);
        (total - led) * 1_000 >= total * USED_FROM
    }

    /// Gives back what has not been needed for a while: a copy more, or halves of a partition that is hot no more. What was
    /// lent before it was turned off (`hot.busy` 0) is given back at once.
    pub(super) fn give_back(
        &mut self,
        catalog: &Catalog,
        view: &LivenessView,
        colocation: &Colocation,
        config: &ControlConfig,
    ) -> Option<GiveBack> {
        let now = view.now();
        let is_off = config.hot.busy == 0;
        let mut spare = self.spare_copies(catalog, config);
        if !catalog.is_paused() {
            spare.extend(self.cool_halves(catalog, view, colocation, config));
        }
        self.cool_since
            .retain(|it, _| spare.iter().any(|spare| spare.partition == *it));
        for it in &spare {
            self.cool_since.entry(it.partition).or_insert(now);
        }
        let since = &self.cool_since;
        let is_due = |it: &Spare| {
            let since = since.get(&it.partition).copied().unwrap_or(now);
            is_off || now - since >= config.hot.cool
        };
        let due = spare.into_iter().find(is_due)?;
        self.cool_since.remove(&due.partition);
        if !due.was_used {
            let until = now + config.hot.cool * TRIED_AGAIN;
            self.useless.insert(due.partition, until);
        }
        Some(due.way)
    }

    /// Copies more that are not needed at the moment.
    fn spare_copies(&self, catalog: &Catalog, config: &ControlConfig) -> Vec<Spare> {
        let spare = catalog.extras().filter_map(|(partition, copies)| {
            let mut tables = catalog.tables();
            let table = tables.find(|table| table.map.group(partition).is_some())?;
            let group = table.map.group(partition)?;
            let was_used = self.is_spread(group, partition);
            assert!(copies > 0, "{partition} has an extra of no copies");
            let is_off = config.hot.busy == 0;
            let is_many = copies > config.hot.replicas;
            let is_spare = is_off || is_many || !was_used || self.is_cool(group, partition, config);
            let extra = Extra {
                table: table.id,
                partition,
                copies: copies - 1,
            };
            is_spare.then(|| Spare {
                partition,
                way: GiveBack::Change(Change::SetExtras(vec![extra])),
                was_used,
            })
        });
        spare.collect()
    }

    /// Halves that load was the reason of, and that could be one at the moment.
    fn cool_halves(
        &self,
        catalog: &Catalog,
        view: &LivenessView,
        colocation: &Colocation,
        config: &ControlConfig,
    ) -> Vec<Spare> {
        let tables = catalog.tables().filter(|it| it.is_online());
        let halves = tables.flat_map(|table| {
            let siblings = catalog.hot_siblings(table.id);
            siblings.into_iter().map(move |siblings| (table, siblings))
        });
        let cool = halves.filter_map(|(table, [left, right])| {
            let (a, b) = (table.map.group(left)?, table.map.group(right)?);
            let load = |(partition, group): (PartitionId, &Group)| -> u64 {
                let replicas = group.in_sync();
                replicas.map(|replica| self.load(replica, partition)).sum()
            };
            let is_cool = load((left, a)) + load((right, b)) <= config.cool_below();
            let is_still = |(partition, group)| {
                is_stable(catalog, view, partition, group) && catalog.split_of(partition).is_none()
            };
            let may = is_still((left, a)) && is_still((right, b));
            let way = if table.are_together([left, right]) {
                GiveBack::Change(Change::MergePartitions {
                    table: table.name.clone(),
                    partition: left,
                })
            } else {
                GiveBack::Colocate([left, right])
            };
            let is_new = matches!(way, GiveBack::Change(_)) || colocation.may_begin(left);
            (is_cool && may && is_new).then_some(Spare {
                partition: left,
                way,
                was_used: true,
            })
        });
        cool.collect()
    }

    /// Whether a partition's load would make no brick busy if one copy less took it.
    fn is_cool(&self, group: &Group, partition: PartitionId, config: &ControlConfig) -> bool {
        let load = |replica: Replica| self.load(replica, partition);
        let total: u64 = group.in_sync().map(load).sum();
        let left = group.in_sync().count().saturating_sub(1).max(1) as u64;
        total / left <= config.cool_below()
    }
}

#[cfg(test)]
#[path = "hot_test.rs"]
mod hot_test;
