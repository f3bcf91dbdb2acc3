//! Nobody says that it obeys a removal of which it has only heard (rule `grants count for adopted maps`).

use crate::cluster::Cluster;

/// A brick's turn is over.
pub(super) fn check(cluster: &mut Cluster, node: usize, brick: usize) {
    let process = cluster.machines[node].process.as_ref();
    let Some(side) = process.and_then(|it| it.bricks.get(brick)) else {
        return;
    };
    let (stopped, _) = side.brick().acknowledged();
    let adopted = side.brick().catalog_version();
    if stopped > adopted {
        cluster.object(format!(
            "brick {brick} of node {node} says that it obeys catalog {stopped}, and goes by {adopted}"
        ));
    }
}
