//! A copy that should go from one brick of a node to another one of the same node goes round by another node.
//!
//! Between the two bricks the node would have none, and while it learns anew there would be a copy less:
//! ```text
//! wanted  1/0 2/0, held  1/1 2/0    target  3/0 2/0    then, since node 1 has no copy any more,  1/0 2/0
//! ```
//! In: who should hold a partition, who holds it. Out: who should for now.
//!
//! Invariants:
//! - As many members as are wanted, on as many nodes.
//! - Who is on the way is the target until the copy has left the node; then what is wanted is. Neither changes in the
//!   middle of a move.
//! - Where no other node has room the copy stays where it is.

use crate::group::{Member, NodeId};
use crate::shares::Site;

/// The members that a partition should have for now; `turn` spreads partitions over those that could be on the way.
#[must_use]
pub fn detour(
    wanted: Vec<Member>,
    present: &[Member],
    sites: &[Site<'_>],
    turn: usize,
) -> Vec<Member> {
    let mut members = wanted;
    let mut taken: Vec<NodeId> = members.iter().map(|it| it.node).collect();
    for member in &mut members {
        let to = *member;
        if present.contains(&to) {
            continue;
        }
        let Some(from) = present.iter().find(|it| it.node == to.node).copied() else {
            continue;
        };
        *member = way(to, &taken, present, sites, turn).unwrap_or(from);
        taken.push(member.node);
    }
    members
}

/// A brick of a node that is none of the members': who has a copy already, or else one of the same zone.
fn way(
    to: Member,
    taken: &[NodeId],
    present: &[Member],
    sites: &[Site<'_>],
    turn: usize,
) -> Option<Member> {
    let is_free = |site: &&Site<'_>| site.weight > 0 && !taken.contains(&site.member.node);
    let mut free: Vec<&Site<'_>> = sites.iter().filter(is_free).collect();
    free.sort_by_key(|site| site.member);
    let zone = sites.iter().find(|site| site.member == to);
    let zone = zone.and_then(|site| site.zone);
    let count = free.len().max(1);
    let rank = |(at, site): &(usize, &&Site<'_>)| {
        // Who came first goes first: another one that comes changes nothing.
        let place = present.iter().position(|it| *it == site.member);
        (
            place.unwrap_or(usize::MAX),
            site.zone != zone,
            (at + count - turn % count) % count,
        )
    };
    let chosen = free.iter().enumerate().min_by_key(rank);
    chosen.map(|(_, site)| site.member)
}

#[cfg(test)]
#[path = "detour_test.rs"]
mod detour_test;
