//! Siblings that become one partition: one brick leads both, both quiesce, the maps change.
//!
//! In: the merges that are under way, and what primaries report of quiesced partitions. Out: the right sibling handed over to
//! the left one's primary, where another brick leads it; then the change of the maps.
//!
//! Not here: which partitions are merged (operators, and bricks by size), the steps themselves (`metadata`).

use super::case::Case;
use super::holdings::Holdings;
use super::proposals::lead_by;
use super::requests::Requests;
use brickyard_metadata::Decisions;
use brickyard_types::PartitionId;

/// Does what a partition's merge waits for; false if it is in none. No member comes or goes meanwhile, but for a
/// failure: writes wait for the end of it.
pub(super) fn advance(
    case: &Case<'_>,
    requests: &Requests,
    holdings: &mut Holdings,
    decisions: &mut Decisions,
) -> bool {
    let Some((left, merge)) = case.catalog.merge_of(case.partition) else {
        return false;
    };
    let is_left = case.partition == left;
    assert!(
        is_left || case.partition == merge.right,
        "{} is neither half of the merge of {left} and {}",
        case.partition,
        merge.right
    );
    if merge.resting.is_some() {
        let rests = requests.quiesced(case.catalog, [left, merge.right]);
        assert!(
            rests.iter().flatten().all(|it| it.table == case.table.id),
            "halves of {left} in two tables"
        );
        decisions.merges.extend(rests.filter(|_| is_left));
    } else if let Some(leader) = case.table.map.group(left).filter(|_| !is_left) {
        let proposal = lead_by(leader.primary, case, holdings);
        decisions.proposals.extend(proposal);
    }
    true
}

/// Whether a partition is the right one of a merge that this pass ends: the left one comes right before it.
pub(super) fn is_ending(partition: PartitionId, decisions: &Decisions) -> bool {
    let last = decisions.merges.last();
    last.is_some_and(|[_, right]| right.partition == partition)
}

#[cfg(test)]
#[path = "merges_test.rs"]
mod merges_test;
