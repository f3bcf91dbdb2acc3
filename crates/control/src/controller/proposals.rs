//! Views that are proposed: who of the members leads, and what is known to the bricks' holdings of it.
//!
//! In:  a partition and its next in-sync members. Out: a [`Proposal`], whose primary has least to do or should lead.

use super::case::{Case, primary_to_be};
use super::holdings::Holdings;
use super::placement::Placement;
use brickyard_metadata::Proposal;
use brickyard_routing::Replica;
use std::collections::BTreeSet;

/// A proposal for these to be the in-sync members: the primary stays where it can, else the member with least to do leads.
pub(super) fn with_members(
    case: &Case<'_>,
    holdings: &mut Holdings,
    in_sync: &[Replica],
) -> Proposal {
    let (group, table) = (case.group, case.table.id);
    let former = primary_to_be(group);
    let rank = |replica: &Replica| {
        let member = replica.member;
        let leaves = case.view.is_leaving(member.node);
        let stays = *replica == former || (*replica == group.primary && !in_sync.contains(&former));
        (leaves, !stays, holdings.primaries(table, member), member)
    };
    let mut ordered = in_sync.to_vec();
    ordered.sort_by_key(rank);
    if let Some(first) = ordered.first() {
        holdings.hand_over(table, former.member, first.member);
    }
    let mut proposal = propose(case, &ordered);
    let nodes: BTreeSet<_> = ordered.iter().map(|replica| replica.member.node).collect();
    proposal
        .learners
        .retain(|replica| case.stays_listed(*replica) && !nodes.contains(&replica.member.node));
    proposal
}

/// A proposal for one of `next` to be the primary, and for all to stay: the one that should be, or the one with least to do.
pub(super) fn hand_over(
    case: &Case<'_>,
    placement: &Placement,
    holdings: &mut Holdings,
    next: &[Replica],
    others: &[Replica],
) -> Proposal {
    let table = case.table.id;
    let first = placement.target(case.partition).first();
    let rank = |replica: &Replica| {
        let member = replica.member;
        let is_first = first == Some(&member);
        (!is_first, holdings.primaries(table, member), member)
    };
    let mut ordered = next.to_vec();
    ordered.sort_by_key(rank);
    if let Some(next) = ordered.first() {
        holdings.hand_over(table, case.group.primary.member, next.member);
    }
    ordered.extend(others);
    let mut proposal = propose(case, &ordered);
    proposal
        .learners
        .retain(|replica| case.stays_listed(*replica));
    proposal
}

/// A proposal for a member to be the primary, and for all to stay; `None` if it is, or is no in-sync member.
pub(super) fn lead_by(
    primary: Replica,
    case: &Case<'_>,
    holdings: &mut Holdings,
) -> Option<Proposal> {
    let group = case.group;
    let is_member = group.in_sync().any(|replica| replica == primary);
    if group.primary == primary || !is_member {
        return None;
    }
    holdings.hand_over(case.table.id, group.primary.member, primary.member);
    let others = group.in_sync().filter(|replica| *replica != primary);
    let ordered: Vec<Replica> = std::iter::once(primary).chain(others).collect();
    Some(propose(case, &ordered))
}

/// A proposal for the members to be these, in this order.
///
/// # Panics
/// If there are none, or two of one node (caller bugs): the catalog would refuse such a view.
pub(super) fn propose(case: &Case<'_>, in_sync: &[Replica]) -> Proposal {
    assert!(
        !in_sync.is_empty(),
        "a view of {} without members",
        case.partition
    );
    for (at, replica) in in_sync.iter().enumerate() {
        let is_apart = in_sync
            .iter()
            .skip(at + 1)
            .all(|it| it.member.node != replica.member.node);
        assert!(
            is_apart,
            "two copies of {} on node {}",
            case.partition, replica.member.node
        );
    }
    Proposal::of(case.table.id, case.partition, case.group, in_sync)
}
