//! What primaries ask for: the promotion of a learner, the eviction of a backup or of themselves, the end of a split or merge.
//!
//! Only a view answers them: the primary goes on to require a promoted learner's vote until there is one
//! (PROTOCOL rule 4), so a promotion that cannot be is answered by a view that leaves all as it is.
//!
//! A primary may have adopted a catalog that this leader has not: others have stored it, and the own disk is slow. What it
//! asks then is kept until that catalog is here. It would be asked again only after a while, for which writes wait.

use super::Controller;
use super::group::Case;
use super::load::Load;
use crate::message::{EvictAsk, PromoteAsk, RestAsk, SplitAsk};
use brickyard_metadata::{Catalog, CatalogVersion, Ground, Proposal, Rest, SplitReady};
use brickyard_routing::{Group, Seat};
use brickyard_types::{PartitionId, TableId, View};
use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    promotions: BTreeMap<PartitionId, PromoteAsk>,
    evictions: BTreeMap<PartitionId, EvictAsk>,
    splits: BTreeMap<PartitionId, SplitAsk>,
    rests: BTreeMap<PartitionId, RestAsk>,
}

/// What something that was asked is to a catalog; of several that it has to be, the least counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// Of a view, or of an intent, that is over; by somebody who does not lead there; or of a partition that there is not,
    /// so that no more is kept than there are partitions.
    Over,
    /// Of a view, or of an intent, that the catalog does not have yet.
    Early,
    Present,
}

impl Requests {
    pub(super) fn promote(&mut self, catalog: &Catalog, ask: PromoteAsk) {
        if of_promotion(catalog, &ask) != Standing::Over {
            self.promotions.insert(ask.partition, ask);
        }
    }

    pub(super) fn evict(&mut self, catalog: &Catalog, ask: EvictAsk) {
        if of_eviction(catalog, &ask) != Standing::Over {
            self.evictions.insert(ask.partition, ask);
        }
    }

    pub(super) fn split(&mut self, catalog: &Catalog, ask: SplitAsk) {
        if of_split(catalog, &ask) != Standing::Over {
            self.splits.insert(ask.ready.partition, ask);
        }
    }

    pub(super) fn rest(&mut self, catalog: &Catalog, ask: RestAsk) {
        if of_rest(catalog, &ask) != Standing::Over {
            self.rests.insert(ask.rest.partition, ask);
        }
    }

    /// Whether its primary asks for anything.
    pub(super) fn is_any(&self, partition: PartitionId) -> bool {
        self.promotions.contains_key(&partition)
            || self.evictions.contains_key(&partition)
            || self.splits.contains_key(&partition)
            || self.rests.contains_key(&partition)
    }

    fn promotion(&self, catalog: &Catalog, partition: PartitionId) -> Option<PromoteAsk> {
        let ask = self.promotions.get(&partition);
        ask.filter(|it| of_promotion(catalog, it) == Standing::Present)
            .copied()
    }

    fn eviction(&self, catalog: &Catalog, partition: PartitionId) -> Option<EvictAsk> {
        let ask = self.evictions.get(&partition);
        ask.filter(|it| of_eviction(catalog, it) == Standing::Present)
            .copied()
    }

    /// What the primary of two siblings has said of both, if both are at rest.
    pub(super) fn at_rest(
        &self,
        catalog: &Catalog,
        siblings: [PartitionId; 2],
    ) -> Option<[Rest; 2]> {
        let rest = |partition| {
            let ask = self.rests.get(&partition);
            let ask = ask.filter(|it| of_rest(catalog, it) == Standing::Present)?;
            Some(ask.rest)
        };
        let [left, right] = siblings.map(rest);
        Some([left?, right?])
    }

    /// What the primary of a partition that is to be split has said of it, if it is ready.
    pub(super) fn ready(&self, catalog: &Catalog, partition: PartitionId) -> Option<SplitReady> {
        let ask = self.splits.get(&partition);
        let ask = ask.filter(|it| of_split(catalog, it) == Standing::Present)?;
        Some(ask.ready)
    }

    /// Whether a partition's primary asks to go: its log is damaged, and it cannot copy what it holds.
    pub(super) fn cannot_be_copied(&self, catalog: &Catalog, partition: PartitionId) -> bool {
        let ask = self.eviction(catalog, partition);
        ask.is_some_and(|it| it.backup == it.primary)
    }

    /// The groups of partitions that cannot be copied.
    pub(super) fn that_cannot_be_copied<'a>(
        &'a self,
        catalog: &'a Catalog,
    ) -> impl Iterator<Item = &'a Group> {
        let asks = self.evictions.values();
        let asks = asks.filter(|it| self.cannot_be_copied(catalog, it.partition));
        asks.filter_map(|it| catalog.table_by_id(it.table)?.map.group(it.partition))
    }

    /// Forgets what was asked in views that are over: the newer one is the answer.
    pub(super) fn forget(&mut self, catalog: &Catalog) {
        let is_open = |standing: Standing| standing != Standing::Over;
        self.promotions
            .retain(|_, it| is_open(of_promotion(catalog, it)));
        self.evictions
            .retain(|_, it| is_open(of_eviction(catalog, it)));
        self.splits.retain(|_, it| is_open(of_split(catalog, it)));
        self.rests.retain(|_, it| is_open(of_rest(catalog, it)));
    }
}

fn of_promotion(catalog: &Catalog, ask: &PromoteAsk) -> Standing {
    of_view(catalog, ask.table, ask.partition, (ask.view, ask.primary))
}

fn of_eviction(catalog: &Catalog, ask: &EvictAsk) -> Standing {
    of_view(catalog, ask.table, ask.partition, (ask.view, ask.primary))
}

/// What the answer to the intent to split is.
fn of_split(catalog: &Catalog, ask: &SplitAsk) -> Standing {
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
fn of_rest(catalog: &Catalog, ask: &RestAsk) -> Standing {
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

/// What an answer to an intent is, whoever gives it.
fn of_intent(catalog: &Catalog, begun_at: CatalogVersion, is_under_way: bool) -> Standing {
    if begun_at > catalog.version() {
        Standing::Early
    } else if is_under_way {
        Standing::Present
    } else {
        Standing::Over
    }
}

/// What something is that the primary of a view asks.
fn of_view(
    catalog: &Catalog,
    table: TableId,
    partition: PartitionId,
    (view, primary): (View, Seat),
) -> Standing {
    let table = catalog.table_by_id(table);
    let Some(group) = table.and_then(|table| table.map.group(partition)) else {
        return Standing::Over;
    };
    // PROTOCOL rule 4: only the primary asks, and for the view that it is in.
    if group.view == view && group.primary == primary {
        Standing::Present
    } else if group.view < view {
        Standing::Early
    } else {
        Standing::Over
    }
}

impl Controller {
    /// The view that answers what a partition's primary asks for, if it asks for anything.
    pub(super) fn answer(&mut self, case: &Case<'_>, load: &mut Load) -> Option<Proposal> {
        let partition = case.partition;
        if let Some(ask) = self.requests.eviction(&self.catalog, partition)
            && let Some(proposal) = self.evict(case, load, ask.backup)
        {
            return Some(proposal);
        }
        let ask = self.requests.promotion(&self.catalog, partition)?;
        let mut in_sync: Vec<Seat> = case.group.in_sync().collect();
        let is_learner = case.group.learners.contains(&ask.learner);
        // PROTOCOL rule 10: a learner that restarted is not the one that caught up.
        let is_there = self.live.contains(&ask.learner);
        if !is_learner || !is_there || !self.has_place(case, ask.learner) {
            // Nothing comes of it; the primary learns so by a view.
            let mut proposal = self.with_members(case, load, &in_sync);
            proposal.learners.retain(|seat| *seat != ask.learner);
            return Some(proposal);
        }
        in_sync.push(ask.learner);
        let mut proposal = Proposal::of(case.table.id, partition, case.group, &in_sync);
        proposal.ground = Ground::Promotion;
        proposal
            .learners
            .retain(|seat| *seat != ask.learner && self.live.contains(seat));
        Some(proposal)
    }

    /// The view without a member that holds up writes. The primary itself asks to go when its log is damaged; without
    /// others it stays.
    fn evict(&mut self, case: &Case<'_>, load: &mut Load, out: Seat) -> Option<Proposal> {
        let mut left: Vec<Seat> = case.group.in_sync().collect();
        left.retain(|seat| *seat != out);
        if left.is_empty() {
            return None;
        }
        if self.live.contains(&out) {
            let until = case.now + self.config.evict_pause;
            self.barred.insert((case.partition, out.member), until);
        }
        // One that is not in sync is a learner whose promotion was asked for: another leader may have heard of that, and
        // it may be listed no more. Its vote is required until a view says what became of it (PROTOCOL rule 4).
        let mut proposal = self.with_members(case, load, &left);
        proposal.learners.retain(|seat| *seat != out);
        Some(proposal)
    }
}

#[cfg(test)]
#[path = "requests_test.rs"]
mod requests_test;
