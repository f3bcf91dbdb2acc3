//! What primaries ask for: the promotion of a learner, the eviction of a backup or of themselves, the end of a split or merge.
//!
//! Only a view answers them: the primary goes on to require a promoted learner's vote until there is one
//! (PROTOCOL rule 4), so a promotion that cannot be is answered by a view that leaves all as it is.

use super::Controller;
use super::group::Case;
use super::load::Load;
use crate::message::{EvictAsk, PromoteAsk, RestAsk, SplitAsk};
use brickyard_metadata::{Catalog, Ground, Proposal, Rest, SplitReady};
use brickyard_routing::Seat;
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

impl Requests {
    pub(super) fn promote(&mut self, catalog: &Catalog, ask: PromoteAsk) {
        if is_of_now(catalog, ask.table, ask.partition, ask.view, ask.primary) {
            self.promotions.insert(ask.partition, ask);
        }
    }

    pub(super) fn evict(&mut self, catalog: &Catalog, ask: EvictAsk) {
        if is_of_now(catalog, ask.table, ask.partition, ask.view, ask.primary) {
            self.evictions.insert(ask.partition, ask);
        }
    }

    pub(super) fn split(&mut self, catalog: &Catalog, ask: SplitAsk) {
        if is_split_of_now(catalog, &ask) {
            self.splits.insert(ask.ready.partition, ask);
        }
    }

    /// Whether its primary asks for anything.
    pub(super) fn is_any(&self, partition: PartitionId) -> bool {
        self.promotions.contains_key(&partition)
            || self.evictions.contains_key(&partition)
            || self.splits.contains_key(&partition)
            || self.rests.contains_key(&partition)
    }

    pub(super) fn rest(&mut self, catalog: &Catalog, ask: RestAsk) {
        if is_rest_of_now(catalog, &ask) {
            self.rests.insert(ask.rest.partition, ask);
        }
    }

    /// What the primary of two siblings has said of both, if both are at rest.
    pub(super) fn at_rest(&self, siblings: [PartitionId; 2]) -> Option<[Rest; 2]> {
        let [left, right] = siblings.map(|it| self.rests.get(&it).map(|ask| ask.rest));
        Some([left?, right?])
    }

    /// What the primary of a partition that is to be split has said of it, if it is ready.
    pub(super) fn ready(&self, partition: PartitionId) -> Option<SplitReady> {
        self.splits.get(&partition).map(|ask| ask.ready)
    }

    /// Forgets what was asked in views that are over: the newer one is the answer.
    pub(super) fn forget(&mut self, catalog: &Catalog) {
        self.promotions
            .retain(|_, it| is_of_now(catalog, it.table, it.partition, it.view, it.primary));
        self.evictions
            .retain(|_, it| is_of_now(catalog, it.table, it.partition, it.view, it.primary));
        self.splits.retain(|_, it| is_split_of_now(catalog, it));
        self.rests.retain(|_, it| is_rest_of_now(catalog, it));
    }
}

/// Whether the primary answers the split that is under way.
fn is_split_of_now(catalog: &Catalog, ask: &SplitAsk) -> bool {
    let SplitReady {
        table,
        partition,
        view,
        begun_at,
    } = ask.ready;
    let split = catalog.split_of(partition);
    split.is_some_and(|split| split.begun_at == begun_at && split.view == view)
        && is_of_now(catalog, table, partition, view, ask.primary)
}

/// Whether the primary answers the merge that is under way.
fn is_rest_of_now(catalog: &Catalog, ask: &RestAsk) -> bool {
    let Rest {
        table,
        partition,
        view,
        begun_at,
        ..
    } = ask.rest;
    catalog.merge_of(partition).is_some()
        && catalog.rest_of(partition) == Some((view, begun_at))
        && is_of_now(catalog, table, partition, view, ask.primary)
}

/// Whether the primary of the view in effect asks.
fn is_of_now(
    catalog: &Catalog,
    table: TableId,
    partition: PartitionId,
    view: View,
    primary: Seat,
) -> bool {
    let table = catalog.table_by_id(table);
    let group = table.and_then(|table| table.map.group(partition));
    // PROTOCOL rule 4: only the primary asks, and for the view that it is in.
    group.is_some_and(|group| group.view == view && group.primary == primary)
}

impl Controller {
    /// The view that answers what a partition's primary asks for, if it asks for anything.
    pub(super) fn answer(&mut self, case: &Case<'_>, load: &mut Load) -> Option<Proposal> {
        let partition = case.partition;
        if let Some(ask) = self.requests.evictions.get(&partition).copied()
            && let Some(proposal) = self.evict(case, load, ask.backup)
        {
            return Some(proposal);
        }
        let ask = self.requests.promotions.get(&partition).copied()?;
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
