//! One primary commits per view.

use crate::cluster::Cluster;
use brickyard_brick::{PartitionStatus, Role};
use brickyard_routing::Replica;

/// A replica's commit position went up.
pub(super) fn check(cluster: &mut Cluster, replica: Replica, it: &PartitionStatus) {
    if it.role != Role::Primary {
        return;
    }
    let key = (it.partition, it.generation, it.view);
    let first = *cluster.checkers.primaries.entry(key).or_insert(replica);
    if first != replica {
        cluster.object(format!(
            "two primaries commit in view {} of partition {}: {first} and {replica}",
            it.view, it.partition
        ));
    }
}
