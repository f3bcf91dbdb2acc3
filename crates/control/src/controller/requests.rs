//! What primaries ask for: the promotion of a learner, the eviction of a backup or of themselves, the end of a split or merge.
//!
//! Only a view answers them: the primary goes on to require a promoted learner's vote until there is one
//! (rule `learner votes before promotion`), so a promotion that cannot be is answered by a view that leaves all as it
//! is.
//!
//! A primary may have adopted a catalog that this leader has not: others have stored it, and the own disk is slow. What it
//! asks then is kept until that catalog is here. It would be asked again only after a while, for which writes wait.

use super::case::Case;
use super::holdings::Holdings;
use super::placement::Placement;
use super::proposals::{propose, with_members};
use crate::config::ControlConfig;
use crate::message::{EvictAsk, PromoteAsk, RestAsk, SplitAsk};
use brickyard_metadata::{Catalog, CatalogVersion, Ground, Proposal, Rest, SplitReady};
use brickyard_routing::{Group, Member, Replica};
use brickyard_types::{Instant, PartitionId, TableId, View};
use std::collections::BTreeMap;
use std::time::Duration;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    promotions: BTreeMap<PartitionId, PromoteAsk>,
    evictions: BTreeMap<PartitionId, EvictAsk>,
    splits: BTreeMap<PartitionId, SplitAsk>,
    rests: BTreeMap<PartitionId, RestAsk>,
    /// Members that were evicted as too slow.
    barred: BTreeMap<(PartitionId, Member), Barred>,
    /// When that was looked at last.
    now: Instant,
}

/// A member that was evicted.
#[derive(Clone, Copy, Debug)]
struct Barred {
    /// It may not learn before.
    until: Instant,
    /// For how long that was: twice as long if it is evicted again soon after.
    pause: Duration,
}

/// A pause is at most so many times the first one: a minute. A copy that is missing for longer is the greater danger.
const PAUSES_MAX: u32 = 6;

/// What a request is by a catalog; of several results the least counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Admission {
    /// Of a view, or of an intent, that is over; by a brick that does not lead there; or of an unknown partition,
    /// so that no more is kept than there are partitions.
    Stale,
    /// Of a view, or of an intent, that the catalog does not have yet.
    Early,
    Current,
}

impl Requests {
    pub(super) fn promote(&mut self, catalog: &Catalog, ask: PromoteAsk) {
        if of_promotion(catalog, &ask) != Admission::Stale {
            self.promotions.insert(ask.partition, ask);
        }
    }

    pub(super) fn evict(&mut self, catalog: &Catalog, ask: EvictAsk) {
        if of_eviction(catalog, &ask) == Admission::Stale {
            return;
        }
        // That one is waited for less: the other is asked for again.
        let before = self.eviction(catalog, ask.partition);
        if !before.is_some_and(|it| it.has_withdrawn && it.view == ask.view) {
            self.evictions.insert(ask.partition, ask);
        }
    }

    pub(super) fn split(&mut self, catalog: &Catalog, ask: SplitAsk) {
        if of_split(catalog, &ask) != Admission::Stale {
            self.splits.insert(ask.ready.partition, ask);
        }
    }

    pub(super) fn rest(&mut self, catalog: &Catalog, ask: RestAsk) {
        if of_rest(catalog, &ask) != Admission::Stale {
            self.rests.insert(ask.rest.partition, ask);
        }
    }

    /// Whether its primary asks for anything.
    pub(super) fn has_any(&self, partition: PartitionId) -> bool {
        self.promotions.contains_key(&partition)
            || self.evictions.contains_key(&partition)
            || self.splits.contains_key(&partition)
            || self.rests.contains_key(&partition)
    }

    fn promotion(&self, catalog: &Catalog, partition: PartitionId) -> Option<PromoteAsk> {
        let ask = self.promotions.get(&partition);
        ask.filter(|it| of_promotion(catalog, it) == Admission::Current)
            .copied()
    }

    fn eviction(&self, catalog: &Catalog, partition: PartitionId) -> Option<EvictAsk> {
        let ask = self.evictions.get(&partition);
        ask.filter(|it| of_eviction(catalog, it) == Admission::Current)
            .copied()
    }

    /// What the primary of two siblings has reported of both, if both are quiesced.
    pub(super) fn quiesced(
        &self,
        catalog: &Catalog,
        siblings: [PartitionId; 2],
    ) -> Option<[Rest; 2]> {
        let rest = |partition| {
            let ask = self.rests.get(&partition);
            let ask = ask.filter(|it| of_rest(catalog, it) == Admission::Current)?;
            Some(ask.rest)
        };
        assert_ne!(siblings[0], siblings[1], "siblings are two");
        let [left, right] = siblings.map(rest);
        Some([left?, right?])
    }

    /// What the primary of a partition under a split has reported of it, if it is ready.
    pub(super) fn ready(&self, catalog: &Catalog, partition: PartitionId) -> Option<SplitReady> {
        let ask = self.splits.get(&partition);
        let ask = ask.filter(|it| of_split(catalog, it) == Admission::Current)?;
        assert_eq!(ask.ready.partition, partition, "kept by its partition");
        Some(ask.ready)
    }

    /// Whether a partition's primary asks to go: its log is damaged, and it cannot copy what it holds.
    pub(super) fn cannot_be_copied(&self, catalog: &Catalog, partition: PartitionId) -> bool {
        let ask = self.eviction(catalog, partition);
        ask.is_some_and(|it| it.backup == it.primary && !it.has_withdrawn)
    }

    /// Whether a member certainly does nothing in the view in effect any more, by the word of that view's primary (rule
    /// `a withdrawn member is fenced`). It does nothing in one that is proposed, since none acts on that.
    pub(super) fn has_withdrawn(&self, case: &Case<'_>, replica: Replica) -> bool {
        let ask = self.eviction(case.catalog, case.partition);
        ask.is_some_and(|it| it.has_withdrawn && it.backup == replica)
    }

    /// The groups of partitions that cannot be copied.
    pub(super) fn uncopyable_groups<'a>(
        &'a self,
        catalog: &'a Catalog,
    ) -> impl Iterator<Item = &'a Group> {
        let asks = self.evictions.values();
        let asks = asks.filter(|it| self.cannot_be_copied(catalog, it.partition));
        asks.filter_map(|it| catalog.table_by_id(it.table)?.map.group(it.partition))
    }

    /// Forgets what was asked in views that are over: the newer one is the answer.
    pub(super) fn forget(&mut self, catalog: &Catalog) {
        let is_open = |admission: Admission| admission != Admission::Stale;
        self.promotions
            .retain(|_, it| is_open(of_promotion(catalog, it)));
        self.evictions
            .retain(|_, it| is_open(of_eviction(catalog, it)));
        self.splits.retain(|_, it| is_open(of_split(catalog, it)));
        self.rests.retain(|_, it| is_open(of_rest(catalog, it)));
    }
}

fn of_promotion(catalog: &Catalog, ask: &PromoteAsk) -> Admission {
    of_view(catalog, ask.table, ask.partition, (ask.view, ask.primary))
}

fn of_eviction(catalog: &Catalog, ask: &EvictAsk) -> Admission {
    of_view(catalog, ask.table, ask.partition, (ask.view, ask.primary))
}

/// What the answer to the intent to split is.
fn of_split(catalog: &Catalog, ask: &SplitAsk) -> Admission {
    let SplitReady {
        table,
        partition,
        view,
        begun_at,
    } = ask.ready;
    let split = catalog.split_of(partition);
    let is_it = split.is_some_and(|split| split.begun_at == begun_at && split.view == view);
    of_intent(catalog, begun_at, is_it).min(of_view(catalog, table, partition, (view, ask.primary)))
}

/// What the answer to the intent to merge is.
fn of_rest(catalog: &Catalog, ask: &RestAsk) -> Admission {
    let Rest {
        table,
        partition,
        view,
        begun_at,
        ..
    } = ask.rest;
    let is_it = catalog.merge_of(partition).is_some()
        && catalog.rest_of(partition) == Some((view, begun_at));
    of_intent(catalog, begun_at, is_it).min(of_view(catalog, table, partition, (view, ask.primary)))
}

/// What an answer to an intent is, by any brick.
fn of_intent(catalog: &Catalog, begun_at: CatalogVersion, is_under_way: bool) -> Admission {
    if begun_at > catalog.version() {
        Admission::Early
    } else if is_under_way {
        Admission::Current
    } else {
        Admission::Stale
    }
}

/// What something is that the primary of a view asks.
fn of_view(
    catalog: &Catalog,
    table: TableId,
    partition: PartitionId,
    (view, primary): (View, Replica),
) -> Admission {
    let table = catalog.table_by_id(table);
    let Some(group) = table.and_then(|table| table.map.group(partition)) else {
        return Admission::Stale;
    };
    // Rule `learner votes before promotion`: only the primary asks, and for the view that it is in.
    if group.view == view && group.primary == primary {
        Admission::Current
    } else if group.view < view {
        Admission::Early
    } else {
        Admission::Stale
    }
}

/// The answers.
impl Requests {
    /// The view that answers what a partition's primary asks for, if it asks for anything.
    pub(super) fn answer(
        &mut self,
        case: &Case<'_>,
        placement: &Placement,
        config: &ControlConfig,
        holdings: &mut Holdings,
    ) -> Option<Proposal> {
        let partition = case.partition;
        if let Some(ask) = self.eviction(case.catalog, partition)
            && let Some(proposal) = self.answer_eviction(case, config, holdings, ask.backup)
        {
            return Some(proposal);
        }
        let ask = self.promotion(case.catalog, partition)?;
        Some(answer_promotion(case, placement, holdings, ask.learner))
    }

    /// The view without a member that holds up writes. The primary itself asks to go when its log is damaged; without
    /// others it stays.
    fn answer_eviction(
        &mut self,
        case: &Case<'_>,
        config: &ControlConfig,
        holdings: &mut Holdings,
        out: Replica,
    ) -> Option<Proposal> {
        let mut left: Vec<Replica> = case.group.in_sync().collect();
        left.retain(|replica| *replica != out);
        if left.is_empty() {
            return None;
        }
        if case.view.is_live(out) {
            self.bar(case, config, out.member);
        }
        // One that is not in sync is a learner whose promotion was asked for: another leader may have heard of that, and
        // it may be listed no more. Its vote is required until a view decides about it (rule
        // `learner votes before promotion`).
        let mut proposal = with_members(case, holdings, &left);
        proposal.learners.retain(|replica| *replica != out);
        assert!(
            proposal.in_sync().all(|replica| replica != out),
            "{out} was evicted"
        );
        Some(proposal)
    }

    /// It does not learn for a while, and for longer each time that this was not long enough.
    fn bar(&mut self, case: &Case<'_>, config: &ControlConfig, member: Member) {
        let (now, first) = (case.now(), config.evict_pause);
        let before = self.barred.get(&(case.partition, member));
        let pause = match before {
            // The view that answers is under way.
            Some(barred) if now < barred.until => barred.pause,
            Some(barred) => (barred.pause * 2).min(first * PAUSES_MAX),
            None => first,
        };
        let until = now + pause;
        self.barred
            .insert((case.partition, member), Barred { until, pause });
    }

    /// Forgets members that have not been evicted for as long again as they were barred.
    pub(super) fn expire(&mut self, now: Instant) {
        self.now = now;
        self.barred.retain(|_, it| now < it.until + it.pause);
    }

    /// Whether a member was evicted a short while ago, so that it may not learn the partition yet.
    pub(super) fn is_barred(&self, partition: PartitionId, member: Member) -> bool {
        let barred = self.barred.get(&(partition, member));
        barred.is_some_and(|it| self.now < it.until)
    }
}

/// The view in which a learner is in-sync; or, if that cannot be, one that leaves all as it is without the learner.
fn answer_promotion(
    case: &Case<'_>,
    placement: &Placement,
    holdings: &mut Holdings,
    learner: Replica,
) -> Proposal {
    let mut in_sync: Vec<Replica> = case.group.in_sync().collect();
    let is_learner = case.group.learners.contains(&learner);
    // Rule `members name an incarnation`: a learner that restarted is not the one that caught up.
    let is_there = case.view.is_live(learner);
    if !is_learner || !is_there || !placement.has_place(case, learner) {
        let mut proposal = with_members(case, holdings, &in_sync);
        proposal.learners.retain(|replica| *replica != learner);
        return proposal;
    }
    in_sync.push(learner);
    let mut proposal = propose(case, &in_sync);
    proposal.ground = Ground::Promotion;
    proposal
        .learners
        .retain(|replica| *replica != learner && case.view.is_live(*replica));
    assert_eq!(
        proposal.primary, case.group.primary,
        "a promotion changes no primary"
    );
    proposal
}

#[cfg(test)]
#[path = "requests_test.rs"]
mod requests_test;
