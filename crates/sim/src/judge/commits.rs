//! A commit never goes back: not on a brick, and not in the history of a partition.

use crate::cluster::Cluster;
use brickyard_brick::{Role, Standing};
use brickyard_routing::Seat;
use brickyard_types::{Op, PartitionId, View};

/// A commit position that went up.
pub(super) struct News {
    pub(super) partition: PartitionId,
    pub(super) generation: u32,
    pub(super) view: View,
    pub(super) committed: Op,
    pub(super) by: Seat,
    pub(super) is_primary: bool,
}

/// Looks at a seat after its turn; what is new, if anything is.
pub(super) fn judge(cluster: &mut Cluster, seat: Seat, it: &Standing) -> Option<News> {
    let commits = &mut cluster.judges.commits;
    // Who is out of the view may have dropped everything, and learns anew.
    if !it.role.is_in_sync() {
        commits.seats.remove(&(seat, it.partition));
        return None;
    }
    let known = commits
        .seats
        .entry((seat, it.partition))
        .or_insert((it.generation, Op(0)));
    let before = *known;
    if before == (it.generation, it.committed) {
        return None;
    }
    *known = (it.generation, it.committed);
    if before.0 == it.generation && it.committed < before.1 {
        cluster.object(format!(
            "the commit position of partition {} goes back at {seat}: from {} to {}",
            it.partition, before.1, it.committed
        ));
        return None;
    }
    let is_primary = it.role == Role::Primary;
    if is_primary {
        let newest = cluster
            .judges
            .commits
            .partitions
            .entry(it.partition)
            .or_insert((it.generation, Op(0)));
        if newest.0 != it.generation {
            *newest = (it.generation, it.committed);
        }
        newest.1 = newest.1.max(it.committed);
    }
    Some(News {
        partition: it.partition,
        generation: it.generation,
        view: it.view,
        committed: it.committed,
        by: seat,
        is_primary,
    })
}
