//! An idle cluster comes to rest: its bricks write nothing, and their logs are not much longer than what they hold.

use crate::clock::SECOND;
use crate::cluster::Cluster;

/// How long nothing may be written before the logs are taken to be at rest.
const UNCHANGED_FOR: u64 = 2 * SECOND;

/// How long after the last answer the cleaners may take.
const AT_REST_WITHIN: u64 = 60 * SECOND;

/// Whether all logs are at rest and as short as they should be.
pub(super) fn check(cluster: &mut Cluster, done_at: u64) -> bool {
    let now = cluster.now();
    let mut restless = None;
    for (node, machine) in cluster.machines.iter().enumerate() {
        let bricks = machine.process.iter().flat_map(|it| it.bricks.iter());
        for (brick, side) in bricks.enumerate() {
            let log = side.inspect().log_use();
            let seen = cluster
                .checkers
                .logs
                .0
                .entry((node, brick))
                .or_insert((log, now));
            if seen.0.written != log.written {
                *seen = (log, now);
            }
            // At most twice what is live, and the two segments that are never cleaned: one, and the one that is written to.
            let bytes_max = 2 * log.live_bytes + 2 * log.segment_bytes;
            let is_short = log.is_held_up || log.file_bytes <= bytes_max;
            if now - seen.1 < UNCHANGED_FOR || !is_short {
                restless = Some((node, brick, log));
            }
        }
    }
    if let Some((node, brick, log)) = restless
        && now - done_at > AT_REST_WITHIN
    {
        cluster.object(format!(
            "brick {brick} of node {node} does not come to rest: {log:?}"
        ));
    }
    restless.is_none()
}
