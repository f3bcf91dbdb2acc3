//! Each key lies in the partition that the map names for it: looked at whenever a brick has adopted another map, and at the
//! end.

use crate::cluster::Cluster;

/// A brick's turn is over.
pub(super) fn check(cluster: &mut Cluster, node: usize, brick: usize) {
    let process = cluster.machines[node].process.as_ref();
    let Some(side) = process.and_then(|it| it.bricks.get(brick)) else {
        return;
    };
    let version = side.brick().catalog_version();
    let seen = cluster.checkers.placed.0.insert((node, brick), version);
    if seen == Some(version) {
        return;
    }
    if let Some(what) = side.inspect().misplaced() {
        cluster.object(format!("on brick {brick} of node {node} {what}"));
    }
}

pub(super) fn check_end(cluster: &mut Cluster) {
    let machines = cluster.machines.iter();
    let bricks = machines.flat_map(|it| it.process.iter().flat_map(|it| it.bricks.iter()));
    let misplaced: Option<String> = bricks.filter_map(|side| side.inspect().misplaced()).next();
    if let Some(what) = misplaced {
        cluster.object(what);
    }
}
