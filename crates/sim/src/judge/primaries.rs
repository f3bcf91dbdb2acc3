//! One primary commits per view.

use crate::cluster::Cluster;
use brickyard_brick::{Role, Standing};
use brickyard_routing::Seat;

/// A seat's commit position went up.
pub(super) fn judge(cluster: &mut Cluster, seat: Seat, it: &Standing) {
    if it.role != Role::Primary {
        return;
    }
    let key = (it.partition, it.generation, it.view);
    let first = *cluster.judges.primaries.entry(key).or_insert(seat);
    if first != seat {
        cluster.object(format!(
            "two primaries commit in view {} of partition {}: {first} and {seat}",
            it.view, it.partition
        ));
    }
}
