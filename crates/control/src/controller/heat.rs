//! Hot partitions: what takes most of a busy brick's time goes elsewhere, is split, or is read from more bricks; and is given
//! back.
//!
//! In:  what bricks say of their load. Out: one remedy at a time, the cheapest that helps:
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

use super::Controller;
use super::group::Findings;
use super::load::Load;
use crate::message::LoadReport;
use brickyard_metadata::{
    BrickLoad, Catalog, Cause, Change, Decisions, Divide, EXTRA_COPIES_MAX, EXTRAS_MAX, Extra,
    PartitionLoad, Proposal, SPLIT_DEPTH_MAX, Table,
};
use brickyard_routing::{Group, Seat};
use brickyard_types::{Instant, PartitionId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A brick that says nothing for so long may be as busy as any.
const KNOWN_FOR: Duration = Duration::from_secs(30);

/// What a busy brick said counts for so long.
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
pub(super) struct Heat {
    told: BTreeMap<Seat, (Instant, BrickLoad)>,
    /// Since when bricks are too busy.
    busy_since: BTreeMap<Seat, Instant>,
    /// Since when copies more, and halves that load was the reason of, are not needed.
    cool_since: BTreeMap<PartitionId, Instant>,
    /// Partitions whose primaries are where load put them, and until when evenness leaves them there.
    placed: BTreeMap<PartitionId, Instant>,
    /// Partitions for which a copy more was of no use, and until when none is made.
    spurned: BTreeMap<PartitionId, Instant>,
    relieved: Option<Instant>,
}

/// Who takes time of whom.
#[derive(Clone, Copy, Debug)]
struct Hot<'a> {
    table: &'a Table,
    partition: PartitionId,
    group: &'a Group,
    depth: u8,
    load: PartitionLoad,
}

/// Something that may be given back.
#[derive(Debug)]
struct Spare {
    partition: PartitionId,
    way: Way,
    /// It was of use.
    was_used: bool,
}

/// How something is given back.
#[derive(Debug)]
enum Way {
    Change(Change),
    /// These have to come together first.
    Gather([PartitionId; 2]),
}

impl Heat {
    fn busy(&self, seat: Seat, now: Instant) -> Option<u64> {
        let (at, load) = self.told.get(&seat)?;
        (now - *at < KNOWN_FOR).then_some(u64::from(load.busy))
    }

    /// What a partition takes of a brick, in thousandths of a core.
    fn load(&self, seat: Seat, partition: PartitionId) -> u64 {
        let told = self.told.get(&seat);
        let found = told.and_then(|(_, load)| {
            let mut all = load.partitions.iter();
            all.find(|it| it.partition == partition)
        });
        found.map_or(0, |it| u64::from(it.load))
    }

    /// Whether evenness is to leave a partition's primary where it is.
    pub(super) fn is_placed(&self, partition: PartitionId) -> bool {
        self.placed.contains_key(&partition)
    }

    /// How busy a brick is, for whoever looks for one with room; one that has not said so comes last.
    pub(super) fn rank(&self, seat: Seat, now: Instant) -> u64 {
        self.busy(seat, now).unwrap_or(1_000)
    }

    fn forget(&mut self, catalog: &Catalog, now: Instant, step: u64) {
        self.told.retain(|seat, _| catalog.is_current(*seat));
        self.busy_since.retain(|seat, _| catalog.is_current(*seat));
        let told = &self.told;
        let is_hot = |partition: &PartitionId| {
            let mut all = told.values().flat_map(|(_, load)| &load.partitions);
            all.any(|it| it.partition == *partition && u64::from(it.load) >= step)
        };
        self.placed
            .retain(|partition, until| now < *until || is_hot(partition));
        self.spurned.retain(|_, until| now < *until);
    }
}

impl Controller {
    /// A brick says how busy it is.
    pub fn on_load(&mut self, now: Instant, report: LoadReport) {
        if self.config.hot_busy > 0 && self.catalog.is_current(report.seat) {
            self.heat.told.insert(report.seat, (now, report.load));
        }
    }

    /// The next remedy, if one is needed and it is time.
    pub(super) fn relieve(
        &mut self,
        now: Instant,
        findings: &Findings,
        load: &mut Load,
    ) -> Option<Change> {
        if self.config.hot_busy == 0 {
            // What was lent before it was turned off is given back all the same.
            return self.give_back(now, true);
        }
        let catalog = Arc::clone(&self.catalog);
        self.heat.forget(&catalog, now, self.config.hot_step());
        self.note_busy(now);
        let is_time = !findings.is_impaired && self.draining.is_empty();
        let is_settled = self
            .heat
            .relieved
            .is_none_or(|at| now - at >= self.config.hot_pause());
        if !is_time || !is_settled {
            return None;
        }
        let change = self.give_back(now, false);
        let change = change.or_else(|| {
            let may_move = !catalog.is_paused();
            may_move.then(|| self.relieve_busiest(now, &catalog, load))?
        });
        if change.is_some() {
            self.heat.relieved = Some(now);
        }
        change
    }

    fn note_busy(&mut self, now: Instant) {
        let bound = u64::from(self.config.hot_busy) * 10;
        for (seat, (at, load)) in &self.heat.told {
            let is_news = now - *at < NEWS_FOR;
            if is_news && u64::from(load.busy) >= bound {
                self.heat.busy_since.entry(*seat).or_insert(now);
            } else {
                self.heat.busy_since.remove(seat);
            }
        }
    }

    /// What helps the busiest brick that can be helped.
    fn relieve_busiest(
        &mut self,
        now: Instant,
        catalog: &Catalog,
        load: &mut Load,
    ) -> Option<Change> {
        let pause = self.config.hot_pause();
        let since = self.heat.busy_since.iter();
        let is_long = |since: &Instant| now - *since >= pause;
        let mut busy: Vec<Seat> = since
            .filter(|(_, since)| is_long(since))
            .map(|(seat, _)| *seat)
            .collect();
        busy.sort_by_key(|seat| std::cmp::Reverse(self.heat.busy(*seat, now)));
        busy.into_iter().find_map(|seat| {
            let hot = self.hottest(seat, catalog);
            self.hand_off(now, seat, &hot, load)
                .or_else(|| self.split_hot(now, seat, &hot))
                .or_else(|| self.lend(now, seat, &hot))
        })
    }

    /// The partitions that take a brick's time, as far as they are at rest: most first.
    fn hottest<'a>(&self, seat: Seat, catalog: &'a Catalog) -> Vec<Hot<'a>> {
        let Some((_, told)) = self.heat.told.get(&seat) else {
            return Vec::new();
        };
        let find = |load: &PartitionLoad| {
            let mut tables = catalog.tables().filter(|it| it.is_online());
            tables.find_map(|table| {
                let map = table.map.partitions();
                let leaf = map.leaves().get(map.index_of(load.partition)?)?;
                let group = table.map.group(load.partition)?;
                let is_still = self.is_at_rest(load.partition, group)
                    && catalog.split_of(load.partition).is_none();
                is_still.then_some(Hot {
                    table,
                    partition: load.partition,
                    group,
                    depth: leaf.prefix.depth(),
                    load: *load,
                })
            })
        };
        told.partitions.iter().filter_map(find).collect()
    }

    /// Lets another member lead a partition, where that makes the busier one of the two bricks less busy.
    fn hand_off(
        &mut self,
        now: Instant,
        seat: Seat,
        hot: &[Hot<'_>],
        load: &mut Load,
    ) -> Option<Change> {
        let busy = self.heat.busy(seat, now)?;
        let step = self.config.hot_step();
        let mut best: Option<((u64, PartitionId, Seat), &Hot<'_>)> = None;
        for it in hot.iter().filter(|it| it.group.primary == seat) {
            let takes = u64::from(it.load.load);
            let others = it.group.backups.iter().copied();
            for to in others.filter(|to| takes >= step && !self.is_leaving(to.member.node)) {
                let Some(has) = self.heat.busy(to, now) else {
                    continue;
                };
                // What it does for the partition as a backup goes the other way.
                let follows = self.heat.load(to, it.partition).min(has);
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
        let ordered: Vec<Seat> = std::iter::once(to).chain(others).collect();
        load.hand_over(hot.table.id, seat.member, to.member);
        let proposal = Proposal::of(hot.table.id, hot.partition, hot.group, &ordered);
        let until = now + self.config.hot_cool;
        self.heat.placed.insert(hot.partition, until);
        Some(Change::Decide(Decisions {
            proposals: vec![proposal],
            ..Decisions::default()
        }))
    }

    /// The partition that takes most of what its brick is busy.
    fn dominant<'a>(&self, now: Instant, seat: Seat, hot: &[Hot<'a>]) -> Option<Hot<'a>> {
        let busy = self.heat.busy(seat, now)?;
        let first = hot.first()?;
        (u64::from(first.load.load) * 1_000 >= busy * HOT_SHARE).then_some(*first)
    }

    /// Splits the partition that takes most of what its brick is busy, if its load is of many slots.
    fn split_hot(&self, now: Instant, seat: Seat, hot: &[Hot<'_>]) -> Option<Change> {
        let hot = self.dominant(now, seat, hot)?;
        let is_useful = !hot.load.is_narrow && hot.depth < SPLIT_DEPTH_MAX;
        is_useful.then(|| {
            Change::Divide(Divide {
                cause: Cause::Load,
                partitions: vec![(hot.table.id, hot.partition)],
            })
        })
    }

    /// Lets a partition that is read have a copy more, on a brick with room.
    fn lend(&self, now: Instant, seat: Seat, hot: &[Hot<'_>]) -> Option<Change> {
        let hot = self.dominant(now, seat, hot)?;
        let partition = hot.partition;
        let copies = self.catalog.extra(partition);
        let most = self.config.hot_replicas.min(EXTRA_COPIES_MAX);
        let is_written = u64::from(hot.load.writes) > WRITES_MAX;
        let may = copies < most && !is_written && !self.heat.spurned.contains_key(&partition);
        let is_full = copies == 0 && self.catalog.extras().len() >= EXTRAS_MAX;
        if !may || is_full || (copies > 0 && !self.is_spread(hot.group, partition)) {
            return None;
        }
        let busy = self.heat.busy(seat, now)?;
        let has_room = |to: Seat| {
            let is_apart = hot
                .group
                .in_sync()
                .all(|it| it.member.node != to.member.node);
            let has = self.heat.busy(to, now);
            is_apart
                && hot.table.layout.admits(to.member.node)
                && self.is_up(to, now)
                && !self.is_leaving(to.member.node)
                && !self.barred.contains_key(&(partition, to.member))
                && has.is_some_and(|has| has + self.config.hot_step() <= busy)
        };
        let candidates = self.catalog.candidates();
        candidates.iter().any(|it| has_room(it.seat)).then(|| {
            Change::SetExtras(vec![Extra {
                table: hot.table.id,
                partition,
                copies: copies + 1,
            }])
        })
    }

    /// Whether a partition's backups take some of its load.
    fn is_spread(&self, group: &Group, partition: PartitionId) -> bool {
        let load = |seat: Seat| self.heat.load(seat, partition);
        let total: u64 = group.in_sync().map(load).sum();
        let led = load(group.primary);
        (total - led) * 1_000 >= total * USED_FROM
    }

    /// Gives back what has not been needed for a while: a copy more, or halves of a partition that is hot no more.
    fn give_back(&mut self, now: Instant, is_off: bool) -> Option<Change> {
        let catalog = Arc::clone(&self.catalog);
        let mut spare = self.spare_copies(&catalog, is_off);
        if !catalog.is_paused() {
            spare.extend(self.cool_halves(&catalog));
        }
        self.heat
            .cool_since
            .retain(|it, _| spare.iter().any(|spare| spare.partition == *it));
        for it in &spare {
            self.heat.cool_since.entry(it.partition).or_insert(now);
        }
        let since = &self.heat.cool_since;
        let is_due = |it: &Spare| {
            let since = since.get(&it.partition).copied().unwrap_or(now);
            is_off || now - since >= self.config.hot_cool
        };
        let due = spare.into_iter().find(is_due)?;
        self.heat.cool_since.remove(&due.partition);
        if !due.was_used {
            let until = now + self.config.hot_cool * TRIED_AGAIN;
            self.heat.spurned.insert(due.partition, until);
        }
        match due.way {
            Way::Change(change) => Some(change),
            Way::Gather(siblings) => {
                self.gather_cool(now, siblings);
                None
            }
        }
    }

    /// Copies more that are not needed at the moment.
    fn spare_copies(&self, catalog: &Catalog, is_off: bool) -> Vec<Spare> {
        let spare = catalog.extras().filter_map(|(partition, copies)| {
            let mut tables = catalog.tables();
            let table = tables.find(|table| table.map.group(partition).is_some())?;
            let group = table.map.group(partition)?;
            let was_used = self.is_spread(group, partition);
            let is_many = copies > self.config.hot_replicas;
            let is_spare = is_off || is_many || !was_used || self.is_cool(group, partition);
            let extra = Extra {
                table: table.id,
                partition,
                copies: copies - 1,
            };
            is_spare.then(|| Spare {
                partition,
                way: Way::Change(Change::SetExtras(vec![extra])),
                was_used,
            })
        });
        spare.collect()
    }

    /// Halves that load was the reason of, and that could be one at the moment.
    fn cool_halves(&self, catalog: &Catalog) -> Vec<Spare> {
        let tables = catalog.tables().filter(|it| it.is_online());
        let halves = tables.flat_map(|table| {
            let siblings = catalog.hot_siblings(table.id);
            siblings.into_iter().map(move |siblings| (table, siblings))
        });
        let cool = halves.filter_map(|(table, [left, right])| {
            let (a, b) = (table.map.group(left)?, table.map.group(right)?);
            let load = |(partition, group): (PartitionId, &Group)| -> u64 {
                let seats = group.in_sync();
                seats.map(|seat| self.heat.load(seat, partition)).sum()
            };
            let is_cool = load((left, a)) + load((right, b)) <= self.config.cool_below();
            let is_still = |(partition, group)| {
                self.is_at_rest(partition, group) && catalog.split_of(partition).is_none()
            };
            let may = is_still((left, a)) && is_still((right, b));
            let way = if table.are_together([left, right]) {
                Way::Change(Change::MergePartitions {
                    table: table.name.clone(),
                    partition: left,
                })
            } else {
                Way::Gather([left, right])
            };
            let is_new = matches!(way, Way::Change(_)) || self.may_begin_to_gather(left);
            (is_cool && may && is_new).then_some(Spare {
                partition: left,
                way,
                was_used: true,
            })
        });
        cool.collect()
    }

    /// Whether a partition's load would make nobody busy if one of its copies less took it.
    fn is_cool(&self, group: &Group, partition: PartitionId) -> bool {
        let load = |seat: Seat| self.heat.load(seat, partition);
        let total: u64 = group.in_sync().map(load).sum();
        let left = group.in_sync().count().saturating_sub(1).max(1) as u64;
        total / left <= self.config.cool_below()
    }
}

#[cfg(test)]
#[path = "heat_test.rs"]
mod heat_test;
