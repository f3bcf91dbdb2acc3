//! Every node hears of the newest catalog in the end, and its bricks act by it.
//!
//! A node that holds nothing any more may be the last to hear of that, and everything else is as it is wanted meanwhile:
//! of what it had it keeps the records that wait for votes, until the catalog that takes them away is there.

use crate::clock::SECOND;
use crate::cluster::Cluster;

/// How long after the last fault and the last change of the catalog that may take. What was sent over a slow way is on it
/// for up to 21 s, and whatever is sent behind it on the same connection waits for it; an answer may wait as long.
const ADOPTED_WITHIN: u64 = 60 * SECOND;

/// Notes until when a brick was behind.
pub(super) fn check(cluster: &mut Cluster) {
    let now = cluster.now();
    let Some(behind) = behind(cluster) else {
        return;
    };
    cluster.checkers.behind_at = now;
    let since = cluster
        .checkers
        .changed_at
        .max(cluster.ground.stage.calm_at);
    if now - since > ADOPTED_WITHIN {
        let describe = cluster.machines.describe();
        cluster.object(format!(
            "{} s after the last fault and the last change of the catalog {behind}\n{describe}",
            ADOPTED_WITHIN / SECOND
        ));
    }
}

/// Who acts by an older catalog than the newest one, in words.
pub(super) fn behind(cluster: &Cluster) -> Option<String> {
    let newest = cluster.checkers.latest.as_ref()?.version().0;
    for (node, machine) in cluster.machines.iter().enumerate() {
        if cluster.member_of(node).is_none() {
            continue;
        }
        let bricks = machine.process.iter().flat_map(|it| it.bricks.iter());
        for (brick, side) in bricks.enumerate() {
            let version = side.brick().catalog_version();
            if version < newest {
                return Some(format!(
                    "brick {brick} of node {node} acts by catalog {version} and not {newest}"
                ));
            }
        }
    }
    None
}
