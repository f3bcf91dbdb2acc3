//! Memory and queues stay within bounds.

use crate::cluster::Cluster;

/// What may wait for a brick's next turn.
const WAITING_MAX: usize = 4_096;

/// Bytes on all connections together: the few clients of a run never send that much.
const BYTES_MAX: usize = 64 << 20;

/// A brick's turn is over.
pub(super) fn check(cluster: &mut Cluster, node: usize, brick: usize) {
    let process = cluster.machines[node].process.as_ref();
    let waiting = process
        .and_then(|it| it.bricks.get(brick))
        .map_or(0, |it| it.outside.waiting());
    if waiting > WAITING_MAX {
        cluster.object(format!(
            "{waiting} messages wait for brick {brick} of node {node}"
        ));
    }
}

/// Nothing is under way any more: nothing may be left in memory.
pub(super) fn check_end(cluster: &mut Cluster) {
    let bytes = cluster.network.bytes_waiting();
    if bytes > BYTES_MAX {
        cluster.object(format!("{bytes} bytes wait on connections"));
    }
    for node in 0..cluster.machines.len() {
        let Some(process) = &cluster.machines[node].process else {
            continue;
        };
        let left: Vec<String> = process
            .bricks
            .iter()
            .map(|it| it.inspect().lazy_free())
            .filter(|left| !left.is_empty())
            .collect();
        if let Some(left) = left.first() {
            let what = format!("node {node} has something left in memory: {left}");
            return cluster.object(what);
        }
    }
}
