//! A commit never goes back: not on a brick, and not in the history of a partition.

use crate::cluster::Cluster;
use brickyard_brick::{PartitionStatus, Role};
use brickyard_routing::Replica;
use brickyard_types::{Op, PartitionId, View};

/// A commit position that went up.
pub(super) struct News {
    pub(super) partition: PartitionId,
    pub(super) generation: u32,
    pub(super) view: View,
    pub(super) committed: Op,
    pub(super) by: Replica,
    pub(super) is_primary: bool,
}

/// Looks at a replica after its turn; what is new, if anything is.
pub(super) fn check(cluster: &mut Cluster, replica: Replica, it: &PartitionStatus) -> Option<News> {
    let commits = &mut cluster.checkers.commits;
    // Who is out of the view may have dropped everything, and learns anew.
    if !it.role.is_in_sync() {
        commits.replicas.remove(&(replica, it.partition));
        return None;
    }
    let known = commits
        .replicas
        .entry((replica, it.partition))
        .or_insert((it.generation, Op(0)));
    let before = *known;
    if before == (it.generation, it.committed) {
        return None;
    }
    *known = (it.generation, it.committed);
    if before.0 == it.generation && it.committed < before.1 {
        cluster.object(format!(
            "the commit position of partition {} goes back at {replica}: from {} to {}",
            it.partition, before.1, it.committed
        ));
        return None;
    }
    let is_primary = it.role == Role::Primary;
    if is_primary {
        let newest = cluster
            .checkers
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
        by: replica,
        is_primary,
    })
}
