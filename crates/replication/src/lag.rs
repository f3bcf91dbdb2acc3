//! How far the other members of the partitions that this brick leads are behind it, for whoever watches.
//!
//! In:  nothing: what votes have said so far, and what the last tick found. Out: a figure for each member of each partition.
//!
//! Invariant: nothing is changed, and nothing is decided by it. It is asked for now and then, not on the way of a write: it
//! looks at every partition that this brick leads.

use crate::links::Links;
use crate::member::{Copy, Member, Phase};
use crate::partition::Partition;
use crate::{Replicator, Sequence};
use brickyard_routing::Replica;
use brickyard_types::TableId;
use std::time::Duration;

/// A member of a partition, as its primary sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberLag {
    /// The partition's table.
    pub table: TableId,
    /// Who it is.
    pub replica: Replica,
    /// It catches up: nobody waits for it.
    pub is_learner: bool,
    /// It gets the partition's records as they are made.
    pub is_in_step: bool,
    /// Operations that the primary holds and the member has not voted for. Of a learner that gets copies: all that it had
    /// not when they began, though it has some of them by now.
    pub operations: u64,
    /// For how long the oldest of them has waited for it, as ticks see it.
    pub waited: Duration,
}

impl Replicator {
    /// The other members of every partition that this brick leads.
    pub fn lags(&self) -> impl Iterator<Item = MemberLag> + '_ {
        let links = &self.links;
        let led = self.partitions.iter().filter(|it| it.leads());
        led.flat_map(move |it| {
            let members = it.lead.members.iter();
            members.map(move |member| lag_of(it, member, links))
        })
    }
}

fn lag_of(it: &Partition, member: &Member, links: &Links) -> MemberLag {
    let last = it.log.last.1.0;
    let operations = match member.copy {
        Copy::Running(above) => last.saturating_sub(above.map_or(0, |op| op.0)),
        Copy::None | Copy::Ended | Copy::Done => unvoted(it, member, links),
    };
    assert!(
        operations <= last,
        "{} lacks {operations} operations of {last}",
        member.replica
    );
    MemberLag {
        table: it.table,
        replica: member.replica,
        is_learner: member.is_learner,
        is_in_step: matches!(member.phase, Phase::Streaming { .. }),
        operations,
        waited: member.stall.map_or(Duration::ZERO, |stall| stall.waited),
    }
}

/// How many of the pending operations it has not voted for: what has committed, all that are in sync hold.
fn unvoted(it: &Partition, member: &Member, links: &Links) -> u64 {
    let pending = &it.log.pending;
    if pending.is_empty() {
        return 0;
    }
    let link = member.link.and_then(|id| links.get(id));
    let voted = match (&member.phase, link) {
        (Phase::Streaming { since }, Some(link)) => {
            let voted = link.sender.voted.at(it.durability);
            // Before that its votes say nothing of this partition.
            (voted >= *since).then_some(voted)
        }
        _ => None,
    };
    // They were sent in their order.
    let is_covered = |sequence: Sequence| voted.is_some_and(|voted| sequence <= voted);
    let covered = pending.partition_point(|entry| is_covered(entry.sequence));
    (pending.len() - covered) as u64
}
