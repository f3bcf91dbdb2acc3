//! Siblings that are to become one partition: one brick leads both, both come to rest, the maps change.
//!
//! In: the merges that are under way, and what primaries say of partitions at rest. Out: the right sibling handed over to
//! the left one's primary, where another brick leads it; then the change of the maps.
//!
//! Not here: which partitions are merged (operators, and bricks by size), the steps themselves (`metadata`).

use super::Controller;
use super::group::Case;
use super::load::Load;
use brickyard_metadata::{Decisions, Proposal};
use brickyard_routing::Seat;

impl Controller {
    /// Does what a partition's merge waits for; false if it is in none. Nobody comes or goes meanwhile, but for a
    /// failure: writes wait for the end of it.
    pub(super) fn see_to_merge(
        &self,
        case: &Case<'_>,
        load: &mut Load,
        decisions: &mut Decisions,
    ) -> bool {
        let Some((left, merge)) = self.catalog.merge_of(case.partition) else {
            return false;
        };
        let is_left = case.partition == left;
        if merge.resting.is_some() {
            let rests = self.requests.at_rest(&self.catalog, [left, merge.right]);
            decisions.merges.extend(rests.filter(|_| is_left));
        } else if let Some(leader) = case.table.map.group(left).filter(|_| !is_left) {
            decisions
                .proposals
                .extend(lead_by(leader.primary, case, load));
        }
        true
    }
}

/// A proposal for a member to be the primary, and for all to stay.
fn lead_by(primary: Seat, case: &Case<'_>, load: &mut Load) -> Option<Proposal> {
    let group = case.group;
    let is_member = group.in_sync().any(|seat| seat == primary);
    if group.primary == primary || !is_member {
        return None;
    }
    let table = case.table.id;
    load.hand_over(table, group.primary.member, primary.member);
    let others = group.in_sync().filter(|seat| *seat != primary);
    let ordered: Vec<Seat> = std::iter::once(primary).chain(others).collect();
    Some(Proposal::of(table, case.partition, group, &ordered))
}

#[cfg(test)]
#[path = "merges_test.rs"]
mod merges_test;
